-- Window functions that number rows, bounded by a condition or a LIMIT above: AmaxTop keeps the first rows, of all or of each partition, and
-- reads the rest of those rows alone.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET max_parallel_workers_per_gather = 0;
SET amax.bulk_threshold = 0;
SET amax.rows_per_leaf = 500;
SET jit = off;
SELECT twice($$CREATE TABLE t (id int, k int, n numeric, x text, bo bool, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, nullif(i * 7919 % 37, 5), CASE WHEN i % 11 = 0 THEN NULL WHEN i % 13 = 0 THEN 'NaN' ELSE (i % 7)::numeric END,
        chr(65 + i % 26) || chr(97 + i * 7 % 3), i % 3 = 0,
        jsonb_build_object('n', i * 31 % 2003, 'k', 'k' || i % 5, 'few', i % 4, 'pad', repeat('p', 400),
            'mixed', CASE i % 3 WHEN 0 THEN '"text"' WHEN 1 THEN 'null' ELSE to_jsonb(i % 20) END::jsonb) - CASE WHEN i % 8 = 0 THEN 'n' ELSE '-' END
    FROM generate_series(1, 6000) i$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$ALTER TABLE t ADD defaulted int DEFAULT 7$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 100 = 3$$) \gexec
SELECT twice($$UPDATE t SET x = 'changed', doc = doc || '{"n": -1}' WHERE id % 50 = 7$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, i % 40, i, 'hot' || i % 10, NULL, jsonb_build_object('n', i * 5, 'k', 'hot', 'mixed', i), i FROM generate_series(6001, 6300) i$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec

-- The plans: so many of each partition, of all rows; a rank, which equal rows share; a limit above; the bound on the other side.
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY doc->>'k' ORDER BY (doc->>'n')::int DESC, id) AS r FROM t) y WHERE r <= 3;
EXPLAIN (COSTS OFF, VERBOSE) SELECT * FROM (SELECT *, rank() OVER (ORDER BY n, doc->>'few') AS r FROM t) y WHERE 5 > r;
EXPLAIN (COSTS OFF) SELECT id, doc, rank() OVER w, row_number() OVER w, dense_rank() OVER w FROM t WINDOW w AS (PARTITION BY k ORDER BY n DESC, id) ORDER BY k, n DESC LIMIT 10 OFFSET 5;
EXPLAIN (COSTS OFF) SELECT doc FROM (SELECT doc, row_number() OVER (PARTITION BY bo, k ORDER BY doc->'mixed') AS r FROM t) y WHERE r = 1;
EXPLAIN (COSTS OFF) SELECT doc FROM (SELECT doc, row_number() OVER (PARTITION BY bo ORDER BY x COLLATE "C", doc->'mixed') AS r FROM t) y WHERE r < 2;
-- None: functions that look further, several windows, conditions of another kind, a dense rank, another order above, all rows equal by what can be
-- compared, partitions that vectors have not.
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT *, row_number() OVER w AS r, lead(id) OVER w FROM t WINDOW w AS (PARTITION BY k ORDER BY n)) y WHERE r <= 3;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT *, row_number() OVER (ORDER BY n) AS r, rank() OVER (ORDER BY x) FROM t) y WHERE r <= 3;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT *, row_number() OVER (ORDER BY n) AS r FROM t) y WHERE r >= 3;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT *, dense_rank() OVER (ORDER BY n) AS r FROM t) y WHERE r <= 3;
EXPLAIN (COSTS OFF) SELECT *, row_number() OVER (ORDER BY n) AS r FROM t ORDER BY x LIMIT 3;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT *, row_number() OVER (ORDER BY doc->'mixed') AS r FROM t) y WHERE r <= 3;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY doc->'mixed' ORDER BY id) AS r FROM t) y WHERE r <= 3;

-- Partitions and keys of every type, in all directions; bounds in every form.
SELECT partition, sum(rows) AS rows, sum(missing) AS missing, sum(extra) AS extra
FROM unnest(ARRAY['k', 'n', 'x', 'bo, k', 'doc->>''k''', 'doc->>''mixed''', '(doc->>''few'')::int % 3', 'bo', 'defaulted', 'x COLLATE "en-x-icu"']) WITH ORDINALITY AS p(partition, number),
    unnest(ARRAY['(doc->>''n'')::int', 'n DESC', 'x NULLS FIRST', 'doc->>''mixed'' DESC NULLS LAST', 'doc->>''k'' COLLATE "C"', 'doc->''mixed''']) AS key,
    unnest(ARRAY['r <= 1', 'r < 4', '7::smallint >= r', '100::bigint > r', 'r = 2', 'r <= 0', 'r <= 5 AND r > 2']) AS condition,
    compare(format('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY %s ORDER BY %s, id) AS r FROM t) y WHERE %s', partition, key, condition))
GROUP BY partition, number ORDER BY number;
SELECT partition, sum(rows) AS rows, sum(missing) AS missing, sum(extra) AS extra
FROM unnest(ARRAY['', 'PARTITION BY doc->>''k''', 'PARTITION BY bo, k']) WITH ORDINALITY AS p(partition, number),
    unnest(ARRAY['(doc->>''few'')::int', 'n DESC', 'x NULLS FIRST', 'bo, doc->>''mixed'' DESC NULLS LAST', 'bo, doc->''mixed''']) AS key,
    unnest(ARRAY['r <= 1', 'r < 4', 'r <= 300', 'r = 2', 'r < 1', 'r < -5']) AS condition,
    compare(format('SELECT * FROM (SELECT *, rank() OVER (%s ORDER BY %s) AS r FROM t) y WHERE %s', partition, key, condition))
GROUP BY partition, number ORDER BY number;
SELECT query, found.*
FROM unnest(ARRAY[
    'SELECT *, row_number() OVER (ORDER BY n DESC, id) FROM t LIMIT 7',
    'SELECT *, rank() OVER (PARTITION BY doc->>''k'' ORDER BY n, id) FROM t ORDER BY doc->>''k'' LIMIT 1300 OFFSET 20',
    'SELECT id, doc, dense_rank() OVER (PARTITION BY bo ORDER BY x, id) AS r FROM t WHERE id % 3 = 0 ORDER BY bo, x, id FETCH FIRST 9 ROWS ONLY',
    'SELECT bo, dense_rank() OVER (ORDER BY bo) AS r FROM t ORDER BY bo FETCH FIRST 9 ROWS WITH TIES',
    'SELECT DISTINCT row_number() OVER (ORDER BY n, id) AS r FROM t ORDER BY r LIMIT 4',
    'SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM t WHERE x LIKE ''A%'' AND (doc->>''n'')::int > 5) y WHERE r <= 2 AND bo',
    'SELECT * FROM (SELECT id, rank() OVER w AS a, row_number() OVER w AS b FROM t WINDOW w AS (PARTITION BY k ORDER BY id)) y WHERE a <= 3 AND b < 2',
    'SELECT g, y.* FROM generate_series(1, 5) g, LATERAL (SELECT * FROM (SELECT id, doc, row_number() OVER (PARTITION BY bo ORDER BY abs(id - g * 100), id) AS r FROM t) z WHERE r <= g) y',
    'SELECT y.id, z.doc FROM (SELECT id, row_number() OVER (PARTITION BY k ORDER BY n, id) AS r FROM t) y JOIN t z ON y.id = z.id + 1 WHERE r <= 2',
    'SELECT k, doc FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM t) y WHERE r <= (SELECT 2)',
    'SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY k) AS r FROM t) y WHERE r <= 2',
    'SELECT count(*), sum(r) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM t) y WHERE r <= NULL']) AS query, compare(query) AS found;
-- Again with other bounds.
SET plan_cache_mode = force_generic_plan;
SELECT twice($$CREATE FUNCTION first(bound int) RETURNS SETOF text LANGUAGE plpgsql AS $f$
BEGIN RETURN QUERY SELECT y::text FROM (SELECT *, row_number() OVER (PARTITION BY doc->>'k' ORDER BY n DESC NULLS LAST, id) AS r FROM t) y WHERE r < bound; END $f$ $$) \gexec
SELECT * FROM compare($$SELECT g, first(g) FROM unnest(ARRAY[2, 5, NULL, 1, 0, -3, 2147483647, 3]) g$$);
RESET plan_cache_mode;

-- Errors that heap raises: of all rows below the sort, and above it of those that it looks at.
SELECT twice($$CREATE TABLE bad (id int, k int, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO bad SELECT i, i % 3, jsonb_build_object('n', i, 'v', CASE WHEN i = 15 THEN '"x"' ELSE to_jsonb(i) END, 'pad', repeat('p', 400)) FROM generate_series(1, 2000) i$$) \gexec
SELECT twice($$VACUUM ANALYZE bad$$) \gexec
SELECT twice($$SELECT id, v FROM (SELECT id, (doc->>'v')::int AS v, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM bad) y WHERE r <= 2 ORDER BY id$$) \gexec
SELECT twice($$SELECT id FROM (SELECT id, doc, row_number() OVER (PARTITION BY k ORDER BY (doc->>'v')::int) AS r FROM bad) y WHERE r <= 2 ORDER BY id$$) \gexec
SELECT twice($$SELECT id, v FROM (SELECT id, (doc->>'v')::int AS v, row_number() OVER (ORDER BY id) AS r FROM bad) y WHERE r <= 13 ORDER BY id DESC LIMIT 1$$) \gexec
SELECT twice($$SELECT id, v FROM (SELECT id, (doc->>'v')::int AS v, row_number() OVER (ORDER BY id) AS r FROM bad) y WHERE r <= 14$$) \gexec
SELECT twice($$SELECT id, v FROM (SELECT id, (doc->>'v')::int AS v, row_number() OVER (ORDER BY id) AS r FROM bad) y WHERE r < 15$$) \gexec
SELECT twice($$SELECT id, v FROM (SELECT id, (doc->>'v')::int AS v, rank() OVER (ORDER BY id) AS r FROM bad) y WHERE r < 15$$) \gexec
SELECT twice($$SELECT max(id), max(v) FROM (SELECT id, (doc->>'v')::int AS v, row_number() OVER (ORDER BY id) AS r FROM bad LIMIT 14) y$$) \gexec
SELECT twice($$SELECT max(id), max(v) FROM (SELECT id, (doc->>'v')::int AS v, row_number() OVER (ORDER BY id) AS r FROM bad LIMIT 15) y$$) \gexec
SELECT twice($$SELECT id, v FROM (SELECT id, (doc->>'v')::int AS v, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM bad) y WHERE r <= 4 ORDER BY id$$) \gexec
SELECT twice($$SELECT id, v FROM (SELECT id, (doc->>'v')::int AS v, rank() OVER (PARTITION BY k ORDER BY id) AS r FROM bad) y WHERE r <= 4 ORDER BY id$$) \gexec
SELECT twice($$SELECT id FROM (SELECT id, 1 / (id - 1700) AS q, doc, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM bad) y WHERE r <= 2$$) \gexec
-- the first row's, even where the bound lets none pass
SELECT twice($$SELECT id, v FROM (SELECT id, (doc->>'v')::int AS v, row_number() OVER (ORDER BY abs(id - 15)) AS r FROM bad) y WHERE r < 0$$) \gexec
SELECT twice($$SELECT id, v FROM (SELECT id, (doc->>'v')::int AS v, row_number() OVER (ORDER BY abs(id - 15)) AS r FROM bad) y WHERE r <= -5$$) \gexec

-- By several processes.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY doc->>'k' ORDER BY (doc->>'n')::int DESC, id) AS r FROM t) y WHERE r <= 3;
SELECT * FROM compare($$SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY doc->>'k' ORDER BY (doc->>'n')::int DESC, id) AS r FROM t) y WHERE r <= 3$$);
SELECT * FROM compare($$SELECT * FROM (SELECT *, rank() OVER (ORDER BY n DESC, bo) AS r FROM t) y WHERE r <= 30$$);
SET max_parallel_workers_per_gather = 0;
-- In little memory: parts.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT * FROM compare($$SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY bo, doc->>'few' ORDER BY n DESC, id) AS r FROM t) y WHERE r <= 150$$);
SELECT * FROM compare($$SELECT * FROM (SELECT *, rank() OVER (PARTITION BY bo ORDER BY n DESC) AS r FROM t) y WHERE r <= 150$$);
