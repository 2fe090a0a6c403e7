-- Starting parallel workers costs more where they read a table of ours than PostgreSQL's setting says, once in each plan.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include

CREATE TABLE amax_side.w USING amax AS SELECT i * 7919 % 100003 AS a, i * 104729 % 100003 AS b FROM generate_series(1, 100000::bigint) i;
VACUUM (FREEZE, ANALYZE) amax_side.w;
SET search_path = amax_side, public;
SET min_parallel_table_scan_size = 0;
SET parallel_tuple_cost = 0;

-- A scan that takes less than their start is left to one process, though PostgreSQL's own costs of it would have them share it.
SET parallel_setup_cost = 60;
EXPLAIN (COSTS OFF) SELECT a FROM w WHERE a < 0 AND b < 0;
-- Who says that it costs nothing has them.
SET parallel_setup_cost = 0;
EXPLAIN (COSTS OFF) SELECT a FROM w WHERE a < 0 AND b < 0;
-- The setting is what it was, also after an error in planning, and where a query is planned in planning another.
SET parallel_setup_cost = 60;
CREATE FUNCTION fails() RETURNS int STABLE LANGUAGE plpgsql AS $$BEGIN RAISE 'planned'; END$$;
CREATE FUNCTION reads() RETURNS int STABLE LANGUAGE plpgsql AS $$BEGIN RETURN (SELECT count(*) FROM w WHERE a < 0); END$$;
EXPLAIN (COSTS OFF) SELECT a FROM w WHERE a < fails();
SHOW parallel_setup_cost;
EXPLAIN (COSTS OFF) SELECT a FROM w WHERE a < reads() AND b < 0;
SHOW parallel_setup_cost;

-- A side that each process would read whole: workers share the join only where that side is small.
SET parallel_setup_cost = 0;
CREATE TABLE large USING heap WITH (parallel_workers = 0) AS SELECT i AS a, repeat('l', 1000) FROM generate_series(1, 10000::bigint) i;
CREATE TABLE small USING heap WITH (parallel_workers = 0) AS SELECT i AS a FROM generate_series(1, 1000::bigint) i;
VACUUM (FREEZE, ANALYZE) large;
VACUUM (FREEZE, ANALYZE) small;
EXPLAIN (COSTS OFF) SELECT w.b FROM w JOIN large USING (a);
EXPLAIN (COSTS OFF) SELECT w.b FROM w JOIN small USING (a);

-- Numerics of one scale and of many, by which the best rows come first; other keys are read of few rows alone.
SET search_path = amax_side, public, twins;
RESET parallel_setup_cost;
SELECT twice($$CREATE TABLE prices (id int, price numeric(12, 2), many numeric, other int, name text)$$) \gexec
SELECT twice($$INSERT INTO prices SELECT i, (i * 7907 % 9500) / 100.0 + 900, CASE WHEN i % 50 = 0 THEN NULL WHEN i % 997 = 0 THEN 1e30 + i ELSE round((i * 31 % 9001)::numeric / 100, i % 5) - 40 END, i * 13 % 101, 'n' || i % 7
    FROM generate_series(1, 60000) i$$) \gexec
SELECT twice($$VACUUM (FREEZE, ANALYZE) prices$$) \gexec
SELECT query, c.* FROM unnest(ARRAY[
    'SELECT * FROM prices ORDER BY price DESC, other, id LIMIT 10',
    'SELECT * FROM prices ORDER BY price, name DESC, id LIMIT 30',
    'SELECT * FROM prices ORDER BY many DESC, other, id LIMIT 1500',
    'SELECT * FROM prices ORDER BY many DESC NULLS LAST, other, id LIMIT 100',
    'SELECT * FROM prices ORDER BY many, 100 / (other + 1), id LIMIT 100',
    'SELECT id FROM prices WHERE other > 3 ORDER BY many NULLS FIRST, price DESC, id LIMIT 1300 OFFSET 7']) query, compare(query) c;
-- A library that is loaded while a query is planned, as the planner opens a partition, leaves nothing behind.
CREATE TABLE public.parted (id int, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE public.part PARTITION OF public.parted FOR VALUES FROM (0) TO (100000) USING amax;
INSERT INTO public.parted SELECT i, '{"a": 1}' FROM generate_series(0, 99999) i;
VACUUM ANALYZE public.parted;
\c -
SELECT count(*) AS known_before FROM pg_settings WHERE name = 'amax.compression';
SHOW parallel_setup_cost;
SELECT sum(id) FROM public.parted WHERE id > 5;
SELECT count(*) AS known_now FROM pg_settings WHERE name = 'amax.compression';
SHOW parallel_setup_cost;
SELECT sum(id) FROM public.parted WHERE id > 6;
SHOW parallel_setup_cost;
DROP TABLE public.parted;
