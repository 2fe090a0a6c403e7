-- Functions of texts, times and floats on vectors, beside heap: values to the byte, and what is an error.
SET amax.eager = off;
SET timezone = 'America/St_Johns';
CREATE TABLE plain (id int, t text, c char(6), f float8, ts timestamp, doc jsonb, u uuid GENERATED ALWAYS AS (md5(t)::uuid) STORED, d date GENERATED ALWAYS AS ((ts - interval '50 hours')::date) STORED);
-- Strings with and without a dictionary, with spaces at their ends, of one to four bytes a character.
INSERT INTO plain
    SELECT i, t, left(t, 6), CASE i % 13 WHEN 0 THEN 0 WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN -i ELSE i / 7.0 END,
        CASE i % 50 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '0044-03-15 01:02:03 BC' WHEN 3 THEN '9999-12-31 23:59:59.999999' WHEN 4 THEN '294000-01-01'
            ELSE timestamp '1899-12-20 22:58:58.75' + i * interval '31 days 7 hours 1.000001 seconds' END,
        jsonb_build_object('few', left(t, 1), 'many', t || '/' || i, 'mixed', CASE WHEN i % 7 = 0 THEN to_jsonb(i) ELSE to_jsonb(t) END,
            'at', to_char(timestamp '2019-12-25 23:00:00' + i * interval '91 minutes', 'YYYY-MM-DD"T"HH24:MI:SS') || (ARRAY['Z', '+02', '-05:30', '.5Z', '.123456+00', '', '.1234567Z', ' PST'])[1 + i % 8])
    FROM (SELECT i, coalesce(string_agg(substr('a Ab-éÉ€😀 ,z', 1 + (i * 31 + c * (i / 11 + 7)) % 12, 1), '' ORDER BY c), '') AS t
          FROM generate_series(1, 400) i LEFT JOIN generate_series(1, 9) c ON c <= i % 10 GROUP BY i) s;
INSERT INTO plain VALUES (0, NULL, NULL, NULL, NULL, '{"few": null, "at": null}'), (0, '', '', 1, NULL, '{"few": "", "many": {"a": "b"}, "at": ""}');
CREATE TABLE columns (LIKE plain) USING amax;
INSERT INTO columns SELECT * FROM plain;
VACUUM FULL columns;
SELECT sum(rows) AS columnar FROM amax.components('columns');

-- found(relation, expression): its values in order, or the error.
CREATE FUNCTION found(relation regclass, expression text, OUT rows text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT md5(string_agg(n || '' '' || coalesce(v, ''NULL''), '','' ORDER BY v COLLATE "C")) FROM (SELECT (%s)::text AS v, count(*) AS n FROM %s GROUP BY %1$s) g', expression, relation)
        INTO rows;
EXCEPTION WHEN OTHERS THEN
    rows := SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE asked AS
    SELECT format(call, value) AS expression
    FROM unnest(ARRAY['left(%s, 0)', 'left(%s, 3)', 'left(%s, -2)', 'left(%s, -2147483648)', 'right(%s, 0)', 'right(%s, 3)', 'right(%s, -2)', 'right(%s, -2147483648)', 'substr(%s, 2)', 'substr(%s, -1, 4)', 'substr(%s, 3, 0)',
                      'substr(%s, 1, -1)', 'substr(%s, 2, 2147483647)', 'substring(%s from 2 for 3)', 'upper(%s)', 'lower(%s)', 'upper(%s COLLATE "tr-x-icu")', 'upper(%s COLLATE "C")', 'trim(%s)', 'ltrim(%s)',
                      'rtrim(%s)', 'trim(both ''a'' from %s)', 'split_part(%s, '','', 1)', 'split_part(%s, '' '', 2)', 'split_part(%s, ''é'', 3)', 'split_part(%s, '''', 1)', 'split_part(%s, '','', 0)',
                      'split_part(%s, '','', -1)', 'replace(%s, ''a'', ''é€'')', 'replace(%s, ''é'', '''')', 'replace(%s, '''', ''x'')', 'strpos(%s, ''b'')', 'strpos(%s, ''€'')', 'position('''' in %s)',
                      '''<'' || %s', '%s || ''é>''', '%s || t', 'length(%s)', 'strpos(%s COLLATE loose, ''b'')', 'replace(%s COLLATE loose, ''a'', ''b'')', 'left(upper(%s), 2) || ''x''', 'length(rtrim(split_part(%s, ''b'', 2)))']) call,
         unnest(ARRAY['t', 'c::text', 'doc->>''few''', 'doc->>''many''', 'doc->>''mixed''']) value
    UNION ALL
    SELECT format(call, value)
    FROM unnest(ARRAY['(%s)::timestamptz', '(%s)::timestamp', '(%s)::date', '(%s)::timestamptz::date', 'date_trunc(''hour'', (%s)::timestamptz)', 'extract(epoch from (%s)::timestamptz)', 'left(%s, 10)', '(%s)::timestamp(0)',
                      '(%s) >= ''2020-01-03T01''', '(%s) < ''2020-01-03T01:00:00''', '(%s) > ''2020-01-0'' COLLATE "en-x-icu"', '''2020-01-03'' > (%s) COLLATE "C"', '(%s) <= ''2020-01-03T01'' COLLATE numbers', '(%s) > ''2020-1'' COLLATE numbers']) call,
         unnest(ARRAY['CASE WHEN id % 8 <> 7 THEN doc->>''at'' END', 'doc->>''at''', 'nullif(doc->>''at'', '''')', 'doc->>''mixed''']) value
    UNION ALL
    SELECT format('%s(''%s'', ts)', call, field)
    FROM unnest(ARRAY['date_trunc', 'date_part', 'extract']) call,
         unnest(ARRAY['microseconds', 'second', 'Minute', 'hour', 'day', 'week', 'month', 'quarter', 'year', 'decade', 'dow', 'isodow', 'doy', 'epoch', 'nothing']) field WHERE call <> 'extract'
    UNION ALL
    SELECT format('extract(%s from ts)', field) FROM unnest(ARRAY['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year', 'dow', 'isodow', 'doy', 'epoch', 'julian']) field
    UNION ALL
    SELECT format(call, value)
    FROM unnest(ARRAY['sqrt(%s)', 'exp(%s)', 'ln(%s)', 'log(%s)', 'log10(%s)', '|/ %s']) call,
         unnest(ARRAY['f', 'abs(f)', 'abs(f) + 1', '- abs(f)', 'nullif(f, ''Infinity'') / 10', 'f * 100', '(doc->>''mixed'')::float8']) value;
INSERT INTO asked
    SELECT unnest(ARRAY['u', 'u < ''80000000-0000-0000-0000-000000000000''', '''80000000-0000-0000-0000-000000000000'' <= u', 'u = md5('''')::uuid', 'u <> md5(t)::uuid', 'u > md5(left(t, 3))::uuid', 'u IN (md5('''')::uuid, md5(''a'')::uuid)',
                        'nullif(u, md5('''')::uuid)', 'coalesce(u, md5(''a'')::uuid)', 'CASE WHEN id % 2 = 0 THEN u END', 'u IS NULL'])
    UNION ALL
    SELECT format('extract(epoch from %s - %s)', value, other)
    FROM unnest(ARRAY['ts', 'nullif(nullif(ts, ''infinity''), ''-infinity'')', 'timestamp ''2000-01-01 00:00:00.5''', 'd']) value,
         unnest(ARRAY['timestamp ''294000-01-01''', 'timestamp ''4713-01-01 BC''', 'd::timestamp', 'nullif(nullif(d, ''infinity''), ''-infinity'')::timestamp', 'ts', '(doc->>''at'')::timestamp', 'timestamptz ''2000-01-01''']) other;
CREATE COLLATION loose (provider = icu, locale = 'und', deterministic = false);
CREATE COLLATION numbers (provider = icu, locale = 'en-u-kn');
CREATE TABLE answers AS SELECT expression, found('plain', expression) AS heap, found('columns', expression) AS amax FROM asked;
SELECT count(*), count(DISTINCT heap) > 150 AS many, count(*) FILTER (WHERE heap ~ '^[0-9A-Z]{5} ') > 20 AS errors, count(*) FILTER (WHERE heap IS DISTINCT FROM amax) AS differ FROM answers;
SELECT * FROM answers WHERE heap IS DISTINCT FROM amax LIMIT 10;

-- Groups by expressions of which the planner expects as many as there are rows are made on vectors, too.
EXPLAIN (COSTS OFF) SELECT date_trunc('day', (doc->>'at')::timestamptz), count(*) FROM columns GROUP BY 1;
-- uuids are bytes on vectors.
SELECT (SELECT array_agg((u, d)::text) FROM (SELECT u, doc AS d FROM columns ORDER BY u DESC NULLS LAST, id LIMIT 20) a)
     = (SELECT array_agg((u, d)::text) FROM (SELECT u, doc AS d FROM plain ORDER BY u DESC NULLS LAST, id LIMIT 20) h) AS same;
EXPLAIN (COSTS OFF) SELECT u, count(*), count(DISTINCT u) FROM columns WHERE u > '80000000-0000-0000-0000-000000000000' GROUP BY 1;
DROP TABLE plain, columns, asked, answers;
DROP FUNCTION found;
DROP COLLATION loose;
DROP COLLATION numbers;
