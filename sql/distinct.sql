-- SELECT DISTINCT by columns: groups of all that is selected. And groups of char(n), which has trailing blanks.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.rows_per_leaf = 500;
SET max_parallel_workers_per_gather = 0;

SELECT twice($$CREATE TABLE t (id int, c char(3), x numeric, f float8, at timestamptz, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, CASE WHEN i % 4 > 0 THEN 'c' || i % 4 END, (i % 8)::numeric(10, 2), CASE WHEN i % 5 > 0 THEN (i % 5 - 3) * 0.0 ELSE 'NaN' END, '2024-01-01'::timestamptz + i % 30 * interval '1 day',
    jsonb_build_object('k', 'k' || i % 7, 'n', i % 11, 'u', 'user ' || i * 7919 % 4000, 'b', CASE WHEN i % 13 = 0 THEN 'null'::jsonb ELSE to_jsonb(i % 3 = 0) END) - CASE WHEN i % 17 = 0 THEN 'k' ELSE '' END
    FROM generate_series(1, 6000) i$$) \gexec
VACUUM t;
SELECT twice($$INSERT INTO t SELECT i, 'hot', 0.50, -0.0, '2023-05-06', jsonb_build_object('k', 'hot', 'n', i) FROM generate_series(1, 50) i$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 100 = 3$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec

EXPLAIN (COSTS OFF) SELECT DISTINCT doc->>'k' FROM t;
EXPLAIN (COSTS OFF) SELECT DISTINCT doc->>'k', (doc->>'n')::int FROM t WHERE id > 100 ORDER BY 2 DESC, 1 LIMIT 3;
-- What is no key of ours, and what is selected of other rows.
EXPLAIN (COSTS OFF) SELECT DISTINCT doc->'k' FROM t;
EXPLAIN (COSTS OFF) SELECT DISTINCT doc->>'k', count(*) OVER () FROM t;
EXPLAIN (COSTS OFF) SELECT DISTINCT count(*) FROM t GROUP BY doc->>'k';
SELECT c.*, query FROM (VALUES
    ($$SELECT DISTINCT doc->>'k' FROM t$$),
    ($$SELECT DISTINCT doc->>'k', (doc->>'n')::int FROM t WHERE id > 100$$),
    ($$SELECT DISTINCT (doc->>'n')::int, doc->>'k', (doc->>'b')::bool FROM t$$),
    ($$SELECT DISTINCT upper(doc->>'k'), id % 3 FROM t$$),
    ($$SELECT DISTINCT x FROM t$$),
    ($$SELECT DISTINCT f FROM t$$),
    ($$SELECT DISTINCT c, at FROM t$$),
    ($$SELECT DISTINCT date_trunc('week', at), f > 0 FROM t$$),
    ($$SELECT DISTINCT 1, 'one' FROM t$$),
    ($$SELECT DISTINCT 1, id FROM t WHERE id < 50$$),
    ($$SELECT DISTINCT doc->>'k' FROM t WHERE id < 0$$),
    ($$SELECT DISTINCT doc->>'u' FROM t$$),
    ($$SELECT DISTINCT doc->'k', doc->'b' FROM t$$),
    ($$SELECT DISTINCT count(*) FROM t GROUP BY doc->>'k'$$),
    ($$SELECT DISTINCT doc->>'k', count(*) OVER () FROM t$$),
    ($$SELECT DISTINCT random() < 2, doc->>'k' FROM t$$),
    ($$SELECT DISTINCT jsonb_object_keys(doc) FROM t$$),
    ($$SELECT count(*), max(k) FROM (SELECT DISTINCT doc->>'k' AS k, (doc->>'n')::int FROM t OFFSET 2) s$$),
    ($$SELECT DISTINCT doc->>'k' AS k FROM t UNION ALL SELECT DISTINCT doc->>'u' FROM t$$),
    ($$SELECT g, s.k FROM generate_series(1, 3) g, LATERAL (SELECT DISTINCT doc->>'k' AS k FROM t WHERE (doc->>'n')::int = g) s$$)
) AS q (query), compare(query) AS c;
-- char(n): equal if the bytes are, as they are padded; without a length they are not, and order is PostgreSQL's.
SELECT twice($$CREATE TABLE padded (id int, c char(5), d bpchar, f char(2) COLLATE "C", e char(2) COLLATE "und-x-icu")$$) \gexec
SELECT twice($$INSERT INTO padded SELECT i, substr('ab' || E'\u0001' || 'é', i % 5, i % 3), repeat('a', i % 2) || repeat(' ', i % 4), chr(65 + i % 3), nullif(chr(65 + i % 7), 'B') FROM generate_series(1, 3000) i$$) \gexec
VACUUM padded;
SELECT twice($$INSERT INTO padded SELECT -i, 'ab', 'a', 'x', '' FROM generate_series(1, 9) i$$) \gexec
EXPLAIN (COSTS OFF) SELECT c, count(DISTINCT f) FROM padded WHERE f <> 'A' GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT DISTINCT d FROM padded;
EXPLAIN (COSTS OFF) SELECT c FROM padded ORDER BY c LIMIT 3;
SELECT c.*, query FROM (VALUES
    ($$SELECT c, count(*) FROM padded GROUP BY 1$$),
    ($$SELECT c, f, count(*), count(DISTINCT c), min(c), max(f) FROM padded WHERE c = 'ab' OR f IN ('B', 'x  ') GROUP BY 1, 2$$),
    ($$SELECT c, e, count(DISTINCT c), count(DISTINCT e) FROM padded GROUP BY 1, 2 HAVING c < 'b'$$),
    ($$SELECT DISTINCT d, length(d) FROM padded WHERE d <> 'b'$$),
    ($$SELECT count(DISTINCT d), count(DISTINCT c), count(DISTINCT c::text), count(DISTINCT c || 'x') FROM padded$$),
    ($$SELECT c || '|', octet_length(c), c::varchar, left(c, 1), upper(c) FROM padded GROUP BY c$$),
    ($$SELECT c, f FROM (SELECT c, f FROM padded ORDER BY c DESC NULLS LAST, f, id LIMIT 9) x$$),
    ($$SELECT count(*), sum(a.id) FROM padded a JOIN (SELECT DISTINCT c, f FROM padded) b ON a.c = b.f$$)
) AS q (query), compare(query) AS c;
-- In order, and the first of them.
SELECT DISTINCT doc->>'k' AS k, (doc->>'n')::int AS n FROM t ORDER BY n DESC NULLS LAST, k LIMIT 3;
SELECT DISTINCT x FROM t ORDER BY x DESC LIMIT 2 OFFSET 1;
-- An error is heap's.
SELECT DISTINCT (doc->>'k')::int FROM t WHERE id > 10;
-- Prepared, and by workers.
PREPARE kinds (int) AS SELECT DISTINCT doc->>'k' AS k FROM t WHERE id % $1 = 0 ORDER BY k;
EXECUTE kinds (1000);
EXECUTE kinds (3000);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT DISTINCT doc->>'k' FROM t;
SELECT * FROM compare($$SELECT DISTINCT doc->>'k', (doc->>'n')::int FROM t$$);
