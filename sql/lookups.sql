-- Rows that an index leads to, of columns that a scan has decoded before: what they have is what heap's rows have, whatever the type.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.rows_per_leaf = 1000;
SET max_parallel_workers_per_gather = 0;
CREATE DOMAIN twins.amount AS numeric(10, 3) CHECK (value > -1000);
CREATE TYPE twins.mood AS ENUM ('sad', 'ok', 'glad');
SELECT twice($$CREATE TABLE t (id int, n numeric, m numeric(10, 2), d amount, b bool, c char(5), q "char", s smallint, l bigint, f real, g float8, t text, v varchar(9), nm name, u uuid, dt date,
    ts timestamptz, iv interval, by bytea, e mood, a int[], doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN i * 1e25 WHEN 3 THEN i + 0.10 WHEN 4 THEN 'Infinity' ELSE i END, i / 7.0, i / 3.0, i % 3 = 0, 'c' || i % 20,
    chr(65 + i % 26)::"char", i % 1000, i * 1000000000000, i / 3.0, i / 7.0, nullif('text ' || i % 40, 'text 7'), 'v' || i % 100, 'name' || i, md5(i::text)::uuid, date '2000-01-01' + i, timestamptz '2000-01-01 00:00+00' + i * interval '7 minutes',
    i * interval '1 hour', decode(md5(i::text), 'hex'), (ARRAY['sad', 'ok', 'glad'])[i % 3 + 1]::mood, ARRAY[i, NULL, -i], jsonb_build_object('i', i, 's', 'x' || i) FROM generate_series(1, 3000) i$$) \gexec
SELECT twice($$ALTER TABLE t ADD COLUMN later int DEFAULT 5, ADD COLUMN never text$$) \gexec
SELECT twice($$INSERT INTO t (id, n, later, never) SELECT i, i + 0.5, i, 'n' || i FROM generate_series(3001, 4500) i$$) \gexec
SELECT twice($$CREATE INDEX ON t (id)$$) \gexec
SELECT twice($$VACUUM (FREEZE, ANALYZE) t$$) \gexec
-- All types, before and after.
CREATE TABLE twins.wanted USING heap AS SELECT i * 37 % 4600 AS w FROM generate_series(1, 700) i;
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_bitmapscan = off;
SET search_path = amax_side, public, twins;
EXPLAIN (COSTS OFF) SELECT x.* FROM wanted, LATERAL (SELECT * FROM t WHERE t.id = w OFFSET 0) x;
SELECT * FROM compare($$SELECT x.* FROM wanted, LATERAL (SELECT * FROM t WHERE t.id = w OFFSET 0) x$$);
SET enable_indexscan = off;
SELECT * FROM compare($$SELECT count(n), count(m), count(d), count(b), count(c), count(q), count(s), count(l), count(f), count(g), count(t), count(v), count(nm), count(u), count(dt), count(ts), count(iv), count(by), count(e), count(a), count(later), count(never) FROM t WHERE n > 3 OR m > 1 OR d > 1 OR b OR c > 'c' OR s > 1 OR l > 1 OR f > 1 OR g > 1 OR t > 'a' OR v > 'a' OR nm > 'a' OR u > md5('1')::uuid OR dt > '2000-01-01' OR ts > '2000-01-01' OR later > 1 OR never > 'a'$$);
SELECT * FROM compare($$SELECT sum(m), sum(s), sum(l), max(dt), max(ts), max(t), max(c), sum(later), max(never), sum(d), max(v), bool_or(b) FROM t$$);
RESET enable_indexscan;
SELECT * FROM compare($$SELECT x.* FROM wanted, LATERAL (SELECT * FROM t WHERE t.id = w OFFSET 0) x$$);
SELECT * FROM compare($$SELECT x.* FROM wanted, LATERAL (SELECT m, d, t, c, dt, later FROM t WHERE t.id = w AND n > 10 OFFSET 0) x$$);
-- Another session finds them in shared memory.
SELECT columns_found FROM amax.stat_tables WHERE relid = 'amax_side.t'::regclass \gset
\c -
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_bitmapscan = off;
SET search_path = amax_side, public, twins;
SELECT * FROM compare($$SELECT x.* FROM wanted, LATERAL (SELECT s, n, t FROM t WHERE t.id = w OFFSET 0) x$$);
SELECT columns_found > :columns_found AS found FROM amax.stat_tables WHERE relid = 't'::regclass;
DROP SCHEMA amax_side, heap_side CASCADE;
DROP TABLE twins.wanted;
DROP DOMAIN twins.amount;
DROP TYPE twins.mood;
