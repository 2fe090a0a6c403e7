-- ORDER BY … LIMIT over one table: AmaxTop keeps the best rows by their keys, and reads the rest of those rows alone. A total order, so
-- that there is one answer; ties are compared by their keys.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET max_parallel_workers_per_gather = 0;
SET amax.bulk_threshold = 0;
SET amax.rows_per_leaf = 500;
SET jit = off;
SELECT twice($$CREATE TABLE t (id int, i int, b bigint, s smallint, n numeric, f float8, r real, x text, c text COLLATE "C", bo bool, d date, ts timestamptz, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, nullif(i * 7919 % 1009, 5), (i * 104729 % 4001)::bigint * 1000000007, i % 300 - 150,
        CASE WHEN i % 11 = 0 THEN NULL WHEN i % 13 = 0 THEN 'NaN' WHEN i % 17 = 0 THEN 1e30 * i WHEN i % 19 = 0 THEN 'Infinity' ELSE (i % 97)::numeric / 7 END,
        CASE WHEN i % 23 = 0 THEN 'NaN' WHEN i % 29 = 0 THEN '-0' WHEN i % 31 = 0 THEN 0 WHEN i % 37 = 0 THEN '-Infinity' ELSE sin(i) END,
        cos(i)::real, chr(65 + i % 26) || chr(97 + i * 7 % 26) || i % 1000, chr(65 + i % 26) || chr(97 + i * 7 % 26) || i % 10, i % 3 = 0,
        date '2020-01-01' + i * 31 % 3000, timestamptz '2020-01-01 00:00+00' + i * interval '1 hour',
        jsonb_build_object('n', i * 31 % 2003, 'time', '2024-01-01T00:00:00.' || lpad((i * 997 % 6007)::text, 6, '0') || 'Z',
            'k', 'k' || i % 5, 'deep', jsonb_build_object('v', i % 50), 'pad', repeat('p', 60),
            'mixed', CASE i % 7 WHEN 0 THEN '"text"' WHEN 1 THEN 'null' WHEN 2 THEN '[1, 2]' WHEN 3 THEN to_jsonb(i) WHEN 4 THEN 'true' WHEN 5 THEN to_jsonb(i / 3.0) ELSE '{"a": 1}' END::jsonb)
            - CASE WHEN i % 8 = 0 THEN 'n' ELSE '-' END
    FROM generate_series(1, 6000) i$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$ALTER TABLE t ADD later int$$) \gexec
SELECT twice($$ALTER TABLE t ADD defaulted int DEFAULT 7$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 100 = 3$$) \gexec
SELECT twice($$UPDATE t SET x = 'changed', later = id, doc = doc || '{"n": -1}' WHERE id % 50 = 7$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, i, i, i % 7, i, i, i, 'hot' || i, 'hot' || i, NULL, '2030-01-01', '2030-01-01 12:00+00', jsonb_build_object('n', i * 5, 'k', 'hot', 'mixed', i), i FROM generate_series(6001, 6300) i$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec

-- The plans: a key that is a column, a path, an expression; what is read late; further keys that only PostgreSQL can compare.
EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY i LIMIT 10;
EXPLAIN (COSTS OFF) SELECT doc FROM t ORDER BY (doc->>'n')::int DESC, id LIMIT 10 OFFSET 5;
EXPLAIN (COSTS OFF) SELECT id, doc->>'k', x FROM t WHERE (doc->'deep'->>'v')::int = 3 ORDER BY doc->>'time' COLLATE "C" DESC NULLS LAST, doc->'mixed', id FETCH FIRST 3 ROWS ONLY;
EXPLAIN (COSTS OFF, VERBOSE) SELECT x, upper(x) FROM t ORDER BY lower(x), id LIMIT 10;
-- None: no limit, no comparable key, an expensive limit, ties, locks, sets, groups, what may raise an error and has no vector.
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY i;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY doc->'mixed' LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY i LIMIT 1000000;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY i FETCH FIRST 2 ROWS WITH TIES;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY i LIMIT 2 FOR UPDATE;
EXPLAIN (COSTS OFF) SELECT generate_series(1, 2), id FROM t ORDER BY id LIMIT 2;
EXPLAIN (COSTS OFF) SELECT id, (doc->>'n' || ' hours')::interval FROM t ORDER BY id LIMIT 2;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY random() LIMIT 2;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE current_setting('amax.custom_scan') = 'on' ORDER BY id LIMIT 2;

-- Every type, in all four directions, beside a total order.
SELECT key, sum(rows) AS rows, sum(missing) AS missing, sum(extra) AS extra
FROM unnest(ARRAY['i', 'b', 's', 'n', 'f', 'r', 'x', 'c', 'bo', 'd', 'ts', 'later', 'defaulted', 'x COLLATE "en-x-icu"', 'x COLLATE "C"', 'c || x',
        '(doc->>''n'')::int', '(doc->>''n'')::numeric', '(doc->>''n'')::float8', 'doc->>''time''', '(doc->>''time'')::timestamptz', 'doc->>''mixed''', 'doc->''deep''->>''v''',
        'length(doc::text)', 'abs(i - 500)', 'i IS NULL', 'doc ? ''n''', 'jsonb_typeof(doc->''mixed'')']) WITH ORDINALITY k(key, number),
    unnest(ARRAY['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST']) direction,
    (VALUES (1, 0), (17, 3), (900, 100)) AS l(count, start),
    compare(format('SELECT * FROM t ORDER BY %s%s, id LIMIT %s OFFSET %s', key, direction, count, start))
GROUP BY key, number ORDER BY number;
-- Several keys; keys twice; keys that nobody selects; a constant among them; keys only PostgreSQL compares.
SELECT keys, found.*
FROM unnest(ARRAY['bo, n DESC, id', 'doc->>''k'', (doc->>''n'')::int DESC, id', 's, s DESC, f, id DESC', 'bo DESC NULLS LAST, c, x DESC, n NULLS FIRST, id', '''a''::text, id',
        'doc->>''k'', doc->''mixed'', id', 'doc->>''k'' DESC, doc->''mixed'' DESC, id', 'bo, (doc->''deep'')::text, id', 'f, doc, id', 'i, t, id', 'c COLLATE "en-x-icu", c, id', 'n, f, r, id',
        'coalesce(later, 5), id', 'CASE WHEN bo THEN i ELSE s END, id', 'bo, tableoid = ''t''::regclass, id']) keys,
    compare(format('SELECT id, x, doc FROM t ORDER BY %s LIMIT 40 OFFSET 7', keys)) AS found;
-- Ties at the end: which of them is open, their keys are not.
SELECT * FROM compare($$SELECT bo, s FROM t ORDER BY bo, s LIMIT 33$$);
SELECT * FROM compare($$SELECT n FROM t ORDER BY n DESC NULLS LAST LIMIT 300$$);
SELECT * FROM compare($$SELECT f FROM t ORDER BY f LIMIT 500$$);
SELECT * FROM compare($$SELECT doc->>'k' FROM t ORDER BY doc->>'k', doc->'deep' LIMIT 1500$$);
-- Conditions: zones, vectors, what PostgreSQL evaluates; none, few and all rows.
SELECT * FROM compare($$SELECT * FROM t WHERE id BETWEEN 1200 AND 1300 ORDER BY i DESC, id LIMIT 12$$);
SELECT * FROM compare($$SELECT * FROM t WHERE x LIKE 'A%' AND (doc->>'n')::int > 5 ORDER BY x, id LIMIT 12$$);
SELECT * FROM compare($$SELECT * FROM t WHERE md5(x) < '1' ORDER BY md5(x), id LIMIT 12$$);
SELECT * FROM compare($$SELECT * FROM t WHERE id < 0 ORDER BY i LIMIT 12$$);
SELECT * FROM compare($$SELECT * FROM t WHERE id < 9 ORDER BY i, id LIMIT 12$$);
SELECT * FROM compare($$SELECT * FROM t WHERE doc->>'k' = 'hot' ORDER BY b DESC LIMIT 12$$);
-- Limits: none of it, NULL, more than there are, beyond what is kept, parameters, subqueries.
SELECT * FROM compare($$SELECT id FROM t ORDER BY i, id LIMIT 0$$);
SELECT * FROM compare($$SELECT id FROM t ORDER BY i, id LIMIT NULL$$);
SELECT * FROM compare($$SELECT id FROM t ORDER BY i, id LIMIT 3 OFFSET NULL$$);
SELECT * FROM compare($$SELECT id FROM t ORDER BY i, id LIMIT 3 OFFSET 10000$$);
SELECT * FROM compare($$SELECT id, doc FROM t ORDER BY i, id LIMIT 9000$$);
SELECT * FROM compare($$SELECT id, doc FROM t ORDER BY i, id LIMIT (SELECT 4) OFFSET (SELECT 2)$$);
SELECT * FROM compare($$SELECT id, doc FROM t ORDER BY i, id LIMIT (SELECT 20000)$$);
SELECT id FROM t ORDER BY i, id LIMIT -1;
SELECT id FROM t ORDER BY i, id LIMIT (SELECT -1);
EXPLAIN (COSTS OFF) SELECT id, doc FROM t ORDER BY i, id LIMIT (SELECT 4) OFFSET (SELECT 2);

-- Prepared, with a plan for all parameters.
SET plan_cache_mode = force_generic_plan;
PREPARE page(int, bigint, bigint) AS SELECT id, doc FROM t WHERE i > $1 ORDER BY i, id LIMIT $2 OFFSET $3;
EXPLAIN (COSTS OFF) EXECUTE page(1, 2, 3);
DEALLOCATE page;
SELECT twice($$CREATE FUNCTION page(above int, count bigint, start bigint) RETURNS SETOF text LANGUAGE plpgsql AS $f$
BEGIN RETURN QUERY SELECT id || doc::text FROM t WHERE i > above ORDER BY i DESC NULLS LAST, id LIMIT count OFFSET start; END $f$ $$) \gexec
SELECT * FROM compare($$SELECT page(1, 3, 2)$$);
SELECT * FROM compare($$SELECT page(100, 30, 20)$$);
SELECT * FROM compare($$SELECT page(100, NULL, 20)$$);
SELECT * FROM compare($$SELECT page(NULL, 5, 0)$$);
SELECT * FROM compare($$SELECT page(0, 20000, NULL)$$);
SELECT * FROM compare($$SELECT page(0, 0, 5)$$);
SELECT page(0, -1, 0);
RESET plan_cache_mode;

-- In subqueries, CTEs, LATERAL joins, set operations, functions, below joins that tell scans of their keys.
EXPLAIN (COSTS OFF) SELECT g, y.id FROM generate_series(1, 20) g, LATERAL (SELECT id, doc FROM t WHERE i > g * 10 ORDER BY (doc->>'n')::int, id LIMIT g) y;
SELECT * FROM compare($$SELECT g, y.* FROM generate_series(1, 20) g, LATERAL (SELECT id, doc FROM t WHERE i > g * 10 ORDER BY (doc->>'n')::int, id LIMIT g) y$$);
SELECT * FROM compare($$SELECT g, y.* FROM generate_series(1, 9) g, LATERAL (SELECT id, doc FROM t ORDER BY abs(i - g * 100), id LIMIT 3 OFFSET g) y$$);
SELECT * FROM compare($$SELECT g, (SELECT doc FROM t ORDER BY b, id LIMIT 1 OFFSET g) FROM generate_series(1, 9) g$$);
SELECT * FROM compare($$WITH few AS MATERIALIZED (SELECT * FROM t ORDER BY ts DESC, id LIMIT 20) SELECT a.id, b.doc FROM few a JOIN few b ON a.id = b.id + 1$$);
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT * FROM compare($$SELECT y.id, y.doc, z.x FROM (SELECT * FROM t ORDER BY i, id LIMIT 50) y JOIN t z ON y.id = z.id AND z.bo$$);
SELECT * FROM compare($$SELECT y.id, y.doc, z.id FROM (SELECT * FROM t ORDER BY i DESC NULLS LAST, id LIMIT 50) y JOIN (SELECT id FROM t WHERE id % 900 = 1) z ON y.id >= z.id AND y.s = z.id % 7$$);
SELECT * FROM compare($$SELECT y.id, y.doc FROM (SELECT * FROM t ORDER BY i, id LIMIT 50) y JOIN (SELECT 3 + g AS id FROM generate_series(1, 900) g) z ON y.id = z.id$$);
RESET enable_mergejoin;
RESET enable_nestloop;
SELECT * FROM compare($$(SELECT id, x FROM t ORDER BY x, id LIMIT 5) UNION ALL (SELECT id, x FROM t ORDER BY x DESC, id LIMIT 5)$$);
SELECT * FROM compare($$SELECT count(*), sum(id), min(doc::text) FROM (SELECT * FROM t ORDER BY f DESC, id LIMIT 77) y$$);
SELECT twice($$CREATE VIEW v AS SELECT id, x, doc->>'k' AS k, (doc->>'n')::int AS n FROM t WHERE id > 10$$) \gexec
SELECT * FROM compare($$SELECT * FROM v ORDER BY n DESC NULLS LAST, id LIMIT 9$$);
SELECT * FROM compare($$SELECT *, x || k FROM v WHERE k <> 'k3' ORDER BY k, x, id LIMIT 9 OFFSET 2$$);
SELECT twice($$CREATE TABLE made AS SELECT * FROM t ORDER BY n DESC, id LIMIT 100$$) \gexec
SELECT * FROM compare($$SELECT * FROM made$$);
SELECT twice($$UPDATE made SET x = 'best' FROM (SELECT id, doc FROM t ORDER BY i, id LIMIT 500) y WHERE y.id = made.id$$) \gexec
SELECT twice($$DELETE FROM made WHERE id IN (SELECT id FROM t ORDER BY n DESC, id LIMIT 5)$$) \gexec
SELECT * FROM compare($$SELECT * FROM made$$);

-- System columns and whole rows.
SELECT * FROM compare($$SELECT id, tableoid::regclass = 't'::regclass AS own FROM t ORDER BY i, id LIMIT 9$$);
SELECT * FROM compare($$SELECT t, t.doc FROM t ORDER BY i, id LIMIT 9$$);
SELECT count(*) FROM (SELECT id, ctid FROM t ORDER BY i, id OFFSET 5 LIMIT 60) y JOIN t ON t.ctid = y.ctid AND t.id = y.id;

-- Errors that heap raises for rows that nobody gets, and those that nobody raises.
SELECT twice($$CREATE TABLE bad (id int, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO bad SELECT i, jsonb_build_object('n', i, 'v', CASE WHEN i = 1500 THEN '"x"' ELSE to_jsonb(i) END) FROM generate_series(1, 2000) i$$) \gexec
SELECT twice($$VACUUM ANALYZE bad$$) \gexec
SELECT twice($$SELECT id, (doc->>'v')::int AS v FROM bad ORDER BY id LIMIT 2$$) \gexec
SELECT twice($$SELECT id FROM bad ORDER BY id, (doc->>'v')::int LIMIT 2$$) \gexec
SELECT twice($$SELECT id, 1 / (id - 1700) AS q FROM bad ORDER BY id LIMIT 2$$) \gexec
SELECT twice($$SELECT id, doc->>'v' AS v, doc->'v' AS j FROM bad ORDER BY id LIMIT 2$$) \gexec
SELECT twice($$SELECT id, (doc->>'v')::int AS v FROM bad WHERE id < 1500 ORDER BY id DESC LIMIT 2$$) \gexec
SELECT twice($$SELECT id, CASE WHEN jsonb_typeof(doc->'v') = 'number' THEN (doc->>'v')::int END AS v FROM bad ORDER BY id DESC LIMIT 2$$) \gexec
SELECT twice($$SELECT id, pg_sleep(0) IS NULL AS slept, (doc->>'n')::int * random() >= 0 AS positive FROM bad ORDER BY id DESC LIMIT 2$$) \gexec
-- what costs more than ten operators PostgreSQL computes above the sort
SELECT twice($$SELECT id, (doc->>'v')::int + (doc->>'v')::int + (doc->>'v')::int + (doc->>'v')::int AS v FROM bad ORDER BY id LIMIT 2$$) \gexec

-- Leaves whose bounds reach none of the best rows are not read; those come first that promise most. Not where rows may have NULL first, where
-- something may be an error, or where no bounds are known. How many leaves are read, and skipped so:
SELECT twice($$CREATE TABLE z (id int, c text COLLATE "C", n numeric, f float8, d date, few int, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO z SELECT i, lpad(i::text, 5, '0'), i / 10.0, i * 1.5, date '2020-01-01' + i, CASE WHEN i > 3000 THEN i END,
        jsonb_build_object('id', i, 'time', '24-' || lpad(i::text, 5, '0') || 'T12:00Z', 'some', CASE WHEN i % 1000 <> 7 THEN i END, 'bad', CASE WHEN i = 1700 THEN '"x"' ELSE to_jsonb(i) END,
            'dec', i / 4.0, CASE WHEN i <= 2500 THEN 'late' ELSE '' END, i, 'pad', repeat('p' || i, 9))
    FROM generate_series(1, 4000) i$$) \gexec
SELECT twice($$VACUUM ANALYZE z$$) \gexec
CREATE FUNCTION twins.leaves(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb; BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT json) ' || query INTO plan;
    SELECT p INTO plan FROM jsonb_path_query(plan, 'lax $.**{1 to last} ? (exists(@."Leaves Read"))') p LIMIT 1;
    RETURN concat_ws(' + ', plan->>'Leaves Read', plan->>'Leaves Skipped by Best Rows');
END $$;
SELECT key, twins.leaves(format('SELECT doc FROM z ORDER BY %s LIMIT 5', key)), found.*
FROM unnest(ARRAY['id', 'id DESC', 'id DESC NULLS LAST', 'id DESC, doc', 'c DESC', 'c COLLATE "en-x-icu" DESC', 'n', 'n DESC', 'f DESC', 'd DESC, id', 'few DESC', 'few DESC NULLS LAST', 'few', '-id',
        'doc->>''id''', '(doc->>''id'')::int DESC', '(doc->''id'')::int DESC', '(doc->>''id'')::numeric DESC', '(doc->>''id'')::float8 DESC', '(doc->>''dec'')::numeric DESC', '(doc->>''dec'')::float8',
        '(doc->>''id'')::smallint DESC', 'c', 'doc->>''time'' COLLATE "C" DESC', '(doc->>''some'')::int DESC', '(doc->>''some'')::int', '(doc->>''late'')::int DESC', '(doc->>''late'')::int DESC NULLS LAST',
        'id, (doc->>''id'')::int', 'bool(id % 2)']) WITH ORDINALITY k(key, number), compare(format('SELECT doc FROM z ORDER BY %s, id LIMIT 5', key)) AS found ORDER BY number;
SELECT condition, twins.leaves(format('SELECT doc FROM z WHERE %s ORDER BY id DESC LIMIT 5', condition)), found.*
FROM unnest(ARRAY['id < 2000', 'id % 7 = 0', '(doc->>''id'')::int > 5', 'few IS NULL', 'id < 700 OR id > 3900', 'doc->>''id'' LIKE ''1%'' AND id < 3000']) condition,
    compare(format('SELECT doc FROM z WHERE %s ORDER BY id DESC LIMIT 5', condition)) AS found;
-- Heap computes what is selected of all rows, and meets the one that is none.
SELECT twice($$SELECT id, (doc->>'bad')::int AS bad FROM z ORDER BY id DESC LIMIT 2$$) \gexec
SELECT twice($$SELECT id FROM z ORDER BY id DESC, (doc->>'bad')::int LIMIT 2$$) \gexec
SELECT twice($$SELECT id FROM z WHERE (doc->>'bad')::int > 0 ORDER BY id DESC LIMIT 2$$) \gexec
SELECT twice($$SELECT id FROM z WHERE id > 1700 AND (doc->>'bad')::int > 0 ORDER BY id DESC LIMIT 2$$) \gexec
-- Rows that were changed, deleted and inserted since; a snapshot's rows; the statistics count skipped rows.
SELECT twice($$DELETE FROM z WHERE id > 3990$$) \gexec
SELECT twice($$UPDATE z SET id = 5000 + id WHERE id % 1000 = 1$$) \gexec
SELECT twice($$INSERT INTO z SELECT i, i::text, i, i, '2020-01-01', i, jsonb_build_object('id', i) FROM generate_series(3980, 3995) i$$) \gexec
SELECT * FROM compare($$SELECT * FROM z ORDER BY id DESC, doc LIMIT 20$$);
SELECT * FROM compare($$SELECT * FROM z ORDER BY (doc->>'id')::int DESC, id LIMIT 20 OFFSET 2$$);
SELECT * FROM compare($$SELECT g, x.* FROM generate_series(500, 3500, 500) g, LATERAL (SELECT id, doc FROM z WHERE id < g ORDER BY id DESC LIMIT 3) x$$);
SELECT * FROM compare($$SELECT g, x.* FROM generate_series(500, 3500, 500) g, LATERAL (SELECT id, doc FROM z ORDER BY abs(id - g), id LIMIT 3) x$$);
-- More ties than are kept, and leaves that take more memory than they may: all rows are handed up, from the start again.
SELECT twice($$CREATE TABLE tied AS SELECT i AS id, i % 2 AS k, jsonb_build_object('i', i) AS doc FROM generate_series(1, 25000) i$$) \gexec
SELECT twice($$VACUUM ANALYZE tied$$) \gexec
CREATE FUNCTION twins.handed(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb; BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT json) ' || query INTO plan;
    SELECT p INTO plan FROM jsonb_path_query(plan, 'lax $.**{1 to last} ? (exists(@."Best By"))') p LIMIT 1;
    RETURN concat_ws(': ', coalesce(plan->>'Handed Up', 'best rows'), plan->>'Actual Rows');
END $$;
SELECT twins.handed('SELECT * FROM tied ORDER BY k, doc LIMIT 5'), * FROM compare($$SELECT * FROM tied ORDER BY k, doc LIMIT 5$$);
SELECT twins.handed('SELECT * FROM tied WHERE id < 9000 ORDER BY k, doc LIMIT 5'), * FROM compare($$SELECT * FROM tied WHERE id < 9000 ORDER BY k, doc LIMIT 5$$);
SET amax.decode_cache = 0;
SET amax.shared_cache = 0;
SET work_mem = '64kB';
SELECT twins.handed('SELECT * FROM tied ORDER BY md5(id::text) LIMIT 500'), * FROM compare($$SELECT * FROM tied ORDER BY md5(id::text) LIMIT 500$$);
SELECT twins.handed('SELECT * FROM tied ORDER BY md5(id::text) LIMIT 1'), * FROM compare($$SELECT * FROM tied ORDER BY md5(id::text) LIMIT 1$$);
RESET amax.decode_cache;
RESET amax.shared_cache;
RESET work_mem;
-- A policy hides rows: nothing is skipped that tells of them.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_top;
CREATE ROLE regress_top;
RESET client_min_messages;
GRANT USAGE ON SCHEMA amax_side, heap_side, twins TO regress_top;
SELECT twice($$GRANT SELECT ON z TO regress_top$$) \gexec
SELECT twice($$CREATE POLICY p ON z USING (id % 3 > 0)$$) \gexec
SELECT twice($$ALTER TABLE z ENABLE ROW LEVEL SECURITY$$) \gexec
SELECT twins.leaves('SELECT doc FROM z ORDER BY id DESC LIMIT 5');
SET ROLE regress_top;
EXPLAIN (COSTS OFF) SELECT doc FROM z ORDER BY id DESC LIMIT 5;
SELECT * FROM compare($$SELECT * FROM z ORDER BY id DESC, doc LIMIT 20$$);
RESET ROLE;

-- In workers.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT doc FROM t ORDER BY (doc->>'n')::int DESC, id LIMIT 10;
SELECT * FROM compare($$SELECT * FROM t ORDER BY (doc->>'n')::int DESC, id LIMIT 10$$);
SELECT * FROM compare($$SELECT id, doc->>'k', x FROM t WHERE bo ORDER BY x DESC, id LIMIT 100 OFFSET 30$$);
SELECT * FROM compare($$SELECT id, doc FROM t ORDER BY doc->>'k', doc->'mixed', id LIMIT 10$$);
SELECT * FROM compare($$SELECT page(100, 30, 20)$$);
SELECT * FROM compare($$SELECT id, doc FROM t ORDER BY i, id LIMIT (SELECT 4) OFFSET (SELECT 2)$$);
SELECT key, found.* FROM unnest(ARRAY['id', 'id DESC', 'few DESC', '(doc->>''id'')::int DESC', 'c DESC']) key, compare(format('SELECT id, c, doc FROM z ORDER BY %s, doc LIMIT 30 OFFSET 4', key)) AS found;
EXPLAIN (COSTS OFF) SELECT id, c, doc FROM z ORDER BY id DESC LIMIT 30;
-- Workers are worth their while where all leaves are read, not where bounds leave one of many.
SET parallel_setup_cost = 2;
EXPLAIN (COSTS OFF) SELECT id, doc FROM z ORDER BY id DESC LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id, doc FROM z ORDER BY few DESC, id LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id, doc FROM z ORDER BY (doc->>'id')::int DESC NULLS LAST LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id, doc FROM z ORDER BY id + few DESC LIMIT 10;
SET parallel_setup_cost = 0;
-- What takes too much memory is not read again: no other process has it.
SET amax.decode_cache = 0;
SET amax.shared_cache = 0;
SET work_mem = '64kB';
SELECT key, found.* FROM unnest(ARRAY['md5(id::text)', 'id DESC', 'k, doc']) key, compare(format('SELECT * FROM tied ORDER BY %s LIMIT 500', key)) AS found;
RESET amax.decode_cache;
RESET amax.shared_cache;
RESET work_mem;
DROP OWNED BY regress_top;
DROP ROLE regress_top;
