-- Stubs of rows that a scan hands up next are made together, and answers stay heap's.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set VERBOSITY terse
SET amax.bulk_threshold = 10;
SET amax.rows_per_leaf = 2000;
SET max_parallel_workers_per_gather = 0;
SELECT twice($$CREATE TABLE t (id int PRIMARY KEY, k text UNIQUE, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, CASE i % 7 WHEN 0 THEN NULL ELSE noise(i, CASE i % 500 WHEN 3 THEN 2500 ELSE 10 END) END, jsonb_build_object('n', i, 'kind', i % 5)
  FROM generate_series(1, 9000) i$$) \gexec
CREATE TABLE twins.chosen AS SELECT i * 300 AS id FROM generate_series(1, 30) i;
ANALYZE twins.chosen;

-- Where a statement comes to one row after the other, they are made together.
SET amax.fault_point = 'stub_beside';
UPDATE amax_side.t SET doc = doc || '{"new": 1}' WHERE id % 4 = 1;
DELETE FROM amax_side.t WHERE (doc->>'kind')::int = 3;
SELECT count(*) FROM (SELECT 1 FROM amax_side.t WHERE id % 4 = 2 FOR UPDATE) locked;
-- Not where few of a scan's rows are changed, or rows are looked up.
BEGIN;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL enable_indexscan = off;
SET LOCAL enable_bitmapscan = off;
DELETE FROM amax_side.t USING twins.chosen WHERE chosen.id = t.id;
ROLLBACK;
BEGIN;
UPDATE amax_side.t SET doc = '{}' WHERE id = 17;
ROLLBACK;
RESET amax.fault_point;

-- Changes, undone, of rows that are locked, by several commands, in a savepoint, by what a trigger lets through.
BEGIN;
SELECT count(*) FROM (SELECT 1 FROM amax_side.t WHERE id % 3 = 0 FOR SHARE) locked;
SELECT twice($$UPDATE t SET doc = doc || '{"a": 1}' WHERE id % 4 = 1$$) \gexec
SAVEPOINT s;
SELECT twice($$DELETE FROM t WHERE id % 6 = 0$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
ROLLBACK TO s;
SELECT twice($$UPDATE t SET id = -id, k = k || '!' WHERE id % 5 = 2$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
ROLLBACK;
SELECT * FROM compare('SELECT * FROM t');
CREATE FUNCTION twins.lets_some() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN old.id % 10 < 4 THEN new END; END $$;
SELECT twice($$CREATE TRIGGER lets_some BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION twins.lets_some()$$) \gexec
SELECT twice($$UPDATE t SET doc = doc || '{"b": 2}' WHERE id % 2 = 0$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$DROP TRIGGER lets_some ON t$$) \gexec
SELECT twice($$WITH gone AS (DELETE FROM t WHERE id % 9 = 4 RETURNING id) UPDATE t SET doc = '{"c": 3}' WHERE id % 11 = 1 AND id % 9 <> 4$$) \gexec
SELECT twice($$MERGE INTO t USING (SELECT generate_series(1, 9000, 3)) s (id) ON t.id = s.id WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET doc = '{"d": 4}'$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT * FROM amax.verify('amax_side.t');
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$UPDATE t SET doc = doc || '{"e": 5}'$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 2 = 1$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
-- Keys count as they are in the row, also of stubs that were made with others'.
UPDATE heap_side.t SET k = (SELECT k FROM heap_side.t WHERE id = 2) WHERE id = 4;
UPDATE amax_side.t SET k = (SELECT k FROM amax_side.t WHERE id = 2) WHERE id = 4;
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM amax.verify('amax_side.t');
SELECT * FROM compare('SELECT * FROM t');
SELECT count(*) FROM amax_side.t WHERE xmax <> 0;
SELECT twice($$DROP TABLE t$$) \gexec
DROP TABLE twins.chosen;
DROP FUNCTION twins.lets_some();
