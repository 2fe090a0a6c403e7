-- CASE, COALESCE, NULLIF, GREATEST, LEAST and functions of one number: values, scales and errors of heap.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.rows_per_leaf = 500;
SET max_parallel_workers_per_gather = 0;
SELECT twice($$CREATE TABLE t (id int, small smallint, big bigint, n numeric, p numeric(15, 2), q numeric(15, 2), f float8, g float4, k text, s text, c char(4), doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, CASE WHEN i % 7 > 0 THEN hashint4(i) % 30000 END, hashint8extended(i, 5), (hashint4(i) % 100000) / 10.0 ^ (i % 5), (i * 37 % 100000) / 100.0, i % 11 / 100.0,
    (i % 97 - 40) / 7.0, i / 3.0, (array['a', 'b', 'c', NULL])[i % 4 + 1], 'text ' || i, (array['x', 'yy', 'zzz'])[i % 3 + 1], jsonb_build_object('k', i % 40, 'n', hashint4(i * 3) % 1000, 's', 's' || i % 5)
    FROM generate_series(1, 4000) i$$) \gexec
SELECT twice($$INSERT INTO t (id, small, big, n, p, q, f, g, k) VALUES (5001, -32768, -9223372036854775808, 'NaN', 0, 0, 'NaN', '-0', 'large'), (5002, 32767, 9223372036854775807, 'Infinity', -0.05, 5, '-Infinity', 'NaN', 'large'),
    (5003, 0, 0, '-Infinity', 9999999999999.99, 1, '-0', 0, 'large'), (5004, 1, 1, 1e40, -9999999999999.99, 1, 0.5, 2.5, 'large'), (5005, -1, 5, -1.0000000000000000000000000000001, 0.01, 0.99, -2.5, -0.5, 'large'),
    (5006, 2, 5, 1.0, 1, 1, 1.5, 1.5, 'large'), (5007, 2, 5, 1.00, 1, 1, -0.5, 1.5, 'large'), (5008, 2, 5, 92233720368547758.07, 1, 1, 1e300, 1e30, 'large')$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$INSERT INTO t (id, small, n, p, q, f, k, s, c) VALUES (9000, 5, 5.50, 1.10, 0.10, 3.5, 'page', 'page', 'x'), (9001, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec

-- Every expression as a key, as an argument and as a condition.
CREATE FUNCTION places(expression text) RETURNS SETOF text LANGUAGE sql AS $$
    VALUES (format('SELECT %s AS v, count(*) FROM t GROUP BY 1', expression)),
           (format('SELECT max(id), v FROM (SELECT id, %s AS v FROM t WHERE id %% 3 > 0) q GROUP BY v', expression)),
           (format('SELECT id FROM t WHERE (%s) IS NOT NULL AND id %% 2 = 0', expression)),
           (format('SELECT id, %s FROM t', expression))
$$;
SELECT expression, sum(c.rows) AS rows, sum(c.missing) AS missing, sum(c.extra) AS extra FROM (VALUES
    ('CASE WHEN q > 0.05 THEN p ELSE 0 END'),
    ('CASE WHEN q > 5 THEN p END'),
    ('CASE WHEN n > 1 THEN p WHEN n < -1 THEN n ELSE 1.50 END'),
    ('CASE WHEN p < 10 THEN ''few'' WHEN p < 300 THEN ''some'' ELSE ''many'' END'),
    ('CASE WHEN k = ''a'' THEN s WHEN k = ''b'' THEN k WHEN k IS NULL THEN ''none'' ELSE doc->>''s'' END'),
    ('CASE k WHEN ''a'' THEN 1 WHEN ''b'' THEN small WHEN ''c'' THEN id END'),
    ('CASE id % 5 WHEN 1 THEN n WHEN 2 THEN CASE k WHEN ''a'' THEN p ELSE q END ELSE 0 END'),
    ('CASE small WHEN 1 THEN ''one'' WHEN -1 THEN k ELSE CASE WHEN big > 0 THEN ''up'' END END'),
    ('CASE WHEN k = ''large'' THEN f WHEN id % 2 = 0 THEN g ELSE -f END'),
    ('CASE WHEN n <> 0 AND n < ''Infinity'' THEN 1 / n END'),
    ('CASE WHEN k > ''a'' THEN true WHEN k = ''a'' THEN id > 100 END'),
    ('CASE c WHEN ''x'' THEN ''first'' WHEN ''yy  '' THEN ''second'' ELSE upper(c) END'),
    ('CASE WHEN c = ''x'' THEN length(c) ELSE id END'),
    ('CASE WHEN lower(s) LIKE ''%1'' THEN left(s, 6) ELSE k END'),
    ('length(s)'), ('length(k)'), ('length(doc->>''s'')'), ('char_length(''äö€'' || s)'), ('length(CASE WHEN id % 3 = 0 THEN ''ä€𝄞'' WHEN id % 3 = 1 THEN s END)'),
    ('coalesce(small, big)'),
    ('coalesce(nullif(q, 0), 0.01)'),
    ('coalesce(k, s)'),
    ('coalesce(doc->>''s'', k, ''nothing'')'),
    ('coalesce(NULL, n, p)'),
    ('nullif(n, 1.00)'),
    ('nullif(n, p)'),
    ('nullif(k, ''a'')'),
    ('nullif(id, big)'),
    ('nullif(f, 0)'),
    ('greatest(p, q, n)'),
    ('least(p, q, n)'),
    ('greatest(n, 1.000)'),
    ('least(1, n)'),
    ('greatest(small, id - 2000, NULL)'),
    ('least(f, g, 0)'),
    ('greatest(f, g)'),
    ('greatest(k, ''b'')'),
    ('abs(n)'), ('abs(q - p)'), ('abs(small::int)'), ('@ f'), ('abs(g)'),
    ('-n'), ('-f'), ('-id'), ('+n'),
    ('sign(n)'), ('sign(f)'), ('sign(p - 500)'),
    ('floor(n)'), ('ceil(n)'), ('ceiling(p * q)'), ('floor(-p)'), ('floor(f)'), ('ceil(f)'), ('ceil(p)'),
    ('round(n)'), ('round(n, 2)'), ('round(n, 7)'), ('round(p * q, 1)'), ('round(p, -2)'), ('round(-p, 1)'), ('round(n, -1)'), ('round(p, 30)'), ('round(f)'), ('round(p / 1000)'),
    ('width_bucket(nullif(f, ''NaN''), 0, 8, 5)'), ('width_bucket(nullif(f, ''NaN''), 8, -5, 13)'), ('width_bucket(nullif(g, ''NaN''), -3, 1000, 100)'), ('width_bucket(nullif(n, ''NaN''), 0, 1000, 9)'), ('width_bucket(id::float8 / 10, 0, 100, 10)'), ('width_bucket(id * 0.1::float8, 0, 1, 30)'),
    ('width_bucket(nullif(f, ''NaN''), -1e308, 1e308, 7)'), ('width_bucket(p, 0, 1000, 10)'), ('width_bucket(q, 0.00, 0.11, 11)'), ('width_bucket(q, 0.1, -0.05, 3)'), ('width_bucket(p / 3, 0, 333.3333, 7)'),
    ('width_bucket(id / 3.0, 0, 1000, 1000)'), ('width_bucket((doc->>''n'')::float8, 0, 1000, 10)'), ('width_bucket(p, 1e30, 0, 10)'),
    ('trunc(n)'), ('trunc(n, 1)'), ('trunc(p, -1)'), ('trunc(f)'), ('trunc(-p, 1)'),
    ('p % 7'), ('p % 0.07'), ('-p % 3.000'), ('n % 11'), ('n % 1e30'), ('id % 7.5'),
    ('(doc->>''n'')::numeric % 7'), ('round((doc->>''n'')::numeric / 3, 2)'), ('abs((doc->>''n'')::int)'), ('coalesce((doc->>''n'')::int, -1)')
) AS e (expression), places(expression) AS query, compare(query) AS c GROUP BY expression ORDER BY expression;

-- Sums show the scale of what there was.
SELECT query, c.* FROM (VALUES
    ($$SELECT sum(CASE WHEN q > 5 THEN p ELSE 0 END), sum(CASE WHEN q > 0.05 THEN p ELSE 0 END), avg(CASE WHEN q > 0.05 THEN p END) FROM t$$),
    ($$SELECT k, sum(CASE WHEN q > 0.09 THEN p ELSE 0 END), sum(round(p * q, 1)), sum(abs(q - p)) FROM t GROUP BY 1$$),
    ($$SELECT sum(coalesce(nullif(q, 0), 0.01)), max(greatest(p, q)), min(least(p, q)) FROM t$$),
    ($$SELECT sum(floor(p)), sum(ceil(p)), sum(p % 7), sum(sign(q)) FROM t$$),
    ($$SELECT sum(CASE WHEN k = 'a' THEN 1 ELSE 0 END), count(CASE WHEN c = 'x' THEN 1 END), sum(CASE WHEN doc->>'s' = 's1' THEN (doc->>'n')::int END) FROM t$$),
    -- Groups of nothing but zeros that have fewer decimals, beside others; NULLs; different scales that are no zeros; what has no mantissa.
    ($$SELECT id % 11, sum(CASE WHEN q > 0.05 THEN p ELSE 0 END), avg(CASE WHEN q > 0.05 THEN p * q ELSE 0 END) FROM t WHERE k <> 'large' GROUP BY 1$$),
    ($$SELECT id % 11, sum(CASE WHEN q > 0.05 THEN p END), sum(CASE WHEN q > 0.05 THEN 0 ELSE p END) FROM t WHERE k <> 'large' GROUP BY 1$$),
    ($$SELECT k, sum(CASE WHEN q > 0.05 THEN p ELSE 0.0 END), sum(CASE WHEN q > 0.05 THEN p ELSE 1.5 END), sum(CASE WHEN q > 0.05 THEN 7 ELSE p * q END) FROM t GROUP BY 1$$),
    ($$SELECT k, sum(CASE WHEN id % 3 = 0 THEN n ELSE p END), sum(CASE WHEN n > 0 THEN n END), max(CASE WHEN small > 0 THEN id ELSE big END) FROM t GROUP BY 1$$),
    ($$SELECT k, sum(CASE WHEN small > 0 THEN f ELSE 0 END), sum(CASE WHEN small IS NULL THEN id - 1 ELSE small * 2 END), bool_or(CASE WHEN id > 5 THEN small > 0 END) FROM t GROUP BY 1$$),
    ($$SELECT sum(round(p * q, 1)), sum(round(n, 2)), sum(round(p, 0)), sum(trunc(-p, 1)), sum(round(p, -3)), sum(round(p * p, 17)) FROM t$$),
    ($$SELECT sum(round(p * p * p, 5)), max(round(p * 92233720368547, 1)), min(-p * 92233720368547.75), sum(abs(p - q)) FROM t$$),
    ($$SELECT sum(CASE WHEN k = 'large' THEN 0 ELSE n END) FILTER (WHERE id % 2 = 0) FROM t$$)) AS q (query), compare(query) AS c;

-- A part is evaluated only for the rows that need it, and not at all for none.
SELECT query, r.* FROM (VALUES
    ($$SELECT sum(CASE WHEN q <> 0 THEN p / q ELSE 0 END) FROM t$$),
    ($$SELECT sum(CASE WHEN q <> 0.05 THEN p / q ELSE 0 END) FROM t$$),
    ($$SELECT sum(CASE WHEN 10 / (id - 7) > 1 THEN p ELSE q END) FROM t$$),
    ($$SELECT sum(CASE WHEN id > 8 OR 10 / (id - 7) > 1 THEN p ELSE q END) FROM t WHERE id <> 7$$),
    ($$SELECT sum(CASE WHEN id < 6000 THEN id ELSE big + 1 END) FROM t$$),
    ($$SELECT sum(CASE WHEN id = 5002 THEN 1 ELSE big + 1 END) FROM t$$),
    ($$SELECT sum(CASE WHEN id <> 5002 THEN 1 ELSE big + 1 END) FROM t$$),
    ($$SELECT max(CASE WHEN id > 100000 THEN (s || id)::int END) FROM t$$),
    ($$SELECT max(CASE WHEN id > 1000 THEN (s || id)::int END) FROM t WHERE id < 9000$$),
    ($$SELECT max(coalesce(p, 1 / (id - id))) FROM t WHERE id < 9000$$),
    ($$SELECT max(coalesce(p, 1 / (id - id))) FROM t$$),
    ($$SELECT sum(CASE WHEN k = 'a' THEN 1 WHEN 1 / (id - 7) > 5 THEN 2 END) FROM t WHERE id <> 7$$),
    ($$SELECT sum(CASE WHEN k = 'c' THEN 1 WHEN 1 / (id - 7) > 5 THEN 2 END) FROM t WHERE id % 8 = 7$$),
    ($$SELECT sum(nullif(p / q, 5)) FROM t$$),
    ($$SELECT max(greatest(id, 5 / (id - 5))) FROM t$$),
    ($$SELECT sum(abs(big)) FROM t$$),
    ($$SELECT sum(-small) FROM t$$),
    ($$SELECT sum(abs(small)) FROM t$$),
    ($$SELECT sum(width_bucket(f, 0, 10, 0)) FROM t$$),
    ($$SELECT sum(width_bucket(f, 10, 10, 5)) FROM t$$),
    ($$SELECT sum(width_bucket(f, 0, 'infinity', 5)) FROM t$$),
    ($$SELECT sum(width_bucket(f, 'nan', 5, 5)) FROM t$$),
    ($$SELECT sum(width_bucket(f, 0, 10, 5)) FROM t$$),
    ($$SELECT sum(width_bucket(f, 0, 10, 5)) FROM t WHERE id <> 5001$$),
    ($$SELECT sum(width_bucket(f, 0, 10, 2147483647)) FROM t WHERE id < 5000$$),
    ($$SELECT sum(width_bucket(p, 0, 10, -1)) FROM t$$),
    ($$SELECT sum(width_bucket(p, 1.0, 1.00, 5)) FROM t$$),
    ($$SELECT sum(width_bucket(p, 0, 'nan', 5)) FROM t$$),
    ($$SELECT sum(width_bucket(p, 0, 10, 2147483647)) FROM t$$),
    ($$SELECT sum(width_bucket(n, 0, 10, 5)) FROM t$$),
    ($$SELECT sum(p % q) FROM t$$),
    ($$SELECT sum(p % 0) FROM t$$)) AS q (query), raised(query) AS r;
CREATE TABLE none (id int, s text) USING amax;
SELECT sum(CASE WHEN id = 1 THEN s::int ELSE 1 / (id - id) END), max(coalesce(id, 1 / (id - id))) FROM none;
EXPLAIN (COSTS OFF) SELECT sum(CASE WHEN q > 0.05 THEN p ELSE 0 END), sum(coalesce(nullif(q, 0), 0.01)), sum(round(p * q, 1)) FROM t;
-- By workers.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT c.* FROM compare($$SELECT CASE WHEN p < 10 THEN 'few' WHEN p < 300 THEN 'some' ELSE s END, sum(CASE WHEN q > 0.05 THEN round(p, 1) ELSE 0 END) FROM t GROUP BY 1$$) c;
