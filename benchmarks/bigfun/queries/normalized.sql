-- Q1, a record by its key
SELECT id, alias, name, user_since, (SELECT array_agg(friend_id ORDER BY friend_id) FROM friends f WHERE f.user_id = u.id),
    (SELECT array_agg(concat_ws('|', organization, start_date, end_date) ORDER BY organization, start_date) FROM employments e WHERE e.user_id = u.id)
FROM users u WHERE id = {key};

-- Q2, records by a range of keys
SELECT id, alias, name, user_since, (SELECT array_agg(friend_id ORDER BY friend_id) FROM friends f WHERE f.user_id = u.id),
    (SELECT array_agg(concat_ws('|', organization, start_date, end_date) ORDER BY organization, start_date) FROM employments e WHERE e.user_id = u.id)
FROM users u WHERE id >= {low} AND id < {high};

-- Q3, records by a range of times
SELECT id, alias, name, user_since, (SELECT array_agg(friend_id ORDER BY friend_id) FROM friends f WHERE f.user_id = u.id),
    (SELECT array_agg(concat_ws('|', organization, start_date, end_date) ORDER BY organization, start_date) FROM employments e WHERE e.user_id = u.id)
FROM users u WHERE user_since >= '{since}' AND user_since < '{until}';

-- Q4, some element
SELECT name, (SELECT array_agg(concat_ws('|', organization, start_date, end_date) ORDER BY organization, start_date) FROM employments e WHERE e.user_id = u.id)
FROM users u WHERE EXISTS (SELECT 1 FROM employments e WHERE e.user_id = u.id AND end_date IS NULL) AND user_since >= '{since}' AND user_since < '{until}';

-- Q5, every element
SELECT name, (SELECT array_agg(concat_ws('|', organization, start_date, end_date) ORDER BY organization, start_date) FROM employments e WHERE e.user_id = u.id)
FROM users u WHERE NOT EXISTS (SELECT 1 FROM employments e WHERE e.user_id = u.id AND end_date IS NULL) AND user_since >= '{since}' AND user_since < '{until}';

-- Q6, an aggregate
SELECT avg(length(message_text)) FROM chirps WHERE send_time >= '{since}' AND send_time < '{until}';

-- Q7, groups
SELECT screen_name, avg(length(message_text)) FROM chirps WHERE send_time >= '{since}' AND send_time < '{until}' GROUP BY 1;

-- Q8, top ten groups
SELECT screen_name, avg(length(message_text)) FROM chirps WHERE send_time >= '{since}' AND send_time < '{until}' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q9, within a circle
SELECT screen_name, message_text FROM chirps WHERE point(latitude, longitude) <@ circle(point({latitude}, {longitude}), {radius});

-- Q10, texts with a word, LIKE
SELECT send_time, message_text FROM chirps WHERE message_text LIKE '%{word}%' ORDER BY 1 DESC, 2 LIMIT 10;

-- Q10, texts with a word, tsvector
SELECT send_time, message_text FROM chirps WHERE to_tsvector('simple', message_text) @@ to_tsquery('simple', '{word}') ORDER BY 1 DESC, 2 LIMIT 10;

-- Q11, texts with a similar word, levenshtein
SELECT send_time, message_text FROM chirps
WHERE EXISTS (SELECT FROM unnest(string_to_array(translate(message_text, ',:', ''), ' ')) word WHERE levenshtein_less_equal(word, '{word}', 1) <= 1) ORDER BY 1 DESC, 2 LIMIT 10;

-- Q11, texts with a similar word, pg_trgm
SELECT send_time, message_text FROM chirps WHERE '{word}' <% message_text ORDER BY 1 DESC, 2 LIMIT 10;

-- Q12, join
SELECT u.name, m.message FROM messages m JOIN users u ON m.author_id = u.id
WHERE u.user_since >= '{since}' AND u.user_since < '{until}' AND m.send_time >= '{sent}' AND m.send_time < '{sent_until}';

-- Q13, left join
SELECT u.id, u.name, array_agg(m.message ORDER BY m.message_id)
FROM users u LEFT JOIN messages m ON m.author_id = u.id AND m.send_time >= '{sent}' AND m.send_time < '{sent_until}'
WHERE u.user_since >= '{since}' AND u.user_since < '{until}' GROUP BY 1, 2;

-- Q14, groups of a join
SELECT u.id, count(*) FROM messages m JOIN users u ON m.author_id = u.id
WHERE u.user_since >= '{since}' AND u.user_since < '{until}' AND m.send_time >= '{sent}' AND m.send_time < '{sent_until}' GROUP BY 1;

-- Q15, top ten groups of a join
SELECT u.id, count(*) FROM messages m JOIN users u ON m.author_id = u.id
WHERE u.user_since >= '{since}' AND u.user_since < '{until}' AND m.send_time >= '{sent}' AND m.send_time < '{sent_until}' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q16, near ones
SELECT c.chirpid, near.text
FROM chirps c, LATERAL (SELECT n.message_text AS text FROM chirps n WHERE point(n.latitude, n.longitude) <@ circle(point(c.latitude, c.longitude), {radius}) AND n.chirpid <> c.chirpid
    ORDER BY point(n.latitude, n.longitude) <-> point(c.latitude, c.longitude) DESC, n.chirpid LIMIT 10) near
WHERE c.send_time >= '{since}' AND c.send_time < '{until}';
