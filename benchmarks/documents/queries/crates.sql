-- count
SELECT count(*) FROM crates;

-- count distinct of a path
SELECT count(DISTINCT doc->>'name'), count(DISTINCT doc->>'cksum') FROM crates;

-- group by a path
SELECT doc->>'name', count(*), max(doc->>'vers') FROM crates GROUP BY 1;

-- group by a sparse path
SELECT doc->>'rust_version', count(*), min(doc->>'pubtime') FROM crates GROUP BY 1;

-- cast to boolean
SELECT count(*) FROM crates WHERE (doc->>'yanked')::boolean;

-- cast to timestamp, group by year
SELECT extract(year FROM (doc->>'pubtime')::timestamptz), count(*) FROM crates GROUP BY 1 ORDER BY 1;

-- cast to int of a sparse path
SELECT sum((doc->>'v')::int), count(doc->'v') FROM crates;

-- point filter, whole document
SELECT doc FROM crates WHERE doc->>'name' = 'serde' AND doc->>'vers' LIKE '1.0.1%';

-- array unnested
SELECT d->>'name', d->>'kind', count(*) FROM crates, jsonb_array_elements(doc->'deps') d GROUP BY 1, 2;

-- array in an array unnested
SELECT d->>'name', f, count(*)
FROM crates, jsonb_array_elements(doc->'deps') d, jsonb_array_elements_text(d->'features') f GROUP BY 1, 2;

-- object with arbitrary keys unnested
SELECT key, count(*), sum(jsonb_array_length(value)) FROM crates, jsonb_each(doc->'features') GROUP BY 1;

-- subscripts into an array
SELECT doc->'deps'->0->>'name', doc#>>'{deps,1,req}', doc->'deps'->-1->'features' FROM crates;

-- array lengths
SELECT jsonb_array_length(doc->'deps'), count(*) FROM crates GROUP BY 1 ORDER BY 1;

-- containment in an array of objects
SELECT doc->>'name', doc->>'vers' FROM crates WHERE doc @> '{"deps": [{"name": "serde", "kind": "dev"}]}';

-- containment of a scalar
SELECT count(*) FROM crates WHERE doc @> '{"yanked": true}';

-- key exists in an object with arbitrary keys
SELECT doc->>'name', count(*) FROM crates WHERE doc->'features' ? 'std' GROUP BY 1;

-- any of several keys
SELECT doc->>'name', doc->>'vers', doc->>'links' FROM crates WHERE doc ?| ARRAY['links', 'features2'];

-- jsonpath filter
SELECT count(*) FROM crates WHERE doc @? '$.deps[*] ? (@.optional == true && @.kind == "normal")';

-- jsonpath results
SELECT p, count(*) FROM crates, jsonb_path_query(doc, '$.deps[*] ? (@.target != null).target') p GROUP BY 1;

-- full documents, ordered
SELECT doc FROM crates ORDER BY (doc->>'name') COLLATE "C", (doc->>'vers') COLLATE "C";

-- full documents, newest ten
SELECT doc FROM crates ORDER BY (doc->>'pubtime') COLLATE "C" DESC, (doc->>'cksum') COLLATE "C" LIMIT 10;

-- document without two keys
SELECT doc - 'deps' - 'features' FROM crates;

-- types of all keys
SELECT k, jsonb_typeof(doc->k), count(*) FROM crates, jsonb_object_keys(doc) k GROUP BY 1, 2;

-- self-join
SELECT a.doc->>'name', a.doc->>'vers', b.doc->>'vers'
FROM crates a JOIN crates b ON a.doc->>'name' = b.doc->>'name' AND a.doc->>'pubtime' < b.doc->>'pubtime'
WHERE a.doc->>'yanked' = 'true' AND b.doc->>'yanked' = 'true';

-- anti-join: dependencies nobody publishes
SELECT DISTINCT d->>'name' FROM crates c, jsonb_array_elements(c.doc->'deps') d
WHERE NOT EXISTS (SELECT FROM crates p WHERE p.doc->>'name' = d->>'name');

-- window over a path
SELECT doc->>'name', doc->>'vers',
       row_number() OVER (PARTITION BY doc->>'name' ORDER BY (doc->>'pubtime') COLLATE "C", (doc->>'vers') COLLATE "C")
FROM crates;
