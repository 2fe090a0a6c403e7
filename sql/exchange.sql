-- The processes of a parallel aggregate send each other rows when groups are many: the answers are those of one process.
CREATE EXTENSION IF NOT EXISTS amax;
SET default_table_access_method = amax;
CREATE TABLE exchanged (id int, doc jsonb) WITH (autovacuum_enabled = off);
SET amax.rows_per_leaf = 300;
INSERT INTO exchanged SELECT i, jsonb_strip_nulls(jsonb_build_object('user', 'user ' || i * 7919 % 9001, 'kind', 'kind ' || i % 5,
    'n', i * 31 % 20011, 'few', CASE WHEN i % 3 = 0 THEN i % 11 END, 'x', (i % 100) / 8.0, 'long', repeat(i % 50 || 'x', i % 50 * 20)))
    FROM generate_series(1, 20000) i;
-- Rows of row pages too.
INSERT INTO exchanged SELECT i, jsonb_build_object('user', 'user ' || i, 'kind', 'kind ' || i % 5, 'n', i) FROM generate_series(1, 900) i;
ANALYZE exchanged;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET cpu_operator_cost = 0; -- of sending groups, which are many
SET min_parallel_table_scan_size = 0;
SET enable_sort = off;
SET enable_hashagg = off;
-- Each query's answers with so many workers that are not those of one process, and the other way round, and how many there are.
CREATE FUNCTION differences(query text) RETURNS TABLE (setting text, groups bigint, missing bigint, more bigint) LANGUAGE plpgsql AS $$
DECLARE workers int; threshold text; memory text;
BEGIN
  PERFORM set_config('max_parallel_workers_per_gather', '0', false);
  EXECUTE 'CREATE TEMP TABLE one AS ' || query;
  FOR workers, threshold, memory IN VALUES (1, '0', '64MB'), (1, '0', '64kB'), (3, '0', '64MB'), (3, '64kB', '64MB'), (3, '0', '64kB'), (3, '1MB', '64kB') LOOP
    PERFORM set_config('max_parallel_workers_per_gather', workers::text, false), set_config('amax.exchange_threshold', threshold, false),
        set_config('work_mem', memory, false);
    EXECUTE 'CREATE TEMP TABLE more AS ' || query;
    setting := workers || ' workers, from ' || threshold || ', work_mem ' || memory;
    RETURN QUERY SELECT setting, (SELECT count(*) FROM more), (SELECT count(*) FROM (TABLE one EXCEPT ALL TABLE more) a),
        (SELECT count(*) FROM (TABLE more EXCEPT ALL TABLE one) b);
    DROP TABLE more;
  END LOOP;
  DROP TABLE one;
  RESET work_mem; RESET amax.exchange_threshold; RESET max_parallel_workers_per_gather;
END $$;
-- What rows are exchanged by; with few rows for each group it pays.
-- A process may have come to the end of the table before there are enough groups: then again.
CREATE FUNCTION exchanged_by(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb; found text;
BEGIN
  FOR i IN 1..10 LOOP
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) ' || query INTO plan;
    found := jsonb_path_query_first(plan, 'lax $.**.Exchange') #>> '{}';
    EXIT WHEN found IS NOT NULL;
  END LOOP;
  RETURN found;
END $$;
SET max_parallel_workers_per_gather = 2;
SELECT exchanged_by($$SELECT doc->>'user' u, count(*) FROM exchanged GROUP BY u$$);
SET amax.exchange_threshold = 0;
SELECT exchanged_by($$SELECT doc->>'user' u, count(*) FROM exchanged GROUP BY u$$);
SELECT exchanged_by($$SELECT doc->>'kind' k, count(DISTINCT doc->>'user') FROM exchanged GROUP BY k$$);
SELECT exchanged_by($$SELECT doc->>'kind' k, count(DISTINCT doc->>'user'), count(DISTINCT doc->>'n') FROM exchanged GROUP BY k$$);
SELECT exchanged_by($$SELECT doc->>'kind' k, count(*) FROM exchanged GROUP BY k$$);
SET parallel_leader_participation = off;
SELECT exchanged_by($$SELECT doc->>'user' u, count(*) FROM exchanged GROUP BY u$$);
RESET parallel_leader_participation;
RESET amax.exchange_threshold;
DROP FUNCTION exchanged_by;
-- Groups that are many.
SELECT * FROM differences($$SELECT doc->>'user' u, count(*), sum((doc->>'n')::int), min(doc->>'long'), max((doc->>'x')::numeric) FROM exchanged GROUP BY u$$);
SELECT * FROM differences($$SELECT doc->>'user' u, (doc->>'few')::int f, count(DISTINCT doc->>'n') n, count(DISTINCT doc->>'kind') k FROM exchanged GROUP BY u, f$$);
-- Few groups with many values.
SELECT * FROM differences($$SELECT doc->>'kind' k, count(*), count(DISTINCT doc->>'user') users, avg((doc->>'n')::int) FROM exchanged GROUP BY k$$);
SELECT * FROM differences($$SELECT count(DISTINCT doc->>'user') users, count(doc->>'few') FROM exchanged$$);
SELECT * FROM differences($$SELECT count(DISTINCT doc->>'user') FILTER (WHERE (doc->>'n')::int % 2 = 0) users, count(*) FILTER (WHERE (doc->>'n')::int % 2 = 1) FROM exchanged$$);
SELECT * FROM differences($$SELECT doc->>'kind' k, count(DISTINCT (doc->>'n')::numeric) FROM exchanged WHERE doc ? 'few' GROUP BY k HAVING count(*) > 10$$);
-- Only the best.
SELECT * FROM differences($$SELECT doc->>'user' u, max((doc->>'n')::int) m FROM exchanged GROUP BY u ORDER BY m DESC, u LIMIT 5$$);
SELECT * FROM differences($$SELECT doc->>'user' u, count(*) c FROM exchanged GROUP BY u ORDER BY c DESC, u LIMIT 7 OFFSET 2$$);
SELECT * FROM differences($$SELECT doc->>'user' u, count(*) c FROM exchanged GROUP BY u ORDER BY c, u LIMIT 7$$);
-- An error is raised by one of them, and ends all.
\set VERBOSITY terse
SET max_parallel_workers_per_gather = 3;
SET amax.exchange_threshold = 0;
INSERT INTO exchanged VALUES (0, '{"user": "none", "n": "no number"}');
SELECT count(*), sum(m) FROM (SELECT doc->>'user' u, max((doc->>'n')::int) m FROM exchanged GROUP BY u) x;
SELECT count(*), sum(m) FROM (SELECT doc->>'user' u, max(id) m FROM exchanged GROUP BY u) x;
\set VERBOSITY default
-- Of a subquery that is run again and again.
SELECT k, (SELECT count(*) FROM (SELECT doc->>'user' FROM exchanged WHERE id % 5 = k GROUP BY 1) x) FROM generate_series(0, 4) k;
DROP FUNCTION differences;
DROP TABLE exchanged;
