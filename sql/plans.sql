-- Which plan is chosen: an index for few rows, a bitmap for more, columns for many. Statistics are of all rows, so they are always the same.
SET amax.eager = off;
SET amax.rows_per_leaf = 5000;
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
-- Joins: by an index from few rows, by columns from many.
EXPLAIN (COSTS OFF) SELECT c.name, o.doc->>'kind' FROM orders o JOIN customers c ON c.id = o.customer WHERE o.id = 77;
EXPLAIN (COSTS OFF) SELECT o.doc->>'kind' FROM orders o JOIN customers c ON c.id = o.customer WHERE c.id = 5;
EXPLAIN (COSTS OFF) SELECT o.doc->>'kind', count(*) FROM orders o JOIN customers c ON c.id = o.customer WHERE c.name <> 'c7' GROUP BY 1;
-- A path that is indexed is not handed up; the document is.
EXPLAIN (COSTS OFF) SELECT c.name, sum((o.doc->>'price')::int) FROM orders o JOIN customers c ON c.id = o.customer GROUP BY 1;
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
SELECT compiles($$SELECT count(*) FROM orders a JOIN orders b ON a.id = b.customer$$) = pg_jit_available() AS joins;
SET amax.custom_scan = off;
SELECT compiles($$SELECT sum((doc->>'price')::int) FROM orders$$) = pg_jit_available() AS "one by one";
DROP FUNCTION compiles;
DROP TABLE orders, customers;
