-- Rows that are read by their positions, once all have been found, are the rows that were found: with every other value of theirs. An
-- aggregate takes all of its rows so while this is set:
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.rows_per_leaf = 500;
SELECT twice($$CREATE TABLE t (id int, s text, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, 's' || i % 77, jsonb_build_object('k', 'k' || i % 5, 'n', i % 1000, 'x', CASE WHEN i % 9 = 0 THEN '[]' ELSE to_jsonb(i) END)
    FROM generate_series(1, 6000) i$$) \gexec
VACUUM t;
SELECT twice($$ALTER TABLE t ADD later int$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 100 = 3$$) \gexec
SELECT twice($$UPDATE t SET s = 'changed', later = id WHERE id % 50 = 7$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, 'hot', jsonb_build_object('k', 'hot', 'n', i, 'x', i), i FROM generate_series(1, 300) i$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec
SET amax.fault_point = 'late_rows';
EXPLAIN (COSTS OFF) SELECT s, count(*) FROM t GROUP BY s;
-- All rows, some rows, rows of leaves alone and of row pages alone.
SELECT * FROM compare($$SELECT count(*), sum(id), min(s), sum((doc->>'n')::int), sum(later) FROM t$$);
SELECT * FROM compare($$SELECT s, doc->>'k', count(*), sum(id), max((doc->>'n')::int) FROM t WHERE id % 3 = 0 GROUP BY 1, 2$$);
SELECT * FROM compare($$SELECT doc->>'k', sum(id) FROM t WHERE s = 's5' GROUP BY 1$$);
SELECT * FROM compare($$SELECT doc->>'k', sum(id), count(later) FROM t WHERE doc->>'k' = 'hot' OR s = 'changed' GROUP BY 1$$);
-- What vectors are unsure of, and what only the whole row has.
SELECT * FROM compare($$SELECT doc->>'x', count(*) FROM t WHERE id < 100 GROUP BY 1$$);
SELECT * FROM compare($$SELECT count(DISTINCT doc::text), max(length(doc::text)) FROM t$$);
-- Groups that take several passes, of the same positions found again.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT * FROM compare($$SELECT id, s, count(*) FROM t GROUP BY 1, 2$$);
-- In workers.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT * FROM compare($$SELECT s, count(*), sum(id) FROM t GROUP BY 1$$);
