-- A table for each kind of document, made of bigfun_source's, with a key each.
CREATE TABLE users AS SELECT doc FROM bigfun_source.users;

CREATE TABLE messages AS SELECT doc FROM bigfun_source.messages;

CREATE TABLE chirps AS SELECT doc FROM bigfun_source.chirps;

CREATE UNIQUE INDEX ON users (((doc->>'id')::bigint));

CREATE UNIQUE INDEX ON messages (((doc->>'message_id')::bigint));

CREATE UNIQUE INDEX ON chirps (((doc->>'chirpid')::bigint));
