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
