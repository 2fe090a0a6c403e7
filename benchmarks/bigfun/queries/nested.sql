-- Q1, a record by its key
SELECT doc FROM users WHERE (doc->>'id')::bigint = {key};

-- Q2, records by a range of keys
SELECT doc FROM users WHERE (doc->>'id')::bigint >= {low} AND (doc->>'id')::bigint < {high};

-- Q3, records by a range of times
SELECT doc FROM users WHERE doc->>'user_since' >= '{since}' AND doc->>'user_since' < '{until}';

-- Q4, some element
SELECT doc->>'name', doc->'employment' FROM users
WHERE EXISTS (SELECT FROM jsonb_array_elements(doc->'employment') job WHERE job->>'end_date' IS NULL) AND doc->>'user_since' >= '{since}' AND doc->>'user_since' < '{until}';

-- Q5, every element
SELECT doc->>'name', doc->'employment' FROM users
WHERE NOT EXISTS (SELECT FROM jsonb_array_elements(doc->'employment') job WHERE job->>'end_date' IS NULL) AND doc->>'user_since' >= '{since}' AND doc->>'user_since' < '{until}';

-- Q6, an aggregate
SELECT avg(length(doc->>'message_text')) FROM chirps WHERE doc->>'send_time' >= '{since}' AND doc->>'send_time' < '{until}';

-- Q7, groups
SELECT doc->'user'->>'screen_name', avg(length(doc->>'message_text')) FROM chirps WHERE doc->>'send_time' >= '{since}' AND doc->>'send_time' < '{until}' GROUP BY 1;

-- Q8, top ten groups
SELECT doc->'user'->>'screen_name', avg(length(doc->>'message_text')) FROM chirps WHERE doc->>'send_time' >= '{since}' AND doc->>'send_time' < '{until}'
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q9, within a circle
SELECT doc->'user'->>'screen_name', doc->>'message_text' FROM chirps
WHERE point((doc->'sender_location'->>0)::float8, (doc->'sender_location'->>1)::float8) <@ circle(point({latitude}, {longitude}), {radius});

-- Q10, texts with a word, LIKE
SELECT doc->>'send_time', doc->>'message_text' FROM chirps WHERE doc->>'message_text' LIKE '%{word}%' ORDER BY 1 DESC, 2 LIMIT 10;

-- Q10, texts with a word, tsvector
SELECT doc->>'send_time', doc->>'message_text' FROM chirps WHERE to_tsvector('simple', doc->>'message_text') @@ to_tsquery('simple', '{word}') ORDER BY 1 DESC, 2 LIMIT 10;

-- Q11, texts with a similar word, levenshtein
SELECT doc->>'send_time', doc->>'message_text' FROM chirps
WHERE EXISTS (SELECT FROM unnest(string_to_array(translate(doc->>'message_text', ',:', ''), ' ')) word WHERE levenshtein_less_equal(word, '{word}', 1) <= 1) ORDER BY 1 DESC, 2 LIMIT 10;

-- Q11, texts with a similar word, pg_trgm
SELECT doc->>'send_time', doc->>'message_text' FROM chirps WHERE '{word}' <% (doc->>'message_text') ORDER BY 1 DESC, 2 LIMIT 10;

-- Q12, join
SELECT u.doc->>'name', m.doc->>'message' FROM messages m JOIN users u ON (m.doc->>'author_id')::bigint = (u.doc->>'id')::bigint
WHERE u.doc->>'user_since' >= '{since}' AND u.doc->>'user_since' < '{until}' AND m.doc->>'send_time' >= '{sent}' AND m.doc->>'send_time' < '{sent_until}';

-- Q13, left join
SELECT (u.doc->>'id')::bigint, u.doc->>'name', array_agg(m.doc->>'message' ORDER BY (m.doc->>'message_id')::bigint)
FROM users u LEFT JOIN messages m ON (m.doc->>'author_id')::bigint = (u.doc->>'id')::bigint AND m.doc->>'send_time' >= '{sent}' AND m.doc->>'send_time' < '{sent_until}'
WHERE u.doc->>'user_since' >= '{since}' AND u.doc->>'user_since' < '{until}' GROUP BY 1, 2;

-- Q14, groups of a join
SELECT (u.doc->>'id')::bigint, count(*) FROM messages m JOIN users u ON (m.doc->>'author_id')::bigint = (u.doc->>'id')::bigint
WHERE u.doc->>'user_since' >= '{since}' AND u.doc->>'user_since' < '{until}' AND m.doc->>'send_time' >= '{sent}' AND m.doc->>'send_time' < '{sent_until}' GROUP BY 1;

-- Q15, top ten groups of a join
SELECT (u.doc->>'id')::bigint, count(*) FROM messages m JOIN users u ON (m.doc->>'author_id')::bigint = (u.doc->>'id')::bigint
WHERE u.doc->>'user_since' >= '{since}' AND u.doc->>'user_since' < '{until}' AND m.doc->>'send_time' >= '{sent}' AND m.doc->>'send_time' < '{sent_until}'
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q16, near ones
SELECT (c.doc->>'chirpid')::bigint, near.text
FROM chirps c, LATERAL (SELECT n.doc->>'message_text' AS text FROM chirps n
    WHERE point((n.doc->'sender_location'->>0)::float8, (n.doc->'sender_location'->>1)::float8)
            <@ circle(point((c.doc->'sender_location'->>0)::float8, (c.doc->'sender_location'->>1)::float8), {radius})
        AND (n.doc->>'chirpid')::bigint <> (c.doc->>'chirpid')::bigint
    ORDER BY point((n.doc->'sender_location'->>0)::float8, (n.doc->'sender_location'->>1)::float8)
            <-> point((c.doc->'sender_location'->>0)::float8, (c.doc->'sender_location'->>1)::float8) DESC, (n.doc->>'chirpid')::bigint LIMIT 10) near
WHERE c.doc->>'send_time' >= '{since}' AND c.doc->>'send_time' < '{until}';
