-- What pg_stat_user_tables counts. (Rows of leaves that a condition rules out are not read: the conditions here rule out none.)
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET max_parallel_workers_per_gather = 0;

SELECT twice($$CREATE TABLE t (id int, d jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, jsonb_build_object('n', i) FROM generate_series(1, 5000) i$$) \gexec
SELECT pg_stat_force_next_flush();
SELECT twice($$VACUUM ANALYZE t$$) \gexec
SELECT twice($$SELECT count(*) FROM t$$) \gexec
SELECT twice($$SELECT d->>'n' FROM t WHERE id % 5000 = 77$$) \gexec
SELECT twice($$SELECT id % 2, sum((d->>'n')::int) FROM t GROUP BY 1 ORDER BY 1$$) \gexec
SELECT twice($$SELECT (SELECT count(*) FROM t WHERE id % 5000 = v AND (d->>'n')::int > 0) FROM (VALUES (1), (70)) AS v(v)$$) \gexec
BEGIN;
DELETE FROM heap_side.t WHERE id % 5000 BETWEEN 100 AND 199;
DELETE FROM amax_side.t WHERE id % 5000 BETWEEN 100 AND 199;
ROLLBACK;
SELECT twice($$DELETE FROM t WHERE id % 5000 BETWEEN 200 AND 249$$) \gexec
SELECT twice($$UPDATE t SET id = id + 10000 WHERE id % 5000 BETWEEN 300 AND 309$$) \gexec
SELECT pg_stat_force_next_flush();
SELECT * FROM compare($$SELECT seq_scan, seq_tup_read, n_tup_ins, n_tup_upd, n_tup_del, n_live_tup, n_dead_tup, n_mod_since_analyze,
  n_ins_since_vacuum, vacuum_count, analyze_count FROM pg_stat_user_tables WHERE relid = 't'::regclass$$);
