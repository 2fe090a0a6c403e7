-- GROUPING SETS, ROLLUP and CUBE on vectors.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.rows_per_leaf = 250;
SET max_parallel_workers_per_gather = 0;

SELECT twice($$CREATE TABLE t (id int, a int, b text, c char(3), n numeric(10, 2), x numeric, f float8, d date, ok bool, doc jsonb)$$) \gexec
SELECT twice($$CREATE TABLE none (LIKE t)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, nullif(i % 4, 3), CASE WHEN i % 11 > 0 THEN 'b' || i % 5 END, 'c' || i % 2, (i % 3) / 4.0, CASE i % 5 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 WHEN 2 THEN NULL ELSE i % 5 END,
    CASE i % 4 WHEN 0 THEN '-0' WHEN 1 THEN 0 ELSE i % 4 END::float8, date '2024-01-01' + i % 6, i % 3 = 0, jsonb_build_object('k', 'k' || i % 7, 'n', i % 10, 'd', nullif(i % 3, 2), 'u', i)
    FROM generate_series(1, 3000) i$$) \gexec
VACUUM t;
SELECT twice($$DELETE FROM t WHERE id % 100 = 3$$) \gexec
SELECT twice($$UPDATE t SET b = 'changed', a = 1 WHERE id % 50 = 7$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, i % 3, 'new', 'n', i, i, i, 'today', i % 2 = 0, jsonb_build_object('k', 'k' || i % 9, 'n', i, 'd', NULL) FROM generate_series(1, 300) i$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec

-- The nodes of a plan, and what ours says of sets.
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'Aggregate|Amax|Gather|Sets' THEN
            RETURN NEXT regexp_replace(ltrim(line, ' ->'), '^(Hash|Mixed|Group)Agg', 'Agg');
        END IF;
    END LOOP;
END $$;
SELECT * FROM plan_of($$SELECT a, b, count(*) FROM t GROUP BY ROLLUP (a, b)$$);
SELECT * FROM plan_of($$SELECT a, b, doc->>'k', GROUPING(a, b), count(*) FROM t GROUP BY GROUPING SETS ((a, b), (doc->>'k'), (), ()) HAVING GROUPING(a) = 0 ORDER BY 1$$);
-- Keys that PostgreSQL shows in a set that lacks them, and equal ones: its own.
SELECT * FROM plan_of($$SELECT 'x', a, count(*) FROM t GROUP BY ROLLUP (1, 2)$$);
SELECT * FROM plan_of($$SELECT a, a, count(*) FROM t GROUP BY ROLLUP (1, 2)$$);
SELECT * FROM plan_of($$SELECT a, json_agg(b) FROM t GROUP BY ROLLUP (1)$$);

CREATE FUNCTION check_all(of text DEFAULT '') RETURNS TABLE (query text, rows bigint, missing bigint, extra bigint) LANGUAGE sql AS $check$
SELECT query, c.* FROM (VALUES
    ($$SELECT a, b, count(*) FROM t GROUP BY ROLLUP (a, b)$$),
    ($$SELECT a, b, c, count(*), sum(id), GROUPING(a, b, c), GROUPING(c), GROUPING(b, a) FROM t GROUP BY CUBE (a, b, c)$$),
    ($$SELECT a, b, count(b), avg(n), min(n), max(x), stddev(a) FROM t GROUP BY GROUPING SETS ((a), (b), (a), ())$$),
    ($$SELECT a, sum(n) FROM t GROUP BY GROUPING SETS ((a), (a))$$),
    ($$SELECT a, sum(n) FROM t GROUP BY DISTINCT ROLLUP (a), ROLLUP (a)$$),
    ($$SELECT count(*), sum(n), max(id) FROM t GROUP BY GROUPING SETS ((), ())$$),
    ($$SELECT count(*) FROM t GROUP BY GROUPING SETS ((), (), ()) HAVING count(*) > 1$$),
    ($$SELECT a, b, d, count(*) FROM t GROUP BY a, ROLLUP (b, d)$$),
    ($$SELECT a, b, d, count(*) FROM t GROUP BY ROLLUP (a, b), CUBE (d)$$),
    ($$SELECT a, b, count(*) FROM t GROUP BY ROLLUP ((a, b))$$),
    -- Nothing to group.
    ($$SELECT a, b, count(*), sum(n) FROM none GROUP BY ROLLUP (a, b)$$),
    ($$SELECT a, count(*), GROUPING(a) FROM none GROUP BY GROUPING SETS ((a), (), ())$$),
    ($$SELECT a, count(*) FROM none GROUP BY GROUPING SETS ((a))$$),
    ($$SELECT a, b, count(*), sum(n) FROM t WHERE id < 0 GROUP BY CUBE (a, b)$$),
    -- Keys that are NULL, and keys that are not there.
    ($$SELECT a, GROUPING(a), count(*) FROM t GROUP BY ROLLUP (a) HAVING a IS NULL$$),
    ($$SELECT a, b, count(*) FROM t GROUP BY CUBE (a, b) HAVING GROUPING(a) = 1 OR b IS NULL$$),
    ($$SELECT coalesce(a, -1), CASE GROUPING(b) WHEN 0 THEN coalesce(b, 'null') ELSE 'all' END, count(*) FROM t GROUP BY ROLLUP (a, b)$$),
    ($$SELECT a + 1, a, sum(a + 1) FROM t GROUP BY ROLLUP (a)$$),
    ($$SELECT a + 1, a, count(*), sum(a + 1) FROM t GROUP BY GROUPING SETS ((a), (a + 1), ())$$),
    ($$SELECT a IS NULL, a IS NULL OR b IS NULL, count(*) FROM t GROUP BY GROUPING SETS ((a, b), (a IS NULL), ())$$),
    ($$SELECT GROUPING(a), GROUPING(b), sum(GROUPING(a) + count(*)) OVER (PARTITION BY GROUPING(b)) FROM t GROUP BY CUBE (a, b)$$),
    ($$SELECT GROUPING(a), count(*) FROM t GROUP BY ROLLUP (a) ORDER BY GROUPING(a), a$$),
    ($$SELECT DISTINCT GROUPING(a), b FROM t GROUP BY ROLLUP (a, b)$$),
    ($$SELECT a, b FROM t GROUP BY ROLLUP (a, b)$$),
    ($$SELECT a FROM t GROUP BY a, ROLLUP (a)$$),
    -- Keys of all types.
    ($$SELECT a, b, c, n, f, d, ok, count(*) FROM t GROUP BY GROUPING SETS ((a, n), (b, f), (c, d), (ok, n), (n), (f, ok), ())$$),
    ($$SELECT x::text, count(*) FROM t GROUP BY ROLLUP (x::text)$$),
    ($$SELECT x::numeric(10, 2), b, count(*) FROM t GROUP BY ROLLUP (1, 2)$$),
    ($$SELECT f, b, count(*) FROM t GROUP BY CUBE (f, b)$$),
    ($$SELECT c || 'x', upper(b), date_trunc('month', d), count(*) FROM t GROUP BY CUBE (1, 2, 3)$$),
    -- Paths of documents.
    ($$SELECT doc->>'k', (doc->>'n')::int, count(*), sum((doc->>'n')::int) FROM t GROUP BY ROLLUP (1, 2)$$),
    ($$SELECT doc->>'k', doc->>'d', doc->>'d' IS NULL, count(*), max((doc->>'n')::int) FROM t GROUP BY CUBE (1, 2)$$),
    ($$SELECT doc->'k', doc->>'d', GROUPING(doc->'k') FROM t GROUP BY GROUPING SETS (1, 2)$$),
    ($$SELECT upper(doc->>'k'), count(*) FROM t GROUP BY ROLLUP (doc->>'k')$$),
    ($$SELECT doc->>'k', count(*) FILTER (WHERE doc->>'d' = '1'), sum(id) FILTER (WHERE a = 1) FROM t GROUP BY ROLLUP (1)$$),
    -- Aggregates in the order of rows, of distinct values, with FILTER, of errors.
    ($$SELECT b, a, sum(f), avg(f), min(f), max(f) FROM t WHERE id < 400 GROUP BY CUBE (a, b)$$),
    ($$SELECT b, a, count(DISTINCT n), count(DISTINCT doc->>'k'), count(*) FROM t GROUP BY CUBE (a, b)$$),
    ($$SELECT b, a, count(DISTINCT n) FILTER (WHERE ok), count(DISTINCT id) FROM t GROUP BY ROLLUP (a, b)$$),
    ($$SELECT b, bool_and(ok), bool_or(ok), count(*) FILTER (WHERE ok), max(d), min(b COLLATE "C") FROM t GROUP BY ROLLUP (a, b)$$),
    ($$SELECT b, sum(DISTINCT a) FROM t GROUP BY ROLLUP (b)$$),
    ($$SELECT a, array_agg(b ORDER BY id, b) FROM t GROUP BY ROLLUP (a)$$),
    -- Constant and equal keys.
    ($$SELECT 'x', a, count(*) FROM t GROUP BY ROLLUP (1, 2)$$),
    ($$SELECT a, a, count(*) FROM t GROUP BY ROLLUP (1, 2)$$),
    ($$SELECT a, a AS again, count(*) FROM t GROUP BY ROLLUP (a)$$),
    -- Many groups, of which some are of a single row.
    ($$SELECT id, a, count(*), sum(n) FROM t GROUP BY ROLLUP (a, id)$$),
    ($$SELECT id, b, n, count(*), sum(n) FROM t GROUP BY CUBE (b, id, n)$$),
    ($$SELECT id, a, count(DISTINCT b), min(n) FROM t GROUP BY GROUPING SETS ((id), (a), ())$$),
    -- The same, with conditions that the planner takes for such that leave few.
    ($$SELECT id, a, count(*), sum(n), GROUPING(id) FROM t WHERE id + 0 > 0 AND id + 1 > 0 GROUP BY ROLLUP (a, id)$$),
    ($$SELECT id, b, n, count(*), sum(n) FROM t WHERE id + 0 > 0 AND id + 1 > 0 AND id + 2 > 0 AND id + 3 > 0 GROUP BY CUBE (b, id, n)$$),
    ($$SELECT id, a, count(DISTINCT b), min(n) FROM t WHERE id + 0 > 0 AND id + 1 > 0 GROUP BY GROUPING SETS ((id), (a), (), ())$$),
    ($$SELECT a, count(DISTINCT id), count(DISTINCT b) FROM t WHERE id + 0 > 0 AND id + 1 > 0 GROUP BY GROUPING SETS ((), (a), ())$$),
    -- In a query around it.
    ($$SELECT * FROM (SELECT a, b, count(*) FROM t GROUP BY ROLLUP (a, b)) s JOIN t u USING (a, b) WHERE u.id < 100$$),
    ($$SELECT id, (SELECT count(*) FROM (SELECT a, b FROM t i WHERE i.a = t.a GROUP BY ROLLUP (a, b)) s) FROM t WHERE id < 20$$),
    ($$SELECT id, s.* FROM t, LATERAL (SELECT i.b, count(*), max(i.id + t.id) FROM t i WHERE i.id < t.id GROUP BY ROLLUP (i.b)) s WHERE id < 20$$),
    ($$SELECT a, b, count(*) FROM t GROUP BY ROLLUP (a, b) ORDER BY count(*) DESC, a, b LIMIT 5$$),
    ($$SELECT doc->>'k', e, count(*) FROM t, jsonb_array_elements_text(jsonb_build_array(a, b)) e GROUP BY CUBE (1, 2)$$)
) AS q (query), compare(query) AS c WHERE query ~ of
$check$;
SELECT * FROM check_all();
-- Keys that are equal and look different: those of the first row.
SELECT * FROM compare($$SELECT x, b, count(*) FROM t GROUP BY ROLLUP (x, b)$$);
-- An error of an argument.
SELECT b, sum(1 / a) FROM t GROUP BY ROLLUP (b);

-- With a parameter, planned anew and not.
PREPARE counted (int) AS SELECT a, GROUPING(a), count(*), sum(n) FILTER (WHERE id < $1 + 50) FROM t WHERE id > $1 GROUP BY ROLLUP (a) HAVING count(*) > $1 ORDER BY 2, 1;
SET plan_cache_mode = force_generic_plan;
EXECUTE counted(100);
EXECUTE counted(5000);
EXECUTE counted(100);
RESET plan_cache_mode;
EXECUTE counted(100);

-- Groups that take several passes: the same answers.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
CREATE FUNCTION passes_of(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' || query LOOP
        IF line ~ 'Passes' THEN
            RETURN substring(line FROM '\d+');
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
SELECT passes_of($$SELECT id, a, count(*) FROM t WHERE id + 0 > 0 AND id + 1 > 0 GROUP BY ROLLUP (a, id)$$) > 1;
SELECT * FROM check_all() WHERE missing + extra > 0;
RESET work_mem;
RESET hash_mem_multiplier;

-- In workers, with and without exchange.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT * FROM plan_of($$SELECT a, b, count(*) FROM t GROUP BY ROLLUP (a, b)$$);
SELECT * FROM check_all('none|id[ ,]|DISTINCT|CUBE') WHERE missing + extra > 0;
SET amax.exchange_threshold = 0;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT * FROM check_all('id, |DISTINCT') WHERE missing + extra > 0;
