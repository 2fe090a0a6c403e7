-- SQL/JSON paths whose values are wanted, or that are no conditions on columns: as PostgreSQL has them, whatever the documents are.
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

-- Values of lax paths, from the columns that lead to them: the first, all, and as rows, in FROM and in the select list.
CREATE FUNCTION queries(path text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format(query, path)
    FROM unnest(ARRAY['SELECT id, jsonb_path_query_first(d, %1$L), jsonb_path_query_array(d, %1$L), jsonb_path_query_first_tz(d, %1$L), jsonb_path_query_array_tz(d, %1$L) FROM t',
        'SELECT id, jsonb_path_query_first(d->''a'', %1$L), jsonb_path_query_array(d->''a'', %1$L), jsonb_path_query_first(d->''a''->0, %1$L) FROM t',
        'SELECT id, jsonb_path_query(d, %1$L) FROM t', 'SELECT id, v FROM t, jsonb_path_query(d, %1$L) v', 'SELECT id, v FROM t LEFT JOIN LATERAL jsonb_path_query_tz(d->''a'', %1$L) v ON v <> ''1''',
        'SELECT jsonb_path_query_first(d, %1$L) k, count(*), count(jsonb_path_query_first(d, %1$L)), bool_or(jsonb_path_query_array(d, %1$L) = ''[]'') FROM t GROUP BY 1',
        'SELECT count(*) FROM (SELECT jsonb_path_query(d, %1$L) FROM t) x',
        'SELECT id, jsonb_path_query_first(d, %1$L)->>0, jsonb_path_query_first(d, %1$L) IS NULL FROM t WHERE jsonb_path_query_first(d, %1$L) IS NOT NULL',
        'SELECT id FROM t ORDER BY jsonb_path_query_array(d, %1$L) DESC NULLS LAST, id LIMIT 30', 'SELECT a.id, jsonb_path_query_first(b.d, %1$L) FROM t a LEFT JOIN t b ON a.id = b.id + 7']) query
$$;
CREATE FUNCTION answers(paths text[], OUT path text, OUT queries bigint, OUT rows numeric, OUT missing numeric, OUT extra numeric) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT p.path, count(*), sum(c.rows), sum(c.missing), sum(c.extra)
        FROM unnest(paths) WITH ORDINALITY AS p (path, number), LATERAL queries(p.path) AS q (query), LATERAL compare(query) c GROUP BY p.path, number ORDER BY number;
END $$;
SELECT * FROM answers(ARRAY['$', '$[*]', '$.a', '$.a.b', '$.a[*]', '$.a[*].b', '$.a[0]', '$.a[1].b', '$.a[last].b[last]', '$[0].a.b[*]', '$.none', '$.b.c[*]."é"', '$."é"[*][*]',
    '$.a[*] ? (@.b == 1)', '$.a[*] ? (@ > 0 || @.b == "x").b', '$.a ? (exists (@.b ? (@ == 1 || $.b == 1)) || @ == "x")', '$ ? (@.b == 1).a[*] ? (@ != null)', '$.a[*] ? (!(@.b == 1)) ? (@.b > 0)[*]']);
-- Other lax paths, over what they look at.
SELECT * FROM answers(ARRAY['$.a.*', '$.a.**', '$.a.**{1 to 2}.b', '$.*', '$[*].*.b', '$.a[0 to 1]', '$.a[0, last].b', '$.a.type()', '$.a[*].b.type()', '$.a.size()', '$.size()',
    '$.a[*].b ? (@ like_regex "^X" flag "i")', '$.a[*] ? (@.b like_regex "x")', '$.a[*] ? (@.b == $.a[*].b)', '$.a[*] ? (@.b.type() == "string" || @.size() > 1)', '$.a[*] ? (@.b + 1 == 2).b',
    '$.a ? (@.size() > 0).b', '$.b ? (@ == $.a)', '$.a[*].b[*] ? (@ starts with "x")', '$.a[*].b == 1', '$.a.b starts with "x"', '$.type()', '$.a[*] ? ((@.b == 1) is unknown).b', '$.a ? (@.**.b == 1)']);

-- Where errors are suppressed or cannot be: strict paths, variables, methods that fail.
DROP FUNCTION queries(text);
CREATE FUNCTION queries(path text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format(query, path, '{"x": 1, "y": "x", "none": null, "list": [1], "n b": 0.50}')
    FROM unnest(ARRAY[CASE WHEN path ~ '\$([a-z]|")' THEN 'SELECT 1' ELSE 'SELECT id, d @? %1$L, d @@ %1$L, d->''a'' @? %1$L FROM t' END,
        'SELECT id FROM t WHERE jsonb_path_exists(d, %1$L, %2$L, true) OR id = 1',
        'SELECT count(*) FROM t WHERE NOT jsonb_path_match(d, %1$L, %2$L, true)',
        'SELECT id, jsonb_path_exists(d, %1$L, %2$L, true), jsonb_path_match(d, %1$L, %2$L, true), jsonb_path_query_first(d, %1$L, %2$L, true), jsonb_path_query_array(d, %1$L, %2$L, silent => true) FROM t',
        'SELECT id, jsonb_path_exists_tz(d, %1$L, %2$L, true), jsonb_path_match_tz(d, %1$L, %2$L, true), jsonb_path_query_first_tz(d, %1$L, %2$L, true), jsonb_path_query_array_tz(d, %1$L, %2$L, true) FROM t',
        'SELECT id, jsonb_path_exists(d->''a'', %1$L, %2$L, true), jsonb_path_query_first(d->''a'', %1$L, %2$L, true) FROM t', 'SELECT id, jsonb_path_query(d, %1$L, %2$L, true) FROM t',
        'SELECT id, v FROM t, jsonb_path_query(d, %1$L, %2$L, true) v', 'SELECT CASE WHEN id %% 2 = 0 THEN jsonb_path_query_first(d, %1$L, %2$L, true) END, count(*) FROM t GROUP BY 1']) query
$$;
SELECT * FROM answers(ARRAY['strict $', 'strict $.a', 'strict $.a.b', 'strict $.a[*]', 'strict $.a[*].b', 'strict $.a[0]', 'strict $.a[1].b', 'strict $.a[last]', 'strict $.*', 'strict $.**', 'strict $.a.**.b', 'strict $.a.*',
    'strict $.none', 'strict $.a ? (@ == 1)', 'strict $.a[*] ? (@.b == 1)', 'strict $.a[*] ? (exists (@.b)).b', 'strict $.a.b == 1', 'strict $.a == 1 || $.b == 1', 'strict !($.a.b == 1)', 'strict ($.a.b == 1) is unknown',
    'strict exists ($.a[*] ? (@.b > 0))', 'strict $.a.size()', 'strict $.a[0 to 2]', 'strict $ ? (@.a.b[*] == 1 && @.b == 2)', 'strict $.a ? (@.b.type() == "number")', 'strict $.b[*] == null']);
SELECT * FROM answers(ARRAY['$.a ? (@ == $x)', '$.a[*] ? (@.b == $x || @ == $y)', '$.a[*].b ? (@ starts with $y)', '$.a == $y', '$.a[*] ? (@ != $none)', '$.a ? (@.b > $"n b")', '$.a[$x]', '$.a[$x].b', '$x', '$list[*]',
    '$.a ? (@ == $list[*])', '$.b ? ($x == 1)', '$.a.double()', '$.a[*].double()', '$.a.abs()', '$.a.ceiling() == 1', '$.a.floor()', '$.a + 1', '$.a * 2 == 2', '-$.a', '$.a / 0', '$.a[*] ? (@ / 0 == 1)', '$.a.keyvalue()',
    '$.keyvalue()', '$.a.keyvalue().key', '$.a[*].keyvalue().value', '$.a.datetime()', '$.a[$.b]', '$.a["x"]', '$.a[1.9]', '$.a[-1]', '$.a[*].b.double() > 1', '$.a ? (@.double() == 1)']);

-- Errors, row by row, are PostgreSQL's.
CREATE FUNCTION errors(expressions text[], OUT expression text, OUT rows bigint, OUT raised bigint, OUT differ bigint) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
    FOREACH expression IN ARRAY expressions LOOP
        SELECT count(*), count(*) FILTER (WHERE r.heap <> 'nothing'), count(*) FILTER (WHERE r.heap <> r.amax)
            INTO rows, raised, differ FROM generate_series(1, 306) number, raised(format('SELECT %s FROM t WHERE id = %s', expression, number)) r;
        RETURN NEXT;
    END LOOP;
END $$;
SELECT * FROM errors(ARRAY[$$jsonb_path_exists(d, 'strict $.a.b')$$, $$jsonb_path_query_first(d, 'strict $.a[*].b')$$, $$jsonb_path_query_array(d, 'strict $.a[1]')$$, $$jsonb_path_match(d, 'strict $.a[*].b')$$,
    $$jsonb_path_query(d, 'strict $.a[*].b')$$, $$jsonb_path_query_first(d, '$.a[*].b.double()')$$, $$jsonb_path_query_array(d, '$.a.keyvalue().key')$$, $$jsonb_path_match(d, '$.a')$$, $$jsonb_path_exists(d, '$.a + 1')$$,
    $$jsonb_path_query_first(d, '$.a[$.b]')$$, $$jsonb_path_query(d, '$.a.double()')$$, $$jsonb_path_query_first_tz(d, '$.a.datetime()')$$, $$jsonb_path_query_array(d, 'strict $.a[*] ? (@.b == $x)', '{"x": 1}')$$]);
SELECT * FROM raised($$SELECT jsonb_path_query_first(d, '$.a', '[]') FROM t$$);
-- From 17 on a variable without a value is an error, of rows that are asked.
SELECT * FROM compare($$SELECT CASE WHEN id < 0 THEN d @? '$.a ? (@ == $x)' WHEN id < -1 THEN d @@ '$.a == $x' END FROM t$$);
SELECT * FROM raised($$SELECT jsonb_path_query(d, '$.a', '[]') FROM t$$);
SELECT * FROM raised($$SELECT jsonb_path_exists(d, '$.a ? (@ == $z)', '{"x": 1}') FROM t$$);
SELECT * FROM compare($$SELECT id, jsonb_path_query_first(d, '$.a', NULL), jsonb_path_query_array(d, '$.a', '{}', NULL), jsonb_path_exists(d, '$.a ? (@ == $x)', NULL) FROM t$$);
SELECT * FROM compare($$SELECT id, v FROM t, jsonb_path_query(d, '$.a', NULL) v$$);

-- What is read: the columns that lead to values; of others what the path looks at, and of what has no keys the whole document.
EXPLAIN (VERBOSE, COSTS OFF) SELECT jsonb_path_query_first(d, '$.a[0].b'), jsonb_path_query_array(d->'a', '$[*] ? (@.b == $x)', '{"x": 1}') FROM t;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE d @? '$.a[*] ? (@.b like_regex "x" && @.c.d == $.b)' OR jsonb_path_exists(d, 'strict $.b.c') OR jsonb_path_exists(d, '$.a ? (@ == $x)', '{"x": [1]}');
EXPLAIN (COSTS OFF) SELECT jsonb_path_query_first(d, '$.a[*] ? (@.b like_regex "x").c'), jsonb_path_query_array(d, '$.a.*') FROM t;
EXPLAIN (COSTS OFF) SELECT jsonb_path_query_first(d, '$.**'), jsonb_path_query_first(d, '$.a.keyvalue()') FROM t;
EXPLAIN (VERBOSE, COSTS OFF) SELECT jsonb_path_query(d, '$.a[*].b') FROM t;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t, jsonb_path_query(d, '$.a[*].b') v;
-- What cannot fail needs no guard.
EXPLAIN (COSTS OFF) SELECT CASE WHEN id > 5 THEN jsonb_path_query_first(d, '$.a[0]') END FROM t;
EXPLAIN (COSTS OFF) SELECT CASE WHEN id > 5 THEN jsonb_path_query_first(d, 'strict $.a[0]') END FROM t;
-- Rows that an index finds.
SELECT twice($$CREATE INDEX ON t (id)$$) \gexec
SET enable_seqscan = off;
SELECT * FROM compare($$SELECT jsonb_path_query_first(d, '$.a[0]'), jsonb_path_query_array(d, 'strict $.a[*]', '{}', true), jsonb_path_query_array(d->'a', '$.b') FROM t WHERE id BETWEEN 100 AND 140$$);
RESET enable_seqscan;
-- A column added since has no documents in the leaves before.
SELECT twice($$ALTER TABLE t ADD e jsonb$$) \gexec
SELECT twice($$UPDATE t SET e = d WHERE id % 5 = 0$$) \gexec
SELECT * FROM compare($$SELECT id, jsonb_path_query_first(e, '$.a[*]'), jsonb_path_query_array(e, 'strict $.a', '{}', true), e @? '$.a.type()' FROM t$$);
SELECT * FROM compare($$SELECT id, v FROM t, jsonb_path_query(e, '$.a[*]') v$$);
DROP TABLE public.texts;
