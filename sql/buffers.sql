-- Rows are looked up in buffers that other pages have come to since.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amax;
RESET client_min_messages;

-- The least there can be; it holds until the session ends.
SET temp_buffers = 100;
CREATE TEMP TABLE evicted (id int, doc jsonb) USING amax;
INSERT INTO evicted SELECT i, jsonb_build_object('a', md5(i::text), 'b', md5((-i)::text) || md5((i + 1)::text), 'c', i, 'd', 'text ' || i)
FROM generate_series(1, 30000) i;
VACUUM evicted;
CREATE INDEX ON evicted (id);
SELECT sum(rows) >= 29000 AS columnar, sum(pages) > 150 AS "more than buffers" FROM amax.components('evicted');

SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*), count(*) FILTER (WHERE doc = jsonb_build_object('a', md5(id::text), 'b', md5((-id)::text) || md5((id + 1)::text), 'c', id, 'd', 'text ' || id))
FROM (SELECT id, (SELECT doc FROM evicted e WHERE e.id = n.id) AS doc
      FROM (SELECT i * 7919 % 30000 + 1 AS id FROM generate_series(1, 3000) i) n OFFSET 0) s;
