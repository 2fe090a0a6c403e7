-- Join indexes: rows find those of another table by where these are.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.eager = off;
SET amax.rows_per_leaf = 2000;
SET amax.bulk_threshold = 100;
SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT twice($$CREATE TABLE customers (code text PRIMARY KEY, nr int, region text, doc jsonb)$$) \gexec
SELECT twice($$CREATE UNIQUE INDEX customers_id ON customers ((doc->>'id'))$$) \gexec
SELECT twice($$CREATE UNIQUE INDEX customers_nr ON customers (nr, region)$$) \gexec
SELECT twice($$INSERT INTO customers SELECT 'C-' || i, i * 100003, 'region ' || i % 7, jsonb_build_object('id', 'doc ' || i) FROM generate_series(1, 3000) i$$) \gexec
SELECT twice($$CREATE TABLE orders (id int, customer text, region text, nr int, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO orders SELECT i, CASE WHEN i % 50 > 0 THEN 'C-' || i % 3100 END, 'region ' || i % 3100 % 7, nullif(i % 3100, 5) * 100003, jsonb_build_object('of', 'doc ' || i % 3100)
    FROM generate_series(1, 20000) i$$) \gexec
SELECT twice($$VACUUM (FREEZE, ANALYZE) customers, orders$$) \gexec
SET search_path = amax_side, public, twins;

-- Each is an index like any other
SELECT amax.create_join_index('orders', 'customer', 'customers', 'code');
SELECT amax.create_join_index('orders', 'doc->>''of''', 'customers', 'doc->>''id''');
SELECT amax.create_join_index('orders', 'nr, region', 'customers', 'nr, region');
SELECT indexrelid::regclass, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'orders'::regclass ORDER BY 1::text;
SELECT index, "table", dimension, rows, covered, unknown, bytes > 0 AS has_bytes, reason FROM amax.join_indexes ORDER BY index::text;
SELECT * FROM amax.verify('orders');

-- The answers compared, and what was found by indexes
CREATE FUNCTION joined(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    found text := 'no index';
    answers text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, COSTS OFF) ' || query LOOP
        IF line ~ 'Join Indexes:' THEN found := trim(line); END IF;
    END LOOP;
    SELECT format('%s rows, %s missing, %s extra. ', rows, missing, extra) INTO answers FROM twins.compare(query);
    RETURN answers || found;
END $$;
\set all 'SELECT query, joined(query) FROM queries ORDER BY nr'
CREATE TABLE queries (nr int GENERATED ALWAYS AS IDENTITY, query text) USING heap;
INSERT INTO queries (query) VALUES
  ('SELECT c.region, count(*), sum(id) FROM orders JOIN customers c ON customer = code GROUP BY 1'),
  ('SELECT c.region, count(*), sum(id) FROM orders JOIN customers c ON code = customer WHERE c.region < ''region 3'' AND id % 3 = 0 GROUP BY 1'),
  ('SELECT c.region, count(*), sum(id) FROM orders LEFT JOIN customers c ON customer = code AND c.region = ''region 2'' GROUP BY 1'),
  ('SELECT o.region, count(*) FROM orders o WHERE EXISTS (SELECT FROM customers c WHERE customer = code AND c.region <> o.region) GROUP BY 1'),
  ('SELECT o.region, count(*) FROM orders o WHERE NOT EXISTS (SELECT FROM customers c WHERE customer = code AND c.nr % 3 = 0) GROUP BY 1'),
  ('SELECT c.region, count(*) FROM orders o JOIN customers c ON o.doc->>''of'' = c.doc->>''id'' GROUP BY 1'),
  ('SELECT c.region, count(*), min(code) FROM orders o JOIN customers c ON o.region = c.region AND c.nr = o.nr GROUP BY 1'),
  ('SELECT a.region, b.region, count(*) FROM orders o JOIN customers a ON customer = a.code JOIN customers b ON o.doc->>''of'' = b.doc->>''id'' WHERE a.region = ''region 1'' GROUP BY 1, 2'),
  -- By other keys, or with less
  ('SELECT c.region, count(*) FROM orders JOIN customers c ON customer = c.doc->>''id'' GROUP BY 1'),
  ('SELECT c.region, count(*) FROM orders o JOIN customers c ON c.nr = o.nr GROUP BY 1'),
  ('SELECT c.region, count(*) FROM orders o JOIN customers c ON customer = code AND o.nr = c.nr GROUP BY 1');
:all;
SET amax.fault_point = 'join_spine';
SELECT joined(query) FROM queries WHERE nr = 1;
SET amax.fault_point = 'join_keys';
SELECT joined(query) FROM queries WHERE nr IN (1, 4);
RESET amax.fault_point;

-- Rows of both tables that come, change and go
SELECT twice($$UPDATE customers SET region = 'region 9' WHERE nr % 11 = 0$$) \gexec
SELECT twice($$UPDATE customers SET code = code || '-b' WHERE nr % 13 = 0$$) \gexec
SELECT twice($$DELETE FROM customers WHERE nr % 17 = 0$$) \gexec
SELECT twice($$INSERT INTO customers SELECT 'C-' || i, i * 100003, 'region 8', jsonb_build_object('id', 'doc ' || i) FROM generate_series(3001, 3050) i$$) \gexec
SELECT twice($$INSERT INTO orders SELECT 30000 + i, 'C-' || i * 13 || '-b', 'region 8', i * 100003, jsonb_build_object('of', 'doc ' || i) FROM generate_series(1, 250) i$$) \gexec
SELECT twice($$DELETE FROM orders WHERE id % 19 = 0$$) \gexec
SELECT twice($$UPDATE orders SET customer = 'C-' || id % 100 WHERE id % 23 = 0$$) \gexec
SET search_path = amax_side, public, twins;
:all;
SELECT index, rows, covered, unknown, reason FROM amax.join_indexes ORDER BY index::text;
-- A key that is taken over
SELECT twice($$DELETE FROM customers WHERE code = 'C-1'$$) \gexec
SELECT twice($$UPDATE customers SET code = 'C-1' WHERE code = 'C-2'$$) \gexec
SET search_path = amax_side, public, twins;
SELECT joined(query) FROM queries WHERE nr = 1;
-- VACUUM looks rows up that find something else by now
SELECT twice($$VACUUM customers, orders$$) \gexec
SET search_path = amax_side, public, twins;
SELECT index, rows, covered, unknown, reason FROM amax.join_indexes ORDER BY index::text;
:all;
SELECT * FROM amax.verify('orders');

-- What becomes of them with their tables
ALTER TABLE customers RENAME COLUMN code TO key;
ALTER TABLE customers RENAME TO clients;
ALTER INDEX orders_customers_join RENAME TO by_client;
SELECT pg_get_indexdef('by_client'::regclass);
EXPLAIN (COSTS OFF) SELECT c.region, count(*) FROM orders JOIN clients c ON customer = key GROUP BY 1;
ALTER TABLE clients RENAME TO customers;
ALTER TABLE customers RENAME COLUMN key TO code;
DROP TABLE customers;
CREATE FUNCTION used() RETURNS SETOF text LANGUAGE sql AS $$ SELECT joined(query) FROM queries WHERE nr IN (1, 6, 7) ORDER BY nr $$;
SELECT used();
VACUUM FULL orders;
SELECT used();
VACUUM FULL customers;
-- It is about rows that are no more
SELECT used();
SELECT index, rows, covered, unknown, reason FROM amax.join_indexes ORDER BY index::text;
VACUUM orders;
SELECT used();
CLUSTER customers USING customers_pkey;
VACUUM orders;
SELECT used();
ALTER TABLE customers ALTER COLUMN code TYPE varchar(20);
SELECT used();
ALTER TABLE orders ALTER COLUMN customer TYPE varchar(30);
SELECT used();
VACUUM orders;
SELECT used();
-- Where one of them is heap's for a while
SET client_min_messages = warning;
ALTER TABLE orders SET ACCESS METHOD heap;
SELECT index, reason FROM amax.join_indexes WHERE "table" = 'orders'::regclass ORDER BY 1;
ALTER TABLE customers SET ACCESS METHOD heap;
ALTER TABLE orders SET ACCESS METHOD amax;
SELECT index, rows, covered, reason FROM amax.join_indexes WHERE "table" = 'orders'::regclass ORDER BY 1;
SELECT used();
ALTER TABLE customers SET ACCESS METHOD amax;
VACUUM orders;
RESET client_min_messages;
SELECT used();
REINDEX TABLE CONCURRENTLY customers;
REINDEX INDEX CONCURRENTLY by_client;
SELECT used();
-- Another key by the same name is another key
ALTER TABLE customers DROP CONSTRAINT customers_pkey;
SELECT used();
SELECT index, covered, reason FROM amax.join_indexes WHERE index = 'by_client'::regclass;
ALTER TABLE customers ADD COLUMN other text;
UPDATE customers SET other = 'C-' || nr / 100003 % 2999 || CASE WHEN nr = 2999 * 100003 THEN 'x' ELSE '' END;
DELETE FROM customers a USING customers b WHERE a.other = b.other AND a.nr > b.nr;
ALTER TABLE customers ADD PRIMARY KEY (other);
SELECT count(*) > 0 AS has_rows, count(*) = (SELECT count(*) FROM (SELECT * FROM orders OFFSET 0) o JOIN (SELECT * FROM customers OFFSET 0) c ON customer = other) AS same FROM orders JOIN customers ON customer = other;
VACUUM customers, orders;
VACUUM customers, orders;
SELECT index, covered = rows AS covered, unknown, reason FROM amax.join_indexes WHERE index = 'by_client'::regclass;
SELECT count(*) > 0 AS has_rows, count(*) = (SELECT count(*) FROM (SELECT * FROM orders OFFSET 0) o JOIN (SELECT * FROM customers OFFSET 0) c ON customer = other) AS same FROM orders JOIN customers ON customer = other;
SELECT * FROM amax.verify('orders');
TRUNCATE customers;
SELECT count(*) FROM orders JOIN customers ON customer = other;
INSERT INTO customers (code, other, nr, region) SELECT 'new', 'C-' || 3000 - i, i, 'region 1' FROM generate_series(1, 2990) i;
VACUUM customers;
SELECT count(*) = (SELECT count(*) FROM (SELECT * FROM orders OFFSET 0) o JOIN (SELECT * FROM customers OFFSET 0) c ON customer = other) AS same FROM orders JOIN customers ON customer = other;
-- All in one transaction, where files are truncated as they are
BEGIN;
CREATE TABLE small (k text PRIMARY KEY, v int);
INSERT INTO small SELECT 'C-' || i, i FROM generate_series(1, 3000) i;
CREATE TABLE large (k text, v int);
INSERT INTO large SELECT 'C-' || i % 3000, i FROM generate_series(1, 10000) i;
SELECT amax.create_join_index('large', 'k', 'small', 'k');
SELECT count(*), sum(small.v) FROM large JOIN small USING (k);
TRUNCATE small;
INSERT INTO small SELECT 'C-' || 3001 - i, i FROM generate_series(1, 3000) i;
SELECT count(*), sum(small.v) FROM large JOIN small USING (k);
TRUNCATE large;
INSERT INTO large SELECT 'C-' || i % 3000, i FROM generate_series(1, 10000) i;
SELECT count(*), sum(small.v) FROM large JOIN small USING (k);
COMMIT;
VACUUM large, small;
SELECT index, rows, covered, unknown, reason FROM amax.join_indexes WHERE "table" = 'large'::regclass;
SELECT count(*), sum(small.v) FROM large JOIN small USING (k);
-- A table that VACUUM has emptied begins again
DELETE FROM small;
VACUUM small;
SELECT pg_relation_size('small');
INSERT INTO small SELECT 'C-' || i * 2, i FROM generate_series(1, 1400) i;
VACUUM small;
SELECT count(*), sum(small.v) FROM large JOIN small USING (k);
VACUUM large;
SELECT count(*), sum(small.v) FROM large JOIN small USING (k);
SELECT amax.drop_join_index('large_small_join');
-- One for each foreign key
CREATE TABLE "Two Keys" ("a b" int, c text, "d" int, PRIMARY KEY ("a b", c), UNIQUE (d));
CREATE TABLE refers (id int, x int, "y y" text, z int, FOREIGN KEY (x, "y y") REFERENCES "Two Keys", FOREIGN KEY (z) REFERENCES "Two Keys" (d), FOREIGN KEY ("y y") REFERENCES small);
INSERT INTO small SELECT 'K-' || i, i FROM generate_series(1, 500) i;
INSERT INTO "Two Keys" SELECT i * 1000, 'K-' || i % 500 + 1, i * 77777 FROM generate_series(1, 2000) i;
INSERT INTO refers SELECT i, i % 2000 * 1000 + 1000, 'K-' || (i % 2000 + 1) % 500 + 1, (i % 2000 + 1) * 77777 FROM generate_series(1, 6000) i;
SELECT * FROM amax.create_join_indexes('refers');
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'refers'::regclass ORDER BY 1;
ANALYZE refers, "Two Keys", small;
SELECT count(*), sum(d) FROM refers JOIN "Two Keys" ON x = "a b" AND "y y" = c;
SELECT count(*), sum("a b") FROM refers JOIN "Two Keys" ON z = d;
DELETE FROM refers WHERE id % 2 = 0;
SELECT amax.flush('refers') > 0 AS flushed;
INSERT INTO refers SELECT id + 10000, x, "y y", z FROM refers;
SELECT index, covered < rows AS lacks_rows FROM amax.join_indexes WHERE "table" = 'refers'::regclass ORDER BY 1;
SELECT amax.flush('refers') > 0 AS flushed;
SELECT index, covered = rows AS has_all, unknown FROM amax.join_indexes WHERE "table" = 'refers'::regclass ORDER BY 1;
SELECT count(*), sum(d) FROM refers JOIN "Two Keys" ON x = "a b" AND "y y" = c;
-- Of a temporary table, of an unlogged one, of a table with itself
CREATE TEMP TABLE passing AS SELECT * FROM large;
SELECT amax.create_join_index('passing', 'k', 'small', 'k');
SELECT count(*), sum(small.v) FROM passing JOIN small USING (k);
CREATE UNLOGGED TABLE fleeting AS SELECT * FROM large;
SELECT amax.create_join_index('fleeting', 'k', 'small', 'k');
SELECT count(*), sum(small.v) FROM fleeting JOIN small USING (k);
CREATE TABLE tree AS SELECT 'N-' || i AS id, CASE WHEN i > 10 THEN 'N-' || i / 10 END AS parent, i FROM generate_series(1, 5000) i;
ALTER TABLE tree ADD PRIMARY KEY (id);
SELECT amax.create_join_index('tree', 'parent', 'tree', 'id');
VACUUM ANALYZE tree;
SELECT count(*), sum(p.i), sum(c.i) FROM tree c JOIN tree p ON c.parent = p.id;
SELECT index, rows, covered, unknown, reason FROM amax.join_indexes WHERE "table" = 'tree'::regclass;

-- A side that is read again, for rows of another table
CREATE TABLE again_side AS SELECT 'k' || i AS k, i % 2 AS g FROM generate_series(1, 500) i;
ALTER TABLE again_side ADD PRIMARY KEY (k);
CREATE TABLE again AS SELECT 'k' || (i % 600 + 1) AS k, i FROM generate_series(1, 2000) i;
VACUUM ANALYZE again_side, again;
SELECT amax.create_join_index('again', 'k', 'again_side', 'k');
INSERT INTO again_side SELECT 'k' || i, 7 FROM generate_series(501, 560) i;
SELECT g, n FROM (VALUES (0), (7), (1), (7)) v (g), LATERAL (SELECT count(*) AS n FROM again JOIN again_side USING (k) WHERE again_side.g = v.g OFFSET 0) s;

-- Errors
\set VERBOSITY default
SELECT amax.create_join_index('large', 'k', 'small', 'v');
SELECT amax.create_join_index('large', 'k, v', 'small', 'k');
SELECT amax.create_join_index('large', 'v', 'small', 'k');
SELECT amax.create_join_index('large', 'k FROM small; SELECT k', 'small', 'k');
SELECT amax.create_join_index('large', 'count(*)', 'small', 'k');
SELECT amax.create_join_index('large', 'nothing', 'small', 'k');
SELECT amax.create_join_index('queries', 'query', 'small', 'k');
SELECT amax.create_join_index('large', 'k', 'queries', 'query');
SELECT amax.create_join_index('large', 'upper(k)', 'small', 'k');
CREATE INDEX ON large USING amax_join ((v::bigint));
CREATE INDEX ON large USING amax_join (k);
CREATE INDEX ON large USING amax_join (amax.join_row('small', NULL, k)) WHERE v > 3;
CREATE INDEX ON large USING amax_join (amax.join_row('small', NULL, k)) WITH (fillfactor = 50);
CREATE UNIQUE INDEX ON large USING amax_join (amax.join_row('small', NULL, k));
SELECT amax.drop_join_index('small_pkey');
SELECT amax.join_row('small', NULL, 'C-2');
CREATE ROLE amax_join_owner;
CREATE TABLE theirs (LIKE large) USING amax;
ALTER TABLE theirs OWNER TO amax_join_owner;
GRANT USAGE, CREATE ON SCHEMA amax_side TO amax_join_owner;
SET ROLE amax_join_owner;
SELECT amax.create_join_index('amax_side.theirs', 'k', 'amax_side.small', 'k');
RESET ROLE;
GRANT SELECT ON small TO amax_join_owner;
SET ROLE amax_join_owner;
SELECT amax.create_join_index('amax_side.theirs', 'k', 'amax_side.small', 'k');
SELECT amax.create_join_index('amax_side.large', 'k', 'amax_side.small', 'k');
SELECT "table", dimension, rows, reason FROM amax.join_indexes WHERE "table" IN ('amax_side.theirs'::regclass, 'amax_side.tree'::regclass) ORDER BY 1;
RESET ROLE;
-- Its owner may read the dimension no longer, or a dump gives him the right only after its indexes
REVOKE SELECT ON small FROM amax_join_owner;
REINDEX TABLE theirs;
VACUUM theirs;
SELECT reason FROM amax.join_indexes WHERE "table" = 'amax_side.theirs'::regclass;
TRUNCATE theirs;
GRANT SELECT ON small TO amax_join_owner;
INSERT INTO theirs SELECT * FROM large LIMIT 1000;
SELECT amax.flush('theirs') > 0 AS flushed;
SELECT rows = covered AS has_all, reason FROM amax.join_indexes WHERE "table" = 'amax_side.theirs'::regclass;
DROP TABLE theirs;
-- A key that PostgreSQL evaluates
CREATE TABLE days (d date PRIMARY KEY) USING amax;
INSERT INTO days SELECT '2026-01-01'::date + i FROM generate_series(0, 99) i;
CREATE TABLE times USING amax AS SELECT '2026-01-01'::timestamp + i * interval '1 hour' AS t FROM generate_series(0, 999) i;
CREATE INDEX ON times USING amax_join (amax.join_row('days', NULL, (t::date)));
VACUUM days, times;
SELECT index, rows, covered, reason FROM amax.join_indexes WHERE "table" = 'amax_side.times'::regclass;
DROP TABLE times, days;
DROP OWNED BY amax_join_owner;
DROP ROLE amax_join_owner;
