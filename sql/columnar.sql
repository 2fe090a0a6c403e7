-- Every operation on rows that are columnar: after VACUUM all rows are in components, and change from there.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.flush_threshold = 0;
SET amax.rows_per_leaf = 700;

-- columnar(table): whether components hold at least so much of the table's rows, and nothing is damaged.
CREATE FUNCTION twins.columnar(t regclass, share float8 = 1, OUT is_columnar bool, OUT problems bigint) LANGUAGE plpgsql AS $$
DECLARE
  live bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM %s', t) INTO live;
  SELECT coalesce(sum(rows), 0) >= live * share INTO is_columnar FROM amax.components(t);
  SELECT count(*) INTO problems FROM amax.verify(t);
END $$;

SELECT twice($$CREATE TABLE t (id int PRIMARY KEY, n numeric, s text, doc jsonb, a int[], ts timestamptz DEFAULT '2024-02-29 12:00+00')$$) \gexec
SELECT twice($$CREATE INDEX t_n ON t (n)$$) \gexec
SELECT twice($$CREATE INDEX t_doc ON t USING gin (doc)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, i / 7.0, CASE WHEN i % 3 > 0 THEN 'row ' || i END, jsonb_build_object('i', i, 'even', i % 2 = 0, 'list', ARRAY[i, i + 1], 'deep', jsonb_build_object('k', i % 10)), ARRAY[i, NULL, -i] FROM generate_series(1, 3000) i$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM columnar('amax_side.t');
SELECT * FROM compare('SELECT * FROM t');
SELECT * FROM compare('SELECT id, n FROM t WHERE id BETWEEN 100 AND 200');
SELECT * FROM compare('SELECT id FROM t WHERE doc @> ''{"deep": {"k": 3}}''');
SELECT * FROM compare('SELECT count(*), sum(n), max(ts), count(s) FROM t');

-- update: a column without index, an indexed one, the key, all rows; in a transaction that changes them twice
SELECT twice($$UPDATE t SET s = s || '!' WHERE id % 50 = 0$$) \gexec
SELECT twice($$UPDATE t SET n = -n, doc = doc || '{"seen": [null, {}]}' WHERE id % 60 = 1$$) \gexec
SELECT twice($$UPDATE t SET id = -id WHERE id % 110 = 0$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT * FROM compare('SELECT * FROM t WHERE n < 0');
BEGIN;
SELECT twice($$UPDATE t SET n = n * 2 WHERE id < 100$$) \gexec
SELECT twice($$UPDATE t SET n = n * 2, s = 'again' WHERE id < 50$$) \gexec
SELECT * FROM compare('SELECT * FROM t WHERE id < 120');
COMMIT;
-- delete, also of what was changed before
SELECT twice($$DELETE FROM t WHERE id % 70 = 0$$) \gexec
SELECT twice($$DELETE FROM t WHERE doc @> '{"i": 77}' OR id = -110$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
-- one statement that meets a row twice changes it once
SELECT twice($$UPDATE t SET s = x.i::text FROM (VALUES (500), (500), (501)) x(i) WHERE t.id = x.i$$) \gexec
SELECT twice($$WITH changed AS (UPDATE t SET s = 'first' WHERE id = 502 RETURNING id) UPDATE t SET s = 'second' FROM changed WHERE t.id = changed.id$$) \gexec
SELECT * FROM compare('SELECT * FROM t WHERE id BETWEEN 495 AND 505');
-- the changed rows become columnar in turn
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM columnar('amax_side.t');
SELECT * FROM compare('SELECT * FROM t');

-- returning
SELECT twice($$CREATE TABLE log AS WITH x AS (UPDATE t SET n = n + 1 WHERE id BETWEEN 600 AND 610 RETURNING *), y AS (DELETE FROM t WHERE id BETWEEN 611 AND 620 RETURNING *) SELECT * FROM x UNION ALL SELECT * FROM y$$) \gexec
SELECT twice($$INSERT INTO log SELECT * FROM t WHERE id BETWEEN 590 AND 630$$) \gexec
SELECT * FROM compare('SELECT * FROM log');

-- row locks: then changed, then locked in a savepoint that is rolled back
BEGIN;
SELECT * FROM compare('SELECT id FROM t WHERE id BETWEEN 700 AND 710 FOR UPDATE');
SELECT * FROM compare('SELECT id FROM t WHERE id BETWEEN 700 AND 712 FOR NO KEY UPDATE SKIP LOCKED');
SELECT * FROM compare('SELECT * FROM t WHERE id BETWEEN 705 AND 715 FOR SHARE NOWAIT');
SELECT * FROM compare('SELECT id FROM t WHERE doc @> ''{"deep": {"k": 7}}'' AND id < 800 FOR KEY SHARE');
SELECT twice($$UPDATE t SET s = 'locked and changed' WHERE id BETWEEN 708 AND 714$$) \gexec
COMMIT;
BEGIN;
SAVEPOINT one;
SELECT * FROM compare('SELECT id FROM t WHERE id BETWEEN 720 AND 725 FOR UPDATE');
ROLLBACK TO one;
SELECT twice($$DELETE FROM t WHERE id BETWEEN 722 AND 723$$) \gexec
COMMIT;
SELECT * FROM compare('SELECT * FROM t WHERE id BETWEEN 690 AND 730');

-- on conflict, merge, duplicates
SELECT twice($$INSERT INTO t (id, s) VALUES (800, 'a'), (9002, 'b') ON CONFLICT DO NOTHING$$) \gexec
SELECT twice($$INSERT INTO t (id, s) SELECT i, 'upsert' FROM generate_series(795, 805) i ON CONFLICT (id) DO UPDATE SET s = excluded.s || coalesce(t.s, '') WHERE t.id <> 802$$) \gexec
SELECT twice($$INSERT INTO t (id) VALUES (810)$$) \gexec
SELECT twice($$INSERT INTO t (id) VALUES (811), (811) ON CONFLICT (id) DO UPDATE SET s = 'twice'$$) \gexec
SELECT twice($$MERGE INTO t USING (SELECT i FROM generate_series(2990, 3010) i) AS s(i) ON t.id = s.i WHEN MATCHED AND i % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET s = 'merged' WHEN NOT MATCHED THEN INSERT (id, s) VALUES (i, 'inserted')$$) \gexec
SELECT * FROM compare('SELECT * FROM t');

-- triggers see old and new rows
SELECT twice($$CREATE TABLE audit (op text, was jsonb, becomes jsonb)$$) \gexec
SELECT twice($$CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO audit VALUES (TG_OP, to_jsonb(OLD), to_jsonb(NEW)); RETURN NULL; END'$$) \gexec
SELECT twice($$CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF OLD.id % 2 = 0 THEN RETURN NULL; END IF; NEW.s = upper(coalesce(NEW.s, OLD.s)); RETURN NEW; END'$$) \gexec
SELECT twice($$CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note()$$) \gexec
SELECT twice($$CREATE TRIGGER shout BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION shout()$$) \gexec
SELECT twice($$UPDATE t SET s = 'audited ' || id WHERE id BETWEEN 900 AND 910$$) \gexec
SELECT twice($$DELETE FROM t WHERE id BETWEEN 911 AND 915$$) \gexec
SELECT * FROM compare('SELECT * FROM audit');
SELECT * FROM compare('SELECT * FROM t WHERE id BETWEEN 895 AND 920');
SELECT twice($$DROP TRIGGER note ON t$$) \gexec
SELECT twice($$DROP TRIGGER shout ON t$$) \gexec
-- a transition table
SELECT twice($$CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO audit SELECT ''counted'', to_jsonb(count(*)), to_jsonb(sum(n)) FROM gone; RETURN NULL; END'$$) \gexec
SELECT twice($$CREATE TRIGGER counted AFTER DELETE ON t REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION counted()$$) \gexec
SELECT twice($$DELETE FROM t WHERE id BETWEEN 930 AND 940$$) \gexec
SELECT twice($$DROP TRIGGER counted ON t$$) \gexec
SELECT * FROM compare('SELECT * FROM audit');

-- foreign keys in both directions, all columnar
SELECT twice($$CREATE TABLE child (id int REFERENCES t ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE, other int REFERENCES t ON DELETE SET NULL, note text)$$) \gexec
SELECT twice($$INSERT INTO child SELECT id, CASE WHEN id % 2 = 0 THEN id END, s FROM t WHERE id BETWEEN 1000 AND 1400$$) \gexec
SELECT twice($$VACUUM child$$) \gexec
SELECT * FROM columnar('amax_side.child');
SELECT twice($$INSERT INTO child VALUES (123456)$$) \gexec
SELECT twice($$UPDATE child SET id = 123456 WHERE id = 1001$$) \gexec
SELECT twice($$DELETE FROM t WHERE id BETWEEN 1010 AND 1020$$) \gexec
SELECT twice($$UPDATE t SET id = id + 50000 WHERE id BETWEEN 1030 AND 1040 AND id % 2 = 1$$) \gexec
SELECT twice($$UPDATE t SET n = 1 WHERE id BETWEEN 1050 AND 1060$$) \gexec
SELECT twice($$ALTER TABLE child ADD CONSTRAINT strict FOREIGN KEY (other) REFERENCES t$$) \gexec
SELECT twice($$DELETE FROM t WHERE id = 1100$$) \gexec
SELECT * FROM compare('SELECT * FROM child');
SELECT * FROM compare('SELECT * FROM t');
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
SELECT twice($$INSERT INTO child VALUES (700000)$$) \gexec
SELECT twice($$INSERT INTO t (id) VALUES (700000)$$) \gexec
COMMIT;
SELECT twice($$DROP TABLE child$$) \gexec

-- through cursors
BEGIN;
DECLARE h CURSOR FOR SELECT * FROM heap_side.t WHERE id BETWEEN 1200 AND 1202 ORDER BY id FOR UPDATE;
DECLARE c CURSOR FOR SELECT * FROM amax_side.t WHERE id BETWEEN 1200 AND 1202 ORDER BY id FOR UPDATE;
MOVE h; MOVE c;
UPDATE heap_side.t SET s = 'through the cursor' WHERE CURRENT OF h;
UPDATE amax_side.t SET s = 'through the cursor' WHERE CURRENT OF c;
MOVE h; MOVE c;
DELETE FROM heap_side.t WHERE CURRENT OF h;
DELETE FROM amax_side.t WHERE CURRENT OF c;
COMMIT;
BEGIN;
SET LOCAL enable_indexscan = off;
SET LOCAL enable_bitmapscan = off;
DECLARE c CURSOR FOR SELECT * FROM amax_side.t WHERE id = 1203;
DECLARE h CURSOR FOR SELECT * FROM heap_side.t WHERE id = 1203;
MOVE c; MOVE h;
UPDATE amax_side.t SET s = 'sequential' WHERE CURRENT OF c;
UPDATE heap_side.t SET s = 'sequential' WHERE CURRENT OF h;
COMMIT;
-- an open cursor keeps to its snapshot, and comes back
BEGIN;
DECLARE h SCROLL CURSOR FOR SELECT * FROM heap_side.t;
DECLARE c SCROLL CURSOR FOR SELECT * FROM amax_side.t;
MOVE 100 FROM h; MOVE 100 FROM c;
SELECT twice($$DELETE FROM t WHERE id BETWEEN 50 AND 2500$$) \gexec
MOVE FORWARD ALL FROM h;
\set seen_heap :ROW_COUNT
MOVE FORWARD ALL FROM c;
\echo :seen_heap rows on heap, :ROW_COUNT on amax
MOVE BACKWARD ALL FROM h;
\set seen_heap :ROW_COUNT
MOVE BACKWARD ALL FROM c;
\echo :seen_heap rows on heap, :ROW_COUNT on amax
ROLLBACK;
SELECT * FROM compare('SELECT * FROM t');

-- savepoints, nested, released and rolled back
BEGIN;
SELECT twice($$UPDATE t SET s = 'outer' WHERE id BETWEEN 1300 AND 1320$$) \gexec
SAVEPOINT one;
SELECT twice($$UPDATE t SET s = s || ' one' WHERE id BETWEEN 1310 AND 1330$$) \gexec
SAVEPOINT two;
SELECT twice($$DELETE FROM t WHERE id BETWEEN 1305 AND 1340$$) \gexec
SELECT * FROM compare('SELECT * FROM t WHERE id BETWEEN 1290 AND 1350');
ROLLBACK TO two;
SELECT twice($$UPDATE t SET s = s || ' two again' WHERE id BETWEEN 1315 AND 1335$$) \gexec
RELEASE one;
SAVEPOINT three;
SELECT twice($$UPDATE t SET id = id + 100000 WHERE id BETWEEN 1300 AND 1350$$) \gexec
ROLLBACK TO three;
COMMIT;
SELECT * FROM compare('SELECT * FROM t WHERE id BETWEEN 1290 AND 1350');

-- two-phase commit
BEGIN;
SELECT twice($$UPDATE t SET s = 'prepared' WHERE id BETWEEN 1360 AND 1370$$) \gexec
SELECT twice($$DELETE FROM t WHERE id BETWEEN 1371 AND 1375$$) \gexec
PREPARE TRANSACTION 'kept';
SELECT * FROM compare('SELECT * FROM t WHERE id BETWEEN 1350 AND 1380');
VACUUM amax_side.t;
COMMIT PREPARED 'kept';
SELECT * FROM compare('SELECT * FROM t WHERE id BETWEEN 1350 AND 1380');
BEGIN;
SELECT twice($$DELETE FROM t$$) \gexec
PREPARE TRANSACTION 'dropped';
ROLLBACK PREPARED 'dropped';
SELECT * FROM compare('SELECT * FROM t');

-- an index of each kind over columnar and changed rows
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$UPDATE t SET n = n + 1000 WHERE id % 97 = 0$$) \gexec
SELECT twice($$CREATE INDEX t_s ON t (s text_pattern_ops, id)$$) \gexec
SELECT twice($$CREATE INDEX t_hash ON t USING hash (s)$$) \gexec
SELECT twice($$CREATE INDEX t_brin ON t USING brin (id) WITH (pages_per_range = 4)$$) \gexec
SELECT twice($$CREATE INDEX t_a ON t USING gin (a)$$) \gexec
SELECT twice($$CREATE INDEX t_range ON t USING gist (int4range(least(id, 2000000), NULL))$$) \gexec
SELECT twice($$CREATE INDEX t_sp ON t USING spgist (s)$$) \gexec
SELECT twice($$CREATE INDEX CONCURRENTLY t_path ON t (((doc->'deep'->>'k')::int)) WHERE doc ? 'deep'$$) \gexec
SELECT twice($$CREATE UNIQUE INDEX t_cover ON t (id) INCLUDE (n, s)$$) \gexec
SET enable_seqscan = off;
SELECT * FROM compare('SELECT * FROM t WHERE s LIKE ''row 12%''');
SELECT * FROM compare('SELECT * FROM t WHERE s = ''prepared''');
SELECT * FROM compare('SELECT * FROM t WHERE a @> ARRAY[1500]');
SELECT * FROM compare('SELECT count(*) FROM t WHERE (doc->''deep''->>''k'')::int = 4 AND doc ? ''deep''');
SELECT * FROM compare('SELECT id FROM t WHERE id BETWEEN 2000 AND 2100');
SELECT * FROM compare('SELECT count(*) FROM t WHERE n > 1000');
SET enable_indexscan = off;
SELECT * FROM compare('SELECT * FROM t WHERE n > 1000');
SELECT * FROM compare('SELECT id FROM t WHERE doc @> ''{"deep": {"k": 4}}'' OR id < 30');
RESET enable_indexscan;
RESET enable_seqscan;
SELECT twice($$REINDEX TABLE t$$) \gexec
SELECT * FROM compare('SELECT * FROM t WHERE id BETWEEN 2000 AND 2100');
SELECT twice($$CREATE UNIQUE INDEX t_twice ON t ((id % 100))$$) \gexec
SELECT twice($$DROP INDEX t_s, t_hash, t_a, t_range, t_sp, t_path, t_cover$$) \gexec

-- statistics, samples and TIDs
SELECT twice($$ANALYZE t$$) \gexec
SELECT * FROM compare('SELECT attname, null_frac, n_distinct FROM pg_stats WHERE schemaname = current_schema AND tablename = ''t'' AND attname IN (''id'', ''s'', ''ts'')');
SELECT reltuples = (SELECT count(*) FROM amax_side.t) AS counted FROM pg_class WHERE oid = 'amax_side.t'::regclass;
SELECT * FROM compare('SELECT count(*) FROM t TABLESAMPLE SYSTEM (100)');
SELECT * FROM compare('SELECT count(*) FROM t TABLESAMPLE BERNOULLI (100)');
SELECT * FROM compare('SELECT count(*) FROM t TABLESAMPLE SYSTEM (0)');
SELECT * FROM compare('SELECT count(*) FROM t WHERE ctid >= ''(0,0)''');
SELECT * FROM compare('SELECT (SELECT count(*) FROM t WHERE ctid < ''(4,20)'') + (SELECT count(*) FROM t WHERE ctid >= ''(4,20)'')');
SELECT * FROM compare('SELECT count(DISTINCT ctid), bool_and(again) FROM (SELECT o.ctid, (SELECT i::text FROM t i WHERE i.ctid = o.ctid) = o::text AS again FROM t o WHERE id % 10 = 0) x');
SELECT * FROM compare('SELECT count(*) FROM t WHERE ctid IN (''(99999,1)'', ''(0,0)'', ''(1,2000)'')');

-- columns come and go without a rewrite; those before them have the default
SELECT twice($$ALTER TABLE t ADD COLUMN added int DEFAULT 42, ADD COLUMN empty text$$) \gexec
SELECT * FROM columnar('amax_side.t');
SELECT * FROM compare('SELECT * FROM t');
SELECT * FROM compare('SELECT count(*), sum(added), count(empty) FROM t WHERE added = 42');
SELECT twice($$UPDATE t SET empty = 'no', added = added + id WHERE id BETWEEN 2600 AND 2650$$) \gexec
SELECT twice($$ALTER TABLE t DROP COLUMN a$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$UPDATE t SET s = 'narrow' WHERE id BETWEEN 2640 AND 2660$$) \gexec
SELECT twice($$ALTER TABLE t ALTER COLUMN added SET DEFAULT 43, ALTER COLUMN added SET NOT NULL$$) \gexec
SELECT twice($$INSERT INTO t (id) VALUES (800000)$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM columnar('amax_side.t');
SELECT * FROM compare('SELECT * FROM t');

-- rewrites
SELECT twice($$ALTER TABLE t ALTER COLUMN added TYPE numeric USING added / 10.0$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$CLUSTER t USING t_n$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$UPDATE t SET n = 0 WHERE id % 90 = 0$$) \gexec
SELECT twice($$VACUUM FULL t$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$VACUUM (FREEZE) t$$) \gexec
SELECT * FROM columnar('amax_side.t');
ALTER TABLE amax_side.t SET ACCESS METHOD heap;
SELECT * FROM compare('SELECT * FROM t');
ALTER TABLE amax_side.t SET ACCESS METHOD amax;
SELECT twice($$UPDATE t SET s = 'back again' WHERE id % 80 = 0$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM columnar('amax_side.t');

-- truncated and rolled back, truncated for good
BEGIN;
SELECT twice($$TRUNCATE t$$) \gexec
SELECT twice($$INSERT INTO t (id) SELECT generate_series(1, 2000)$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
ROLLBACK;
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$TRUNCATE t$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$INSERT INTO t (id, s) VALUES (1, 'only')$$) \gexec
SELECT * FROM compare('SELECT * FROM t');

-- loads that become columnar at once: seen by the transaction, not by others' counts of what was rolled back, changed like any row
SET amax.bulk_threshold = 100;
SELECT twice($$CREATE TABLE loaded AS SELECT i, jsonb_build_object('i', i, 't', repeat('x', i % 30)) AS doc FROM generate_series(1, 2000) i$$) \gexec
SELECT * FROM columnar('amax_side.loaded', 0.9);
SELECT * FROM compare('SELECT * FROM loaded');
BEGIN;
SELECT twice($$INSERT INTO loaded SELECT i + 2000, doc FROM loaded$$) \gexec
SELECT * FROM compare('SELECT * FROM loaded');
SAVEPOINT one;
SELECT twice($$INSERT INTO loaded SELECT i + 4000, doc FROM loaded$$) \gexec
SELECT twice($$UPDATE loaded SET doc = '[]' WHERE i % 100 = 0$$) \gexec
SELECT twice($$DELETE FROM loaded WHERE i BETWEEN 3990 AND 4010$$) \gexec
SELECT * FROM compare('SELECT * FROM loaded');
ROLLBACK TO one;
SELECT * FROM compare('SELECT * FROM loaded');
SELECT twice($$DELETE FROM loaded WHERE i % 100 = 1$$) \gexec
COMMIT;
SELECT * FROM compare('SELECT * FROM loaded');
BEGIN;
SELECT twice($$INSERT INTO loaded SELECT i + 10000, doc FROM loaded$$) \gexec
ROLLBACK;
SELECT * FROM compare('SELECT * FROM loaded');
-- what a load calls looks at the rows so far in a subtransaction that comes to nothing, or does not
SELECT twice($f$CREATE FUNCTION look(i int, fail boolean) RETURNS int LANGUAGE plpgsql AS $$DECLARE n bigint;
    BEGIN SELECT count(*) INTO n FROM loaded; IF fail THEN RAISE 'done'; END IF; RETURN n; EXCEPTION WHEN raise_exception THEN RETURN n; END$$$f$) \gexec
SELECT twice($$INSERT INTO loaded SELECT CASE i % 300 WHEN 0 THEN look(i, i % 600 = 0) ELSE -i END FROM generate_series(1, 2000) i$$) \gexec
SELECT count(*) FROM amax_side.loaded WHERE i < 0;
SELECT * FROM compare('SELECT * FROM loaded');
SELECT twice($$DELETE FROM loaded WHERE i NOT BETWEEN 0 AND 9999 OR doc IS NULL$$) \gexec
-- with workers, which know nothing of a load, through an index
SELECT twice($$CREATE TABLE sought (i int)$$) \gexec
SELECT twice($$CREATE INDEX ON sought (i)$$) \gexec
SELECT twice($f$CREATE FUNCTION seek() RETURNS int LANGUAGE plpgsql AS $$DECLARE n int; BEGIN EXECUTE 'SELECT count(*) FROM sought WHERE i > 0' INTO n; RETURN -n; END$$$f$) \gexec
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL min_parallel_index_scan_size = 0;
SET LOCAL parallel_leader_participation = off;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL amax.custom_scan = off;
SELECT twice($$INSERT INTO sought SELECT CASE i % 1000 WHEN 0 THEN seek() ELSE i END FROM generate_series(1, 3000) i$$) \gexec
COMMIT;
SELECT * FROM compare('SELECT * FROM sought');
SELECT twice($$CREATE INDEX loaded_i ON loaded (i)$$) \gexec
SELECT twice($$VACUUM loaded$$) \gexec
SELECT * FROM columnar('amax_side.loaded');
SELECT * FROM compare('SELECT * FROM loaded WHERE i BETWEEN 1990 AND 2010');

-- rolled-back changes that a rewrite is the first to look at
SELECT twice($$CREATE TABLE undone (id int PRIMARY KEY, n int)$$) \gexec
SELECT twice($$INSERT INTO undone SELECT i, 0 FROM generate_series(1, 1000) i$$) \gexec
SELECT twice($$VACUUM undone$$) \gexec
SELECT * FROM columnar('amax_side.undone');
BEGIN;
SELECT twice($$UPDATE undone SET n = n + 1 WHERE id BETWEEN 11 AND 13$$) \gexec
SELECT twice($$UPDATE undone SET id = id + 5000 WHERE id BETWEEN 14 AND 16$$) \gexec
SELECT twice($$DELETE FROM undone WHERE id BETWEEN 17 AND 20$$) \gexec
ROLLBACK;
SELECT twice($$VACUUM FULL undone$$) \gexec
SELECT * FROM compare('SELECT * FROM undone');

-- keys that heap would move out of line: one that compresses, one that does not
SELECT twice($$CREATE TABLE wide (k text UNIQUE, n int)$$) \gexec
SELECT twice($$INSERT INTO wide SELECT i || repeat('x', 6000), i FROM generate_series(1, 20) i$$) \gexec
SELECT twice($$INSERT INTO wide SELECT (SELECT string_agg(md5(i::text || j), '') FROM generate_series(1, 78) j), i FROM generate_series(21, 30) i$$) \gexec
SELECT twice($$VACUUM wide$$) \gexec
SELECT * FROM columnar('amax_side.wide');
SELECT twice($$UPDATE wide SET n = -n WHERE n IN (5, 25)$$) \gexec
SELECT twice($$UPDATE wide SET k = NULL WHERE n IN (6, 26)$$) \gexec
SELECT twice($$DELETE FROM wide WHERE n IN (7, 27)$$) \gexec
SELECT twice($$INSERT INTO wide SELECT k, 100 + n FROM wide WHERE n IN (8, 28) ON CONFLICT (k) DO UPDATE SET n = excluded.n$$) \gexec
SELECT * FROM compare('SELECT * FROM wide');

-- a load that changes its own rows and is rolled back leaves nothing
RESET amax.flush_threshold;
BEGIN;
SELECT twice($$INSERT INTO loaded SELECT i + 20000, doc FROM loaded$$) \gexec
SELECT twice($$DELETE FROM loaded WHERE i % 3 = 0$$) \gexec
ROLLBACK;
SELECT twice($$VACUUM loaded$$) \gexec
SELECT * FROM columnar('amax_side.loaded');
SELECT * FROM compare('SELECT * FROM loaded');

-- a load whose rows a function of the same statement reads, by each kind of scan
SELECT twice($$CREATE FUNCTION so_far() RETURNS bigint LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN (SELECT count(*) FROM loaded WHERE i > 0); END'$$) \gexec
SELECT twice($$CREATE TABLE seen (i int, n bigint)$$) \gexec
SELECT twice($$WITH x AS (INSERT INTO loaded SELECT 30000 + so_far() FROM generate_series(1, 300) RETURNING i) INSERT INTO seen SELECT i, 1 FROM x$$) \gexec
SELECT * FROM compare('SELECT * FROM seen');
SET amax.custom_scan = off;
DISCARD PLANS;
SELECT twice($$WITH x AS (INSERT INTO loaded SELECT 40000 + so_far() FROM generate_series(1, 300) RETURNING i) INSERT INTO seen SELECT i, 2 FROM x$$) \gexec
SELECT * FROM compare('SELECT * FROM seen');
RESET amax.custom_scan;

-- columns that leaves do not have, with and without a default, as conditions and aggregates
SELECT twice($$CREATE TABLE widened (id int)$$) \gexec
SELECT twice($$INSERT INTO widened SELECT generate_series(1, 500)$$) \gexec
SET amax.flush_threshold = 0;
SELECT twice($$VACUUM widened$$) \gexec
SELECT twice($$ALTER TABLE widened ADD d jsonb, ADD n int, ADD s text, ADD d1 jsonb DEFAULT '{"a": 1, "n": null}', ADD n1 int DEFAULT 3, ADD s1 text DEFAULT 'x'$$) \gexec
SELECT twice($$INSERT INTO widened SELECT i, '{"a": 2}', i, 'y' FROM generate_series(501, 600) i$$) \gexec
SET enable_seqscan = off;
SELECT * FROM compare('SELECT * FROM widened');
SELECT * FROM compare('SELECT id FROM widened WHERE d IS NULL');
SELECT * FROM compare('SELECT id FROM widened WHERE n IS NULL AND s IS NULL');
SELECT * FROM compare('SELECT id FROM widened WHERE n IS NOT NULL OR s IS NOT NULL OR d IS NOT NULL');
SELECT * FROM compare('SELECT id FROM widened WHERE d->''a'' IS NULL');
SELECT * FROM compare('SELECT id FROM widened WHERE d1 IS NULL OR n1 IS NULL OR s1 IS NULL');
SELECT * FROM compare('SELECT id FROM widened WHERE d1->''b'' IS NULL AND d1->''n'' IS NOT NULL AND d1->>''n'' IS NULL');
SELECT * FROM compare('SELECT id FROM widened WHERE d1->''a'' IS NOT NULL AND n1 = 3 AND s1 = ''x''');
SELECT * FROM compare('SELECT count(d), count(n), count(s), count(d1), count(n1), count(s1), sum(n), sum(n1), min(s), max(s1), count(d->''a''), count(d1->''b''), sum((d1->''a'')::int) FROM widened');
SELECT * FROM compare('SELECT d->>''a'', n1, s IS NULL, count(*) FROM widened GROUP BY 1, 2, 3');
RESET enable_seqscan;
RESET amax.flush_threshold;

-- keys that do not fit a page together
SELECT twice($$CREATE TABLE wide_keys (i int, a text UNIQUE, b text UNIQUE, c text UNIQUE, d text UNIQUE)$$) \gexec
CREATE FUNCTION twins.letters(seed int) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(chr(33 + ('x' || substr(md5(seed || '/' || i), 1, 6))::bit(24)::int % 90), '' ORDER BY i) FROM generate_series(1, 2500) i
$$;
SELECT twice($$INSERT INTO wide_keys SELECT i, letters(i), letters(i + 10), letters(i + 20), letters(i + 30) FROM generate_series(1, 4) i$$) \gexec
SET amax.flush_threshold = 0;
SELECT twice($$VACUUM wide_keys$$) \gexec
SELECT rows FROM amax.components('amax_side.wide_keys');
SELECT twice($$SELECT i FROM wide_keys WHERE i = 1 FOR UPDATE$$) \gexec
SELECT twice($$UPDATE wide_keys SET i = 10 WHERE i = 2$$) \gexec
SELECT twice($$UPDATE wide_keys SET b = 'x' WHERE i = 3$$) \gexec
SELECT twice($$DELETE FROM wide_keys WHERE i = 4$$) \gexec
SELECT * FROM compare('SELECT * FROM wide_keys');
RESET amax.flush_threshold;

-- Few rows are enough for a component if they are large.
SET search_path = amax_side, public, twins;
SET amax.eager = off;
SET amax.bulk_threshold = 1000000;
CREATE TABLE few (id int PRIMARY KEY, doc jsonb) USING amax WITH (toast.autovacuum_enabled = off);
INSERT INTO few SELECT i, jsonb_build_object('id', i, 'text', (SELECT string_agg(md5(i || '/' || n), '') FROM generate_series(1, 1500) n)) FROM generate_series(1, 300) i;
VACUUM few;
SELECT sum(rows) FROM amax.components('few');
INSERT INTO few SELECT i, jsonb_build_object('id', i, 'text', (SELECT string_agg(md5(i || '/' || n), '') FROM generate_series(1, 1500) n)) FROM generate_series(301, 310) i;
VACUUM few;
SELECT sum(rows) FROM amax.components('few');
SELECT count(*), sum((doc->>'id')::int), sum(length(doc->>'text')) FROM few;
DROP TABLE few;

-- Rows of a page that are very large together stay there, until there are fewer.
SET amax.flush_threshold = 0;
CREATE TABLE large (id int PRIMARY KEY, s text) USING amax;
INSERT INTO large SELECT i, 'x' FROM generate_series(1, 20) i;
UPDATE large SET s = repeat('x', 20000000);
VACUUM large;
SELECT count(*) FROM amax.components('large');
DELETE FROM large WHERE id > 3;
VACUUM large;
SELECT rows FROM amax.components('large');
SELECT count(*), sum(length(s)) FROM large;
DROP TABLE large;
RESET amax.bulk_threshold;
RESET amax.flush_threshold;
RESET amax.eager;
