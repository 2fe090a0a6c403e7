-- Arrays unnested in a scan: plans, and answers where rows hold something else. Answers at large are tests/parts/25-queries.
SET amax.eager = off;
SET amax.rows_per_leaf = 1000;
SET amax.bulk_threshold = 100;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE posts (id int, doc jsonb) USING amax;
INSERT INTO posts
    SELECT i, jsonb_strip_nulls(jsonb_build_object('n', i, 'tags', (SELECT jsonb_agg('t' || (i * j) % 7) FROM generate_series(1, i % 4) j),
        'parts', (SELECT jsonb_agg(jsonb_build_object('x', (i + j) % 10, 'kind', 'k' || j) ||
                         CASE WHEN j = 2 THEN jsonb_build_object('links', jsonb_build_array(jsonb_build_object('to', i % 5), jsonb_build_object('to', i))) ELSE '{}' END)
                  FROM generate_series(1, i % 3) j)))
    FROM generate_series(1, 3000) i;
-- Of other kinds, of several, empty, and in row pages.
INSERT INTO posts SELECT 4000 + i, doc FROM generate_series(1, 2) i, (VALUES ('{"parts": []}'::jsonb), ('{}'),
    ('{"parts": [1, "s", null, [2], {"x": 1.50}, {"x": "7"}, {"x": null}, {}]}'), ('{"parts": [{"links": []}, {"links": [{"to": 5}, 6]}]}')) v(doc);
UPDATE posts SET doc = doc || '{"seen": true}' WHERE id % 500 = 0;
ANALYZE posts;
CREATE TABLE heap_posts (LIKE posts) USING heap;
INSERT INTO heap_posts SELECT * FROM posts;
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP RETURN NEXT line; END LOOP;
END $$;
-- Rows that only one of the tables gives; and whether the plan unnests in the scan.
CREATE FUNCTION differences(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    ours text := replace(replace(query, 'POSTS', 'posts'), 'THINGS', 'things');
    heaps text := replace(replace(query, 'POSTS', 'heap_posts'), 'THINGS', 'heap_things');
    n bigint;
    unnests bool;
BEGIN
    EXECUTE format('SELECT count(*) FROM ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s)) d', ours, heaps) INTO n;
    SELECT bool_or(line LIKE '%AmaxUnnest%') INTO unnests FROM plan_of(ours) line;
    RETURN format('%s, %s', n, CASE WHEN unnests THEN 'in the scan' ELSE 'by a function' END);
END $$;

-- Aggregates of elements, and of elements of elements.
SELECT plan_of($$SELECT tag, count(*) FROM posts, jsonb_array_elements_text(doc->'tags') tag GROUP BY 1$$);
SELECT differences($$SELECT tag, count(*) FROM POSTS, jsonb_array_elements_text(doc->'tags') tag GROUP BY 1$$);
SELECT plan_of($$SELECT l->>'to', count(*), sum((p->>'x')::int) FROM posts, jsonb_array_elements(doc->'parts') p, jsonb_array_elements(p->'links') l
                 WHERE p->>'kind' = 'k2' GROUP BY 1$$);
SELECT differences($$SELECT l->>'to', count(*), sum((p->>'x')::int) FROM POSTS, jsonb_array_elements(doc->'parts') p, jsonb_array_elements(p->'links') l
                     WHERE p->>'kind' = 'k2' GROUP BY 1$$);
SELECT differences($$SELECT count(*), max(o), count(p) FROM POSTS, jsonb_array_elements(doc->'parts') WITH ORDINALITY AS e(p, o)$$);
-- Elements themselves, with what is beside them, in the order of heap.
SELECT differences($$SELECT id, doc->>'n', p, p->'x', p->>'x', o FROM POSTS, jsonb_array_elements(doc->'parts') WITH ORDINALITY AS e(p, o) WHERE id > 2900$$);
SELECT differences($$SELECT doc, tag FROM POSTS CROSS JOIN LATERAL jsonb_array_elements_text(doc #> '{tags}') tag WHERE tag = 't3'$$);
SELECT id, l FROM posts, jsonb_array_elements(doc->'parts') p, jsonb_array_elements(p->'links') l WHERE id > 2990 OR id = 500 LIMIT 9;
-- Outer joins: a row stays if no element matches.
SELECT plan_of($$SELECT id, p->>'x' FROM posts LEFT JOIN LATERAL jsonb_array_elements(doc->'parts') p ON p->>'kind' = 'k2'$$);
SELECT differences($$SELECT id, p->>'x', p FROM POSTS LEFT JOIN LATERAL jsonb_array_elements(doc->'parts') p ON p->>'kind' = 'k2'$$);
SELECT differences($$SELECT id, p, o FROM POSTS LEFT JOIN LATERAL jsonb_array_elements(doc->'parts') WITH ORDINALITY AS e(p, o) ON p->>'x' LIKE '%1%'$$);
SELECT differences($$SELECT id FROM POSTS LEFT JOIN LATERAL jsonb_array_elements(doc->'parts') p ON true WHERE p IS NULL$$);
SELECT differences($$SELECT id, l->>'to' FROM POSTS LEFT JOIN LATERAL jsonb_array_elements(doc->'parts') p ON (p->>'x')::numeric > 3
                     LEFT JOIN LATERAL jsonb_array_elements(p->'links') l ON l->>'to' <> '3'$$);
SELECT differences($$SELECT count(*), count(p), sum((p->'x')::numeric) FILTER (WHERE p->>'kind' = 'k1') FROM POSTS
                     LEFT JOIN LATERAL jsonb_array_elements(doc->'parts') p ON jsonb_typeof(p) = 'object' AND p->>'kind' IS NOT NULL$$);
-- What is computed of an element below an outer join is NULL above it.
SELECT differences($$SELECT id, c FROM POSTS LEFT JOIN LATERAL (SELECT coalesce(p->>'x', 'none') AS c FROM jsonb_array_elements(doc->'parts') p) s ON true$$);
-- Joins, windows and subqueries above.
SELECT differences($$SELECT a.id, b.id FROM POSTS a, jsonb_array_elements(a.doc->'parts') p, POSTS b WHERE p->>'x' = b.doc->>'n' AND b.id < 5$$);
SELECT differences($$SELECT id, rank() OVER (PARTITION BY p->>'x' ORDER BY id) FROM POSTS, jsonb_array_elements(doc->'parts') p$$);
SELECT differences($$SELECT id, (SELECT count(*) FROM POSTS i, jsonb_array_elements_text(i.doc->'tags') t WHERE t = o.doc->'tags'->>0) FROM POSTS o WHERE id < 9$$);
-- Two arrays side by side: one in the scan, the other by the function.
SELECT differences($$SELECT id, tag, p->>'x' FROM POSTS, jsonb_array_elements_text(doc->'tags') tag, jsonb_array_elements(doc->'parts') p$$);
-- Fields of objects, in jsonb's order of keys, also those that are in no column of their own.
CREATE TABLE things (id int, doc jsonb) USING amax;
INSERT INTO things SELECT i, jsonb_build_object('n', i) ||
        CASE i % 4 WHEN 0 THEN '{}' WHEN 1 THEN '{"o": {}}' ELSE jsonb_build_object('o', jsonb_build_object('b', i, 'aa', 's' || i % 5, 'c',
            jsonb_build_object('x', i % 3, 'l', jsonb_build_array(i, i % 2)), 'm', CASE i % 3 WHEN 0 THEN to_jsonb(i) WHEN 1 THEN '"t"' ELSE 'null' END)) END
    FROM generate_series(1, 2500) i;
INSERT INTO things VALUES (5000, '{"o": {"rare": 1, "b": 2}}');
UPDATE things SET doc = doc || '{"seen": true}' WHERE id % 500 = 2;
VACUUM things;
INSERT INTO things VALUES (5001, '{"o": {"rarer": [1], "aa": null}}'), (5002, '{}');
ANALYZE things;
CREATE TABLE heap_things (LIKE things) USING heap;
INSERT INTO heap_things SELECT * FROM things;
SELECT plan_of($$SELECT key, count(*), sum((value->>'x')::int) FROM things, jsonb_each(doc->'o') GROUP BY 1$$);
SELECT differences($$SELECT key, count(*), sum((value->>'x')::int) FROM THINGS, jsonb_each(doc->'o') GROUP BY 1$$);
SELECT differences($$SELECT id, k, v, o, v->'l'->0, v->>'x' FROM THINGS, jsonb_each(doc->'o') WITH ORDINALITY e(k, v, o)$$);
SELECT differences($$SELECT id, key, value FROM THINGS, jsonb_each_text(doc->'o') WHERE value LIKE 's%' OR key = 'm'$$);
SELECT differences($$SELECT k, count(*) FROM THINGS, jsonb_object_keys(doc) k GROUP BY 1$$);
SELECT differences($$SELECT id, key, value FROM THINGS LEFT JOIN LATERAL jsonb_each(doc->'o') ON value ? 'x'$$);
SELECT differences($$SELECT id, key, e FROM THINGS, jsonb_each(doc->'o'), jsonb_array_elements(value->'l') e WHERE key = 'c'$$);
-- What is asked of fields' values.
SELECT plan_of($$SELECT key, jsonb_typeof(value), count(*) FILTER (WHERE value ? 'l') FROM things, jsonb_each(doc->'o') WHERE NOT value @> '{"x": 0}' GROUP BY 1, 2$$);
SELECT differences($$SELECT key, jsonb_typeof(value), count(*) FILTER (WHERE value ? 'l') FROM THINGS, jsonb_each(doc->'o') WHERE NOT value @> '{"x": 0}' GROUP BY 1, 2$$);
SELECT differences($$SELECT key, jsonb_typeof(value), jsonb_typeof(value->'l'), count(*) FROM THINGS, jsonb_each(doc) GROUP BY 1, 2, 3$$);
SELECT differences($$SELECT id, key, value @? '$.l[*] ? (@ > 2490)', value ?& '{x,l}', value->'l' @> '1' FROM THINGS, jsonb_each(doc->'o')$$);
SELECT differences($$SELECT id, k, jsonb_typeof(doc->k), doc->'o'->>k FROM THINGS, jsonb_object_keys(doc->'o') k$$);
SELECT differences($$SELECT key, jsonb_array_length(value) FROM THINGS, jsonb_each(doc->'o') WHERE key = 'rarer'$$);
SELECT key, jsonb_array_length(value) FROM things, jsonb_each(doc->'o') WHERE id < 10;
SELECT differences($$SELECT id, jsonb_typeof(value) t, value ? 'x' FROM THINGS LEFT JOIN LATERAL jsonb_each(doc->'o') ON jsonb_typeof(value) = 'object'$$);
-- Fields as SQL/JSON paths give them: where nothing is read of them but keys and values.
SELECT plan_of($$SELECT e->>'key', count(*), max(e->'value'->>'x') FROM things, jsonb_path_query(doc, '$.o ? (@.type() == "object").keyvalue()') e GROUP BY 1$$);
SELECT differences($$SELECT e->>'key', count(*), max(e->'value'->>'x') FROM THINGS, jsonb_path_query(doc, '$.o ? (@.type() == "object").keyvalue()') e GROUP BY 1$$);
SELECT differences($$SELECT id, e->>'key', e->'value', e->>'value', jsonb_typeof(e->'value') FROM THINGS, jsonb_path_query(doc, '$.o.keyvalue()') e WHERE e->>'key' <> 'b'$$);
SELECT differences($$SELECT id, e->'value'->>'x', o FROM THINGS LEFT JOIN LATERAL jsonb_path_query(doc, '$.keyvalue()') WITH ORDINALITY f(e, o) ON e->'value' ? 'x'$$);
SELECT differences($$SELECT id, e->>'key', l FROM THINGS, jsonb_path_query(doc->'o', '$.keyvalue()') e, jsonb_array_elements(e->'value'->'l') l$$);
SELECT differences($$SELECT id, e FROM THINGS, jsonb_path_query(doc, '$.o.keyvalue()') e$$);
SELECT differences($$SELECT id, e->'id', e->>'key' FROM THINGS, jsonb_path_query(doc, '$.o.keyvalue()') e$$);
SELECT differences($$SELECT id, e->'key', e->>'other' FROM THINGS, jsonb_path_query(doc, '$.o.keyvalue()') e$$);
SELECT differences($$SELECT id, (SELECT e->>'key' WHERE id > 9) FROM THINGS, jsonb_path_query(doc, '$.o.keyvalue()') e$$);
SELECT differences($$SELECT id, e->>'key' FROM THINGS, jsonb_path_query(doc, 'strict $.o.keyvalue()') e WHERE doc ? 'o'$$);
SELECT differences($$SELECT id, jsonb_path_query(doc, '$.o.keyvalue()')->>'key' FROM THINGS$$);
SELECT differences($$SELECT id, s.v FROM THINGS, jsonb_path_query(doc, '$.o.keyvalue()') e, LATERAL (SELECT e AS v OFFSET 0) s$$);
SELECT differences($$SELECT id, e->>'key', s.v FROM THINGS, jsonb_path_query(doc, '$.o.keyvalue()') e, LATERAL (SELECT e->'value' UNION ALL SELECT e->'value'->'x') s(v)$$);
SELECT differences($$SELECT id, e->>'key', s.v FROM THINGS, jsonb_path_query(doc, '$.o.keyvalue()') e, LATERAL (VALUES (e), (e->'id')) s(v)$$);
SELECT differences($$SELECT id, e->>'key', e->'value' FROM THINGS, jsonb_path_query(doc, '$.o.keyvalue()', '{"a": 1}', true) e$$);
SELECT count(*) FROM things, jsonb_path_query(doc, '$.keyvalue()', '[]') e WHERE id BETWEEN 100 AND 200;
SELECT differences($$SELECT id, (jsonb_each(doc->'o')).* FROM THINGS$$);
SELECT differences($$SELECT (jsonb_each_text(doc->'o')).key, count(*) FROM THINGS GROUP BY 1$$);
SELECT differences($$SELECT jsonb_object_keys(doc), count(*) FROM THINGS GROUP BY 1$$);
SELECT differences($$SELECT id, jsonb_array_elements((jsonb_each(doc->'o')).value->'l') FROM THINGS WHERE id = 3$$);
SELECT differences($$SELECT id, jsonb_each(doc->'o') FROM THINGS$$);
SELECT id, k, v FROM things, jsonb_each(doc->'o') WITH ORDINALITY e(k, v, o) WHERE id IN (2, 3, 5000, 5001) ORDER BY id, o;
-- Arrays on the way are looked into.
INSERT INTO things SELECT 6000 + i, doc FROM generate_series(1, 2) i, (VALUES ('[{"o": {"q": 1}}, {"o": [{"r": 2}]}]'::jsonb), ('{"o": [{"s": {"x": 5}}, {}]}'), ('{"o": 1}'), ('"o"'), ('{"o": []}')) v(doc);
INSERT INTO heap_things SELECT * FROM things WHERE id > 6000;
SELECT differences($$SELECT id, e->>'key', e->'value'->'x' FROM THINGS, jsonb_path_query(doc, '$.o ? (@.type() == "object").keyvalue()') e$$);
SELECT differences($$SELECT id, e->>'key' FROM THINGS, jsonb_path_query(doc, '$.o.keyvalue()') e WHERE id < 6000$$);
SELECT count(e->>'key') FROM things, jsonb_path_query(doc, '$.o.keyvalue()') e;
VACUUM things;
SELECT differences($$SELECT id, e->>'key', e->'value'->'x' FROM THINGS, jsonb_path_query(doc, '$.o ? (@.type() == "object").keyvalue()') e$$);
SELECT count(e->>'key') FROM things, jsonb_path_query(doc, '$.o.keyvalue()') e;
DELETE FROM things WHERE id > 6000;
INSERT INTO things VALUES (5003, '{"o": [1]}');
SELECT count(*) FROM things, jsonb_each(doc->'o');
SELECT count(*) FROM things, jsonb_each(doc->'o') WHERE id < 5003;
VACUUM things;
SELECT jsonb_object_keys(doc->'o'), count(*) FROM things GROUP BY 1;
DROP TABLE things, heap_things;
-- Several fields that are arrays themselves, or objects.
CREATE TABLE things (id int, doc jsonb) USING amax;
INSERT INTO things SELECT i, jsonb_build_object(
        'l', jsonb_build_object('b', jsonb_build_array(jsonb_build_array(i, 's'), jsonb_build_array(i % 3)), 'aa', jsonb_build_array('[]'::jsonb, jsonb_build_array(i % 5)))
             || CASE WHEN i % 2 = 0 THEN '{"c": []}'::jsonb WHEN i % 3 = 0 THEN '{"c": [["q", 1]]}' ELSE '{}' END,
        'o', jsonb_build_object('d', jsonb_build_object('k', jsonb_build_array(i, i % 7), 'bb', i), 'aa', jsonb_build_object('c', 's', 'k', '[2]'::jsonb), 'e', '{}'::jsonb))
    FROM generate_series(1, 900) i;
VACUUM ANALYZE things;
CREATE TABLE heap_things (LIKE things) USING heap;
INSERT INTO heap_things SELECT * FROM things;
SELECT differences($$SELECT id, k, e, o FROM THINGS, jsonb_each(doc->'l') f(k, v), jsonb_array_elements(v) WITH ORDINALITY e(e, o)$$);
SELECT differences($$SELECT id, k, e->0, i FROM THINGS, jsonb_each(doc->'l') f(k, v), jsonb_array_elements(v) e, jsonb_array_elements_text(e) i$$);
SELECT differences($$SELECT id, k, e FROM THINGS, jsonb_each(doc->'o') f(k, v) LEFT JOIN LATERAL jsonb_array_elements(v->'k') e ON e > '3'$$);
SELECT differences($$SELECT id, f.key, g.key, o, g.value FROM THINGS, jsonb_each(doc->'o') f, jsonb_each(f.value) WITH ORDINALITY g(key, value, o)$$);
SELECT differences($$SELECT g.key, count(*), max(g.value) FROM THINGS, jsonb_each(doc->'o') f, jsonb_each_text(f.value) g GROUP BY 1$$);
DROP TABLE things, heap_things;
-- In the select list.
SELECT plan_of($$SELECT id, jsonb_array_elements(doc->'parts')->>'x' FROM posts WHERE id < 100$$);
SELECT differences($$SELECT id, jsonb_array_elements(doc->'parts')->>'x' FROM POSTS$$);
SELECT plan_of($$SELECT jsonb_array_elements_text(doc->'tags'), count(*) FROM posts GROUP BY 1$$);
SELECT differences($$SELECT jsonb_array_elements_text(doc->'tags'), count(*), max(id) FROM POSTS GROUP BY 1$$);
-- Aggregates of paths, which PostgreSQL sorts for (from 16 on) by what it knew before the function was moved.
SELECT differences($$SELECT jsonb_array_elements_text(doc->'tags'), array_agg(doc->>'n' ORDER BY doc->>'n') FROM POSTS GROUP BY 1$$);
SELECT differences($$SELECT id, jsonb_array_elements(jsonb_array_elements(doc->'parts')->'links')->>'to', jsonb_array_elements(doc->'parts') FROM POSTS$$);
SELECT differences($$SELECT id, jsonb_array_elements(jsonb_array_elements(doc->'parts')->'links') FROM POSTS$$);
SELECT differences($$SELECT DISTINCT jsonb_array_elements(doc->'parts')->'x' FROM POSTS$$);
SELECT differences($$SELECT * FROM (SELECT id, jsonb_array_elements(doc->'parts') p FROM POSTS) s WHERE p->>'x' = '4' AND id < 900$$);
SELECT id, jsonb_array_elements_text(doc->'tags') FROM posts WHERE id < 2500 ORDER BY 2 DESC, 1 LIMIT 3;
-- Not where it would show that conditions are looked at for elements, or that what is computed of them is put off until after a sort.
CREATE SEQUENCE calls;
SELECT count(*) > 2000 FROM (SELECT id, jsonb_array_elements(doc->'parts') FROM posts WHERE nextval('calls') > 0) s;
SELECT nextval('calls') - 1 = (SELECT count(*) FROM posts) AS once_per_row;
SELECT setval('calls', 1, false);
SELECT count(*) > 2000 FROM (SELECT id, jsonb_array_elements(doc->'parts') FROM posts) s WHERE id + nextval('calls') > 0;
SELECT nextval('calls') - 1 = (SELECT count(*) FROM posts, jsonb_array_elements(doc->'parts')) AS once_per_element;
SELECT plan_of($$SELECT jsonb_array_elements_text(doc->'tags') AS tag, jsonb_array_elements_text(doc->'tags') || nextval('calls') FROM posts ORDER BY 1$$);
DROP SEQUENCE calls;
CREATE TABLE nested (doc jsonb) USING amax;
INSERT INTO nested SELECT '{"a": [{"n": "x", "b": []}]}' FROM generate_series(1, 2000);
SELECT (jsonb_array_elements(doc->'a')->>'n')::int, jsonb_array_elements(jsonb_array_elements(doc->'a')->'b') FROM nested;
DROP TABLE nested;
-- In subqueries, CTEs and views that do no more, as in FROM.
SELECT plan_of($$SELECT p->>'kind', count(*) FROM (SELECT id, jsonb_array_elements(doc->'parts') p FROM posts) s WHERE (p->>'x')::int > 3 AND id < 900 GROUP BY 1$$);
SELECT differences($$SELECT p->>'kind', count(*) FROM (SELECT id, jsonb_array_elements(doc->'parts') p FROM POSTS) s WHERE (p->>'x')::int > 3 AND id < 900 GROUP BY 1$$);
SELECT differences($$SELECT * FROM (WITH s AS (SELECT id, jsonb_array_elements_text(doc->'tags') t FROM POSTS WHERE id > 10) SELECT t, max(id) FROM s GROUP BY 1) q$$);
SELECT differences($$SELECT b.id, p->>'x' FROM POSTS b LEFT JOIN (SELECT id, jsonb_array_elements(doc->'parts') p FROM POSTS) s ON s.id = b.id AND p->>'kind' = 'k2'$$);
CREATE VIEW parts AS SELECT id, jsonb_array_elements(doc->'parts') AS p FROM posts;
SELECT plan_of($$SELECT p->>'kind', count(*) FROM parts GROUP BY 1$$);
DROP VIEW parts;
-- There it stays a barrier where something else is computed: the cast fails for a row that the condition above leaves out.
SELECT p->>'x' FROM (SELECT (doc->>'tags')::int AS n, jsonb_array_elements(doc->'parts') AS p FROM posts WHERE id = 1) s WHERE p->>'x' = 'none';
SELECT n FROM (SELECT (doc->>'tags')::int AS n, jsonb_array_elements(doc->'parts') AS p FROM posts WHERE id = 1) s WHERE p->>'x' = 'none';
-- Elsewhere: two side by side; after groups, windows and sorts; beside what may fail for a row without elements; of joined rows.
SELECT differences($$SELECT id, jsonb_array_elements_text(doc->'tags'), jsonb_array_elements(doc->'parts') FROM POSTS$$);
SELECT differences($$SELECT id, generate_series(1, 2), jsonb_array_elements_text(doc->'tags') FROM POSTS$$);
SELECT differences($$SELECT id, doc, count(*), jsonb_array_elements_text(doc->'tags') FROM POSTS GROUP BY id, doc$$);
SELECT differences($$SELECT id, row_number() OVER (ORDER BY id), jsonb_array_elements_text(doc->'tags') FROM POSTS$$);
SELECT differences($$(SELECT id, jsonb_array_elements_text(doc->'tags') FROM POSTS ORDER BY id)$$);
SELECT differences($$SELECT (doc->>'n')::int, jsonb_array_elements_text(doc->'tags') FROM POSTS$$);
SELECT differences($$SELECT a.id, jsonb_array_elements_text(a.doc->'tags') FROM POSTS a JOIN POSTS b ON a.id = b.id + 1$$);
SELECT (doc->>'parts')::int, jsonb_array_elements_text(doc->'tags') FROM posts WHERE id = 4;
-- Computed of elements, so not for rows without.
SELECT differences($$SELECT (doc->>'n')::int, jsonb_array_elements(doc->'parts')->'x' FROM POSTS$$);
-- Rows that are locked or changed may be rechecked.
SELECT plan_of('SELECT id FROM posts, jsonb_array_elements(doc->''parts'') p FOR UPDATE OF posts');
-- What is no array raises an error, if heap would look at it: after the conditions before it, and when its turn comes.
INSERT INTO posts VALUES (5001, '{"parts": "text"}'), (5002, '{"parts": {"x": 1}}');
SELECT count(*) FROM posts, jsonb_array_elements(doc->'parts') p;
SELECT count(*) FROM posts, jsonb_array_elements(doc->'parts') p WHERE id <> 5001;
SELECT count(*) FROM posts, jsonb_array_elements(doc->'parts') p WHERE id < 5001;
SELECT p->>'x' FROM posts, jsonb_array_elements(doc->'parts') p LIMIT 2;
SELECT jsonb_array_elements(doc->'parts')->>'x', count(*) FROM posts GROUP BY 1;
SELECT jsonb_array_elements(doc->'parts')->>'x', count(*) FROM posts WHERE id < 1500 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 2;
SELECT jsonb_array_elements(doc->'parts')->>'x' FROM posts LIMIT 2;
VACUUM posts;
SELECT count(*) FROM posts, jsonb_array_elements(doc->'parts') p;
SELECT count(*) FROM posts, jsonb_array_elements(doc->'parts') p WHERE id <> 5001;
SELECT count(*) FROM posts, jsonb_array_elements_text(doc->'parts') p WHERE id < 5001;
SELECT p->>'x' FROM posts, jsonb_array_elements(doc->'parts') p LIMIT 2;
SELECT jsonb_array_elements(doc->'parts')->>'x', count(*) FROM posts GROUP BY 1;
SELECT jsonb_array_elements(doc->'parts')->>'x' FROM posts LIMIT 2;
-- A leaf older than the documents.
CREATE TABLE late (id int) USING amax;
INSERT INTO late SELECT generate_series(1, 300);
ALTER TABLE late ADD COLUMN doc jsonb DEFAULT '[1, {"x": 2}]';
SELECT sum((e->>'x')::int), count(*) FROM late, jsonb_array_elements(doc) e;
SELECT id, e FROM late, jsonb_array_elements(doc) e LIMIT 3;
SELECT jsonb_array_elements(doc)->>'x', count(*) FROM late GROUP BY 1 ORDER BY 1;
-- Conditions of elements by what they cost where nothing is computed below: no element passes the cheaper one, the other is an error.
CREATE TABLE things (doc jsonb) USING amax;
INSERT INTO things SELECT '{"day": "2024-01-01", "items": [{"ts": "no time", "w": "x"}]}' FROM generate_series(1, 200);
CREATE TABLE heap_things USING heap AS SELECT * FROM things;
ANALYZE things, heap_things;
SELECT differences($$SELECT w FROM THINGS t, jsonb_array_elements(t.doc->'items') w WHERE (w->>'ts')::timestamptz <> (t.doc->>'day')::timestamptz AND position('e' IN lower(trim(upper(w->>'w')))) BETWEEN 4 AND 4$$);
SELECT differences($$SELECT t.doc FROM THINGS t LEFT JOIN LATERAL jsonb_array_elements(t.doc->'items') w ON (w->>'ts')::timestamptz = (t.doc->>'day')::timestamptz AND position('e' IN lower(trim(upper(w->>'w')))) = 4$$);
DROP TABLE things, heap_things;
-- By parallel workers.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
DELETE FROM posts WHERE id > 5000;
SELECT plan_of($$SELECT p->>'kind', array_agg(DISTINCT p->'x') FROM posts, jsonb_array_elements(doc->'parts') p GROUP BY 1$$);
SELECT differences($$SELECT p->>'kind', array_agg(DISTINCT p->'x') FROM POSTS, jsonb_array_elements(doc->'parts') p GROUP BY 1$$);
SELECT plan_of($$SELECT jsonb_array_elements(doc->'parts')->>'kind' k, count(*) FROM posts GROUP BY 1$$);
SELECT differences($$SELECT jsonb_array_elements(doc->'parts')->>'kind' k, count(*) FROM POSTS GROUP BY 1$$);
-- Rows after each step, whoever read them.
CREATE FUNCTION steps_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ '^ *Rows ' AND line !~ 'Removed' THEN RETURN NEXT trim(line); END IF;
    END LOOP;
END $$;
CREATE FUNCTION steps_in_json(query text) RETURNS SETOF jsonb LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN QUERY SELECT jsonb_array_elements(jsonb_path_query_first(plan, 'strict $.**.Steps'));
END $$;
SELECT steps_of($$SELECT id, p->>'x' FROM posts, jsonb_array_elements(doc->'parts') p, jsonb_array_elements(p->'links') l
                  WHERE id < 1500 AND doc->>'n' LIKE '%1%' AND l->>'to' <> '3'$$);
SET max_parallel_workers_per_gather = 0;
SELECT steps_of($$SELECT id, p->>'x' FROM posts, jsonb_array_elements(doc->'parts') p, jsonb_array_elements(p->'links') l
                  WHERE id < 1500 AND doc->>'n' LIKE '%1%' AND l->>'to' <> '3'$$);
SELECT steps_of($$SELECT count(*) FROM posts LEFT JOIN LATERAL jsonb_array_elements(doc->'parts') p ON p->>'kind' = 'k2' WHERE p->>'x' IS NULL$$);
SELECT steps_in_json($$SELECT count(*) FROM posts LEFT JOIN LATERAL jsonb_array_elements(doc->'parts') p ON p->>'kind' = 'k2' WHERE p->>'x' IS NULL$$);
DROP TABLE posts, heap_posts, late;
DROP FUNCTION plan_of, differences, steps_of, steps_in_json;
