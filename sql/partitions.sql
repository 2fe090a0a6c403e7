-- Partitioned tables: nodes that read batches have one scan for all partitions; PostgreSQL's have its Append, of columns and paths.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET max_parallel_workers_per_gather = 0;
SET amax.bulk_threshold = 0;
SET amax.rows_per_leaf = 500;
SET jit = off;
SELECT twice($$CREATE TABLE t (id int, kind text, at timestamptz, doc jsonb) PARTITION BY RANGE (id)$$) \gexec
SELECT twice($$CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (2000)$$) \gexec
SELECT twice($$CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (2000) TO (4000) PARTITION BY HASH (id)$$) \gexec
SELECT twice($$CREATE TABLE t2a PARTITION OF t2 FOR VALUES WITH (MODULUS 2, REMAINDER 0)$$) \gexec
SELECT twice($$CREATE TABLE t2b PARTITION OF t2 FOR VALUES WITH (MODULUS 2, REMAINDER 1)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, 'k' || i % 13, timestamptz '2026-01-01 00:00+00' + i * 7919 % 10007 * interval '1 hour',
        jsonb_build_object('n', i % 97, 's', 's' || i % 7, 'o', jsonb_build_object('v', i), 'l', jsonb_build_array(i % 3, 'x', i % 5), 'big', repeat('b', 100))
    FROM generate_series(0, 3999) i$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
-- Rows of before have the default from the catalog, those of partitions that come later have it themselves.
SELECT twice($$ALTER TABLE t ADD extra int DEFAULT 5$$) \gexec
SELECT twice($$CREATE TABLE t3 PARTITION OF t FOR VALUES FROM (4000) TO (6000)$$) \gexec
SELECT twice($$CREATE TABLE t4 PARTITION OF t FOR VALUES FROM (6000) TO (8000)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, 'k' || i % 13, NULL, jsonb_build_object('n', i % 97, 's', 's' || i % 7, 'o', '{}'::jsonb, 'l', '[]'::jsonb), i % 3 FROM generate_series(4000, 5999) i$$) \gexec
SELECT twice($$VACUUM t3$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 100 = 3$$) \gexec
SELECT twice($$UPDATE t SET kind = 'changed', doc = doc || '{"n": -1}' WHERE id % 50 = 7$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, 'hot', '2030-01-01 00:00+00', jsonb_build_object('n', i, 's', 'hot', 'l', '["hot"]'::jsonb) FROM generate_series(6000, 6100) i$$) \gexec
SELECT twice($$CREATE TABLE d AS SELECT 'k' || i AS kind, i % 4 AS grp FROM generate_series(0, 12) i$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec
SELECT twice($$ANALYZE d$$) \gexec

-- One scan: for groups, the best rows, joins, arrays; what is left of the partitions.
EXPLAIN (COSTS OFF) SELECT doc->>'s', count(*), sum((doc->>'n')::int) FROM t GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE id >= 4000 AND doc->>'s' = 's1';
EXPLAIN (COSTS OFF) SELECT id, doc->>'s' FROM t ORDER BY at DESC, id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT DISTINCT kind, extra FROM t;
EXPLAIN (COSTS OFF) SELECT d.grp, count(*), sum((t.doc->'o'->>'v')::int) FROM t JOIN d USING (kind) GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT l->>0, count(*) FROM t, jsonb_array_elements(doc->'l') l GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT kind, count(*) FROM t2 GROUP BY 1;
-- Bounds of leaves leave out what is only known when the query runs; of hashes PostgreSQL's Append knows more.
PREPARE later (timestamptz) AS SELECT count(*), max(doc->>'s') FROM t WHERE at < $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE later ('2025-01-01');
EXPLAIN (COSTS OFF) SELECT count(*) FROM t2 WHERE id = (SELECT 2500);
RESET plan_cache_mode;
-- PostgreSQL's nodes: of each partition the paths alone.
EXPLAIN (COSTS OFF) SELECT id, doc->>'s' FROM t WHERE id < 2500 ORDER BY random();
-- A row that is locked, or a row of a table that is changed, is looked at by itself.
EXPLAIN (COSTS OFF) SELECT id, doc->>'s' FROM t ORDER BY at DESC, id LIMIT 5 FOR UPDATE;

-- The answers.
SELECT query, found.*
FROM unnest(ARRAY[
        'SELECT doc->>''s'' AS s, count(*), sum((doc->>''n'')::int), min(at), max(at), sum(extra) FROM t GROUP BY 1',
        'SELECT extra, count(*), count(doc->''o''->''v'') FROM t GROUP BY 1',
        'SELECT tableoid::regclass::text AS name, count(*), sum(extra) FROM t GROUP BY 1',
        'SELECT tableoid::regclass::text AS name, count(DISTINCT ctid), count(*) FROM t GROUP BY 1',
        'SELECT count(*), sum(id) FROM t WHERE id >= 1990 AND id < 4010 AND doc->>''s'' <> ''s3''',
        'SELECT count(*) FROM t WHERE id < 0',
        'SELECT count(*) FROM t WHERE id >= 7000',
        'SELECT kind, percentile_disc(0.5) WITHIN GROUP (ORDER BY id), array_agg(id ORDER BY id) FROM t GROUP BY 1',
        'SELECT kind, doc->>''s'' AS s, count(*) FROM t GROUP BY ROLLUP (1, 2)',
        'SELECT count(DISTINCT doc->>''n''), count(DISTINCT doc) FROM t',
        'SELECT DISTINCT kind, extra FROM t',
        'SELECT DISTINCT ON (kind) kind, id, doc FROM t ORDER BY kind, at DESC NULLS LAST, id',
        'SELECT id, doc, extra FROM t ORDER BY at DESC NULLS LAST, id LIMIT 150 OFFSET 3',
        'SELECT id, doc, extra, tableoid::regclass::text AS name FROM t ORDER BY (doc->>''n'')::int, id DESC LIMIT 70',
        'SELECT * FROM (SELECT id, kind, row_number() OVER (PARTITION BY kind ORDER BY at, id) AS n FROM t) x WHERE n <= 2',
        'SELECT d.grp, count(*), sum((t.doc->''o''->>''v'')::int) FROM t JOIN d USING (kind) GROUP BY 1',
        'SELECT d.grp, t.extra, count(*) FROM t LEFT JOIN d USING (kind) GROUP BY 1, 2',
        'SELECT a.kind, count(*) FROM t a JOIN t b ON a.id = b.id + 1 GROUP BY 1',
        'SELECT d.kind, count(*) FROM d LEFT JOIN t ON t.doc->>''s'' = ''s'' || d.grp AND t.id < 3000 GROUP BY 1',
        'SELECT kind, count(*) FROM t WHERE NOT EXISTS (SELECT FROM d WHERE d.kind = t.kind) GROUP BY 1',
        'SELECT l->>0 AS l, count(*) FROM t, jsonb_array_elements(doc->''l'') l GROUP BY 1',
        'SELECT l, count(*), sum(extra) FROM t LEFT JOIN jsonb_array_elements_text(doc->''l'') l ON l <> ''x'' GROUP BY 1',
        'SELECT id, doc->>''s'' AS s, doc->''o'' AS o FROM t WHERE id % 500 = 1',
        'SELECT id, (SELECT count(*) FROM jsonb_each(t.doc)) AS n FROM t WHERE id % 500 = 2',
        'SELECT kind, count(*) FROM t2 GROUP BY 1',
        'SELECT * FROM (SELECT kind, count(*) FROM t1 GROUP BY 1 UNION ALL SELECT doc->>''s'', sum(extra) FROM t GROUP BY 1) x']) query,
    compare(query) AS found;
SELECT raised.* FROM raised('SELECT sum((doc->>''s'')::int) FROM t');
-- By several processes.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT doc->>'s', count(*) FROM t GROUP BY 1;
SELECT found.* FROM unnest(ARRAY['SELECT doc->>''s'' AS s, kind, count(*), sum(extra), max(at) FROM t GROUP BY 1, 2', 'SELECT d.grp, sum(t.id) FROM t JOIN d USING (kind) GROUP BY 1',
        'SELECT id, doc FROM t ORDER BY at, id LIMIT 30']) query, compare(query) AS found;
RESET max_parallel_workers_per_gather;
SET max_parallel_workers_per_gather = 0;
-- An index on a path of the partitions finds rows for joins.
SELECT twice($$CREATE INDEX ON t ((doc->'o'->>'v'))$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec
SET enable_hashjoin = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT d.grp, t.doc->>'s' FROM d JOIN t ON t.doc->'o'->>'v' = d.grp::text WHERE t.id < 4000;
SELECT found.* FROM compare('SELECT d.grp, t.doc->>''s'' AS s FROM d JOIN t ON t.doc->''o''->>''v'' = d.grp::text WHERE t.id < 4000') AS found;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- PostgreSQL's Append: a partition in heap, or with its columns in another order.
CREATE TABLE amax_side.mixed (id int, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE amax_side.mixed1 PARTITION OF amax_side.mixed FOR VALUES FROM (0) TO (1000) USING amax;
CREATE TABLE amax_side.mixed2 PARTITION OF amax_side.mixed FOR VALUES FROM (1000) TO (2000) USING heap;
INSERT INTO amax_side.mixed SELECT id, doc FROM amax_side.t WHERE id < 2000;
VACUUM ANALYZE amax_side.mixed;
EXPLAIN (COSTS OFF) SELECT doc->>'s', count(*) FROM amax_side.mixed GROUP BY 1;
CREATE TABLE amax_side.other (doc jsonb, id int) USING amax;
ALTER TABLE amax_side.mixed DETACH PARTITION amax_side.mixed2;
ALTER TABLE amax_side.mixed ATTACH PARTITION amax_side.other FOR VALUES FROM (1000) TO (2000);
INSERT INTO amax_side.mixed SELECT id, doc FROM amax_side.mixed2;
VACUUM ANALYZE amax_side.mixed;
EXPLAIN (COSTS OFF) SELECT doc->>'s', count(*) FROM amax_side.mixed GROUP BY 1;
SELECT doc->>'s', count(*) FROM amax_side.mixed GROUP BY 1 EXCEPT ALL SELECT doc->>'s', count(*) FROM amax_side.t1 GROUP BY 1;
-- A plan that was made before a partition came.
PREPARE before AS SELECT count(*), count(doc) FROM amax_side.t;
EXECUTE before;
CREATE TABLE amax_side.t5 PARTITION OF amax_side.t FOR VALUES FROM (8000) TO (9000) USING amax;
INSERT INTO amax_side.t VALUES (8000);
EXECUTE before;
DROP TABLE amax_side.t5;
EXECUTE before;
-- Who may read the table, but not its partitions, is not told of them.
CREATE ROLE amax_partitions;
GRANT USAGE ON SCHEMA amax_side TO amax_partitions;
GRANT SELECT ON amax_side.t TO amax_partitions;
SET ROLE amax_partitions;
SELECT doc->>'s', count(*) FROM amax_side.t GROUP BY 1 ORDER BY 1;
RESET ROLE;
ALTER TABLE amax_side.t ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON amax_side.t USING (id < 10);
SET ROLE amax_partitions;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT count(*), count(doc->>'s') FROM amax_side.t WHERE doc->>'s' = 's1';
RESET ROLE;
DROP OWNED BY amax_partitions;
DROP ROLE amax_partitions;
DROP SCHEMA heap_side, amax_side CASCADE;
