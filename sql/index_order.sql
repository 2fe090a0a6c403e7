-- Builds of btrees, whose columnar rows come by vectors and in the index's order: every kind of value, order and predicate.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include

SET client_min_messages = warning;
CREATE EXTENSION amcheck SCHEMA public;
RESET client_min_messages;
SELECT twice($$CREATE TABLE t (id int, small int2, big int8, s text, n numeric, f float8, at timestamptz, b bool, doc jsonb)$$) \gexec
SELECT twice($$CREATE FUNCTION text_of(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $f$ SELECT CASE i % 7 WHEN 0 THEN 'Zoe ' || i % 40 WHEN 1 THEN 'änne ' || i % 300 WHEN 2 THEN 'anna ' || i WHEN 3 THEN '_' || i % 5 WHEN 4 THEN '' WHEN 5 THEN 'ANNA ' || i % 900 END $f$ $$) \gexec
SELECT twice($$CREATE FUNCTION doc_of(i int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $f$ SELECT CASE WHEN i % 50 = 49 THEN '[1]'::jsonb ELSE jsonb_build_object('s', text_of(i), 'n', (i * 7919 % 3001 - 1500) / 4.0, 'i', (i * 7919 % 3001) - 1500, 'deep', jsonb_build_object('kind', 'k' || i % 3, 'flag', i % 2 = 0),
  'mixed', CASE i % 6 WHEN 0 THEN to_jsonb(i % 100) WHEN 1 THEN to_jsonb(i % 100 || '') WHEN 2 THEN to_jsonb(i % 2 = 0) WHEN 3 THEN 'null' WHEN 4 THEN jsonb_build_object('a', i % 10) ELSE to_jsonb(i / 7.0) END) END $f$ $$) \gexec
SELECT twice($$CREATE FUNCTION rows_of(first int, last int) RETURNS SETOF t LANGUAGE sql AS $f$ SELECT i, (i * 7919 % 601 - 300)::int2, i::int8 * 7919 % 3001 * 10000000000 - 15000000000000, text_of(i), CASE WHEN i % 11 = 0 THEN 'NaN' WHEN i % 11 = 1 THEN (i % 20)::numeric(10, 2) ELSE i % 20 END::numeric, sin(i), CASE WHEN i % 13 > 0 THEN '2000-01-01 UTC'::timestamptz + (i * 7919 % 3001 - 1000) * interval '1 hour' END, i % 3 = 0, doc_of(i) FROM generate_series(first, last) i $f$ $$) \gexec
SELECT twice($$CREATE FUNCTION marked(text, mark text DEFAULT '!', n int DEFAULT 2) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $f$ BEGIN RETURN $1 || repeat(mark, n); END $f$ $$) \gexec
SELECT twice($$CREATE FUNCTION inlined(jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $f$ SELECT $1->>'s' $f$ $$) \gexec
SELECT twice($$INSERT INTO t SELECT * FROM rows_of(1, 3000)$$) \gexec
SELECT count(*) FROM amax.components('t');
SELECT amax.flush('t') IS NOT NULL AS flushed;
-- deleted and changed columnar rows, rows in row pages, chains of versions there
SELECT twice($$DELETE FROM t WHERE id % 17 = 5$$) \gexec
SELECT twice($$UPDATE t SET small = small + 1 WHERE id % 19 = 3$$) \gexec
SELECT twice($$INSERT INTO t SELECT * FROM rows_of(3001, 3400)$$) \gexec
SELECT twice($$UPDATE t SET big = big - 1 WHERE id % 23 = 3$$) \gexec
SELECT amax.columnar_rows > 2000 AS columns, amax.columnar_rows < (SELECT count(*) FROM t) OR current_setting('amax.eager')::bool AS pages FROM amax.storage('t') AS amax;

-- built(index): the btree is in order, has all rows and no others, and gives the rows in heap's order
CREATE TABLE twins.kinds (name text, on_what text, condition text DEFAULT 'true', memory text DEFAULT '64MB');
INSERT INTO twins.kinds (name, on_what) VALUES ('small', 'small'), ('small down', 'small DESC'), ('big', 'big'), ('big nulls', 'big DESC NULLS LAST'), ('times', 'at NULLS FIRST'), ('times down', 'at DESC'),
  ('text', 's'), ('text down', 's DESC'), ('text bytes', 's COLLATE "C" NULLS FIRST'), ('text icu', 's COLLATE "en-x-icu"'), ('text icu down', 's COLLATE "en-x-icu" DESC NULLS LAST'), ('text pattern', 's text_pattern_ops'),
  ('numeric', 'n'), ('numeric down', 'n DESC'), ('float', 'f'), ('bool', 'b'), ('id', 'id'),
  ('path', '(doc->>''s'')'), ('path icu', '(doc->>''s'') COLLATE "en-x-icu"'), ('path down', '(doc->>''s'') DESC'), ('mixed', '(doc->>''mixed'')'), ('mixed icu', '(doc->>''mixed'') COLLATE "en-x-icu"'),
  ('cast', '((doc->>''i'')::int)'), ('cast down', '((doc->>''i'')::int8) DESC'), ('cast numeric', '((doc->>''n'')::numeric)'), ('cast float', '((doc->>''n'')::float8)'), ('deep', '(doc#>>''{deep,kind}'')'), ('flag', '((doc->''deep''->>''flag'')::bool)'),
  ('json', '(doc->''mixed'')'), ('function', 'lower(doc->>''s'')'), ('of all', '(length(doc::text))'), ('element', '(doc->>0)'), ('defaults', 'marked(doc->>''s'', n => 3)'), ('inlined', 'inlined(doc)'),
  ('two', 'small, (doc->>''s'') DESC'), ('three', '(doc->>''mixed''), at, n'), ('included', 'small) INCLUDE (s, n');
INSERT INTO twins.kinds (name, on_what, condition) VALUES ('partial', '(doc->>''s'')', 'doc->''deep''->>''kind'' = ''k1'' AND small > 0'), ('partial on path', 'id', '(doc->>''i'')::int > 100'), ('partial defaults', 'id', 'marked(s) > ''anna'''), ('partial null', 's', 'doc->>''s'' IS NULL'), ('partial of all', 'id', 'doc @> ''{"deep": {"flag": true}}'' AND jsonb_typeof(doc->''mixed'') <> ''number''');
INSERT INTO twins.kinds SELECT name || ', little memory', on_what, condition, '1MB' FROM twins.kinds WHERE name IN ('text', 'path', 'cast', 'big', 'mixed icu');
CREATE FUNCTION twins.built(kind twins.kinds, OUT name text, OUT rows bigint, OUT same bool) LANGUAGE plpgsql AS $$
DECLARE
  path text := current_setting('search_path');
  side text;
  keys text := regexp_replace(kind.on_what, '\) INCLUDE.*| \w+_ops', '', 'g');
  found text[] := '{}';
  digest text;
BEGIN
  name := kind.name;
  PERFORM set_config('maintenance_work_mem', kind.memory, true), set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
  FOREACH side IN ARRAY ARRAY['heap', 'amax'] LOOP
    PERFORM set_config('search_path', side || '_side, public, twins', false);
    EXECUTE format('CREATE INDEX built ON t (%s) WHERE %s', kind.on_what, kind.condition);
    PERFORM bt_index_parent_check('built'::regclass, true);
    EXECUTE format('SELECT count(*), md5(string_agg(id::text, '' '' ORDER BY %s, id)) FROM t WHERE %s', keys, kind.condition) INTO rows, digest;
    found := found || digest;
    EXECUTE format('SELECT md5(string_agg(row_number::text, '' '' ORDER BY id)) FROM (SELECT id, rank() OVER (ORDER BY %s) AS row_number FROM t WHERE %s) AS ranks', keys, kind.condition) INTO digest;
    found := found || digest;
    DROP INDEX built;
  END LOOP;
  PERFORM set_config('search_path', path, false);
  same := found[1:2] = found[3:4];
END $$;
SELECT built.* FROM twins.kinds AS kind, twins.built(kind) ORDER BY kind.ctid;
SELECT * FROM amax.verify('t');

-- a unique index finds duplicates, of columnar rows, of rows in row pages, and of both; rows that are dead are none
SELECT twice($$CREATE UNIQUE INDEX t_id ON t (id)$$) \gexec
SELECT twice($$CREATE UNIQUE INDEX t_small ON t (((doc->>'i')::int)) WHERE id < 3000$$) \gexec
SELECT twice($$INSERT INTO t SELECT * FROM rows_of(5, 5)$$) \gexec
SELECT twice($$CREATE UNIQUE INDEX t_path ON t ((doc->>'n')) WHERE id < 3000$$) \gexec
SELECT twice($$INSERT INTO t SELECT -1, 0, 0, NULL, 0, 0, NULL, NULL, jsonb_build_object('n', doc->'n') FROM t WHERE id = 7$$) \gexec
SELECT twice($$INSERT INTO t SELECT 100001, 0, 0, 'anna 9', 0, 0, NULL, NULL, '{"x": "anna 9"}'$$) \gexec
SELECT twice($$CREATE UNIQUE INDEX t_text ON t (s) WHERE s LIKE 'anna %'$$) \gexec
-- what cannot be evaluated is heap's error
SELECT twice($$CREATE INDEX t_bad ON t (((doc->>'mixed')::int))$$) \gexec
SELECT twice($$CREATE INDEX t_zero ON t ((1 / small)) WHERE small = 0$$) \gexec
SELECT twice($$CREATE INDEX t_good ON t (((doc->>'mixed')::int)) WHERE jsonb_typeof(doc->'mixed') = 'number' AND id % 6 = 0$$) \gexec
SELECT public.bt_index_parent_check('amax_side.t_good'::regclass, true);
-- other kinds of indexes, and those built meanwhile
SELECT twice($$CREATE INDEX t_hash ON t USING hash ((doc->>'s')) WHERE doc->>'s' > 'A'$$) \gexec
SELECT twice($$CREATE INDEX t_brin ON t USING brin (((doc->>'i')::int)) WITH (pages_per_range = 1)$$) \gexec
SELECT twice($$CREATE INDEX CONCURRENTLY t_meanwhile ON t ((doc->>'s') DESC)$$) \gexec
SELECT public.bt_index_parent_check('amax_side.t_meanwhile'::regclass, true);
SET enable_seqscan = off;
SELECT * FROM compare('SELECT id FROM t WHERE doc->>''s'' = ''Zoe 21'' AND doc->>''s'' > ''A''');
SELECT * FROM compare('SELECT id FROM t WHERE (doc->>''i'')::int BETWEEN 10 AND 20');
SELECT * FROM amax.verify('t');
DROP EXTENSION amcheck;
