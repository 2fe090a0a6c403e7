-- Space comes back: what failed loads took, what deleted rows took, pages at the end of the file.
SET amax.eager = off;
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.bulk_threshold = 100;
SET amax.rows_per_leaf = 300;
SET amax.flush_threshold = 0;

CREATE FUNCTION twins.pages(t regclass) RETURNS bigint LANGUAGE sql AS 'SELECT pg_relation_size(t) / 8192';

-- Loads that fail before they publish, and one that is rolled back after it has: their rows are not found, and however often that
-- happens, file and index stop growing.
SELECT twice($$CREATE TABLE t (id int, s text)$$) \gexec
SELECT twice($$CREATE INDEX t_id ON t (id)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, noise(i, 300) FROM generate_series(1, 2000) i$$) \gexec
CREATE PROCEDURE twins.fail() LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    INSERT INTO t SELECT j, noise(j, 300) FROM generate_series(1, 1000) j WHERE j < 1000 OR 1 / (j - 1000) = 0;
  EXCEPTION WHEN division_by_zero THEN NULL;
  END;
  BEGIN
    INSERT INTO t SELECT j, noise(j, 300) FROM generate_series(1, 1000) j;
    RAISE EXCEPTION 'undone';
  EXCEPTION WHEN raise_exception THEN NULL;
  END;
END $$;
SET search_path = amax_side, public, twins;
SELECT unnest(ARRAY['CALL fail()', 'VACUUM t']) FROM generate_series(1, 6) \gexec
SELECT pages('t') AS before, pages('t_id') AS index_before \gset
SELECT * FROM amax.verify('t');
SELECT unnest(ARRAY['CALL fail()', 'VACUUM t']) FROM generate_series(1, 6) \gexec
SELECT pages('t') <= :before + 10 AS bounded, pages('t_id') <= :index_before + 10 AS index_bounded;
SELECT * FROM amax.verify('t');
SELECT * FROM compare('SELECT * FROM t');
SET enable_seqscan = off;
SELECT * FROM compare('SELECT id FROM t WHERE id BETWEEN 1 AND 1500');
RESET enable_seqscan;

-- Most rows go: the end of the file is given back, and the table goes on.
SELECT twice($$CREATE TABLE shrinks (id int PRIMARY KEY, s text)$$) \gexec
SELECT twice($$INSERT INTO shrinks SELECT i, noise(i, 500) FROM generate_series(1, 6000) i$$) \gexec
SELECT twice($$VACUUM shrinks$$) \gexec
SELECT twice($$DELETE FROM shrinks WHERE id > 100$$) \gexec
SELECT pages('amax_side.shrinks') > 200 AS large;
SELECT twice($$VACUUM shrinks$$) \gexec
SELECT twice($$CREATE TABLE other AS SELECT 1$$) \gexec
SELECT twice($$VACUUM shrinks$$) \gexec
SELECT twice($$DROP TABLE other$$) \gexec
SELECT twice($$VACUUM shrinks$$) \gexec
SELECT pages('amax_side.shrinks') < 100 AS small;
SELECT * FROM amax.verify('amax_side.shrinks');
SELECT * FROM compare('SELECT * FROM shrinks');
SELECT twice($$INSERT INTO shrinks SELECT i, noise(i, 500) FROM generate_series(1001, 3000) i$$) \gexec
SELECT twice($$UPDATE shrinks SET s = 'changed' WHERE id % 7 = 0$$) \gexec
SELECT * FROM compare('SELECT * FROM shrinks');
SELECT twice($$VACUUM shrinks$$) \gexec
SELECT * FROM compare('SELECT * FROM shrinks');
SELECT * FROM amax.verify('amax_side.shrinks');

-- An empty table has an empty file; what a session remembers of the old one does not count.
SELECT twice($$DELETE FROM shrinks$$) \gexec
SELECT twice($$VACUUM shrinks$$) \gexec
SELECT twice($$CREATE TABLE other AS SELECT 1$$) \gexec
SELECT twice($$VACUUM shrinks$$) \gexec
SELECT pages('amax_side.shrinks'), pages('heap_side.shrinks') AS heap;
SELECT * FROM compare('SELECT * FROM shrinks');
SELECT twice($$INSERT INTO shrinks SELECT i, 'new ' || i FROM generate_series(1, 500) i$$) \gexec
SELECT * FROM compare('SELECT * FROM shrinks');
SELECT twice($$VACUUM shrinks$$) \gexec
SELECT * FROM compare('SELECT * FROM shrinks');
SET enable_seqscan = off;
SELECT * FROM compare('SELECT * FROM shrinks WHERE id BETWEEN 1 AND 500');
RESET enable_seqscan;
SELECT * FROM amax.verify('amax_side.shrinks');
-- not when VACUUM is told not to
SELECT twice($$DELETE FROM shrinks$$) \gexec
SELECT twice($$VACUUM (TRUNCATE off) shrinks$$) \gexec
SELECT twice($$DROP TABLE other$$) \gexec
SELECT twice($$VACUUM (TRUNCATE off) shrinks$$) \gexec
SELECT pages('amax_side.shrinks') > 0 AS kept;

-- However often rows are locked and a few inserted, free pages do for new rows and for the stub directory: without them each round would
-- take more than 50. A merge may still need as many as the table has.
CREATE TABLE rounds (id int PRIMARY KEY, s text) USING amax;
INSERT INTO rounds SELECT i, noise(i, 500) FROM generate_series(1, 3000) i;
VACUUM rounds;
CREATE PROCEDURE twins.again() LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO rounds SELECT i + 1, noise(i, 500) FROM (SELECT max(id) FROM rounds) m, generate_series(max, max + 99) i;
  PERFORM FROM rounds WHERE id <= 3000 AND id % 20 = 0 FOR UPDATE;
END $$;
SELECT unnest(ARRAY['CALL again()', 'VACUUM rounds']) FROM generate_series(1, 5) \gexec
SELECT pages('rounds') AS before \gset
SELECT unnest(ARRAY['CALL again()', 'VACUUM rounds']) FROM generate_series(1, 20) \gexec
SELECT pages('rounds') <= :before + 200 AS bounded;
SELECT * FROM amax.verify('rounds');

-- Rows that were only locked, or whose changes were rolled back, are as if untouched after VACUUM: no stub is left.
SET amax.flush_threshold = 0;
SELECT twice($$CREATE TABLE locked (id int PRIMARY KEY, s text)$$) \gexec
SELECT twice($$INSERT INTO locked SELECT i, 'row ' || i FROM generate_series(1, 1000) i$$) \gexec
SELECT twice($$VACUUM locked$$) \gexec
SET amax.flush_threshold = 100000;
BEGIN;
SELECT count(*) FROM (SELECT 1 FROM amax_side.locked FOR UPDATE) x;
COMMIT;
BEGIN;
UPDATE amax_side.locked SET s = 'undone' WHERE id % 2 = 0;
DELETE FROM amax_side.locked WHERE id % 3 = 0;
ROLLBACK;
VACUUM amax_side.locked;
SELECT count(*) FROM amax_side.locked WHERE xmax <> 0;
SELECT * FROM compare('SELECT * FROM locked');
SELECT twice($$UPDATE locked SET s = 'changed' WHERE id % 5 = 0$$) \gexec
SELECT twice($$VACUUM locked$$) \gexec
SELECT * FROM compare('SELECT * FROM locked');
SELECT * FROM amax.verify('amax_side.locked');

-- Out-of-line values of rows that were flushed are dead rows of the TOAST table: autovacuum hears of them.
SET amax.flush_threshold = 0;
SET amax.bulk_threshold = 1000;
CREATE TABLE chunks (i int PRIMARY KEY, s text) USING amax WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off);
INSERT INTO chunks SELECT i, noise(i, 5000) FROM generate_series(1, 100) i;
VACUUM (PROCESS_TOAST off) chunks;
CREATE TABLE other AS SELECT 1;
VACUUM (PROCESS_TOAST off) chunks;
DROP TABLE other;
VACUUM (PROCESS_TOAST off) chunks;
SELECT pg_stat_force_next_flush();
SELECT n_dead_tup FROM pg_stat_all_tables WHERE relid = (SELECT reltoastrelid FROM pg_class WHERE oid = 'chunks'::regclass);
DROP TABLE chunks;
