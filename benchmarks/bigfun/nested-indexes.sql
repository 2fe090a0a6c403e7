-- Times as text are in the order of time.
CREATE INDEX ON users ((doc->>'user_since'));

CREATE INDEX ON messages (((doc->>'author_id')::bigint));

CREATE INDEX ON chirps ((doc->>'send_time'));

CREATE INDEX ON chirps USING gist (point((doc->'sender_location'->>0)::float8, (doc->'sender_location'->>1)::float8));

CREATE INDEX ON chirps USING gin (to_tsvector('simple', doc->>'message_text'));

-- pg_trgm
CREATE INDEX ON chirps USING gin ((doc->>'message_text') gin_trgm_ops);
