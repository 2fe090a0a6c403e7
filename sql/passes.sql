-- Groups that memory does not hold, of rows that lie in the order of their key: a pass reads the leaves that have its groups.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET max_parallel_workers_per_gather = 0;
SET amax.rows_per_leaf = 1000;
SELECT twice($$CREATE TABLE t (k int, n bigint, q int, r int, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT nullif(i / 2, 7), 9223372036854775807 - i, -i, hashint4(i), jsonb_build_object('k', i / 3, 'v', i) FROM generate_series(1, 40000) i$$) \gexec
SELECT twice($$VACUUM (ANALYZE, FREEZE) t$$) \gexec
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SET enable_hashagg = off;
SET enable_sort = off;
-- Several passes: whether they read all leaves again and again.
CREATE FUNCTION read(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; passes int; leaves int;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        passes := coalesce(passes, substring(line FROM 'Passes: (\d+)')::int);
        leaves := coalesce(leaves, substring(line FROM 'Leaves Read: (\d+)')::int);
    END LOOP;
    RETURN CASE WHEN leaves IS NULL THEN 'leaves are not shown' WHEN passes < 5 THEN passes || ' passes' WHEN leaves > 5 * 40 THEN 'all leaves' ELSE 'some leaves' END;
END $$;
SELECT read($$SELECT k, count(*), sum(q) FROM t GROUP BY k$$), read($$SELECT n, count(*) FROM t GROUP BY n$$), read($$SELECT q, count(*) FROM t GROUP BY q$$),
    read($$SELECT r, count(*) FROM t GROUP BY r$$), read($$SELECT k, q, count(*) FROM t GROUP BY k, q$$), read($$SELECT (doc->>'k')::int, count(*) FROM t GROUP BY 1$$);
SELECT * FROM compare($$SELECT k, count(*), sum(q) FROM t GROUP BY k$$);
SELECT * FROM compare($$SELECT n, count(*) FROM t GROUP BY n$$);
SELECT * FROM compare($$SELECT q, count(*) FROM t WHERE r > 0 GROUP BY q$$);
SELECT * FROM compare($$SELECT (doc->>'k')::int, sum((doc->>'v')::int) FROM t GROUP BY 1$$);
SELECT * FROM compare($$SELECT DISTINCT k FROM t$$);
SELECT * FROM compare($$SELECT k, count(*) FROM t GROUP BY k HAVING sum(q) < -79990$$);
SELECT * FROM compare($$SELECT k, count(DISTINCT q), count(DISTINCT r % 3) FROM t GROUP BY k$$);
-- One group has too many values: its rows, with NULL as their key, are read again.
SELECT * FROM compare($$SELECT CASE WHEN q % 2 = 0 THEN k END, count(DISTINCT r), count(*) FROM t GROUP BY 1$$);
-- Values of groups next to each other, each of many: they are sorted on disk, group after group.
SELECT * FROM compare($$SELECT CASE WHEN k > 0 THEN k / 2000 END, array_agg(q ORDER BY q), count(*) FROM t GROUP BY 1$$);
SELECT read($$SELECT k / 2000, array_agg(q ORDER BY q) FROM t GROUP BY 1$$);
-- Read again from the start.
SELECT * FROM compare($$SELECT o.i, s.k, s.n FROM generate_series(1, 3) AS o (i), LATERAL (SELECT k, count(*) + o.i AS n FROM t WHERE q < o.i * -9000 GROUP BY k OFFSET 0) AS s$$);
-- Rows that are elsewhere: on row pages, changed, deleted, with keys below and between.
SELECT twice($$INSERT INTO t SELECT i, i, i, i, jsonb_build_object('k', i, 'v', i) FROM generate_series(-500, 30000, 100) i$$) \gexec
SELECT twice($$UPDATE t SET k = k + 5 WHERE k % 1000 = 3$$) \gexec
SELECT twice($$DELETE FROM t WHERE k % 700 = 1$$) \gexec
SELECT * FROM compare($$SELECT k, count(*), sum(q) FROM t GROUP BY k$$);
SELECT * FROM compare($$SELECT n, count(*) FROM t GROUP BY n$$);
SELECT * FROM compare($$SELECT (doc->>'k')::int, sum((doc->>'v')::int) FROM t GROUP BY 1$$);
-- How many leaves are read would tell of rows that a policy hides. All lie in order again: where they were, a leaf of rows from everywhere is read by each pass.
CREATE INDEX t_k ON amax_side.t (k);
CLUSTER amax_side.t USING t_k;
DROP INDEX amax_side.t_k;
VACUUM (FREEZE) amax_side.t;
CREATE ROLE regress_passes;
GRANT USAGE ON SCHEMA amax_side TO regress_passes;
GRANT SELECT ON amax_side.t TO regress_passes;
ALTER TABLE amax_side.t ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON amax_side.t USING (r % 2 = 0);
SELECT read($$SELECT k, count(*), sum(q) FROM t GROUP BY k$$);
SET ROLE regress_passes;
SELECT read($$SELECT k, count(*), sum(q) FROM t GROUP BY k$$);
RESET ROLE;
DROP SCHEMA heap_side, amax_side CASCADE;
DROP ROLE regress_passes;
