-- Merge: VACUUM makes few components of many and leaves out rows that are gone; TIDs, index entries and answers stay.
SET amax.eager = off;
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.flush_threshold = 0;
SET amax.rows_per_leaf = 300;

-- components_of(table): its components and their rows, rows that are marked dead or left out, and what is damaged.
CREATE FUNCTION twins.components_of(t regclass, OUT components bigint, OUT rows numeric, OUT problems bigint) LANGUAGE plpgsql AS $$
BEGIN
  SELECT count(*), sum(c.rows) INTO components, rows FROM amax.components(t) c;
  SELECT count(*) INTO problems FROM amax.verify(t);
END $$;

-- Each load becomes a component of its own while merging is off.
SET amax.merge_ratio = 1000;
SET amax.max_components = 1000;
SELECT twice($$CREATE TABLE t (id int PRIMARY KEY, s text, doc jsonb, n numeric)$$) \gexec
SELECT twice($$CREATE INDEX t_s ON t (s)$$) \gexec
SELECT twice($$CREATE INDEX t_doc ON t USING gin (doc)$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, 'row ' || i, jsonb_build_object('i', i, 'tag', i % 7, 'list', ARRAY[i, i + 1]), i / 3.0 FROM generate_series(1, 400) i$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, NULL, jsonb_build_array(i, 'x'), i FROM generate_series(401, 700) i$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
-- HOT updates: the chains' roots are aliases after a flush
SELECT twice($$CREATE TABLE hot (id int PRIMARY KEY, n int) WITH (fillfactor = 50)$$) \gexec
SELECT twice($$INSERT INTO hot SELECT i, 0 FROM generate_series(1, 500) i$$) \gexec
SELECT twice($$UPDATE hot SET n = 1 WHERE id % 3 = 0$$) \gexec
SELECT twice($$VACUUM hot$$) \gexec
SELECT sum(aliases) > 0 AS aliases FROM amax.leaves('amax_side.hot');
SELECT twice($$ALTER TABLE t ADD COLUMN added text DEFAULT 'default'$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, 'later', to_jsonb(i), -i, 'given' FROM generate_series(701, 1000) i$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$ALTER TABLE t DROP COLUMN n$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, 'last', '{}', 'given' FROM generate_series(1001, 1010) i$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM components_of('amax_side.t');

-- Rows change: some only locked, some updated, some deleted. Then all components become one.
BEGIN;
SELECT * FROM compare('SELECT id FROM t WHERE id BETWEEN 10 AND 20 FOR UPDATE');
COMMIT;
SELECT twice($$UPDATE t SET s = 'changed' WHERE id % 20 = 0$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 3 = 1$$) \gexec
SELECT twice($$DELETE FROM hot WHERE id % 6 < 2$$) \gexec
CREATE TABLE places AS SELECT ctid AS place, id FROM amax_side.t WHERE s IS DISTINCT FROM 'changed';
SELECT twice($$VACUUM t$$) \gexec
RESET amax.max_components;
SELECT twice($$VACUUM t$$) \gexec
SELECT components <= 5 AS few, problems FROM components_of('amax_side.t');
SET amax.merge_ratio = 0;
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM components_of('amax_side.t');
SELECT * FROM compare('SELECT * FROM t');
SELECT count(*) AS moved FROM places p LEFT JOIN amax_side.t ON t.ctid = p.place AND t.id = p.id WHERE t.id IS NULL;
SET enable_seqscan = off;
SELECT * FROM compare('SELECT * FROM t WHERE id BETWEEN 1 AND 500');
SELECT * FROM compare('SELECT id FROM t WHERE s = ''changed''');
SELECT * FROM compare('SELECT id FROM t WHERE doc @> ''{"tag": 3}''');
RESET enable_seqscan;
-- the merge's inputs are given back, the marks of what was left out go; the rows that are left can be changed
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM components_of('amax_side.t');
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$INSERT INTO t (id, s) SELECT i, 'back' FROM generate_series(1, 1000, 3) i$$) \gexec
SELECT twice($$UPDATE t SET s = 'again' WHERE id % 5 = 0$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM compare('SELECT * FROM t');

-- chains: dead rows are left out with their aliases and their index entries
SELECT twice($$VACUUM hot$$) \gexec
SELECT * FROM components_of('amax_side.hot');
SELECT sum(aliases) AS aliases FROM amax.leaves('amax_side.hot');
SELECT * FROM compare('SELECT * FROM hot');
SET enable_seqscan = off;
SELECT * FROM compare('SELECT * FROM hot WHERE id BETWEEN 1 AND 500');
RESET enable_seqscan;
SELECT twice($$INSERT INTO hot SELECT i, 2 FROM generate_series(6, 500, 6) i$$) \gexec
SELECT * FROM compare('SELECT * FROM hot');

-- A component that is mostly dead is rewritten though nothing is to be merged; one that is a little dead is not.
SET amax.merge_ratio = 1000;
SELECT twice($$CREATE TABLE alone (id int, s text)$$) \gexec
SELECT twice($$INSERT INTO alone SELECT i, repeat('x', i % 50) FROM generate_series(1, 1000) i$$) \gexec
SELECT twice($$VACUUM alone$$) \gexec
SELECT twice($$DELETE FROM alone WHERE id % 10 = 0$$) \gexec
SELECT twice($$VACUUM alone$$) \gexec
SELECT * FROM components_of('amax_side.alone');
SELECT twice($$DELETE FROM alone WHERE id % 10 < 3$$) \gexec
SELECT twice($$VACUUM alone$$) \gexec
SELECT * FROM components_of('amax_side.alone');
SELECT * FROM compare('SELECT * FROM alone');
SELECT twice($$DELETE FROM alone$$) \gexec
SELECT twice($$VACUUM alone$$) \gexec
SELECT * FROM components_of('amax_side.alone');
SELECT twice($$INSERT INTO alone VALUES (1, 'one')$$) \gexec
SELECT twice($$VACUUM alone$$) \gexec
SELECT * FROM compare('SELECT * FROM alone');

-- While rows are replaced, what they leave dead waits until it is most of a component, or until nothing has been replaced.
SELECT twice($$CREATE TABLE replaced (id int PRIMARY KEY, s text)$$) \gexec
SELECT twice($$INSERT INTO replaced SELECT i, repeat('x', i % 50) FROM generate_series(1, 900) i$$) \gexec
SELECT twice($$VACUUM replaced$$) \gexec
SELECT twice($$UPDATE replaced SET s = 'y' WHERE id % 3 = 0$$) \gexec
SELECT twice($$VACUUM replaced$$) \gexec
SELECT * FROM components_of('amax_side.replaced');
SELECT twice($$VACUUM replaced$$) \gexec
SELECT * FROM components_of('amax_side.replaced');
SELECT * FROM compare('SELECT * FROM replaced');

-- A merge writes the leaves anew that have dead rows, that are small, or that have another component's rows between their own;
-- others stay where they are.
SET amax.max_components = 1000;
SELECT twice($$CREATE TABLE kept (id int PRIMARY KEY, s text)$$) \gexec
SELECT twice($$INSERT INTO kept SELECT i, repeat('x', i % 50) FROM generate_series(1, 900) i$$) \gexec
SELECT twice($$VACUUM (TRUNCATE off) kept$$) \gexec
SELECT twice($$INSERT INTO kept SELECT i, repeat('y', i % 50) FROM generate_series(1001, 1600) i$$) \gexec
SELECT twice($$VACUUM (TRUNCATE off) kept$$) \gexec
SELECT twice($$INSERT INTO kept SELECT i, 'z' FROM generate_series(2001, 2010) i$$) \gexec
SELECT twice($$VACUUM (TRUNCATE off) kept$$) \gexec
-- A load has one transaction id for all its rows, which the leaves know when the component is merged.
SET amax.bulk_threshold = 0;
SELECT twice($$INSERT INTO kept SELECT i, repeat('l', i % 50) FROM generate_series(3001, 3600) i$$) \gexec
RESET amax.bulk_threshold;
SELECT twice($$VACUUM (TRUNCATE off) kept$$) \gexec
SELECT twice($$DELETE FROM kept WHERE id BETWEEN 310 AND 320$$) \gexec
CREATE TABLE leaves_before AS SELECT * FROM amax.leaves('amax_side.kept');
CREATE TABLE seen_before AS SELECT id, ctid AS place, xmin AS inserter FROM amax_side.kept;
SELECT rows FROM leaves_before ORDER BY component, leaf;
SET amax.merge_ratio = 0;
SELECT twice($$VACUUM (TRUNCATE off) kept$$) \gexec
SELECT * FROM components_of('amax_side.kept');
SELECT l.rows, b.first_page IS NOT NULL AS stayed FROM amax.leaves('amax_side.kept') l LEFT JOIN leaves_before b USING (first_page, first_tid, rows) ORDER BY l.leaf;
SELECT count(*) AS differ FROM seen_before s FULL JOIN amax_side.kept k ON k.ctid = s.place AND k.id = s.id AND k.xmin = s.inserter WHERE s.id IS NULL OR k.id IS NULL;
SELECT * FROM compare('SELECT * FROM kept');
-- what the merge has given up is used again, what stayed is not
SELECT twice($$INSERT INTO kept SELECT i, repeat('w', i % 50) FROM generate_series(4001, 5000) i$$) \gexec
SELECT twice($$VACUUM (TRUNCATE off) kept$$) \gexec
SELECT * FROM components_of('amax_side.kept');
SELECT * FROM compare('SELECT * FROM kept');
RESET amax.max_components;
SET amax.merge_ratio = 1000;

-- A leaf is cut where its bytes end, whatever the number of rows.
SET amax.leaf_size = 64;
SET amax.rows_per_leaf = 15000;
SET amax.merge_ratio = 0;
SELECT twice($$CREATE TABLE wide (id int, s text)$$) \gexec
SELECT twice($$INSERT INTO wide SELECT i, noise(i, 1000) FROM generate_series(1, 300) i$$) \gexec
SELECT twice($$VACUUM wide$$) \gexec
SELECT twice($$INSERT INTO wide SELECT i, noise(i, 1000) FROM generate_series(301, 600) i$$) \gexec
SELECT twice($$VACUUM wide$$) \gexec
SELECT * FROM components_of('amax_side.wide');
SELECT max(bytes) < 80000 AS bounded, count(*) > 7 AS several FROM amax.leaves('amax_side.wide');
SELECT * FROM compare('SELECT * FROM wide');

-- Options of a table come first.
SELECT amax.set_options('amax_side.wide', '{"merge_ratio": 3.5, "max_components": 2}');
SELECT * FROM amax.options('amax_side.wide') WHERE name IN ('merge_ratio', 'max_components');
SELECT amax.set_options('amax_side.wide', '{"merge_ratio": -1}');
SELECT amax.set_options('amax_side.wide', '{"max_components": 0}');
