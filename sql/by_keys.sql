-- Sides of a join that memory does not hold whole: of them are kept the rows that rows of the scan look up.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.eager = off;
SET amax.rows_per_leaf = 2000;
SET amax.bulk_threshold = 100;
SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT twice($$CREATE TABLE orders (id int, customer int, region text, day date, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO orders SELECT i, nullif(i % 3000, 7), 'region ' || i % 7, date '2020-01-01' + i % 400, jsonb_build_object('n', CASE WHEN i % 1000 = 5 THEN 'none' ELSE i::text END, 'k', i % 900)
    FROM generate_series(1, 12000) i$$) \gexec
SELECT twice($$CREATE TABLE items (of int, nr int, code text, price numeric(9,2), sent date, got date, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO items SELECT nullif(i % 13000, 11), i % 4, 'code ' || i % 9000, i / 4.0, date '2020-01-01' + i % 300, date '2020-01-01' + i % 290, jsonb_build_object('n', CASE WHEN i = 77 THEN 'none' ELSE i::text END)
    FROM generate_series(1, 40000) i$$) \gexec
SELECT twice($$CREATE TABLE codes (code text, of int)$$) \gexec
SELECT twice($$INSERT INTO codes SELECT 'code ' || i, i FROM generate_series(1, 8000) i$$) \gexec
SELECT twice($$CREATE TABLE few (k int, name text)$$) \gexec
SELECT twice($$INSERT INTO few SELECT i * 100, 'few ' || i % 3 FROM generate_series(1, 20) i$$) \gexec
SELECT twice($$VACUUM (FREEZE, ANALYZE) orders, items, codes, few$$) \gexec
-- Row pages and changed rows
SELECT twice($$INSERT INTO orders SELECT 20000 + i, i, 'region 1', '2020-02-02' FROM generate_series(1, 20) i$$) \gexec
SELECT twice($$INSERT INTO items SELECT i * 30, i, 'code ' || i, i, '2020-02-02', '2020-02-01' FROM generate_series(1, 20) i$$) \gexec
SELECT twice($$UPDATE items SET price = price * 2 WHERE of % 500 = 3$$) \gexec
SELECT twice($$DELETE FROM items WHERE of % 700 = 1$$) \gexec
SELECT twice($$ANALYZE orders, items, codes, few$$) \gexec

-- The answers compared, and how the sides were read.
CREATE FUNCTION joined(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    found text := 'no join of ours';
    answers text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, COSTS OFF) ' || query LOOP
        IF line ~ 'AmaxJoin' THEN found := 'AmaxJoin'; END IF;
        IF line ~ '(Probes|Keys):' THEN found := concat_ws(', ', found, trim(line)); END IF;
    END LOOP;
    SELECT format('%s rows, %s missing, %s extra. ', rows, missing, extra) INTO answers FROM twins.compare(query);
    RETURN answers || found;
END $$;
SET search_path = amax_side, public, twins;
SET work_mem = '64kB';
-- Of each kind; NULLs, duplicates, other conditions of a match
SELECT joined($$SELECT region, count(*) FROM orders WHERE day < '2020-01-10' AND EXISTS (SELECT FROM items WHERE of = id AND got < sent) GROUP BY 1$$);
SELECT joined($$SELECT region, count(*) FROM orders WHERE day < '2020-01-10' AND NOT EXISTS (SELECT FROM items WHERE of = id AND price > 1000) GROUP BY 1$$);
SELECT joined($$SELECT region, count(*) FROM orders WHERE day < '2020-01-10' AND EXISTS (SELECT FROM items WHERE of = id AND nr <> customer) GROUP BY 1$$);
SELECT joined($$SELECT count(*), count(c.of), sum(c.of) FROM items i LEFT JOIN codes c ON i.code = c.code WHERE price < 100$$);
SELECT joined($$SELECT region, count(*), sum(price) FROM orders JOIN items ON of = id WHERE day < '2020-01-10' GROUP BY 1$$);
-- By two keys, by a path, of paths
SELECT joined($$SELECT region, count(*) FROM orders WHERE customer < 900 AND EXISTS (SELECT FROM items WHERE of = id AND sent = day) GROUP BY 1$$);
SELECT joined($$SELECT region, count(*) FROM orders WHERE day < '2020-01-10' AND EXISTS (SELECT FROM items WHERE items.doc->>'n' = orders.doc->>'n') GROUP BY 1$$);
-- Several sides: those that fit leave rows out before
SELECT joined($$SELECT name, count(*) FROM orders JOIN few ON customer = k WHERE EXISTS (SELECT FROM items WHERE of = id) GROUP BY 1$$);
SELECT joined($$SELECT name, count(*), count(c.of) FROM items i JOIN few ON i.of = k LEFT JOIN codes c ON i.code = c.code GROUP BY 1$$);
-- Several that do not
SELECT joined($$SELECT count(*), sum(id) FROM orders WHERE day < '2020-01-10' AND EXISTS (SELECT FROM items WHERE of = id) AND NOT EXISTS (SELECT FROM codes c WHERE c.of = id)$$);
-- No row of the scan, or none that finds anything
SELECT joined($$SELECT region, count(*) FROM orders WHERE day < '2019-01-01' AND EXISTS (SELECT FROM items WHERE of = id) GROUP BY 1$$);
SELECT joined($$SELECT region, count(*) FROM orders WHERE id > 20010 AND EXISTS (SELECT FROM items WHERE of = id) GROUP BY 1$$);
SELECT joined($$SELECT region, count(*) FROM orders WHERE id > 20010 AND NOT EXISTS (SELECT FROM items WHERE of = id) GROUP BY 1$$);
-- Not by keys: too many of them, keys of another side, what may raise an error, what is another thing when it is computed again
SELECT joined($$SELECT region, count(*) FROM orders WHERE EXISTS (SELECT FROM items WHERE of = id) GROUP BY 1$$);
SELECT joined($$SELECT count(*), sum(x.of) FROM items i JOIN few ON i.of = k LEFT JOIN codes c ON i.code = c.code LEFT JOIN items x ON x.of = c.of$$);
SELECT joined($$SELECT count(*) FROM orders WHERE day < '2020-01-10' AND EXISTS (SELECT FROM items WHERE of = id AND 10 / (nr + 1) > 2)$$);
SELECT joined($$SELECT count(*) FROM orders WHERE day < '2020-01-10' AND id > random() - 1 AND EXISTS (SELECT FROM items WHERE of = id)$$);
-- Not by keys, as it does not come in batches
SELECT joined($$SELECT count(*) FROM orders WHERE day < '2020-01-10' AND EXISTS (SELECT FROM items WHERE of = id AND items.doc->'n' <> orders.doc->'n')$$);
-- Errors are heap's
SELECT * FROM raised($$SELECT count(*) FROM orders WHERE day < '2020-01-10' AND EXISTS (SELECT FROM items WHERE of = id AND (items.doc->>'n')::int = customer)$$);
SELECT * FROM raised($$SELECT count(*) FROM orders WHERE EXISTS (SELECT FROM items WHERE of = id AND (items.doc->>'n')::int > 5) AND day < '2020-01-10'$$);
SELECT * FROM raised($$SELECT count(*) FROM orders WHERE EXISTS (SELECT FROM items WHERE of = id) AND (orders.doc->>'n')::int > 5 AND day < '2020-01-10'$$);
SELECT * FROM raised($$SELECT sum((i.doc->>'n')::int + c.of) FROM items i LEFT JOIN codes c ON i.code = c.code WHERE price < 100$$);
-- Again and again, with other rows of the scan, and with another side
SELECT joined($$SELECT f.k, x.* FROM few f, LATERAL (SELECT region, count(*) AS n FROM orders WHERE customer = f.k + 1 AND EXISTS (SELECT FROM items WHERE of = id) GROUP BY 1) x$$);
SELECT joined($$SELECT f.k, x.* FROM few f, LATERAL (SELECT region, count(*) AS n FROM orders WHERE day < '2020-01-10' AND NOT EXISTS (SELECT FROM items WHERE of = id AND price > f.k) GROUP BY 1) x$$);
SELECT joined($$SELECT f.k, (SELECT count(*) FROM orders WHERE day < '2020-01-10' AND EXISTS (SELECT FROM items WHERE of = id AND nr = f.k / 100)) FROM few f$$);
-- What begins once more reads the same rows
SELECT joined($$SELECT id, count(*) FROM orders WHERE day < '2020-04-10' AND EXISTS (SELECT FROM items WHERE of = id AND nr > 1) GROUP BY 1$$);
-- Everywhere
RESET work_mem;
SELECT joined($$SELECT region, count(*), sum(price) FROM orders JOIN items ON of = id WHERE day < '2020-01-10' GROUP BY 1$$);
SET amax.fault_point = 'join_keys';
SELECT joined($$SELECT region, count(*), sum(price) FROM orders JOIN items ON of = id GROUP BY 1$$);
SELECT joined($$SELECT name, c.of, count(*) FROM items i LEFT JOIN codes c ON i.code = c.code JOIN few ON i.of = k GROUP BY 1, 2$$);
SELECT joined($$SELECT region, count(*), count(price), sum(nr) FROM orders LEFT JOIN items ON of = id AND nr < 2 GROUP BY 1$$);
SELECT joined($$SELECT count(*) FROM orders WHERE EXISTS (SELECT FROM items WHERE of = id AND items.doc->'n' <> orders.doc->'n')$$);
-- A row that a side above leaves out meets an error before
SET join_collapse_limit = 1;
SELECT * FROM raised($$SELECT count(*) FROM items i LEFT JOIN orders o ON o.id = i.of AND 10 / (i.nr - 3 + o.id - o.id) > -100 JOIN few ON k = i.of$$);
RESET join_collapse_limit;
-- Workers have rows of their own, and none knows the keys of the others'
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT joined($$SELECT region, count(*), sum(price) FROM orders JOIN items ON of = id GROUP BY 1$$);
