-- Rows in row pages and deleted columnar rows, scanned again and again while they stay as they are: a session keeps what it has found.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET max_parallel_workers_per_gather = 0;
SET amax.rows_per_leaf = 1000;
SELECT twice($$CREATE TABLE t (id int, n int, s text, doc jsonb, wide text)$$) \gexec
SELECT twice($$CREATE TABLE d (n int, name text)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, i % 100, 's' || i % 7, jsonb_build_object('a', i % 13, 'b', jsonb_build_array(i % 3, 'x')) FROM generate_series(1, 5000) i$$) \gexec
SELECT twice($$INSERT INTO d SELECT i, 'n' || i % 10 FROM generate_series(0, 99) i$$) \gexec
SELECT twice($$VACUUM ANALYZE t$$) \gexec
-- New versions, on row pages, and stubs of those that are dead.
SELECT twice($$UPDATE t SET n = n + 1, doc = doc || '{"c": 1}' WHERE id % 5 = 0$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 11 = 0$$) \gexec

-- Each query, so often that rows are kept, on both sides: how many times the answers differ.
CREATE FUNCTION twins.differ(times int DEFAULT 6) RETURNS TABLE (query text, different bigint) LANGUAGE sql AS $$
    SELECT q, count(*) FILTER (WHERE c.missing + c.extra > 0)
    FROM unnest(ARRAY[
        'SELECT n, count(*), sum(id), max(s) FROM t GROUP BY n',
        'SELECT count(*) FROM t WHERE n BETWEEN 10 AND 20 AND s <> ''s3''',
        'SELECT doc->>''a'', count(*), sum((doc->>''c'')::int) FROM t WHERE (doc->>''a'')::int > 3 GROUP BY 1',
        'SELECT d.name, sum(t.id) FROM t JOIN d USING (n) GROUP BY 1',
        'SELECT e, count(*) FROM t, jsonb_array_elements_text(doc->''b'') e GROUP BY 1',
        'SELECT * FROM t WHERE n = 7',
        'SELECT id, doc FROM t ORDER BY n DESC, id LIMIT 20',
        'SELECT count(*), count(wide), max(length(wide)) FROM t'
    ]) q, generate_series(1, times) i, compare(q) c
    GROUP BY q ORDER BY min(q)
$$;
SELECT * FROM differ();
-- Pages whose rows are kept, of those read.
CREATE FUNCTION twins.kept(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT json) ' || query INTO plan;
    plan := plan->0->'Plan'->'Plans'->0;
    RETURN CASE WHEN (plan->>'Row Pages Read')::int > 0 AND plan->>'Row Pages Kept' = plan->>'Row Pages Read' THEN 'all' ELSE coalesce(plan->>'Row Pages Kept', 'none') END;
END $$;
-- Sooner or later, for others' snapshots may be older for a while.
CREATE FUNCTION twins.all_are(query text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..2000 LOOP
        IF kept(query) = 'all' THEN RETURN true; END IF;
        PERFORM pg_sleep(0.005);
    END LOOP;
    RETURN false;
END $$;
SELECT all_are('SELECT sum(n) FROM t');
UPDATE t SET id = id WHERE id = 35;
SELECT kept('SELECT sum(n) FROM t') = 'all';
SELECT all_are('SELECT sum(n) FROM t');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT kept('SELECT sum(n) FROM t');
COMMIT;
-- Changes between: of a few rows, rolled back, locks, and rows of the transaction itself.
SELECT twice($$UPDATE t SET n = -1 WHERE id IN (10, 20, 4001)$$) \gexec
SELECT * FROM differ(5) WHERE different > 0;
SELECT twice($$DELETE FROM t WHERE id IN (15, 25, 4003)$$) \gexec
SELECT * FROM differ(5) WHERE different > 0;
SELECT twice($$INSERT INTO t SELECT -i, i, 'new', NULL, repeat('w', i) FROM generate_series(1, 20) i$$) \gexec
SELECT * FROM differ(5) WHERE different > 0;
BEGIN;
UPDATE heap_side.t SET s = 'mine' WHERE id % 50 = 5;
UPDATE amax_side.t SET s = 'mine' WHERE id % 50 = 5;
SELECT * FROM differ(5) WHERE different > 0;
ROLLBACK;
SELECT * FROM differ(5) WHERE different > 0;
BEGIN;
SELECT count(*) FROM (SELECT FROM amax_side.t WHERE id % 50 = 0 FOR UPDATE) l;
DECLARE before CURSOR FOR SELECT count(*), sum(n) FROM amax_side.t;
DELETE FROM heap_side.t WHERE id % 50 = 0;
DELETE FROM amax_side.t WHERE id % 50 = 0;
SELECT * FROM differ(5) WHERE different > 0;
FETCH before;
COMMIT;
SELECT * FROM differ(5) WHERE different > 0;
-- Values out of line, another column, and another file.
SELECT twice($$UPDATE t SET wide = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 300) i) WHERE id % 500 = 1$$) \gexec
SELECT * FROM differ(5) WHERE different > 0;
SELECT twice($$ALTER TABLE t ADD COLUMN more int DEFAULT 5$$) \gexec
SELECT * FROM differ(5) WHERE different > 0;
SELECT c.* FROM generate_series(1, 5), compare('SELECT more, count(*), min(wide) FROM t GROUP BY 1') c;
SELECT twice($$ALTER TABLE t ALTER COLUMN n TYPE bigint$$) \gexec
SELECT * FROM differ(5) WHERE different > 0;
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM differ(5) WHERE different > 0;
SELECT twice($$TRUNCATE t$$) \gexec
SELECT * FROM differ(5) WHERE different > 0;
SELECT twice($$INSERT INTO t (id, n) VALUES (1, 1)$$) \gexec
SELECT * FROM differ(5) WHERE different > 0;
SELECT verify.* FROM amax.verify('amax_side.t') AS verify;
-- One row that is dead to everyone is marked so by who reads it, where no other row of that page of the directory has a stub: none is looked for again.
-- The stubs of many in another leaf fill their page, so that it is pruned.
CREATE TABLE few (id int) USING amax;
INSERT INTO few SELECT generate_series(1, 3000);
SELECT sum(rows) FROM (SELECT amax.flush('few')) f, amax.components('few');
DELETE FROM few WHERE id = 7 OR id > 2790;
SELECT count(*) FROM few;
SET amax.fault_point = 'stub_seen';
SELECT count(*) FROM few;
RESET amax.fault_point;
DROP TABLE few;
DROP FUNCTION twins.differ(int), twins.kept(text), twins.all_are(text);
