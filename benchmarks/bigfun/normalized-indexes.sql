CREATE INDEX ON users (user_since);

CREATE INDEX ON messages (author_id);

CREATE INDEX ON chirps (send_time);

CREATE INDEX ON chirps USING gist (point(latitude, longitude));

CREATE INDEX ON chirps USING gin (to_tsvector('simple', message_text));

-- pg_trgm
CREATE INDEX ON chirps USING gin (message_text gin_trgm_ops);
