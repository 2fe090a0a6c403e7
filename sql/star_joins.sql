-- Joins on positions below aggregates: what hash joins over a scan give, in batches.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.eager = off;
SET amax.rows_per_leaf = 1000;
SET amax.bulk_threshold = 100;
SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT twice($$CREATE TABLE facts (id int, d1 int, d2 text, d3 bigint, price numeric(9,2), day date, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO facts SELECT i, nullif(i % 100, 7), nullif('key ' || i % 50, 'key 9'), i % 20 * 1000000000000, i / 4.0, date '2020-01-01' + i % 400,
    jsonb_build_object('k', i % 100, 't', 'key ' || i % 50, 'n', CASE WHEN i % 1000 = 5 THEN 'none' ELSE i::text END) FROM generate_series(1, 12000) i$$) \gexec
SELECT twice($$VACUUM (FREEZE, ANALYZE) facts$$) \gexec
-- Row pages and changed rows
SELECT twice($$INSERT INTO facts SELECT 20000 + i, i, 'key ' || i, 3000000000000, 'NaN', '2021-05-05', '{"k": 3, "t": null}' FROM generate_series(1, 20) i$$) \gexec
SELECT twice($$UPDATE facts SET price = price * 2, d1 = 5 WHERE id % 500 = 3$$) \gexec
SELECT twice($$DELETE FROM facts WHERE id % 700 = 1$$) \gexec
SELECT twice($$CREATE TABLE ones (k int PRIMARY KEY, name text, region text, rate numeric, since date, open bool, weight float4, note char(4), tags text[])$$) \gexec
SELECT twice($$INSERT INTO ones SELECT i, 'one ' || i % 30, 'region ' || i % 5, CASE i WHEN 4 THEN 'NaN' WHEN 5 THEN 1e40 ELSE i / 8.0 END, date '2000-01-01' + i, i % 3 = 0, i / 3.0, 'n' || i % 4, ARRAY['a', i::text] FROM generate_series(0, 99) i WHERE i <> 50$$) \gexec
SELECT twice($$CREATE TABLE twos (k text, sub int, grade smallint)$$) \gexec
SELECT twice($$INSERT INTO twos SELECT 'key ' || i % 40, i % 10, i % 6 FROM generate_series(1, 60) i UNION ALL SELECT NULL, 1, 1$$) \gexec
SELECT twice($$CREATE TABLE subs (k smallint, title text)$$) \gexec
SELECT twice($$INSERT INTO subs SELECT i, nullif('sub ' || i, 'sub 3') FROM generate_series(0, 8) i$$) \gexec
SELECT twice($$CREATE TABLE none (k int, x text)$$) \gexec
SELECT twice($$ANALYZE$$) \gexec

-- The answers compared, and what joins.
CREATE FUNCTION joined(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    found text := 'hash joins';
    answers text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, COSTS OFF) ' || query LOOP
        IF line ~ 'AmaxJoin' THEN found := 'AmaxJoin'; END IF;
        IF line ~ 'Probes:' THEN found := concat_ws(', ', found, trim(line)); END IF;
    END LOOP;
    SELECT format('%s rows, %s missing, %s extra. ', rows, missing, extra) INTO answers FROM twins.compare(query);
    RETURN answers || found;
END $$;
SET search_path = amax_side, public, twins;
EXPLAIN (COSTS OFF) SELECT region, sum(price) FROM facts JOIN ones ON d1 = ones.k GROUP BY 1;
-- One side, several, one by another (a snowflake); duplicates, NULLs, keys of other types, two keys
SELECT joined('SELECT region, count(*), sum(price), min(day) FROM facts JOIN ones ON d1 = ones.k GROUP BY 1');
SELECT joined('SELECT count(*), sum(price), count(name) FROM facts JOIN ones ON d1 = ones.k WHERE id < 5000 AND open');
SELECT joined('SELECT region, grade, count(*), sum(price) FROM facts JOIN ones ON d1 = ones.k JOIN twos ON d2 = twos.k GROUP BY 1, 2');
SELECT joined('SELECT title, region, count(*), sum(price * rate) FROM facts JOIN ones ON d1 = ones.k JOIN twos ON d2 = twos.k JOIN subs ON twos.sub = subs.k WHERE ones.k <> 4 GROUP BY 1, 2');
SELECT joined('SELECT count(*), count(d3) FROM facts JOIN subs ON d3 = subs.k');
SELECT joined('SELECT t.sub, count(*) FROM facts f JOIN twos t ON f.d2 = t.k AND f.d1 = t.sub GROUP BY 1');
SELECT joined('SELECT since, open, rate, count(*), sum(weight), avg(weight) FROM facts JOIN ones ON d1 = ones.k GROUP BY 1, 2, 3');
SELECT joined('SELECT note, count(*) FILTER (WHERE grade > 2), count(DISTINCT name), sum(grade) FROM facts JOIN ones ON d1 = ones.k JOIN twos ON d2 = twos.k GROUP BY 1');
SELECT joined('SELECT DISTINCT region, grade FROM facts JOIN ones ON d1 = ones.k JOIN twos ON d2 = twos.k');
SELECT joined('SELECT GROUPING(region), region, grade, count(*) FROM facts JOIN ones ON d1 = ones.k JOIN twos ON d2 = twos.k GROUP BY ROLLUP (region, grade)');
SELECT joined('SELECT name, sum(price) FROM facts JOIN ones ON d1 = ones.k GROUP BY 1 HAVING sum(price) > 100000 ORDER BY 2 DESC, 1 LIMIT 3');
-- Expressions over both sides, also such as only PostgreSQL evaluates
SELECT joined('SELECT extract(year FROM day), upper(region), sum(price * (1 + ones.k)) FROM facts JOIN ones ON d1 = ones.k WHERE ones.k < 4 GROUP BY 1, 2');
SELECT joined('SELECT md5(region || id % 3), sum(price / (rate + 1)) FROM facts JOIN ones ON d1 = ones.k GROUP BY 1');
SELECT joined('SELECT CASE WHEN open THEN name ELSE d2 END, max(rate), min(rate), sum(rate) FROM facts JOIN ones ON d1 = ones.k GROUP BY 1');
-- Paths of documents as keys and arguments
SELECT joined($$SELECT region, sum((doc->>'k')::int), count(doc->>'t') FROM facts JOIN ones ON (doc->>'k')::int = ones.k GROUP BY 1$$);
SELECT joined($$SELECT doc->>'t', grade, count(*) FROM facts JOIN twos ON doc->>'t' = twos.k GROUP BY 1, 2$$);
SELECT joined($$SELECT region, count(*) FILTER (WHERE doc->'k' IN ('3'::jsonb)), count(*) FILTER (WHERE doc->'t' IN ('null'::jsonb)) FROM facts JOIN ones ON d1 = ones.k GROUP BY 1$$);
SELECT joined($$SELECT g.d2, count(*) FILTER (WHERE g.doc->'k' IN ('3'::jsonb, '4'::jsonb)) FROM facts f JOIN facts g ON f.d1 = g.id GROUP BY 1$$);
-- Other sides that are joins and aggregates, or of documents, or of heap
SELECT joined('SELECT region, x.n, count(*) FROM facts JOIN ones ON d1 = ones.k JOIN (SELECT sub, count(*) AS n, min(k) AS k FROM twos GROUP BY 1) x ON d2 = x.k GROUP BY 1, 2');
SELECT joined('SELECT count(*), sum(o.id) FROM facts f JOIN facts o ON f.d1 = o.id WHERE o.id < 60');
SELECT joined('SELECT c.relkind::text, count(*) FROM facts JOIN pg_class c ON c.relnatts = d1 WHERE c.relname = ''pg_class'' GROUP BY 1');
-- An empty side: nothing of the facts is evaluated
SELECT joined('SELECT count(*), sum(1 / (id - id)) FROM facts JOIN none ON d1 = none.k');
SELECT joined('SELECT x, count(*) FROM facts JOIN none ON d1 / (id - id) = none.k GROUP BY 1');
-- Errors are heap's: of keys for the rows that are left, of arguments for joined ones
SELECT * FROM raised($$SELECT count(*) FROM facts JOIN ones ON (doc->>'n')::int % 100 = ones.k$$);
SELECT * FROM raised($$SELECT sum((doc->>'n')::int) FROM facts JOIN ones ON d1 = ones.k$$);
SELECT joined($$SELECT sum((doc->>'n')::int) FROM facts JOIN ones ON d1 = ones.k WHERE ones.k <> 5$$);
-- What is left to the hash joins
SET amax.fault_point = 'join_spine';
SELECT joined('SELECT region, grade, count(*), sum(price * rate) FROM facts JOIN ones ON d1 = ones.k JOIN twos ON d2 = twos.k WHERE ones.k > 5 GROUP BY 1, 2');
SELECT joined($$SELECT region, sum((doc->>'k')::int), count(doc->>'t') FROM facts JOIN ones ON (doc->>'k')::int = ones.k GROUP BY 1$$);
-- of an indexed path the document comes up, which is not read else
SELECT twice($$CREATE INDEX ON facts ((doc->>'t'))$$) \gexec
SET search_path = amax_side, public, twins;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT joined($$SELECT region, count(doc->>'t'), sum((doc->>'k')::int), count(*) FILTER (WHERE doc ? 'n') FROM facts JOIN ones ON d1 = ones.k GROUP BY 1$$);
RESET amax.fault_point;
SELECT joined($$SELECT region, count(doc->>'t'), sum((doc->>'k')::int), count(*) FILTER (WHERE doc ? 'n') FROM facts JOIN ones ON d1 = ones.k GROUP BY 1$$);
SELECT joined('SELECT min(array_length(tags, 1)) FROM facts JOIN ones ON d1 = ones.k');
SELECT twice($$CREATE TABLE many AS SELECT i AS k, repeat('x', 100) || i % 7 AS s FROM generate_series(1, 12000) i$$) \gexec
SELECT twice($$ANALYZE many$$) \gexec
SET search_path = amax_side, public, twins;
SET work_mem = '64kB';
SELECT joined('SELECT s, count(*), sum(price) FROM facts JOIN many ON facts.id = many.k GROUP BY 1');
SELECT joined('SELECT region, count(*) FROM facts JOIN ones ON d1 = ones.k JOIN many ON facts.id = many.k GROUP BY 1');
RESET work_mem;
SELECT joined('SELECT s, count(*), sum(price) FROM facts JOIN many ON facts.id = many.k GROUP BY 1');
-- Many rows for each
SELECT joined('SELECT count(*), sum(a.id) FROM facts a JOIN facts b ON a.d3 = b.d3 WHERE b.id < 2000');
-- Again and again, with other parameters
SELECT joined('SELECT s.k, x.* FROM subs s, LATERAL (SELECT region, count(*) AS n FROM facts JOIN ones ON d1 = ones.k WHERE ones.k % 9 = s.k GROUP BY 1) x');
SELECT joined('SELECT s.k, x.* FROM subs s, LATERAL (SELECT region, count(*) AS n FROM facts JOIN ones ON d1 = ones.k WHERE facts.id % 9 = s.k GROUP BY 1) x');
SELECT joined('SELECT s.k, (SELECT count(*) FROM facts JOIN ones ON d1 = ones.k JOIN twos ON d2 = twos.k WHERE twos.sub = s.k) FROM subs s');
PREPARE of_region(text) AS SELECT grade, count(*) FROM facts JOIN ones ON d1 = ones.k JOIN twos ON d2 = twos.k WHERE region = $1 GROUP BY 1 ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
EXECUTE of_region('region 2');
EXECUTE of_region('nowhere');
RESET plan_cache_mode;
-- Outer joins, semijoins and antijoins; NULL keys, duplicates, sides without rows, of other outer joins
SELECT joined('SELECT region, count(*), sum(price), count(name) FROM facts LEFT JOIN ones ON d1 = ones.k GROUP BY 1');
SELECT joined('SELECT grade, region, count(*), sum(rate) FROM facts LEFT JOIN twos ON d2 = twos.k LEFT JOIN ones ON d1 = ones.k AND ones.k < 30 GROUP BY 1, 2');
SELECT joined('SELECT title, sub, count(*) FROM facts LEFT JOIN twos ON d2 = twos.k LEFT JOIN subs ON twos.sub = subs.k GROUP BY 1, 2');
SELECT joined('SELECT x, region, count(*), count(*) FILTER (WHERE x IS NULL) FROM facts LEFT JOIN none ON d1 = none.k JOIN ones ON d1 = ones.k GROUP BY 1, 2');
SELECT joined('SELECT coalesce(region, ''none''), count(since), max(array_length(tags, 1)) FROM facts LEFT JOIN ones ON d1 = ones.k AND open GROUP BY 1');
SELECT joined('SELECT count(*), sum(price) FROM facts WHERE EXISTS (SELECT FROM twos WHERE twos.k = d2)');
SELECT joined('SELECT d1, count(*) FROM facts WHERE NOT EXISTS (SELECT FROM twos WHERE twos.k = d2) GROUP BY 1');
SELECT joined('SELECT count(*), count(d1) FROM facts WHERE NOT EXISTS (SELECT FROM none WHERE none.k = d1)');
SELECT joined('SELECT count(*) FROM facts WHERE EXISTS (SELECT FROM none WHERE none.k = d1)');
SELECT joined('SELECT region, count(*) FROM facts JOIN ones ON d1 = ones.k WHERE d2 IN (SELECT k FROM twos WHERE sub > 4) GROUP BY 1');
SELECT joined('SELECT day, count(*) FROM facts LEFT JOIN ones ON d1 = ones.k WHERE ones.k IS NULL GROUP BY 1');
SELECT joined($$SELECT doc->>'t', name, count(*) FROM facts LEFT JOIN ones ON (doc->>'k')::int = ones.k GROUP BY 1, 2$$);
-- Conditions beside the keys, of the match and of what is joined; also such as only PostgreSQL evaluates, and of rows of row pages
SELECT joined('SELECT region, count(*), sum(price) FROM facts JOIN ones ON d1 = ones.k AND facts.id > ones.k * 20 GROUP BY 1');
SELECT joined('SELECT grade, count(*) FROM facts JOIN twos ON d2 = twos.k AND (d1 + sub) % 3 = 1 AND md5(twos.k || d1) < ''8'' GROUP BY 1');
SELECT joined('SELECT region, count(*) FROM facts LEFT JOIN ones ON d1 = ones.k AND facts.id > ones.k * 20 GROUP BY 1');
SELECT joined('SELECT region, count(*) FROM facts LEFT JOIN ones ON d1 = ones.k WHERE ones.k IS NULL OR price > ones.k * 10 GROUP BY 1');
SELECT joined('SELECT sub, count(*), count(DISTINCT id) FROM facts LEFT JOIN twos ON d2 = twos.k AND sub > d1 % 7 LEFT JOIN ones ON d1 = ones.k AND ones.k <> sub GROUP BY 1');
SELECT joined('SELECT count(*), sum(id) FROM facts WHERE EXISTS (SELECT FROM twos WHERE twos.k = d2 AND sub <> d1 % 10)');
SELECT joined('SELECT count(*), sum(id) FROM facts WHERE NOT EXISTS (SELECT FROM twos WHERE twos.k = d2 AND sub <> d1 % 10)');
SELECT joined('SELECT count(*) FROM facts f JOIN facts g ON f.d3 = g.d3 AND f.id < g.id WHERE g.id < 3000');
SELECT joined('SELECT count(*) FROM facts f WHERE EXISTS (SELECT FROM facts g WHERE g.d1 = f.d1 AND g.id <> f.id AND 12000 / (g.id + 1) < 100000)');
SELECT * FROM raised('SELECT count(*) FROM facts JOIN twos ON d2 = twos.k AND 10 / (sub - d1) > 0');
SELECT * FROM raised('SELECT count(*) FROM facts LEFT JOIN twos ON d2 = twos.k WHERE 10 / coalesce(sub, 0) > 0');
SET amax.fault_point = 'join_spine';
SELECT joined('SELECT sub, count(*), count(DISTINCT id) FROM facts LEFT JOIN twos ON d2 = twos.k AND sub > d1 % 7 LEFT JOIN ones ON d1 = ones.k AND ones.k <> sub GROUP BY 1');
SELECT joined('SELECT count(*), sum(id) FROM facts WHERE NOT EXISTS (SELECT FROM twos WHERE twos.k = d2 AND sub <> d1 % 10)');
RESET amax.fault_point;
SET work_mem = '64kB';
SELECT joined('SELECT s, count(*), sum(price) FROM facts LEFT JOIN many ON facts.id = many.k AND many.k % 3 = 0 GROUP BY 1');
RESET work_mem;
-- The smaller table looks for the larger one's rows in PostgreSQL's plan, and the other way round in ours; but not where its keys or conditions may raise an error
SELECT twice($$CREATE TABLE goods (k int, kind text, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO goods SELECT i, 'kind ' || i % 7, jsonb_build_object('k', CASE i WHEN 3000 THEN 'none' ELSE i::text END) FROM generate_series(1, 3000) i$$) \gexec
SELECT twice($$VACUUM (FREEZE, ANALYZE) goods$$) \gexec
EXPLAIN (COSTS OFF) SELECT kind, sum(price) FROM facts JOIN ones ON d1 = ones.k JOIN goods ON facts.id = goods.k WHERE region = 'region 2' AND day < '2020-01-20' AND goods.k > 3 GROUP BY 1;
SELECT joined('SELECT kind, region, sum(price), count(*) FROM facts JOIN ones ON d1 = ones.k JOIN goods ON facts.id = goods.k WHERE region = ''region 2'' AND day < ''2020-01-20'' AND goods.k > 3 GROUP BY 1, 2');
SELECT joined('SELECT kind, count(*) FROM facts JOIN goods ON facts.id = goods.k AND price < goods.k WHERE day < ''2020-01-20'' GROUP BY 1');
EXPLAIN (COSTS OFF) SELECT kind, sum(price) FROM facts JOIN ones ON d1 = ones.k JOIN goods ON facts.id = (goods.doc->>'k')::int WHERE region = 'region 2' AND day < '2020-01-20' GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT kind, sum(price) FROM facts JOIN ones ON d1 = ones.k JOIN goods ON facts.id = goods.k WHERE region = 'region 2' AND day < '2020-01-20' AND 1 / (goods.k - 3000) < 1 GROUP BY 1;
SELECT joined('SELECT kind, count(*) FROM goods WHERE k IN (SELECT d1 FROM facts WHERE day < ''2020-01-20'') GROUP BY 1');
SET enable_hashjoin = off;
SELECT joined('SELECT kind, count(*) FROM facts JOIN goods ON facts.id = goods.k WHERE day < ''2020-01-20'' GROUP BY 1');
RESET enable_hashjoin;
-- The side that leaves fewer rows is asked first, as batches before have shown, where PostgreSQL expects it of the other; not before one whose keys may raise an error, or that gives rows several matches
SELECT twice($$CREATE TABLE tens AS SELECT i * 1000000000000::bigint AS k, i AS n FROM generate_series(0, 19) i$$) \gexec
SELECT twice($$ANALYZE tens$$) \gexec
SELECT joined('SELECT n, count(*), sum(price) FROM facts JOIN ones ON d1 = ones.k JOIN tens ON d3 = tens.k WHERE abs(ones.k) < 2 AND abs(tens.k) >= 0 AND abs(tens.n) >= 0 GROUP BY 1');
SELECT joined('SELECT n, count(*), sum(price) FROM facts JOIN tens ON d3 = tens.k WHERE abs(tens.k) >= 0 AND abs(tens.n) >= 0 AND EXISTS (SELECT FROM ones WHERE d1 = ones.k AND abs(ones.k) < 2) GROUP BY 1');
SELECT joined('SELECT n, count(*), sum(price) FROM facts JOIN ones ON d1 = ones.k JOIN tens ON d3 + 0 * id = tens.k WHERE abs(ones.k) < 2 AND abs(tens.k) >= 0 AND abs(tens.n) >= 0 GROUP BY 1');
-- Rows with several matches between rows with none: as many as there are numbers from the first to the last
SELECT twice($$CREATE TABLE pairs AS SELECT i - i % 3 + CASE i % 3 WHEN 2 THEN 2 ELSE 0 END AS k, i AS n FROM generate_series(3, 11999) i$$) \gexec
SELECT twice($$CREATE TABLE numbers AS SELECT i AS k, i * 7 AS n FROM generate_series(0, 12000) i$$) \gexec
SELECT twice($$ANALYZE pairs, numbers$$) \gexec
SELECT twice($$CREATE TABLE plain AS SELECT i AS a, i AS b, 'x' || i AS c FROM generate_series(0, 11999) i$$) \gexec
SELECT twice($$VACUUM (ANALYZE) plain$$) \gexec
SELECT joined('SELECT count(*), sum(a * numbers.n::bigint), sum(pairs.n) FROM plain JOIN pairs ON a = pairs.k JOIN numbers ON b = numbers.k');
SELECT joined('SELECT count(*), sum(a * pairs.n::bigint) FROM plain JOIN pairs ON a = pairs.k WHERE EXISTS (SELECT FROM numbers WHERE numbers.k = b AND numbers.n % 5 < 3)');
SELECT joined('SELECT count(*), sum(a * pairs.n::bigint) FROM plain LEFT JOIN pairs ON a = pairs.k JOIN numbers ON b + 1 = numbers.k');
SELECT joined('SELECT c, count(*), sum(pairs.n) FROM plain JOIN pairs ON a = pairs.k JOIN (SELECT ''x'' || k AS k FROM numbers) n ON c = n.k GROUP BY 1');
SET amax.fault_point = 'join_order';
SELECT joined('SELECT n, region, grade, count(*), sum(price) FROM facts JOIN ones ON d1 = ones.k JOIN tens ON d3 = tens.k JOIN twos ON d2 = twos.k WHERE abs(ones.k) < 20 GROUP BY 1, 2, 3');
RESET amax.fault_point;
-- By several processes
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_parallel_hash = off;
EXPLAIN (COSTS OFF) SELECT region, count(*), sum(price) FROM facts LEFT JOIN ones ON d1 = ones.k WHERE day > '2020-02-01' GROUP BY 1;
SELECT joined('SELECT region, count(*), sum(price) FROM facts LEFT JOIN ones ON d1 = ones.k WHERE day > ''2020-02-01'' GROUP BY 1');
SELECT joined('SELECT region, grade, count(*), sum(price * rate) FROM facts JOIN ones ON d1 = ones.k JOIN twos ON d2 = twos.k AND sub > d1 % 3 WHERE ones.k > 5 GROUP BY 1, 2');
SET amax.fault_point = 'join_spine';
SELECT joined('SELECT region, grade, count(*), sum(price * rate) FROM facts JOIN ones ON d1 = ones.k JOIN twos ON d2 = twos.k AND sub > d1 % 3 WHERE ones.k > 5 GROUP BY 1, 2');
RESET amax.fault_point;
RESET max_parallel_workers_per_gather;
-- Not for joins of other kinds, or for whoever locks rows
SELECT joined('SELECT region, count(*) FROM facts FULL JOIN ones ON d1 = ones.k GROUP BY 1');
SET amax.materialization = late;
SELECT joined('SELECT region, count(*) FROM facts JOIN ones ON d1 = ones.k GROUP BY 1');
