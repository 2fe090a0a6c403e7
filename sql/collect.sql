-- Aggregates that keep all of a group's values, and min and max of text in any deterministic collation.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.rows_per_leaf = 500;
SET max_parallel_workers_per_gather = 0;

CREATE COLLATION public.collect_loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT twice($$CREATE TABLE t (id int, g int, i int, s smallint, b bigint, f float8, r real, n numeric, m numeric(10, 2), d date, ts timestamp, tz timestamptz, bo bool, u uuid,
    x text, v varchar(40), c char(6), icu text COLLATE "en-x-icu", bytes text COLLATE "C", l text COLLATE public.collect_loose, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t (id, g, i, f, n, m, x, icu, c) VALUES (-1, 1, 5, '-0', 1.0, 'NaN', '', 'zz', 'z'), (-2, 1, 5, 'NaN', 1.00, 3, 'ÿ', NULL, ''), (-5, 1, 5, 0, 1, 3, 'ÿ', NULL, '')$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, i % 7, CASE WHEN i % 11 > 0 THEN hashint4(i) % 50 END, hashint4(i) % 3, hashint8extended(i, 5), (hashint4(i) % 1000) / 8.0, i / 3.0::real,
    (hashint4(i) % 9)::numeric / 2, (hashint4(i) % 5000) / 100.0, date '2024-01-01' + abs(hashint4(i) % 90), timestamp '2024-01-01' + i * interval '1 hour', timestamptz '2024-01-01' + i % 100 * interval '1 day',
    CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN false ELSE i % 2 = 0 END, md5((i % 300)::text)::uuid,
    CASE WHEN i % 13 > 0 THEN (ARRAY['a', 'B', 'á', 'b ', 'A', '', 'ab'])[1 + i % 7] || i % 40 END, md5(i::text), (ARRAY['a', 'B', E'a\t', 'é', ' '])[1 + i % 5], (ARRAY['ä', 'Z', 'a', 'A-b', 'Ab'])[1 + i % 5],
    md5((i * 7)::text), (ARRAY['x', 'X'])[1 + i % 2], jsonb_build_object('k', i % 40, 'n', i % 97, 't', 't' || i % 50, 'w', i / 8.0)
    FROM generate_series(1, 5000) i$$) \gexec
VACUUM t;
SELECT twice($$INSERT INTO t (id, g, i, f, n, m, x, icu, c) VALUES (-3, 9, NULL, 0.125, 'NaN', 2, NULL, '', 'y'), (-4, 10, NULL, NULL, NULL, NULL, NULL, NULL, NULL)$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec

-- What is taken.
EXPLAIN (COSTS OFF) SELECT max(x), min(icu), max(c) FROM t;
EXPLAIN (COSTS OFF) SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY f), percentile_disc(0.9) WITHIN GROUP (ORDER BY x DESC), mode() WITHIN GROUP (ORDER BY d) FROM t GROUP BY g;
EXPLAIN (COSTS OFF) SELECT array_agg(i), string_agg(DISTINCT x, ',' ORDER BY x), jsonb_agg(n ORDER BY n DESC) FROM t;
-- And what is not.
CREATE FUNCTION takes(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'AmaxAggregate' THEN RETURN true; END IF;
    END LOOP;
    RETURN false;
END $$;
SELECT takes($$SELECT max(l) FROM t$$);
SELECT takes($$SELECT string_agg(x, ',' ORDER BY i) FROM t$$);
SELECT takes($$SELECT string_agg(DISTINCT x, v) FROM t$$);
SELECT takes($$SELECT percentile_disc(ARRAY[0.1, 0.2]) WITHIN GROUP (ORDER BY i) FROM t$$);
SELECT takes($$SELECT g, percentile_disc(g / 10.0) WITHIN GROUP (ORDER BY i) FROM t GROUP BY g$$);
SELECT takes($$SELECT string_agg(x, ',' ORDER BY x USING ~>~) FROM t$$);

-- What takes values in their order takes them as the scan hands them up.
CREATE TABLE queries AS SELECT number, query FROM unnest(ARRAY[
    $$SELECT max(x), min(x), max(icu), min(icu), max(c), min(c), max(bytes), min(bytes), max(v), min(v), max(l), min(l) FROM t$$,
    $$SELECT g, max(x), min(x), max(icu), min(icu), max(c), min(c), max(bytes), min(bytes) FROM t GROUP BY g$$,
    $$SELECT i, max(x), min(x COLLATE "C"), max(x COLLATE "en-x-icu"), min(icu) FILTER (WHERE g > 3), max(doc->>'t' COLLATE "en-x-icu"), min(doc->>'t') FROM t GROUP BY i$$,
    $$SELECT id / 2, max(x), min(icu), max(c) FROM t GROUP BY 1$$,
    $$SELECT max(x), min(icu), max(c) FROM t WHERE id = -4$$,
    $$SELECT g, max(x), min(icu) FROM t GROUP BY ROLLUP (g)$$,
    $$SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f), percentile_cont(0) WITHIN GROUP (ORDER BY f), percentile_cont(1) WITHIN GROUP (ORDER BY f DESC), percentile_cont(0.333) WITHIN GROUP (ORDER BY i), percentile_cont(0.25) WITHIN GROUP (ORDER BY m) FROM t WHERE id > 0$$,
    $$SELECT percentile_cont(p) WITHIN GROUP (ORDER BY f) FROM t, (VALUES (0.2::float8)) p(p) GROUP BY p$$,
    $$SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY f), percentile_cont(0.9) WITHIN GROUP (ORDER BY r) FROM t GROUP BY g$$,
    $$SELECT percentile_cont(NULL) WITHIN GROUP (ORDER BY f), percentile_disc(NULL) WITHIN GROUP (ORDER BY i) FROM t$$,
    $$SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY i), percentile_disc(0.1) WITHIN GROUP (ORDER BY s DESC), percentile_disc(1) WITHIN GROUP (ORDER BY b), percentile_disc(0) WITHIN GROUP (ORDER BY f),
      percentile_disc(0.7) WITHIN GROUP (ORDER BY r), trim_scale(percentile_disc(0.3) WITHIN GROUP (ORDER BY n)), percentile_disc(0.6) WITHIN GROUP (ORDER BY m DESC NULLS LAST), percentile_disc(0.5) WITHIN GROUP (ORDER BY d),
      percentile_disc(0.5) WITHIN GROUP (ORDER BY ts), percentile_disc(0.5) WITHIN GROUP (ORDER BY tz), percentile_disc(0.8) WITHIN GROUP (ORDER BY bo), percentile_disc(0.5) WITHIN GROUP (ORDER BY u) FROM t GROUP BY g$$,
    $$SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY x), percentile_disc(0.2) WITHIN GROUP (ORDER BY icu DESC), percentile_disc(0.7) WITHIN GROUP (ORDER BY c), percentile_disc(0.9) WITHIN GROUP (ORDER BY v),
      percentile_disc(0.4) WITHIN GROUP (ORDER BY bytes), percentile_disc(0.4) WITHIN GROUP (ORDER BY doc->>'t') FROM t GROUP BY g$$,
    $$SELECT g, mode() WITHIN GROUP (ORDER BY i), mode() WITHIN GROUP (ORDER BY i DESC), mode() WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY icu DESC), trim_scale(mode() WITHIN GROUP (ORDER BY n)), mode() WITHIN GROUP (ORDER BY m),
      mode() WITHIN GROUP (ORDER BY d), mode() WITHIN GROUP (ORDER BY bo), mode() WITHIN GROUP (ORDER BY c), mode() WITHIN GROUP (ORDER BY b), mode() WITHIN GROUP (ORDER BY (doc->>'n')::int) FILTER (WHERE i > 0) FROM t GROUP BY g$$,
    $$SELECT mode() WITHIN GROUP (ORDER BY f), mode() WITHIN GROUP (ORDER BY n), percentile_disc(0.5) WITHIN GROUP (ORDER BY f), percentile_disc(0.5) WITHIN GROUP (ORDER BY n) FROM t WHERE g = 1 OR id < 0$$,
    $$SELECT array_agg(i), array_agg(x), array_agg(bo), array_agg(ts), array_agg(n), array_agg(f), array_agg(u), array_agg(c), array_agg(v), array_agg(s), array_agg(r), array_agg(m), array_agg(tz), array_agg(d) FROM (SELECT * FROM t WHERE id BETWEEN 1 AND 900) q$$,
    $$SELECT g, array_agg(x ORDER BY x), array_agg(DISTINCT i), array_agg(i ORDER BY i DESC), array_agg(i ORDER BY i NULLS FIRST), array_agg(DISTINCT bo ORDER BY bo DESC NULLS LAST), array_agg(DISTINCT x) FROM t GROUP BY g$$,
    $$SELECT g, array_agg(DISTINCT trim_scale(n) ORDER BY trim_scale(n) DESC), array_agg(m ORDER BY m), array_agg(f ORDER BY f), array_agg(DISTINCT f), array_agg(DISTINCT c) FROM t WHERE id > 0 GROUP BY g$$,
    $$SELECT array_agg(n ORDER BY n)::numeric(20, 4)[], array_agg(DISTINCT n)::numeric(20, 4)[], array_agg(f ORDER BY f DESC)::numeric[] FROM t WHERE id NOT IN (-3, -4)$$,
    $$SELECT g, array_agg(i), array_agg(x), array_agg(n) FROM t GROUP BY g$$,
    $$SELECT array_agg(i) FROM t WHERE id = 0$$,
    $$SELECT array_agg(i) FILTER (WHERE g = 3), count(*), sum(i), array_agg(7), string_agg('z', '') FILTER (WHERE bo) FROM t$$,
    $$SELECT g, string_agg(x, ','), string_agg(v, NULL), string_agg(trim(c), ''), string_agg(doc->>'t', 'é') FROM t GROUP BY g$$,
    $$SELECT g, string_agg(DISTINCT x, '|'), string_agg(DISTINCT x, '|' ORDER BY x DESC), string_agg(icu, '-' ORDER BY icu), string_agg(DISTINCT doc->>'t', 'é') FROM t GROUP BY g$$,
    $$SELECT id / 3, string_agg(x, ',' ORDER BY x), array_agg(i ORDER BY i), mode() WITHIN GROUP (ORDER BY s) FROM t GROUP BY 1$$,
    $$SELECT g, jsonb_agg(i), jsonb_agg(n), jsonb_agg(bo), jsonb_agg(x), jsonb_agg(m), jsonb_agg(s) FROM t GROUP BY g$$,
    $$SELECT g, jsonb_agg(b ORDER BY b), jsonb_agg(DISTINCT v), jsonb_agg(DISTINCT bo) FROM t GROUP BY g$$,
    $$SELECT g, bo, array_agg(i ORDER BY i), percentile_disc(0.5) WITHIN GROUP (ORDER BY x), string_agg(DISTINCT x, ',') FROM t GROUP BY GROUPING SETS ((g), (bo), (g, bo), ())$$,
    $$SELECT g, mode() WITHIN GROUP (ORDER BY x) FROM t GROUP BY g HAVING percentile_disc(0.5) WITHIN GROUP (ORDER BY i) > 0 AND array_length(array_agg(i), 1) > 1$$,
    $$SELECT count(DISTINCT x), count(DISTINCT b), percentile_disc(0.5) WITHIN GROUP (ORDER BY b), array_agg(DISTINCT s) FROM t$$,
    $$SELECT (SELECT percentile_disc(p) WITHIN GROUP (ORDER BY i) FROM t) FROM (VALUES (0.1::float8), (0.9), (NULL)) q(p)$$,
    $$SELECT p, (SELECT string_agg(x, ',') FROM t WHERE t.g = p) FROM generate_series(0, 3) p$$,
    $$SELECT string_agg(x, v), string_agg(x, NULLIF(x, 'a7')), string_agg(NULL::text, x), string_agg(x, x) FILTER (WHERE i > 10), string_agg(doc->>'t', doc->>'none') FROM t$$,
    $$SELECT g, string_agg(x, left(v, i % 3)), string_agg(x, trim(c)) FILTER (WHERE bo), string_agg(v, icu), string_agg(left(v, 1 / nullif(i % 2, 0)), NULL) FROM t GROUP BY g$$,
    $$SELECT g, bo, string_agg(x, ','), string_agg(x, v) FROM t GROUP BY GROUPING SETS ((g), (bo), (g, bo), ())$$,
    $$SELECT id / 3, length(string_agg(x, v)), max(x) FROM t WHERE id > 0 GROUP BY 1$$,
    $$SELECT g, count(*) FROM t GROUP BY g HAVING string_agg(x, v) LIKE '%a%'$$
]) WITH ORDINALITY AS q(query, number);
SELECT number, c.* FROM queries, compare(query) AS c ORDER BY number;

-- Groups, and then the values of one, that do not fit in memory. (Heap's plan may sort rows by group then, in which those of a group lose their order.)
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT number, c.* FROM queries, compare(query) AS c WHERE query !~ '^SELECT g, (bo, )?(array|string|jsonb)_agg\([a-z]+[,)]' ORDER BY number;
SELECT twice($$CREATE TABLE wide (id int, g int, b bigint, n numeric, f float8, x text, icu text COLLATE "en-x-icu")$$) \gexec
SELECT twice($$INSERT INTO wide SELECT i, (i > 20000)::int + (i > 39990)::int, hashint8extended(i, 5) / 1000000000000, (hashint4(i) % 1000)::numeric / (1 + i % 2), (hashint4(i) % 999) / 4.0, md5((i % 9000)::text), 'x' || i % 3000 FROM generate_series(1, 40000) i$$) \gexec
VACUUM wide;
SELECT twice($$ANALYZE wide$$) \gexec
SELECT c.* FROM unnest(ARRAY[
    $$SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY b), trim_scale(percentile_disc(0.3) WITHIN GROUP (ORDER BY n)), percentile_cont(0.77) WITHIN GROUP (ORDER BY f), mode() WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY icu DESC) FROM wide$$,
    $$SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY f DESC), percentile_cont(1) WITHIN GROUP (ORDER BY f) FROM wide$$,
    $$SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY b), percentile_disc(0.3) WITHIN GROUP (ORDER BY x), trim_scale(mode() WITHIN GROUP (ORDER BY n)), percentile_cont(0.5) WITHIN GROUP (ORDER BY f) FROM wide GROUP BY g$$,
    $$SELECT g, array_agg(b ORDER BY b), string_agg(DISTINCT x, ',' ORDER BY x DESC), array_agg(DISTINCT trim_scale(n)), array_agg(NULLIF(b % 10, 1) ORDER BY NULLIF(b % 10, 1) NULLS FIRST) FROM wide GROUP BY g$$,
    $$SELECT b % 1000, percentile_disc(0.5) WITHIN GROUP (ORDER BY icu), array_agg(id ORDER BY id DESC) FROM wide GROUP BY 1$$,
    $$SELECT array_agg(b), string_agg(x, ','), percentile_disc(0.1) WITHIN GROUP (ORDER BY b) FROM wide$$,
    $$SELECT id / 5, array_agg(b), string_agg(x, ',') FROM wide GROUP BY 1$$,
    $$SELECT id / 5, string_agg(x, icu) FROM wide GROUP BY 1$$,
    $$SELECT g, string_agg(x, icu) FROM wide GROUP BY g$$,
    $$SELECT count(DISTINCT b), count(DISTINCT x), percentile_disc(0.5) WITHIN GROUP (ORDER BY b), mode() WITHIN GROUP (ORDER BY x) FROM wide$$,
    $$SELECT g, mode() WITHIN GROUP (ORDER BY icu) FROM wide GROUP BY g LIMIT 1$$,
    $$SELECT (SELECT percentile_disc(p) WITHIN GROUP (ORDER BY b) FROM wide WHERE g < 2) FROM (VALUES (0.1::float8), (0.9)) q(p)$$
]) AS q, compare(q) AS c;
RESET work_mem;
RESET hash_mem_multiplier;

-- Errors.
SELECT r.* FROM unnest(ARRAY[
    'SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY f) FROM t', 'SELECT percentile_disc(-0.25) WITHIN GROUP (ORDER BY i) FROM t',
    'SELECT percentile_disc(''NaN'') WITHIN GROUP (ORDER BY i) FROM t', 'SELECT percentile_disc(1.23456789e100) WITHIN GROUP (ORDER BY i) FROM t WHERE false', 'SELECT percentile_cont(''-Infinity'') WITHIN GROUP (ORDER BY f) FROM t',
    'SELECT percentile_disc(2) WITHIN GROUP (ORDER BY i) FROM t GROUP BY g HAVING false', 'SELECT array_agg(1 / i) FROM t', 'SELECT array_agg(1 / i) FILTER (WHERE i > 0) FROM t', 'SELECT string_agg(x, left(x, 1 / i)) FROM t']) q, raised(q) r;

-- With parameters, in workers' queries, and with a limit. (Not the first: of values that are equal in a loose collation any may be the greatest.)
PREPARE part(float8) AS SELECT percentile_disc($1) WITHIN GROUP (ORDER BY i) = (SELECT percentile_disc($1) WITHIN GROUP (ORDER BY i) FROM heap_side.t) AS same FROM t;
SET plan_cache_mode = force_generic_plan;
EXECUTE part(0.1);
EXECUTE part(0.9);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT c.* FROM queries, compare(query) AS c WHERE number IN (2, 3, 9, 11, 23, 35) ORDER BY number;
