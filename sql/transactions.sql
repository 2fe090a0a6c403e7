-- What a transaction sees, keeps and gives back.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include

SELECT twice($$CREATE TABLE t (id int PRIMARY KEY, s text)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 500) i$$) \gexec

-- rolled back
BEGIN;
SELECT twice($$INSERT INTO t VALUES (1000, 'gone')$$) \gexec
SELECT twice($$UPDATE t SET s = 'gone' WHERE id < 10$$) \gexec
SELECT twice($$DELETE FROM t WHERE id > 400$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
ROLLBACK;
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$INSERT INTO t VALUES (1000, 'kept')$$) \gexec

-- savepoints, nested, released and rolled back
BEGIN;
SELECT twice($$INSERT INTO t VALUES (2000, 'outer')$$) \gexec
SAVEPOINT one;
SELECT twice($$INSERT INTO t VALUES (2001, 'one')$$) \gexec
SELECT twice($$UPDATE t SET s = s || ' one' WHERE id >= 1000$$) \gexec
SAVEPOINT two;
SELECT twice($$DELETE FROM t WHERE id >= 1000$$) \gexec
SELECT twice($$INSERT INTO t VALUES (2002, 'two')$$) \gexec
ROLLBACK TO two;
SELECT twice($$INSERT INTO t VALUES (2003, 'two again')$$) \gexec
RELEASE one;
SAVEPOINT three;
SELECT twice($$UPDATE t SET s = 'three' WHERE id = 1$$) \gexec
ROLLBACK TO three;
COMMIT;
SELECT * FROM compare('SELECT * FROM t');

-- a row locked in a savepoint that is rolled back can be changed afterwards
BEGIN;
SAVEPOINT one;
SELECT * FROM compare('SELECT id FROM t WHERE id = 3 FOR UPDATE');
ROLLBACK TO one;
SELECT twice($$UPDATE t SET s = 'after the lock' WHERE id = 3$$) \gexec
COMMIT;
SELECT * FROM compare('SELECT * FROM t WHERE id = 3');

-- exceptions in a function are savepoints too
SELECT twice($$CREATE FUNCTION add(i int) RETURNS text LANGUAGE plpgsql AS 'BEGIN INSERT INTO t VALUES (i, ''added''); RETURN ''added''; EXCEPTION WHEN unique_violation THEN RETURN ''present''; END'$$) \gexec
SELECT * FROM compare('SELECT i, add(i) FROM generate_series(490, 510) i');
SELECT * FROM compare('SELECT * FROM t');

-- an open cursor keeps to its snapshot
BEGIN;
DECLARE seen_heap CURSOR FOR SELECT count(*) OVER (), * FROM heap_side.t;
DECLARE seen_amax CURSOR FOR SELECT count(*) OVER (), * FROM amax_side.t;
SELECT twice($$INSERT INTO t SELECT i, 'later' FROM generate_series(3000, 3100) i$$) \gexec
SELECT twice($$DELETE FROM t WHERE id < 100$$) \gexec
MOVE ALL FROM seen_heap;
\set seen_heap :ROW_COUNT
MOVE ALL FROM seen_amax;
\echo :seen_heap rows on heap, :ROW_COUNT on amax
COMMIT;

-- backwards, holdable, and updates through a cursor
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM amax_side.t WHERE id BETWEEN 100 AND 110 ORDER BY id;
FETCH LAST FROM c;
FETCH BACKWARD 2 FROM c;
CLOSE c;
SET LOCAL enable_indexscan = off;
SET LOCAL enable_bitmapscan = off;
DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT id FROM amax_side.t WHERE id = 105;
FETCH NEXT FROM c;
FETCH PRIOR FROM c;
FETCH PRIOR FROM c;
COMMIT;
FETCH NEXT FROM c;
CLOSE c;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM amax_side.t WHERE id BETWEEN 120 AND 122 ORDER BY id FOR UPDATE;
FETCH c;
UPDATE amax_side.t SET s = 'through the cursor' WHERE CURRENT OF c;
FETCH c;
DELETE FROM amax_side.t WHERE CURRENT OF c;
COMMIT;
UPDATE heap_side.t SET s = 'through the cursor' WHERE id = 120;
DELETE FROM heap_side.t WHERE id = 121;
SELECT * FROM compare('SELECT * FROM t');

-- two-phase commit
BEGIN;
SELECT twice($$INSERT INTO t VALUES (4000, 'prepared')$$) \gexec
SELECT twice($$UPDATE t SET s = 'prepared' WHERE id = 200$$) \gexec
PREPARE TRANSACTION 'kept';
SELECT * FROM compare('SELECT * FROM t');
COMMIT PREPARED 'kept';
SELECT * FROM compare('SELECT * FROM t');
BEGIN;
SELECT twice($$DELETE FROM t$$) \gexec
PREPARE TRANSACTION 'dropped';
ROLLBACK PREPARED 'dropped';
SELECT * FROM compare('SELECT * FROM t');

-- a table made and filled in one transaction, then rolled back or kept
BEGIN;
SELECT twice($$CREATE TABLE made (i int)$$) \gexec
SELECT twice($$INSERT INTO made SELECT generate_series(1, 100)$$) \gexec
SAVEPOINT one;
SELECT twice($$TRUNCATE made$$) \gexec
SELECT twice($$INSERT INTO made VALUES (-1)$$) \gexec
ROLLBACK TO one;
COMMIT;
SELECT * FROM compare('SELECT * FROM made');
BEGIN;
SELECT twice($$TRUNCATE made$$) \gexec
SELECT twice($$INSERT INTO made VALUES (-1)$$) \gexec
SELECT * FROM compare('SELECT * FROM made');
ROLLBACK;
SELECT * FROM compare('SELECT * FROM made');

-- serializable, alone
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM compare('SELECT sum(i) FROM made');
SELECT twice($$INSERT INTO made SELECT 1000 + i FROM made i$$) \gexec
COMMIT;
SELECT * FROM compare('SELECT * FROM made');

-- system columns
SELECT * FROM compare('SELECT tableoid = ''t''::regclass AND xmin::text::bigint > 0 AND ctid IS NOT NULL FROM t');

-- a row keeps its xmin when it is flushed, loaded in bulk and merged, until it is frozen
CREATE TABLE kept (id int, inserted xid8 DEFAULT pg_current_xact_id()) USING amax WITH (autovacuum_enabled = off);
SET amax.flush_threshold = 0;
INSERT INTO kept VALUES (1);
INSERT INTO kept VALUES (2), (3);
VACUUM kept;
SELECT bool_and(xid IS NULL) AS settled, sum(rows) FROM amax.components('kept');
SELECT id, xmin = inserted::xid AS own FROM kept ORDER BY id;
INSERT INTO kept SELECT i FROM generate_series(4, 2003) i;
VACUUM kept;
SELECT bool_and(xid IS NULL) AS settled, sum(rows) FROM amax.components('kept');
SELECT xmin = inserted::xid AS own, count(*), count(DISTINCT xmin::text) FROM kept GROUP BY 1;
SET amax.merge_ratio = 0;
SET amax.max_components = 1;
INSERT INTO kept VALUES (2004);
VACUUM kept;
SELECT sum(rows) FROM amax.components('kept');
SELECT xmin = inserted::xid AS own, count(*), count(DISTINCT xmin::text) FROM kept GROUP BY 1;
SELECT age(relfrozenxid) >= (SELECT max(age(xmin)) FROM kept) AS not_past FROM pg_class WHERE oid = 'kept'::regclass;
VACUUM (FREEZE) kept;
SELECT xmin, count(*) FROM kept GROUP BY 1;
SELECT age(relfrozenxid) <= (SELECT age(max(inserted)::xid) FROM kept) AS past FROM pg_class WHERE oid = 'kept'::regclass;
SELECT * FROM amax.verify('kept');
RESET amax.merge_ratio;
RESET amax.max_components;
DROP TABLE kept;
RESET amax.flush_threshold;

-- a row once locked twice, which a hint says is over, when VACUUM no longer knows of such locks
CREATE TABLE locked (id int) USING amax WITH (autovacuum_enabled = off);
INSERT INTO locked VALUES (1);
VACUUM (FREEZE) locked;
BEGIN;
SELECT FROM locked FOR KEY SHARE;
SAVEPOINT s;
SELECT FROM locked FOR SHARE;
COMMIT;
VACUUM locked;
VACUUM (FREEZE) locked;
INSERT INTO locked VALUES (2);
VACUUM (FREEZE) locked;
SELECT * FROM locked;
DROP TABLE locked;

-- rows that COPY hands over one by one: a file that is emptied or copied before the transaction ends
CREATE FUNCTION twins.same() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
BEGIN;
SELECT twice($$CREATE TABLE copied (i int)$$) \gexec
SELECT twice($$CREATE TRIGGER same BEFORE INSERT ON copied FOR EACH ROW EXECUTE FUNCTION same()$$) \gexec
SELECT twice($$COPY copied FROM PROGRAM 'seq 3000'$$) \gexec
SELECT twice($$TRUNCATE copied$$) \gexec
COMMIT;
SELECT * FROM compare('SELECT * FROM copied');
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE elsewhere LOCATION '';
BEGIN;
SELECT twice($$COPY copied FROM PROGRAM 'seq 3000'$$) \gexec
SELECT twice($$ALTER TABLE copied SET TABLESPACE elsewhere$$) \gexec
COMMIT;
SELECT * FROM compare('SELECT * FROM copied');
SELECT twice($$DROP TABLE copied$$) \gexec
DROP TABLESPACE elsewhere;
