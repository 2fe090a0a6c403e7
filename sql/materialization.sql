-- amax.materialization: where rows of columns begin to be tuples, and what EXPLAIN (VERBOSE) says of it. The answers are the same.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SELECT twice($$CREATE TABLE t (id int, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, jsonb_build_object('n', i * 7919 % 4001, 'k', i % 5, 'pad', repeat('p', 50)) FROM generate_series(1, 4000) i$$) \gexec
SELECT twice($$VACUUM ANALYZE t$$) \gexec
SELECT twice($$CREATE INDEX ON t (id)$$) \gexec

-- The lines of a plan that name nodes, and say where tuples begin.
CREATE FUNCTION twins.begins(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
        IF line ~ 'Custom Scan|Sort$|Aggregate|Materialization' THEN RETURN NEXT line; END IF;
    END LOOP;
END $$;
\set best 'SELECT doc FROM t ORDER BY (doc->>$$n$$)::int DESC LIMIT 5'
\set most 'SELECT DISTINCT ON ((doc->>$$n$$)::int) (doc->>$$n$$)::int, doc FROM t ORDER BY 1, id'
\set groups 'SELECT doc->>$$k$$, count(*) FROM t GROUP BY 1'
\set point 'SELECT doc->>$$k$$ FROM t WHERE id = 17'
SELECT begins(:'best');
SELECT begins(:'most');
SELECT begins(:'groups');
SELECT begins(:'point');
SET amax.materialization = early;
SELECT begins(:'best');
SELECT begins(:'groups');
SET amax.materialization = late;
SELECT begins(:'best');
SELECT begins(:'groups');
-- Also where it is not expected to be of use: nearly all rows are the best of their group.
SET amax.materialization = ultra_late;
SELECT begins(:'best');
SELECT begins(:'most');
SELECT * FROM compare(:'best');
SELECT * FROM compare(:'most');
SET amax.materialization = early;
SELECT * FROM compare(:'best');
SELECT * FROM compare(:'groups');
-- With conditions, of which PostgreSQL evaluates each then, in all rows.
SELECT begins($$SELECT id FROM t WHERE (doc->>'k')::int = 3 AND id > 50$$);
SELECT q.query, compared.* FROM unnest(ARRAY[
    $$SELECT id, doc FROM t WHERE (doc->>'k')::int = 3 AND id > 50$$,
    $$SELECT doc->>'n', t.tableoid::regclass::text <> '', ctid IS NULL FROM t WHERE doc->>'k' = '1'$$,
    $$SELECT count(*) FROM t WHERE (doc->>'k')::int < 2$$,
    $$SELECT a.id, b.doc->>'n' FROM t a JOIN t b ON (a.doc->>'k')::int = b.id WHERE a.id < 300$$,
    $$SELECT id, e FROM t, jsonb_object_keys(doc) e WHERE id % 1000 = 1$$,
    $$SELECT 1 FROM t$$]) q(query), compare(q.query) compared;
SET amax.materialization = never;
DROP FUNCTION twins.begins(text);
