-- DISTINCT ON over one table: AmaxTop keeps the best row of each group by its keys, and reads the rest of those rows alone. A total order, so
-- that there is one answer.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET max_parallel_workers_per_gather = 0;
SET amax.bulk_threshold = 0;
SET amax.rows_per_leaf = 500;
SET jit = off;
SELECT twice($$CREATE TABLE t (id int, k int, b bigint, n numeric, f float8, r real, x text, c text COLLATE "C", bo bool, d date, ts timestamptz, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, nullif(i * 7919 % 37, 5), (i * 104729 % 41)::bigint * 1000000007,
        CASE WHEN i % 11 = 0 THEN NULL WHEN i % 13 = 0 THEN 'NaN' WHEN i % 17 = 0 THEN 1e30 * (i % 3) WHEN i % 19 = 0 THEN 'Infinity' WHEN i % 2 = 0 THEN (i % 7)::numeric ELSE (i % 7)::numeric(9, 2) END,
        CASE WHEN i % 23 = 0 THEN 'NaN' WHEN i % 29 = 0 THEN '-0' WHEN i % 31 = 0 THEN 0 WHEN i % 37 = 0 THEN '-Infinity' ELSE (i % 5)::float8 END,
        (i % 9 - 4)::real, chr(65 + i % 26) || chr(97 + i * 7 % 3), chr(65 + i % 26) || chr(97 + i * 7 % 26), i % 3 = 0,
        date '2020-01-01' + i * 31 % 30, timestamptz '2020-01-01 00:00+00' + i % 700 * interval '1 hour',
        jsonb_build_object('n', i * 31 % 2003, 'time', '2024-01-01T00:00:00.' || lpad((i * 997 % 6007)::text, 6, '0') || 'Z',
            'k', 'k' || i % 5, 'deep', jsonb_build_object('v', i % 50), 'pad', repeat('p', 400),
            'mixed', CASE i % 7 WHEN 0 THEN '"text"' WHEN 1 THEN 'null' WHEN 2 THEN '[1, 2]' WHEN 3 THEN to_jsonb(i % 20) WHEN 4 THEN 'true' WHEN 5 THEN to_jsonb(i % 30 / 4.0) ELSE '{"a": 1}' END::jsonb)
            - CASE WHEN i % 8 = 0 THEN 'n' ELSE '-' END - CASE WHEN i % 9 = 0 THEN 'k' ELSE '-' END
    FROM generate_series(1, 6000) i$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$ALTER TABLE t ADD later int$$) \gexec
SELECT twice($$ALTER TABLE t ADD defaulted int DEFAULT 7$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 100 = 3$$) \gexec
SELECT twice($$UPDATE t SET x = 'changed', later = id % 3, doc = doc || '{"n": -1}' WHERE id % 50 = 7$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, i % 40, i, i, i, i, 'hot' || i % 10, 'hot' || i % 9, NULL, '2030-01-01', '2030-01-01 12:00+00', jsonb_build_object('n', i * 5, 'k', 'hot', 'mixed', i), i FROM generate_series(6001, 6300) i$$) \gexec
SELECT twice($$ANALYZE t$$) \gexec

-- The plans: groups by columns, paths, expressions; no further keys, and such as only PostgreSQL can compare; LIMIT above.
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (doc->>'k') doc FROM t ORDER BY doc->>'k', (doc->>'n')::bigint DESC;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k, bo) * FROM t WHERE id > 5 ORDER BY bo DESC, k, doc->>'time' COLLATE "C" DESC NULLS LAST, id;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (d) doc->>'time', x FROM t ORDER BY d LIMIT 3;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) doc FROM t;
EXPLAIN (COSTS OFF, VERBOSE) SELECT DISTINCT ON (lower(doc->>'k')) x, upper(x) FROM t ORDER BY lower(doc->>'k'), n, doc->'mixed', id;
-- None: groups that vectors have not, groups that are nearly rows, all rows equal by what can be compared, sets, windows, groups, what may raise an
-- error and has no vector.
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (doc->'mixed') id, doc FROM t ORDER BY doc->'mixed', id;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (id) id, doc FROM t ORDER BY id, k;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) id, doc FROM t ORDER BY k, doc->'mixed', id;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) generate_series(1, 2), doc FROM t ORDER BY k, id;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) doc, row_number() OVER (ORDER BY id) FROM t ORDER BY k, id;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) count(*) FROM t GROUP BY k, bo ORDER BY k, bo;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) doc, (doc->>'n' || ' hours')::interval FROM t ORDER BY k, id;
EXPLAIN (COSTS OFF) SELECT DISTINCT k, bo FROM t ORDER BY k, bo;

-- Every type as a group, and as a further key in all four directions.
CREATE TEMP TABLE keys AS SELECT key, number FROM unnest(ARRAY['k', 'b', 'n', 'f', 'r', 'x', 'c', 'bo', 'd', 'ts', 'later', 'defaulted', 'x COLLATE "en-x-icu"', 'x COLLATE "C"',
    '(doc->>''n'')::int', '(doc->>''n'')::numeric', '(doc->>''n'')::float8', 'doc->>''time''', '(doc->>''time'')::timestamptz', 'doc->>''mixed''', 'doc->>''k''', 'doc->''deep''->>''v''',
    'length(doc::text)', 'abs(k - 20)', 'k IS NULL', 'doc ? ''n''', 'jsonb_typeof(doc->''mixed'')']) WITH ORDINALITY k(key, number);
SELECT key, sum(rows) AS rows, sum(missing) AS missing, sum(extra) AS extra
FROM keys, unnest(ARRAY['', ' DESC NULLS LAST']) direction,
    compare(format('SELECT DISTINCT ON (%s) * FROM t ORDER BY %1$s%s, id', key, direction))
GROUP BY key, number ORDER BY number;
SELECT key, sum(rows) AS rows, sum(missing) AS missing, sum(extra) AS extra
FROM keys, unnest(ARRAY['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST']) direction, unnest(ARRAY['bo', 'doc->>''k''']) AS groups,
    compare(format('SELECT DISTINCT ON (%s) * FROM t ORDER BY %1$s, %s%s, id DESC', groups, key, direction))
GROUP BY key, number ORDER BY number;
-- Several groups and keys; groups in another order than the sort's, groups twice, constants, keys that are groups.
SELECT groups, sort, found.*
FROM (VALUES ('bo, k', 'bo, k DESC, n, id'), ('k, bo', 'bo DESC, k, f DESC, n NULLS FIRST, id'), ('k', 'k, doc->>''k'', doc->''mixed'', id'), ('k, k', 'k, x COLLATE "en-x-icu", c, id'),
        ('k, ''a''::text', 'k, ''a''::text, id'), ('bo', 'bo, bo DESC, id'), ('n', 'n, n, f, id'), ('f', 'f DESC, n DESC, r, id'), ('bo', 'bo, doc, id'), ('bo', 'bo, t, id'), ('r, f, n', 'n, r DESC, f, x, id'),
        ('bo, x', 'x, bo, doc->>''mixed'' DESC NULLS LAST, id DESC'), ('coalesce(later, k)', 'coalesce(later, k), id'), ('CASE WHEN bo THEN k ELSE 3 END', 'CASE WHEN bo THEN k ELSE 3 END, id'),
        ('tableoid = ''t''::regclass, bo', 'tableoid = ''t''::regclass, bo, id'), ('x || c, bo', 'bo, x || c, id'),
        ('x', 'x USING ~<~, id'), ('k', 'k, x USING ~>~, id')) AS l(groups, sort),
    compare(format('SELECT DISTINCT ON (%s) id, x, doc, t FROM t ORDER BY %s', groups, sort)) AS found;
-- Ties: which row it is is open, its keys are not.
SELECT * FROM compare($$SELECT DISTINCT ON (bo) bo, k FROM t ORDER BY bo, k DESC$$);
SELECT * FROM compare($$SELECT DISTINCT ON (k, bo) k, bo FROM t$$);
SELECT * FROM compare($$SELECT DISTINCT ON (k, bo) k, bo FROM t ORDER BY bo$$);
SELECT * FROM compare($$SELECT DISTINCT ON (bo) bo, doc->>'k', doc->'deep' FROM t ORDER BY bo, doc->>'k', doc->'deep'$$);
-- Conditions, limits, and where the rows go.
SELECT * FROM compare($$SELECT DISTINCT ON (k) * FROM t WHERE id BETWEEN 1200 AND 1300 ORDER BY k, id DESC$$);
SELECT * FROM compare($$SELECT DISTINCT ON (k) * FROM t WHERE x LIKE 'A%' AND (doc->>'n')::int > 5 ORDER BY k, x, id$$);
SELECT * FROM compare($$SELECT DISTINCT ON (k) * FROM t WHERE md5(x) < '5' ORDER BY k, md5(x), id$$);
SELECT * FROM compare($$SELECT DISTINCT ON (k) * FROM t WHERE id < 0 ORDER BY k, id$$);
SELECT * FROM compare($$SELECT DISTINCT ON (k) * FROM t WHERE k = 7 ORDER BY k, id$$);
SELECT * FROM compare($$SELECT DISTINCT ON (k, bo) * FROM t WHERE k = 7 ORDER BY k, bo, id$$);
SELECT * FROM compare($$SELECT DISTINCT ON (x) * FROM t WHERE doc->>'k' = 'hot' ORDER BY x, b DESC$$);
SELECT * FROM compare($$SELECT DISTINCT ON (k) id, doc FROM t ORDER BY k, id LIMIT 5 OFFSET 3$$);
SELECT * FROM compare($$SELECT DISTINCT ON (k) id, doc FROM t ORDER BY k DESC, id LIMIT (SELECT 4)$$);
SELECT * FROM compare($$SELECT DISTINCT ON (k) k, bo FROM t ORDER BY k, bo FETCH FIRST 4 ROWS WITH TIES$$);
SELECT * FROM compare($$SELECT * FROM (SELECT DISTINCT ON (k) * FROM t ORDER BY k, n DESC, id) y WHERE bo$$);
SELECT * FROM compare($$SELECT y.id, y.doc, z.x FROM (SELECT DISTINCT ON (k) * FROM t ORDER BY k, n, id) y JOIN t z ON y.id = z.id + 1$$);
SELECT * FROM compare($$SELECT g, y.* FROM generate_series(1, 9) g, LATERAL (SELECT DISTINCT ON (bo) id, doc FROM t WHERE k > g ORDER BY bo, abs(id - g * 100), id) y$$);
SELECT * FROM compare($$WITH few AS MATERIALIZED (SELECT DISTINCT ON (d) * FROM t ORDER BY d, id DESC) SELECT count(*), sum(id), min(doc::text) FROM few$$);
SELECT * FROM compare($$(SELECT DISTINCT ON (k) id, x FROM t ORDER BY k, id) UNION ALL (SELECT DISTINCT ON (x) id, x FROM t ORDER BY x, id DESC)$$);
SELECT * FROM compare($$SELECT * FROM (SELECT DISTINCT ON (k) * FROM t ORDER BY k, id) y ORDER BY n DESC, id LIMIT 5$$);
SELECT twice($$CREATE VIEW v AS SELECT id, x, doc->>'k' AS k, (doc->>'n')::int AS n FROM t WHERE id > 10$$) \gexec
SELECT * FROM compare($$SELECT DISTINCT ON (k) * FROM v ORDER BY k, n DESC NULLS LAST, id$$);
SELECT twice($$CREATE TABLE made AS SELECT DISTINCT ON (k, bo) * FROM t ORDER BY k, bo, n DESC, id$$) \gexec
SELECT twice($$UPDATE made SET x = 'best' FROM (SELECT DISTINCT ON (k) id, doc FROM t ORDER BY k, id) y WHERE y.id = made.id$$) \gexec
SELECT * FROM compare($$SELECT * FROM made$$);
SELECT count(*) FROM (SELECT DISTINCT ON (k) id, ctid FROM t ORDER BY k, id) y JOIN t ON t.ctid = y.ctid AND t.id = y.id;
-- Prepared, and again with other parameters; a cursor that goes back.
SET plan_cache_mode = force_generic_plan;
SELECT twice($$CREATE FUNCTION best(above int, text) RETURNS SETOF text LANGUAGE plpgsql AS $f$
BEGIN RETURN QUERY SELECT DISTINCT ON (doc->>$2) id || doc::text FROM t WHERE k > above ORDER BY doc->>$2, n DESC NULLS LAST, id; END $f$ $$) \gexec
SELECT * FROM compare($$SELECT g, best(g * 10, CASE WHEN g % 2 = 0 THEN 'k' ELSE 'mixed' END) FROM generate_series(0, 4) g$$);
SELECT * FROM compare($$SELECT best(NULL, 'k')$$);
RESET plan_cache_mode;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT DISTINCT ON (bo) bo, id FROM t ORDER BY bo, id DESC;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ALL FROM c;
COMMIT;

-- Errors that heap raises for rows that nobody gets, and those that nobody raises.
SELECT twice($$CREATE TABLE bad (id int, k int, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO bad SELECT i, i % 3, jsonb_build_object('n', i, 'v', CASE WHEN i = 1500 THEN '"x"' ELSE to_jsonb(i) END, 'pad', repeat('p', 400)) FROM generate_series(1, 2000) i$$) \gexec
SELECT twice($$VACUUM ANALYZE bad$$) \gexec
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) id, (doc->>'v')::int AS v, doc FROM bad ORDER BY k, id;
SELECT twice($$SELECT DISTINCT ON (k) id, (doc->>'v')::int AS v, doc FROM bad ORDER BY k, id$$) \gexec
SELECT twice($$SELECT DISTINCT ON (k) id, doc FROM bad ORDER BY k, id, (doc->>'v')::int$$) \gexec
SELECT twice($$SELECT DISTINCT ON ((doc->>'v')::int % 2) id, doc FROM bad ORDER BY (doc->>'v')::int % 2, id$$) \gexec
SELECT twice($$SELECT DISTINCT ON (k) id, 1 / (id - 1700) AS q, doc FROM bad ORDER BY k, id$$) \gexec
SELECT twice($$SELECT DISTINCT ON (k) id, doc->>'v' AS v, doc->'v' AS j FROM bad ORDER BY k, id$$) \gexec
SELECT twice($$SELECT DISTINCT ON (k) id, (doc->>'v')::int AS v FROM bad WHERE id < 1500 ORDER BY k, id DESC$$) \gexec
SELECT twice($$SELECT DISTINCT ON (k) id, CASE WHEN jsonb_typeof(doc->'v') = 'number' THEN (doc->>'v')::int END AS v FROM bad ORDER BY k, id DESC$$) \gexec

-- More groups than were expected, in little memory: the best of parts, and of what does not become fewer all rows; of row pages, too.
CREATE FUNCTION twins.parts(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb; BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT json) ' || query INTO plan;
    SELECT p INTO plan FROM jsonb_path_query(plan, 'lax $.**{1 to last} ? (exists(@."Group Key"))') p LIMIT 1;
    RETURN CASE WHEN plan IS NOT NULL THEN coalesce(regexp_replace(plan->>'Handed Up', '[0-9]+', 'some'), 'best rows') END;
END $$;
SELECT twice($$CREATE TABLE many AS SELECT i AS id, i * 7919 % 3001 AS mid, i AS most, i % 10 AS few, i % 10 AS run, i % 11 AS eleven, jsonb_build_object('i', i, 'pad', repeat('p', 400)) AS doc FROM generate_series(1, 16000) i$$) \gexec
SELECT twice($$ANALYZE many$$) \gexec
-- The statistics are of other rows.
SELECT twice($$UPDATE many SET few = CASE WHEN id % 2 = 0 THEN mid ELSE few END, run = id / 20$$) \gexec
SELECT twice($$VACUUM many$$) \gexec
SELECT twice($$INSERT INTO many SELECT id + 100000, mid, most, mid, run + 5, eleven, doc FROM many WHERE id <= 5000$$) \gexec
SET amax.bulk_threshold = 1000000;
SELECT twice($$INSERT INTO many SELECT id + 200000, mid, most, most, run + 5000, eleven, doc FROM many WHERE id <= 3000$$) \gexec
SELECT groups, twins.parts(format('SELECT DISTINCT ON (%s) * FROM many ORDER BY %1$s, id DESC', groups)), found.*
FROM unnest(ARRAY['few', 'run', 'eleven', 'few, eleven', 'few + 0 * eleven']) groups, compare(format('SELECT DISTINCT ON (%s) * FROM many ORDER BY %1$s, id DESC', groups)) AS found;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT groups, twins.parts(format('SELECT DISTINCT ON (%s) * FROM many ORDER BY %1$s, id DESC', groups)), found.*
FROM unnest(ARRAY['few', 'run', 'eleven', 'few, run']) groups, compare(format('SELECT DISTINCT ON (%s) * FROM many ORDER BY %1$s, id DESC', groups)) AS found;
SELECT * FROM compare($$SELECT g, y.* FROM generate_series(1, 3) g, LATERAL (SELECT DISTINCT ON (few) * FROM many WHERE most > g * 4000 ORDER BY few, id) y$$);
SELECT * FROM compare($$SELECT g, y.* FROM generate_series(1, 3) g, LATERAL (SELECT DISTINCT ON (run) * FROM many WHERE most > g * 4000 ORDER BY run, id) y$$);
-- Leaves that take more memory than they may.
SET amax.decode_cache = 0;
SET amax.shared_cache = 0;
SELECT twins.parts('SELECT DISTINCT ON (eleven) * FROM many ORDER BY eleven, md5(id::text)'), * FROM compare($$SELECT DISTINCT ON (eleven) * FROM many ORDER BY eleven, md5(id::text)$$);
RESET amax.decode_cache;
RESET amax.shared_cache;
RESET work_mem;
RESET hash_mem_multiplier;
-- A policy hides rows.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_distinct_on;
CREATE ROLE regress_distinct_on;
RESET client_min_messages;
GRANT USAGE ON SCHEMA amax_side, heap_side, twins TO regress_distinct_on;
SELECT twice($$GRANT SELECT ON t TO regress_distinct_on$$) \gexec
SELECT twice($$CREATE POLICY p ON t USING (id % 3 > 0)$$) \gexec
SELECT twice($$ALTER TABLE t ENABLE ROW LEVEL SECURITY$$) \gexec
SET ROLE regress_distinct_on;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (k) doc FROM t ORDER BY k, id DESC;
SELECT * FROM compare($$SELECT DISTINCT ON (k) * FROM t ORDER BY k, id DESC$$);
RESET ROLE;
DROP OWNED BY regress_distinct_on;
DROP ROLE regress_distinct_on;

-- In workers.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (doc->>'k') doc FROM t ORDER BY doc->>'k', (doc->>'n')::int DESC, id;
SELECT groups, sort, found.*
FROM (VALUES ('doc->>''k''', '(doc->>''n'')::int DESC'), ('k', 'x DESC NULLS LAST'), ('bo, d', 'doc->>''k'', doc->''mixed'''), ('c', 'n'), ('k', 'f DESC')) AS l(groups, sort),
    compare(format('SELECT DISTINCT ON (%s) * FROM t ORDER BY %1$s, %s, id', groups, sort)) AS found;
