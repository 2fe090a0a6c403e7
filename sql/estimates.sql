-- What the planner expects of paths, after a load and nothing else: rows, groups and joins, within a factor of what there is.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET search_path = amax_side, public, twins;
SET max_parallel_workers_per_gather = 0;
SET amax.rows_per_leaf = 2000;

CREATE TABLE t (id int, doc jsonb) USING amax;
INSERT INTO t SELECT i, jsonb_build_object(
    'n', i, 'few', 'value ' || i % 7, 'skewed', CASE WHEN i % 100 < 60 THEN 'often' ELSE 'rare ' || i % 1000 END,
    'float', i / 7.0, 'flag', i % 10 = 0, 'at', to_char(timestamp '2024-01-01' + i * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'odd', CASE i % 3 WHEN 0 THEN to_jsonb(i) WHEN 1 THEN '"no number"' ELSE '[1, 2]' END,
    'tags', (SELECT coalesce(jsonb_agg('tag ' || k), '[]') FROM generate_series(1, i % 5) k))
    || CASE WHEN i % 4 = 0 THEN jsonb_build_object('some', i % 50) ELSE '{}' END
  FROM generate_series(1, 40000) i;
CREATE TABLE kinds (doc jsonb) USING amax;
INSERT INTO kinds SELECT jsonb_build_object('name', 'value ' || i, 'size', i % 3) FROM generate_series(0, 1999) i;
VACUUM t, kinds;

SELECT query, is_known(query, 1.5) FROM unnest(ARRAY[
  $$SELECT * FROM t WHERE (doc->>'n')::int < 4000$$,
  $$SELECT * FROM t WHERE (doc->>'n')::int BETWEEN 10000 AND 30000$$,
  $$SELECT * FROM t WHERE doc->>'few' = 'value 3'$$,
  $$SELECT * FROM t WHERE doc->>'few' IN ('value 3', 'value 5')$$,
  $$SELECT * FROM t WHERE doc->>'few' LIKE 'value%'$$,
  $$SELECT * FROM t WHERE doc->>'skewed' = 'often'$$,
  $$SELECT * FROM t WHERE upper(doc->>'few') = 'VALUE 3'$$,
  $$SELECT * FROM t WHERE (doc->>'flag')::bool$$,
  $$SELECT * FROM t WHERE NOT (doc->>'flag')::bool$$,
  $$SELECT * FROM t WHERE (doc->'float')::numeric > 5000$$,
  $$SELECT * FROM t WHERE doc->>'some' IS NULL$$,
  $$SELECT * FROM t WHERE doc->>'some' IS NOT NULL$$,
  $$SELECT * FROM t WHERE doc->>'odd' IS NOT NULL$$,
  $$SELECT * FROM t WHERE jsonb_typeof(doc->'odd') = 'number'$$,
  $$SELECT * FROM t WHERE (doc->>'at')::timestamptz < '2024-06-01'$$,
  $$SELECT * FROM t WHERE (doc->>'at')::date >= '2026-01-01'$$,
  $$SELECT doc->>'few', count(*) FROM t GROUP BY 1$$,
  $$SELECT DISTINCT doc->'few' FROM t$$,
  $$SELECT doc->>'few', (doc->>'flag')::bool, count(*) FROM t GROUP BY 1, 2$$,
  $$SELECT (doc->>'at')::date, count(*) FROM t GROUP BY 1$$,
  $$SELECT date_trunc('month', (doc->>'at')::timestamptz), count(*) FROM t GROUP BY 1$$,
  $$SELECT * FROM t a JOIN kinds k ON a.doc->>'few' = k.doc->>'name'$$,
  $$SELECT * FROM t a LEFT JOIN kinds k ON a.doc->>'few' = k.doc->>'name' AND (k.doc->>'size')::int = 1$$,
  $$SELECT * FROM (SELECT doc->>'few' AS few, doc FROM t OFFSET 0) s WHERE few = 'value 3'$$,
  $$WITH c AS MATERIALIZED (SELECT doc->>'few' AS few FROM t) SELECT * FROM c WHERE few = 'value 3'$$,
  $$WITH c AS MATERIALIZED (SELECT doc->>'few' AS few FROM t), d AS MATERIALIZED (SELECT few AS f FROM c WHERE few > '') SELECT * FROM d WHERE f = 'x'$$,
  $$SELECT * FROM t, jsonb_array_elements(doc->'tags') tag$$,
  $$SELECT * FROM t, jsonb_array_elements_text(doc->'tags') tag WHERE tag = 'tag 4'$$,
  $$SELECT tag, count(*) FROM t, jsonb_array_elements_text(doc->'tags') tag GROUP BY 1$$
]) query;

-- PostgreSQL tries patterns on frequent values, and some collations refuse patterns: not where no row would meet them.
CREATE COLLATION twins.no_case (provider = icu, deterministic = false, locale = 'und-u-ks-level2');
SELECT count(*) FROM t WHERE id < 0 AND (doc->>'few' COLLATE no_case) LIKE 'v%';
SELECT count(*) FROM t WHERE id < 0 AND (doc->>'few' COLLATE no_case) LIKE ANY ('{v%,w%}');
SELECT count(*) FROM t WHERE id < 0 AND starts_with(doc->>'few' COLLATE no_case, 'v');
SELECT count(*) FROM t WHERE id < 0 AND ((doc->>'few')::char(9) COLLATE no_case) LIKE 'v%';
SELECT count(*) FROM (SELECT id, doc->>'few' AS few FROM t OFFSET 0) s WHERE id < 0 AND (few COLLATE no_case) LIKE 'v%';
SELECT count(*) FROM t, jsonb_array_elements_text(doc->'tags') tag WHERE id < 0 AND (tag COLLATE no_case) LIKE 't%';
SELECT count(*) FROM t WHERE id > 0 AND (doc->>'few' COLLATE no_case) LIKE 'v%';
DROP COLLATION twins.no_case;

-- What documents contain, by their paths: of what one in a thousand has as well.
SELECT query, is_known(query, 1.5) FROM unnest(ARRAY[
  $$SELECT * FROM t WHERE doc @> '{"few": "value 3"}'$$,
  $$SELECT * FROM t WHERE doc @> '{"few": "value 3", "flag": true}'$$,
  $$SELECT * FROM t WHERE doc @> '{"n": 77}'$$,
  $$SELECT * FROM t WHERE NOT doc @> '{"few": "value 3"}'$$,
  $$SELECT * FROM t WHERE doc @> '{"few": "value 3"}' AND doc @> '{"skewed": "often"}' AND doc ? 'some'$$,
  $$SELECT * FROM t WHERE doc @> '{"few": "value 3"}' OR doc @> '{"n": 77}' OR doc @> '{"few": "value 5"}'$$,
  $$SELECT * FROM t WHERE (doc @> '{"few": "value 3"}' OR (doc->>'n')::int < 4000) AND NOT doc ? 'some'$$,
  $$SELECT * FROM t WHERE doc ? 'some'$$,
  $$SELECT * FROM t WHERE doc ?| '{some, none}'$$,
  $$SELECT * FROM t WHERE doc ?& '{some, few}'$$,
  $$SELECT * FROM t WHERE doc @> '{"tags": ["tag 4"]}'$$,
  $$SELECT * FROM t WHERE doc->'tags' ? 'tag 4'$$,
  $$SELECT * FROM t WHERE doc->'tags' ?| '{tag 4, tag 3}'$$,
  $$SELECT * FROM t WHERE doc ? 'some' AND doc->'tags' ? 'tag 4'$$,
  $$SELECT * FROM t a JOIN kinds k ON a.doc->>'few' = k.doc->>'name' WHERE a.doc @> '{"flag": true}' AND k.doc @> '{"size": 1}'$$
]) query;
-- So an index on documents is used for what few contain.
CREATE INDEX t_gin ON t USING gin (doc jsonb_path_ops);
CREATE FUNCTION uses_index(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
  plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  RETURN plan::text LIKE '%t_gin%';
END $$;
SELECT uses_index($$SELECT count(*) FROM t WHERE doc @> '{"few": "value 3"}'$$) AS few, uses_index($$SELECT count(*) FROM t WHERE doc @> '{"n": 77}'$$) AS n;
DROP INDEX t_gin;

-- Sides of joins with few values in common, which PostgreSQL cannot know: inner and outer joins, semijoins and antijoins. (Tables of up to
-- sixteen leaves.)
RESET amax.rows_per_leaf;
CREATE TABLE u (id int, doc jsonb) USING amax;
INSERT INTO u SELECT * FROM t;
CREATE TABLE others (doc jsonb) USING amax;
INSERT INTO others SELECT jsonb_build_object('n', i + 38999, 'name', 'rare ' || i + 900) FROM generate_series(1, 6000) i;
VACUUM FULL u;
VACUUM FULL others;
SELECT query, is_known(query, 2) FROM unnest(ARRAY[
  $$SELECT * FROM u a JOIN others o ON (a.doc->>'n')::int = (o.doc->>'n')::int$$,
  $$SELECT * FROM others o WHERE NOT EXISTS (SELECT FROM u a WHERE (a.doc->>'n')::int = (o.doc->>'n')::int)$$,
  $$SELECT * FROM u a JOIN others o ON a.doc->>'skewed' = o.doc->>'name'$$,
  $$SELECT * FROM others o LEFT JOIN u a ON a.doc->>'skewed' = o.doc->>'name'$$,
  $$SELECT * FROM others o WHERE EXISTS (SELECT FROM u a WHERE a.doc->>'skewed' = o.doc->>'name')$$,
  $$SELECT * FROM others o WHERE NOT EXISTS (SELECT FROM u a WHERE a.doc->>'skewed' = o.doc->>'name')$$,
  $$SELECT * FROM u WHERE doc->>'skewed' IN (SELECT doc->>'name' FROM others)$$,
  $$WITH c AS MATERIALIZED (SELECT doc->>'skewed' AS s FROM u) SELECT * FROM c JOIN others o ON s = o.doc->>'name'$$
]) query;
-- All values of one side are in the other, as PostgreSQL has it; and larger tables, of which some leaves are looked at.
SELECT query, is_known(query, 1.5) FROM unnest(ARRAY[
  $$SELECT * FROM t a JOIN t b ON a.doc->>'n' = b.doc->>'n'$$,
  $$SELECT * FROM t a WHERE EXISTS (SELECT FROM t b WHERE a.doc->>'n' = b.doc->>'n')$$,
  $$SELECT * FROM kinds a JOIN t b ON a.doc->>'name' = b.doc->>'few'$$,
  $$SELECT * FROM others a JOIN others b ON (a.doc->>'n')::int = (b.doc->>'n')::int$$
]) query;
SELECT expected($$SELECT * FROM t a JOIN others o ON (a.doc->>'n')::int = (o.doc->>'n')::int$$) BETWEEN 5000 AND 7000 AS as_postgresql;
SET amax.rows_per_leaf = 2000;

-- What somebody has declared, or indexed, is known by that. (A sample would find the values.)
ALTER TABLE t ALTER doc SET STATISTICS 0;
SELECT expected($$SELECT * FROM t WHERE doc->>'few' = 'value 3'$$);
ALTER TABLE t ALTER doc SET STATISTICS -1;
CREATE INDEX ON kinds ((doc->>'name'));
ANALYZE kinds;
INSERT INTO kinds SELECT jsonb_build_object('name', 'value 1') FROM generate_series(1, 2000);
VACUUM kinds;
SELECT expected($$SELECT * FROM kinds WHERE doc->>'name' = 'value 1'$$) < 10 AS by_index;
ANALYZE kinds;
SELECT is_known($$SELECT * FROM kinds WHERE doc->>'name' = 'value 1'$$, 1.5);

-- Another content, the same table: after ANALYZE, and when it has grown by a tenth.
UPDATE t SET doc = doc || '{"few": "value 0"}';
VACUUM FULL t;
SELECT is_known($$SELECT * FROM t WHERE doc->>'few' = 'value 0'$$, 1.5);
INSERT INTO t SELECT i, jsonb_build_object('few', 'new') FROM generate_series(1, 20000) i;
SELECT is_known($$SELECT * FROM t WHERE doc->>'few' = 'new'$$, 1.5);

-- Values of hidden rows are in no estimate; how many different ones there are is.
CREATE ROLE estimates_reader;
GRANT USAGE ON SCHEMA amax_side TO estimates_reader;
GRANT SELECT ON t TO estimates_reader;
SET ROLE estimates_reader;
SELECT is_known($$SELECT * FROM t WHERE doc->>'few' = 'new'$$, 1.5);
RESET ROLE;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON t USING (id < 10);
SET ROLE estimates_reader;
SELECT expected($$SELECT * FROM t WHERE doc->>'few' = 'new'$$) = expected($$SELECT * FROM t WHERE doc->>'few' = 'none'$$) AS same;
RESET ROLE;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
-- Who may read a column only: by operators that are leakproof.
REVOKE SELECT ON t FROM estimates_reader;
GRANT SELECT (doc) ON t TO estimates_reader;
SET ROLE estimates_reader;
SELECT is_known($$SELECT doc FROM t WHERE doc->>'few' = 'new'$$, 1.5);
SELECT expected($$SELECT doc FROM t WHERE doc->>'few' LIKE '%new%'$$) = expected($$SELECT doc FROM t WHERE doc->>'few' LIKE '%xxx%'$$) AS same;
RESET ROLE;
DROP OWNED BY estimates_reader;
DROP ROLE estimates_reader;

-- Nobody's function is called, and nothing raised, when a query is planned.
CREATE FUNCTION raises(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RAISE 'called'; END$$;
EXPLAIN (COSTS off) SELECT * FROM t WHERE raises(doc->>'few') = 'x';
SELECT expected($$SELECT * FROM t WHERE (doc->>'few')::int = 1$$) > 0 AS plans;
SELECT expected($$SELECT * FROM t WHERE (doc->>'few')::date = '2024-01-01'$$) > 0 AS plans;

-- Of long values some are read.
CREATE TABLE long (doc jsonb) USING amax;
INSERT INTO long SELECT jsonb_build_object('n', i, 'long', (SELECT string_agg(md5((i * 1000 + k)::text), '') FROM generate_series(1, 1000) k)) FROM generate_series(1, 1200) i;
VACUUM FULL long;
SELECT is_known($$SELECT * FROM long WHERE (doc->>'n')::int < 100$$, 1.5);
SELECT expected($$SELECT * FROM long WHERE doc->>'long' = ''$$) > 0 AS plans;

-- What is never true implies no predicate; sets have no statistics.
SELECT count(*) FROM (SELECT * FROM t WHERE doc->>'few' > '') s WHERE NOT true::bool;
SELECT count(*) FROM t WHERE doc->>'few' = ANY ('{}'::text[]);
SELECT count(*) FROM t WHERE id = ANY ('{}'::int[]) AND doc->>'few' = 'value 0';
SELECT DISTINCT jsonb_array_elements_text(doc->'tags') FROM t WHERE doc->>'few' = 'value 0' ORDER BY 1;

-- Partitions, by what each has.
CREATE TABLE parts (id int, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (10000) USING amax;
CREATE TABLE part2 PARTITION OF parts FOR VALUES FROM (10000) TO (20000) USING amax;
INSERT INTO parts SELECT i, jsonb_build_object('few', CASE WHEN i < 10000 THEN i % 2 ELSE 7 END) FROM generate_series(0, 19999) i;
VACUUM parts;
SELECT is_known($$SELECT * FROM parts WHERE (doc->>'few')::int = 1$$, 1.5), is_known($$SELECT * FROM parts WHERE (doc->>'few')::int = 7$$, 1.5);

-- Nested loops are not taken for want of statistics.
CREATE FUNCTION loops(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
  plan text;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  RETURN plan LIKE '%Nested Loop%';
END $$;
SELECT loops(format($$WITH a AS MATERIALIZED (%1$s), b AS MATERIALIZED (%1$s), c AS MATERIALIZED (%1$s) SELECT count(*) FROM a JOIN b USING (n) JOIN c USING (n)$$,
  $$SELECT (doc->>'n')::int AS n FROM t WHERE doc->>'few' = 'value 0' AND doc->>'flag' = 'false' AND doc->>'skewed' = 'often'$$));

-- Two columns that are a key: as by a foreign key, of the table with more keys; one column of it is not.
CREATE TABLE offers (a int, b int, cost int, PRIMARY KEY (a, b)) USING amax;
INSERT INTO offers SELECT a, (a + k * 20) % 100, k FROM generate_series(1, 2000) a, generate_series(0, 4) k;
CREATE TABLE sold (a int, b int, n int) USING amax;
INSERT INTO sold SELECT i % 2000 + 1, (i % 2000 + 1 + i / 2000 % 5 * 20) % 100, i FROM generate_series(1, 30000) i;
CREATE INDEX ON sold (a, b);
CREATE TABLE chosen (a int, b int, PRIMARY KEY (a, b)) USING amax;
INSERT INTO chosen SELECT a, b FROM offers WHERE a % 100 = 7;
VACUUM (FREEZE, ANALYZE) offers, sold, chosen;
SELECT query, is_known(query, 1.5) FROM unnest(ARRAY[
  $$SELECT * FROM sold JOIN offers USING (a, b)$$,
  $$SELECT * FROM offers o JOIN sold s ON s.a = o.a AND o.b = s.b WHERE cost = 3$$,
  $$SELECT * FROM offers JOIN chosen USING (a, b)$$,
  $$SELECT * FROM sold JOIN offers USING (a)$$,
  $$SELECT * FROM sold s WHERE EXISTS (SELECT FROM offers o WHERE o.a = s.a AND o.b = s.b)$$,
  $$SELECT * FROM sold JOIN offers USING (a, b), generate_series(1, 3), (VALUES (1), (2)) v$$
]) AS query;
-- Values of the columns that are not there together; a table that has more keys than the index
CREATE TABLE later (a int, b int, PRIMARY KEY (a, b)) USING amax;
INSERT INTO later SELECT a + 2000, b + 100 FROM offers;
CREATE TABLE dense (a int, b int, n int) USING amax;
INSERT INTO dense SELECT i % 50, i / 50 % 50, i FROM generate_series(1, 25000) i;
CREATE TABLE exceptions (a int, b int, PRIMARY KEY (a, b)) USING amax;
INSERT INTO exceptions SELECT i, (i * 7) % 50 FROM generate_series(0, 49) i;
VACUUM (FREEZE, ANALYZE) later, dense, exceptions;
SELECT expected($$SELECT * FROM sold JOIN later USING (a, b)$$) < 100 AS little, is_known($$SELECT * FROM dense JOIN exceptions USING (a, b)$$, 1.5);
-- Rows of a key are not looked up one by one
SELECT loops($$SELECT count(*) FROM sold JOIN offers USING (a, b)$$);
-- Rows that have been changed since they were counted are on pages of their own, few on each.
CREATE TABLE wide (id int PRIMARY KEY, doc jsonb) USING amax;
INSERT INTO wide SELECT i, jsonb_build_object('n', i, 'text', (SELECT string_agg(md5((i * j)::text), '') FROM generate_series(1, 30) j)) FROM generate_series(1, 20000) i;
VACUUM ANALYZE wide;
UPDATE wide SET doc = doc || '{"changed": true}' WHERE id % 20 = 0;
SELECT is_known($$SELECT * FROM wide$$, 1.5);
VACUUM wide;
SELECT is_known($$SELECT * FROM wide$$, 1.5);
INSERT INTO wide SELECT id + 20000, doc FROM wide;
SELECT is_known($$SELECT * FROM wide$$, 1.5);
DROP TABLE wide;
