-- What the planner expects of paths of a partitioned table, or of a parent: as of one table with the same rows.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET search_path = amax_side, public, twins;
SET max_parallel_workers_per_gather = 0;
SET amax.rows_per_leaf = 2000;

CREATE TABLE one (id int, doc jsonb) USING amax WITH (autovacuum_enabled = off);
INSERT INTO one SELECT i, jsonb_build_object(
    'n', i, 'few', 'value ' || i % 7, 'skewed', CASE WHEN i % 100 < 60 THEN 'often' ELSE 'rare ' || i % 1000 END,
    'flag', i % 10 = 0, 'at', to_char(timestamp '2024-01-01' + i * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'part', i / 10000,
    'tags', (SELECT coalesce(jsonb_agg('tag ' || k), '[]') FROM generate_series(1, i % 5) k))
    || CASE WHEN i % 4 = 0 THEN jsonb_build_object('some', i % 50) ELSE '{}' END
  FROM generate_series(0, 39999) i;
-- Partitions have their columns in other orders, and partitions of their own.
CREATE TABLE p (id int, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10000) USING amax WITH (autovacuum_enabled = off);
CREATE TABLE p2 (gone jsonb, doc jsonb, id int) USING amax WITH (autovacuum_enabled = off);
ALTER TABLE p2 DROP gone;
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10000) TO (20000);
CREATE TABLE p3 (doc jsonb, id int) PARTITION BY LIST ((id % 2));
CREATE TABLE p3even PARTITION OF p3 FOR VALUES IN (0) USING amax WITH (autovacuum_enabled = off);
CREATE TABLE p3odd (id int, doc jsonb) USING amax WITH (autovacuum_enabled = off);
ALTER TABLE p3 ATTACH PARTITION p3odd FOR VALUES IN (1);
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (20000) TO (40000);
CREATE TABLE pempty PARTITION OF p FOR VALUES FROM (40000) TO (50000) USING amax WITH (autovacuum_enabled = off);
INSERT INTO p SELECT * FROM one;
-- Inheritance: the parent has rows itself.
CREATE TABLE h (id int, doc jsonb) USING amax WITH (autovacuum_enabled = off);
CREATE TABLE h1 (more int) INHERITS (h) USING amax WITH (autovacuum_enabled = off);
CREATE TABLE h2 (other jsonb, doc jsonb) USING amax WITH (autovacuum_enabled = off);
ALTER TABLE h2 ADD id int;
ALTER TABLE h2 INHERIT h;
INSERT INTO h SELECT * FROM one WHERE id < 10000;
INSERT INTO h1 SELECT id, doc FROM one WHERE id BETWEEN 10000 AND 19999;
INSERT INTO h2 (id, doc) SELECT id, doc FROM one WHERE id >= 20000;
CREATE TABLE kinds (doc jsonb) USING amax WITH (autovacuum_enabled = off);
INSERT INTO kinds SELECT jsonb_build_object('name', 'value ' || i, 'size', i % 3) FROM generate_series(0, 1999) i;
VACUUM one, p, h, h1, h2, kinds;

CREATE TABLE queries (n int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO queries (query) SELECT * FROM unnest(ARRAY[
  $$SELECT * FROM TABLE WHERE (doc->>'n')::int < 4000$$,
  $$SELECT * FROM TABLE WHERE doc->>'few' IN ('value 3', 'value 5')$$,
  $$SELECT * FROM TABLE WHERE doc->>'some' IS NULL$$,
  $$SELECT * FROM TABLE WHERE doc @> '{"few": "value 3"}' AND doc ? 'some'$$,
  $$SELECT doc->>'few', count(*) FROM TABLE GROUP BY 1$$,
  $$SELECT doc->>'part', count(*) FROM TABLE GROUP BY 1$$,
  $$SELECT doc->>'n', count(*) FROM TABLE GROUP BY 1$$,
  $$SELECT doc->>'few', (doc->>'flag')::bool, count(*) FROM TABLE GROUP BY 1, 2$$,
  $$SELECT (doc->>'at')::date, count(*) FROM TABLE GROUP BY 1$$,
  $$SELECT date_trunc('month', (doc->>'at')::timestamptz), count(*) FROM TABLE GROUP BY 1$$,
  $$SELECT DISTINCT doc->'few' FROM TABLE$$,
  $$SELECT doc->>'few', count(*) FROM TABLE WHERE (doc->>'flag')::bool GROUP BY 1$$,
  $$SELECT * FROM TABLE a JOIN kinds k ON a.doc->>'few' = k.doc->>'name'$$,
  $$SELECT * FROM TABLE a JOIN kinds k ON a.doc->>'few' = k.doc->>'name' WHERE (a.doc->>'n')::int < 4000 AND (k.doc->>'size')::int = 1$$,
  $$SELECT * FROM TABLE a LEFT JOIN kinds k ON a.doc->>'few' = k.doc->>'name' AND (k.doc->>'size')::int = 1$$,
  $$SELECT * FROM TABLE a JOIN TABLE b ON a.doc->>'n' = b.doc->>'n'$$,
  $$SELECT * FROM kinds k WHERE EXISTS (SELECT FROM TABLE a WHERE a.doc->>'few' = k.doc->>'name')$$,
  $$SELECT * FROM (SELECT doc->>'few' AS few, doc FROM TABLE OFFSET 0) s WHERE few = 'value 3'$$,
  $$WITH c AS MATERIALIZED (SELECT doc->>'few' AS few FROM TABLE) SELECT * FROM c WHERE few = 'value 3'$$,
  $$WITH c AS MATERIALIZED (SELECT doc->>'few' AS few FROM TABLE) SELECT few, count(*) FROM c GROUP BY 1$$,
  $$SELECT * FROM TABLE, jsonb_array_elements(doc->'tags') tag$$,
  $$SELECT * FROM TABLE, jsonb_array_elements_text(doc->'tags') tag WHERE tag = 'tag 4'$$,
  $$SELECT tag, count(*) FROM TABLE, jsonb_array_elements_text(doc->'tags') tag GROUP BY 1$$
]) query;
SELECT query, is_known(replace(query, 'TABLE', 'one'), 1.5) AS one, is_known(replace(query, 'TABLE', 'p'), 1.5) AS p, is_known(replace(query, 'TABLE', 'h'), 1.5) AS h
  FROM queries ORDER BY n;
-- Of those partitions that are left, also if it is one.
SELECT is_known($$SELECT doc->>'part', count(*) FROM p WHERE id < 20000 GROUP BY 1$$, 1), is_known($$SELECT doc->>'part', count(*) FROM p WHERE id BETWEEN 12000 AND 13000 GROUP BY 1$$, 1);
SELECT is_known($$SELECT doc->>'part', count(*) FROM p3 GROUP BY 1$$, 1), is_known($$SELECT doc->>'part', count(*) FROM p3even GROUP BY 1$$, 1);
-- Join by join of partitions.
ANALYZE p;
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT is_known($$SELECT * FROM p a JOIN p b USING (id) WHERE a.doc->>'few' = 'value 3'$$, 1.5), is_known($$SELECT doc->>'few', count(*) FROM p GROUP BY 1$$, 1.5);
RESET enable_partitionwise_join;
RESET enable_partitionwise_aggregate;

-- Sides with few values in common, in up to sixteen leaves together.
RESET amax.rows_per_leaf;
CREATE TABLE others (doc jsonb) USING amax WITH (autovacuum_enabled = off);
INSERT INTO others SELECT jsonb_build_object('n', i + 38999, 'name', 'rare ' || i + 900) FROM generate_series(1, 6000) i;
VACUUM FULL p1;
VACUUM FULL p2;
VACUUM FULL p3even;
VACUUM FULL p3odd;
VACUUM FULL others;
SELECT query, is_known(query, 2) FROM unnest(ARRAY[
  $$SELECT * FROM p a JOIN others o ON (a.doc->>'n')::int = (o.doc->>'n')::int$$,
  $$SELECT * FROM others o WHERE EXISTS (SELECT FROM p a WHERE a.doc->>'skewed' = o.doc->>'name')$$,
  $$SELECT * FROM others o WHERE NOT EXISTS (SELECT FROM p a WHERE (a.doc->>'n')::int = (o.doc->>'n')::int)$$
]) query;
SET amax.rows_per_leaf = 2000;

-- A child in heap is taken to be like the others; one that alone has a value, to be without it. Where all are, nothing is known.
CREATE TABLE hot PARTITION OF p FOR VALUES FROM (50000) TO (60000) USING heap WITH (autovacuum_enabled = off);
INSERT INTO p SELECT id + 50000, doc FROM one WHERE id < 10000;
ANALYZE hot;
SELECT is_known($$SELECT doc->>'few', count(*) FROM p GROUP BY 1$$, 1.5), is_known($$SELECT * FROM p a JOIN kinds k ON a.doc->>'few' = k.doc->>'name'$$, 1.5);
SELECT expected($$SELECT doc->>'few', count(*) FROM p WHERE id >= 50000 GROUP BY 1$$) > 100 AS as_postgresql;
DROP TABLE hot;

-- SET STATISTICS of the parent.
ALTER TABLE p ALTER doc SET STATISTICS 0;
SELECT expected($$SELECT doc->>'few', count(*) FROM p GROUP BY 1$$) AS groups;
ALTER TABLE p ALTER doc SET STATISTICS -1;
-- Another content: of a child, by ANALYZE and without.
UPDATE p1 SET doc = doc || '{"part": 77}';
UPDATE p2 SET doc = doc || jsonb_build_object('part', id % 1000);
SELECT expected($$SELECT doc->>'part', count(*) FROM p GROUP BY 1$$) AS groups;
VACUUM p1;
VACUUM FULL p2;
SELECT is_known($$SELECT doc->>'part', count(*) FROM p GROUP BY 1$$, 1.5);
ALTER TABLE p DETACH PARTITION p2;
SELECT is_known($$SELECT doc->>'part', count(*) FROM p GROUP BY 1$$, 1.5);
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10000) TO (20000);
SELECT is_known($$SELECT doc->>'part', count(*) FROM p GROUP BY 1$$, 1.5);

-- Many partitions: a few leaves of each, and of very many the parent's statistics.
CREATE TABLE many (id int, doc jsonb) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE many%s PARTITION OF many FOR VALUES FROM (%s) TO (%s) USING amax WITH (autovacuum_enabled = off)', i, i * 400, (i + 1) * 400) FROM generate_series(0, 99) i \gexec
INSERT INTO many SELECT * FROM one;
SELECT count(amax.flush(format('many%s', i)::regclass)) FROM generate_series(0, 99) i;
ANALYZE many;
SELECT query, is_known(replace(query, 'TABLE', 'many'), 2) FROM queries WHERE query ~ 'FROM TABLE (WHERE|GROUP)' ORDER BY n;
SELECT is_known($$SELECT * FROM many WHERE id < 8000 AND (doc->>'n')::int < 5000$$, 1.2), is_known($$SELECT * FROM many WHERE (doc->>'n')::int BETWEEN 3000 AND 5000$$, 1.5);
DROP TABLE many;

-- Rights: who may read the parent reads its children by it; hidden rows' values are in no estimate.
CREATE ROLE parents_reader;
GRANT USAGE ON SCHEMA amax_side TO parents_reader;
GRANT SELECT ON p TO parents_reader;
GRANT SELECT ON kinds TO parents_reader;
CREATE FUNCTION same(query text, one text, other text) RETURNS bool LANGUAGE sql AS $$
  SELECT expected(replace(query, 'VALUE', one)) = expected(replace(query, 'VALUE', other))
$$;
SET ROLE parents_reader;
SELECT is_known($$SELECT * FROM p a JOIN kinds k ON a.doc->>'few' = k.doc->>'name'$$, 1.5), is_known($$SELECT * FROM p WHERE doc->>'skewed' LIKE 'oft%'$$, 1.5);
SELECT same($$WITH c AS MATERIALIZED (SELECT doc->>'skewed' AS s FROM p) SELECT * FROM c WHERE s LIKE 'VALUE%'$$, 'oft', 'xxx');
RESET ROLE;
-- a column only: by operators that are leakproof
REVOKE SELECT ON p FROM parents_reader;
GRANT SELECT (doc) ON p TO parents_reader;
SET ROLE parents_reader;
SELECT same($$WITH c AS MATERIALIZED (SELECT doc->>'skewed' AS s FROM p) SELECT * FROM c WHERE s LIKE 'VALUE%'$$, 'oft', 'xxx');
SELECT is_known($$SELECT doc->>'few' FROM p GROUP BY 1$$, 1.5);
SELECT count(*) FROM p WHERE (doc->>'n')::int < 4000 AND doc ? 'some';
RESET ROLE;
GRANT SELECT ON p TO parents_reader;
ALTER TABLE p ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON p USING (id < 10);
SET ROLE parents_reader;
SELECT same($$SELECT * FROM p WHERE doc->>'skewed' = 'VALUE'$$, 'often', 'none');
SELECT same($$WITH c AS MATERIALIZED (SELECT doc->>'skewed' AS s FROM p) SELECT * FROM c WHERE s = 'VALUE'$$, 'often', 'none');
SELECT same($$SELECT * FROM p a JOIN (SELECT 'VALUE'::text OFFSET 0) v(s) ON a.doc->>'skewed' = v.s$$, 'often', 'none');
SELECT expected($$SELECT doc->>'few' FROM p GROUP BY 1$$) <= 7 AS groups;
RESET ROLE;
ALTER TABLE p DISABLE ROW LEVEL SECURITY;
-- a child's policy is nobody's who asks the parent
ALTER TABLE p1 ENABLE ROW LEVEL SECURITY;
SET ROLE parents_reader;
SELECT is_known($$SELECT * FROM p a JOIN kinds k ON a.doc->>'few' = k.doc->>'name'$$, 1.5);
RESET ROLE;
DROP OWNED BY parents_reader;
DROP ROLE parents_reader;

-- Other statements, and parents of which no child has statistics.
EXPLAIN (COSTS off) UPDATE p SET id = id WHERE doc->>'few' = 'value 3' AND id < 10000;
CREATE TABLE heaps (id int, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE heap1 PARTITION OF heaps FOR VALUES FROM (0) TO (50000) USING heap;
INSERT INTO heaps SELECT * FROM one;
SELECT count(*) FROM heaps a JOIN p b ON a.doc->>'n' = b.doc->>'n' WHERE a.doc->>'few' = 'value 1';
SELECT count(*) FROM (SELECT doc FROM p UNION ALL SELECT doc FROM one) u WHERE doc->>'few' = 'value 1' AND doc->>'n' <> '7';
SELECT doc->>'few' FROM (SELECT doc FROM p UNION ALL SELECT doc FROM one) u GROUP BY 1 ORDER BY 1 LIMIT 1;
