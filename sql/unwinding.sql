-- Errors of PostgreSQL's below our callbacks, and what the planner fills in late: statements that once ended the server.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include

SELECT twice($$CREATE TABLE t (id int, doc jsonb, a text COLLATE "C", b text COLLATE "POSIX")$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, '{"o": {"k": 1}, "items": [1, 2]}', i, i % 3 FROM generate_series(1, 3000) i$$) \gexec
VACUUM ANALYZE amax_side.t;
ANALYZE heap_side.t;

-- A negated operator has no function until the plan is finished.
SELECT * FROM compare('SELECT jsonb_object_keys(doc->''o''), NOT (id = 1) FROM t');
SELECT * FROM compare('SELECT jsonb_object_keys(doc->''o''), NOT (id = 1 OR id > 5) FROM t');
SELECT * FROM compare('SELECT k, n FROM (SELECT jsonb_object_keys(doc->''o'') k, NOT (id = 1 AND id < 5) n FROM t) s WHERE n');
SELECT * FROM compare('SELECT max(a.t) - min(a.t), NOT (count(*) = 1) FROM (SELECT id, now() t FROM t) a GROUP BY id % 7 ORDER BY NOT (id % 7 = 2), 1 LIMIT 3');

-- Deep expressions: more than vectors take, and more than the stack takes.
CREATE FUNCTION deep(expression text, more text, times int, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answers text[]; answer text; side text;
BEGIN
    FOREACH side IN ARRAY '{heap_side, amax_side}'::text[] LOOP
        BEGIN
            EXECUTE format('SELECT count(*) FROM %I.t WHERE %s%s%s', side, expression, repeat(more, times), condition) INTO answer;
        EXCEPTION WHEN statement_too_complex THEN answer := SQLERRM;
        END;
        answers := answers || answer;
    END LOOP;
    RETURN CASE WHEN answers[1] = answers[2] THEN answers[1] ELSE answers::text END;
END $$;
SELECT n, deep('id', ' + 1', n, ' > 2000') FROM unnest('{50, 99, 100, 101, 500, 3000, 50000}'::int[]) n;
SELECT n, deep('(doc->''o''->>''k'')', ' || 1::text', n, ' > ''2''') FROM unnest('{101, 1000, 50000}'::int[]) n;
SELECT n, deep('(doc', '->''o''', n, ') IS NULL') FROM unnest('{2, 101, 2000, 50000}'::int[]) n;
SELECT n, deep('id = 1', ' OR id = 2 AND (id = 2', n, repeat(')', n)) FROM unnest('{60, 1000}'::int[]) n;
SELECT n, deep('doc @> ''', '{"o": ', n, '1' || repeat('}', n) || '''') FROM unnest('{1, 2, 60, 1000}'::int[]) n;

-- Text of no certain collation: an error when it is compared, not before.
EXPLAIN (COSTS OFF) SELECT count(*) FROM amax_side.t WHERE a <> b;
SELECT * FROM compare('SELECT count(*) FROM t WHERE id > 5000 AND a <> b');
SELECT * FROM compare('SELECT count(*) FROM t WHERE id > 5000 AND (a < b OR a || b = b || a)');
SELECT twice('SELECT count(*) FROM t WHERE a <> b') \gexec
SELECT twice('SELECT a || b, count(*) FROM t GROUP BY 1') \gexec
SELECT twice('SELECT count(DISTINCT a || b) FROM t') \gexec
SELECT twice('SELECT max(a || b) FROM t') \gexec
SELECT twice('SELECT count(*) FROM t WHERE a || b IN (''1'', ''2'')') \gexec
SELECT twice('SELECT count(*) FROM t WHERE a || b LIKE ''1%''') \gexec

-- An aggregate of workers whose result nobody reads.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT * FROM compare('SELECT count(*) FROM (SELECT count(*) FROM t, jsonb_array_elements(doc->''items'')) z');
SELECT * FROM compare('SELECT 1 FROM (SELECT sum(id) FROM t, jsonb_array_elements(doc->''items'')) z');
SELECT * FROM compare('WITH z AS (SELECT count(*) FROM t, jsonb_array_elements(doc->''items'')) SELECT 1 FROM z');
SELECT * FROM compare('SELECT count(*) FROM (SELECT id % 7, count(*) FROM t, jsonb_array_elements(doc->''items'') GROUP BY 1) z');
SELECT * FROM compare('SELECT count(*) FROM (SELECT id % 7 FROM t GROUP BY 1 HAVING count(*) > 428) z');
SELECT * FROM compare('SELECT EXISTS (SELECT sum(id) FROM t GROUP BY id % 7)');

-- The predicate of an index that raises an error leaves nothing behind.
CREATE FUNCTION resident_kb() RETURNS int LANGUAGE sql VOLATILE AS
$$ SELECT (regexp_match(pg_read_file('/proc/self/status'), 'RssAnon:\s+(\d+)'))[1]::int $$;
CREATE FUNCTION fail(times int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..times LOOP
        BEGIN
            CREATE INDEX ON amax_side.t (id) WHERE 1 / (id - 1100) > -9;
        EXCEPTION WHEN division_by_zero THEN NULL;
        END;
    END LOOP;
END $$;
SELECT fail(20);
SELECT resident_kb() AS before \gset
SELECT fail(200);
SELECT resident_kb() - :before < 10000 AS stays;
