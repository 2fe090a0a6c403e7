-- Rows come, change and go as in heap.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include

SELECT twice($$CREATE TABLE t (id int PRIMARY KEY, n numeric, s text, d jsonb, a int[], b bytea, ts timestamptz DEFAULT '2024-02-29 12:00+00')$$) \gexec
SELECT relname, amname FROM pg_class c JOIN pg_am m ON m.oid = c.relam WHERE c.oid IN ('heap_side.t'::regclass, 'amax_side.t'::regclass) ORDER BY 2;

-- an empty table
SELECT * FROM compare('SELECT * FROM t');
SELECT * FROM compare('SELECT count(*), sum(n) FROM t');

SELECT twice($$INSERT INTO t SELECT i, i / 7.0, CASE WHEN i % 3 > 0 THEN 'row ' || i END, jsonb_build_object('i', i, 'even', i % 2 = 0, 'list', ARRAY[i, i + 1]), ARRAY[i, NULL, -i], decode(md5(i::text), 'hex') FROM generate_series(1, 2000) i$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$INSERT INTO t (id) VALUES (2001), (2002)$$) \gexec
SELECT * FROM compare('SELECT * FROM t WHERE id > 1995');

-- a duplicate key is refused, and the table still works
SELECT twice($$INSERT INTO t (id) VALUES (3000), (17)$$) \gexec
SELECT * FROM compare('SELECT * FROM t');

-- update: a column without index, the key, everything, twice in a transaction
SELECT twice($$UPDATE t SET s = s || '!' WHERE id % 5 = 0$$) \gexec
SELECT twice($$UPDATE t SET id = -id WHERE id % 11 = 0$$) \gexec
SELECT twice($$UPDATE t SET n = n + 1, d = d || '{"seen": null}'$$) \gexec
BEGIN;
SELECT twice($$UPDATE t SET n = n * 2 WHERE id < 100$$) \gexec
SELECT twice($$UPDATE t SET n = n * 2 WHERE id < 50$$) \gexec
COMMIT;
SELECT * FROM compare('SELECT * FROM t');
-- a row already changed by the command that meets it again
SELECT twice($$UPDATE t SET n = o.n FROM t o WHERE o.id % 10 = t.id % 10 AND t.id BETWEEN 1 AND 9 AND o.id < 10 AND o.id > 0$$) \gexec
SELECT twice($$WITH changed AS (UPDATE t SET s = 'first' WHERE id = 1 RETURNING id) UPDATE t SET s = 'second' FROM changed WHERE t.id = changed.id$$) \gexec
SELECT * FROM compare('SELECT * FROM t WHERE id BETWEEN 0 AND 9');

-- delete
SELECT twice($$DELETE FROM t WHERE id % 7 = 0$$) \gexec
SELECT twice($$DELETE FROM t USING t o WHERE t.id = o.id + 1 AND o.d @> '{"even": true}'$$) \gexec
SELECT * FROM compare('SELECT * FROM t');

-- returning
SELECT twice($$CREATE TABLE log AS WITH x AS (DELETE FROM t WHERE id BETWEEN 100 AND 200 RETURNING *) SELECT * FROM x$$) \gexec
SELECT twice($$WITH x AS (INSERT INTO t (id, s) VALUES (9001, 'new') RETURNING *), y AS (UPDATE t SET s = 'old' WHERE id = 1 RETURNING *) INSERT INTO log SELECT * FROM x UNION ALL SELECT * FROM y$$) \gexec
SELECT * FROM compare('SELECT * FROM log');

-- on conflict
SELECT twice($$INSERT INTO t (id, s) VALUES (1, 'a'), (9002, 'b') ON CONFLICT DO NOTHING$$) \gexec
SELECT twice($$INSERT INTO t (id, s) SELECT i, 'upsert' FROM generate_series(9000, 9010) i ON CONFLICT (id) DO UPDATE SET s = excluded.s || coalesce(t.s, '') WHERE t.id <> 9002$$) \gexec
SELECT twice($$INSERT INTO t (id) VALUES (9100), (9100) ON CONFLICT (id) DO UPDATE SET s = 'twice'$$) \gexec
SELECT * FROM compare('SELECT * FROM t');

-- merge
SELECT twice($$MERGE INTO t USING (SELECT i FROM generate_series(9005, 9020) i) AS s(i) ON t.id = s.i WHEN MATCHED AND i % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET s = 'merged' WHEN NOT MATCHED THEN INSERT (id, s) VALUES (i, 'inserted')$$) \gexec
SELECT * FROM compare('SELECT * FROM t');

-- values too long for a page: stored, fetched, changed beside, changed, removed
SELECT twice($$CREATE TABLE long (id int PRIMARY KEY, a text, d jsonb)$$) \gexec
SELECT twice($$INSERT INTO long SELECT i, noise(i, 1500 * i), jsonb_build_object('text', noise(-i, 3000), 'i', i) FROM generate_series(1, 40) i$$) \gexec
SELECT * FROM compare('SELECT * FROM long');
SELECT twice($$UPDATE long SET id = id + 100 WHERE id % 2 = 0$$) \gexec
SELECT twice($$UPDATE long SET d = jsonb_set(d, '{i}', '0') WHERE id % 3 = 0$$) \gexec
SELECT twice($$DELETE FROM long WHERE id % 5 = 0$$) \gexec
SELECT twice($$INSERT INTO long SELECT id + 1000, a, d FROM long$$) \gexec
SELECT * FROM compare('SELECT * FROM long');
SELECT * FROM compare('SELECT id, length(a), substr(a, 1000, 30), d->>''i'' FROM long');
SELECT twice($$ALTER TABLE long ALTER a SET STORAGE EXTERNAL$$) \gexec
SELECT twice($$INSERT INTO long VALUES (5000, repeat('x', 1000000), NULL)$$) \gexec
SELECT * FROM compare('SELECT id, substr(a, 999990) FROM long WHERE id = 5000');
SELECT twice($$VACUUM FULL long$$) \gexec
SELECT * FROM compare('SELECT * FROM long');

-- copy, both directions and formats
SELECT twice($$CREATE TABLE copied (LIKE t)$$) \gexec
\getenv abs_builddir PG_ABS_BUILDDIR
\set binary :abs_builddir '/results/dml_copy.bin'
\set text :abs_builddir '/results/dml_copy.txt'
COPY heap_side.t TO :'binary' (FORMAT binary);
COPY heap_side.copied FROM :'binary' (FORMAT binary);
COPY amax_side.copied FROM :'binary' (FORMAT binary);
COPY amax_side.t TO :'text';
COPY heap_side.copied FROM :'text';
COPY amax_side.copied FROM :'text';
SELECT * FROM compare('SELECT * FROM copied');
-- a load that fails leaves nothing
SELECT twice($$COPY copied (id) FROM PROGRAM 'seq 1 5; echo six'$$) \gexec
SELECT * FROM compare('SELECT * FROM copied');

-- foreign keys and triggers refetch rows
SELECT twice($$CREATE TABLE child (id int REFERENCES t ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE, note text)$$) \gexec
SELECT twice($$INSERT INTO child SELECT id, s FROM t$$) \gexec
SELECT twice($$INSERT INTO child VALUES (123456)$$) \gexec
SELECT twice($$DELETE FROM t WHERE id BETWEEN 300 AND 400$$) \gexec
SELECT twice($$UPDATE t SET id = id + 50000 WHERE id BETWEEN 400 AND 500$$) \gexec
SELECT * FROM compare('SELECT * FROM child');
SELECT twice($$CREATE TABLE audit (op text, was jsonb, becomes jsonb)$$) \gexec
SELECT twice($$CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO audit VALUES (TG_OP, to_jsonb(OLD), to_jsonb(NEW)); RETURN NULL; END'$$) \gexec
SELECT twice($$CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note()$$) \gexec
SELECT twice($$INSERT INTO t (id, s) VALUES (70000, 'audited')$$) \gexec
SELECT twice($$UPDATE t SET s = 'audited' WHERE id BETWEEN 1 AND 20$$) \gexec
SELECT twice($$DELETE FROM t WHERE id BETWEEN 10 AND 30$$) \gexec
SELECT * FROM compare('SELECT * FROM audit');
SELECT twice($$ALTER TABLE t DISABLE TRIGGER note$$) \gexec

-- row locks of every strength, on rows and on nothing
BEGIN;
SELECT * FROM compare('SELECT id FROM t WHERE id BETWEEN 0 AND 10 FOR UPDATE');
SELECT * FROM compare('SELECT id FROM t WHERE id BETWEEN 0 AND 10 FOR NO KEY UPDATE SKIP LOCKED');
SELECT * FROM compare('SELECT id FROM t WHERE id BETWEEN 0 AND 10 FOR SHARE NOWAIT');
SELECT * FROM compare('SELECT id FROM t WHERE id = 123456 FOR KEY SHARE');
COMMIT;

-- truncate
SELECT twice($$TRUNCATE t CASCADE$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$INSERT INTO t (id) VALUES (1)$$) \gexec
SELECT * FROM compare('SELECT * FROM t');

-- no columns at all
SELECT twice($$CREATE TABLE nothing ()$$) \gexec
SELECT twice($$INSERT INTO nothing DEFAULT VALUES$$) \gexec
SELECT twice($$INSERT INTO nothing SELECT FROM generate_series(1, 5)$$) \gexec
SELECT * FROM compare('SELECT count(*) FROM nothing');

-- system columns of rows that are inserted, few or many, made by a query or read from another table
SELECT twice($$CREATE TABLE origin (i int, j int)$$) \gexec
SELECT twice($$INSERT INTO origin SELECT i, i FROM generate_series(1, 2000) i$$) \gexec
SELECT twice($$VACUUM origin$$) \gexec
SELECT twice($$CREATE TABLE loaded (i int, j int)$$) \gexec
SELECT twice($$WITH r AS (INSERT INTO loaded TABLE origin RETURNING xmin, xmax, cmin, cmax, ctid)
  SELECT xmin = pg_current_xact_id()::xid AS own, xmax::text, cmin::text, cmax::text, count(DISTINCT ctid) FROM r GROUP BY 1, 2, 3, 4$$) \gexec
SELECT twice($$WITH r AS (INSERT INTO loaded SELECT i, i FROM generate_series(1, 2000) i RETURNING xmin, xmax, cmin, cmax, ctid)
  SELECT xmin = pg_current_xact_id()::xid AS own, xmax::text, cmin::text, cmax::text, count(DISTINCT ctid) FROM r GROUP BY 1, 2, 3, 4$$) \gexec

-- an UPDATE of many rows, each of which a unique key is checked for, takes no more memory than one of few
SELECT twice($$CREATE TABLE checked (i int PRIMARY KEY, j int)$$) \gexec
SELECT twice($$CREATE INDEX ON checked (j)$$) \gexec
SELECT twice($$INSERT INTO checked SELECT i, 0 FROM generate_series(1, 20000) i$$) \gexec
SET work_mem = '64kB';
SELECT twice($$WITH u AS (UPDATE checked SET j = 1 RETURNING 1)
  SELECT (SELECT count(*) FROM u), (SELECT max(used_bytes) < 1000000 AS bounded FROM pg_backend_memory_contexts WHERE name = 'ExecutorState')$$) \gexec
SELECT twice($$WITH c AS (INSERT INTO checked SELECT i, 0 FROM generate_series(1, 20000) i ON CONFLICT (i) DO UPDATE SET j = 2 RETURNING 1)
  SELECT (SELECT count(*) FROM c), (SELECT max(used_bytes) < 1000000 AS bounded FROM pg_backend_memory_contexts WHERE name = 'ExecutorState')$$) \gexec
RESET work_mem;
