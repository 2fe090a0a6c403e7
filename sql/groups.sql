-- How many groups the planner expects: what PostgreSQL has statistics of, it says, as of heap.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET max_parallel_workers_per_gather = 0;
-- All rows are looked at: the statistics of both tables are the same.
SET default_statistics_target = 1000;
SELECT twice($$CREATE TABLE t (a int, b int, c int, d jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i % 100, i % 100, i, jsonb_build_object('a', i % 100, 'b', i % 100) FROM generate_series(1, 20000) i$$) \gexec
SELECT twice($$VACUUM ANALYZE t$$) \gexec
-- Two keys that are equal, without and with statistics on both; of them all, and of some rows.
SELECT * FROM compare($$SELECT expected('SELECT count(*) FROM t GROUP BY a, b')$$);
SELECT * FROM compare($$SELECT expected('SELECT count(*) FROM t GROUP BY a, c')$$);
SELECT twice($$CREATE STATISTICS t_ab (ndistinct) ON a, b FROM t$$) \gexec
SELECT twice($$CREATE STATISTICS t_da (ndistinct) ON (d->>'a'), (d->>'b') FROM t$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec
SELECT * FROM compare($$SELECT expected('SELECT count(*) FROM t GROUP BY a, b')$$);
SELECT * FROM compare($$SELECT expected('SELECT count(*) FROM t WHERE c < 1000 GROUP BY a, b')$$);
SELECT * FROM compare($$SELECT expected('SELECT count(*) FROM t GROUP BY a, b, c')$$);
SELECT * FROM compare($$SELECT expected('SELECT count(*) FROM t GROUP BY d->>''a'', d->>''b''')$$);
SELECT expected('SELECT count(*) FROM t GROUP BY a, b'), expected($$SELECT count(*) FROM t GROUP BY d->>'a', d->>'b'$$);
