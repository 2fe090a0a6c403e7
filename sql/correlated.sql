-- Subqueries that are run for each row get what they look at of its documents, and give heap's answers.
SET amax.eager = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE events (id int, doc jsonb, other jsonb) USING amax;
INSERT INTO events
    SELECT i, jsonb_build_object('kind', 'k' || i % 5, 'tags', jsonb_build_array(jsonb_build_object('name', 't' || i % 7, 'n', i % 3), jsonb_build_object('name', 'T' || i % 11)),
            'user', jsonb_build_object('name', 'u' || i % 13, 'ids', jsonb_build_array(i % 4, i % 6)), 'note', repeat('n' || i, 20)),
        jsonb_build_object('kind', 'k' || i % 3)
    FROM generate_series(1, 5000) i;
-- What is no object, has no array, overflows, or is NULL.
INSERT INTO events VALUES (-1, NULL, '{}'), (-2, '7', NULL), (-3, '[{"tags": [1]}]', '{}'), (-4, '{"tags": {"name": "t1"}}', '{}'), (-5, '{"tags": null}', '{}'), (-6, '{"tags": [], "user": "u"}', '{}');
VACUUM ANALYZE events;
CREATE TABLE kinds (kind text PRIMARY KEY, rank int) USING amax;
INSERT INTO kinds SELECT 'k' || i, i FROM generate_series(0, 3) i;
VACUUM ANALYZE kinds;
-- Rows in row pages: there the documents are as they are.
INSERT INTO events SELECT 10000 + i, jsonb_build_object('kind', 'k1', 'tags', jsonb_build_array(jsonb_build_object('name', 't3'))), NULL FROM generate_series(1, 5) i;
CREATE TABLE heap_events USING heap AS SELECT * FROM events;
CREATE TABLE heap_kinds USING heap AS SELECT * FROM kinds;
ANALYZE heap_events, heap_kinds;

-- In conditions, target lists, above joins, in aggregates and HAVING: columns of what is looked at.
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE EXISTS (SELECT FROM jsonb_array_elements(doc->'tags') tag WHERE lower(tag->>'name') = 't3');
EXPLAIN (COSTS OFF) SELECT id, (SELECT string_agg(tag->>'name', ',') FROM jsonb_array_elements(doc->'tags') tag WHERE tag->>'name' > doc#>>'{user,name}') FROM events;
EXPLAIN (COSTS OFF) SELECT k.rank, e.id FROM events e JOIN kinds k ON k.kind = e.doc->>'kind' WHERE k.rank < (SELECT max((tag->>'n')::int) FROM jsonb_array_elements(e.doc->'tags') tag);
EXPLAIN (COSTS OFF) SELECT sum((SELECT count(*) FROM jsonb_array_elements(doc->'tags') tag)) FROM events WHERE id > 0;
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE doc->>'kind' = ANY (ARRAY(SELECT kind FROM kinds WHERE rank > (doc->'user'->'ids'->>0)::int));
-- In subqueries of subqueries, of both documents.
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE (SELECT count(*) FROM kinds WHERE EXISTS (SELECT FROM jsonb_array_elements(doc->'tags') t WHERE t->>'name' = 't' || rank) AND kind >= other->>'kind') > 0;
-- All of it.
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE EXISTS (SELECT FROM jsonb_each(doc) field WHERE field.value = '"k3"');
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE EXISTS (SELECT FROM jsonb_array_elements(doc->'tags') tag WHERE doc @> tag);
EXPLAIN (COSTS OFF) SELECT id FROM events WHERE EXISTS (SELECT FROM kinds WHERE doc->kind IS NOT NULL);

CREATE FUNCTION answers(query text, OUT query_of text, OUT same boolean, OUT rows bigint) LANGUAGE plpgsql AS $$
DECLARE
    of_amax text;
    of_heap text;
BEGIN
    EXECUTE format('SELECT count(*), string_agg(q::text, '';'' ORDER BY q::text) FROM (%s) q', query) INTO rows, of_amax;
    EXECUTE format('SELECT string_agg(q::text, '';'' ORDER BY q::text) FROM (%s) q', regexp_replace(query, '\m(events|kinds)\M', 'heap_\1', 'g')) INTO of_heap;
    query_of := left(query, 60);
    same := of_amax IS NOT DISTINCT FROM of_heap;
END $$;
SELECT a.* FROM unnest(ARRAY[
    $$SELECT id FROM events WHERE EXISTS (SELECT FROM jsonb_path_query(doc, '$.tags[*]') tag WHERE lower(tag->>'name') = 't3')$$,
    $$SELECT id FROM events WHERE EXISTS (SELECT FROM jsonb_array_elements(CASE jsonb_typeof(doc->'tags') WHEN 'array' THEN doc->'tags' END) tag WHERE lower(tag->>'name') = 't3')$$,
    $$SELECT id, (SELECT string_agg(tag->>'name', ',') FROM jsonb_array_elements(doc->'tags') tag WHERE tag->>'name' > doc#>>'{user,name}') FROM events WHERE id > 0$$,
    $$SELECT id, (SELECT doc->'tags'->0->>'name' || kind FROM kinds WHERE kind = doc->>'kind') FROM events$$,
    $$SELECT id, (SELECT doc#>'{tags,0}' FROM kinds WHERE rank = 1), (SELECT doc->0 FROM kinds WHERE rank = 1), (SELECT doc['user']['ids'] FROM kinds WHERE rank = 2) FROM events$$,
    $$SELECT k.rank, e.id FROM events e JOIN kinds k ON k.kind = e.doc->>'kind' WHERE e.id > 0 AND k.rank < (SELECT max((tag->>'n')::int) FROM jsonb_array_elements(e.doc->'tags') tag)$$,
    $$SELECT k.rank, (SELECT count(*) FROM jsonb_array_elements(e.doc->'tags') tag WHERE tag ? 'n') FROM kinds k LEFT JOIN events e ON k.kind = e.doc->>'kind' AND e.id < 50$$,
    $$SELECT doc->>'kind', sum((SELECT count(*) FROM jsonb_array_elements(doc->'tags') tag)) FROM events WHERE id > 0 GROUP BY 1$$,
    $$SELECT doc->'user'->>'name', count(*) FROM events WHERE id > 0 GROUP BY doc HAVING (SELECT max(tag->>'name') FROM jsonb_array_elements(doc->'tags') tag) > 't5'$$,
    $$SELECT id FROM events WHERE id > 0 AND doc->>'kind' = ANY (ARRAY(SELECT kind FROM kinds WHERE rank > (doc->'user'->'ids'->>0)::int))$$,
    $$SELECT id FROM events WHERE id > 0 AND (SELECT count(*) FROM kinds WHERE EXISTS (SELECT FROM jsonb_array_elements(doc->'tags') t WHERE t->>'name' = 't' || rank) AND kind >= other->>'kind') > 0$$,
    $$SELECT id FROM events WHERE id > 0 AND EXISTS (SELECT FROM jsonb_each(doc) field WHERE field.value = '"k3"')$$,
    $$SELECT id FROM events WHERE id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc->'tags') tag WHERE doc->'tags' @> tag)$$,
    $$SELECT e.id FROM events e, LATERAL (SELECT max(t->>'name') AS name FROM jsonb_array_elements(e.doc->'tags') t WHERE EXISTS (SELECT FROM kinds WHERE kind = e.doc->>'kind')) l WHERE e.id > 0 AND l.name > 't4'$$
]) query, answers(query) a;
-- A nested loop in the subquery hands the parameter on; arms of UNION ALL become relations of the query.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT a.* FROM unnest(ARRAY[
    $$SELECT id, (SELECT count(*) FROM generate_series(1, 3) g, generate_series(1, g) h WHERE 'k' || g::text = doc->>'kind') FROM events$$,
    $$SELECT id, (SELECT count(*) FROM kinds a JOIN kinds b ON b.kind = a.kind WHERE a.kind = doc->>'kind' AND b.rank > (doc->'user'->'ids'->>0)::int) FROM events$$,
    $$SELECT id FROM events e WHERE EXISTS (SELECT FROM kinds k, LATERAL (SELECT k.kind AS one, e.doc->>'kind' AS other OFFSET 0) l WHERE l.one = l.other)$$,
    $$SELECT id, x FROM events e, LATERAL ((SELECT e.doc->>'kind' AS x LIMIT 1) UNION ALL SELECT 'y') l$$,
    $$SELECT id, x FROM events e, LATERAL (SELECT x FROM jsonb_array_elements_text(jsonb_build_array(e.doc->'kind')) x UNION ALL SELECT 'y') l$$,
    $$SELECT e.id, x FROM events e, LATERAL (SELECT rank AS x FROM kinds WHERE kind = e.doc->>'kind' UNION ALL SELECT 7) l$$
]) query, answers(query) a;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- What is returned is not read twice.
EXPLAIN (COSTS OFF) SELECT doc, (SELECT max(tag->>'name') FROM jsonb_array_elements(doc->'tags') tag) FROM events;
-- Errors are heap's.
SELECT id FROM events WHERE EXISTS (SELECT FROM jsonb_array_elements(doc->'tags') tag WHERE id < -3);
SELECT id FROM heap_events WHERE EXISTS (SELECT FROM jsonb_array_elements(doc->'tags') tag WHERE id < -3);
-- UPDATE and DELETE.
WITH changed AS (UPDATE events SET other = (SELECT jsonb_agg(tag->'name') FROM jsonb_array_elements(doc->'tags') tag) WHERE id BETWEEN 1 AND 3 RETURNING id, other) SELECT * FROM changed ORDER BY id;
DELETE FROM events WHERE id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc->'tags') tag WHERE upper(tag->>'name') = 'T10');
DELETE FROM heap_events WHERE id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc->'tags') tag WHERE upper(tag->>'name') = 'T10');
SELECT (SELECT count(*) FROM events) = (SELECT count(*) FROM heap_events) AS same;
-- Nobody else calls it.
SELECT amax.part_of(doc, '{kind}') FROM events LIMIT 1;
DROP FUNCTION answers;
DROP TABLE events, kinds, heap_events, heap_kinds;
