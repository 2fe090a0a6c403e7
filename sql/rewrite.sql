-- CLUSTER, VACUUM FULL and other rewrites: settled rows become a component, what only some may see goes to row pages.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.eager = off;
SET amax.flush_threshold = 0;

-- rewritten(table): the rows in components, the leaves and row pages they are in, and what is damaged.
CREATE FUNCTION twins.rewritten(t regclass, OUT columnar bigint, OUT leaves bigint, OUT damaged bigint) LANGUAGE sql AS $$
  SELECT coalesce(sum(rows), 0), coalesce(sum(leaves), 0), (SELECT count(*) FROM amax.verify(t)) FROM amax.components(t)
$$;

-- rows of row pages; the table's own options hold for its new file
SELECT twice($$CREATE TABLE t (id int PRIMARY KEY, gone text, n numeric, doc jsonb)$$) \gexec
SELECT amax.set_options('t', '{"rows_per_leaf": 1000}');
SELECT twice($$CREATE INDEX t_n ON t (n)$$) \gexec
SELECT twice($$CREATE INDEX t_doc ON t USING gin (doc)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, noise(i, 400), (i * 7919) % 3001, jsonb_build_object('i', i, 'list', ARRAY[i, -i]) || CASE WHEN i % 300 = 0 THEN jsonb_build_object('long', noise(i, 9000)) ELSE '{}' END FROM generate_series(1, 3000) i$$) \gexec
SELECT twice($$ALTER TABLE t DROP gone, ADD added text DEFAULT 'added'$$) \gexec
SELECT twice($$VACUUM FULL t$$) \gexec
SELECT * FROM rewritten('t');
SELECT * FROM compare('SELECT * FROM t');
SELECT * FROM compare('SELECT id FROM t WHERE n BETWEEN 100 AND 200');
SELECT * FROM compare('SELECT id FROM t WHERE doc @> ''{"i": 77}''');
-- no xids are left, and relfrozenxid says so
SELECT c.xid, age(relfrozenxid) < 20 AS young, relminmxid <> '0' AS has_minmxid FROM amax.components('t') c, pg_class WHERE oid = 't'::regclass;
-- the file is no larger than VACUUM's of the same rows; nothing is left of the dropped column
CREATE TABLE vacuumed (LIKE t) USING amax;
SELECT amax.set_options('vacuumed', '{"rows_per_leaf": 1000}');
INSERT INTO vacuumed SELECT * FROM t;
VACUUM vacuumed;
VACUUM vacuumed;
SELECT pg_relation_size('t') <= pg_relation_size('vacuumed') AS small;

-- rows of components and of row pages: changed, deleted, locked; an update and its row rolled back; in the index's order, by an index scan and by a sort
SELECT twice($$UPDATE t SET n = n + 5000, added = 'changed' WHERE id % 7 = 0$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 11 = 0$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, i % 17, NULL FROM generate_series(4001, 4200) i$$) \gexec
BEGIN;
SELECT twice($$UPDATE t SET n = -1 WHERE id % 5 = 0$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 13 = 0$$) \gexec
SELECT * FROM compare('SELECT id FROM t WHERE id % 3 = 0 FOR UPDATE');
ROLLBACK;
SELECT twice($$SET enable_indexscan = off$$) \gexec
SELECT twice($$CLUSTER t USING t_n$$) \gexec
SELECT * FROM rewritten('t');
SELECT * FROM compare('SELECT * FROM t');
SELECT array_agg(n ORDER BY ctid) = array_agg(n ORDER BY n) AS in_order, count(*) FROM t;
SELECT twice($$RESET enable_indexscan$$) \gexec
SELECT twice($$UPDATE t SET n = -n WHERE id % 19 = 0$$) \gexec
SELECT twice($$SET enable_sort = off$$) \gexec
SELECT twice($$SET enable_seqscan = off$$) \gexec
SELECT twice($$CLUSTER t$$) \gexec
SELECT twice($$RESET enable_sort$$) \gexec
SELECT twice($$RESET enable_seqscan$$) \gexec
SELECT * FROM rewritten('t');
SELECT * FROM compare('SELECT * FROM t');
SELECT array_agg(n ORDER BY ctid) = array_agg(n ORDER BY n) AS in_order, count(*) FROM t;

-- what our own transaction did is not settled: chains of its versions, rows it locked, savepoints; some of it out of line
BEGIN;
SELECT twice($$INSERT INTO t SELECT i, -i, jsonb_build_object('long', noise(i, 5000)) FROM generate_series(5001, 5050) i$$) \gexec
SELECT twice($$UPDATE t SET n = n + 1 WHERE id % 23 = 0$$) \gexec
SELECT twice($$UPDATE t SET n = n + 1, doc = jsonb_build_object('long', noise(id, 4000)) WHERE id % 46 = 0$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 29 = 0$$) \gexec
SELECT * FROM compare('SELECT id FROM t WHERE id % 31 = 0 FOR NO KEY UPDATE');
SAVEPOINT s;
SELECT twice($$UPDATE t SET n = 0 WHERE id < 5001 AND id % 37 = 0$$) \gexec
SELECT twice($$DELETE FROM t WHERE id < 5001 AND id % 41 = 0$$) \gexec
ROLLBACK TO s;
SELECT twice($$CLUSTER t$$) \gexec
SELECT columnar = (SELECT count(*) FROM t WHERE id < 5001 AND id % 23 <> 0 AND id % 31 <> 0) AS the_settled, damaged FROM rewritten('t');
SELECT * FROM compare('SELECT * FROM t');
SELECT * FROM compare('SELECT id FROM t WHERE n < 100');
SELECT twice($$UPDATE t SET n = n - 1 WHERE id % 23 = 0 OR id % 24 = 0$$) \gexec
SAVEPOINT s;
SELECT twice($$CLUSTER t USING t_pkey$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
ROLLBACK TO s;
SELECT * FROM compare('SELECT * FROM t');
COMMIT;
SELECT * FROM compare('SELECT * FROM t');
SELECT * FROM rewritten('t');
SELECT twice($$VACUUM FULL t$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT columnar = (SELECT count(*) FROM t) AS all_rows, damaged FROM rewritten('t');

-- rows that our own transaction inserted, and changed in a savepoint that is rolled back (PostgreSQL 15's heap loses them)
CREATE TABLE own (id int PRIMARY KEY, n int) USING amax;
BEGIN;
INSERT INTO own SELECT i, i FROM generate_series(1, 20) i;
SAVEPOINT s;
UPDATE own SET n = 0;
ROLLBACK TO s;
SET enable_sort = off;
SET enable_seqscan = off;
CLUSTER own USING own_pkey;
SELECT count(*), sum(n) FROM own;
UPDATE own SET n = -n WHERE id > 10;
DELETE FROM own WHERE id > 15;
COMMIT;
RESET enable_sort;
RESET enable_seqscan;
SELECT count(*), sum(n) FROM own;

-- one that fails, or that is rolled back, leaves all as it was
SET amax.fault_point = 'rewrite_published';
VACUUM FULL amax_side.t;
RESET amax.fault_point;
SELECT * FROM compare('SELECT * FROM t');
BEGIN;
SELECT twice($$CLUSTER t$$) \gexec
SELECT twice($$UPDATE t SET n = 1 WHERE id % 9 = 0$$) \gexec
ROLLBACK;
SELECT * FROM compare('SELECT * FROM t');
SELECT columnar = (SELECT count(*) FROM t) AS all_rows, damaged FROM rewritten('t');
-- and one that is committed takes all that follows: changes, constraints, VACUUM
SELECT twice($$CLUSTER t$$) \gexec
SELECT twice($$INSERT INTO t SELECT id, -7, doc FROM t WHERE id < 100 ON CONFLICT (id) DO UPDATE SET n = excluded.n$$) \gexec
SELECT twice($$DELETE FROM t WHERE n = 500$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT columnar >= (SELECT count(*) FROM t) AS all_rows, damaged FROM rewritten('t');

-- rewrites that insert rows: also with the table's own options
SELECT twice($$ALTER TABLE t ALTER n TYPE float8$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT max(rows) BETWEEN 1000 AND 1291 AS full_leaves, count(*) FROM amax.leaves('t');
-- which go with the access method
ALTER TABLE t SET ACCESS METHOD heap;
ALTER TABLE t SET ACCESS METHOD amax;
SELECT * FROM compare('SELECT * FROM t');
SELECT max(rows) BETWEEN 1000 AND 1291 AS full_leaves, count(*) FROM amax.leaves('t');
CREATE MATERIALIZED VIEW mv USING amax AS SELECT id, doc FROM t;
SELECT amax.set_options('mv', '{"rows_per_leaf": 500}');
REFRESH MATERIALIZED VIEW mv;
SELECT max(rows) BETWEEN 500 AND 791 AS full_leaves, count(*) > 2 AS many FROM amax.leaves('mv');

-- few rows become columnar as well
SELECT twice($$CREATE TABLE few (id int PRIMARY KEY, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO few SELECT i, '{"few": 1}' FROM generate_series(1, 1500) i$$) \gexec
SELECT twice($$VACUUM FULL few$$) \gexec
SELECT * FROM rewritten('few');
SELECT twice($$DELETE FROM few WHERE id > 1000$$) \gexec
SELECT twice($$VACUUM FULL few$$) \gexec
SELECT * FROM rewritten('few');
SELECT * FROM compare('SELECT * FROM few');
SELECT twice($$DELETE FROM few$$) \gexec
SELECT twice($$CLUSTER few USING few_pkey$$) \gexec
SELECT pg_relation_size('few') AS size, damaged FROM rewritten('few');
SELECT twice($$INSERT INTO few VALUES (1, NULL)$$) \gexec
SELECT * FROM compare('SELECT * FROM few');

-- tables and columns of other kinds
SET amax.bulk_threshold = 0;
SELECT twice($$CREATE TABLE nothing ()$$) \gexec
SELECT twice($$INSERT INTO nothing SELECT FROM generate_series(1, 700)$$) \gexec
SELECT twice($$VACUUM FULL nothing$$) \gexec
SELECT * FROM rewritten('nothing');
SELECT * FROM compare('SELECT * FROM nothing');
SELECT twice($$CREATE UNLOGGED TABLE fleeting (id int, r int4range, EXCLUDE USING gist (r WITH &&))$$) \gexec
SELECT twice($$CREATE INDEX fleeting_brin ON fleeting USING brin (id) WITH (pages_per_range = 1)$$) \gexec
SELECT twice($$INSERT INTO fleeting SELECT i, int4range(i, i + 1) FROM generate_series(1, 2000) i$$) \gexec
SELECT twice($$VACUUM FULL fleeting$$) \gexec
SELECT * FROM rewritten('fleeting');
SELECT twice($$INSERT INTO fleeting VALUES (0, int4range(1999, 2005))$$) \gexec
SELECT * FROM compare('SELECT * FROM fleeting WHERE r && int4range(100, 110)');
SET enable_seqscan = off;
SELECT * FROM compare('SELECT * FROM fleeting WHERE id BETWEEN 290 AND 300');
RESET enable_seqscan;
CREATE TEMP TABLE passing (id int, doc jsonb) USING amax;
INSERT INTO passing SELECT i, jsonb_build_array(i) FROM generate_series(1, 500) i;
VACUUM FULL passing;
SELECT * FROM rewritten('passing');
SELECT count(*), sum((doc->>0)::int) FROM passing;
