-- What users may not do or see, they may not do or see here.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include

SELECT twice($$CREATE TABLE t (id int, owner text, d jsonb)$$) \gexec
SET amax.rows_per_leaf = 500;
SELECT twice($$INSERT INTO t SELECT i, 'privileges_' || i % 2, jsonb_build_object('secret', 's' || i) FROM generate_series(1, 3000) i$$) \gexec
SELECT twice($$VACUUM ANALYZE t$$) \gexec
CREATE ROLE privileges_1;
GRANT USAGE ON SCHEMA heap_side, amax_side, twins TO privileges_1;
GRANT SELECT ON ALL TABLES IN SCHEMA heap_side, amax_side TO privileges_1;

-- a function that tells what it sees gets no rows that a policy hides
SELECT twice($$ALTER TABLE t ENABLE ROW LEVEL SECURITY$$) \gexec
SELECT twice($$CREATE POLICY own ON t USING (owner = current_user)$$) \gexec
CREATE FUNCTION twins.tell(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE COST 0.0000001 AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = 'told ' || $1, ERRCODE = 'TOLD1';
END $$;
SET ROLE privileges_1;
SELECT * FROM compare('SELECT count(*), sum(id) FROM t');
SELECT twice($$SELECT count(*) FROM t WHERE twins.tell(d->>'secret')$$) \gexec
SELECT twice($$SELECT count(*) FROM t WHERE id % 2 = 0 AND twins.tell(d->>'secret')$$) \gexec
SELECT * FROM compare('SELECT count(*) FROM t WHERE 1 / (id - 6) >= 0');
SELECT * FROM compare('SELECT sum(1 / (id - 6)) FROM t');
-- nor do the values in columns
SELECT min, max FROM amax.columns('amax_side.t');
SET row_security = off;
SELECT min, max FROM amax.columns('amax_side.t');
RESET row_security;
-- nor does EXPLAIN tell what the filters of such a user meet, but how many rows they remove of all there are
RESET ROLE;
CREATE FUNCTION twins.told(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  told text := '';
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off) ' || query LOOP
    -- But for the condition itself.
    IF line !~ '^ *Filter: ' THEN told := told || line || chr(10); END IF;
  END LOOP;
  RETURN told;
END $$;
-- The pages that a query reads.
CREATE FUNCTION twins.pages(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
  RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
CREATE TABLE paid (owner text, salary int, more text) USING amax WITH (autovacuum_enabled = off);
SET amax.bulk_threshold = 0;
INSERT INTO paid SELECT 'privileges_' || i % 2, i * 7, md5(i::text) FROM generate_series(1, 10000) i;
RESET amax.bulk_threshold;
VACUUM ANALYZE paid;
ALTER TABLE paid ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON paid USING (owner = current_user);
GRANT SELECT ON paid TO privileges_1;
SET amax.decode_cache = 0;
SET amax.shared_cache = 0;
SET ROLE privileges_1;
SELECT pages('SELECT count(*) FROM amax_side.paid WHERE salary > 0') > 0 AS reads;
SELECT count(DISTINCT pages(format('SELECT count(*) FROM amax_side.paid WHERE salary > %s', i))) FROM generate_series(0, 80000, 2000) i;
RESET ROLE;
SELECT count(DISTINCT pages(format('SELECT count(*) FROM amax_side.paid WHERE salary > %s', i))) > 5 AS skips FROM generate_series(0, 80000, 2000) i;
RESET amax.decode_cache;
RESET amax.shared_cache;
DROP TABLE paid;
SET ROLE privileges_1;
SELECT told('SELECT id FROM amax_side.t WHERE id > 2999') = told('SELECT id FROM amax_side.t WHERE id > 3999') AS same;
SELECT told('SELECT id FROM amax_side.t WHERE id = 2') = told('SELECT id FROM amax_side.t WHERE id = 4000') AS same;
SELECT told('SELECT sum(id) FROM amax_side.t WHERE id = 2') = told('SELECT sum(id) FROM amax_side.t WHERE id = 4000') AS same;
RESET ROLE;
CREATE VIEW twins.barrier WITH (security_barrier) AS SELECT id FROM amax_side.t WHERE owner = 'privileges_1';
GRANT SELECT ON twins.barrier TO privileges_1;
REVOKE SELECT ON amax_side.t FROM privileges_1;
SET ROLE privileges_1;
SELECT told('SELECT id FROM barrier WHERE id = 2') = told('SELECT id FROM barrier WHERE id = 4000') AS same;
RESET ROLE;
-- who may read all rows is told
SELECT told('SELECT id FROM amax_side.t WHERE id = 2') ~ 'Leaves Skipped' AS told;
DROP VIEW twins.barrier;
DROP FUNCTION twins.told(text), twins.pages(text);
GRANT SELECT ON amax_side.t TO privileges_1;
SELECT count(*) > 0 FROM amax.columns('amax_side.t');
SELECT twice($$ALTER TABLE t DISABLE ROW LEVEL SECURITY$$) \gexec

-- functions and aggregates that nobody may call
BEGIN;
REVOKE EXECUTE ON FUNCTION sum(int), int4lt(int, int), jsonb_array_elements(jsonb) FROM PUBLIC;
SAVEPOINT revoked;
SET ROLE privileges_1;
SELECT sum(id) FROM amax_side.t;
ROLLBACK TO revoked;
SET ROLE privileges_1;
SELECT owner, sum(id) FROM amax_side.t GROUP BY 1;
ROLLBACK TO revoked;
SET ROLE privileges_1;
SELECT count(*) FROM amax_side.t WHERE id < 5;
ROLLBACK TO revoked;
SET ROLE privileges_1;
SELECT count(*) FROM amax_side.t, jsonb_array_elements(d->'a');
ROLLBACK;

-- looking inside
REVOKE SELECT ON amax_side.t FROM privileges_1;
GRANT SELECT (id) ON amax_side.t TO privileges_1;
SET ROLE privileges_1;
SELECT count(*) FROM amax.components('amax_side.t');
SELECT count(*) FROM amax.columns('amax_side.t');
SELECT amax.verify('amax_side.t');
SELECT amax.set_options('amax_side.t', '{"path_cap": 5}');
RESET ROLE;
DROP OWNED BY privileges_1;
DROP ROLE privileges_1;
