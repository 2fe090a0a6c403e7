-- A flush, reclaim or merge that fails at any of its steps loses nothing and leaves a table that works.
SET amax.eager = off;
CREATE EXTENSION IF NOT EXISTS amax;
CREATE TABLE faulty (id int PRIMARY KEY, s text, n int) USING amax;
SET amax.flush_threshold = 0;

CREATE FUNCTION state(OUT rows bigint, OUT sum bigint, OUT by_index bigint, OUT problems bigint) LANGUAGE plpgsql AS $$
BEGIN
  SELECT count(*), sum(f.n) INTO rows, sum FROM faulty f;
  SET LOCAL enable_seqscan = off;
  SELECT count(*) INTO by_index FROM generate_series(1, 600) i JOIN LATERAL (SELECT 1 FROM faulty f WHERE f.id = i OFFSET 0) x ON true;
  SELECT count(*) INTO problems FROM amax.verify('faulty');
END $$;

INSERT INTO faulty SELECT i, repeat('x', i), 1 FROM generate_series(1, 300) i;

-- Each step fails once; then the rows it was about are read, changed and flushed for good.
SET amax.fault_point = 'flush_shredded';
VACUUM faulty;
SELECT * FROM state();
SET amax.fault_point = 'flush_sealed';
VACUUM faulty;
SELECT * FROM state();
-- These rows' pages were sealed and never published: a writer unseals them.
UPDATE faulty SET n = 2 WHERE id <= 10;
DELETE FROM faulty WHERE id > 290;
SELECT * FROM state();
VACUUM faulty;
SELECT * FROM state();
SET amax.fault_point = 'flush_written';
VACUUM faulty;
INSERT INTO faulty SELECT i, 'after', 1 FROM generate_series(301, 400) i;
SELECT * FROM state();
SET amax.fault_point = 'flush_published';
VACUUM faulty;
SELECT * FROM state();
SELECT sum(rows) > 0 AS columnar FROM amax.components('faulty');
UPDATE faulty SET n = 3 WHERE id BETWEEN 5 AND 15;
SELECT * FROM state();
-- Since when those pages are given up the next VACUUM notes; reclaim takes them once a transaction has ended after that.
RESET amax.fault_point;
VACUUM faulty;
UPDATE faulty SET n = 3 WHERE id = 16;
SET amax.fault_point = 'reclaim_emptied';
VACUUM faulty;
SELECT * FROM state();
VACUUM faulty;
RESET amax.fault_point;
VACUUM faulty;
VACUUM faulty;
SELECT * FROM state();
SELECT sum(rows) >= 390 AS columnar FROM amax.components('faulty');

-- A merge that fails at any of its steps, and the sweep that follows it.
SET amax.merge_ratio = 0;
SET amax.max_components = 1;
DELETE FROM faulty WHERE id % 4 = 0;
INSERT INTO faulty SELECT i, 'merged', 1 FROM generate_series(401, 500) i;
SET amax.fault_point = 'merge_leaf';
VACUUM faulty;
SELECT * FROM state();
SET amax.fault_point = 'merge_written';
VACUUM faulty;
SELECT * FROM state();
UPDATE faulty SET n = 4 WHERE id BETWEEN 21 AND 30;
SET amax.fault_point = 'merge_published';
VACUUM faulty;
SELECT * FROM state();
UPDATE faulty SET n = 4 WHERE id = 31;
SET amax.fault_point = 'reclaim_swept';
VACUUM faulty;
SELECT * FROM state();
INSERT INTO faulty SELECT i, 'back', 1 FROM generate_series(4, 400, 4) i ON CONFLICT DO NOTHING;
UPDATE faulty SET n = 5 WHERE id BETWEEN 26 AND 35;
SELECT * FROM state();
RESET amax.fault_point;
VACUUM faulty;
VACUUM faulty;
SELECT * FROM state();
SELECT count(*) AS components, sum(rows) AS rows FROM amax.components('faulty');

-- A page that is sealed and no longer mapped waits for reclaim: VACUUM does not take it for one that was never mapped.
INSERT INTO faulty SELECT i, 'unmapped', 1 FROM generate_series(501, 600) i;
VACUUM faulty;
UPDATE faulty SET n = 6 WHERE id = 36;
SET amax.fault_point = 'reclaim_unmapped';
VACUUM faulty;
RESET amax.fault_point;
VACUUM (FREEZE) faulty;
SELECT * FROM state();
VACUUM faulty;
SELECT * FROM state();

-- Looking for damage, in a subtransaction, ends with it, whatever happens.
SET amax.fault_point = 'verify';
SELECT * FROM amax.verify('faulty');
SELECT 1 AS works;
BEGIN;
SAVEPOINT before;
SELECT * FROM amax.verify('faulty');
ROLLBACK TO before;
SELECT 1 AS works;
COMMIT;
SET amax.fault_point = 'verify~10000';
SET statement_timeout = '100ms';
SELECT * FROM amax.verify('faulty');
BEGIN;
SELECT * FROM amax.verify('faulty');
ROLLBACK;
RESET statement_timeout;
RESET amax.fault_point;
SELECT * FROM state();

-- A load that fails where an error is caught fails with its statement.
CREATE TABLE loaded (i int) USING amax;
CREATE FUNCTION look(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  SET LOCAL amax.fault_point = 'load_written';
  PERFORM FROM loaded;
  RETURN i;
EXCEPTION WHEN internal_error THEN RETURN -i;
END $$;
SET amax.bulk_threshold = 100;
INSERT INTO loaded SELECT CASE i % 200 WHEN 0 THEN look(i) ELSE i END FROM generate_series(1, 200) i;
INSERT INTO loaded SELECT CASE i % 200 WHEN 0 THEN look(i) ELSE i END FROM generate_series(1, 1000) i;
SELECT count(*) FROM loaded;
RESET amax.bulk_threshold;
DROP TABLE loaded;
DROP FUNCTION look(int);

-- Leaves without a row that are dropped from their component: a fifth of it is not dead, so it is not merged.
CREATE TABLE leafy (id int, s text) USING amax;
CREATE INDEX leafy_id ON leafy (id);
SELECT amax.set_options('leafy', '{"rows_per_leaf": 300}');
SET amax.bulk_threshold = 100;
INSERT INTO leafy SELECT i, 'row ' || i FROM generate_series(1, 6000) i;
RESET amax.bulk_threshold;
VACUUM leafy;
SELECT count(*) AS leaves FROM amax.leaves('leafy');
DELETE FROM leafy WHERE id BETWEEN 583 AND 1500;
SET amax.fault_point = 'drop_written';
VACUUM leafy;
SELECT count(*) AS leaves FROM amax.leaves('leafy');
SELECT * FROM amax.verify('leafy');
SET amax.fault_point = 'drop_published';
VACUUM leafy;
SELECT count(*) AS leaves, sum(rows) AS rows FROM amax.leaves('leafy');
SELECT count(*), sum(id) FROM leafy;
RESET amax.fault_point;
VACUUM leafy;
VACUUM leafy;
SELECT count(*) AS leaves, sum(rows) AS rows FROM amax.leaves('leafy');
SELECT * FROM amax.verify('leafy');
SET enable_seqscan = off;
SELECT count(*), sum(id) FROM leafy WHERE id BETWEEN 500 AND 1600;
RESET enable_seqscan;
DROP TABLE leafy;

-- A fault point is for superusers.
CREATE ROLE regress_amax_faults;
SET ROLE regress_amax_faults;
SET amax.fault_point = 'flush_sealed';
RESET ROLE;
DROP ROLE regress_amax_faults;
DROP TABLE faulty;
DROP FUNCTION state();
