-- count
SELECT count(*) FROM npm;

-- group by a path
SELECT doc->>'name', count(*), min(doc->>'version') FROM npm GROUP BY 1;

-- path of two types as text
SELECT doc->>'license', count(*) FROM npm GROUP BY 1;

-- type of a path of two types
SELECT jsonb_typeof(doc->'repository'), doc->'repository'->>'type', count(*) FROM npm GROUP BY 1, 2;

-- key below a path of two types
SELECT coalesce(doc->'author'->>'name', doc->>'author'), count(*) FROM npm GROUP BY 1;

-- paths of three types
SELECT doc->'bin', doc->'browser', doc->'sideEffects', doc->'funding' FROM npm;

-- object with arbitrary keys unnested
SELECT key, count(*), count(DISTINCT value)
FROM npm, jsonb_each_text(CASE jsonb_typeof(doc->'dependencies') WHEN 'object' THEN doc->'dependencies' END) GROUP BY 1;

-- array unnested
SELECT keyword, count(*)
FROM npm, jsonb_array_elements_text(CASE jsonb_typeof(doc->'keywords') WHEN 'array' THEN doc->'keywords' END) keyword
GROUP BY 1;

-- array of objects and strings unnested
SELECT jsonb_typeof(c), c->>'name', count(*) FROM npm, jsonb_path_query(doc, 'lax $.contributors[*]') c GROUP BY 1, 2;

-- containment
SELECT doc->>'name', doc->>'version' FROM npm WHERE doc @> '{"engines": {"node": ">=10"}}';

-- containment in an array
SELECT doc->>'name' FROM npm WHERE doc @> '{"keywords": ["promise"]}';

-- key exists
SELECT doc->>'name', doc->>'version' FROM npm WHERE doc->'dependencies' ? 'debug';

-- all of several keys
SELECT doc->>'name' FROM npm WHERE doc ?& ARRAY['types', 'module', 'exports'];

-- cast to int and numeric
SELECT count(doc->'prettier'->'tabWidth'), sum((doc->'prettier'->>'tabWidth')::int),
       avg((doc->'typeCoverage'->>'atLeast')::numeric), max((doc->>'inceptionYear')::numeric)
FROM npm;

-- text search in a nested path
SELECT doc->>'name', doc->'scripts'->>'test' FROM npm WHERE doc->'scripts'->>'test' LIKE '%mocha%';

-- key with a dot
SELECT doc->'exports'->'.'->>'import', doc#>'{exports,./package.json}', count(*) FROM npm GROUP BY 1, 2;

-- key with a slash and an at sign
SELECT doc->'devDependencies'->>'@types/node', count(*) FROM npm GROUP BY 1;

-- jsonpath filter
SELECT doc->>'name' FROM npm WHERE doc @? '$.prettier ? (@.tabWidth >= 4 || @.printWidth > 80)';

-- jsonpath key and value
SELECT e->>'key', count(*)
FROM npm, jsonb_path_query(doc, '$.engines ? (@.type() == "object").keyvalue()') e GROUP BY 1;

-- absent path
SELECT count(*) FROM npm WHERE doc->'homepage' IS NULL;

-- full documents, ordered
SELECT doc FROM npm ORDER BY (doc->>'_id') COLLATE "C", doc;

-- full documents, filtered
SELECT doc FROM npm WHERE doc->>'type' = 'module';

-- types of all keys
SELECT k, jsonb_typeof(doc->k), count(*) FROM npm, jsonb_object_keys(doc) k GROUP BY 1, 2;

-- all scalars at any depth
SELECT jsonb_typeof(v), count(*) FROM npm, jsonb_path_query(doc, 'strict $.**') v GROUP BY 1;

-- self-join
SELECT a.doc->>'name', a.doc->>'version', b.doc->>'version'
FROM npm a JOIN npm b ON a.doc->>'name' = b.doc->>'name' AND a.doc->>'version' < b.doc->>'version'
WHERE a.doc ? 'types' AND b.doc ? 'types';

-- join through keys of an object
SELECT n.doc->>'name', p.doc->>'version'
FROM npm n, jsonb_each_text(CASE jsonb_typeof(n.doc->'dependencies') WHEN 'object' THEN n.doc->'dependencies' END) d
JOIN npm p ON p.doc->>'name' = d.key
WHERE n.doc->>'license' = 'ISC';
