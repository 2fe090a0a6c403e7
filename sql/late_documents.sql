-- Joins with ORDER BY … LIMIT hand up where documents are; those of the rows that remain are read by that.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.rows_per_leaf = 500;
SELECT twice($$CREATE TABLE e (id int, doc jsonb, other jsonb)$$) \gexec
SELECT twice($$INSERT INTO e SELECT i, jsonb_build_object('n', i, 'u', i % 40, 't', CASE WHEN i % 7 = 0 THEN repeat('long ', 900) ELSE 'short' END),
    CASE WHEN i % 3 = 0 THEN jsonb_build_array(i) END FROM generate_series(1, 3000) i$$) \gexec
SELECT twice($$CREATE TABLE u (id int PRIMARY KEY, name text, doc jsonb)$$) \gexec
SELECT twice($$INSERT INTO u SELECT i, 'u' || i, jsonb_build_object('name', 'u' || i) FROM generate_series(1, 30) i$$) \gexec
SELECT twice($$VACUUM (FREEZE, ANALYZE) e, u$$) \gexec
SELECT twice($$UPDATE e SET doc = doc || '{"changed": true}' WHERE id % 11 = 0$$) \gexec
SELECT twice($$DELETE FROM e WHERE id % 13 = 0$$) \gexec
SELECT twice($$INSERT INTO e SELECT i, jsonb_build_object('n', i, 'u', i % 40), '"new"' FROM generate_series(3001, 3100) i$$) \gexec
SET max_parallel_workers_per_gather = 0;
EXPLAIN (VERBOSE, COSTS OFF) SELECT e.doc, u.name FROM e JOIN u ON u.id = (e.doc->>'u')::int ORDER BY (e.doc->>'n')::int DESC LIMIT 5;
CREATE FUNCTION is_late(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE line text; found bigint := 0;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
    found := greatest(found, (SELECT count(*) FROM regexp_matches(line, 'late_document', 'g')));
  END LOOP;
  RETURN found;
END $$;
-- From leaves and row pages, of both sides, several of a row, NULL.
SELECT * FROM compare($$SELECT e.doc, u.name FROM e JOIN u ON u.id = (e.doc->>'u')::int ORDER BY (e.doc->>'n')::int DESC, e.id LIMIT 20$$);
SELECT * FROM compare($$SELECT e.*, u.* FROM e JOIN u ON u.id = (e.doc->>'u')::int ORDER BY (e.doc->>'n')::int, e.id LIMIT 20 OFFSET 7$$);
SELECT is_late($$SELECT e.*, u.* FROM e JOIN u ON u.id = (e.doc->>'u')::int ORDER BY (e.doc->>'n')::int, e.id LIMIT 20 OFFSET 7$$);
-- Outer joins.
SELECT * FROM compare($$SELECT u.doc, e.doc FROM e LEFT JOIN u ON u.id = (e.doc->>'u')::int ORDER BY e.id DESC LIMIT 25$$);
SELECT * FROM compare($$SELECT u.doc, e.doc FROM u FULL JOIN (SELECT * FROM e WHERE id < 20) e ON u.id = e.id ORDER BY u.id, e.id LIMIT 35$$);
SELECT * FROM compare($$SELECT e.doc, x.doc FROM u LEFT JOIN e ON e.id = u.id AND e.doc->>'t' = 'short' LEFT JOIN e x ON x.id = e.id + 1 ORDER BY u.id LIMIT 30$$);
-- Views, CTEs, subqueries, window functions, a sort that an index serves.
SELECT twice($$CREATE VIEW both_sides AS SELECT e.id, e.doc, u.name FROM e JOIN u ON u.id = (e.doc->>'u')::int$$) \gexec
SELECT * FROM compare($$SELECT * FROM both_sides ORDER BY id LIMIT 9$$);
SELECT * FROM compare($$WITH c AS MATERIALIZED (SELECT * FROM both_sides ORDER BY id DESC LIMIT 9) SELECT count(*), sum((doc->>'n')::int) FROM c$$);
SELECT * FROM compare($$SELECT g, l.* FROM generate_series(1, 3) g, LATERAL (SELECT e.doc, u.doc AS d FROM e JOIN u ON u.id = e.id WHERE e.id > g ORDER BY e.id LIMIT 2) l$$);
SELECT * FROM compare($$SELECT e.doc, row_number() OVER (ORDER BY e.id) FROM e JOIN u ON u.id = (e.doc->>'u')::int ORDER BY 2 DESC LIMIT 6$$);
SELECT * FROM compare($$SELECT e.doc FROM u JOIN e ON u.id = (e.doc->>'u')::int ORDER BY u.id, e.id LIMIT 6$$);
SELECT is_late($$SELECT e.doc FROM u JOIN e ON u.id = (e.doc->>'u')::int ORDER BY u.id, e.id LIMIT 6$$);
-- In workers.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT * FROM compare($$SELECT e.doc, u.name FROM e JOIN u ON u.id = (e.doc->>'u')::int ORDER BY (e.doc->>'n')::int DESC, e.id LIMIT 20$$);
RESET max_parallel_workers_per_gather;
-- Where the document is looked at, where rows are locked, where all may be wanted, where the setting says so: as it is.
SELECT is_late($$SELECT e.doc, e.doc || '{}' FROM e JOIN u ON u.id = e.id ORDER BY e.id LIMIT 5$$);
SELECT is_late($$SELECT e.doc FROM e JOIN u ON u.id = e.id ORDER BY e.doc LIMIT 5$$);
SELECT is_late($$SELECT e.doc FROM e JOIN u ON u.id = e.id ORDER BY e.id LIMIT 5 FOR UPDATE$$);
SELECT is_late($$SELECT DISTINCT e.doc, e.id FROM e JOIN u ON u.id = e.id ORDER BY e.id LIMIT 5$$);
SELECT is_late($$SELECT e.doc FROM e JOIN u ON u.id = e.id ORDER BY e.id$$);
SELECT is_late($$SELECT e.doc FROM e JOIN u ON u.id = e.id LIMIT 5$$);
SELECT is_late($$SELECT e.doc FROM e JOIN u ON u.id = e.id ORDER BY e.id LIMIT 200$$);
SELECT is_late($$SELECT e.doc FROM e ORDER BY e.id LIMIT 5$$);
SET amax.materialization = ultra_late;
SELECT is_late($$SELECT e.doc FROM e JOIN u ON u.id = e.id ORDER BY e.id LIMIT 200$$);
SELECT is_late($$SELECT e.doc FROM e JOIN u ON u.id = e.id ORDER BY e.id LIMIT 1001$$);
SET amax.materialization = late;
SELECT is_late($$SELECT e.doc FROM e JOIN u ON u.id = e.id ORDER BY e.id LIMIT 5$$);
RESET amax.materialization;
-- A row that was found is read as it was, whatever the cursor's own transaction does meanwhile.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT e.id, e.doc->>'n' AS n, e.doc FROM e JOIN u ON u.id = e.id ORDER BY e.id LIMIT 4;
FETCH 1 FROM c;
UPDATE e SET doc = '{"n": "later"}' WHERE id < 4;
DELETE FROM e WHERE id >= 4;
FETCH ALL FROM c;
FETCH ABSOLUTE 1 FROM c;
ROLLBACK;
-- Who may not read the document cannot read it so; the function is no way around.
CREATE ROLE late_reader;
GRANT USAGE ON SCHEMA amax_side TO late_reader;
GRANT SELECT (id) ON e TO late_reader;
GRANT SELECT ON u TO late_reader;
SET ROLE late_reader;
SELECT amax.late_document('amax_side.e', 2, '(0,1)');
SELECT amax.late_document('amax_side.e', 2, ctid) FROM amax_side.u e LIMIT 1;
SELECT e.doc FROM amax_side.e JOIN amax_side.u ON u.id = e.id ORDER BY e.id LIMIT 5;
RESET ROLE;
-- Who may call nothing of amax reads documents all the same, late or not.
GRANT SELECT ON e TO late_reader;
REVOKE USAGE ON SCHEMA amax FROM PUBLIC;
SET ROLE late_reader;
SELECT e.doc FROM amax_side.e JOIN amax_side.u ON u.id = e.id ORDER BY e.id LIMIT 1;
SELECT is_late($$SELECT e.doc FROM amax_side.e JOIN amax_side.u ON u.id = e.id ORDER BY e.id LIMIT 1$$);
RESET ROLE;
REVOKE EXECUTE ON FUNCTION amax.late_document FROM PUBLIC;
SET ROLE late_reader;
SELECT e.doc FROM amax_side.e JOIN amax_side.u ON u.id = e.id ORDER BY e.id LIMIT 1;
SELECT is_late($$SELECT e.doc FROM amax_side.e JOIN amax_side.u ON u.id = e.id ORDER BY e.id LIMIT 1$$);
RESET ROLE;
GRANT EXECUTE ON FUNCTION amax.late_document TO PUBLIC;
GRANT USAGE ON SCHEMA amax TO PUBLIC;
REVOKE ALL ON e, u FROM late_reader;
REVOKE ALL ON SCHEMA amax_side FROM late_reader;
DROP ROLE late_reader;
