-- stddev, variance and their like, of integers and floats, to the last digit.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.rows_per_leaf = 500;
SET max_parallel_workers_per_gather = 0;

SELECT twice($$CREATE TABLE t (id int, small smallint, big bigint, f float8, g float4, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, CASE WHEN i % 7 > 0 THEN hashint4(i) % 30000 END, hashint8extended(i, 5), (i % 97 - 40) / 7.0, i / 3.0, jsonb_build_object('k', i % 40, 'n', hashint4(i * 3) % 1000, 'p', i % 9)
    FROM generate_series(1, 6000) i$$) \gexec
VACUUM t;
SELECT twice($$INSERT INTO t VALUES (-1, 5, -9223372036854775808, 'NaN', 1, '{"k": 100}'), (-2, 5, 9223372036854775807, 'Infinity', 'NaN', '{"k": 101, "n": 3}'), (-3, -5, 0, 1e300, 0, '{"k": 101, "n": 4}')$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec

-- All there are, of one type.
CREATE FUNCTION all_of(value text) RETURNS text LANGUAGE sql AS
    $$ SELECT string_agg(format('%s(%s)', name, value), ', ') FROM unnest('{stddev,stddev_pop,stddev_samp,variance,var_pop,var_samp}'::text[]) name $$;
EXPLAIN (COSTS OFF) SELECT stddev(small), var_pop((doc->>'n')::int) FROM t;
EXPLAIN (COSTS OFF) SELECT stddev(id::numeric) FROM t;
EXPLAIN (COSTS OFF) SELECT stddev(id::numeric(30, 5)) FROM t;
SELECT query, c.* FROM (VALUES
    (format($$SELECT %s FROM t$$, all_of('small'))),
    (format($$SELECT %s FROM t$$, all_of('id'))),
    (format($$SELECT %s FROM t$$, all_of('big'))),
    (format($$SELECT %s FROM t WHERE id > 0$$, all_of('f'))),
    (format($$SELECT %s FROM t WHERE id > 0$$, all_of('g'))),
    (format($$SELECT %s FROM t WHERE id < 0$$, all_of('g'))),
    (format($$SELECT %s FROM t WHERE id IN (-1, -2, 7)$$, all_of('f'))),
    (format($$SELECT %s FROM t WHERE id = 5$$, all_of('id'))),
    (format($$SELECT %s FROM t WHERE id = 5$$, all_of('f'))),
    (format($$SELECT %s FROM t WHERE id = 0$$, all_of('big'))),
    (format($$SELECT id, %s FROM t GROUP BY 1$$, all_of('big'))),
    (format($$SELECT id / 2, %s FROM t GROUP BY 1$$, all_of('big'))),
    (format($$SELECT id / 3, %s FROM t GROUP BY 1$$, all_of('small'))),
    (format($$SELECT (doc->>'k')::int, %s FROM t GROUP BY 1$$, all_of('(doc->>''n'')::int'))),
    (format($$SELECT (doc->>'k')::int, %s FROM t GROUP BY 1$$, all_of('(doc->>''p'')::bigint'))),
    (format($$SELECT (doc->>'k')::int, %s FROM t WHERE id > 0 GROUP BY 1$$, all_of('(doc->>''n'')::float8'))),
    (format($$SELECT doc->>'p', %s FROM t GROUP BY 1$$, all_of('id % 2'))),
    (format($$SELECT doc->>'p', %s FROM t GROUP BY 1$$, all_of('7'))),
    ($$SELECT stddev(id) FILTER (WHERE id % 3 = 0), round(variance(small), 2), stddev(id)::float8 / avg(id)::float8 FROM t HAVING var_pop(id) > 0$$),
    (format($$SELECT %s FROM t$$, all_of('(id::numeric / 3)::numeric(40, 20)'))),
    (format($$SELECT (doc->>'k')::int, %s FROM t GROUP BY 1$$, all_of('(small / 100.0)::numeric(10, 3)'))),
    (format($$SELECT (doc->>'k')::int, %s FROM t GROUP BY 1$$, all_of('(doc->>''n'')::numeric(10)'))),
    (format($$SELECT id %% 5, %s FROM t GROUP BY 1$$, all_of('(big * 1e10)::numeric(60, 3)'))),
    (format($$SELECT id %% 5, %s FROM t GROUP BY 1$$, all_of('(CASE WHEN id % 2 = 0 THEN 1.50 ELSE big / 1000000.0 END)::numeric(1000, 900)'))),
    (format($$SELECT id / 3, %s FROM t GROUP BY 1$$, all_of('1.50::numeric(3, 2)'))),
    (format($$SELECT %s FROM t WHERE id = 5$$, all_of('(id * 1.25)::numeric(5, 2)'))),
    (format($$SELECT id / 3, %s FROM t WHERE id < 100 GROUP BY 1$$, all_of('(CASE id % 7 WHEN 1 THEN numeric ''NaN'' ELSE id * 1e-30 END)::numeric(100, 50)'))),
    -- Without a precision: PostgreSQL's.
    (format($$SELECT %s FROM t$$, all_of('id::numeric / 3'))),
    (format($$SELECT id %% 5, %s FROM t GROUP BY 1$$, all_of('(id % 5 - 2) * 3e-500'))),
    (format($$SELECT %s FROM t$$, all_of('9e131071 + id'))),
    (format($$SELECT id, %s FROM t WHERE id < 4 GROUP BY 1$$, all_of('CASE id % 7 WHEN 1 THEN numeric ''NaN'' WHEN 2 THEN numeric ''Infinity'' ELSE NULL END')))
) AS q (query), compare(query) AS c;
-- A sum too large for a float.
SELECT var_pop(f * 1e10) FROM t WHERE f <> 'NaN' AND f < 'Infinity';
-- By workers.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT stddev(big), doc->>'k' FROM t GROUP BY 2;
SELECT c.* FROM compare(format($$SELECT doc->>'k', %s FROM t GROUP BY 1$$, all_of('big'))) c;
SET max_parallel_workers_per_gather = 0;

-- Of two floats, and bits.
CREATE FUNCTION all_pairs(y text, x text) RETURNS text LANGUAGE sql AS
    $$ SELECT string_agg(format('%s(%s, %s)', name, y, x), ', ')
       FROM unnest('{corr,covar_pop,covar_samp,regr_avgx,regr_avgy,regr_count,regr_intercept,regr_r2,regr_slope,regr_sxx,regr_sxy,regr_syy}'::text[]) name $$;
CREATE FUNCTION all_bits(value text) RETURNS text LANGUAGE sql AS $$ SELECT string_agg(format('%s(%s)', name, value), ', ') FROM unnest('{bit_and,bit_or,bit_xor}'::text[]) name $$;
EXPLAIN (COSTS OFF) SELECT corr(f, g), regr_count(id, small) FILTER (WHERE id > 0), bit_and(small), bit_or(id), bit_xor(big) FROM t;
EXPLAIN (COSTS OFF) SELECT corr(f, random()) FROM t;
SELECT query, c.* FROM (VALUES
    (format($$SELECT %s FROM t$$, all_pairs('f', 'g'))),
    (format($$SELECT %s FROM t WHERE id > 0$$, all_pairs('f', 'g'))),
    (format($$SELECT %s FROM t WHERE id > 0$$, all_pairs('id', 'small'))),
    (format($$SELECT %s FROM t WHERE id > 0$$, all_pairs('f', 'f'))),
    (format($$SELECT %s FROM t WHERE id = 7$$, all_pairs('f', 'small'))),
    (format($$SELECT %s FROM t WHERE id = 8$$, all_pairs('f', 'small'))),
    (format($$SELECT %s FROM t WHERE id IN (-1, 8, 9)$$, all_pairs('f', 'id'))),
    (format($$SELECT %s FROM t WHERE id IN (-2, 8, 9)$$, all_pairs('id', 'f'))),
    (format($$SELECT %s FROM t WHERE id IN (8, 9, -2)$$, all_pairs('g', 'f'))),
    ($$SELECT regr_count(f, id), regr_count(id, f) FROM t$$),
    (format($$SELECT id %% 50, %s FROM t WHERE id > 0 GROUP BY 1$$, all_pairs('f', 'small'))),
    (format($$SELECT (doc->>'k')::int, %s FROM t GROUP BY 1$$, all_pairs('(doc->>''n'')::float8', 'id'))),
    (format($$SELECT (doc->>'k')::int, %s FROM t GROUP BY ROLLUP (1)$$, all_pairs('id', '(doc->>''p'')::float8'))),
    ($$SELECT corr(id, small) FILTER (WHERE id % 3 = 0), corr(small, id), sum(small) FROM t WHERE id > 0 HAVING regr_count(id, small) > 0$$),
    (format($$SELECT %s, %s, %s FROM t$$, all_bits('id'), all_bits('small'), all_bits('big'))),
    (format($$SELECT %s, %s, %s FROM t WHERE id = 0$$, all_bits('id'), all_bits('small'), all_bits('big'))),
    (format($$SELECT doc->>'k', %s, %s, %s FROM t GROUP BY 1$$, all_bits('id'), all_bits('small'), all_bits('big'))),
    (format($$SELECT doc->>'k', small %% 3, %s, %s FROM t GROUP BY CUBE (1, 2)$$, all_bits('id'), all_bits('small'))),
    ($$SELECT id % 9, bit_xor((doc->>'n')::int) FILTER (WHERE id % 2 = 0) FROM t GROUP BY 1 ORDER BY 2 LIMIT 4$$)
) AS q (query), compare(query) AS c;
-- Sums too large for a float, of either; the last is not.
SELECT twice($$SELECT covar_pop(f, id) FROM t WHERE id IN (-3, 8, 9)$$) \gexec
SELECT twice($$SELECT covar_pop(id, f) FROM t WHERE id IN (-3, 8, 9)$$) \gexec
SELECT twice($$SELECT regr_sxy(least(f, 1e152), -least(f, 1e152)) FROM t WHERE id IN (-3, 8, 9)$$) \gexec
-- By workers.
SET max_parallel_workers_per_gather = 2;
SELECT c.* FROM compare(format($$SELECT doc->>'k', %s, regr_count(id, small) FROM t GROUP BY 1$$, all_bits('big'))) c;
SELECT abs(a.corr - h.corr) < 1e-9 AND abs(a.slope / h.slope - 1) < 1e-9 AS alike
    FROM (SELECT corr(id, small), regr_slope(id, small) AS slope FROM amax_side.t) a, (SELECT corr(id, small), regr_slope(id, small) AS slope FROM heap_side.t) h;
