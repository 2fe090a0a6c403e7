-- Dates and times: compared with constants of another type, subtracted, and what PostgreSQL computes once per value.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.rows_per_leaf = 500;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'Europe/Berlin';
SELECT twice($$CREATE TABLE t (id int, d date, e date, ts timestamp, tz timestamptz, k text)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, date '2020-03-01' + i % 700, CASE WHEN i % 11 > 0 THEN date '2021-01-01' + i % 37 END, timestamp '2020-03-01' + i * interval '97 minutes',
    timestamptz '2020-03-01' + i * interval '7 hours', 'k' || i % 7 FROM generate_series(1, 4000) i$$) \gexec
SELECT twice($$INSERT INTO t SELECT 5000 + i, d, d, CASE WHEN isfinite(d) AND d < '200000-01-01' THEN d::timestamp END, NULL, 'far'
    FROM generate_series(1, 5) i, unnest('{infinity,-infinity,5874897-12-31,4713-01-01 BC,294277-01-01,2020-03-02,2000-01-01}'::date[]) d$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$INSERT INTO t VALUES (9000, 'infinity', 'infinity', '-infinity', 'infinity', 'page'), (9001, '2020-05-05', NULL, '2020-05-05', NULL, 'page')$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec

-- A date against a timestamp is one against a day: these conditions are decided, and skip leaves, without PostgreSQL.
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE d <= date '2020-06-01' - interval '90' day;
SELECT op, value, sum(c.rows) AS rows, sum(c.missing) AS missing, sum(c.extra) AS extra
FROM unnest('{<,<=,=,<>,>=,>}'::text[]) op,
     unnest('{2020-05-05,2020-05-05 00:00:00.000001,2020-05-04 23:59:59.999999,1999-12-31 12:00,infinity,-infinity,294276-12-31 23:59:59,4713-01-01 BC}'::text[]) value,
     unnest('{d %s timestamp %L, timestamp %2$L %1$s d, d %s timestamptz %L, tz %s timestamp %L, timestamp %2$L %1$s tz, ts %s timestamptz %L}'::text[]) form,
     compare(format('SELECT id FROM t WHERE ' || form, op, value)) c
GROUP BY op, value ORDER BY op, value;
SELECT op, value, sum(c.rows) AS rows, sum(c.missing) AS missing, sum(c.extra) AS extra
FROM unnest('{<,<=,=,<>,>=,>}'::text[]) op,
     unnest('{2020-05-05,1999-12-31,infinity,-infinity,5874897-12-31,4713-01-01 BC}'::text[]) value,
     unnest('{ts %s date %L, date %2$L %1$s ts, tz %s date %L, date %2$L %1$s tz}'::text[]) form,
     compare(format('SELECT id FROM t WHERE ' || form, op, value)) c
GROUP BY op, value ORDER BY op, value;
SELECT c.* FROM compare($$SELECT id FROM t WHERE d < NULL::timestamp OR NOT d < timestamp '2020-04-04 10:00'$$) c;
-- The time zone is that of whoever runs the plan.
PREPARE zoned AS SELECT count(*) FROM t WHERE tz >= date '2020-04-01';
EXECUTE zoned;
SET timezone = 'Pacific/Apia';
EXECUTE zoned;
SELECT count(*) FROM heap_side.t WHERE tz >= date '2020-04-01';
SET timezone = 'Europe/Berlin';

-- Days between dates, and dates by days.
SELECT query, c.* FROM (VALUES
    ($$SELECT sum(e - d), min(d - e), count(e - d) FROM t WHERE id < 5000$$),
    ($$SELECT d - e, count(*) FROM t WHERE id < 5000 GROUP BY 1$$),
    ($$SELECT id FROM t WHERE id < 5000 AND d + 200 < e$$),
    ($$SELECT id FROM t WHERE d - 10 > '2020-03-01'$$),
    ($$SELECT 7 + e, count(*) FROM t WHERE id < 5000 OR d < '2025-01-01' GROUP BY 1$$),
    ($$SELECT d + id, count(*) FROM t WHERE d < '2025-01-01' GROUP BY 1$$),
    ($$SELECT max(d - 100000000) FROM t WHERE d = 'infinity'$$)) AS q (query), compare(query) AS c;
SELECT query, r.* FROM (VALUES
    ($$SELECT sum(d - e) FROM t$$),
    ($$SELECT max(d + 2000000000) FROM t$$),
    ($$SELECT min(d - 10) FROM t$$),
    ($$SELECT max(d) FROM t WHERE d < timestamptz '294276-12-31 23:59:59'$$)) AS q (query), raised(query) AS r;

-- Functions of dates and times, once per value of a query.
SELECT query, c.* FROM (VALUES
    ($$SELECT date_trunc('month', d), count(*) FROM t WHERE id < 5000 GROUP BY 1$$),
    ($$SELECT date_trunc('week', d::timestamp), count(*), sum(id) FROM t WHERE id < 5000 GROUP BY 1$$),
    ($$SELECT extract(year FROM d), extract(month FROM e), count(*) FROM t GROUP BY 1, 2$$),
    ($$SELECT extract(dow FROM d + 3), count(*) FROM t WHERE id < 5000 GROUP BY 1$$),
    ($$SELECT date_trunc('hour', tz), extract(hour FROM tz), count(*) FROM t GROUP BY 1, 2$$),
    ($$SELECT to_char(d, 'YYYY-Mon'), count(*) FROM t WHERE id < 5000 GROUP BY 1$$),
    ($$SELECT date_trunc('day', ts) - interval '1 day', count(*) FROM t GROUP BY 1$$),
    ($$SELECT k || '/' || extract(month FROM e), count(*) FROM t GROUP BY 1$$),
    ($$SELECT id FROM t WHERE d::timestamptz BETWEEN timestamptz '2020-03-29 00:00+0' AND timestamptz '2020-04-10 22:00+0' AND id < 5000$$),
    ($$SELECT id FROM t WHERE d + interval '1 month' > e AND id < 5000$$)) AS q (query), compare(query) AS c;
-- What is remembered of one time zone does not serve another, here in the midst of a query.
BEGIN;
DECLARE c CURSOR FOR SELECT date_trunc('day', tz) AT TIME ZONE 'UTC' AS day FROM t WHERE extract(hour FROM tz) >= 0 ORDER BY id;
DECLARE h CURSOR FOR SELECT date_trunc('day', tz) AT TIME ZONE 'UTC' AS day FROM heap_side.t WHERE extract(hour FROM tz) >= 0 ORDER BY id;
FETCH 1 FROM c;
FETCH 1 FROM h;
ROLLBACK;
-- Another value of a parameter.
PREPARE part AS SELECT extract(month FROM d) + $1::int, count(*) FROM t WHERE id < 5000 AND d + $1::int > '2020-06-01' GROUP BY 1 ORDER BY 1 LIMIT 2;
SET plan_cache_mode = force_generic_plan;
EXECUTE part(1);
EXECUTE part(100);
SELECT x, (SELECT count(*) FROM t WHERE d + x > '2021-12-01' AND id < 5000) FROM generate_series(0, 200, 100) x;
