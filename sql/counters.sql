-- What is counted of tables: loads, flushes, merges, what scans read, and what the shared cache had. Others may count in other databases meanwhile.
\getenv abs_srcdir PG_ABS_SRCDIR
SET max_parallel_workers_per_gather = 0;
SET amax.eager = off;
SET amax.rows_per_leaf = 1000;
SET amax.bulk_threshold = 0;
CREATE TABLE counted (id int, v int) USING amax;
SELECT loads, flushes, merges, write_amplification, leaves_read FROM amax.stat_tables WHERE relname = 'counted';
INSERT INTO counted SELECT i, i % 10 FROM generate_series(1, 10000) i;
SELECT loads, loaded_rows, loaded_bytes > 10000 AS bytes, last_load > now() - interval '1 hour' AS lately, flushes, last_flush, merges, write_amplification
FROM amax.stat_tables WHERE relname = 'counted';
-- Leaves.
SELECT count(*) FROM counted WHERE id <= 1500;
SELECT leaves_read, leaves_skipped FROM amax.stat_tables WHERE relname = 'counted';
-- Row by row, flushed, then merged.
SET amax.bulk_threshold = 1000000;
INSERT INTO counted SELECT i, i % 10 FROM generate_series(10001, 14000) i;
SELECT amax.flush('counted');
SELECT loads, flushes, flushed_rows, last_flush IS NOT NULL AS flushed FROM amax.stat_tables WHERE relname = 'counted';
SELECT amax.set_options('counted', '{"max_components": 1}');
DELETE FROM counted WHERE id % 2 = 0;
VACUUM counted;
SELECT merges > 0 AS merged, merged_rows > 0 AS rows, write_amplification > 1 AS again, last_merge IS NOT NULL AS lately FROM amax.stat_tables WHERE relname = 'counted';
-- What was rolled back counts.
BEGIN;
INSERT INTO counted SELECT i, i % 10 FROM generate_series(1, 10000) i;
ROLLBACK;
SELECT loads, loaded_rows FROM amax.stat_tables WHERE relname = 'counted';
-- Temporary tables are not counted.
CREATE TEMP TABLE passing (id int) USING amax;
INSERT INTO passing SELECT generate_series(1, 10000);
SELECT count(*) FROM amax.table_counters() WHERE relid = 'passing'::regclass;
-- How much conditions skip tells of rows that a policy hides.
CREATE ROLE regress_counts;
SET ROLE regress_counts;
SELECT loads, leaves_read, leaves_skipped, columns_found FROM amax.stat_tables WHERE relname = 'counted';
SELECT amax.reset_counters();
RESET ROLE;
GRANT SELECT ON counted TO regress_counts;
SET ROLE regress_counts;
SELECT leaves_read > 0 AS told FROM amax.stat_tables WHERE relname = 'counted';
RESET ROLE;
ALTER TABLE counted ENABLE ROW LEVEL SECURITY;
SET ROLE regress_counts;
SELECT leaves_read > 0 AS told FROM amax.stat_tables WHERE relname = 'counted';
RESET ROLE;
-- The cache.
SELECT bytes > 0 AS bytes, max_bytes, columns > 0 AS columns, segments > 0 AS segments, segments_evicted >= 0 AS evicted, columns_decoded > 0 AS decoded,
    stats_reset < now() AS since FROM amax.stat_cache;
DROP TABLE counted;
SELECT count(*) FROM amax.stat_tables WHERE relname = 'counted';
DROP ROLE regress_counts;
