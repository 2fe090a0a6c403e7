-- Which plan is chosen: an index for few rows, a bitmap for more, columns for many. Statistics are of all rows, so they are always the same.
SET amax.eager = off;
SET amax.rows_per_leaf = 5000;
-- All rows are columnar.
SET amax.bulk_threshold = 0;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE orders (id int PRIMARY KEY, customer int, doc jsonb) USING amax;
INSERT INTO orders
    SELECT i, i * 7919 % 2000, jsonb_build_object('kind', 'k' || i % 20, 'price', i % 1000, 'note', repeat('n' || i, 20), 'tags', jsonb_build_array(i % 5, i % 3))
    FROM generate_series(1, 20000) i;
CREATE INDEX orders_customer ON orders (customer);
CREATE INDEX orders_price ON orders (((doc->>'price')::int));
CREATE TABLE customers (id int PRIMARY KEY, name text) USING amax;
INSERT INTO customers SELECT i, 'c' || i FROM generate_series(0, 1999) i;
VACUUM orders;
VACUUM customers;
ANALYZE orders;
ANALYZE customers;

-- One row, a few beside each other, the first ones by key.
EXPLAIN (COSTS OFF) SELECT doc->>'kind' FROM orders WHERE id = 77;
EXPLAIN (COSTS OFF) SELECT * FROM orders WHERE id BETWEEN 100 AND 110;
EXPLAIN (COSTS OFF) SELECT doc->>'kind' FROM orders ORDER BY id LIMIT 5;
EXPLAIN (COSTS OFF) UPDATE orders SET customer = 0 WHERE id = 77;
-- Scattered rows: an index or bitmap for some, columns for many.
EXPLAIN (COSTS OFF) SELECT doc->>'kind' FROM orders WHERE customer = 5;
EXPLAIN (COSTS OFF) SELECT doc->>'kind' FROM orders WHERE customer < 3;
EXPLAIN (COSTS OFF) SELECT doc->>'kind' FROM orders WHERE customer < 10;
EXPLAIN (COSTS OFF) SELECT doc->>'kind' FROM orders WHERE customer < 1000;
EXPLAIN (COSTS OFF) SELECT sum((doc->>'price')::int) FROM orders WHERE customer < 1000;
-- An indexed path.
EXPLAIN (COSTS OFF) SELECT id FROM orders WHERE (doc->>'price')::int = 5;
EXPLAIN (COSTS OFF) SELECT id FROM orders WHERE (doc->>'price')::int > 5;
-- All rows, or nearly: columns, whatever is indexed.
EXPLAIN (COSTS OFF) SELECT count(*) FROM orders;
EXPLAIN (COSTS OFF) SELECT doc->>'kind', count(*) FROM orders WHERE id > 100 GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT * FROM orders WHERE id > 100;
EXPLAIN (COSTS OFF) SELECT doc->'tags'->>0, count(DISTINCT customer) FROM orders GROUP BY 1;
-- An index that beats handing up columns row by row does not beat taking them as columns.
EXPLAIN (COSTS OFF) SELECT doc->>'kind', count(*) FROM orders WHERE id < 3000 GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT tag, count(*) FROM orders, jsonb_array_elements_text(doc->'tags') tag WHERE id < 3000 GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT doc->>'kind', count(*) FROM orders WHERE id < 30 GROUP BY 1;
-- Nothing is scanned of what is known to be empty.
EXPLAIN (COSTS OFF) SELECT doc->>'kind', count(*) FROM orders WHERE id < 3000 AND false GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT tag FROM orders, jsonb_array_elements_text(doc->'tags') tag WHERE false;
-- Conditions that call something cost what PostgreSQL says they do, for the rows that others leave; others next to nothing.
CREATE FUNCTION cost(query text, OUT cost numeric) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    cost := plan->0->'Plan'->>'Total Cost';
END $$;
CREATE FUNCTION dear(int) RETURNS bool LANGUAGE plpgsql STABLE COST 100000 AS $$ BEGIN RETURN $1 > 0; END $$;
CREATE TABLE heap_orders USING heap AS SELECT * FROM orders;
ANALYZE heap_orders;
SELECT cost('SELECT * FROM orders WHERE dear(id)') / cost('SELECT * FROM heap_orders WHERE dear(id)') BETWEEN 0.8 AND 1 AS function,
    cost('SELECT count(*) FROM orders WHERE dear(id)') / cost('SELECT count(*) FROM heap_orders WHERE dear(id)') BETWEEN 0.8 AND 1 AS aggregated,
    cost('SELECT * FROM orders o WHERE (SELECT sum(c.id) FROM customers c WHERE c.id < o.customer) > 5')
        / cost('SELECT * FROM heap_orders o WHERE (SELECT sum(c.id) FROM customers c WHERE c.id < o.customer) > 5') BETWEEN 0.8 AND 1 AS subquery,
    cost('SELECT * FROM orders WHERE dear(id) AND customer + 0 = 7') / cost('SELECT * FROM orders WHERE dear(id)') < 0.01 AS "for fewer rows",
    cost('SELECT id FROM orders WHERE customer + 0 < 7') / cost('SELECT id FROM heap_orders WHERE customer + 0 < 7') < 0.5 AS vectors;
-- Rows that an index finds are looked up one by one, each value in a column of its own, documents more so; it costs more than in heap. A bitmap has them in order.
-- Their pages are taken to be in memory, as columns are.
CREATE INDEX ON heap_orders (id);
CREATE INDEX ON heap_orders (customer);
VACUUM ANALYZE heap_orders;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT cost('SELECT customer FROM orders WHERE customer < 100') AS loaded \gset
VACUUM orders;
SELECT cost('SELECT id FROM orders WHERE id < 1000') / cost('SELECT id FROM heap_orders WHERE id < 1000') > 2 AS "index only",
    cost('SELECT customer FROM orders WHERE id < 1000') / cost('SELECT customer FROM heap_orders WHERE id < 1000') > 2 AS rows,
    cost('SELECT doc FROM orders WHERE id < 1000') / cost('SELECT customer FROM orders WHERE id < 1000') > 1.5 AS documents,
    cost($$SELECT doc->>'kind' FROM orders WHERE id < 1000$$) / cost('SELECT doc FROM orders WHERE id < 1000') < 0.6 AS paths;
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT cost('SELECT id FROM orders WHERE customer = 7') / cost('SELECT id FROM heap_orders WHERE customer = 7') BETWEEN 0.25 AND 0.5 AS bitmap;
RESET enable_seqscan;
RESET enable_indexscan;
-- Columnar rows that only an index reads cost no pages, VACUUM or not. One row is looked up at least, however few are expected.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT :loaded / cost('SELECT customer FROM orders WHERE customer < 100') < 1.5 AS "index only, no pages";
CREATE INDEX ON orders (customer, id);
SELECT cost('SELECT doc FROM orders WHERE customer = 7 AND id = 77') > 1.1 + cost('SELECT id FROM orders WHERE customer = 7 AND id = 77') AS "one row";
DROP INDEX orders_customer_id_idx;
RESET enable_seqscan;
RESET enable_bitmapscan;
-- Paths that the scan computes of documents cost what their columns do, also if nothing is above the scan; documents are those of rows that pass.
SELECT cost($$SELECT id, doc->>'kind' FROM orders WHERE customer + 0 < 7$$) / cost('SELECT id, doc FROM orders WHERE customer + 0 < 7') < 0.7 AS paths,
    cost('SELECT id, doc FROM orders WHERE customer + 0 = 7') / cost('SELECT id, doc FROM orders WHERE customer + 0 < 7') < 0.5 AS "few documents";
DROP FUNCTION cost;
DROP FUNCTION dear;
DROP TABLE heap_orders;
-- PostgreSQL's scan by an index reads what is before what is asked for, documents too; a fetch does not.
CREATE TABLE fields (id int PRIMARY KEY, a int, b int, c int, d int, doc jsonb, at int, gone jsonb) USING amax;
ALTER TABLE fields DROP gone;
INSERT INTO fields SELECT i, i, i, i, i, jsonb_build_object('a', i), i FROM generate_series(1, 5000) i;
VACUUM ANALYZE fields;
EXPLAIN (COSTS OFF) SELECT a FROM fields WHERE id = 77;
EXPLAIN (COSTS OFF) SELECT d FROM fields WHERE id = 77;
EXPLAIN (COSTS OFF) SELECT at FROM fields WHERE id = 77;
EXPLAIN (COSTS OFF) SELECT id, a, b, c, d FROM fields WHERE id = 77;
EXPLAIN (COSTS OFF) SELECT * FROM fields WHERE id = 77;
EXPLAIN (COSTS OFF) UPDATE fields SET a = 0 WHERE id = 77;
-- What a GIN index finds is looked at again: by paths, not in documents.
CREATE INDEX fields_doc ON fields USING gin (doc jsonb_path_ops);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM fields WHERE doc @> '{"a": 77}';
EXPLAIN (COSTS OFF) SELECT at FROM fields WHERE doc @> '{"a": 77}' AND d > 5;
EXPLAIN (COSTS OFF) SELECT at FROM fields WHERE doc @> '{"a": 77}' OR doc @> '{"a": 78}';
RESET enable_seqscan;
DROP TABLE fields;
-- Joins: by an index from few rows, by columns from many.
EXPLAIN (COSTS OFF) SELECT c.name, o.doc->>'kind' FROM orders o JOIN customers c ON c.id = o.customer WHERE o.id = 77;
EXPLAIN (COSTS OFF) SELECT o.doc->>'kind' FROM orders o JOIN customers c ON c.id = o.customer WHERE c.id = 5;
EXPLAIN (COSTS OFF) SELECT o.doc->>'kind', count(*) FROM orders o JOIN customers c ON c.id = o.customer WHERE c.name <> 'c7' GROUP BY 1;
-- Also from a few rows, of ten each; from some by columns, as the scan leaves out what the hash join would.
CREATE TABLE probes (k int) USING amax;
INSERT INTO probes SELECT i * 7 FROM generate_series(1, 2000) i;
CREATE TABLE probed (k int, a int, b int) USING amax;
INSERT INTO probed SELECT i / 10, i, i FROM generate_series(1, 20000) i;
CREATE INDEX ON probed (k);
VACUUM ANALYZE probes;
VACUUM ANALYZE probed;
EXPLAIN (COSTS OFF) SELECT sum(b) FROM probes JOIN probed USING (k) WHERE k <= 7 * 4;
EXPLAIN (COSTS OFF) SELECT sum(b) FROM probes JOIN probed USING (k) WHERE k <= 7 * 26;
EXPLAIN (COSTS OFF) SELECT sum(b) FROM probes JOIN probed USING (k) WHERE k <= 7 * 200;
DROP TABLE probes, probed;
-- A path that is indexed is handed up as others are, and its index is found by it as well.
EXPLAIN (COSTS OFF) SELECT c.name, sum((o.doc->>'price')::int) FROM orders o JOIN customers c ON c.id = o.customer GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT c.name, o.doc->>'kind' FROM customers c LEFT JOIN orders o ON (o.doc->>'price')::int = c.id;
EXPLAIN (COSTS OFF) SELECT c.name, o.doc->>'kind' FROM customers c LEFT JOIN orders o ON (o.doc->>'price')::int = c.id AND o.id < 77 WHERE c.id = 7;
EXPLAIN (COSTS OFF) SELECT c.name, o.doc->>'kind' FROM customers c JOIN orders o ON (o.doc->>'price')::int = c.id WHERE c.id < 3;
EXPLAIN (COSTS OFF) SELECT c.name, (o.doc->>'price')::int FROM orders o JOIN customers c ON c.id = o.customer ORDER BY (o.doc->>'price')::int LIMIT 3;
EXPLAIN (COSTS OFF) SELECT min((doc->>'price')::int), max((doc->>'price')::int) FROM orders;
-- So are those that only a subquery below reads.
EXPLAIN (COSTS OFF) SELECT o.id, l.kinds FROM orders o, LATERAL (SELECT array_agg(DISTINCT c.name || (o.doc->>'kind')) AS kinds FROM customers c WHERE c.id < (o.doc->'tags'->>0)::int) l;
EXPLAIN (COSTS OFF) SELECT l.few, count(*) FROM orders o, LATERAL (SELECT array_agg(DISTINCT tag) AS few FROM jsonb_array_elements_text(CASE jsonb_typeof(o.doc->'tags') WHEN 'array' THEN o.doc->'tags' END) tag) l GROUP BY 1;
-- Elements: of one row by the function, of many in the scan.
EXPLAIN (COSTS OFF) SELECT tag FROM orders, jsonb_array_elements_text(doc->'tags') tag WHERE id = 77;
EXPLAIN (COSTS OFF) SELECT tag, count(*) FROM orders, jsonb_array_elements_text(doc->'tags') tag GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT jsonb_array_elements_text(doc->'tags') FROM orders WHERE id = 77;
-- PostgreSQL compiles expressions (JIT) if what its own nodes do costs enough; where it cannot compile at all, both answers are as if it did.
CREATE FUNCTION compiles(query text, OUT compiles boolean) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    compiles := (plan->0->'JIT') IS NOT NULL;
END $$;
SET jit = on;
SET jit_above_cost = 100;
-- Cheap ones: those of our nodes, alone, below a cheap sort, in subqueries, in each part of a UNION.
SELECT compiles($$SELECT sum((doc->>'price')::int) FROM orders$$);
SELECT compiles($$SELECT doc->>'kind', count(*) FROM orders GROUP BY 1 ORDER BY 2$$);
SELECT compiles($$SELECT id FROM orders WHERE (doc->>'price')::int + customer = 3$$);
SELECT compiles($$SELECT 1 WHERE (SELECT max(customer + 1) FROM orders) = (SELECT count(*) FROM customers)$$);
SELECT compiles($$SELECT count(*) FROM orders UNION ALL SELECT count(*) FROM customers$$);
SELECT compiles($$SELECT doc->'price' FROM orders WHERE customer < 10$$);
-- Ours are a small part of these.
SELECT compiles($$SELECT doc->>'price' FROM orders ORDER BY 1$$) = pg_jit_available() AS sorts;
SELECT compiles($$SELECT count(*) FROM orders a FULL JOIN orders b ON a.id = b.customer$$) = pg_jit_available() AS joins;
SET amax.custom_scan = off;
SELECT compiles($$SELECT sum((doc->>'price')::int) FROM orders$$) = pg_jit_available() AS "one by one";
DROP FUNCTION compiles;
DROP TABLE orders, customers;
