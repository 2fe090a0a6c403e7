-- amax.stats: what the planner is told of paths, as pg_stats shows what it is told of columns.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET search_path = amax_side, public, twins;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE t (id int, doc jsonb, "other Doc" jsonb) USING amax WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, jsonb_build_object('n', i, 'few', 'value ' || floor(log(2.0, i % 15 + 1)), 'flag', i % 4 = 0, 'none', null, 'tags', jsonb_build_array(1 + (i % 3 > 0)::int),
    'odd', CASE i % 2 WHEN 0 THEN to_jsonb(i) ELSE '"text"' END, 'in', jsonb_build_object('it''s', 'x', 'b"\c', CASE WHEN i % 3 > 0 THEN 1.5 END)), to_jsonb(i)
  FROM generate_series(1, 20000) i;
VACUUM t;

-- A row per expression over a path that has columns; as text, and as numbers or booleans where all are. Arrays as such.
SELECT attname, path, round(null_frac::numeric, 1) AS null_frac, avg_width, round(n_distinct::numeric, 2) AS n_distinct,
    most_common_vals, correlation > 0.99 AS in_order
  FROM amax.stats WHERE tablename = 't' AND path !~ 'odd' ORDER BY attname, path COLLATE "C";
SELECT path, n_distinct BETWEEN -0.6 AND -0.2 AS different, most_common_vals FROM amax.stats WHERE tablename = 't' AND path ~ 'odd';
SELECT cardinality(histogram_bounds::numeric[]) AS bounds, (histogram_bounds::numeric[])[51] BETWEEN 9000 AND 11000 AS middle,
    most_common_freqs IS NULL AS none_common FROM amax.stats WHERE tablename = 't' AND path = '(doc ->> ''n'')::numeric';
SELECT pg_typeof(schemaname), pg_typeof(null_frac), pg_typeof(most_common_vals), pg_typeof(most_common_freqs), pg_typeof(correlation) FROM amax.stats LIMIT 1;

-- They are what ANALYZE makes of expressions that somebody declares, within what samples differ by.
CREATE TABLE declared (doc jsonb) USING heap WITH (autovacuum_enabled = off);
INSERT INTO declared SELECT doc FROM t ORDER BY id;
SELECT format('CREATE STATISTICS %s_%s ON (%s) FROM declared', 'declared', row_number() OVER (), path) FROM amax.stats WHERE tablename = 't' \gexec
ANALYZE declared;
SELECT s.path, abs(d.null_frac - s.null_frac) < 0.02 AS nulls, abs(d.avg_width - s.avg_width) <= 1 AS width, d.n_distinct = s.n_distinct OR d.n_distinct / s.n_distinct BETWEEN 0.5 AND 2 AS different,
    (d.most_common_vals::text::text[])[1] IS NOT DISTINCT FROM (s.most_common_vals::text[])[1] AS vals,
    coalesce(abs(d.most_common_freqs[1] - s.most_common_freqs[1]) < 0.06, true) AS freqs,
    cardinality(d.histogram_bounds::text::text[]) IS NOT DISTINCT FROM cardinality(s.histogram_bounds::text[]) AS bounds
  FROM amax.stats s JOIN (SELECT *, translate(replace(expr, '::text', ''), '( )', '') AS squeezed FROM pg_stats_ext_exprs) d
    ON d.squeezed = translate(s.path, '( )', '')
  WHERE d.tablename = 'declared' AND s.tablename = 't' AND s.schemaname = 'amax_side' ORDER BY s.path COLLATE "C";

-- They are the planner's own.
CREATE FUNCTION is_known(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
  rows numeric;
BEGIN
  EXECUTE 'SELECT count(*) FROM (' || query || ') q' INTO rows;
  RETURN expected(query) BETWEEN 0.8 * rows AND 1.25 * rows;
END $$;
CREATE FUNCTION shown(which text) RETURNS SETOF amax.stats LANGUAGE sql AS $$
  SELECT * FROM amax.stats WHERE schemaname = 'amax_side' AND tablename = which ORDER BY attname COLLATE "C", path COLLATE "C"
$$;
SELECT vals.value, abs(expected(format('SELECT * FROM t WHERE %s = %L', path, vals.value)) - freqs.value * (SELECT reltuples FROM pg_class WHERE oid = 't'::regclass)) <= 1 AS same
  FROM amax.stats, unnest(most_common_vals::text[]) WITH ORDINALITY AS vals(value, n), unnest(most_common_freqs) WITH ORDINALITY AS freqs(value, n)
  WHERE schemaname = 'amax_side' AND tablename = 't' AND path = 'doc ->> ''few''' AND vals.n = freqs.n ORDER BY 1;

-- As many paths as the column's statistics have values, those that more documents have first.
CREATE TABLE many (doc jsonb) USING amax WITH (autovacuum_enabled = off);
INSERT INTO many SELECT jsonb_object_agg('k' || k, 'x') FROM generate_series(1, 2000) i, generate_series(1, 150) k WHERE i % k < 30 OR k < 3 GROUP BY i;
VACUUM many;
SELECT count(*) FROM shown('many');
ALTER TABLE many ALTER doc SET STATISTICS 2;
SELECT path FROM shown('many');
ALTER TABLE many ALTER doc SET STATISTICS 0;
SELECT count(*) FROM shown('many');

-- Names, types and columns that change. What is in row pages is not seen.
CREATE FUNCTION paths(which text) RETURNS text LANGUAGE sql AS $$ SELECT string_agg(attname || ': ' || path || ' ' || n_distinct, ', ') FROM shown(which) $$;
CREATE TABLE changing (a int, d jsonb, e jsonb) USING amax WITH (autovacuum_enabled = off);
SELECT paths('changing');
INSERT INTO changing SELECT i, jsonb_build_object('k', i % 3), jsonb_build_object('l', i % 5 || ' times') FROM generate_series(1, 3000) i;
VACUUM changing;
SELECT paths('changing'), is_known($$SELECT * FROM changing WHERE d->>'k' = '1'$$), is_known($$SELECT * FROM changing WHERE (d->>'k')::int < 2$$);
ALTER TABLE changing RENAME d TO "new d";
ALTER TABLE changing RENAME TO changed;
SELECT paths('changing'), paths('changed'), is_known($$SELECT * FROM changed WHERE "new d"->>'k' = '1'$$);
ALTER TABLE changed ALTER a TYPE jsonb USING jsonb_build_object('a', a % 2);
SELECT paths('changed'), is_known($$SELECT * FROM changed WHERE a->>'a' = '1'$$);
ALTER TABLE changed ALTER e TYPE text USING e->>'l';
SELECT paths('changed'), is_known($$SELECT * FROM changed WHERE "new d"->>'k' = '1'$$);
ALTER TABLE changed DROP "new d";
SELECT paths('changed'), is_known($$SELECT * FROM changed WHERE a->>'a' = '1'$$);
ALTER TABLE changed ADD f jsonb DEFAULT '{"f": 1}';
SELECT paths('changed'), expected($$SELECT * FROM changed WHERE f->>'f' = '1'$$) > 0 AS plans;
ALTER TABLE changed ALTER a TYPE jsonb USING a || '{"b": true}';
SELECT paths('changed');
TRUNCATE changed;
SELECT paths('changed'), expected($$SELECT * FROM changed WHERE a->>'a' = '1'$$) > 0 AS plans;
ALTER TABLE changed SET ACCESS METHOD heap;
SELECT paths('changed');

-- Partitions and children have their own.
CREATE TABLE parts (id int, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (5000) USING amax;
CREATE TABLE part2 (doc jsonb, id int) USING amax;
ALTER TABLE parts ATTACH PARTITION part2 FOR VALUES FROM (5000) TO (10000);
INSERT INTO parts SELECT i, jsonb_build_object('few', CASE WHEN i < 5000 THEN i % 2 ELSE 7 END) FROM generate_series(0, 9999) i;
VACUUM parts;
SELECT paths('parts'), paths('part1'), paths('part2');
SELECT is_known($$SELECT * FROM parts WHERE (doc->>'few')::int = 7$$);
CREATE TABLE parent (doc jsonb) USING amax;
CREATE TABLE child (more jsonb) INHERITS (parent) USING amax;
INSERT INTO parent SELECT '{"p": 1}' FROM generate_series(1, 2000);
INSERT INTO child SELECT '{"c": 1}', '{"m": 2}' FROM generate_series(1, 2000);
VACUUM parent, child;
SELECT paths('parent'), paths('child');
SELECT is_known($$SELECT * FROM parent WHERE doc->>'c' = '1'$$), is_known($$SELECT * FROM parent WHERE doc->>'p' = '1'$$);

-- Materialized views too.
CREATE MATERIALIZED VIEW made USING amax AS SELECT jsonb_build_object('m', i % 4) AS doc FROM generate_series(1, 2000) i;
SELECT paths('made');

-- Who may read a column sees its statistics, and nobody where rows may be hidden.
CREATE ROLE stats_reader;
GRANT USAGE ON SCHEMA amax_side TO stats_reader;
SET ROLE stats_reader;
SELECT count(*) FROM amax.stats WHERE schemaname = 'amax_side';
SELECT count(*) FROM amax.path_statistics('amax_side.t', 2::smallint);
RESET ROLE;
GRANT SELECT (id, doc) ON t TO stats_reader;
GRANT SELECT ON part1, parts TO stats_reader;
SET ROLE stats_reader;
SELECT tablename, attname, count(*) FROM amax.stats WHERE schemaname = 'amax_side' GROUP BY 1, 2 ORDER BY tablename COLLATE "C", attname COLLATE "C";
SELECT count(*) > 0 AS shown FROM amax.path_statistics('amax_side.t', 2::smallint);
SELECT count(*) FROM amax.path_statistics('amax_side.t', 3::smallint);
RESET ROLE;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON t USING (id < 10);
SELECT count(*) > 0 AS owner_sees FROM shown('t');
SET ROLE stats_reader;
SELECT count(*) FROM amax.stats WHERE schemaname = 'amax_side' AND tablename = 't';
SELECT count(*) FROM amax.path_statistics('amax_side.t', 2::smallint);
SET row_security = off;
SELECT count(*) FROM amax.stats WHERE schemaname = 'amax_side' AND tablename = 't';
SELECT count(*) FROM amax.path_statistics('amax_side.t', 2::smallint);
RESET row_security;
RESET ROLE;
ALTER ROLE stats_reader BYPASSRLS;
SET ROLE stats_reader;
SELECT count(*) > 0 AS sees FROM amax.stats WHERE schemaname = 'amax_side' AND tablename = 't';
RESET ROLE;
-- a condition that tells what it sees is asked of nothing else
CREATE FUNCTION tells(text) RETURNS bool COST 0.0001 LANGUAGE plpgsql AS $$BEGIN RAISE NOTICE 'told %', $1; RETURN true; END$$;
GRANT USAGE ON SCHEMA twins TO stats_reader;
ALTER ROLE stats_reader NOBYPASSRLS;
REVOKE SELECT ON parts FROM stats_reader;
SET client_min_messages = notice;
SET ROLE stats_reader;
SELECT count(*) FROM amax.stats WHERE tells(tablename || ': ' || coalesce(most_common_vals, '')) AND schemaname = 'amax_side';
RESET ROLE;
SET client_min_messages = warning;
DROP OWNED BY stats_reader;
DROP ROLE stats_reader;

-- Other columns and tables have none to show.
SELECT count(*) FROM amax.path_statistics('t', 1::smallint);
SELECT count(*) FROM amax.path_statistics('t', 0::smallint);
SELECT count(*) FROM amax.path_statistics('t', 99::smallint);
SELECT count(*) FROM amax.path_statistics('declared', 1::smallint);
