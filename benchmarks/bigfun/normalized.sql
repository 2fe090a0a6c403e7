-- What is nested is in tables of its own.
CREATE TABLE users AS
SELECT (doc->>'id')::bigint AS id, doc->>'alias' AS alias, doc->>'name' AS name, (doc->>'user_since')::timestamp AS user_since FROM bigfun_source.users;

CREATE TABLE friends AS
SELECT (doc->>'id')::bigint AS user_id, friend::bigint AS friend_id FROM bigfun_source.users, jsonb_array_elements(doc->'friend_ids') friend;

CREATE TABLE employments AS
SELECT (doc->>'id')::bigint AS user_id, job->>'organization' AS organization, (job->>'start_date')::date AS start_date, (job->>'end_date')::date AS end_date
FROM bigfun_source.users, jsonb_array_elements(doc->'employment') job;

CREATE TABLE messages AS
SELECT (doc->>'message_id')::bigint AS message_id, (doc->>'author_id')::bigint AS author_id, (doc->>'in_response_to')::bigint AS in_response_to,
    (doc->'sender_location'->>0)::float8 AS latitude, (doc->'sender_location'->>1)::float8 AS longitude, (doc->>'send_time')::timestamp AS send_time, doc->>'message' AS message
FROM bigfun_source.messages;

CREATE TABLE chirp_users AS
SELECT DISTINCT ON (1) doc->'user'->>'screen_name' AS screen_name, doc->'user'->>'lang' AS lang, (doc->'user'->>'friends_count')::int AS friends_count,
    (doc->'user'->>'statuses_count')::int AS statuses_count, doc->'user'->>'name' AS name, (doc->'user'->>'followers_count')::int AS followers_count
FROM bigfun_source.chirps;

CREATE TABLE chirps AS
SELECT (doc->>'chirpid')::bigint AS chirpid, doc->'user'->>'screen_name' AS screen_name, (doc->'sender_location'->>0)::float8 AS latitude, (doc->'sender_location'->>1)::float8 AS longitude,
    (doc->>'send_time')::timestamp AS send_time, doc->>'message_text' AS message_text
FROM bigfun_source.chirps;

CREATE TABLE topics AS
SELECT (doc->>'chirpid')::bigint AS chirpid, topic #>> '{}' AS topic FROM bigfun_source.chirps, jsonb_array_elements(doc->'referred_topics') topic;

ALTER TABLE users ADD PRIMARY KEY (id);

-- Records are put together by these.
CREATE INDEX ON friends (user_id);

CREATE INDEX ON employments (user_id);

ALTER TABLE messages ADD PRIMARY KEY (message_id);

ALTER TABLE chirp_users ADD PRIMARY KEY (screen_name);

ALTER TABLE chirps ADD PRIMARY KEY (chirpid);

CREATE INDEX ON topics (chirpid);
