-- SQL/JSON paths as conditions: answered from the columns, as PostgreSQL answers them, whatever the documents are.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET max_parallel_workers_per_gather = 0;
SET amax.rows_per_leaf = 70;
-- Values, and where they are.
CREATE TABLE public.texts AS
    SELECT row_number() OVER () AS id, format(place, value)::jsonb AS d
    FROM unnest(ARRAY['%s', '[%s]', '{"a": %s}', '{"a": [%s, 1]}', '{"a": {"b": %s}}', '{"a": [{"b": %1$s}, {"b": [%1$s, "x"]}, {"c": 2}]}', '{"b": %1$s, "a": [[%1$s]]}',
                      '[{"a": {"b": [%s]}}]', '{"b": {"c": [null, {"é": %s}]}, "é": [%1$s]}']) AS place,
         unnest(ARRAY['null', 'true', 'false', '0', '1', '1.0', '-0.5', '2.50', '3', '1e30', '-1e30', '9223372036854775807', '9223372036854775808', '0.1000000000000000000000000001',
                      '1.000000000000000000000000000000000000000000000001', '""', '"x"', '"xy"', '"é"', '"z\"\\"', '"\ud83d\ude00"', '{}', '[]', '[[]]', '[null]', '{"a": 1}', '{"b": 1}',
                      '{"b": [1, 2, "x", null]}', '[{"b": 1}, {"b": 2}]', '[1, "x", true, null, {}]', '{"a": {"a": 1}}', '{"c": 1, "c": 2}', '[[1, 2], [3]]', '[{}, {"b": null}]']) AS value;
INSERT INTO public.texts VALUES (1001, NULL), (1002, format('{"a": %s1%s}', repeat('[', 300), repeat(']', 300))::jsonb), (1003, format('{"a": %s1%s}', repeat('{"b": ', 300), repeat('}', 300))::jsonb);
-- In columns of their own and in overflow columns, in row pages, and updated.
SELECT twice($$CREATE TABLE t (id int, d jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT id, d FROM public.texts ORDER BY id$$) \gexec
SELECT twice($$INSERT INTO t SELECT id, d FROM public.texts ORDER BY md5(id::text)$$) \gexec
SELECT twice($$VACUUM (FREEZE, ANALYZE) t$$) \gexec
SELECT twice($$UPDATE t SET d = jsonb_build_array(d, d->'a') WHERE id % 29 = 0$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 31 = 0$$) \gexec
SELECT twice($$INSERT INTO t SELECT id + 2000, d FROM public.texts WHERE id % 7 = 0$$) \gexec

-- All predicates on a path.
CREATE FUNCTION predicates(path text) RETURNS text[] LANGUAGE sql AS $$
    SELECT array_agg(format(predicate, path)) FROM (
        SELECT '%s ' || op || ' ' || literal AS predicate
        FROM unnest(ARRAY['==', '!=', '<', '<=', '>', '>=']) op,
             unnest(ARRAY['null', 'true', 'false', '0', '1', '1.00', '-0.5', '1e30', '9223372036854775808', '""', '"x"', '"\u00e9"', '"\ud83d\ude00"']) literal
        UNION ALL SELECT * FROM unnest(ARRAY['2 >= %s', '"x" < %s', '%s starts with "x"', '%s starts with ""', 'exists (%s)', '!(%s == 1)', '!(%s starts with "x")', '(%s == 1) is unknown',
            '(exists (%s)) is unknown', '%1$s == 1 && %1$s == "x"', '%1$s == 1 || %1$s == "x"', '%1$s > 0 && !(%1$s < 2)', '(%1$s > 0) is unknown || !(%1$s == true)', '%1$s like_regex "^x"', '%1$s + 1 == 2',
            '%1$s.type() == "number"', '%1$s[*].size() > 1', '%1$s == %1$s', '(%1$s > "a" || %1$s == null) && (%1$s != 1 || exists (%1$s.b))'])) AS of_path
$$;
CREATE FUNCTION quoted(expression text, paths text[]) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(format(expression, path), ', ') FROM unnest(paths) path
$$;
-- As predicates, as filters of a path, and both in other forms.
CREATE FUNCTION queries(path text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT 'SELECT id, ' || quoted('d @@ %L', predicates(path)) || ' FROM t'
    UNION ALL
    SELECT 'SELECT id, ' || quoted('d @? %L', (SELECT array_agg(format('%s ? (%s)%s', path, predicate, after)) FROM unnest(predicates(inner_path)) predicate)) || ' FROM t'
    FROM unnest(ARRAY['@', '@.b', '$.a[*]', '@[last].b']) inner_path, unnest(ARRAY['', '.b']) after
    UNION ALL
    SELECT 'SELECT id, ' || quoted('d->''a'' @@ %L', predicates(path)) || ' FROM t WHERE id % 2 = 0'
    UNION ALL
    SELECT format('SELECT id, d @? %1$L, d @@ %1$L, jsonb_path_exists(d, %1$L), jsonb_path_match(d, %1$L, silent => true), jsonb_path_exists(d, %1$L, ''{"x": 1}''), jsonb_path_exists(d, %1$L, NULL),
        jsonb_path_match(d, %2$L), jsonb_path_match(d, %3$L, ''{}'', true), d->''a'' @? %1$L, d->''a''->0 @? %1$L, d @? %4$L, d @? %5$L, d @? %6$L FROM t',
        path, path || ' == 1', '!exists(' || path || ' ? (@ > 0 && @ < 3))', path || ' ? (@ != null) ? (!(@ == 1))[*]', path || ' ? (exists (@.b ? (@ >= 1 || $.a.b == 1)))', 'strict ' || path)
    UNION ALL
    SELECT format('SELECT count(*), min(id) FROM t WHERE %s', condition)
    FROM unnest(ARRAY[format('d @? %L', path || ' ? (@ > 0)'), format('NOT d @@ %L', path || ' == "x"'), format('(d @@ %L) IS NULL', path || ' > "b"'),
                      format('jsonb_path_exists(d, %L) AND id > 9 OR d @@ %L', path, path || ' < 1')]) condition
$$;
SELECT path, count(*) AS queries, sum(c.rows) AS rows, sum(c.missing) AS missing, sum(c.extra) AS extra
FROM unnest(ARRAY['$', '$[*]', '$[0]', '$.a', '$.a.b', '$.a[*]', '$.a[*].b', '$.a[0]', '$.a[1].b', '$.a[last]', '$.a[last].b[last]', '$[0].a.b', '$.none', '$.b.c[*]."é"', '$."é"[*][*]'])
    WITH ORDINALITY AS p (path, number), LATERAL queries(path) AS q (query), LATERAL compare(query) c
GROUP BY path, number ORDER BY number;

-- What is answered from the columns; other paths are evaluated over the part at their keys, or over whole documents.
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM t WHERE d @? '$.a[*] ? (@.b > 1 && $.b == "x")' AND NOT d @@ '!($.a.b starts with "x")' AND jsonb_path_exists(d, '$.a[last]') AND jsonb_path_match(d->'a', '$[1] == null', '{}', true);
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE d @? '$.a[*] ? (@.b > $.b)' OR d @@ '$.a like_regex "x"' OR d @? '$.a.size()' OR d @@ 'strict $.b == 1' OR d @@ '$.b';
-- Errors are PostgreSQL's: of a result that is no boolean, of variables that are no object, of strict paths.
SELECT * FROM raised($$SELECT jsonb_path_match(d, '$.a') FROM t$$);
SELECT * FROM raised($$SELECT jsonb_path_match(d, '$.a == 1') FROM t$$);
SELECT * FROM raised($$SELECT jsonb_path_exists(d, '$.a == 1', '[]') FROM t$$);
SELECT * FROM raised($$SELECT jsonb_path_exists(d, 'strict $.a') FROM t$$);
SELECT * FROM raised($$SELECT jsonb_path_exists(d, '$.a ? (@ == $x)') FROM t$$);
-- What cannot fail needs no guard.
EXPLAIN (COSTS OFF) SELECT CASE WHEN id > 5 THEN jsonb_path_exists(d, '$.a ? (@ == 1)') END FROM t;
-- An index asks the rows that it finds.
SELECT twice($$CREATE INDEX t_d ON t USING gin (d jsonb_path_ops)$$) \gexec
SET enable_seqscan = off;
SELECT * FROM compare($$SELECT id FROM t WHERE d @? '$.a[*] ? (@.b == 1)'$$);
SELECT * FROM compare($$SELECT id FROM t WHERE d @@ '$.a.b == "x" || $.a == 1'$$);
RESET enable_seqscan;
-- Joined, grouped and sorted.
SELECT * FROM compare($$SELECT a.id, b.d @? '$.a ? (@ == 1)' FROM t a LEFT JOIN t b ON a.id = b.id + 7 AND b.d @@ '$.a != null'$$);
SELECT * FROM compare($$SELECT d @@ '$.a == 1', d @? '$.b', count(*) FROM t GROUP BY 1, 2$$);
SELECT * FROM compare($$SELECT id, d FROM t ORDER BY d @@ '$.a > 0' DESC NULLS LAST, id LIMIT 20$$);
DROP TABLE public.texts;
