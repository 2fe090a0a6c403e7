-- Scans below PostgreSQL's joins: rows that have no match in a hash join above are left out in the scan, and nobody can tell.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.eager = off;
-- Row pages that are scanned again might be kept as columns, of which more is left out.
SET amax.decode_cache = 0;
SET amax.rows_per_leaf = 1000;
SET amax.bulk_threshold = 100;
SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT twice($$CREATE TABLE facts (id int, k int, big bigint, t text, day date, n numeric, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO facts SELECT i, nullif(i % 500, 7), i % 500 * 1000000000000, 'key ' || i % 300, date '2020-01-01' + i % 400, i % 50 / 10.0,
    jsonb_build_object('k', i % 500, 't', 'key ' || i % 300, 's', i::text) FROM generate_series(1, 6000) i$$) \gexec
-- Of another kind, and in row pages.
SELECT twice($$INSERT INTO facts SELECT 7000 + i, 3, i, NULL, NULL, 'NaN', v FROM generate_series(1, 2) i,
    (VALUES ('{"k": 3.00, "t": {}}'::jsonb), ('{"k": "3", "t": 3}'), ('{"k": null}'), ('{}'), (NULL)) w(v)$$) \gexec
SELECT twice($$UPDATE facts SET t = t || '!' WHERE id % 900 = 3$$) \gexec
SELECT twice($$CREATE TABLE dims (k int, small smallint, big bigint, t text, day date, g int, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO dims SELECT i * 20, i * 20, i * 20000000000000, 'key ' || i * 20, date '2020-01-01' + i * 20, i % 3, jsonb_build_object('k', i * 20) FROM generate_series(0, 30) i$$) \gexec
SELECT twice($$INSERT INTO dims VALUES (NULL, NULL, NULL, NULL, NULL, 0, NULL), (3, 3, 3, 'key 3!', '2020-01-04', 1, '{"k": 3}'), (3, 3, 3, 'key 3', '2020-01-04', 2, '{"k": "3"}')$$) \gexec
SELECT twice($$ANALYZE facts$$) \gexec
SELECT twice($$ANALYZE dims$$) \gexec
-- The answers compared, and by which columns how many rows were left out.
CREATE FUNCTION joined(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    found text;
    answers text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line LIKE '%Join Filters:%' THEN found := concat_ws('; ', found, trim(line)); END IF;
    END LOOP;
    SELECT format('%s rows, %s missing, %s extra. ', rows, missing, extra) INTO answers FROM twins.compare(query);
    RETURN answers || coalesce(found, 'no filter');
END $$;

-- Which joins
SELECT joined('SELECT id, g FROM facts JOIN dims USING (k) WHERE g = 1');
SELECT joined('SELECT id FROM facts WHERE k IN (SELECT k FROM dims WHERE g = 1)');
SELECT joined('SELECT id, g, d.k FROM (SELECT * FROM dims WHERE g = 1) d LEFT JOIN facts ON facts.k = d.k AND id < 2500');
SELECT joined('SELECT id, g FROM facts LEFT JOIN dims ON facts.k = dims.k AND g = 1');
SELECT joined('SELECT id, g FROM facts FULL JOIN (SELECT * FROM dims WHERE g = 1) d ON facts.k = d.k');
SELECT joined('SELECT id FROM facts WHERE NOT EXISTS (SELECT FROM dims WHERE dims.k = facts.k AND g = 1)');
-- Which keys: other integers, text, dates, several; not numerics
SELECT joined('SELECT id, g FROM facts JOIN dims ON facts.k = dims.small WHERE g = 1');
SELECT joined('SELECT id, g FROM facts JOIN dims ON facts.big = dims.big WHERE g = 1');
SELECT joined('SELECT id, g FROM facts JOIN dims USING (t) WHERE g = 1');
SELECT joined('SELECT id, g FROM facts JOIN dims USING (day) WHERE g = 1');
SELECT joined('SELECT id, g FROM facts JOIN dims USING (k, t) WHERE g < 2');
SELECT joined('SELECT id, g FROM facts JOIN dims ON facts.n = dims.g::numeric');
SELECT joined('SELECT id, g FROM facts JOIN dims ON facts.k + 1 = dims.k + 1 WHERE g = 1');
SELECT joined('SELECT id, g FROM facts JOIN dims ON upper(facts.t) = upper(dims.t) WHERE g = 1');
SELECT joined('SELECT id, g FROM facts JOIN dims ON facts.t COLLATE "en-x-icu" = dims.t WHERE g = 1');
-- A subquery that is run once and looked up is a condition that vectors have, below joins too; one that raises an error does so where heap's does.
SELECT joined('SELECT id, g FROM facts JOIN dims USING (k) WHERE g = 1 AND facts.big NOT IN (SELECT big FROM dims WHERE small > 100)');
SET search_path = amax_side, public, twins;
CREATE FUNCTION on_vectors(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ 'Vectorized Conditions:|Row Pages Read:|dims_1.*loops=' THEN RETURN NEXT regexp_replace(trim(line), '.*dims_1.*loops=(.*)\)', 'The subquery ran: \1'); END IF;
    END LOOP;
END $$;
SELECT on_vectors('SELECT count(*) FROM facts JOIN dims USING (k) WHERE g = 1 AND facts.t NOT IN (SELECT t FROM dims WHERE small > 100)');
SELECT * FROM compare('SELECT id FROM facts WHERE t NOT IN (SELECT t FROM dims)');
SELECT * FROM compare('SELECT id FROM facts WHERE t NOT IN (SELECT t FROM dims WHERE t IS NOT NULL) OR k IN (SELECT k FROM dims WHERE g = 2)');
SELECT * FROM compare('SELECT id FROM facts WHERE (k, t) NOT IN (SELECT k, t FROM dims WHERE k IS NOT NULL)');
SELECT * FROM compare($$SELECT id FROM facts WHERE doc->>'t' NOT IN (SELECT t FROM dims WHERE t IS NOT NULL)$$);
SELECT * FROM compare('SELECT d.k, (SELECT count(*) FROM facts WHERE k < 50 AND t NOT IN (SELECT t FROM dims WHERE dims.g = d.g AND t IS NOT NULL)) FROM dims d');
SELECT twice($$SELECT count(*) FROM facts JOIN dims USING (k) WHERE g = 1 AND facts.big NOT IN (SELECT 1 / (dims.k - 20) FROM dims)$$) \gexec
SELECT twice($$SELECT count(*) FROM facts JOIN dims USING (k) WHERE g = 1 AND facts.id < 0 AND facts.big NOT IN (SELECT 1 / (dims.k - 20) FROM dims)$$) \gexec
SET search_path = amax_side, public, twins;
-- In documents; a value that does not convert is an error only where there is one in heap.
SELECT joined($$SELECT id, g FROM facts JOIN dims ON facts.doc->>'t' = dims.t WHERE g = 1$$);
SELECT joined($$SELECT id, g FROM facts JOIN dims ON (facts.doc->>'k')::numeric::int = dims.k WHERE g = 1$$);
SELECT joined($$SELECT id, g FROM facts JOIN dims ON (facts.doc->>'k')::int = (dims.doc->>'k')::int WHERE g = 1 AND id < 7000$$);
SELECT twice($$SELECT count(*) FROM facts JOIN dims ON (facts.doc->>'k')::int = dims.k WHERE g = 1$$) \gexec
-- Conditions that may raise an error are looked at first, those with subqueries too.
SELECT twice($$SELECT count(*) FROM facts JOIN dims USING (k) WHERE g = 1 AND 100 / (facts.id - 4) > 5$$) \gexec
CREATE SEQUENCE calls;
SELECT count(*) FROM facts JOIN dims USING (k) WHERE g = 1 AND (SELECT nextval('calls') + facts.id * 0) > 0;
SELECT nextval('calls') - 1 = (SELECT count(*) FROM facts) AS once_per_row;
DROP SEQUENCE calls;
-- Nothing on the other side, only NULL there, all rows there
SELECT joined('SELECT id, g FROM facts JOIN dims USING (k) WHERE g = 9');
SELECT joined('SELECT id, g FROM facts JOIN dims USING (k) WHERE dims.k IS NULL');
SELECT joined('SELECT f.id FROM facts f JOIN facts o ON f.k = o.id');
-- Several joins; what is between a join and the scan may keep rows of other tables.
SELECT joined('SELECT f.id, a.g, b.g FROM facts f JOIN dims a USING (k) JOIN dims b ON f.day = b.day WHERE a.g = 1 AND b.g < 2');
SELECT joined('SELECT f.id, a.g, b.g FROM facts f LEFT JOIN dims a USING (k) JOIN dims b ON f.day = b.day WHERE b.g = 1');
SELECT joined('SELECT f.id, a.g, b.g FROM (facts f FULL JOIN dims a ON f.k = a.k) LEFT JOIN dims b ON f.day = b.day');
SELECT joined($$SELECT f.id, a.g, b.g FROM (SELECT k, id, day || '' AS d FROM facts) f JOIN dims a USING (k) JOIN dims b ON f.d = b.day || '' WHERE a.g = 1 AND b.g < 2$$);
-- Conditions of the scan that are left to PostgreSQL
SELECT joined('SELECT id FROM facts JOIN dims USING (k) WHERE g = 1 AND 100 / id < 50 AND facts.big > 3');
-- In more than one batch, in files
SET work_mem = '64kB';
SELECT joined('SELECT f.id FROM facts f JOIN (SELECT id, doc FROM facts WHERE id % 2 = 0) o ON f.k = o.id');
RESET work_mem;
-- What is called for each row must be called for each row.
CREATE SEQUENCE calls;
SELECT count(*) FROM (SELECT id, k, nextval('calls') AS c FROM facts OFFSET 0) f JOIN dims USING (k) WHERE g = 1;
SELECT nextval('calls');
SELECT count(*) FROM facts JOIN dims USING (k) WHERE g = 1 AND nextval('calls') + id > 0;
SELECT nextval('calls');
-- A join that is run again, with the same other side and with another.
SET enable_nestloop = on;
-- (What PostgreSQL aggregates it joins.)
SELECT joined('SELECT x, n FROM generate_series(1, 5) x, LATERAL (SELECT count(random()) AS n FROM facts JOIN dims USING (k) WHERE dims.small > x * 100 OFFSET 0) s');
SELECT joined('SELECT x, n FROM generate_series(1, 5) x, LATERAL (SELECT count(random()) AS n FROM facts JOIN dims USING (k) WHERE g = 1 AND facts.id % 5 = x OFFSET 0) s');
SELECT joined('SELECT x, (SELECT max(facts.id) + 0 * count(random()) FROM facts JOIN dims USING (k) JOIN (SELECT * FROM dims WHERE g = x % 3) b ON facts.day = b.day) FROM generate_series(1, 7) x');
-- The same joins without filters: rows that have no match are made, too.
SET amax.materialization = late;
SELECT joined('SELECT x, n FROM generate_series(1, 5) x, LATERAL (SELECT count(random()) AS n FROM facts JOIN dims USING (k) WHERE dims.small > x * 100 OFFSET 0) s');
RESET amax.materialization;
-- Nested loops and merge joins
SET enable_hashjoin = off;
SELECT joined('SELECT f.id, a.g FROM facts f JOIN dims a ON f.k = a.k AND a.g = 1');
SET enable_nestloop = off;
SET enable_mergejoin = on;
SELECT joined('SELECT f.id, a.g FROM facts f JOIN dims a ON f.k = a.k JOIN facts o ON o.k = f.k AND o.id < 900');
SELECT joined('SELECT f.id, f.n, f.t, a.g FROM facts f FULL JOIN dims a ON f.k = a.k');
RESET enable_hashjoin;
SET enable_mergejoin = off;
-- In a generic plan, in a cursor, in workers, in a change
SELECT twice('CREATE FUNCTION counted(wanted int) RETURNS text LANGUAGE plpgsql AS $$BEGIN RETURN (SELECT (count(*), sum(id)) FROM facts JOIN dims USING (k) WHERE g = wanted); END$$') \gexec
SET plan_cache_mode = force_generic_plan;
SELECT * FROM compare('SELECT w, counted(w) FROM generate_series(0, 3) w');
SELECT * FROM compare('SELECT w, counted(w) FROM generate_series(0, 3) w');
RESET plan_cache_mode;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, g FROM facts JOIN dims USING (k) WHERE g = 1 AND id < 2000 ORDER BY id;
FETCH 2 FROM c;
FETCH LAST FROM c;
FETCH BACKWARD 2 FROM c;
COMMIT;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT * FROM compare('SELECT count(*), sum(id), sum(g) FROM facts JOIN dims USING (k) WHERE g = 1');
-- A table that workers share has keys for each of them, unless it has several batches.
SET search_path = amax_side, public, twins;
EXPLAIN (COSTS OFF) SELECT f.id, o.n FROM facts f JOIN facts o ON f.k = o.id WHERE o.id < 30;
SELECT joined('SELECT f.id, o.n FROM facts f JOIN facts o ON f.k = o.id WHERE o.id < 30');
SELECT joined('SELECT f.id, o.n, d.g FROM facts f JOIN facts o ON f.k = o.id JOIN dims d ON d.t = f.t WHERE o.id < 300 AND d.g < 2');
SET work_mem = '64kB';
SELECT joined('SELECT f.id, o.doc FROM facts f JOIN facts o ON f.k = o.id WHERE o.id < 5000');
RESET work_mem;
SET enable_parallel_hash = off;
SELECT * FROM compare('SELECT count(*), sum(id), sum(g) FROM facts JOIN dims USING (k) WHERE g = 1');
SELECT * FROM compare('SELECT facts.id FROM facts JOIN dims USING (k) WHERE g = 1');
SET max_parallel_workers_per_gather = 0;
SELECT twice('UPDATE facts SET n = g FROM dims WHERE facts.k = dims.k AND dims.g = 2 AND dims.k > 10') \gexec
SELECT twice('DELETE FROM facts USING dims WHERE facts.k = dims.k AND dims.k = 140') \gexec
SELECT * FROM compare('SELECT * FROM facts');
-- Partitions
SELECT twice($$CREATE TABLE parts (id int, k int, v text) PARTITION BY RANGE (id)$$) \gexec
SELECT twice($$CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (3000)$$) \gexec
SELECT twice($$CREATE TABLE parts_2 (v text, gone int, k int, id int)$$) \gexec
SELECT twice($$ALTER TABLE parts_2 DROP gone$$) \gexec
SELECT twice($$ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (3000) TO (6000)$$) \gexec
SELECT twice($$INSERT INTO parts SELECT i, i % 500, i FROM generate_series(1, 5999) i$$) \gexec
SELECT twice($$VACUUM ANALYZE parts$$) \gexec
SELECT joined('SELECT id, g FROM parts JOIN dims USING (k) WHERE g = 1');

-- Conditions of a join come in heap's order, which goes by what they cost: a path costs there, wherever it is computed. The dearer one would raise an error.
SELECT twice($$CREATE TABLE guarded AS SELECT i AS id, 's'::text AS s, jsonb_build_object('k', 'no number', 'm', i, 'list', '[1]'::jsonb) AS doc FROM generate_series(1, 5000) i$$) \gexec
SELECT twice($$VACUUM (FREEZE, ANALYZE) guarded$$) \gexec
SELECT * FROM compare($$SELECT r.id FROM guarded r LEFT JOIN LATERAL jsonb_array_elements(r.doc -> 'list') e(v) ON false
  WHERE (length(r.s || 'a' || 'b') > 1000 OR e.v IS NOT NULL) AND ((r.doc -> 'k')::int <= (r.doc -> 'm')::int OR e.v IS NOT NULL)$$);
EXPLAIN (COSTS OFF) SELECT r.id FROM guarded r LEFT JOIN LATERAL jsonb_array_elements(r.doc -> 'list') e(v) ON false
  WHERE (length(r.s || 'a' || 'b') > 1000 OR e.v IS NOT NULL) AND ((r.doc -> 'k')::int <= (r.doc -> 'm')::int OR e.v IS NOT NULL);
-- How many rows have a match is estimated by the table of the join below that has the fewest of the values.
CREATE TABLE stock USING amax AS SELECT i % 500 AS k, i % 7 AS place FROM generate_series(1, 4000) i;
ANALYZE stock;
SET join_collapse_limit = 1;
CREATE FUNCTION expected_rows(query text, of_table text) RETURNS float LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN (jsonb_path_query_first(plan::jsonb, '$.**{1 to last} ? (@."Relation Name" == $of)', jsonb_build_object('of', of_table))->'Plan Rows')::float;
END $$;
-- 10 of 500 values of k; of 80 rows of stock some 75 might be different.
SELECT expected_rows('SELECT facts.t FROM facts JOIN (stock JOIN dims USING (k)) USING (k) WHERE g = 1 AND place < 9', 'facts') BETWEEN 60 AND 300 AS by_the_fewest;
RESET join_collapse_limit;
