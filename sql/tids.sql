-- Conditions on ctid: a scan keeps to the blocks that they leave. And queries as several, each of some blocks.
CREATE SCHEMA tids;
SET search_path = tids;
SET amax.rows_per_leaf = 700;
SET amax.flush_threshold = 0;

CREATE TABLE t (id int, k int, s text, doc jsonb) USING amax;
INSERT INTO t SELECT i, i % 10, 'row ' || i % 300, jsonb_build_object('i', i, 'k', i % 7) FROM generate_series(1, 30000) i;
VACUUM t;
-- stubs, dead rows, row pages; within blocks of leaves and behind them
UPDATE t SET s = s || '!' WHERE id % 50 = 0;
DELETE FROM t WHERE id BETWEEN 5000 AND 6500 OR id % 333 = 1;
DO $$ BEGIN
  FOR i IN 30001 .. 33000 LOOP
    INSERT INTO t VALUES (i, i % 10, 'late ' || i, jsonb_build_object('i', i));
  END LOOP;
END $$;
ANALYZE t;
SELECT count(*) > 20 AS leaves, current_setting('amax.eager')::bool OR (SELECT max(ctid) FROM t) > max(last_tid::tid) AS and_row_pages FROM amax.leaves('t');

CREATE FUNCTION plan_of(query text, OUT line text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    RETURN NEXT;
  END LOOP;
END $$;
-- A query by our scan, and by PostgreSQL's.
CREATE FUNCTION sides(query text, OUT any_rows bool, OUT same bool) LANGUAGE plpgsql AS $$
DECLARE
  ours text[];
  theirs text[];
BEGIN
  SET LOCAL enable_tidscan = off;
  EXECUTE format('SELECT array_agg(q::text ORDER BY q::text) FROM (%s) q', query) INTO ours;
  IF NOT EXISTS (SELECT FROM plan_of(query) WHERE line ~ 'Amax') THEN
    RAISE 'not ours: %', query;
  END IF;
  SET LOCAL amax.custom_scan = off;
  EXECUTE format('SELECT array_agg(q::text ORDER BY q::text) FROM (%s) q', query) INTO theirs;
  SET LOCAL amax.custom_scan = on;
  any_rows := ours IS NOT NULL;
  same := ours IS NOT DISTINCT FROM theirs;
END $$;

SELECT * FROM plan_of('SELECT sum(k) FROM t WHERE ctid >= ''(10,0)'' AND ctid < ''(40,0)''');
SELECT * FROM plan_of('SELECT s FROM t WHERE ctid >= ''(10,0)'' AND k = 3 AND ctid < ''(40,0)'' AND id > 5');
SELECT * FROM plan_of('SELECT s FROM t WHERE ctid < ''(12,0)''');
SELECT * FROM plan_of('SELECT * FROM t WHERE ctid BETWEEN ''(100,0)'' AND ''(150,0)'' ORDER BY s DESC LIMIT 3');

-- each operator, on both sides, at each offset that matters, in leaves and in row pages, at the ends and beyond
CREATE TABLE ends AS SELECT format('(%s,%s)', block, o) AS tid
  FROM (SELECT (max(ctid)::text::point)[0]::bigint AS last FROM t) l,
    LATERAL unnest(ARRAY[0, 1, 33, 70, last - 1, last, last + 1, 4294967294]) block, unnest(ARRAY[0, 1, 7, 65535]) o;
SELECT count(*), bool_and(same), bool_or(any_rows) AS any_rows
  FROM ends, unnest(ARRAY['<', '<=', '>', '>=']) op, LATERAL sides(format('SELECT id, ctid, s FROM t WHERE ctid %s %L', op, tid));
SELECT count(*), bool_and(same), bool_or(any_rows) AS any_rows
  FROM ends, unnest(ARRAY['<', '<=', '>', '>=']) op, LATERAL sides(format('SELECT id FROM t WHERE %L %s ctid AND k = 4', tid, op));
SELECT count(*), bool_and(same), bool_or(any_rows) AS any_rows
  FROM ends a, ends b, LATERAL sides(format('SELECT count(*), sum(k), min(s) FROM t WHERE ctid > %L AND ctid <= %L', a.tid, b.tid));
-- what is beside them: BETWEEN, none, NULL, not a constant, below OR and NOT
SELECT * FROM sides('SELECT doc->>''k'', count(*) FROM t WHERE ctid BETWEEN ''(20,0)'' AND ''(60,0)'' AND (doc->>''i'')::int % 2 = 0 GROUP BY 1');
SELECT * FROM sides('SELECT id FROM t WHERE ctid > ''(20,0)'' AND ctid < ''(20,0)''');
SELECT * FROM sides('SELECT id FROM t WHERE ctid >= ''(60,0)'' AND ctid < ''(20,0)'' AND k = 1');
SELECT * FROM sides('SELECT id FROM t WHERE ctid < ''(20,0)'' OR ctid >= ''(60,0)''');
SELECT * FROM sides('SELECT id FROM t WHERE NOT ctid < ''(20,0)''');
SELECT * FROM sides('SELECT id FROM t WHERE ctid < (SELECT ''(20,0)''::tid)');
SELECT * FROM sides('SELECT ctid FROM t WHERE ctid >= ''(20,0)'' ORDER BY s DESC, id LIMIT 20');
SELECT * FROM sides('SELECT a.id, b.id FROM t a JOIN t b ON a.id = b.id + 1 WHERE a.ctid < ''(40,0)'' AND b.ctid >= ''(10,0)''');
SELECT * FROM sides('SELECT e.value FROM t, jsonb_array_elements(jsonb_build_array(doc->''i'', doc->''k'')) e WHERE ctid >= ''(40,0)'' AND ctid < ''(50,0)''');

-- other blocks are not read
CREATE FUNCTION leaves_read(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    IF line ~ 'Leaves Read' THEN
      RETURN substring(line FROM '\d+');
    END IF;
  END LOOP;
END $$;
SELECT leaves_read('SELECT sum(k) FROM t') = (SELECT count(*) FROM amax.leaves('t')) AS all,
  leaves_read('SELECT sum(k) FROM t WHERE ctid >= ''(50,0)'' AND ctid < ''(57,0)''') BETWEEN 1 AND 4 AS few;

-- backwards, by a cursor, again and again, by workers, early
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, ctid >= '(60,0)' AND ctid < '(64,0)' AS within FROM t WHERE ctid >= '(60,0)' AND ctid < '(64,0)';
MOVE FORWARD ALL IN c;
CREATE TEMP TABLE backwards (id int, within bool);
DO $$ DECLARE c refcursor := 'c'; row record; BEGIN
  LOOP
    FETCH BACKWARD FROM c INTO row;
    EXIT WHEN NOT FOUND;
    INSERT INTO backwards VALUES (row.id, row.within);
  END LOOP;
END $$;
SELECT count(*) = (SELECT count(*) FROM t WHERE ctid >= '(60,0)' AND ctid < '(64,0)') AS all, bool_and(within) FROM backwards;
MOVE 1 IN c;
UPDATE t SET s = 'current' WHERE CURRENT OF c RETURNING s;
COMMIT;
SELECT count(*) = 3 * (SELECT count(*) FROM t WHERE k = 2 AND ctid >= '(50,0)') AS again
  FROM generate_series(1, 3) g, LATERAL (SELECT id FROM t WHERE ctid >= '(50,0)' AND k = 2 AND g > 0 OFFSET 0) x;
SET amax.materialization = early;
SELECT * FROM sides('SELECT count(*), sum(id) FROM t WHERE ctid >= ''(60,0)'' AND ctid < ''(90,0)''');
RESET amax.materialization;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT * FROM sides('SELECT count(*), sum(id), count(DISTINCT ctid) FROM t WHERE ctid >= ''(60,0)'' AND ctid < ''(90,0)''');
SELECT * FROM sides('SELECT id FROM t WHERE ctid >= ''(90,0)''');
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;

-- a policy comes first, as rows that it hides must not be seen by what is read: PostgreSQL's operators are leakproof, so they may still leave blocks out
CREATE ROLE regress_tids;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON t USING (k < 3);
GRANT USAGE ON SCHEMA tids TO regress_tids;
GRANT SELECT ON t TO regress_tids;
SELECT count(*) FILTER (WHERE k < 3) AS expected FROM t WHERE ctid >= '(60,0)' AND ctid < '(90,0)' \gset
SET ROLE regress_tids;
SELECT count(*) = :expected AS same FROM t WHERE ctid >= '(60,0)' AND ctid < '(90,0)';
RESET ROLE;
DROP POLICY few ON t;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
DROP OWNED BY regress_tids;
DROP ROLE regress_tids;

-- parts
CREATE TABLE large USING amax AS SELECT i AS id, i % 7 AS k, 'text ' || i % 1000 AS s FROM generate_series(1, 300000) i;
DELETE FROM large WHERE id % 10 = 3;
INSERT INTO large SELECT i, 1, 'row page' FROM generate_series(300001, 301000) i;
-- how many rows there are is known, too
CREATE FUNCTION expected(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  RETURN plan->0->'Plan'->>'Plan Rows';
END $$;
SELECT from_block, expected(query)::float8 / greatest(actual, 1) BETWEEN 0.5 AND 2 AS about
  FROM (VALUES (0, 100), (400, 500), (700, 701)) b(from_block, to_block),
    LATERAL format('SELECT * FROM large WHERE ctid >= ''(%s,0)'' AND ctid < ''(%s,0)''', from_block, to_block) query,
    LATERAL (SELECT count(*) FROM large WHERE ctid >= format('(%s,0)', from_block)::tid AND ctid < format('(%s,0)', to_block)::tid) a(actual);
CREATE TABLE small USING amax AS SELECT 1 AS a;
CREATE TEMP TABLE passing USING amax AS SELECT i AS id FROM generate_series(1, 100000) i;
CREATE FUNCTION parts(query text, asked int, OUT parts bigint, OUT any_rows bool, OUT same bool) LANGUAGE plpgsql AS $$
DECLARE
  list text;
BEGIN
  SELECT count(*), string_agg('(' || p || ')', ' UNION ALL ') INTO parts, list FROM amax.arrow_parts(query, $2) p;
  EXECUTE format('SELECT EXISTS (%1$s), NOT EXISTS ((%1$s) EXCEPT ALL (%2$s)) AND NOT EXISTS ((%2$s) EXCEPT ALL (%1$s))', query, list) INTO any_rows, same;
END $$;
SELECT regexp_replace(p, '\d+,0', 'N,0', 'g') FROM amax.arrow_parts('SELECT *, upper(s) FROM large WHERE k = 2 OR id < 0', 3) p;
SELECT * FROM parts('SELECT * FROM large', 4);
SELECT * FROM parts('TABLE large', 2);
SELECT * FROM parts('SELECT id, k * 2 AS "Twice", ctid, tableoid::regclass FROM large l WHERE s LIKE ''text 1%'' AND ctid >= ''(100,0)''', 3);
SELECT * FROM parts('SELECT id FROM ONLY large', 1000);
SELECT * FROM parts('SELECT id, generate_series(1, 2) FROM large WHERE k = 1', 2);
-- as they are
SELECT * FROM unnest(ARRAY['SELECT * FROM small', 'SELECT count(*) FROM large', 'SELECT * FROM large LIMIT 5', 'SELECT * FROM large OFFSET 5', 'SELECT * FROM large ORDER BY id',
    'SELECT DISTINCT k FROM large', 'SELECT k FROM large GROUP BY k', 'SELECT row_number() OVER () FROM large', 'SELECT random() FROM large', 'SELECT * FROM large FOR UPDATE',
    'SELECT * FROM large UNION ALL SELECT * FROM large', 'SELECT * FROM large a, large b', 'WITH x AS (SELECT 1) SELECT id FROM large', 'SELECT (SELECT max(id) FROM t) FROM large',
    'SELECT * FROM large TABLESAMPLE SYSTEM (1)', 'SELECT * FROM large WHERE now() > ''2020-01-01''', 'SELECT * FROM large l(ctid)', 'SELECT * FROM pg_temp.passing', 'SELECT * FROM pg_class', 'VALUES (1), (2)', 'SELECT * FROM (SELECT * FROM large) x', 'SELECT 1 AS one HAVING true']) q
  WHERE ARRAY[q] IS DISTINCT FROM (SELECT array_agg(p) FROM amax.arrow_parts(q, 4) p);
-- a condition on ctid is one on the table, which takes the right to read all of it
CREATE ROLE regress_tids;
GRANT USAGE ON SCHEMA tids, amax TO regress_tids;
GRANT SELECT (id) ON large TO regress_tids;
SET ROLE regress_tids;
SELECT * FROM amax.arrow_parts('SELECT id FROM large', 4);
RESET ROLE;
GRANT SELECT ON large TO regress_tids;
SET ROLE regress_tids;
SELECT count(*) FROM amax.arrow_parts('SELECT id FROM large', 4);
RESET ROLE;
DROP OWNED BY regress_tids;
DROP ROLE regress_tids;
-- values are those of any session
ALTER TABLE large ADD COLUMN at date, ADD COLUMN f float8, ADD COLUMN i interval;
SET datestyle = 'SQL, DMY';
SET intervalstyle = 'sql_standard';
SET extra_float_digits = -10;
SELECT regexp_replace(regexp_replace(p, '.*WHERE', ''), '\d+,0', 'N,0') FROM amax.arrow_parts('SELECT id FROM large WHERE at < ''01/02/2020'' AND f < 0.1234567890123 AND i < ''1 day -2:00''::interval', 2) p LIMIT 1;
RESET datestyle;
RESET intervalstyle;
RESET extra_float_digits;
CREATE VIEW seen AS SELECT * FROM large;
CREATE TABLE child () INHERITS (large);
SELECT * FROM amax.arrow_parts('SELECT * FROM seen', 4);
SELECT * FROM amax.arrow_parts('SELECT * FROM large', 4);
SELECT count(*) FROM amax.arrow_parts('SELECT * FROM ONLY large', 4);
-- refused
SELECT * FROM amax.arrow_parts('SELECT * FROM large', 0);
SELECT * FROM amax.arrow_parts('SELECT * FROM nowhere', 2);
SELECT * FROM amax.arrow_parts('DELETE FROM large', 2);
SELECT * FROM amax.arrow_parts('SELECT 1; SELECT 2', 2);
SELECT * FROM amax.arrow_parts('', 2);
SET client_min_messages = warning;
DROP SCHEMA tids CASCADE;
