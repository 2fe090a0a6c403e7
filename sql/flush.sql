-- When rows become columnar: by their bytes, by age, and when it is asked for; and what amax.tables says of those that are not.
SET amax.eager = off;
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.flush_inline = off;

-- Large documents are loaded as columns before there are a thousand.
SELECT twice($$CREATE TABLE large (id int PRIMARY KEY, doc jsonb) WITH (autovacuum_enabled = off)$$) \gexec
SELECT twice($$INSERT INTO large SELECT i, jsonb_build_object('n', i, 'text', (SELECT string_agg(md5(i::text || j), '') FROM generate_series(1, 3000) j)) FROM generate_series(1, 50) i$$) \gexec
SELECT columnar_rows, rows, why FROM amax.storage('amax_side.large');
SELECT twice($$VACUUM large$$) \gexec
SELECT columnar_rows, rows, why FROM amax.storage('amax_side.large');
SELECT * FROM compare('SELECT * FROM large');

-- A few rows are for VACUUM to leave; VACUUM (FREEZE), VACUUM FULL and amax.flush take them.
SELECT twice($$CREATE TABLE few (id int PRIMARY KEY, doc jsonb) WITH (autovacuum_enabled = off)$$) \gexec
SELECT twice($$INSERT INTO few SELECT i, jsonb_build_object('n', i % 10) FROM generate_series(1, 100) i$$) \gexec
SELECT twice($$VACUUM few$$) \gexec
SELECT columnar_rows, rows, bytes > 0 AS bytes, why FROM amax.storage('amax_side.few');
SELECT amax.flush('amax_side.few');
SELECT columnar_rows, columnar_bytes > 0 AS columnar_bytes, rows, bytes, why FROM amax.storage('amax_side.few');
SELECT amax.flush('amax_side.few');
SELECT twice($$INSERT INTO few SELECT i, jsonb_build_object('n', i % 10) FROM generate_series(101, 200) i$$) \gexec
SELECT twice($$VACUUM (FREEZE) few$$) \gexec
SELECT columnar_rows, rows, why FROM amax.storage('amax_side.few');
SELECT twice($$UPDATE few SET doc = doc || '{"u": 1}' WHERE id % 4 = 0$$) \gexec
SELECT columnar_rows, rows, why FROM amax.storage('amax_side.few');
SELECT twice($$DELETE FROM few WHERE id % 8 = 0$$) \gexec
SELECT twice($$VACUUM (INDEX_CLEANUP off) few$$) \gexec
SELECT columnar_rows, rows, why FROM amax.storage('amax_side.few');
SELECT amax.flush('amax_side.few');
SELECT columnar_rows, rows, why FROM amax.storage('amax_side.few');
SELECT * FROM compare('SELECT * FROM few');
SELECT * FROM amax.verify('amax_side.few');
SELECT twice($$INSERT INTO few SELECT i, jsonb_build_object('n', i % 10) FROM generate_series(201, 210) i$$) \gexec
SELECT twice($$VACUUM FULL few$$) \gexec
SELECT columnar_rows, rows, why FROM amax.storage('amax_side.few');
SELECT twice($$INSERT INTO few SELECT i, jsonb_build_object('n', i % 10) FROM generate_series(211, 220) i$$) \gexec
SELECT twice($$CLUSTER few USING few_pkey$$) \gexec
SELECT columnar_rows, rows, why FROM amax.storage('amax_side.few');
SELECT * FROM compare('SELECT * FROM few');

-- Versions that share a value out of line wait until the dead ones are removed.
SELECT twice($$CREATE TABLE shared (id int, n int, s text) WITH (autovacuum_enabled = off)$$) \gexec
SELECT twice($$ALTER TABLE shared ALTER s SET STORAGE EXTERNAL$$) \gexec
SELECT twice($$INSERT INTO shared SELECT i, 0, repeat('s', 3000) FROM generate_series(1, 10) i$$) \gexec
SELECT twice($$UPDATE shared SET n = 1$$) \gexec
SELECT rows, why FROM amax.storage('amax_side.shared');
SELECT twice($$VACUUM (INDEX_CLEANUP off) shared$$) \gexec
SELECT rows, why FROM amax.storage('amax_side.shared');
SELECT amax.flush('amax_side.shared');
SELECT columnar_rows, rows, why FROM amax.storage('amax_side.shared');
SELECT * FROM compare('SELECT * FROM shared');

-- What is not everybody's stays; the transaction that has changed a table does not flush it.
BEGIN;
INSERT INTO amax_side.few SELECT i, jsonb_build_object('n', i % 10) FROM generate_series(221, 230) i;
SELECT amax.flush('amax_side.few');
SELECT columnar_rows, rows, why FROM amax.storage('amax_side.few');
ROLLBACK;
BEGIN;
ALTER TABLE amax_side.few ADD x int;
SELECT amax.flush('amax_side.few');
ROLLBACK;
BEGIN READ ONLY;
SELECT amax.flush('amax_side.few');
ROLLBACK;
BEGIN;
DECLARE open_one CURSOR FOR SELECT * FROM amax_side.few;
FETCH 1 FROM open_one;
SELECT amax.flush('amax_side.few');
ROLLBACK;
SELECT amax.flush('heap_side.few');
SELECT amax.storage('heap_side.few');
CREATE ROLE regress_flush;
GRANT USAGE ON SCHEMA amax_side TO regress_flush;
GRANT SELECT ON amax_side.few TO regress_flush;
SET ROLE regress_flush;
SELECT amax.flush('amax_side.few');
SELECT "table", columnar_rows, rows FROM amax.tables ORDER BY 1;
RESET ROLE;
SELECT "table", columnar_rows, rows, why FROM amax.tables ORDER BY 1;
DROP SCHEMA amax_side, heap_side CASCADE;
DROP ROLE regress_flush;
