-- Every statement runs twice: in schema heap_side on heap and in schema amax_side on amax. What a query answers on one side
-- must be what it answers on the other; the expected output says so without holding the answers themselves.
\set ECHO none
SET client_min_messages = warning;
CREATE SCHEMA IF NOT EXISTS twins;
GRANT USAGE ON SCHEMA twins TO PUBLIC;
DROP SCHEMA IF EXISTS heap_side CASCADE;
DROP SCHEMA IF EXISTS amax_side CASCADE;
CREATE SCHEMA heap_side;
CREATE SCHEMA amax_side;

-- twice(statement): what to run, for \gexec. Unlike EXECUTE in a function this serves VACUUM, COMMIT and the like.
CREATE OR REPLACE FUNCTION twins.twice(statement text) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT line
  FROM (VALUES (1, 'heap'), (2, 'amax')) AS side(number, am),
       LATERAL (VALUES (1, format('SET search_path = %s_side, public, twins', am)),
                       (2, format('SET default_table_access_method = %s', am)),
                       (3, statement)) AS lines(step, line)
  ORDER BY number, step
$$;

-- compare(query): how many rows the query gives on heap, and whether amax gives the same ones as often (EXCEPT ALL both ways).
-- Rows are compared as text: 1.0 and 1.00 are not the same.
CREATE OR REPLACE FUNCTION twins.compare(query text, OUT rows bigint, OUT missing bigint, OUT extra bigint)
LANGUAGE plpgsql AS $$
DECLARE
  path text := current_setting('search_path');
  expected text[];
  actual text[];
BEGIN
  PERFORM set_config('search_path', 'heap_side, public, twins', false);
  EXECUTE format('SELECT coalesce(array_agg(answer::text), ''{}'') FROM (%s) AS answer', query) INTO expected;
  PERFORM set_config('search_path', 'amax_side, public, twins', false);
  EXECUTE format('SELECT coalesce(array_agg(answer::text), ''{}'') FROM (%s) AS answer', query) INTO actual;
  PERFORM set_config('search_path', path, false);
  rows := cardinality(expected);
  SELECT count(*) INTO missing FROM (SELECT unnest(expected) EXCEPT ALL SELECT unnest(actual)) AS d;
  SELECT count(*) INTO extra FROM (SELECT unnest(actual) EXCEPT ALL SELECT unnest(expected)) AS d;
END $$;

-- raised(query): what the query raises on heap and on amax.
CREATE OR REPLACE FUNCTION twins.raised(query text, OUT heap text, OUT amax text) LANGUAGE plpgsql AS $$
DECLARE
  path text := current_setting('search_path');
  side text;
  found text;
BEGIN
  FOREACH side IN ARRAY '{heap,amax}'::text[] LOOP
    PERFORM set_config('search_path', side || '_side, public, twins', false);
    found := 'nothing';
    BEGIN
      EXECUTE format('SELECT count(answer::text) FROM (%s) AS answer', query);
    EXCEPTION WHEN OTHERS THEN
      found := SQLERRM;
    END;
    heap := coalesce(heap, found);
    amax := found;
  END LOOP;
  PERFORM set_config('search_path', path, false);
END $$;

-- expected(query): rows that the planner expects of it.
CREATE OR REPLACE FUNCTION twins.expected(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  RETURN (plan->0->'Plan'->>'Plan Rows')::numeric;
END $$;

-- is_known(query, most): whether the planner expects as many rows of it as there are, or at most so many times more or fewer.
CREATE OR REPLACE FUNCTION twins.is_known(query text, most numeric) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  rows numeric;
  factor numeric;
BEGIN
  EXECUTE 'SELECT count(*) FROM (' || query || ') q' INTO rows;
  factor := greatest(expected(query), 1) / greatest(rows, 1);
  RETURN CASE WHEN greatest(factor, 1 / factor) <= most THEN 'known' ELSE format('%s expected, %s rows', expected(query), rows) END;
END $$;

-- noise(seed, bytes): text that does not compress, for TOAST.
CREATE OR REPLACE FUNCTION twins.noise(seed int, bytes int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT left(string_agg(md5(seed::text || '/' || i::text), '' ORDER BY i), bytes) FROM generate_series(1, bytes / 32 + 1) AS i
$$;

SET search_path = amax_side, public, twins;
RESET client_min_messages;
\set ECHO all
