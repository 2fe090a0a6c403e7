-- Where people stumble: errors that say what to do instead, and storage parameters and loads that mean something else than in heap.
CREATE DATABASE hints_only TEMPLATE template0;
\c hints_only
SET client_min_messages = warning;
CREATE EXTENSION amax;
CREATE TABLE t (id int, doc jsonb) USING amax;
INSERT INTO t VALUES (1, '{"a": 1}');
-- as psql shows it by default, and the SQLSTATE
\set VERBOSITY default
\set SHOW_CONTEXT never

-- amax's options are no storage parameters
CREATE TABLE o (doc jsonb) USING amax WITH (compression = 'zstd');
\echo :SQLSTATE
CREATE TABLE o USING amax WITH (rows_per_leaf = 100) AS SELECT 1 AS i;
\echo :SQLSTATE
CREATE MATERIALIZED VIEW o USING amax WITH (leaf_size = 100) AS SELECT 1 AS i;
\echo :SQLSTATE
ALTER TABLE t SET (compression = 'zstd', merge_ratio = 2);
\echo :SQLSTATE
-- what nobody knows has PostgreSQL's error alone
ALTER TABLE t SET (compress = 'zstd');
\echo :SQLSTATE
-- nor is an error that is caught anybody's business
DO $$BEGIN ALTER TABLE t SET (compression = 'zstd'); EXCEPTION WHEN invalid_parameter_value THEN RAISE WARNING '% %', SQLSTATE, SQLERRM; END$$;

-- PostgreSQL's storage parameters are taken. fillfactor is for row pages: rows of columns are changed beside them.
ALTER TABLE t SET (fillfactor = 10, autovacuum_enabled = off);
SELECT reloptions FROM pg_class WHERE oid = 't'::regclass;
SET amax.eager = off;
SET amax.flush_inline = off;
SET amax.bulk_threshold = 1000000;
CREATE TABLE half (LIKE t) USING amax WITH (fillfactor = 10, autovacuum_enabled = off);
CREATE TABLE whole (LIKE t) USING amax WITH (autovacuum_enabled = off);
INSERT INTO half SELECT i, '{"a": 1}' FROM generate_series(1, 10000) i;
INSERT INTO whole TABLE half;
SELECT (SELECT max(ctid) FROM half) > (SELECT max(ctid) FROM whole) AS emptier_row_pages;
VACUUM half, whole;
SELECT h.columnar_rows = w.columnar_rows AS all_columnar, h.columnar_bytes < 1.3 * w.columnar_bytes AS alike FROM amax.storage('half') h, amax.storage('whole') w;
RESET amax.bulk_threshold;

-- COPY to Arrow or Parquet where nothing has loaded the library: the statement that reads a table of ours does, too late for itself
\c hints_only
\set VERBOSITY default
COPY t TO STDOUT (FORMAT arrow);
\echo :SQLSTATE
COPY t TO '/dev/null' (FORMAT arrow);
\c hints_only
\set VERBOSITY default
COPY (SELECT 1) TO STDOUT (FORMAT arrow);
SELECT amax.load();
COPY (SELECT 1) TO '/dev/null' (FORMAT arrow);
\c hints_only
\set VERBOSITY default
COPY t TO STDOUT (FORMAT parquet);
COPY t TO '/dev/null' (FORMAT parquet);

-- why a load has not made columns
SET amax.eager = off;
SET amax.flush_inline = off;
CREATE TABLE ranged (i int, EXCLUDE USING btree (i WITH =)) USING amax WITH (autovacuum_enabled = off);
INSERT INTO ranged SELECT generate_series(1, 3000);
SELECT columnar_rows, rows, why FROM amax.storage('ranged');
ALTER TABLE ranged DROP CONSTRAINT ranged_i_excl;
CREATE INDEX bounds ON ranged USING brin (i);
SELECT columnar_rows, rows, why FROM amax.storage('ranged');
DROP INDEX bounds;
SELECT columnar_rows, rows, why FROM amax.storage('ranged');

DROP TABLE half, whole, ranged;

-- tables keep the extension, and are kept without it
DROP EXTENSION amax;
\echo :SQLSTATE
DROP ACCESS METHOD amax;
\echo :SQLSTATE
-- another extension's business is not ours
CREATE VIEW amax_view AS TABLE t;
DROP TABLE t;
DROP VIEW amax_view;
ALTER TABLE t SET ACCESS METHOD heap;
DROP EXTENSION amax;
TABLE t;
\c regression
DROP DATABASE hints_only;
