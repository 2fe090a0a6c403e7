-- count by a path
SELECT doc->'commit'->>'collection' AS event, count(*) AS count
FROM documents
GROUP BY event
ORDER BY count DESC;

-- count and distinct users, two filters
SELECT doc->'commit'->>'collection' AS event, count(*) AS count, count(DISTINCT doc->>'did') AS users
FROM documents
WHERE (doc->>'kind') = 'commit' AND (doc->'commit'->>'operation') = 'create'
GROUP BY event
ORDER BY count DESC;

-- histogram by category and hour
SELECT doc->'commit'->>'collection' AS event, hour(make_timestamp((doc->>'time_us')::bigint)) AS hour_of_day, count(*) AS count
FROM documents
WHERE (doc->>'kind') = 'commit' AND (doc->'commit'->>'operation') = 'create'
  AND (doc->'commit'->>'collection') IN ('social.feed.post', 'social.feed.repost', 'social.feed.like')
GROUP BY event, hour_of_day
ORDER BY hour_of_day, event;

-- first post per user, top 3
SELECT doc->>'did' AS user_id, min(make_timestamp((doc->>'time_us')::bigint)) AS first_post
FROM documents
WHERE (doc->>'kind') = 'commit' AND (doc->'commit'->>'operation') = 'create'
  AND (doc->'commit'->>'collection') = 'social.feed.post'
GROUP BY user_id
ORDER BY first_post
LIMIT 3;

-- longest span of posts per user, top 3
SELECT doc->>'did' AS user_id,
       max(make_timestamp((doc->>'time_us')::bigint)) - min(make_timestamp((doc->>'time_us')::bigint)) AS span
FROM documents
WHERE (doc->>'kind') = 'commit' AND (doc->'commit'->>'operation') = 'create'
  AND (doc->'commit'->>'collection') = 'social.feed.post'
GROUP BY user_id
ORDER BY span DESC
LIMIT 3;

-- array unnested
SELECT lang, count(*) AS count
FROM (SELECT unnest((doc->'commit'->'record'->'langs')::varchar[]) AS lang FROM documents)
GROUP BY lang
ORDER BY count DESC;

-- array in an array of objects unnested
SELECT feature->>'tag' AS tag, count(*) AS count
FROM (SELECT unnest((facet->'features')::json[]) AS feature
      FROM (SELECT unnest((doc->'commit'->'record'->'facets')::json[]) AS facet FROM documents))
WHERE (feature->>'$."$type"') = 'social.facet#tag'
GROUP BY tag
ORDER BY count DESC, tag
LIMIT 10;

-- types of a field that has two
SELECT CASE json_type(doc->'commit'->'record'->'subject') WHEN 'OBJECT' THEN 'object' WHEN 'VARCHAR' THEN 'string' END AS type,
       count(*) AS count
FROM documents
GROUP BY type
ORDER BY count DESC;

-- sum of a rare number
SELECT doc->>'$.commit.record.embed.video.mimeType' AS type, count(*) AS count,
       sum((doc->>'$.commit.record.embed.video.size')::bigint) AS bytes
FROM documents
WHERE (doc->>'$.commit.record.embed.video.size') IS NOT NULL
GROUP BY type;

-- containment
SELECT count(*) FROM documents WHERE json_contains(doc, '{"commit": {"operation": "delete", "collection": "social.feed.like"}}');

-- containment in an array
SELECT count(*) FROM documents WHERE json_contains(doc, '{"commit": {"record": {"langs": ["de"]}}}');

-- text search
SELECT count(*) FROM documents WHERE (doc->'commit'->'record'->>'text') LIKE '%#%';

-- point look-up of a path
SELECT doc->'commit'->'record'->>'text' FROM documents WHERE (doc->'commit'->>'cid') = '{cid}';

-- point look-up of a document
SELECT doc FROM documents WHERE (doc->'commit'->>'cid') = '{cid}';

-- newest documents
SELECT doc FROM documents ORDER BY (doc->>'time_us')::bigint DESC LIMIT 10;

-- first documents by two paths
SELECT doc FROM documents ORDER BY doc->>'did', (doc->>'time_us')::bigint LIMIT 5;

-- some documents
SELECT doc FROM documents WHERE (doc->'commit'->>'collection') = 'social.actor.profile';

-- all documents
SELECT doc FROM documents;
