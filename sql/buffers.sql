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

-- A scan by an index does not look up the metapage and the maps for each row, be it columnar or on a row page.
RESET ALL;
CREATE FUNCTION hits(query text, OUT hits int) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
    hits := plan->0->'Plan'->>'Shared Hit Blocks';
END $$;
CREATE TABLE looked_up (id int, n int) USING amax;
INSERT INTO looked_up SELECT i, -i FROM generate_series(1, 20000) i;
CREATE INDEX ON looked_up (id);
VACUUM looked_up;
CREATE TABLE in_row_pages (LIKE looked_up INCLUDING INDEXES) USING amax;
SET amax.bulk_threshold = 10000;
INSERT INTO in_row_pages SELECT i, -i FROM generate_series(1, 2000) i;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
-- An eager statement loads them, and rows of a load whose transaction is recent are judged with the metapage.
SELECT hits('SELECT sum(n) FROM looked_up WHERE id <= 2000') < 500 AS columnar,
    hits('SELECT sum(n) FROM in_row_pages WHERE id > 0') < 500 OR current_setting('amax.eager')::bool AS "in row pages";
-- In scans of one row each it does once.
SELECT hits('SELECT (SELECT n FROM looked_up WHERE id = i ORDER BY id LIMIT 1) FROM generate_series(1, 2000) i') < 6000 AS rescans;
DROP TABLE looked_up, in_row_pages;
DROP FUNCTION hits;
