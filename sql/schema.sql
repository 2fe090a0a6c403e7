-- What amax.schema says of documents, against the same counted on heap.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include

-- The schema of documents, counted one value after the other.
CREATE OR REPLACE FUNCTION twins.schema_of(rel regclass, att text)
RETURNS TABLE (path text, depth int, types text[], counts bigint[], "values" bigint, parents bigint, optional boolean)
LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE format($query$
    WITH RECURSIVE tree (above, path, depth, v) AS (
      SELECT NULL, '$', 0, %2$I FROM %1$s
      UNION ALL
      SELECT tree.path, tree.path || step.name, tree.depth + 1, step.v
      FROM tree, LATERAL (
        SELECT '.' || CASE WHEN key ~ '^[a-zA-Z_][a-zA-Z_0-9]*$' THEN key ELSE to_json(key)::text END, value
        FROM jsonb_each(CASE jsonb_typeof(tree.v) WHEN 'object' THEN tree.v END)
        UNION ALL
        SELECT '[*]', value FROM jsonb_array_elements(CASE jsonb_typeof(tree.v) WHEN 'array' THEN tree.v END)) AS step (name, v)
    ), typed AS (
      SELECT t.above, t.path, t.depth, jsonb_typeof(t.v) AS type, count(*) AS n, count(*) FILTER (WHERE t.v = '[]') AS empty
      FROM tree AS t GROUP BY 1, 2, 3, 4
    ), paths AS (
      SELECT t.above, t.path, t.depth,
             coalesce(array_agg(type ORDER BY n DESC, nth)
                      FILTER (WHERE type IS NOT NULL), '{}') AS types,
             coalesce(array_agg(n ORDER BY n DESC, nth)
                      FILTER (WHERE type IS NOT NULL), '{}') AS counts,
             coalesce(sum(n) FILTER (WHERE type IS NOT NULL), 0)::bigint AS n,
             sum(n)::bigint AS rows
      FROM typed AS t
      LEFT JOIN unnest(ARRAY['null', 'boolean', 'number', 'string', 'array', 'object']) WITH ORDINALITY AS o (type, nth) USING (type)
      GROUP BY 1, 2, 3
    )
    SELECT p.path, p.depth, p.types, p.counts, p.n, coalesce(above.n, p.rows),
           CASE WHEN p.above IS NULL THEN p.n < p.rows
                WHEN p.path = p.above || '[*]' THEN above.empty > 0
                ELSE p.n < above.n END
    FROM paths AS p
    LEFT JOIN typed AS above
      ON above.path = p.above AND above.type = CASE WHEN p.path = p.above || '[*]' THEN 'array' ELSE 'object' END
  $query$, rel, att);
END $$;

-- How many paths the documents of a column have, and how many lines of amax.schema are missing or wrong.
CREATE OR REPLACE FUNCTION twins.compare_schema(rel text, att text, OUT paths bigint, OUT missing bigint, OUT wrong bigint)
LANGUAGE plpgsql AS $$
DECLARE
  expected text[];
  found text[];
BEGIN
  SELECT array_agg(s::text) INTO expected FROM schema_of(('heap_side.' || rel)::regclass, att) AS s;
  SELECT array_agg((path, depth, types, counts, "values", parents, optional)::text) INTO found
  FROM amax.schema('amax_side.' || rel) WHERE attname = att;
  paths := cardinality(expected);
  SELECT count(*) INTO missing FROM (SELECT unnest(expected) EXCEPT ALL SELECT unnest(found)) AS d;
  SELECT count(*) INTO wrong FROM (SELECT unnest(found) EXCEPT ALL SELECT unnest(expected)) AS d;
END $$;

-- unions, missing keys, empty containers, NULLs; two columns of documents, one added later, one dropped
SELECT twice($$CREATE TABLE t (id int, gone jsonb, d jsonb)$$) \gexec
SET amax.rows_per_leaf = 100;
SET amax.bulk_threshold = 0;
SELECT twice($$INSERT INTO t SELECT i, '{"x": 1}',
    CASE WHEN i % 50 = 0 THEN NULL WHEN i % 50 = 1 THEN 'null'::jsonb WHEN i % 50 = 2 THEN '"text"' ELSE
      jsonb_build_object('id', i, 'tags', CASE i % 3 WHEN 0 THEN '[]' WHEN 1 THEN '["a", "b"]' ELSE '[1, null, {"k": []}]' END::jsonb,
                         'nested', jsonb_build_object('x', i % 2 = 0, 'y y', jsonb_build_object('deep', '{}'::jsonb)))
      || CASE WHEN i % 4 = 0 THEN '{"sometimes": 1.5}'::jsonb WHEN i % 200 = 3 THEN '{"sometimes": "rarely", "rare": {"a": [[1], []]}}' ELSE '{}' END
    END FROM generate_series(1, 1000) i$$) \gexec
SELECT twice($$VACUUM FULL t$$) \gexec
SELECT twice($$ALTER TABLE t ADD e jsonb DEFAULT '{"added": [1]}'$$) \gexec
SELECT twice($$ALTER TABLE t DROP gone$$) \gexec
SELECT sum(rows) AS columnar FROM amax.components('amax_side.t');
SELECT * FROM amax.schema('amax_side.t');
SELECT * FROM compare_schema('t', 'd');
SELECT * FROM compare_schema('t', 'e');
-- a path cap changes where values are, not what there is
SET amax.path_cap = 3;
SELECT twice($$VACUUM FULL t$$) \gexec
RESET amax.path_cap;
SELECT count(*) > 0 AS overflows FROM amax.columns('amax_side.t') WHERE path LIKE '%.**';
SELECT * FROM compare_schema('t', 'd');
SELECT * FROM compare_schema('t', 'e');
RESET amax.rows_per_leaf;
RESET amax.bulk_threshold;

-- documents as they are met
\set crates :abs_srcdir '/data/crates.jsonl'
\set npm :abs_srcdir '/data/npm.jsonl'
SELECT twice($$CREATE TABLE crates (doc jsonb)$$) \gexec
SELECT twice($$CREATE TABLE npm (doc jsonb)$$) \gexec
COPY heap_side.crates FROM :'crates' WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
COPY amax_side.crates FROM :'crates' WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
COPY heap_side.npm FROM :'npm' WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
COPY amax_side.npm FROM :'npm' WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
SELECT twice($$VACUUM FULL crates$$) \gexec
SELECT twice($$VACUUM FULL npm$$) \gexec
SELECT * FROM compare_schema('crates', 'doc');
SELECT * FROM compare_schema('npm', 'doc');

-- rows that are not columnar are not seen; a table without documents has none
SET amax.eager = off;
CREATE TABLE few (id int PRIMARY KEY, d jsonb) USING amax;
INSERT INTO few VALUES (1, '{"a": 1}');
RESET amax.eager;
SELECT count(*) FROM amax.schema('few');
CREATE TABLE plain (i int, j json) USING amax;
INSERT INTO plain SELECT i, '{}' FROM generate_series(1, 3000) i;
VACUUM FULL plain;
SELECT count(*) FROM amax.schema('plain');
DROP TABLE few, plain;
-- and one whose documents are all NULL says so
CREATE TABLE nulls (d jsonb) USING amax;
INSERT INTO nulls SELECT NULL FROM generate_series(1, 3000);
VACUUM FULL nulls;
SELECT * FROM amax.schema('nulls');
DROP TABLE nulls;

-- who may see it
SELECT * FROM amax.schema('heap_side.t');
CREATE INDEX few_id ON amax_side.t (id);
SELECT * FROM amax.schema('few_id');
CREATE ROLE schema_1;
GRANT USAGE ON SCHEMA amax_side TO schema_1;
SET ROLE schema_1;
SELECT count(*) FROM amax.schema('amax_side.t');
RESET ROLE;
GRANT SELECT ON amax_side.t TO schema_1;
SET ROLE schema_1;
SELECT count(*) > 0 AS told FROM amax.schema('amax_side.t');
RESET ROLE;
ALTER TABLE amax_side.t ENABLE ROW LEVEL SECURITY;
SET ROLE schema_1;
SELECT count(*) FROM amax.schema('amax_side.t');
RESET ROLE;
DROP OWNED BY schema_1;
DROP ROLE schema_1;
