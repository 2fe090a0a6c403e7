-- Aggregates by parallel workers: the same answers as heap, whatever the workers do.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET cpu_operator_cost = 0; -- of sending groups, which are many
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET amax.rows_per_leaf = 500;

SELECT twice($$CREATE TABLE t (id int, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, jsonb_build_object('k', 'k' || i % 5, 'u', 'user ' || i * 7919 % 4000, 'n', i % 1000, 'p', (i % 7 + 0.5) * i, 'f', i / 8.0::float8, 'b', i % 3 = 0,
                                                          'at', to_timestamp(1700000000 + i * 60), 'bad', CASE WHEN i = 7777 THEN 'x' ELSE i::text END) FROM generate_series(1, 12000) i$$) \gexec
VACUUM t;
SELECT twice($$INSERT INTO t SELECT i, jsonb_build_object('k', 'hot', 'n', i) FROM generate_series(1, 50) i$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 100 = 3$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec

-- Both parts of the node, around a Gather.
EXPLAIN (COSTS OFF, VERBOSE) SELECT doc->>'k', count(*), count(DISTINCT doc->>'u') FROM t GROUP BY 1 HAVING count(*) > 100;
SELECT * FROM compare($$SELECT doc->>'k', count(*), count(DISTINCT doc->>'u') FROM t GROUP BY 1 HAVING count(*) > 100$$);
SELECT * FROM compare($$SELECT doc->>'k' AS k, (doc->>'b')::bool, count(*), count(doc->>'u'), sum((doc->>'n')::int), sum((doc->>'n')::bigint), avg((doc->>'n')::int),
                               sum((doc->>'p')::numeric), avg((doc->>'p')::numeric), sum((doc->>'f')::float8), avg((doc->>'f')::float8), min((doc->>'n')::int), max((doc->>'p')::numeric),
                               min((doc->>'at')::timestamptz), max(doc->>'u' COLLATE "C"), bool_and((doc->>'b')::bool), bool_or((doc->>'b')::bool),
                               count(*) FILTER (WHERE id % 2 = 0), count(DISTINCT (doc->>'p')::numeric) FILTER (WHERE (doc->>'n')::int > 500)
                        FROM t GROUP BY 1, 2$$);
-- Without GROUP BY, also of no rows; groups of no rows.
SELECT * FROM compare($$SELECT count(*), count(DISTINCT doc->>'u'), sum((doc->>'n')::int), max((doc->>'p')::numeric) FROM t$$);
SELECT * FROM compare($$SELECT count(*), count(DISTINCT doc->>'u'), sum((doc->>'n')::int), max((doc->>'p')::numeric) FROM t WHERE doc->>'k' = 'none'$$);
SELECT * FROM compare($$SELECT doc->>'u', count(*) FROM t WHERE doc->>'k' = 'none' GROUP BY 1$$);
-- Workers get the values of subqueries that keys, arguments and filters refer to.
SET parallel_leader_participation = off;
SELECT * FROM compare($$SELECT count(*) FILTER (WHERE id = (SELECT max(id) FROM t)), sum(id + (SELECT min(id) + 5 FROM t)) FROM t$$);
SELECT * FROM compare($$SELECT doc->>'k' = (SELECT min(doc->>'k') FROM t), count(*) FROM t GROUP BY 1$$);
RESET parallel_leader_participation;
-- Expressions over groups, sorted groups, groups in a subquery that is read again for each row.
SELECT * FROM compare($$SELECT upper(doc->>'k') || count(*), sum((doc->>'n')::int) / count(*) FROM t GROUP BY doc->>'k' ORDER BY 2 LIMIT 3$$);
SELECT * FROM compare($$SELECT o.i, s.k, s.n FROM generate_series(1, 3) AS o (i), LATERAL (SELECT doc->>'k' AS k, count(*) + o.i AS n FROM t WHERE id > o.i * 1000 GROUP BY 1 OFFSET 0) AS s$$);
SET enable_material = off;
SELECT * FROM compare($$SELECT o.i, s.k, s.n FROM generate_series(1, 3) AS o (i) LEFT JOIN (SELECT doc->>'k' AS k, count(*) AS n FROM t GROUP BY 1) AS s ON s.n > o.i * 1000$$);
RESET enable_material;

-- More than memory holds: workers send their groups more than once, the leader takes passes; the values of one group too.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SET enable_hashagg = off;
SET enable_sort = off;
CREATE FUNCTION passes(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ 'Passes' THEN RETURN CASE WHEN line ~ 'Passes: 1$' THEN 'one pass' ELSE 'passes' END; END IF;
    END LOOP;
END $$;
SELECT passes($$SELECT count(DISTINCT doc->>'bad'), count(DISTINCT doc->>'k') FROM t$$);
SELECT * FROM compare($$SELECT count(*), count(DISTINCT doc->>'bad'), count(DISTINCT doc->>'k'), sum((doc->>'n')::int) FROM t$$);
SELECT passes($$SELECT doc->>'k', count(DISTINCT doc->>'bad') FROM t GROUP BY 1$$);
SELECT * FROM compare($$SELECT doc->>'k', count(DISTINCT doc->>'bad'), sum((doc->>'p')::numeric) FROM t GROUP BY 1$$);
SELECT * FROM compare($$SELECT (doc->>'b')::bool, doc->>'k', count(*), count(DISTINCT doc->>'u') FROM t WHERE id % 2 = 0 GROUP BY 1, 2$$);
RESET enable_sort;
RESET enable_hashagg;
RESET hash_mem_multiplier;
RESET work_mem;

-- Many groups: workers put them into the leader's mailboxes as they go, also when it reads them again.
SELECT * FROM compare($$SELECT repeat(doc->>'u', 40), count(*), count(DISTINCT doc->>'n') FROM t GROUP BY 1$$);
SELECT * FROM compare($$SELECT count(DISTINCT repeat(doc->>'u', 40)), count(*), count(DISTINCT repeat(doc->>'bad', 40)) FROM t$$);
SELECT * FROM compare($$SELECT o.i, s.n, s.c FROM generate_series(1, 3) AS o (i), LATERAL (SELECT count(DISTINCT repeat(doc->>'u', 40)) AS n, count(*) AS c FROM t WHERE id > o.i * 1000) AS s$$);
SET parallel_leader_participation = off;
SELECT * FROM compare($$SELECT repeat(doc->>'u', 40), count(*), count(DISTINCT doc->>'n') FROM t GROUP BY 1$$);
RESET parallel_leader_participation;
SET work_mem = '1MB';
SELECT * FROM compare($$SELECT repeat(doc->>'u', 40), count(*), count(DISTINCT doc->>'n') FROM t GROUP BY 1$$);
RESET work_mem;

-- Groups beyond what masks have bits for.
SELECT * FROM compare($$SELECT (doc->>'n')::int % 100, count(DISTINCT doc->>'u'), count(DISTINCT doc->>'k') FROM t GROUP BY 1$$);

-- The best groups only, with all that are equal to the last of them.
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT doc->>'u', count(*) FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 3;
SELECT * FROM compare($$SELECT doc->>'u', count(*), min((doc->>'n')::int) FROM t GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5 OFFSET 2$$);
SELECT * FROM compare($$SELECT doc->>'u', min((doc->>'at')::timestamptz) FROM t WHERE id % 7 = 0 GROUP BY 1 ORDER BY 2, 1 LIMIT 5$$);
SELECT * FROM compare($$SELECT doc->>'u', max((doc->>'at')::timestamptz) - min((doc->>'at')::timestamptz) FROM t GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 LIMIT 5$$);
SELECT * FROM compare($$SELECT doc->>'u', max((doc->>'n')::int) FILTER (WHERE id > 11000) FROM t GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5$$);
SELECT * FROM compare($$SELECT doc->>'u', max((doc->>'n')::int) FILTER (WHERE id > 11000) FROM t GROUP BY 1 ORDER BY 2 NULLS FIRST, 1 LIMIT 5$$);
SELECT * FROM compare($$SELECT (doc->>'n')::int AS n, count(*) FROM t GROUP BY 1 ORDER BY 1 DESC LIMIT 4$$);
SELECT * FROM compare($$SELECT count(*) FROM t GROUP BY doc->>'u' ORDER BY 1 DESC FETCH FIRST 2 ROWS WITH TIES$$);
-- Not with HAVING, nor where a group that is left out may raise an error.
EXPLAIN (COSTS OFF) SELECT doc->>'u', count(*) FROM t GROUP BY 1 HAVING count(*) > 1 ORDER BY 2 DESC LIMIT 3;
SELECT 1 / (count(*) - 3), count(*) FROM t GROUP BY doc->>'u' ORDER BY 2 DESC LIMIT 1;
RESET enable_hashagg;

-- The leader only gathers, or there is no worker after all.
SET parallel_leader_participation = off;
SELECT * FROM compare($$SELECT doc->>'k', count(*), count(DISTINCT doc->>'u') FROM t GROUP BY 1$$);
RESET parallel_leader_participation;
SET max_parallel_workers = 0;
SELECT * FROM compare($$SELECT doc->>'k', count(*), count(DISTINCT doc->>'u') FROM t GROUP BY 1$$);
RESET max_parallel_workers;
-- In a worker as a whole.
SET max_parallel_workers_per_gather = 0;
SELECT name AS forced FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \gset
SET :forced = on;
SELECT * FROM compare($$SELECT doc->>'k', count(*), count(DISTINCT doc->>'u') FROM t GROUP BY 1$$);
RESET :forced;
SET max_parallel_workers_per_gather = 2;

-- Errors come from workers as they are; what may not run in workers does not.
\set VERBOSITY terse
SELECT sum((doc->>'bad')::int) FROM t;
\set VERBOSITY default
CREATE FUNCTION public.restricted(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL RESTRICTED AS 'SELECT upper($1)';
CREATE FUNCTION parts(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE line text; n bigint = 0;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        n = n + (line ~ 'AmaxAggregate')::int;
    END LOOP;
    RETURN n;
END $$;
SELECT parts($$SELECT doc->>'k', count(*) FROM t GROUP BY 1$$);
ALTER FUNCTION public.restricted SET search_path = public; -- not inlined
SELECT parts($$SELECT doc->>'k', count(*) FROM t WHERE restricted(doc->>'k') = 'K1' GROUP BY 1$$);
SELECT * FROM compare($$SELECT doc->>'k', count(*) FROM t WHERE restricted(doc->>'k') = 'K1' GROUP BY 1$$);
-- Rows of the same transaction, loaded in bulk and not.
SET amax.bulk_threshold = 100;
BEGIN;
SELECT twice($$INSERT INTO t SELECT i, jsonb_build_object('k', 'new', 'u', i) FROM generate_series(1, 2000) i$$) \gexec
SELECT twice($$UPDATE t SET doc = doc || '{"k": "changed"}' WHERE id % 50 = 1$$) \gexec
SELECT * FROM compare($$SELECT doc->>'k', count(*), count(DISTINCT doc->>'u') FROM t GROUP BY 1$$);
COMMIT;
DROP FUNCTION passes, parts, public.restricted;
