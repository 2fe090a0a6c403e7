-- What bounds of strings skip: thirty days of times in text, in the order of time, as they are compared, cut and cast.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET max_parallel_workers_per_gather = 0;
SET amax.bulk_threshold = 0;
SET amax.rows_per_leaf = 200;
SET jit = off;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
CREATE COLLATION twins.numbers (provider = icu, locale = 'en-u-kn');
-- An event each five minutes. In one place of one row is no time; another misses some, or has null.
SELECT twice($$CREATE TABLE e AS SELECT i AS id, format('%sT%sZ', at::date, at::time) AS plain, format('%sT%sZ', at::date, at::time) COLLATE "C" AS bytes,
        jsonb_build_object('epoch', extract(epoch FROM at)::int, 'at', format('%sT%sZ', at::date, at::time), 'ms', format('%sT%s.%sZ', at::date, at::time, lpad((i * 7 % 1000)::text, 3, '0')),
            'form', at::date || CASE i % 4 WHEN 0 THEN 'T' || at::time || 'Z' WHEN 1 THEN 'T' || at::time || '.5Z' WHEN 2 THEN ' ' || at::time || '+00' ELSE 'T' || at::time || '.123456+00:00' END,
            'off', CASE WHEN i % 2 = 0 THEN (at + interval '2 hours')::date || 'T' || (at + interval '2 hours')::time || '+02:00' ELSE (at - interval '210 minutes')::date || 'T' || (at - interval '210 minutes')::time || '-03:30' END,
            'local', at::date || ' ' || at::time, 'day', at::date, 'mixed', CASE WHEN i % 3 = 0 THEN at::date::text ELSE at::date || 'T' || at::time || 'Z' END,
            'bad', CASE WHEN i = 4321 THEN 'soon' ELSE at::date || 'T' || at::time || 'Z' END, 'null', CASE WHEN i % 5 > 2 THEN at::date || 'T' || at::time || 'Z' END,
            'late', to_jsonb(CASE WHEN i < 8000 THEN to_jsonb(at::date || 'T' || at::time || 'Z') ELSE to_jsonb(i) END), 'link', 'https://example.org/' || lpad(i::text, 6, '0') || '/' || i)
            || CASE WHEN i % 7 > 0 THEN jsonb_build_object('some', at::date || 'T' || at::time || 'Z') ELSE '{}' END AS doc
    FROM generate_series(1, 8640) i, LATERAL (SELECT timestamp '2026-11-01' + (i - 1) * interval '5 minutes' AS at) x$$) \gexec
SELECT twice($$VACUUM ANALYZE e$$) \gexec
CREATE FUNCTION twins.leaves_read(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb; BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT json) ' || query INTO plan;
    SELECT p INTO plan FROM jsonb_path_query(plan, 'lax $.**{1 to last} ? (exists(@."Leaves Read"))') p LIMIT 1;
    RETURN format('%s of %s', plan->>'Leaves Read', (plan->>'Leaves Read')::int + coalesce((plan->>'Leaves Skipped')::int, 0));
END $$;
CREATE FUNCTION twins.conditions(conditions text[]) RETURNS TABLE (condition text, leaves text, rows bigint, missing bigint, extra bigint) LANGUAGE sql AS $$
    SELECT c, twins.leaves_read(format('SELECT count(*) FROM e WHERE %s', c)), found.*
    FROM unnest(conditions) WITH ORDINALITY u(c, number), compare(format('SELECT id FROM e WHERE %s', c)) AS found ORDER BY number $$;

-- One hour, by an integer, by text in each collation, by its beginning and by casts.
SELECT * FROM twins.conditions(ARRAY[
    '(doc->>''epoch'')::int >= 1795291200 AND (doc->>''epoch'')::int < 1795294800',
    'doc->>''at'' >= ''2026-11-21T20'' AND doc->>''at'' < ''2026-11-21T21''',
    'doc->>''at'' COLLATE "C" >= ''2026-11-21T20'' AND doc->>''at'' COLLATE "C" < ''2026-11-21T21''',
    'doc->>''at'' COLLATE "en-x-icu" >= ''2026-11-21T20'' AND doc->>''at'' COLLATE "en-x-icu" < ''2026-11-21T21''',
    'doc->>''at'' COLLATE twins.numbers >= ''2026-11-21T20'' AND doc->>''at'' COLLATE twins.numbers < ''2026-11-21T21''',
    'plain BETWEEN ''2026-11-21T20:00:00Z'' AND ''2026-11-21T20:59:59Z''',
    'bytes >= ''2026-11-21T20:00:00Z'' AND bytes < ''2026-11-21T21:00:00Z''',
    'left(doc->>''at'', 13) = ''2026-11-21T20''',
    'substring(doc->>''at'', 1, 13) IN (''2026-11-21T20'', ''2026-11-25T20'')',
    'left(doc->>''at'', 13) >= ''2026-11-21T20'' AND left(doc->>''at'', 13) < ''2026-11-21T21''',
    'doc->>''at'' LIKE ''2026-11-21T20%''',
    'starts_with(doc->>''at'', ''2026-11-21T20:1'')',
    'doc->>''at'' ^@ ''2026-11-21T20:1''',
    'doc->>''at'' = ''2026-11-21T20:15:00Z''',
    'doc->>''at'' IN (''2026-11-21T20:15:00Z'', ''2026-11-02T00:00:00Z'')',
    '(doc->>''at'')::timestamptz >= ''2026-11-21 20:00+00'' AND (doc->>''at'')::timestamptz < ''2026-11-21 21:00+00''',
    '(doc->>''at'')::timestamp >= ''2026-11-21 20:00'' AND (doc->>''at'')::timestamp < ''2026-11-21 21:00''',
    '(doc->>''at'')::timestamptz BETWEEN timestamp ''2026-11-21 20:00'' AND timestamp ''2026-11-21 20:59''',
    'date_trunc(''hour'', (doc->>''at'')::timestamp) = ''2026-11-21 20:00''',
    '(doc->>''at'')::date = ''2026-11-21''',
    'left(doc->>''at'', 10)::date = ''2026-11-21''',
    '(doc->>''at'')::timestamptz >= date ''2026-11-21'' AND (doc->>''at'')::timestamptz < date ''2026-11-22''',
    'plain::timestamptz = ''2026-11-21 20:15+00''',
    'doc->>''link'' = ''https://example.org/005000/5000''',
    'doc->>''link'' LIKE ''https://example.org/0050%''']);
-- Other forms: decimals, forms beside one another, time zones, none, dates, places without one.
SELECT path, kind, twins.leaves_read('SELECT count(*) FROM e WHERE ' || condition), found.*
FROM unnest(ARRAY['ms', 'form', 'off', 'local', 'day', 'mixed', 'null', 'some']) WITH ORDINALITY p(path, number),
    (VALUES (1, 'text', 'doc->>%1$L >= ''2026-11-21T20'' AND doc->>%1$L < ''2026-11-21T21'''), (2, 'text', 'doc->>%1$L COLLATE "C" >= ''2026-11-21 20'' AND doc->>%1$L COLLATE "C" < ''2026-11-21 21'''),
        (3, 'timestamptz', '(doc->>%1$L)::timestamptz >= ''2026-11-21 20:00+00'' AND (doc->>%1$L)::timestamptz < ''2026-11-21 21:00+00'''),
        (4, 'timestamp', '(doc->>%1$L)::timestamp > ''2026-11-21 20:00'' AND (doc->>%1$L)::timestamp <= ''2026-11-21 21:00'''), (5, 'date', '(doc->>%1$L)::date = ''2026-11-21''')) AS k(of, kind, form),
    format(form, path) condition, compare(format('SELECT id FROM e WHERE %s', condition)) AS found
ORDER BY number, of;
-- The session's time zone is that of constants, and of texts that name none.
SELECT zone, path, twins.leaves_read('SELECT count(*) FROM e WHERE ' || condition), found.*
FROM unnest(ARRAY['America/St_Johns', 'Asia/Kathmandu', 'UTC']) WITH ORDINALITY z(zone, number), unnest(ARRAY['at', 'off', 'local', 'day']) path,
    format('set_config(''TimeZone'', %L, false) IS NOT NULL', zone) setting, set_config('TimeZone', zone, false),
    format('(doc->>%1$L)::timestamptz >= ''2026-11-21 20:00'' AND (doc->>%1$L)::timestamptz < date ''2026-11-22''', path) condition, compare(format('SELECT id FROM e WHERE %s', condition)) AS found
ORDER BY number, path;
SET TimeZone = 'UTC';
-- The border of an hour in two leaves; constants that are no times; a text that is not cast in heap either is the same error, wherever it is.
SELECT * FROM twins.conditions(ARRAY['doc->>''at'' < ''2026-11-01T00:00:00Z''', 'doc->>''at'' COLLATE "C" < ''2026-11-01T00:00:00Z''', 'doc->>''at'' > ''2026-11-30T23:55:00Z''', 'doc->>''at'' < ''2026-11''',
    'doc->>''at'' >= ''2026-12''', 'doc->>''at'' > ''soon''', 'doc->>''at'' < ''''', 'doc->>''at'' > NULL', 'left(doc->>''at'', 0) = ''''', 'left(doc->>''at'', -7) = ''2026-11-21T20''', 'left(doc->>''at'', 4) = ''2026''',
    'doc->>''at'' <> ''2026-11-21T20:15:00Z'' AND doc->>''at'' < ''2026-11-02''', 'doc->>''late'' >= ''2026-11-28T20''', 'doc->>''bad'' < ''2026-11-02''', '(doc->>''at'')::timestamptz = ''infinity''', '(doc->>''at'')::date > ''infinity''']);
SELECT twice($$SELECT count(*) FROM e WHERE (doc->>'bad')::timestamptz < '2026-11-02'$$) \gexec
SELECT twice($$SELECT count(*) FROM e WHERE (doc->>'late')::timestamp < '2026-11-02'$$) \gexec
SELECT twice($$SELECT count(*) FROM e WHERE (doc->>'at')::date < '2026-11-02' AND (doc->>'bad')::date < '2026-11-03'$$) \gexec
SELECT twice($$SELECT count(*) FROM e WHERE (doc->>'bad')::date < '2026-11-03' AND (doc->>'at')::date < '2026-11-02'$$) \gexec
-- The time of the query is as good as a constant, if it cannot fail.
SELECT * FROM twins.conditions(ARRAY['(doc->>''at'')::timestamptz > now() + interval ''50 years''', '(doc->>''at'')::timestamptz < now() - interval ''90 years'' - interval ''20 years''', '(doc->>''at'')::date > CURRENT_DATE + 20000',
    '(doc->>''at'')::timestamp > date_trunc(''day'', LOCALTIMESTAMP) + interval ''50 years''', '(doc->>''at'')::timestamptz > clock_timestamp() + interval ''50 years''', '(doc->>''at'')::timestamptz > now() + interval ''2000 years''']);
SELECT twice($$SELECT count(*) FROM e WHERE (doc->>'at')::date < '2026-11-02' AND (doc->>'at')::timestamptz > now() - interval '20000 years'$$) \gexec
-- The latest and the earliest rows.
SELECT key, twins.leaves_read(format('SELECT doc FROM e ORDER BY %s LIMIT 5', key)), found.*
FROM unnest(ARRAY['doc->>''at'' DESC NULLS LAST', 'doc->>''at''', 'doc->>''at'' COLLATE "C" DESC NULLS LAST', 'doc->>''at'' COLLATE twins.numbers DESC NULLS LAST', 'doc->>''at'' DESC', 'plain DESC NULLS LAST', 'bytes DESC NULLS LAST',
        '(doc->>''at'')::timestamptz DESC', '(doc->>''off'')::timestamptz DESC', '(doc->>''form'')::timestamp DESC', '(doc->>''local'')::timestamptz DESC', '(doc->>''day'')::date DESC', '(doc->>''some'')::timestamptz DESC',
        '(doc->>''some'')::timestamptz DESC NULLS LAST', 'left(doc->>''at'', 13) DESC', 'doc->>''form'' DESC', 'doc->>''link'' COLLATE "C" DESC']) WITH ORDINALITY k(key, number),
    compare(format('SELECT doc FROM e ORDER BY %s, id LIMIT 5', key)) AS found ORDER BY number;
-- Changed rows, a merge, bounds that are shown, and what amax.verify says.
SELECT twice($$UPDATE e SET doc = doc || '{"at": "2026-11-21T20:30:00Z"}' WHERE id % 1000 = 1$$) \gexec
SELECT twice($$DELETE FROM e WHERE id % 3 = 0$$) \gexec
SELECT * FROM twins.conditions(ARRAY['doc->>''at'' >= ''2026-11-21T20'' AND doc->>''at'' < ''2026-11-21T21''']);
SELECT twice($$VACUUM e$$) \gexec
SELECT condition, twins.leaves_read(format('SELECT count(*) FROM e WHERE %s', condition)) ~ '^[12] of ' AS few, found.*
FROM unnest(ARRAY['doc->>''at'' >= ''2026-11-21T20:31'' AND doc->>''at'' < ''2026-11-21T21''', '(doc->>''at'')::timestamptz = ''2026-11-21 20:30+00''']) condition, compare(format('SELECT id FROM e WHERE %s', condition)) AS found;
SELECT min(min), max(max) FROM amax.columns('e') WHERE path = '$.at';
SELECT * FROM amax.verify('e');
