-- Options of tables, and settings.
CREATE TABLE optional (i int) USING amax;

-- several times in a statement
SELECT amax.set_options('optional', '{"rows_per_leaf": 100}'),
       amax.set_options('optional', '{"compression": "zstd", "rows_per_leaf": 50}');
SELECT * FROM amax.options('optional') WHERE source = 'table' ORDER BY name;
SELECT amax.set_options('optional', '{"compression": null}');
SELECT * FROM amax.options('optional') WHERE source = 'table' ORDER BY name;

-- what is no option
SELECT amax.set_options('optional', '[]');
SELECT amax.set_options('optional', '{"bogus": 1}');
SELECT amax.set_options('optional', '{"rows_per_leaf": 0}');
SELECT amax.set_options('optional', '{"rows_per_leaf": "1"}');
SELECT amax.set_options('optional', '{"compression": "gzip"}');
SELECT amax.set_options('optional', '{"merge_ratio": 1e400}');
\echo :LAST_ERROR_SQLSTATE
SELECT amax.set_options('optional', format('{"compression": %s%s}', repeat('[', 500), repeat(']', 500))::jsonb);
\echo :LAST_ERROR_SQLSTATE
SECURITY LABEL FOR amax ON TABLE optional IS '{"merge_ratio": 1e400}';
SECURITY LABEL FOR amax ON TABLE optional IS '{"bogus": 1}';
SECURITY LABEL FOR amax ON TABLE optional IS '1';
SECURITY LABEL FOR amax ON COLUMN optional.i IS '{}';
SELECT amax.set_options('pg_class', '{}');

-- where nothing may be written
BEGIN READ ONLY;
SELECT amax.set_options('optional', '{"path_cap": 5}');
ROLLBACK;
SELECT * FROM amax.options('optional') WHERE source = 'table' ORDER BY name;

-- with the access method they go, and the label that pg_dump would write; also where the statement has loaded the library
CREATE VIEW labels AS SELECT objoid::regclass, label FROM pg_seclabel, pg_class c
  WHERE provider = 'amax' AND c.oid = objoid AND relnamespace = 'public'::regnamespace;
BEGIN;
ALTER TABLE optional SET ACCESS METHOD heap;
SELECT * FROM labels;
ROLLBACK;
ALTER TABLE optional RENAME TO renamed;
ALTER TABLE renamed RENAME TO optional;
ALTER TABLE optional ADD j int, ALTER i TYPE bigint, SET ACCESS METHOD amax;
VACUUM FULL optional;
SELECT * FROM labels;
\c -
ALTER TABLE optional SET ACCESS METHOD heap;
SELECT * FROM labels;
ALTER TABLE optional SET ACCESS METHOD amax;
SELECT * FROM amax.options('optional') WHERE source = 'table';
BEGIN;
SELECT amax.set_options('optional', '{"rows_per_leaf": 60}');
DO $$BEGIN
  ALTER TABLE optional ALTER j TYPE text, SET ACCESS METHOD heap, ALTER i TYPE numeric;
  ALTER TABLE optional SET ACCESS METHOD amax;
END$$;
SELECT * FROM labels;
SELECT amax.set_options('optional', '{"rows_per_leaf": 50}');
COMMIT;
CREATE TABLE parted (i int) PARTITION BY LIST (i);
CREATE TABLE part_1 PARTITION OF parted FOR VALUES IN (1) USING amax;
CREATE TABLE part_2 PARTITION OF parted FOR VALUES IN (2) USING amax;
SELECT amax.set_options('part_1', '{"path_cap": 5}'), amax.set_options('part_2', '{"path_cap": 5}');
ALTER TABLE part_1 SET ACCESS METHOD heap;
CREATE MATERIALIZED VIEW viewed USING amax AS SELECT 1;
SELECT amax.set_options('viewed', '{"path_cap": 6}');
REFRESH MATERIALIZED VIEW viewed;
SELECT * FROM labels ORDER BY 1;
ALTER MATERIALIZED VIEW viewed SET ACCESS METHOD heap;
SELECT * FROM labels ORDER BY 1;
DROP TABLE parted;
DROP MATERIALIZED VIEW viewed;
DROP VIEW labels;

-- settings
SET amax.compresion = 'zstd';
SET amax.compression = 'gzip';
SET amax.rows_per_leaf = 0;
SET amax.merge_ratio = 'NaN';
BEGIN;
SET LOCAL amax.rows_per_leaf = 5;
SELECT value, source FROM amax.options('optional') WHERE name = 'rows_per_leaf';
SELECT amax.set_options('optional', '{"rows_per_leaf": null}');
SELECT value, source FROM amax.options('optional') WHERE name = 'rows_per_leaf';
ROLLBACK;
SELECT value, source FROM amax.options('optional') WHERE name = 'rows_per_leaf';
DROP TABLE optional;
