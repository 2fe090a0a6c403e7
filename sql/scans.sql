-- Ways to read a table other than from end to end by one process.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include

SELECT twice($$CREATE TABLE t (id int, s text, d jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, noise(i, 200), jsonb_build_object('i', i) FROM generate_series(1, 5000) i$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 4 = 0$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec

-- by TID
SELECT twice($$CREATE TABLE places AS SELECT ctid AS place, id FROM t WHERE id % 100 = 1$$) \gexec
SELECT * FROM compare('SELECT t.* FROM t, places p WHERE t.ctid = p.place');
SELECT * FROM compare('SELECT t.id = p.id FROM t, places p WHERE t.ctid = p.place');
SELECT * FROM compare('SELECT * FROM t WHERE ctid = ANY (ARRAY(SELECT place FROM places))');
SELECT * FROM compare('SELECT * FROM t WHERE ctid >= ''(0,0)''');
SELECT * FROM compare('SELECT * FROM t WHERE ctid < ''(0,0)''');
SELECT * FROM compare('SELECT * FROM t WHERE ctid > (SELECT max(ctid) FROM t)');
SELECT * FROM compare('SELECT * FROM t WHERE ctid IN (''(4294967294,1)'', ''(0,2000)'')');
SELECT * FROM compare('SELECT count(*) FROM (SELECT ctid FROM t GROUP BY 1) x');
-- an old version's TID leads to the new one
SELECT twice($$UPDATE t SET s = 'newer' WHERE id = 101$$) \gexec
SELECT * FROM compare('SELECT t.* FROM t, places p WHERE p.id = 101 AND t.ctid = currtid2(''t'', p.place)');
SELECT twice($$UPDATE t SET s = 'by place' WHERE ctid IN (SELECT ctid FROM t WHERE id < 50)$$) \gexec
SELECT twice($$DELETE FROM t WHERE ctid = (SELECT ctid FROM t WHERE id = 1)$$) \gexec
SELECT * FROM compare('SELECT * FROM t WHERE id < 100');

-- samples: all, none, and a repeatable part that is part of the whole
SELECT * FROM compare('SELECT * FROM t TABLESAMPLE SYSTEM (100)');
SELECT * FROM compare('SELECT * FROM t TABLESAMPLE BERNOULLI (100)');
SELECT * FROM compare('SELECT * FROM t TABLESAMPLE SYSTEM (0)');
SELECT count(*) BETWEEN 1000 AND 2700 AS about_half FROM amax_side.t TABLESAMPLE BERNOULLI (50) REPEATABLE (1);
SELECT count(*) AS outside FROM (SELECT * FROM amax_side.t TABLESAMPLE SYSTEM (30) REPEATABLE (2) EXCEPT ALL TABLE amax_side.t) x;
SELECT count(*) AS different FROM (SELECT * FROM amax_side.t TABLESAMPLE BERNOULLI (30) REPEATABLE (3) EXCEPT ALL SELECT * FROM amax_side.t TABLESAMPLE BERNOULLI (30) REPEATABLE (3)) x;

-- in parallel
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM amax_side.t;
SELECT * FROM compare('SELECT count(*), sum(id), sum(length(s)) FROM t');
SELECT * FROM compare('SELECT * FROM t WHERE id > 10');
SET parallel_leader_participation = off;
SELECT * FROM compare('SELECT * FROM t');
RESET parallel_leader_participation;
SELECT twice($$CREATE INDEX t_id ON t (id)$$) \gexec
SELECT twice($$CREATE INDEX t_gin ON t USING gin (d)$$) \gexec
SET enable_seqscan = off;
SELECT * FROM compare('SELECT count(*), sum(length(s)) FROM t WHERE id BETWEEN 100 AND 4000');
SET enable_indexscan = off;
SELECT * FROM compare('SELECT count(*), sum(length(s)) FROM t WHERE id BETWEEN 100 AND 4000');
RESET enable_indexscan;
RESET enable_seqscan;
SELECT twice($$CREATE TABLE parallel_ctas AS SELECT id, s FROM t WHERE id % 2 = 1$$) \gexec
SELECT * FROM compare('SELECT * FROM parallel_ctas');
SELECT twice($$SET max_parallel_maintenance_workers = 2$$) \gexec
SELECT twice($$CREATE INDEX t_parallel ON t (s, id)$$) \gexec
SELECT * FROM compare('SELECT min(s), max(s) FROM t');

-- interrupted and started again: limits, rescans, semijoins, merge joins with mark and restore
SELECT * FROM compare('SELECT count(*) FROM (SELECT * FROM t LIMIT 7) x');
SELECT * FROM compare('SELECT o.id, (SELECT count(*) FROM t i WHERE i.id % 50 = o.id) FROM t o WHERE o.id < 30');
SELECT * FROM compare('SELECT o.id, l.id FROM t o, LATERAL (SELECT id FROM t i WHERE i.id > o.id ORDER BY id LIMIT 2) l WHERE o.id < 40');
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT * FROM compare('SELECT a.id, b.id FROM t a JOIN t b ON a.id % 100 = b.id % 90 WHERE a.id < 300 AND b.id < 300');
RESET enable_hashjoin;
RESET enable_nestloop;
-- two scans that start where another stands give each row once
SET synchronize_seqscans = on;
SELECT * FROM compare('SELECT a.id FROM t a JOIN t b USING (id)');

-- statistics
SELECT twice($$ANALYZE t$$) \gexec
SELECT * FROM compare('SELECT attname, null_frac, n_distinct FROM pg_stats WHERE schemaname = current_schema() AND tablename = ''t'' AND attname = ''id''');
SELECT * FROM compare('SELECT reltuples FROM pg_class WHERE oid = ''t''::regclass');

-- Paths of a sample's documents, of columnar rows and others
SELECT twice($$CREATE TABLE sampled (id int, doc jsonb, n numeric)$$) \gexec
SELECT twice($$INSERT INTO sampled SELECT i, jsonb_build_object('i', i, 'of', jsonb_build_object('k', 'k' || i % 7), 'list', jsonb_build_array(i, NULL)), i / 4.0 FROM generate_series(1, 4000) i$$) \gexec
SELECT twice($$VACUUM (FREEZE, ANALYZE) sampled$$) \gexec
SELECT twice($$UPDATE sampled SET doc = doc || '{"i": "changed"}' WHERE id % 500 = 1$$) \gexec
SELECT twice($$DELETE FROM sampled WHERE id % 300 = 2$$) \gexec
SELECT twice($$INSERT INTO sampled SELECT 5000 + i, nullif(jsonb_build_object('i', i), '{"i": 3}'), NULL FROM generate_series(1, 5) i$$) \gexec
SELECT twice($$ALTER TABLE sampled ADD later text DEFAULT 'then'$$) \gexec
EXPLAIN (COSTS OFF) SELECT doc->>'i' FROM amax_side.sampled TABLESAMPLE SYSTEM (50) REPEATABLE (2) WHERE doc->'of'->>'k' = 'k3';
SELECT * FROM compare($$SELECT id, doc->>'i', doc->'of', n, later FROM sampled TABLESAMPLE SYSTEM (100) WHERE doc->'of'->>'k' <> 'k3' OR doc->'of' IS NULL$$);
SELECT * FROM compare($$SELECT doc->'list'->0, doc @> '{"i": 77}', n FROM sampled TABLESAMPLE BERNOULLI (100) WHERE id > 70$$);
SELECT * FROM compare($$SELECT g, s FROM generate_series(1, 3) g, LATERAL (SELECT sum(length(doc->>'i')) AS s FROM sampled TABLESAMPLE SYSTEM (100) WHERE (doc->'list'->>0)::int % 10 = g) x$$);
SELECT * FROM compare($$SELECT doc->>'i' FROM sampled TABLESAMPLE SYSTEM (100) WHERE id % 100 = 7 FOR UPDATE$$);
SELECT * FROM raised($$SELECT (doc->>'i')::int FROM sampled TABLESAMPLE SYSTEM (100)$$);
-- The same sample without the fetch
SET search_path = amax_side, public, twins;
CREATE FUNCTION is_same(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    answers text[];
    fetched text;
BEGIN
    FOREACH fetched IN ARRAY '{on,off}'::text[] LOOP
        PERFORM set_config('amax.custom_scan', fetched, true);
        EXECUTE format('SELECT array_append($1, array_agg(x)::text) FROM (%s) x', query) USING answers INTO answers;
    END LOOP;
    RETURN answers[1] IS NOT DISTINCT FROM answers[2];
END $$;
SELECT bool_and(is_same(format($$SELECT id, doc->>'i', doc->'of'->>'k', later FROM sampled TABLESAMPLE %s REPEATABLE (%s)$$, method, seed)))
  FROM unnest('{SYSTEM (30),SYSTEM (5),BERNOULLI (30),BERNOULLI (2)}'::text[]) method, generate_series(1, 20) seed;
