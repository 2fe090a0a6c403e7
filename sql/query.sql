-- Custom scans: plans, and answers in every state of a row. Answers at large are tests/parts/25-queries.
SET amax.eager = off;
SET amax.rows_per_leaf = 1000;
SET amax.bulk_threshold = 100;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE events (id int, doc jsonb) USING amax;
INSERT INTO events
    SELECT i, jsonb_build_object('kind', CASE WHEN i % 10 = 0 THEN 'rare' ELSE 'common' END, 'n', i, 'price', i / 4.0,
                                 'at', to_timestamp(1700000000 + i * 60), 'who', jsonb_build_object('name', 'user' || i % 50),
                                 'either', CASE WHEN i % 2 = 0 THEN to_jsonb(i) ELSE to_jsonb('x' || i) END,
                                 'tags', jsonb_build_array('a', 'b' || i % 3))
    FROM generate_series(1, 5000) i;
INSERT INTO events SELECT i, jsonb_build_object('kind', 'hot', 'n', i) FROM generate_series(5001, 5010) i;
UPDATE events SET doc = jsonb_set(doc, '{kind}', '"changed"') WHERE id IN (10, 20);
DELETE FROM events WHERE id = 30;
ANALYZE events;
CREATE TABLE heap_events (LIKE events) USING heap;
INSERT INTO heap_events SELECT * FROM events;

CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP RETURN NEXT line; END LOOP;
END $$;
-- Rows that only one of the tables gives.
CREATE FUNCTION differences(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    ours text := replace(query, 'EVENTS', 'events');
    heaps text := replace(query, 'EVENTS', 'heap_events');
    n bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s)) d', ours, heaps) INTO n;
    RETURN n;
END $$;

-- Conditions on paths, columns and casts.
SELECT plan_of($$SELECT doc->'who'->>'name' FROM events WHERE doc->>'kind' = 'rare' AND (doc->>'n')::int < 100$$);
SELECT differences($$SELECT doc->'who'->>'name' FROM EVENTS WHERE doc->>'kind' = 'rare' AND (doc->>'n')::int < 100$$);
SELECT differences($$SELECT id, doc FROM EVENTS WHERE doc->>'either' LIKE 'x1%' OR (doc->'price')::numeric = 2.5$$);
SELECT differences($$SELECT doc->'either', doc #> '{who}', doc['who']['name'] FROM EVENTS$$);
-- Grouping in the scan.
SELECT plan_of($$SELECT doc->>'kind', count(*), sum((doc->>'price')::numeric) FROM events GROUP BY 1 HAVING count(*) > 1$$);
SELECT doc->>'kind' AS kind, count(*), sum((doc->>'price')::numeric), count(DISTINCT doc->'who'->>'name') FROM events GROUP BY 1 ORDER BY 1;
SELECT differences($$SELECT extract(hour FROM (doc->>'at')::timestamptz), date_trunc('day', (doc->>'at')::timestamptz), count(*),
                            avg((doc->>'n')::int) FILTER (WHERE doc->>'kind' = 'rare') FROM EVENTS GROUP BY 1, 2$$);
-- Patterns, on vectors and by PostgreSQL.
SELECT differences($$SELECT id FROM EVENTS WHERE doc->>'kind' LIKE '%ar%' OR doc->'who'->>'name' LIKE 'user1%2' OR doc->>'n' LIKE '%5%5%'$$);
SELECT differences($$SELECT id FROM EVENTS WHERE doc->>'n' NOT LIKE '1%' AND doc->>'kind' LIKE '_a%' AND doc->>'at' ^@ '20' AND doc->>'either' LIKE '%\%%'$$);
SELECT differences($$SELECT id, doc->>'n' LIKE '', doc->>'kind' ILIKE 'R%', doc->>'n' LIKE '7' FROM EVENTS$$);
SELECT count(*) FROM events WHERE doc->>'n' LIKE '1\';
-- Containment is asked field by field, but not of what is computed only once.
CREATE SEQUENCE calls;
SELECT count(*) FROM events WHERE jsonb_build_object('call', nextval('calls'), 'none', id * 0) @> '{"call": 7, "none": 0}';
SELECT nextval('calls') - 1 = (SELECT count(*) FROM events) AS once_per_row;
DROP SEQUENCE calls;
-- What may raise an error is evaluated only where the query does.
SELECT differences($$SELECT id, CASE WHEN jsonb_typeof(doc->'tags') = 'array' AND id % 2 = 0 THEN jsonb_array_length(doc->'tags')
                            WHEN jsonb_typeof(doc->'n') = 'array' THEN jsonb_array_length(doc->'n') END FROM EVENTS$$);
SELECT differences($$SELECT sum(CASE WHEN jsonb_typeof(doc->'n') = 'array' THEN jsonb_array_length(doc->'n') ELSE 1 END), count(*) FROM EVENTS GROUP BY doc->'kind'$$);
SELECT differences($$SELECT id FROM EVENTS WHERE jsonb_typeof(doc->'n') = 'number' OR jsonb_array_length(doc->'n') > 1$$);
SELECT differences($$SELECT id FROM EVENTS WHERE (jsonb_typeof(doc->'n') = 'array' AND jsonb_array_length(doc->'n') > 1) IS NOT TRUE$$);
SELECT differences($$SELECT id, COALESCE((doc->>'n')::int, jsonb_array_length(doc->'n')) FROM EVENTS$$);
SELECT differences($$SELECT id, CASE WHEN jsonb_typeof(doc->'n') = 'array' THEN jsonb_path_query_first(doc, '$.kind + 1') END FROM EVENTS$$);
SELECT differences($$SELECT id FROM EVENTS WHERE ROW(id, 1) < ROW(0, jsonb_array_length(doc->'n'))$$);
SELECT differences($$SELECT id, (CASE WHEN jsonb_typeof(doc->'n') = 'array' THEN ARRAY[id, 0] END)[jsonb_array_length(doc->'n')],
                            (doc->'absent')[jsonb_array_length(doc->'n')::text] FROM EVENTS$$);
SELECT differences($$SELECT max(jsonb_array_length(doc->'n')) FILTER (WHERE jsonb_typeof(doc->'n') = 'array') FROM EVENTS$$);
SELECT differences($$SELECT count(*), sum(n) FROM (SELECT CASE WHEN jsonb_typeof(doc->'n') = 'array' THEN jsonb_array_length(doc->'n') END n FROM EVENTS
                            UNION ALL SELECT id FROM EVENTS) u$$);
CREATE POLICY guarded ON events USING (CASE WHEN jsonb_typeof(doc->'n') = 'array' THEN jsonb_array_length(doc->'n') ELSE id % 3 END < 2);
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
CREATE ROLE amax_guarded;
GRANT SELECT ON events TO amax_guarded;
SET ROLE amax_guarded;
SELECT count(*), count(doc) FROM events;
RESET ROLE;
SELECT count(*) FROM heap_events WHERE CASE WHEN jsonb_typeof(doc->'n') = 'array' THEN jsonb_array_length(doc->'n') ELSE id % 3 END < 2;
DROP POLICY guarded ON events;
ALTER TABLE events DISABLE ROW LEVEL SECURITY;
DROP OWNED BY amax_guarded;
DROP ROLE amax_guarded;
SELECT count(*) FROM events WHERE jsonb_array_length(doc->'n') > 1;
-- A leaf that cannot have rows is not read.
CREATE FUNCTION leaves_skipped(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line LIKE '%Leaves Skipped%' THEN RETURN trim(line); END IF;
    END LOOP;
END $$;
SELECT leaves_skipped('SELECT count(*) FROM events WHERE id > 4500');
SELECT leaves_skipped($$SELECT count(*) FROM events WHERE (doc->>'n')::int BETWEEN 10 AND 20$$);
SELECT differences($$SELECT doc FROM EVENTS WHERE (doc->>'n')::int BETWEEN 10 AND 20$$);
SELECT leaves_skipped($$SELECT count(*) FROM events WHERE doc->>'at' LIKE '2099%'$$);
-- Nor is a subquery run to find that out before a row asks for it; when it has been run, its result serves.
SELECT differences($$SELECT count(*) FROM EVENTS WHERE id = 30 AND doc->>'kind' = (SELECT (1 / count(*))::text FROM EVENTS WHERE id < 0)$$);
SELECT count(*) FROM events WHERE id < (SELECT 1 / count(*) FROM events WHERE id < 0) AND id > 9999;
SELECT leaves_skipped('SELECT count(*) FROM events WHERE id = (SELECT max(id) - 4000 FROM heap_events)');
-- Above joins, and in functions in FROM, only values are handed up.
SELECT plan_of($$SELECT a.doc->>'kind', count(*) FROM events a JOIN events b ON a.doc->>'n' = b.doc->>'n' GROUP BY 1$$);
SELECT plan_of($$SELECT tag, count(*) FROM events, jsonb_array_elements_text(doc->'tags') tag GROUP BY 1$$);
SELECT differences($$SELECT tag, count(*) FROM EVENTS, jsonb_array_elements_text(doc->'tags') tag GROUP BY 1$$);
-- Above grouping sets a path of a key is NULL where the key is.
SELECT differences($$SELECT doc->'who', doc->'who'->>'name', max(doc->>'kind'), count(*) FROM EVENTS GROUP BY ROLLUP (doc->'who')$$);
SELECT differences($$SELECT doc, doc->>'kind', upper(doc->>'kind'), doc->>'n', jsonb_typeof(doc), count(doc->>'n') FROM EVENTS WHERE id < 40
                     GROUP BY GROUPING SETS ((doc), (doc->>'kind'), ()) HAVING doc->>'n' IS NULL OR (doc->>'n')::int > 7$$);
SELECT differences($$SELECT e->>0, count(*), max(e->>0) FROM EVENTS, jsonb_array_elements(doc->'tags') e GROUP BY CUBE (e)$$);
-- What a path's structure tells, and elements of arrays.
SELECT plan_of($$SELECT jsonb_typeof(doc->'either'), doc->'tags'->>0, count(*) FROM events WHERE doc ? 'who' GROUP BY 1, 2$$);
SELECT differences($$SELECT jsonb_typeof(doc->'either'), doc->'tags'->>0, count(*) FROM EVENTS WHERE doc ? 'who' GROUP BY 1, 2$$);
SELECT plan_of($$SELECT sum(jsonb_array_length(doc->'tags')) FROM events WHERE NOT doc->'tags' ?| ARRAY['b1', NULL]$$);
SELECT differences($$SELECT sum(jsonb_array_length(doc->'tags')) FROM EVENTS WHERE NOT doc->'tags' ?| ARRAY['b1', NULL]$$);
SELECT differences($$SELECT id, doc->'n'->0, doc->'n'->>-1, doc #> '{n,0}', doc #>> '{tags,-1}', doc['tags'][1], doc->'tags'->2, doc->'who' ?& '{name}'
                     FROM EVENTS$$);
SELECT count(*) FROM events WHERE jsonb_array_length(doc->'either') > 0;
-- SQL/JSON paths are given what they look at.
SELECT plan_of($$SELECT count(*) FROM events WHERE doc @? '$.tags[*] ? (@ == "b1" && $.n > 7)' AND NOT doc @@ '$.who.name == "user3"'$$);
SELECT differences($$SELECT id FROM EVENTS WHERE doc @? '$.tags[*] ? (@ == "b1" && $.n > 7)' AND NOT doc @@ '$.who.name == "user3"'$$);
SELECT plan_of($$SELECT jsonb_path_query_first(doc, '$.who.name') FROM events WHERE doc @? 'strict $.who' OR doc @? '$.who.keyvalue()'$$);
SELECT differences($$SELECT jsonb_path_query_first(doc, '$.who.name'), jsonb_path_query_array(doc, '$.none'), doc @@ '$.either > 2' FROM EVENTS$$);
-- Errors are PostgreSQL's, and only where heap would meet them.
SELECT sum((doc->>'either')::int) FROM events;
SELECT count(*) FROM events WHERE doc->>'either' NOT LIKE 'x%' AND (doc->>'either')::int > 0;
SELECT (doc->>'either')::int FROM events WHERE id >= 2 LIMIT 1;
-- Cursors go both ways.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM events WHERE doc->>'kind' = 'rare';
FETCH 3 FROM c;
FETCH BACKWARD 1 FROM c;
UPDATE events SET doc = doc || '{"seen": true}' WHERE CURRENT OF c;
ROLLBACK;
-- Functions over two windows, a set-returning function, and tables below a UNION ALL.
SELECT differences($$SELECT sum((doc->>'n')::int) OVER (PARTITION BY doc->>'kind'), max(doc->'who'->>'name') OVER (ORDER BY id % 7) FROM EVENTS$$);
SELECT differences($$SELECT jsonb_array_elements_text(doc->'tags'), doc->>'n' FROM EVENTS$$);
SELECT differences($$SELECT * FROM (SELECT (doc->>'n')::int, doc->>'kind' FROM EVENTS UNION ALL SELECT id, doc->'who'->>'name' FROM EVENTS) u$$);
-- More groups than memory holds take more passes.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT count(*), sum(n) FROM (SELECT doc->>'n', count(*) AS n FROM events GROUP BY 1) g;
RESET work_mem;
RESET hash_mem_multiplier;
-- An index is used where it is better; an indexed expression stays recognizable.
CREATE INDEX ON events (id);
CREATE INDEX ON events ((doc->>'n'));
ANALYZE events;
SELECT plan_of('SELECT doc FROM events WHERE id = 7');
SELECT plan_of($$SELECT doc FROM events WHERE doc->>'n' = '7'$$);
-- Of the rows that an index finds only the paths are read: in columns, in row pages, changed, or older than a column.
CREATE INDEX ON heap_events (id);
INSERT INTO events SELECT i, jsonb_build_object('kind', 'hot', 'n', i) FROM generate_series(5011, 5012) i;
INSERT INTO heap_events SELECT i, jsonb_build_object('kind', 'hot', 'n', i) FROM generate_series(5011, 5012) i;
ALTER TABLE events ADD COLUMN more jsonb DEFAULT '{"a": 1}';
ALTER TABLE heap_events ADD COLUMN more jsonb DEFAULT '{"a": 1}';
VACUUM ANALYZE heap_events;
SET enable_seqscan = off;
SELECT plan_of($$SELECT doc->'who'->>'name' FROM events WHERE id = 7$$);
SELECT plan_of($$UPDATE events SET id = id WHERE id = 7 AND doc @> '{"kind": "common"}'$$);
SELECT plan_of($$SELECT doc->>'kind', doc FROM events WHERE id = 7$$);
SELECT differences($$SELECT id, doc->'who'->>'name', doc->'tags', doc->'either', doc->>'at', more->'a', tableoid = 0
                     FROM EVENTS WHERE id BETWEEN 1 AND 60 OR id > 4990$$);
SELECT differences($$SELECT doc->'who' FROM EVENTS WHERE id IN (10, 20, 30, 40, 5003) AND doc->>'kind' <> 'common'$$);
SELECT plan_of($$SELECT jsonb_typeof(doc->'either') FROM events WHERE id = 7 AND doc @> '{"tags": ["a"]}'$$);
SELECT differences($$SELECT id, doc->'who' @> '{"name": "user7"}', jsonb_typeof(doc->'either'), doc->'tags' ? 'b1', doc @> '{"n": 7}', more->'a' @> '1', more ? 'a'
                     FROM EVENTS WHERE (id BETWEEN 1 AND 60 OR id > 4990) AND (doc @> '{"tags": ["a"]}') IS NOT NULL$$);
SELECT differences($$SELECT a.id, b.doc->'who'->'name' FROM EVENTS a LEFT JOIN EVENTS b ON b.id = a.id + 3 AND b.doc->>'kind' = 'rare'
                     WHERE a.id < 40$$);
SELECT differences($$SELECT a.id, (SELECT doc->>'either' FROM EVENTS b WHERE b.id = a.id * 2) FROM EVENTS a WHERE a.id < 40$$);
SET enable_indexscan = off;
SELECT plan_of($$SELECT doc->'who'->>'name' FROM events WHERE id = 7 AND doc->>'kind' = 'rare'$$);
SELECT differences($$SELECT doc->'who'->>'name', more->'a' FROM EVENTS WHERE id IN (1, 20, 40, 5003) OR id = 5012$$);
RESET enable_indexscan;
SELECT (doc->>'either')::int FROM events WHERE id IN (1, 2);
SELECT (doc->>'either')::int FROM events WHERE id BETWEEN 2 AND 4 LIMIT 1;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, doc->>'kind' FROM events WHERE id BETWEEN 18 AND 21 ORDER BY id;
FETCH 3 FROM c;
FETCH BACKWARD 1 FROM c;
UPDATE events SET doc = doc || '{"kind": "seen"}' WHERE CURRENT OF c;
SELECT doc->>'kind' FROM events WHERE id = 19;
DELETE FROM events WHERE id = 20 AND doc->>'kind' = 'changed' RETURNING doc->'n';
ROLLBACK;
RESET enable_seqscan;
-- Containment by columns: as conditions on fields, also below OR and AND; else as an answer, which may be NULL.
SELECT plan_of($$SELECT id FROM events WHERE doc @> '{"kind": "rare", "who": {"name": "user10"}}' OR id < 5 AND doc @> '{"n": 3}' OR NOT doc @> '{"kind": "common", "n": 3}'$$);
SELECT differences($$SELECT id FROM EVENTS WHERE doc @> '{"kind": "rare", "who": {"name": "user10"}}' OR id < 5 AND doc @> '{"n": 3}'$$);
SELECT differences($$SELECT id FROM EVENTS WHERE doc @> '{"tags": ["b1"], "absent": {}}' OR (doc @> '{"n": 3}' OR doc @> '{}' AND id < 100) AND NOT doc @> '{"absent": 1}'$$);
SELECT differences($$SELECT id FROM EVENTS WHERE doc->'who' @> '{"name": "user7"}' OR doc @> '{"who": {"none": null}}' OR doc @> '{"tags": ["a", "b2"]}'$$);
-- What AND comes to after it is evaluated neither where it is false for want of a path.
SELECT differences($$SELECT id FROM EVENTS WHERE id < 9 OR doc @> '{"absent": 1, "n": 3}' AND (doc->>'kind')::int = 1$$);
SELECT differences($$SELECT id FROM EVENTS WHERE id < 9 OR (id < 5 OR doc @> '{"absent": 1, "n": 3}') AND id > 9 AND (doc->>'kind')::int = 1$$);
CREATE TABLE odd AS SELECT i, d::jsonb FROM unnest(ARRAY[NULL, '{}', '[]', 'null', '1', '1.0', '"a"', '["a", 1]', '[["a"], {"n": 1.00}]',
    '{"n": null}', '{"n": {}}', '{"n": []}', '{"n": [1, [2, 3], {"m": 1, "k": 2}]}', '{"n": [{"m": 1}, {"k": 2}]}', '{"n": {"m": 1e30, "k": {"j": "a"}}}',
    '{"n": 1.00000000000000000000000, "tags": "a"}', '{"n": 9223372036854775808}']) WITH ORDINALITY u(d, i);
INSERT INTO events SELECT 6000 + i, d FROM odd;
VACUUM events;
INSERT INTO events SELECT 7000 + i, d FROM odd;
INSERT INTO heap_events SELECT i + more, d FROM odd, unnest(ARRAY[6000, 7000]) more;
SELECT left(sought, 40) AS sought, differences(format($$SELECT id, doc @> %1$L, %1$L <@ doc, doc->'n' @> %1$L, more @> %1$L, (doc->'tags' @> %1$L) IS NULL,
                                           CASE WHEN NOT doc @> %1$L THEN 1 WHEN doc @> %1$L THEN 2 END FROM EVENTS$$, sought)) AS values,
    differences(format($$SELECT doc @> %1$L, count(*), sum(id) FILTER (WHERE NOT doc @> %1$L), bool_and(doc->'n' @> %1$L),
                                count(*) FILTER (WHERE (doc->'n' @> %1$L) IS FALSE), count(*) FILTER (WHERE (doc->'n' @> %1$L) IS NOT UNKNOWN) FROM EVENTS
                         GROUP BY 1 HAVING count(doc @> %1$L) >= 0$$, sought)) AS groups,
    differences(format($$SELECT id FROM EVENTS WHERE NOT doc @> %1$L OR (doc->'n' @> %1$L) IS NOT TRUE OR (doc @> %1$L) IS NULL$$, sought)) AS conditions
FROM unnest(ARRAY['{}', '[]', 'null', '1', '"a"', '["a"]', '["a", "a", 1.0]', '[["a"]]', '[{"n": 1}]', '[[2], {"k": 2}]', '[{"m": 1, "k": 2}]', '{"n": {}}',
    '{"n": []}', '{"n": null}', '{"n": 1}', '{"n": 9223372036854775808.0}', '{"n": {"m": 1e30}}', '{"n": {"k": {"j": "a"}}}', '{"n": [1, {}, []]}',
    '{"n": [{"m": 1, "k": 2}]}', '{"kind": "rare", "tags": ["b1", "a"]}', '{"tags": "a"}', '{"who": {"name": "user7"}, "n": 7.0}', '{"a": 1}', '{"absent": 1}',
    repeat('[', 300) || repeat(']', 300)]) sought;
SELECT plan_of($$SELECT doc @> '{"tags": ["a"]}', CASE WHEN doc->'who' @> '{"name": "user7"}' THEN id END FROM events WHERE NOT '{"kind": "common"}' <@ doc$$);
SELECT plan_of($$SELECT doc @> '{"tags": ["b1"]}', count(*) FILTER (WHERE NOT doc @> '{"kind": "rare"}') FROM events GROUP BY 1 HAVING bool_or(doc @> '{"n": 3}')$$);
SELECT plan_of($$SELECT max(a.doc->>'either') FROM events a JOIN events b ON a.doc->>'kind' = b.doc->>'kind' AND a.doc @> '{"n": 1}' <> b.doc @> '{"n": 2}'$$);
DROP TABLE odd;
SET amax.custom_scan = off;
SELECT plan_of($$SELECT doc->'who'->>'name' FROM events WHERE id = 7$$);
SELECT plan_of($$SELECT count(*) FROM events WHERE doc->>'kind' = 'rare'$$);
DROP TABLE events, heap_events;
DROP FUNCTION plan_of, differences, leaves_skipped;

-- What a condition compares with, computed of a parameter alone: NULL, an error, and an error that is never met.
CREATE TABLE numbers USING amax AS SELECT i AS k, i % 7 AS v FROM generate_series(1, 20000) i;
VACUUM numbers;
SELECT i, (SELECT count(*) FROM numbers WHERE k < i % 100 * 2 + 1), (SELECT sum(v) FROM numbers WHERE 3 * i + 1 >= k),
    (SELECT count(*) FROM numbers WHERE v > 10 AND k < 2147483647 + i)
FROM unnest(ARRAY[-5, 0, 7, 1250, NULL, 30000]) i;
SELECT (SELECT count(*) FROM numbers WHERE k < 2147483647 + i) FROM unnest(ARRAY[-10, 0, 1]) i;
SELECT (SELECT count(*) FROM numbers WHERE k < 5 / i) FROM unnest(ARRAY[-10, 1, 0]) i;
-- A number that is too small for a float is an error, also where bounds say that it is not the one sought.
CREATE TABLE tiny USING amax AS SELECT jsonb_build_object('w', 1e-400, 'v', 0.0, 't', '1e-400') AS doc FROM generate_series(1, 2000);
VACUUM tiny;
SELECT count(*) FROM tiny WHERE (doc->'w')::float8 = 18;
SELECT sum((doc->>'w')::float8) FROM tiny;
SELECT count(*) FROM tiny WHERE (doc->>'t')::float8 > 1;
SELECT count(*) FROM tiny WHERE (doc->'w')::numeric = 18 OR (doc->'v')::float8 > 1;
DROP TABLE tiny;
-- A subquery that is not to be run for the rows that are asked for.
SELECT count(*) FROM (SELECT FROM numbers WHERE k < 10 OR v = (SELECT 1 / (min(k) - 1) FROM numbers) LIMIT 9) n;
SELECT count(*) FROM numbers WHERE k < 10 OR v = (SELECT 1 / (min(k) - 1) FROM numbers);
DROP TABLE numbers;
-- Infinite times, beside those that share a month.
CREATE TABLE times USING amax AS SELECT CASE i % 4 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE '2024-02-01 10:00'::timestamp + i * interval '1 minute' END AS t
    FROM generate_series(1, 2000) i;
VACUUM times;
SELECT date_trunc('month', t), count(*) FROM times GROUP BY 1 ORDER BY 1;
SELECT extract(year FROM t), date_part('hour', t) < 12, count(*) FROM times GROUP BY 1, 2 ORDER BY 1, 2;
DROP TABLE times;
-- Units of time that differ from row to row.
CREATE TABLE moments USING amax AS
    SELECT i, timestamp '2024-01-01' + i * interval '1 hour' AS at,
           CASE WHEN i % 2 = 0 THEN 'month' ELSE 'year' END AS unit
    FROM generate_series(1, 2000) i;
VACUUM moments;
SELECT date_trunc(unit, at), count(*) FROM moments GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM moments WHERE date_part(unit, at) = 2;
-- Documents in a column that the leaf is older than.
ALTER TABLE moments ADD COLUMN doc jsonb DEFAULT '{"a": "x", "b": true, "c": {"d": null}}';
SELECT count(*) FROM moments WHERE doc->'a' = '"x"' AND doc->'b' = 'true';
SELECT count(*) FILTER (WHERE doc->'c'->'d' = 'null'), count(*) FILTER (WHERE doc->'a' = '"y"') FROM moments WHERE doc @> '{"c": {"d": null}}';
-- Rows that nobody asks for raise no errors: those after a loop's end, a cursor's position, and where another node stops.
CREATE FUNCTION first_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
    FOR r IN EXECUTE query LOOP RETURN r; END LOOP;
END $$;
SELECT first_of('SELECT i FROM moments WHERE chr(500 - i) <> ''a''');
DO $$ DECLARE n int; BEGIN SELECT i INTO n FROM moments WHERE chr(500 - i) <> 'a'; RAISE NOTICE '%', n; END $$;
WITH few AS MATERIALIZED (SELECT i FROM moments WHERE chr(500 - i) <> 'a') SELECT * FROM few LIMIT 1;
SELECT t.i, n FROM (SELECT i FROM moments WHERE chr(500 - i) <> 'a' OFFSET 0) t CROSS JOIN generate_series(1, 2) n LIMIT 2;
BEGIN;
SET LOCAL cursor_tuple_fraction = 1;
DECLARE c CURSOR FOR SELECT i FROM moments WHERE chr(500 - i) <> 'a';
FETCH 2 FROM c;
FETCH ALL FROM c;
COMMIT;
SELECT i FROM moments WHERE chr(500 - i) <> 'a';
DROP FUNCTION first_of;
DROP TABLE moments;
