-- count by a path
SELECT doc->>'rust_version' AS rust, count(*) AS count
FROM documents
GROUP BY rust
ORDER BY count DESC;

-- count and distinct crates, two filters
SELECT doc->>'rust_version' AS rust, count(*) AS count, count(DISTINCT doc->>'name') AS crates
FROM documents
WHERE NOT (doc->>'yanked')::boolean AND doc->>'pubtime' >= '2020'
GROUP BY rust
ORDER BY count DESC;

-- histogram by category and hour
SELECT doc->>'rust_version' AS rust, extract(hour FROM (doc->>'pubtime')::timestamptz) AS hour_of_day, count(*) AS count
FROM documents
WHERE NOT (doc->>'yanked')::boolean AND doc->>'rust_version' IN ('1.56', '1.60', '1.70')
GROUP BY rust, hour_of_day
ORDER BY hour_of_day, rust;

-- first release per crate, top 3
SELECT doc->>'name' AS name, min((doc->>'pubtime')::timestamptz) AS first_release
FROM documents
WHERE NOT (doc->>'yanked')::boolean
GROUP BY name
ORDER BY first_release
LIMIT 3;

-- longest span of releases per crate, top 3
SELECT doc->>'name' AS name, max((doc->>'pubtime')::timestamptz) - min((doc->>'pubtime')::timestamptz) AS span
FROM documents
WHERE NOT (doc->>'yanked')::boolean
GROUP BY name
ORDER BY span DESC
LIMIT 3;

-- array of objects unnested
SELECT dep->>'kind' AS kind, count(*) AS count, count(DISTINCT dep->>'name') AS names
FROM documents, jsonb_array_elements(doc->'deps') AS dep
GROUP BY kind
ORDER BY count DESC;

-- containment in an array of objects
SELECT count(*) FROM documents WHERE doc @> '{"deps": [{"name": "serde", "kind": "dev"}]}';

-- key exists in an object with arbitrary keys
SELECT count(*) FROM documents WHERE doc->'features' ? 'std';

-- point look-up of a path
SELECT doc->>'cksum' FROM documents WHERE doc->>'name' = 'serde' AND doc->>'vers' = '1.0.100';
