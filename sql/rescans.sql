-- Scans that start again and again and those that stop early: what they hand up, and how many rows they say they have met.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include

SET max_parallel_workers_per_gather = 0;
SET amax.bulk_threshold = 0;
SET amax.rows_per_leaf = 2000;
SELECT twice($$CREATE TABLE r (id int, k int, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO r SELECT i, i % 100, jsonb_build_object('a', i, 'tags', jsonb_build_array(i % 3, i % 5)) FROM generate_series(1, 7000) i$$) \gexec
SELECT twice($$VACUUM ANALYZE r$$) \gexec
SELECT twice($$UPDATE r SET k = k + 1000 WHERE id % 5 = 0$$) \gexec
SELECT twice($$DELETE FROM r WHERE id % 7 = 0 OR id BETWEEN 100 AND 900$$) \gexec
SELECT sum(rows) > 0 AS columnar FROM amax.components('r');

-- With and without parameters, with conditions that zones decide, over rows that are columnar, changed and in row pages.
SELECT * FROM compare($$SELECT g, EXISTS (SELECT FROM r WHERE k = g OFFSET 0) FROM generate_series(1, 120) g$$);
SELECT * FROM compare($$SELECT g, x.a FROM generate_series(1, 120) g LEFT JOIN LATERAL (SELECT doc->>'a' AS a FROM r WHERE k = g ORDER BY id LIMIT 1) x ON true$$);
SELECT * FROM compare($$SELECT g, (SELECT count(*) FROM r WHERE id < g * 60 AND (doc->>'a')::int > g) FROM generate_series(1, 100) g$$);
SELECT * FROM compare($$SELECT g, (SELECT sum(e::int) FROM r, jsonb_array_elements_text(doc->'tags') e WHERE id BETWEEN g * 60 AND g * 61) FROM generate_series(1, 100) g$$);
SELECT * FROM compare($$SELECT g, (SELECT count(*) FROM (SELECT FROM r LIMIT g * 70) AS few) FROM generate_series(1, 100) g$$);

-- What the query itself changes meanwhile it does not see; the next one does.
SELECT twice($$CREATE FUNCTION change(g int) RETURNS int LANGUAGE plpgsql AS $f$
BEGIN
    DELETE FROM r WHERE id = g * 13;
    UPDATE r SET k = -1 WHERE id = g * 17;
    INSERT INTO r VALUES (10000 + g, g, '{"a": 1}');
    RETURN g;
END $f$ $$) \gexec
SELECT twice($$CREATE TABLE seen AS SELECT change(g) AS g, (SELECT count(*) FROM r WHERE k < g) AS n, (SELECT max(id) FROM r WHERE k = g) AS id FROM generate_series(1, 60) g$$) \gexec
SELECT * FROM compare($$SELECT * FROM seen$$);
SELECT * FROM compare($$SELECT * FROM r$$);

-- Forward and backward through small and large pieces of leaves.
SELECT twice($$CREATE TABLE scrolled (step int, id int)$$) \gexec
SELECT twice($$DO $do$
DECLARE
    c SCROLL CURSOR FOR SELECT id FROM r WHERE k >= 0 AND doc->>'a' <> '40';
    id int;
BEGIN
    OPEN c;
    FETCH NEXT FROM c INTO id; INSERT INTO scrolled VALUES (1, id);
    FETCH PRIOR FROM c INTO id; INSERT INTO scrolled VALUES (2, id);
    FETCH NEXT FROM c INTO id; INSERT INTO scrolled VALUES (3, id);
    FETCH ABSOLUTE 300 FROM c INTO id; INSERT INTO scrolled VALUES (4, id);
    FETCH PRIOR FROM c INTO id; INSERT INTO scrolled VALUES (5, id);
    FETCH RELATIVE -280 FROM c INTO id; INSERT INTO scrolled VALUES (6, id);
    FETCH RELATIVE 2500 FROM c INTO id; INSERT INTO scrolled VALUES (7, id);
    FETCH RELATIVE -2499 FROM c INTO id; INSERT INTO scrolled VALUES (8, id);
    FETCH LAST FROM c INTO id; INSERT INTO scrolled VALUES (9, id);
    FETCH RELATIVE -1700 FROM c INTO id; INSERT INTO scrolled VALUES (10, id);
    FETCH NEXT FROM c INTO id; INSERT INTO scrolled VALUES (11, id);
    FETCH FIRST FROM c INTO id; INSERT INTO scrolled VALUES (12, id);
    FETCH PRIOR FROM c INTO id; INSERT INTO scrolled VALUES (13, id);
    FETCH NEXT FROM c INTO id; INSERT INTO scrolled VALUES (14, id);
    FETCH LAST FROM c INTO id; INSERT INTO scrolled VALUES (15, id);
    FETCH NEXT FROM c INTO id; INSERT INTO scrolled VALUES (16, id);
    FETCH PRIOR FROM c INTO id; INSERT INTO scrolled VALUES (17, id);
END $do$ $$) \gexec
SELECT * FROM compare($$SELECT * FROM scrolled$$);

-- Of a scan that stops early only the rows up to the last one it handed up count, as heap's.
SELECT twice($$DROP TABLE r, scrolled$$) \gexec
SELECT twice($$CREATE TABLE r (id int, k int, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO r SELECT i, i % 100, jsonb_build_object('a', i) FROM generate_series(1, 7000) i$$) \gexec
SELECT twice($$VACUUM ANALYZE r$$) \gexec
CREATE FUNCTION removed(query text, OUT heap numeric, OUT amax numeric) LANGUAGE plpgsql AS $$
DECLARE
    path text := current_setting('search_path');
    plan json;
BEGIN
    PERFORM set_config('search_path', 'heap_side, public, twins', false);
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    heap := substring(plan::text FROM '"Rows Removed by Filter": (\d+)');
    PERFORM set_config('search_path', 'amax_side, public, twins', false);
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    amax := substring(plan::text FROM '"Rows Removed by Filter": (\d+)');
    PERFORM set_config('search_path', path, false);
END $$;
SELECT * FROM removed($$SELECT * FROM r WHERE k = 5 LIMIT 1$$);
SELECT * FROM removed($$SELECT * FROM r WHERE k = 5 LIMIT 30$$);
SELECT * FROM removed($$SELECT * FROM r WHERE (doc->>'a')::int = 3450 LIMIT 1$$);
SELECT * FROM removed($$SELECT * FROM r WHERE id > 6000 LIMIT 3$$);
SELECT * FROM removed($$SELECT * FROM r WHERE k = 5 AND id % 11 = 3$$);
SELECT * FROM removed($$SELECT EXISTS (SELECT FROM r WHERE k = 5)$$);
SELECT * FROM removed($$SELECT count(*) FROM r WHERE k = 5$$);
SELECT pg_stat_force_next_flush();
SELECT twice($$SELECT id FROM r WHERE k = 5 LIMIT 2$$) \gexec
SELECT twice($$SELECT id FROM r WHERE id > 6000 LIMIT 1$$) \gexec
SELECT twice($$SELECT count(*) FROM r WHERE doc->>'a' = '7'$$) \gexec
SELECT pg_stat_force_next_flush();
SELECT schemaname, seq_scan, seq_tup_read FROM pg_stat_user_tables WHERE relname = 'r' ORDER BY 1;
DROP FUNCTION removed;
