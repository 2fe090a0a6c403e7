-- HAVING on groups before they are rows: heap's groups and errors.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.rows_per_leaf = 500;
SET max_parallel_workers_per_gather = 0;
SELECT twice($$CREATE TABLE t (id int, g int, small smallint, big bigint, n numeric, p numeric(15, 2), f float8, d date, ts timestamp, s text, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, i % 1000, i % 100, i * 1000000007::bigint, (hashint4(i) % 100000) / 10.0 ^ (i % 5), (hashint4(i) % 100000) / 100.0, i / 7.0, date '2020-01-01' + i % 900,
    timestamp '2020-01-01' + i * interval '1 hour', 's' || i % 30, jsonb_build_object('k', i % 40, 'v', i % 77 / 4.0) FROM generate_series(1, 4000) i$$) \gexec
-- What has no mantissa, is NULL, or is too large together.
SELECT twice($$INSERT INTO t (id, g, big, n, p, d, ts) VALUES (5001, 2001, 9223372036854775807, 'NaN', NULL, 'infinity', '-infinity'), (5002, 2002, 9223372036854775807, 'Infinity', NULL, NULL, NULL),
    (5003, 2002, 1, '-Infinity', 1, NULL, NULL), (5004, 2003, -1, 1e40, 9999999999999.99, '2020-05-05', NULL), (5005, 2003, -1, -1e40, 0.01, '2020-05-06', NULL), (5006, 2004, 0, 5e-30, 180, NULL, NULL),
    (5007, 2005, 0, 180, 180.00, NULL, NULL), (5008, 2006, NULL, NULL, NULL, NULL, NULL)$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, i % 1000, 1, 1, 1.50, 1.5, 1, '2020-01-01', NULL, 'page', '{"k": 1}' FROM generate_series(6000, 6040) i$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec
CREATE TEMP TABLE tried AS SELECT * FROM (VALUES
    ('count(*) > 4'), ('4 < count(*)'), ('count(*) <> 4'), ('count(n) = 0'), ('count(*) > 100000000000'), ('sum(n) > 180'), ('sum(p) >= 180'), ('sum(p) = 180.000'), ('sum(p) <> 180'), ('sum(n) < -0.00000001'),
    ('sum(n) > 0.000000000000000000000000000001'), ('sum(n) > 1e45'), ('sum(p) > ''NaN'''), ('sum(n) = ''NaN'''), ('sum(n) <= ''Infinity'''), ('sum(big) > 9223372036854775807'), ('sum(big) < 5000000000'), ('sum(id) > 10000'),
    ('sum(small) < 200'), ('sum(f) > 1000'), ('avg(p) > 5'), ('avg(id) < 2000'), ('min(n) < 0'), ('max(big) > 5'), ('max(small) = 7::bigint'), ('min(d) > ''2020-03-01'''), ('max(d) = ''infinity'''), ('max(d) IS NULL'),
    ('max(ts) >= ''2020-05-01'''), ('max(s) > ''s2'''), ('count(DISTINCT s) > 1'), ('count(*) FILTER (WHERE id % 3 = 0) = 2'), ('sum(p) > 0 AND count(*) = 4 AND sum(n) < 100'), ('count(*) > 3 OR sum(p) > 0'),
    ('NOT sum(p) > 0'), ('sum(p) > NULL'), ('sum(p) > sum(n)'), ('sum(p) + 1 > 5'), ('bool_and(p > 0) AND sum(p) > 1000'), ('sum(p) > 1000 AND string_agg(s, '','') IS NOT NULL'), ('stddev(id) > 10 AND count(*) > 1'),
    ('sum((doc->>''v'')::numeric) > 30'), ('sum(p) > (SELECT 100)'), ('count(*) = 4::smallint AND g < 500')) h (condition);
SELECT condition, sum(c.rows) AS rows, sum(c.missing) AS missing, sum(c.extra) AS extra
FROM tried, LATERAL (VALUES (format('SELECT g, sum(p), count(*) FROM t GROUP BY g HAVING %s', condition)), (format('SELECT max(id), sum(n) FROM t HAVING %s', replace(condition, ' AND g < 500', ''))),
    (format('SELECT g, s, count(*), GROUPING(s) FROM t GROUP BY g, ROLLUP (s) HAVING %s', condition)), (format('SELECT sum(p), avg(n) FROM t GROUP BY id %% 500, doc->>''k'' HAVING %s', replace(condition, ' AND g < 500', '')))) AS q (query), compare(query) c
GROUP BY condition ORDER BY condition;
-- All results of a group are computed before HAVING, and its conditions one after the other.
SELECT query, r.* FROM (VALUES
    ($$SELECT g, sum(n * 1e131000 * 1e71) FROM t WHERE g < 2000 GROUP BY g HAVING count(*) > 100$$),
    ($$SELECT g, sum(n * 1e131000 * 1e50) FROM t WHERE g < 2000 GROUP BY g HAVING count(*) > 100$$),
    ($$SELECT g FROM t GROUP BY g HAVING 1 / (count(*) - 1) > 0 AND sum(p) > 1000000000$$),
    ($$SELECT g FROM t GROUP BY g HAVING sum(p) > 1e17 AND 1 / (count(*) - 1) > 0$$),
    ($$SELECT 1 / (count(*) - 1) FROM t GROUP BY g HAVING count(*) > 1$$),
    ($$SELECT 1 / (count(*) - 1) FROM t GROUP BY g HAVING count(*) > 0$$)) AS q (query), raised(query) AS r;
-- Those that are left out are counted; several passes; again with other parameters; by workers.
SELECT twice($$CREATE TABLE many AS SELECT i / 3 AS g, (i % 50)::numeric(15, 2) AS p, i AS n FROM generate_series(1, 60000) i$$) \gexec
SELECT twice($$VACUUM ANALYZE many$$) \gexec
SET search_path = amax_side, public, twins;
CREATE FUNCTION filtered(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ 'Filter' THEN RETURN NEXT line; END IF;
    END LOOP;
END $$;
SELECT filtered('SELECT g FROM t GROUP BY g HAVING sum(p) > 180 AND count(*) > 4');
SET work_mem = '256kB';
SELECT c.* FROM compare($$SELECT g, sum(p), count(DISTINCT n) FROM many GROUP BY g HAVING sum(p) > 142$$) c;
SELECT c.* FROM compare($$SELECT count(*) FROM generate_series(1, 3) x, LATERAL (SELECT g FROM many WHERE n % 3 = x % 3 GROUP BY g HAVING sum(p) > 47) q$$) c;
SELECT c.* FROM compare($$SELECT g FROM many GROUP BY g HAVING sum(p) > 142 ORDER BY sum(n) DESC LIMIT 5$$) c;
RESET work_mem;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT c.* FROM compare($$SELECT g, sum(p), count(DISTINCT n) FROM many GROUP BY g HAVING sum(p) > 142$$) c;
SELECT c.* FROM compare($$SELECT g, sum(p) FROM t GROUP BY g HAVING sum(n) > 142 AND min(d) > '2020-02-02'$$) c;
DROP FUNCTION filtered;
