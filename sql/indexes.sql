-- Indexes of every kind, built on full tables and filled row by row, give the rows of a sequential scan.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include

SELECT twice($$CREATE TABLE t (id int, grp int, s text, p point, r int4range, d jsonb, tags text[], v tsvector)$$) \gexec
SELECT twice($$CREATE FUNCTION row_of(i int) RETURNS SETOF t LANGUAGE sql AS 'SELECT i, i % 17, md5(i::text), point(i % 31, i % 37), int4range(i, i + 5), jsonb_build_object(''i'', i, ''g'', i % 5, ''deep'', jsonb_build_object(''list'', jsonb_build_array(i % 3, i % 4))), ARRAY[''t'' || i % 7, ''u'' || i % 11], to_tsvector(''simple'', ''word'' || i % 13)'$$) \gexec
SELECT twice($$INSERT INTO t SELECT r.* FROM generate_series(1, 1500) i, row_of(i) r$$) \gexec
SELECT twice($$CREATE UNIQUE INDEX t_btree ON t (id) INCLUDE (grp)$$) \gexec
SELECT twice($$CREATE INDEX t_partial ON t (grp) WHERE id % 2 = 0$$) \gexec
SELECT twice($$CREATE INDEX t_expression ON t ((d->>'i'))$$) \gexec
SELECT twice($$CREATE INDEX t_hash ON t USING hash (s)$$) \gexec
SELECT twice($$CREATE INDEX t_gist ON t USING gist (p)$$) \gexec
SELECT twice($$CREATE INDEX t_gist_range ON t USING gist (r)$$) \gexec
SELECT twice($$CREATE INDEX t_spgist ON t USING spgist (s text_ops)$$) \gexec
SELECT twice($$CREATE INDEX t_gin ON t USING gin (d)$$) \gexec
SELECT twice($$CREATE INDEX t_gin_path ON t USING gin (d jsonb_path_ops)$$) \gexec
SELECT twice($$CREATE INDEX t_gin_array ON t USING gin (tags)$$) \gexec
SELECT twice($$CREATE INDEX t_gin_text ON t USING gin (v)$$) \gexec
SELECT twice($$CREATE INDEX t_brin ON t USING brin (id) WITH (pages_per_range = 2)$$) \gexec
-- the second half of the rows meets the indexes
SELECT twice($$INSERT INTO t SELECT r.* FROM generate_series(1501, 3000) i, row_of(i) r$$) \gexec
SELECT twice($$UPDATE t SET id = id + 10000 WHERE id % 9 = 0$$) \gexec
SELECT twice($$UPDATE t SET s = md5(s) WHERE id % 8 = 0$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 10 = 3$$) \gexec

-- through(query): compare(), and which indexes of amax's side answered
CREATE FUNCTION twins.through(query text, OUT plan text, OUT rows bigint, OUT missing bigint, OUT extra bigint) LANGUAGE plpgsql AS $$
DECLARE
  line text;
  path text := current_setting('search_path');
BEGIN
  PERFORM set_config('search_path', 'amax_side, public, twins', false);
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    plan := nullif(concat_ws(', ', plan, substring(line from '(?:Index.* using|Bitmap Index Scan on) (\w+)')), '');
  END LOOP;
  PERFORM set_config('search_path', path, false);
  SELECT c.rows, c.missing, c.extra INTO through.rows, through.missing, through.extra FROM twins.compare(query) c;
END $$;

SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT * FROM through('SELECT * FROM t WHERE id BETWEEN 100 AND 200');
SELECT * FROM through('SELECT * FROM t WHERE id IN (5, 7, 10009, 20000)');
SELECT * FROM through('SELECT * FROM t ORDER BY id DESC');
SELECT * FROM through('SELECT id, grp FROM t WHERE id > 2900');
SELECT * FROM through('SELECT id FROM t WHERE grp = 3 AND id % 2 = 0');
SELECT * FROM through('SELECT * FROM t WHERE d->>''i'' = ''77''');
SELECT * FROM through('SELECT * FROM t WHERE p <@ box ''(3,3),(9,9)''');
SELECT * FROM through('SELECT id, p <-> point (5,5) FROM t ORDER BY p <-> point (5,5) LIMIT 1');
SELECT * FROM through('SELECT * FROM t WHERE r && int4range(50, 60)');
DROP INDEX amax_side.t_spgist, heap_side.t_spgist;
SELECT * FROM through('SELECT * FROM t WHERE s = md5(''42'')');
SELECT twice($$CREATE INDEX t_spgist ON t USING spgist (s text_ops)$$) \gexec
SELECT * FROM through('SELECT * FROM t WHERE s ^@ ''ab''');
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT * FROM through('SELECT * FROM t WHERE id BETWEEN 100 AND 900 AND grp = 4 AND id % 2 = 0');
SELECT * FROM through('SELECT * FROM t WHERE d ? ''i'' AND d @> ''{"g": 2}'' AND id < 500');
SELECT * FROM through('SELECT * FROM t WHERE d @> ''{"deep": {"list": [2, 3]}}''');
SELECT * FROM through('SELECT * FROM t WHERE d @@ ''$.i < 20''');
SELECT * FROM through('SELECT * FROM t WHERE tags @> ''{t1,u2}''');
SELECT * FROM through('SELECT * FROM t WHERE v @@ ''word5 | word6''');
DROP INDEX amax_side.t_btree, heap_side.t_btree;
SELECT * FROM through('SELECT * FROM t WHERE id BETWEEN 700 AND 750');
-- lossy bitmaps
SET work_mem = '64kB';
SELECT * FROM through('SELECT * FROM t WHERE grp < 100 AND id % 2 = 0');
RESET work_mem;
RESET enable_indexscan;
RESET enable_indexonlyscan;

-- index-only scans, before and after VACUUM
SET enable_bitmapscan = off;
SELECT twice($$CREATE UNIQUE INDEX t_btree ON t (id) INCLUDE (grp)$$) \gexec
SELECT * FROM through('SELECT sum(grp), count(id) FROM t WHERE id > 0');
SELECT twice($$VACUUM (ANALYZE) t$$) \gexec
SELECT * FROM through('SELECT sum(grp), count(id) FROM t WHERE id > 0');
SELECT twice($$DELETE FROM t WHERE id % 10 = 4$$) \gexec
SELECT * FROM through('SELECT sum(grp), count(id) FROM t WHERE id > 0');
RESET enable_seqscan;
RESET enable_bitmapscan;

-- vacuum takes dead rows out of every index, and their places are used again
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$INSERT INTO t SELECT r.* FROM generate_series(4001, 4500) i, row_of(i) r$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SET enable_seqscan = off;
SELECT * FROM through('SELECT * FROM t WHERE id > 0');
SELECT * FROM through('SELECT * FROM t WHERE tags @> ''{t1}''');
SELECT * FROM through('SELECT * FROM t WHERE d->>''i'' = ''4444''');
RESET enable_seqscan;

-- uniqueness: refused at build and at insert, deferred, and for exclusion
-- which of the duplicates is reported depends on the order in which rows are sorted
\set VERBOSITY terse
SELECT twice($$CREATE UNIQUE INDEX t_grp ON t (grp)$$) \gexec
SELECT twice($$CREATE UNIQUE INDEX CONCURRENTLY t_grp ON t (grp)$$) \gexec
\set VERBOSITY default
SELECT twice($$DROP INDEX t_grp$$) \gexec
SELECT twice($$INSERT INTO t (id) VALUES (4001)$$) \gexec
SELECT twice($$CREATE TABLE deferred (i int UNIQUE DEFERRABLE INITIALLY DEFERRED)$$) \gexec
SELECT twice($$INSERT INTO deferred SELECT generate_series(1, 10)$$) \gexec
SELECT twice($$UPDATE deferred SET i = 11 - i$$) \gexec
SELECT twice($$INSERT INTO deferred VALUES (3)$$) \gexec
SELECT * FROM compare('SELECT * FROM deferred');
SELECT twice($$CREATE TABLE booked (during int4range, EXCLUDE USING gist (during WITH &&))$$) \gexec
SELECT twice($$INSERT INTO booked VALUES ('[1,5)'), ('[5,9)')$$) \gexec
SELECT twice($$INSERT INTO booked VALUES ('[4,6)')$$) \gexec
SELECT twice($$INSERT INTO booked VALUES ('[8,9)'), ('[20,30)') ON CONFLICT DO NOTHING$$) \gexec
SELECT * FROM compare('SELECT * FROM booked');

-- built and rebuilt without blocking
SELECT twice($$CREATE INDEX CONCURRENTLY t_concurrent ON t (grp, id)$$) \gexec
SELECT twice($$REINDEX INDEX CONCURRENTLY t_concurrent$$) \gexec
SELECT twice($$REINDEX TABLE CONCURRENTLY t$$) \gexec
SET enable_seqscan = off;
SELECT * FROM through('SELECT grp, id FROM t WHERE grp = 5 AND id > 100');
RESET enable_seqscan;

-- rows made and removed by a transaction that rolls back leave indexes in order
BEGIN;
SELECT twice($$INSERT INTO t SELECT r.* FROM generate_series(6001, 6500) i, row_of(i) r$$) \gexec
SELECT twice($$UPDATE t SET id = id + 100000 WHERE id < 1000$$) \gexec
ROLLBACK;
SELECT twice($$INSERT INTO t SELECT r.* FROM generate_series(6001, 6500) i, row_of(i) r$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SET enable_seqscan = off;
SELECT * FROM through('SELECT * FROM t WHERE id > 0');

-- brin finds rows of pages not summarized yet
RESET enable_seqscan;
SELECT brin_summarize_new_values('amax_side.t_brin') >= 0 AS summarized;
SELECT twice($$INSERT INTO t SELECT r.* FROM generate_series(8001, 9000) i, row_of(i) r$$) \gexec
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
DROP INDEX amax_side.t_btree, heap_side.t_btree;
SELECT * FROM through('SELECT * FROM t WHERE id BETWEEN 8500 AND 8600');
SELECT brin_desummarize_range('amax_side.t_brin', 0);
SELECT * FROM through('SELECT * FROM t WHERE id BETWEEN 50 AND 8600');

-- a build that fails, or is cancelled, leaves the table what it is: VACUUM and all else in the session are not heap's
SELECT twice($$CREATE TABLE built (id int, n int)$$) \gexec
CREATE FUNCTION twins.fails(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE WHEN current_setting('twins.fail', true) = 'on' AND n = 5 THEN 1 / (n - 5) ELSE n END;
END $$;
SELECT twice($$CREATE INDEX built_fails ON built (fails(n))$$) \gexec
SELECT twice($$INSERT INTO built SELECT i, i FROM generate_series(1, 2000) i$$) \gexec
SET twins.fail = on;
REINDEX INDEX amax_side.built_fails;
RESET twins.fail;
SELECT twice($$DELETE FROM built WHERE n % 2 = 0$$) \gexec
SET amax.flush_threshold = 0;
SELECT twice($$VACUUM built$$) \gexec
RESET amax.flush_threshold;
SELECT count(*) > 0 AS columnar FROM amax.components('amax_side.built');
SELECT twice($$INSERT INTO built SELECT i, i FROM generate_series(3001, 5000) i$$) \gexec
SELECT * FROM compare('SELECT * FROM built');
SET enable_seqscan = off;
SELECT * FROM compare('SELECT * FROM built WHERE fails(n) < 4000');
RESET enable_seqscan;
SELECT * FROM amax.verify('amax_side.built');

-- an index whose expression fails for NULL, where there is none, while rows of components are locked and changed
SELECT twice($$CREATE TABLE held (id int PRIMARY KEY, s text NOT NULL)$$) \gexec
SELECT twice($$INSERT INTO held SELECT i, 'row ' || i FROM generate_series(1, 500) i$$) \gexec
SET amax.flush_threshold = 0;
SELECT twice($$VACUUM held$$) \gexec
RESET amax.flush_threshold;
SELECT count(*) > 0 AS columnar FROM amax.components('amax_side.held');
SELECT twice($$UPDATE held SET s = 'changed' WHERE id % 50 = 0$$) \gexec
SELECT twice($$SELECT count(*) FROM (SELECT FROM held WHERE id < 10 FOR UPDATE) AS locked$$) \gexec
CREATE FUNCTION twins.not_null(s text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  IF s IS NULL THEN RAISE not_null_violation; END IF;
  RETURN s;
END $$;
SELECT twice($$CREATE INDEX held_all ON held (not_null(s))$$) \gexec
SELECT twice($$CREATE INDEX held_some ON held (not_null(s)) WHERE not_null(s) > 'c'$$) \gexec
SELECT twice($$CREATE INDEX CONCURRENTLY held_later ON held (not_null(s), id)$$) \gexec
SELECT * FROM amax.verify('amax_side.held');
SET enable_seqscan = off;
SELECT * FROM compare('SELECT * FROM held WHERE not_null(s) = ''changed''');
SELECT * FROM compare('SELECT * FROM held WHERE not_null(s) > ''d''');
RESET enable_seqscan;

-- What a GIN index finds is looked at again by the paths of documents: those that lack some, arrays and scalars, changed rows, pages that a bitmap has as a whole.
SET amax.eager = on;
SELECT twice($$CREATE TABLE g (id int, n int, doc jsonb, other jsonb)$$) \gexec
SELECT twice($$INSERT INTO g SELECT i, i % 90, jsonb_build_object('a', i % 10, 'b', jsonb_build_object('c', i % 7, 'd', NULL), 't', jsonb_build_array(i % 3, 't' || i % 5)), to_jsonb(i) FROM generate_series(1, 6000) i$$) \gexec
SELECT twice($$INSERT INTO g SELECT 7000 + i, i, v, v FROM generate_series(1, 300) i,
    (VALUES ('{"a": 1}'::jsonb), ('{"a": 1.0, "b": {"c": 3}}'), ('{"a": [1, 3], "b": {}}'), ('{"b": [{"c": 3}]}'), ('[1, {"a": 1}]'), ('"a"'), ('1'), ('null'), (NULL), ('{}'), ('[]')) w(v)$$) \gexec
SELECT twice($$VACUUM ANALYZE g$$) \gexec
SELECT twice($$CREATE INDEX g_doc ON g USING gin (doc)$$) \gexec
SELECT twice($$CREATE INDEX g_other ON g USING gin (other jsonb_path_ops)$$) \gexec
SELECT twice($$CREATE INDEX g_n ON g (n)$$) \gexec
SELECT twice($$UPDATE g SET doc = doc || '{"a": 2}' WHERE id % 13 = 0 AND jsonb_typeof(doc) = 'object'$$) \gexec
SELECT twice($$DELETE FROM g WHERE id % 17 = 0$$) \gexec
SET enable_seqscan = off;
CREATE FUNCTION found(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := ''; answers text := ''; lossy bool;
BEGIN
    SET LOCAL enable_indexscan = off;
    FOREACH lossy IN ARRAY ARRAY[false, true] LOOP
        PERFORM set_config('work_mem', CASE WHEN lossy THEN '64kB' ELSE '4MB' END, true);
        SELECT answers || format('%s rows, %s missing, %s extra. ', rows, missing, extra) INTO answers
            FROM compare('SELECT id, n, doc->>''a'' FROM g WHERE ' || condition);
    END LOOP;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT id, n, doc->>''a'' FROM g WHERE ' || condition LOOP
        IF line ~ 'Filter|Recheck' THEN plan := plan || trim(line) || ' '; END IF;
    END LOOP;
    RETURN answers || plan;
END $$;
SELECT found($$doc @> '{"a": 1}'$$);
SELECT found($$doc @> '{"a": 2, "b": {"c": 3}}'$$);
SELECT found($$doc @> '{"t": ["t1"], "b": {"d": null}}' AND id > 100$$);
SELECT found($$doc @> '{"a": [1]}'$$);
SELECT found($$doc @> '{"b": {}}' AND other @> '5'$$);
SELECT found($$other @> '[1]' OR other @> '{"a": 1}'$$);
SELECT found($$doc @> '{"a": 3}' AND n = 3$$);
SELECT found($$doc ? 'b' AND doc @> '{"a": 1}'$$);
SELECT found($$doc ?| '{a, 1}' AND n < 40$$);
SELECT found($$doc @? '$.b.c ? (@ == 3)'$$);
SELECT found($$doc @@ '$.a == 2'$$);
DROP FUNCTION found;
RESET enable_seqscan;

-- Built of columns, an index of paths reads those alone, and one of a column none of the documents before it: of documents of
-- every shape, changed rows and row pages among them, it has the entries that heap's has.
CREATE EXTENSION amcheck SCHEMA public;
SELECT twice($$CREATE TABLE shapes (id int, doc jsonb, gone text, other jsonb, n int)$$) \gexec
SELECT twice($$INSERT INTO shapes SELECT i, CASE i % 9
    WHEN 0 THEN NULL WHEN 1 THEN to_jsonb(i) WHEN 2 THEN jsonb_build_array(i, jsonb_build_object('a', i)) WHEN 3 THEN '{}'
    WHEN 4 THEN jsonb_build_object('b', i) WHEN 5 THEN jsonb_build_object('a', NULL, 'c', md5(i::text))
    WHEN 6 THEN jsonb_build_object('a', jsonb_build_object('b', i, 'x', md5(i::text)), 'k' || i, i)
    WHEN 7 THEN jsonb_build_object('a', jsonb_build_array(i, jsonb_build_object('b', i)))
    ELSE jsonb_build_object('a', i / 4.0, 'c', 'text ' || i % 5) END, 'gone', jsonb_build_object('o', i % 7, 'p', i), i % 100
  FROM generate_series(1, 6000) i$$) \gexec
SELECT twice($$VACUUM shapes$$) \gexec
SELECT twice($$ALTER TABLE shapes DROP gone$$) \gexec
SELECT twice($$ALTER TABLE shapes ADD late jsonb DEFAULT '{"a": 5}'$$) \gexec
SELECT twice($$UPDATE shapes SET doc = '{"a": "changed"}' WHERE id % 50 = 8$$) \gexec
SELECT twice($$DELETE FROM shapes WHERE id % 50 = 9$$) \gexec
SELECT twice($$INSERT INTO shapes SELECT i, jsonb_build_object('a', i), '{"o": 1}', i, '{"a": 6}' FROM generate_series(6001, 6010) i$$) \gexec
SELECT twice($$CREATE INDEX shapes_a ON shapes ((doc->>'a'))$$) \gexec
SELECT twice($$CREATE INDEX shapes_deep ON shapes ((doc->'a'->>'b'), (doc #>> '{a,1,b}'), (doc->'a'->0), (late->>'a'))$$) \gexec
SELECT twice($$CREATE INDEX shapes_n ON shapes (n)$$) \gexec
SELECT twice($$CREATE INDEX shapes_partial ON shapes (n, ((other->>'o')::int)) WHERE doc->>'c' LIKE 'text%'$$) \gexec
SELECT twice($$CREATE INDEX shapes_whole ON shapes (jsonb_typeof(doc), (doc->>0), (doc->>'a'))$$) \gexec
SELECT twice($$CREATE INDEX shapes_row ON shapes ((shapes IS NOT NULL), (doc->>'a'))$$) \gexec
SELECT twice($$CREATE INDEX shapes_fails ON shapes (((doc->>'a')::int))$$) \gexec
SELECT twice($$CREATE UNIQUE INDEX shapes_pairs ON shapes ((doc->'a'->>'b'), (other->>'o'))$$) \gexec
SELECT twice($$CREATE UNIQUE INDEX shapes_unique ON shapes ((other->>'p'))$$) \gexec
SELECT twice($$SELECT c.relname, bt_index_check(c.oid, true), pg_relation_size(c.oid) > 8192 AS filled FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE i.indrelid = 'shapes'::regclass AND i.indisvalid ORDER BY 1$$) \gexec
SELECT * FROM amax.verify('amax_side.shapes');
SET enable_seqscan = off;
SELECT * FROM compare($$SELECT id FROM shapes WHERE doc->>'a' = 'changed'$$);
SELECT * FROM compare($$SELECT id FROM shapes WHERE doc->'a'->>'b' > '3' AND late->>'a' = '5'$$);
SELECT * FROM compare($$SELECT id FROM shapes WHERE n = 7 AND (other->>'o')::int = 3 AND doc->>'c' LIKE 'text%'$$);
RESET enable_seqscan;
SELECT twice($$DROP TABLE shapes$$) \gexec
DROP EXTENSION amcheck;

-- Values of a fixed length that are passed by reference.
SELECT twice($$CREATE TABLE uuids (id int, u uuid, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO uuids SELECT i, CASE WHEN i % 50 > 0 THEN md5((i % 3000)::text)::uuid END, jsonb_build_object('u', md5(i::text)) FROM generate_series(1, 6000) i$$) \gexec
SELECT twice($$VACUUM (FULL, ANALYZE) uuids$$) \gexec
SELECT twice($$CREATE INDEX ON uuids (u)$$) \gexec
SELECT twice($$CREATE INDEX ON uuids (id, u)$$) \gexec
SELECT twice($$CREATE INDEX ON uuids ((coalesce(u, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))) WHERE u > '80000000-0000-0000-0000-000000000000' OR u IS NULL$$) \gexec
SELECT twice($$CREATE INDEX ON uuids (((doc->>'u')::uuid))$$) \gexec
SET enable_seqscan = off;
SELECT * FROM compare($$SELECT * FROM uuids WHERE u > 'f0000000-0000-0000-0000-000000000000'$$);
SELECT * FROM compare($$SELECT u FROM uuids WHERE u = (SELECT u FROM uuids WHERE id = 77)$$);
SELECT * FROM compare($$SELECT u FROM uuids ORDER BY u LIMIT 100$$);
SELECT * FROM compare($$SELECT id FROM uuids WHERE id BETWEEN 100 AND 200 AND u < '80000000-0000-0000-0000-000000000000'$$);
SELECT * FROM compare($$SELECT id FROM uuids WHERE coalesce(u, 'ffffffff-ffff-ffff-ffff-ffffffffffff') = 'ffffffff-ffff-ffff-ffff-ffffffffffff' AND u IS NULL$$);
SELECT * FROM compare($$SELECT id FROM uuids WHERE (doc->>'u')::uuid = md5('4711')::uuid$$);
SET enable_bitmapscan = off;
SELECT * FROM compare($$SELECT * FROM uuids WHERE u BETWEEN '10000000-0000-0000-0000-000000000000' AND '20000000-0000-0000-0000-000000000000'$$);
RESET enable_bitmapscan;
RESET enable_seqscan;
SELECT * FROM amax.verify('amax_side.uuids');
