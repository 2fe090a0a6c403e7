-- Real documents, loaded with COPY and default settings: the same rows and the same answers as heap, before and after VACUUM.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
\set crates_file :abs_srcdir '/data/crates.jsonl'
\set npm_file :abs_srcdir '/data/npm.jsonl'

SELECT twice($$CREATE TABLE crates (doc jsonb)$$) \gexec
SELECT twice($$CREATE TABLE npm (doc jsonb)$$) \gexec
COPY heap_side.crates FROM :'crates_file' WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
COPY amax_side.crates FROM :'crates_file' WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
COPY heap_side.npm FROM :'npm_file' WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
COPY amax_side.npm FROM :'npm_file' WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');

CREATE TABLE twins.questions (number serial, query text) USING heap;
INSERT INTO twins.questions (query) VALUES
  -- crates
  ($$SELECT * FROM crates$$),
  ($$SELECT count(*), count(DISTINCT doc->>'name') FROM crates$$),
  ($$SELECT doc->>'name', count(*), max(doc->>'vers') FROM crates GROUP BY 1$$),
  ($$SELECT (doc->>'yanked')::boolean, count(*) FROM crates GROUP BY 1$$),
  ($$SELECT dep->>'name', dep->>'kind', count(*) FROM crates, jsonb_array_elements(doc->'deps') dep GROUP BY 1, 2$$),
  ($$SELECT dep->>'name', f, count(*) FROM crates, jsonb_array_elements(doc->'deps') dep, jsonb_array_elements_text(dep->'features') f GROUP BY 1, 2$$),
  ($$SELECT dep->>'target', dep->'optional', dep->'default_features', count(*) FROM crates, jsonb_array_elements(doc->'deps') dep GROUP BY 1, 2, 3$$),
  ($$SELECT key, count(*), sum(jsonb_array_length(value)) FROM crates, jsonb_each(doc->'features') GROUP BY 1$$),
  ($$SELECT doc->'deps'->0->>'name', doc#>>'{deps,1,req}', doc#>'{deps,-1}' FROM crates$$),
  ($$SELECT doc->>'name', doc->>'vers' FROM crates WHERE doc @> '{"deps": [{"name": "serde", "kind": "dev"}]}'$$),
  ($$SELECT doc->>'vers' FROM crates WHERE doc->'features' ? 'default'$$),
  ($$SELECT doc->>'cksum' FROM crates WHERE doc ?| ARRAY['links', 'rust_version']$$),
  ($$SELECT doc->>'name', (doc->>'pubtime')::timestamptz FROM crates WHERE (doc->>'pubtime')::timestamptz < '2017-01-01'$$),
  ($$SELECT jsonb_path_query(doc, '$.deps[*] ? (@.optional == true).name') FROM crates$$),
  ($$SELECT jsonb_array_length(doc->'deps'), avg(length(doc::text)) FROM crates GROUP BY 1$$),
  ($$SELECT a.doc->>'name', b.doc->>'vers' FROM crates a JOIN crates b ON a.doc->>'name' = b.doc->>'name' AND a.doc->>'pubtime' > b.doc->>'pubtime' WHERE a.doc->>'yanked' = 'true'$$),
  ($$SELECT doc - 'deps' - 'features' FROM crates$$),
  ($$SELECT DISTINCT k, jsonb_typeof(doc->k) FROM crates, jsonb_object_keys(doc) k$$),
  -- npm
  ($$SELECT * FROM npm$$),
  ($$SELECT k, jsonb_typeof(doc->k), count(*) FROM npm, jsonb_object_keys(doc) k GROUP BY 1, 2$$),
  ($$SELECT doc->>'name', doc->>'version' FROM npm WHERE doc->'dependencies' ? 'debug'$$),
  ($$SELECT d->>'key', d->>'value', count(*) FROM npm, jsonb_path_query(doc, '$.dependencies ? (@.type() == "object").keyvalue()') d GROUP BY 1, 2$$),
  ($$SELECT jsonb_typeof(doc->'repository'), doc->'repository'->>'type', count(*) FROM npm GROUP BY 1, 2$$),
  ($$SELECT doc->>'license', doc->'license'->'type' FROM npm$$),
  ($$SELECT doc->'author', doc->'author'->>'name' FROM npm$$),
  ($$SELECT doc->'bin', doc->'main', doc->'exports'->'.', doc->'exports'->'.'->'import' FROM npm$$),
  ($$SELECT doc->'sideEffects', doc->'sideEffects'->0 FROM npm WHERE doc ? 'sideEffects'$$),
  ($$SELECT keyword, count(*) FROM npm, jsonb_path_query(doc, 'lax $.keywords[*]') keyword GROUP BY 1$$),
  ($$SELECT c->>'name', count(*) FROM npm, jsonb_path_query(doc, 'lax $.contributors[*]') c GROUP BY 1$$),
  ($$SELECT doc->>'version', doc FROM npm WHERE doc @> '{"engines": {"node": "*"}}'$$),
  ($$SELECT doc->'dist'->>'shasum' FROM npm WHERE doc->'scripts'->>'test' LIKE '%mocha%'$$),
  ($$SELECT count(*) FROM npm WHERE doc->'homepage' IS NULL$$),
  ($$SELECT doc->'devDependencies'->'mocha', doc#>'{exports,.,import}', doc#>>'{exports,./package.json}' FROM npm$$),
  ($$SELECT doc->'peerDependencies', doc->'funding' FROM npm WHERE jsonb_typeof(doc->'funding') = 'object'$$),
  ($$SELECT (doc->'dist'->>'fileCount')::int, (doc->'dist'->>'unpackedSize')::numeric FROM npm$$),
  ($$SELECT n.doc->>'name', c.doc->>'name' FROM npm n JOIN crates c ON n.doc->>'version' = c.doc->>'vers' WHERE c.doc->>'name' < 'b'$$),
  ($$SELECT doc - 'dependencies' - '{dist,_id,none}'::text[] - 'name' FROM npm$$),
  ($$SELECT md5((doc - 'deps')::text), count(*) FROM crates WHERE doc - '{deps,features,cksum}'::text[] ? 'links' GROUP BY 1$$),
  ($$SELECT key, jsonb_typeof(value), count(*), max(value::text) FROM npm, jsonb_each(doc) GROUP BY 1, 2$$),
  ($$SELECT key, value, count(*) FROM npm, jsonb_each_text(doc->'scripts') WHERE key <> 'test' GROUP BY 1, 2$$);

CREATE FUNCTION twins.wrong() RETURNS TABLE (number int, query text, rows bigint, missing bigint, extra bigint) LANGUAGE sql AS $$
  SELECT q.number, q.query, c.rows, c.missing, c.extra FROM twins.questions q, twins.compare(q.query) c
  WHERE c.missing <> 0 OR c.extra <> 0 ORDER BY 1
$$;
-- how many rows each question finds, and no question with another answer on amax
SELECT number, rows FROM questions, compare(query) ORDER BY 1;
SELECT * FROM wrong();
SELECT twice($$VACUUM (ANALYZE) crates$$) \gexec
SELECT twice($$VACUUM (ANALYZE) npm$$) \gexec
SELECT * FROM wrong();
-- through indexes built on what is there
SELECT twice($$CREATE INDEX crates_gin ON crates USING gin (doc)$$) \gexec
SELECT twice($$CREATE INDEX crates_name ON crates ((doc->>'name'), (doc->>'vers'))$$) \gexec
SELECT twice($$CREATE INDEX npm_gin ON npm USING gin (doc jsonb_path_ops)$$) \gexec
SELECT twice($$CREATE INDEX npm_license ON npm ((doc->'license'))$$) \gexec
SET enable_seqscan = off;
SELECT * FROM compare($$SELECT * FROM crates WHERE doc->>'name' = 'serde'$$);
SELECT * FROM compare($$SELECT * FROM crates WHERE doc @> '{"deps": [{"name": "serde", "kind": "dev"}]}'$$);
SELECT * FROM compare($$SELECT * FROM npm WHERE doc->'license' = '"MIT"'$$);
SELECT * FROM compare($$SELECT * FROM npm WHERE doc @> '{"engines": {"node": "*"}}'$$);
RESET enable_seqscan;

-- changed in place, removed, added again, vacuumed again
SELECT twice($$UPDATE crates SET doc = jsonb_set(doc, '{yanked}', 'true') WHERE doc->>'vers' LIKE '%.7'$$) \gexec
SELECT twice($$UPDATE npm SET doc = doc || '{"license": {"type": ["MIT", null, 1.50]}}' WHERE doc->>'version' LIKE '1.%'$$) \gexec
SELECT twice($$DELETE FROM crates WHERE doc->>'vers' LIKE '%.5'$$) \gexec
SELECT twice($$DELETE FROM npm WHERE doc->'dependencies' = '{}'$$) \gexec
SELECT twice($$INSERT INTO npm SELECT doc FROM npm WHERE doc->>'name' = 'express'$$) \gexec
SELECT * FROM wrong();
SELECT twice($$VACUUM crates$$) \gexec
SELECT twice($$VACUUM npm$$) \gexec
SELECT * FROM wrong();
SELECT twice($$VACUUM FULL npm$$) \gexec
SELECT number, rows FROM questions, compare(query) WHERE query = 'SELECT * FROM npm';
SELECT * FROM wrong();

-- what jsonb can hold besides objects, to the last digit and character
SELECT twice($$CREATE TABLE odd (id int PRIMARY KEY, doc jsonb)$$) \gexec
CREATE TABLE twins.odd_values (id serial, doc jsonb) USING heap;
INSERT INTO twins.odd_values (doc) VALUES
  ('null'), ('true'), ('false'), ('0'), ('-0.0'), ('1.50'), ('1e400'), ('-1e-400'), ('123456789012345678901234567890.000'),
  ('9223372036854775807'), ('9223372036854775808'), ('0.1'), ('1e15'), ('""'), ('"a\u00e9\ud83d\ude00"'), ('"\\ \" \n \t"'),
  ('[]'), ('{}'), ('[[]]'), ('[{}]'), ('[null]'), ('[[1, [2, [3]]], "4", {"5": 6}]'), ('[[], [[]], [[], []]]'),
  ('{"": ""}'), ('{"": {"": null}}'), ('{"a.b": 1, "a": {"b": 2}}'), ('{"a": null}'), ('{"a": []}'), ('{"a": {}}'),
  ('{"a": [{"b": 1}, {"b": "x"}, {"c": null}, 2, null, []]}'), ('{"a": 1}'), ('{"a": "1"}'), ('{"a": 1.0}'), ('{"a": true}'),
  ('{"a": [[{"b": [1, 2]}, {"b": []}], [], null, [{"b": null}]]}'), ('{"A": 1, "a ": 2, " a": 3, "a": 4}'), (NULL);
INSERT INTO twins.odd_values (doc) SELECT jsonb_build_object('a', noise(1, 100000), 'b', to_jsonb(ARRAY(SELECT generate_series(1, 5000))));
INSERT INTO twins.odd_values (doc) SELECT jsonb_object_agg('key ' || i, i) FROM generate_series(1, 3000) i;
INSERT INTO twins.odd_values (doc) SELECT (repeat('[', 500) || '1' || repeat(']', 500))::jsonb;
INSERT INTO twins.odd_values (doc) SELECT (repeat('{"a":', 500) || '1' || repeat('}', 500))::jsonb;
SELECT twice($$INSERT INTO odd TABLE odd_values$$) \gexec
SELECT * FROM compare('SELECT * FROM odd');
SELECT twice($$VACUUM odd$$) \gexec
SELECT * FROM compare('SELECT * FROM odd');
SELECT * FROM compare($$SELECT id, doc->'a', doc->>'a', doc->'a'->0->'b', doc#>>'{a,b}', doc->'a.b', doc->'', doc->0, jsonb_typeof(doc), jsonb_typeof(doc->'a') FROM odd$$);
SELECT * FROM compare('SELECT id, jsonb_hash(doc), pg_column_size(doc) > 0 FROM odd');
SELECT twice($$UPDATE odd SET doc = jsonb_build_array(doc, doc)$$) \gexec
SELECT * FROM compare('SELECT * FROM odd');
SELECT twice($$VACUUM odd$$) \gexec
SELECT * FROM compare('SELECT * FROM odd');
EXPLAIN (COSTS OFF) SELECT doc - 'deps' - '{features}'::text[] FROM crates;
SELECT doc - 'a' FROM (VALUES ('7'::jsonb)) v(doc);
CREATE TABLE scalars (doc jsonb) USING amax;
INSERT INTO scalars SELECT '{"a": 1}' FROM generate_series(1, 2000);
INSERT INTO scalars VALUES ('7');
VACUUM scalars;
-- An error where PostgreSQL has it, and not for a row that nobody asks for.
SELECT doc - 'a' FROM scalars;
SELECT count(*) FROM scalars WHERE CASE WHEN jsonb_typeof(doc) = 'object' THEN doc - 'a' = '{}' END;
DROP TABLE scalars;
