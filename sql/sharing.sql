-- Columns that one session has decoded are found by others.
CREATE EXTENSION IF NOT EXISTS amax;
SET default_table_access_method = amax;
SET amax.bulk_threshold = 0;
CREATE TABLE shared (id int, doc jsonb) WITH (autovacuum_enabled = off);
INSERT INTO shared SELECT i, jsonb_build_object('n', i, 's', 'text ' || i % 10, 'o', CASE i % 2 WHEN 0 THEN to_jsonb(i) ELSE '[1, "x"]' END)
    FROM generate_series(1, 5000) i;
CREATE FUNCTION decodes(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) ' || query INTO plan;
  RETURN (jsonb_path_query_first(plan, 'lax $.**."Decoded kB"'))::bigint > 0;
END $$;
SET max_parallel_workers_per_gather = 0;
SELECT decodes($$SELECT doc->>'s', id, jsonb_typeof(doc->'o') FROM shared WHERE (doc->>'n')::int > 0$$);
SELECT decodes($$SELECT doc->>'s', id, jsonb_typeof(doc->'o') FROM shared WHERE (doc->>'n')::int > 0$$) AS again;
SELECT segments > 0 AND bytes > 0 AND columns > 0 AS there FROM amax.shared_cache();
\c -
SET max_parallel_workers_per_gather = 0;
SELECT decodes($$SELECT doc->>'s', id, jsonb_typeof(doc->'o') FROM shared WHERE (doc->>'n')::int > 0$$) AS elsewhere;
SELECT count(*), sum((doc->>'n')::int), count(DISTINCT doc->>'s'), count(jsonb_typeof(doc->'o')) FROM shared;
-- What is of no simple form is in the column it comes from.
SELECT doc->'o' FROM shared WHERE id < 5;
-- Answers to questions that are asked once each would take the place of all else.
SELECT count(*) FROM shared WHERE doc->'o' ? 'x' OR doc->'o' @> '1';
SELECT columns FROM amax.shared_cache() \gset
DO $$ BEGIN
  FOR i IN 1..20 LOOP
    EXECUTE format('SELECT count(*) FROM shared WHERE doc->%L ? %L OR NOT doc->%L @> %L', 'o', 'x' || i, 'o', to_jsonb(i));
  END LOOP;
END $$;
SELECT columns = :columns AS no_more FROM amax.shared_cache();
-- A session may do without.
\c -
SET max_parallel_workers_per_gather = 0;
SET amax.shared_cache = 0;
SELECT decodes($$SELECT doc->>'s' FROM shared$$);
SELECT * FROM amax.shared_cache();
RESET amax.shared_cache;
-- A file that is filled again in place holds something else.
BEGIN;
CREATE TABLE refilled (id int, doc jsonb) USING amax;
INSERT INTO refilled SELECT i, jsonb_build_object('n', i % 7) FROM generate_series(1, 3000) i;
SELECT sum((doc->>'n')::int) FROM refilled;
TRUNCATE refilled;
INSERT INTO refilled SELECT i, jsonb_build_object('n', i % 7 + 1) FROM generate_series(1, 3000) i;
SELECT sum((doc->>'n')::int) FROM refilled;
COMMIT;
-- Temporary tables are their session's own.
CREATE TEMP TABLE own (id int, doc jsonb) USING amax;
INSERT INTO own SELECT * FROM shared;
SELECT decodes($$SELECT doc->>'s' FROM own$$) AS decodes_its_own;
DROP TABLE shared, refilled, own;
DROP FUNCTION decodes;
