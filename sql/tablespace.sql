-- Rows inserted after SET TABLESPACE, in a transaction that is rolled back, leave their index entries behind, in heap too: the index is not moved,
-- and the old file gives their TIDs to others. amax.verify tells, and REINDEX mends it.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE amax_elsewhere LOCATION '';
SELECT twice($$CREATE TABLE t (id int, p text)$$) \gexec
SELECT twice($$CREATE INDEX t_id ON t (id)$$) \gexec
SELECT twice($$CREATE INDEX t_p ON t (lower(p)) INCLUDE (id) WHERE id > 0$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, 'x' FROM generate_series(1, 1000) i$$) \gexec
BEGIN;
SELECT twice($$ALTER TABLE t SET TABLESPACE amax_elsewhere$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, 'y' FROM generate_series(100001, 100200) i$$) \gexec
ROLLBACK;
SELECT twice($$INSERT INTO t SELECT i, 'z' FROM generate_series(2001, 2200) i$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
-- by index there are 200 more
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
SELECT twice($$SELECT count(*), count(p) FROM (SELECT id, p FROM t WHERE id > 0 ORDER BY id) q$$) \gexec
SELECT regexp_replace(problem, '\(.*\)', '(…)') FROM amax.verify('amax_side.t') problem ORDER BY 1;
SELECT twice($$REINDEX TABLE t$$) \gexec
SELECT twice($$SELECT count(*), count(p) FROM (SELECT id, p FROM t WHERE id > 0 ORDER BY id) q$$) \gexec
SELECT * FROM amax.verify('amax_side.t');

-- an index on a row that has changed in place since, on one that was flushed, on long values and on none; it is left alone while older
-- snapshots may not use it
SELECT twice($$CREATE TABLE u (id int, n int, p text)$$) \gexec
SELECT twice($$CREATE INDEX u_n ON u (n, p)$$) \gexec
SELECT twice($$INSERT INTO u SELECT i, i % 10, CASE WHEN i % 3 > 0 THEN repeat('p', i) END FROM generate_series(1, 2000) i$$) \gexec
SELECT twice($$UPDATE u SET id = -id WHERE id % 3 = 0$$) \gexec
SELECT twice($$CREATE INDEX u_id ON u (id)$$) \gexec
SELECT * FROM amax.verify('amax_side.u');
SET amax.flush_threshold = 0;
VACUUM amax_side.u;
SELECT twice($$UPDATE u SET n = n + 1 WHERE id % 7 = 0$$) \gexec
SELECT twice($$DELETE FROM u WHERE id % 11 = 0$$) \gexec
SELECT * FROM amax.verify('amax_side.u');

DROP TABLE heap_side.t, amax_side.t;
DROP TABLESPACE amax_elsewhere;
