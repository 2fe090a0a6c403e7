-- What pg_stat_user_tables counts, and EXPLAIN of filters: rows of leaves that a condition rules out are among those read and removed.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET max_parallel_workers_per_gather = 0;
SET amax.rows_per_leaf = 500;

SELECT twice($$CREATE TABLE t (id int, d jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, jsonb_build_object('n', i) FROM generate_series(1, 5000) i$$) \gexec
SELECT pg_stat_force_next_flush();
SELECT twice($$VACUUM ANALYZE t$$) \gexec
SELECT twice($$SELECT count(*) FROM t$$) \gexec
SELECT twice($$SELECT d->>'n' FROM t WHERE id % 5000 = 77$$) \gexec
SELECT twice($$SELECT count(d->>'n') FROM t WHERE id < 600$$) \gexec
SELECT twice($$SELECT d->>'n' FROM t WHERE id > 5000$$) \gexec
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

-- What filters remove: of skipped leaves too, beside deleted rows and those of row pages, for each row of a join, and in a worker.
CREATE FUNCTION twins.plan(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, FORMAT json) ' || query INTO plan;
  RETURN plan;
END $$;
CREATE FUNCTION twins.removed(query text) RETURNS numeric LANGUAGE sql AS $$
  SELECT sum((node->>'Rows Removed by Filter')::numeric * (node->>'Actual Loops')::numeric)
  FROM jsonb_path_query(twins.plan(query), 'strict $.**') AS node WHERE jsonb_typeof(node) = 'object'
$$;
SELECT (plan('SELECT d FROM amax_side.t WHERE id < 600')->0->'Plan'->>'Leaves Skipped')::int > 5 AS skips;
SELECT * FROM compare($$SELECT removed('SELECT d FROM t WHERE id < 600')$$);
SELECT * FROM compare($$SELECT removed('SELECT count(*) FROM t WHERE id < 0')$$);
SELECT * FROM compare($$SELECT removed('SELECT d FROM t WHERE id BETWEEN 2000 AND 2500 AND (d->>''n'')::int % 7 = 1')$$);
SELECT * FROM compare($$SELECT removed('SELECT (SELECT sum(id) FROM t WHERE id = 100 * v) FROM generate_series(1, 3) AS v')$$);
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT plan('SELECT d FROM amax_side.t WHERE id < 600')->0->'Plan'->>'Node Type' AS parallel;
SELECT * FROM compare($$SELECT removed('SELECT d FROM t WHERE id < 600')$$);
DROP FUNCTION twins.removed(text);
DROP FUNCTION twins.plan(text);

-- ANALYZE is given more rows of components than it takes, but not all: the sample is as large, and what it says of the table is so too.
SET default_statistics_target = 1;
SELECT twice($$CREATE TABLE sampled (id int, d jsonb)$$) \gexec
SELECT twice($$INSERT INTO sampled SELECT i, CASE WHEN i % 2 = 0 THEN jsonb_build_object('n', i, 'text', md5(i::text), 'tags', jsonb_build_array(i % 3, i)) END FROM generate_series(1, 20000) i$$) \gexec
SELECT twice($$VACUUM sampled$$) \gexec
SELECT twice($$DELETE FROM sampled WHERE id % 4 = 1$$) \gexec
SELECT twice($$ANALYZE sampled$$) \gexec
SELECT * FROM compare($$SELECT reltuples FROM pg_class WHERE oid = 'sampled'::regclass$$);
SELECT * FROM compare($$SELECT attname, n_distinct < 0, null_frac BETWEEN 0.15 AND 0.55 FROM pg_stats WHERE schemaname = current_schema AND tablename = 'sampled' AND attname = 'd'$$);
-- what it keeps of the documents are documents of the table
SELECT twice($$ALTER TABLE sampled ALTER d SET STATISTICS 5$$) \gexec
SELECT twice($$ANALYZE sampled$$) \gexec
SELECT * FROM compare($$SELECT count(d), count(DISTINCT d), count(id) FROM
  (SELECT unnest(histogram_bounds::text::jsonb[]) AS d FROM pg_stats WHERE schemaname = current_schema AND tablename = 'sampled' AND attname = 'd') AS bounds LEFT JOIN sampled USING (d)$$);
-- uniform: the middle of the histogram is the middle of the table
SELECT twice($$ALTER TABLE sampled ALTER id SET STATISTICS 10$$) \gexec
SELECT twice($$ANALYZE sampled$$) \gexec
SELECT * FROM compare($$SELECT (histogram_bounds::text::int[])[6] BETWEEN 9000 AND 11000 FROM pg_stats WHERE schemaname = current_schema AND tablename = 'sampled' AND attname = 'id'$$);
SELECT twice($$DROP TABLE sampled$$) \gexec

-- Documents that all differ by a path are not all assembled: what ANALYZE says of them is the same. (Heap's are a little shorter.)
RESET default_statistics_target;
SELECT twice($$CREATE TABLE apart (id int, d jsonb)$$) \gexec
SELECT twice($$INSERT INTO apart SELECT i, jsonb_build_object('n', i, 'same', i % 3, 'text', repeat(md5((i % 10)::text), 3)) FROM generate_series(1, 8000) i$$) \gexec
SELECT twice($$VACUUM ANALYZE apart$$) \gexec
SELECT count(*) > 10 AS leaves FROM amax.leaves('amax_side.apart');
SELECT * FROM compare($$SELECT attname, null_frac, n_distinct, most_common_vals IS NULL, cardinality(histogram_bounds::text::text[]), abs(correlation) > 0.9,
  avg_width BETWEEN 100 AND 250 FROM pg_stats WHERE schemaname = current_schema AND tablename = 'apart'$$);
SELECT * FROM compare($$SELECT count(d), count(DISTINCT d), count(id) FROM
  (SELECT unnest(histogram_bounds::text::jsonb[]) AS d FROM pg_stats WHERE schemaname = current_schema AND tablename = 'apart' AND attname = 'd') AS bounds LEFT JOIN apart USING (d)$$);
SELECT twice($$CREATE TABLE wide (d jsonb)$$) \gexec
SELECT twice($$INSERT INTO wide SELECT jsonb_build_object('n', i, 'text', repeat(md5(i::text), 40)) FROM generate_series(1, 4000) i$$) \gexec
SELECT twice($$VACUUM ANALYZE wide$$) \gexec
SELECT * FROM compare($$SELECT null_frac, n_distinct, most_common_vals IS NULL, histogram_bounds IS NULL FROM pg_stats WHERE schemaname = current_schema AND tablename = 'wide'$$);
SELECT avg_width BETWEEN 1000 AND 1500 AS wide FROM pg_stats WHERE schemaname = 'amax_side' AND tablename = 'wide';
-- They are where rows have none, where no path tells them apart, and where expressions are made of them.
SELECT twice($$CREATE TABLE alike (d jsonb, nulls jsonb, late int)$$) \gexec
SELECT twice($$INSERT INTO alike SELECT jsonb_build_object('n', i % 5), CASE WHEN i % 2 = 0 THEN jsonb_build_object('n', i) END FROM generate_series(1, 8000) i$$) \gexec
SELECT twice($$ALTER TABLE alike ADD added jsonb DEFAULT '{"n": 1}'$$) \gexec
SELECT twice($$VACUUM ANALYZE alike$$) \gexec
SELECT * FROM compare($$SELECT attname, null_frac, n_distinct, cardinality(most_common_vals::text::text[]), cardinality(histogram_bounds::text::text[]) FROM pg_stats
  WHERE schemaname = current_schema AND tablename = 'alike'$$);
SELECT twice($$CREATE INDEX ON apart (((d->>'same')::int))$$) \gexec
SELECT twice($$ANALYZE apart$$) \gexec
SELECT * FROM compare($$SELECT null_frac, n_distinct, cardinality(most_common_vals::text::text[]) FROM pg_stats WHERE schemaname = current_schema AND tablename ~ '^apart_'$$);
SELECT twice($$DROP INDEX apart_int4_idx$$) \gexec
SELECT twice($$CREATE STATISTICS apart_same ON (d->>'same') FROM apart$$) \gexec
SELECT twice($$ANALYZE apart$$) \gexec
SELECT * FROM compare($$SELECT null_frac, n_distinct, cardinality(most_common_vals::text::text[]) FROM pg_stats_ext_exprs WHERE schemaname = current_schema AND tablename = 'apart'$$);
SELECT twice($$DROP STATISTICS apart_same$$) \gexec
SELECT twice($$CREATE TABLE above (id int, d jsonb)$$) \gexec
SELECT twice($$CREATE STATISTICS above_same ON (d->>'same') FROM above$$) \gexec
SELECT twice($$ALTER TABLE apart INHERIT above$$) \gexec
SELECT twice($$ANALYZE above$$) \gexec
SELECT * FROM compare($$SELECT null_frac, n_distinct, cardinality(most_common_vals::text::text[]) FROM pg_stats_ext_exprs WHERE schemaname = current_schema AND tablename = 'above' AND inherited$$);
SELECT twice($$DROP TABLE above, apart, alike, wide$$) \gexec
-- Paths that tell them apart together, in partitions too. One that fewer than one in a hundred are is met in some leaves only then.
CREATE FUNCTION twins.pair(i int) RETURNS jsonb LANGUAGE sql AS $$ SELECT jsonb_build_object('a', j / 100, 'b', jsonb_build_object('c', 'text ' || j % 100), 'k', 'x') FROM (SELECT CASE WHEN i % 160 = 7 THEN 7 ELSE i END AS j) one $$;
SELECT twice($$CREATE TABLE pairs (id int, d jsonb, more int)$$) \gexec
SELECT twice($$INSERT INTO pairs SELECT i, twins.pair(i) FROM generate_series(1, 8000) i$$) \gexec
SELECT twice($$CREATE TABLE parted (id int, d jsonb) PARTITION BY RANGE (id)$$) \gexec
SELECT twice($$CREATE TABLE parted1 PARTITION OF parted FOR VALUES FROM (0) TO (5000)$$) \gexec
SELECT twice($$CREATE TABLE parted2 PARTITION OF parted FOR VALUES FROM (5000) TO (10000)$$) \gexec
SELECT twice($$INSERT INTO parted SELECT id, d FROM pairs$$) \gexec
SELECT twice($$VACUUM pairs, parted$$) \gexec
SELECT twice($$CREATE INDEX ON pairs ((id + 1)) WHERE id > 7$$) \gexec
SELECT twice($$CREATE STATISTICS pairs_ids ON id, more FROM pairs$$) \gexec
SELECT twice($$ANALYZE pairs, parted$$) \gexec
SELECT schemaname, tablename, inherited, null_frac, n_distinct < -0.98 AS different, most_common_freqs[1] < 0.0055 AS some_met, cardinality(histogram_bounds::text::text[]) AS bounds, avg_width BETWEEN 40 AND 120 AS width
  FROM pg_stats WHERE schemaname ~ '_side$' AND tablename ~ '^pa(irs|rted)' AND attname = 'd' ORDER BY 1 DESC, 2, 3;
SELECT * FROM compare($$SELECT count(d), count(DISTINCT d) = count(d) FROM
  (SELECT unnest(histogram_bounds::text::jsonb[]) AS d FROM pg_stats WHERE schemaname = current_schema AND tablename = 'parted' AND attname = 'd') AS bounds JOIN pairs USING (d)$$);
-- Where something is computed of them by keys stand-ins have what that reads; else they are documents.
SELECT twice($$CREATE INDEX ON pairs (id) WHERE d->>'k' = 'x'$$) \gexec
SELECT twice($$CREATE STATISTICS parted_a ON (d->>'a'), (d->>'k') FROM parted$$) \gexec
SELECT twice($$ANALYZE pairs, parted$$) \gexec
SELECT * FROM compare($$SELECT tablename, inherited, cardinality(most_common_vals::text::text[]) FROM pg_stats WHERE schemaname = current_schema AND tablename ~ '^pa(irs|rted)' AND attname = 'd'$$);
SELECT * FROM compare($$SELECT expr, inherited, null_frac, n_distinct, cardinality(most_common_vals::text::text[]) FROM pg_stats_ext_exprs WHERE schemaname = current_schema AND tablename = 'parted'$$);
SELECT twice($$CREATE INDEX ON pairs ((d->'b'->>'c'), ((d->>'a')::int))$$) \gexec
SELECT twice($$ANALYZE pairs$$) \gexec
SELECT * FROM compare($$SELECT attname, null_frac, avg_width, n_distinct, cardinality(most_common_vals::text::text[]), cardinality(histogram_bounds::text::text[]) FROM pg_stats
  WHERE schemaname = current_schema AND tablename ~ '^pairs_' ORDER BY attname$$);
SELECT most_common_freqs[1] < 0.0055 AS some_met FROM pg_stats WHERE schemaname ~ '_side$' AND tablename = 'pairs' AND attname = 'd' ORDER BY schemaname DESC;
SELECT twice($$CREATE INDEX ON pairs ((d::text))$$) \gexec
SELECT twice($$ANALYZE pairs$$) \gexec
SELECT most_common_freqs[1] < 0.0055 AS some_met FROM pg_stats WHERE schemaname ~ '_side$' AND tablename = 'pairs' AND attname = 'd' ORDER BY schemaname DESC;
SELECT twice($$DROP TABLE pairs, parted$$) \gexec
DROP FUNCTION twins.pair(int);
