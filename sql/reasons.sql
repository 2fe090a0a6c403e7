-- EXPLAIN (VERBOSE): what of a query PostgreSQL evaluates, and why.
CREATE TABLE t (id int, n numeric, s text, c text, at timestamptz, span interval, p point, doc jsonb) USING amax;
INSERT INTO t SELECT i, i / 3.0, 's' || i % 10, 'c', timestamptz '2026-01-01 00:00+00' + i * interval '1 minute', i * interval '1 minute', point(i, i), jsonb_build_object('k', i % 5, 'o', jsonb_build_object('x', i)) FROM generate_series(1, 2000) i;
VACUUM ANALYZE t;
SET timezone = 'UTC';
SET max_parallel_workers_per_gather = 0;
-- The nodes of a plan, and the lines in question.
CREATE FUNCTION reasons(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
        IF line ~ 'Custom Scan|Aggregate|Evaluated by PostgreSQL' THEN RETURN NEXT regexp_replace(line, '^ *(-> *)?', ''); END IF;
    END LOOP;
END $$;
-- Conditions: functions, types, collations, casts, subqueries; those behind one that is left as a whole; with a limit.
SELECT reasons($$SELECT count(*) FROM t WHERE md5(s) = 'x' AND s LIKE 's%' AND span > '1 hour' AND p <@ box '((0,0),(1,1))'$$);
SELECT reasons($$SELECT count(*) FROM t WHERE s ~ '^(a|b)' AND s ~ '^s'$$);
SELECT reasons($$SELECT count(*) FROM t WHERE (doc->>'k')::interval > '1 hour' OR s = ANY (ARRAY['a', c]) OR left(s, id) = c OR s || c LIKE c$$);
SELECT reasons($$SELECT count(*) FROM t WHERE random() < 2 AND n > 5 AND n > (SELECT count(*) FROM t u WHERE u.id < t.id)$$);
SELECT reasons($$SELECT s FROM t WHERE md5(s) = 'x' AND n > 5 LIMIT 3$$);
-- The same for each value, which is no loss.
SELECT reasons($$SELECT count(*) FROM t WHERE date_trunc('day', at) = '2026-01-02' AND to_char(at, 'HH24') = '05'$$);
-- Keys and arguments.
SELECT reasons($$SELECT md5(s), sum(length(md5(doc->>'k'))), max(extract(day FROM span)) FILTER (WHERE reverse(s) > 'a') FROM t GROUP BY 1$$);
SELECT reasons($$SELECT id + 1, sum(n * 2), upper(s) FROM t WHERE n + 1 > 5 GROUP BY 1, 3$$);
-- Aggregates and keys that leave all of it to PostgreSQL.
SELECT reasons($$SELECT doc->'o', count(*) FROM t GROUP BY 1$$);
SELECT reasons($$SELECT span, jsonb_object_agg(s, n), array_agg(s ORDER BY n), max(span), sum(DISTINCT n), min(n) FROM t GROUP BY 1$$);
SELECT reasons($$SELECT s, json_agg(md5(s)), count(*) FILTER (WHERE random() < 2) FROM t GROUP BY 1 HAVING jsonb_object_agg(s, c) IS NOT NULL$$);
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT reasons($$SELECT s, max(span) FROM t GROUP BY 1$$);
SET max_parallel_workers_per_gather = 0;
-- Joins, unnesting, and the best rows.
SELECT reasons($$SELECT reverse(b.s), count(*) FROM t a JOIN t b USING (id) WHERE md5(a.s) > 'a' GROUP BY 1$$);
SELECT reasons($$SELECT reverse(key), count(*) FROM t, jsonb_each_text(doc) WHERE md5(value) > 'a' GROUP BY 1$$);
SELECT reasons($$SELECT id FROM t ORDER BY reverse(s), id LIMIT 5$$);
-- As a list, where plans are for programs.
CREATE FUNCTION listed(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE, FORMAT json) ' || query INTO plan;
    RETURN jsonb_path_query_array(plan, 'strict $.**."Evaluated by PostgreSQL"');
END $$;
SELECT listed($$SELECT count(*) FROM t WHERE md5(s) = 'x' AND reverse(c) = 'y'$$);
DROP TABLE t;
DROP FUNCTION reasons, listed;
