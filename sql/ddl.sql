-- Everything a table can be turned into.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include

SELECT twice($$CREATE TABLE t (id int PRIMARY KEY, s text, d jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, noise(i, i * 5), jsonb_build_object('i', i) FROM generate_series(1, 1000) i$$) \gexec

-- columns added, with and without a rewrite, dropped, changed
SELECT twice($$ALTER TABLE t ADD missing int$$) \gexec
SELECT twice($$ALTER TABLE t ADD seven int DEFAULT 7$$) \gexec
SELECT twice($$ALTER TABLE t ADD w text NOT NULL DEFAULT 'w'$$) \gexec
SELECT twice($$INSERT INTO t (id, seven) VALUES (1001, 8)$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT * FROM compare('SELECT sum(seven), min(w), count(missing) FROM t');
SELECT twice($$ALTER TABLE t DROP s$$) \gexec
SELECT twice($$ALTER TABLE t ADD volatile_default double precision DEFAULT length(clock_timestamp()::text) * 0$$) \gexec
SELECT twice($$ALTER TABLE t ALTER seven TYPE numeric(10, 3)$$) \gexec
SELECT twice($$ALTER TABLE t ADD generated int GENERATED ALWAYS AS (id * 2) STORED$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$ALTER TABLE t ADD CONSTRAINT positive CHECK (id > 0) NOT VALID$$) \gexec
SELECT twice($$ALTER TABLE t VALIDATE CONSTRAINT positive$$) \gexec
SELECT twice($$ALTER TABLE t ADD CONSTRAINT small CHECK (id < 5000)$$) \gexec
SELECT twice($$INSERT INTO t (id) VALUES (6000)$$) \gexec
SELECT twice($$ALTER TABLE t ALTER missing SET NOT NULL$$) \gexec

-- access method, both ways
SELECT twice($$CREATE TABLE moved AS TABLE t$$) \gexec
SELECT twice($$CREATE INDEX moved_id ON moved (id)$$) \gexec
SELECT twice($$DELETE FROM moved WHERE id % 3 = 0$$) \gexec
ALTER TABLE heap_side.moved SET ACCESS METHOD amax;
ALTER TABLE amax_side.moved SET ACCESS METHOD heap;
SELECT * FROM compare('SELECT * FROM moved');
SELECT twice($$UPDATE moved SET w = 'moved' WHERE id % 2 = 0$$) \gexec
ALTER TABLE heap_side.moved SET ACCESS METHOD heap;
ALTER TABLE amax_side.moved SET ACCESS METHOD amax;
SELECT * FROM compare('SELECT * FROM moved');
SELECT * FROM compare('SELECT * FROM moved WHERE id = 500');

-- rewrites
SELECT twice($$DELETE FROM t WHERE id % 4 = 0$$) \gexec
SELECT twice($$CLUSTER t USING t_pkey$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$CREATE INDEX t_expression ON t ((d->'i'), (-id))$$) \gexec
SELECT twice($$CLUSTER t USING t_expression$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$VACUUM FULL t$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$VACUUM (FREEZE, ANALYZE) t$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT * FROM compare('SELECT reltuples FROM pg_class WHERE oid = ''t''::regclass');
SELECT twice($$UPDATE t SET w = 'after' WHERE id % 10 = 1$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$REINDEX TABLE t$$) \gexec
SELECT * FROM compare('SELECT * FROM t');

-- temporary, unlogged, logged again
SET default_table_access_method = amax;
CREATE TEMP TABLE tmp (i int PRIMARY KEY, s text);
INSERT INTO tmp SELECT i, noise(i, 100) FROM generate_series(1, 5000) i;
UPDATE tmp SET s = 'x' WHERE i % 2 = 0;
DELETE FROM tmp WHERE i % 3 = 0;
VACUUM tmp;
SELECT count(*), sum(i), sum(length(s)) FROM tmp;
BEGIN;
CREATE TEMP TABLE dropped (i int) ON COMMIT DROP;
CREATE TEMP TABLE emptied (i int) ON COMMIT DELETE ROWS;
INSERT INTO dropped VALUES (1);
INSERT INTO emptied VALUES (1);
COMMIT;
SELECT * FROM emptied;
SELECT * FROM dropped;
SELECT twice($$CREATE UNLOGGED TABLE u (i int PRIMARY KEY, s text)$$) \gexec
SELECT twice($$INSERT INTO u SELECT i, noise(i, 50) FROM generate_series(1, 500) i$$) \gexec
SELECT * FROM compare('SELECT * FROM u');
SELECT twice($$ALTER TABLE u SET LOGGED$$) \gexec
SELECT * FROM compare('SELECT * FROM u');
SELECT twice($$ALTER TABLE u SET UNLOGGED$$) \gexec
SELECT twice($$TRUNCATE u$$) \gexec
SELECT twice($$INSERT INTO u VALUES (1, 'one')$$) \gexec
SELECT * FROM compare('SELECT * FROM u');

-- created from a query, and materialized views
SELECT twice($$CREATE TABLE ctas AS SELECT id, d, noise(id, 3000) AS long FROM t WHERE id % 2 = 1$$) \gexec
SELECT * FROM compare('SELECT * FROM ctas');
SELECT twice($$CREATE TABLE ctas_empty AS TABLE ctas WITH NO DATA$$) \gexec
SELECT twice($$SELECT * INTO into_table FROM t WHERE id < 10$$) \gexec
SELECT * FROM compare('TABLE into_table UNION ALL SELECT * FROM into_table');
SELECT twice($$CREATE MATERIALIZED VIEW mv AS SELECT id % 10 AS bucket, count(*), sum(id) FROM t GROUP BY 1$$) \gexec
SELECT twice($$CREATE UNIQUE INDEX ON mv (bucket)$$) \gexec
SELECT * FROM compare('SELECT * FROM mv');
SELECT twice($$DELETE FROM t WHERE id % 10 = 7$$) \gexec
SELECT twice($$REFRESH MATERIALIZED VIEW mv$$) \gexec
SELECT * FROM compare('SELECT * FROM mv');
SELECT twice($$INSERT INTO t (id) SELECT i FROM generate_series(2000, 2100) i$$) \gexec
SELECT twice($$REFRESH MATERIALIZED VIEW CONCURRENTLY mv$$) \gexec
SELECT * FROM compare('SELECT * FROM mv');

-- made like another
SELECT twice($$CREATE TABLE liked (LIKE t INCLUDING ALL)$$) \gexec
SELECT twice($$INSERT INTO liked (id) SELECT DISTINCT id FROM t$$) \gexec
SELECT * FROM compare('SELECT * FROM liked');
SELECT * FROM compare($$SELECT pg_get_indexdef(indexrelid, 0, false) ~ 'UNIQUE', indisvalid FROM pg_index WHERE indrelid = 'liked'::regclass$$);

-- partitions, of one kind and mixed
SELECT twice($$CREATE TABLE part (id int, s text, PRIMARY KEY (id)) PARTITION BY RANGE (id)$$) \gexec
SELECT twice($$CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (MINVALUE) TO (100)$$) \gexec
SELECT twice($$CREATE TABLE part_high PARTITION OF part FOR VALUES FROM (100) TO (MAXVALUE) USING heap$$) \gexec
SELECT twice($$INSERT INTO part SELECT i, 'p' || i FROM generate_series(1, 200) i$$) \gexec
SELECT twice($$UPDATE part SET id = id + 1000 WHERE id % 10 = 5$$) \gexec
SELECT twice($$DELETE FROM part WHERE id % 10 = 6$$) \gexec
SELECT * FROM compare('SELECT tableoid::regclass::text, * FROM part');
SELECT twice($$CREATE TABLE attached (id int PRIMARY KEY, s text)$$) \gexec
SELECT twice($$ALTER TABLE part DETACH PARTITION part_low$$) \gexec
SELECT twice($$ALTER TABLE part ATTACH PARTITION part_low FOR VALUES FROM (MINVALUE) TO (100)$$) \gexec
SELECT * FROM compare('SELECT tableoid::regclass::text, * FROM part WHERE id < 120');

-- inheritance
SELECT twice($$CREATE TABLE parent (i int)$$) \gexec
SELECT twice($$CREATE TABLE heir (j int) INHERITS (parent)$$) \gexec
SELECT twice($$INSERT INTO heir SELECT i, -i FROM generate_series(1, 10) i$$) \gexec
SELECT twice($$UPDATE parent SET i = i * 2$$) \gexec
SELECT * FROM compare('SELECT tableoid::regclass::text, * FROM parent');

-- tablespaces
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE elsewhere LOCATION '';
SELECT twice($$CREATE TABLE placed (i int PRIMARY KEY, s text) TABLESPACE elsewhere$$) \gexec
SELECT twice($$INSERT INTO placed SELECT i, noise(i, 2500) FROM generate_series(1, 200) i$$) \gexec
SELECT * FROM compare('SELECT * FROM placed');
SELECT twice($$ALTER TABLE placed SET TABLESPACE pg_default$$) \gexec
SELECT * FROM compare('SELECT * FROM placed');
SELECT twice($$ALTER TABLE placed SET TABLESPACE elsewhere$$) \gexec
SELECT twice($$DELETE FROM placed WHERE i > 100$$) \gexec
SELECT * FROM compare('SELECT * FROM placed');
SELECT twice($$DROP TABLE placed$$) \gexec
DROP TABLESPACE elsewhere;

-- row security and column privileges see the same rows
SELECT twice($$ALTER TABLE t ENABLE ROW LEVEL SECURITY$$) \gexec
SELECT twice($$CREATE POLICY small ON t USING (id < 50)$$) \gexec
CREATE ROLE ddl_reader;
GRANT USAGE ON SCHEMA heap_side, amax_side, twins TO ddl_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA heap_side, amax_side TO ddl_reader;
SET ROLE ddl_reader;
SELECT * FROM compare('SELECT * FROM t');
RESET ROLE;
DROP OWNED BY ddl_reader;
DROP ROLE ddl_reader;

-- sizes are known, and go away with the table
SELECT pg_relation_size('amax_side.t') > 0 AS has_pages, pg_total_relation_size('amax_side.t') > pg_relation_size('amax_side.t') AS has_more;
SELECT twice($$DROP TABLE t CASCADE$$) \gexec
SELECT * FROM t;
