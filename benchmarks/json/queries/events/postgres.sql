-- count by a path
SELECT doc->'commit'->>'collection' AS event, count(*) AS count
FROM documents
GROUP BY event
ORDER BY count DESC;

-- count and distinct users, two filters
SELECT doc->'commit'->>'collection' AS event, count(*) AS count, count(DISTINCT doc->>'did') AS users
FROM documents
WHERE doc->>'kind' = 'commit' AND doc->'commit'->>'operation' = 'create'
GROUP BY event
ORDER BY count DESC;

-- histogram by category and hour
SELECT doc->'commit'->>'collection' AS event,
       extract(hour FROM to_timestamp((doc->>'time_us')::bigint / 1000000.0)) AS hour_of_day,
       count(*) AS count
FROM documents
WHERE doc->>'kind' = 'commit' AND doc->'commit'->>'operation' = 'create'
  AND doc->'commit'->>'collection' IN ('social.feed.post', 'social.feed.repost', 'social.feed.like')
GROUP BY event, hour_of_day
ORDER BY hour_of_day, event;

-- first post per user, top 3
SELECT doc->>'did' AS user_id, min(to_timestamp((doc->>'time_us')::bigint / 1000000.0)) AS first_post
FROM documents
WHERE doc->>'kind' = 'commit' AND doc->'commit'->>'operation' = 'create'
  AND doc->'commit'->>'collection' = 'social.feed.post'
GROUP BY user_id
ORDER BY first_post
LIMIT 3;

-- longest span of posts per user, top 3
SELECT doc->>'did' AS user_id,
       max(to_timestamp((doc->>'time_us')::bigint / 1000000.0))
       - min(to_timestamp((doc->>'time_us')::bigint / 1000000.0)) AS span
FROM documents
WHERE doc->>'kind' = 'commit' AND doc->'commit'->>'operation' = 'create'
  AND doc->'commit'->>'collection' = 'social.feed.post'
GROUP BY user_id
ORDER BY span DESC
LIMIT 3;

-- array unnested
SELECT lang, count(*) AS count
FROM documents, jsonb_array_elements_text(doc->'commit'->'record'->'langs') AS lang
GROUP BY lang
ORDER BY count DESC;

-- array in an array of objects unnested
SELECT feature->>'tag' AS tag, count(*) AS count
FROM documents,
     jsonb_array_elements(doc->'commit'->'record'->'facets') AS facet,
     jsonb_array_elements(facet->'features') AS feature
WHERE feature->>'$type' = 'social.facet#tag'
GROUP BY feature->>'tag'
ORDER BY count DESC, (feature->>'tag') COLLATE "C"
LIMIT 10;

-- types of a field that has two
SELECT jsonb_typeof(doc->'commit'->'record'->'subject') AS type, count(*) AS count
FROM documents
GROUP BY type
ORDER BY count DESC;

-- sum of a rare number
SELECT doc #>> '{commit,record,embed,video,mimeType}' AS type, count(*) AS count,
       sum((doc #>> '{commit,record,embed,video,size}')::bigint) AS bytes
FROM documents
WHERE doc #>> '{commit,record,embed,video,size}' IS NOT NULL
GROUP BY type;

-- containment
SELECT count(*) FROM documents WHERE doc @> '{"commit": {"operation": "delete", "collection": "social.feed.like"}}';

-- containment in an array
SELECT count(*) FROM documents WHERE doc @> '{"commit": {"record": {"langs": ["de"]}}}';

-- text search
SELECT count(*) FROM documents WHERE doc->'commit'->'record'->>'text' LIKE '%#%';

-- point look-up of a path
SELECT doc->'commit'->'record'->>'text' FROM documents WHERE doc->'commit'->>'cid' = '{cid}';

-- point look-up of a document
SELECT doc FROM documents WHERE doc->'commit'->>'cid' = '{cid}';

-- newest documents
SELECT doc FROM documents ORDER BY (doc->>'time_us')::bigint DESC LIMIT 10;

-- first documents by two paths
SELECT doc FROM documents ORDER BY doc->>'did', (doc->>'time_us')::bigint LIMIT 5;

-- some documents
SELECT doc FROM documents WHERE doc->'commit'->>'collection' = 'social.actor.profile';

-- all documents
SELECT doc FROM documents;
