-- Bulk loads into tables with unique keys write components. Duplicates and conflicts are as in heap.
SET amax.eager = off;
SET amax.bulk_threshold = 100;
CREATE TABLE k (id int PRIMARY KEY, doc jsonb, u int UNIQUE DEFERRABLE INITIALLY DEFERRED) USING amax;
ALTER TABLE k SET (autovacuum_enabled = off);
CREATE FUNCTION state() RETURNS TABLE (rows bigint, sum bigint, columnar numeric) LANGUAGE sql AS
$$ SELECT (SELECT count(*) FROM k), (SELECT sum(id) FROM k), (SELECT sum(c.rows) FROM amax.components('k') c) $$;
\set VERBOSITY default

INSERT INTO k SELECT i, jsonb_build_object('n', i), i FROM generate_series(1, 5000) i;
SELECT * FROM state();

-- A key that was there, one of the load itself, near and far, and one in the rows before the threshold.
INSERT INTO k SELECT i, '{}', i + 10000 FROM generate_series(9000, 4990, -1) i;
INSERT INTO k SELECT 6000 + i % 1500, '{}', NULL FROM generate_series(1, 2000) i;
INSERT INTO k SELECT 6000 + i / 2, '{}', NULL FROM generate_series(300, 2000) i;
INSERT INTO k SELECT 6000 + i % 1950, '{}', NULL FROM generate_series(1, 2000) i;
COPY k (id) FROM PROGRAM 'seq 6000 7000; echo 6500';
SELECT * FROM state();

-- A deferred key is checked at the end.
BEGIN;
INSERT INTO k SELECT 10000 + i, '{}', 10000 + i / 2 FROM generate_series(1, 1000) i;
COMMIT;
BEGIN;
INSERT INTO k SELECT 10000 + i, '{}', 10000 + i / 2 FROM generate_series(1, 1000) i;
UPDATE k SET u = -id WHERE id > 10000 AND id % 2 = 1;
COMMIT;
SELECT * FROM state();

-- Conflicts with rows of loads of this transaction, also of one that goes on and of one that was rolled back.
BEGIN;
INSERT INTO k SELECT 20000 + i FROM generate_series(1, 1000) i;
INSERT INTO k VALUES (20500) ON CONFLICT (id) DO NOTHING;
INSERT INTO k VALUES (20500) ON CONFLICT (id) DO UPDATE SET u = -20500;
SAVEPOINT a;
INSERT INTO k SELECT 21000 + i FROM generate_series(1, 1000) i;
ROLLBACK TO a;
INSERT INTO k VALUES (21500) ON CONFLICT (id) DO NOTHING;
INSERT INTO k SELECT 20000 + i FROM generate_series(900, 2500) i ON CONFLICT (id) DO NOTHING;
COMMIT;
SELECT * FROM state();
CREATE FUNCTION probe(key int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO k VALUES (key) ON CONFLICT (id) DO NOTHING;
    RETURN 1;
END $$;
INSERT INTO k SELECT 30000 + i, '{}', CASE WHEN i % 400 = 0 THEN -30000 - i * probe(30000 + i - 1) END FROM generate_series(1, 1000) i;
SELECT * FROM state();

-- A key of an expression, one of some rows only, and one that covers another column.
CREATE TABLE e (doc jsonb) USING amax;
CREATE UNIQUE INDEX e_id ON e (((doc->>'id')::int));
CREATE UNIQUE INDEX e_some ON e ((doc->>'name')) WHERE doc ? 'name';
INSERT INTO e SELECT jsonb_build_object('id', i) FROM generate_series(1, 3000) i;
INSERT INTO e SELECT jsonb_build_object('id', 3000 + i, 'name', i % 900) FROM generate_series(1, 1000) i;
INSERT INTO e SELECT jsonb_build_object('id', 3000 + i, 'name', i) FROM generate_series(1, 1000) i;
INSERT INTO e SELECT jsonb_build_object('id', 5000 - i) FROM generate_series(1, 1001) i;
SELECT count(*), (SELECT sum(c.rows) FROM amax.components('e') c) AS columnar FROM e;

-- Two loads that VACUUM comes to find: index entries of the failed ones go.
VACUUM k;
CREATE TABLE other (i int);
INSERT INTO other VALUES (1);
VACUUM k;
INSERT INTO other VALUES (1);
VACUUM k;
INSERT INTO k SELECT i FROM generate_series(5001, 9000) i;
SELECT * FROM state();
SELECT * FROM amax.verify('k') LIMIT 3;
SELECT * FROM amax.verify('e') LIMIT 3;

DROP TABLE k, e, other;
DROP FUNCTION state, probe;

-- Beside heap: a key that refers to its own table, RETURNING, triggers with the statement's rows, MERGE and conflicts with many rows.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SELECT twice($$CREATE TABLE node (id int PRIMARY KEY, parent int REFERENCES node ON DELETE CASCADE, doc jsonb)$$) \gexec
SELECT twice($$CREATE TABLE noted (what text, n bigint, sum bigint)$$) \gexec
SELECT twice($$CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO noted SELECT TG_OP, count(*), sum(id) FROM new; RETURN NULL; END'$$) \gexec
SELECT twice($$CREATE TRIGGER note AFTER INSERT ON node REFERENCING NEW TABLE AS new FOR EACH STATEMENT EXECUTE FUNCTION note()$$) \gexec
SELECT twice($$INSERT INTO node SELECT i, nullif(i / 2, 0), jsonb_build_object('n', i) FROM generate_series(1, 2000) i$$) \gexec
SELECT twice($$INSERT INTO node SELECT 10000 + i, 10000 + i / 2 FROM generate_series(1, 2000) i$$) \gexec
SELECT twice($$WITH r AS (INSERT INTO node SELECT 3000 + i, i, '[]' FROM generate_series(1, 1000) i RETURNING *) SELECT count(*), sum(id), sum(parent), count(doc) FROM r$$) \gexec
SELECT twice($$MERGE INTO node t USING (SELECT i FROM generate_series(1500, 5000) i) s ON t.id = s.i
  WHEN MATCHED AND s.i % 2 = 0 THEN UPDATE SET doc = '{}' WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.i, 1, '[0]')$$) \gexec
SELECT twice($$INSERT INTO node SELECT i, 2, '[1]' FROM generate_series(4000, 7000) i ON CONFLICT (id) DO UPDATE SET parent = node.id, doc = excluded.doc$$) \gexec
SELECT twice($$INSERT INTO node SELECT 8000 + i % 900, 2, '[2]' FROM generate_series(1, 1000) i ON CONFLICT DO NOTHING$$) \gexec
SELECT * FROM compare('SELECT * FROM node');
SELECT * FROM compare('SELECT * FROM noted');
SELECT sum(rows) > 3000 AS columnar FROM amax.components('amax_side.node');
SELECT twice($$BEGIN; DELETE FROM node WHERE id <= 3; INSERT INTO node SELECT i, NULL, '[3]' FROM generate_series(1, 1000) i; COMMIT$$) \gexec
SELECT * FROM compare('SELECT * FROM node');
SELECT * FROM amax.verify('amax_side.node');
-- A constraint that compares rows takes them one by one.
SELECT twice($$CREATE TABLE booked (during int4range, EXCLUDE USING gist (during WITH &&))$$) \gexec
SELECT twice($$INSERT INTO booked SELECT int4range(i * 10, i * 10 + 5) FROM generate_series(1, 1000) i$$) \gexec
SELECT twice($$INSERT INTO booked SELECT int4range(i * 9, i * 9 + 5) FROM generate_series(2000, 1000, -1) i$$) \gexec
SELECT * FROM compare('SELECT * FROM booked');
SELECT count(*) FROM amax.components('amax_side.booked');
