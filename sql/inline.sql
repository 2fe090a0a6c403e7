-- Inline flush: many small transactions leave few row pages, without VACUUM; whatever else goes on in the session.
SET amax.eager = off;
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.flush_threshold = 0;

-- small(table, count): so many transactions that insert a few wide rows each, and now and then change older ones.
CREATE PROCEDURE twins.small(t text, first int, last int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN first .. last LOOP
    EXECUTE format('INSERT INTO %s SELECT i, noise(i, 1500), jsonb_build_object(''i'', i) FROM generate_series(%s, %s) i', t, 3 * i, 3 * i + 2);
    IF i % 10 = 0 THEN
      EXECUTE format('UPDATE %s SET doc = doc || ''{"changed": true}'' WHERE id %% 100 = %s', t, i % 100);
      EXECUTE format('DELETE FROM %s WHERE id %% 1000 = %s', t, i % 1000);
    END IF;
    COMMIT;
  END LOOP;
END $$;
-- shape(table): whether most of its blocks are columnar, and what is damaged.
CREATE FUNCTION twins.shape(t regclass, OUT columnar bool, OUT problems bigint) LANGUAGE plpgsql AS $$
DECLARE
  live bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM %s', t) INTO live;
  SELECT coalesce(sum(rows), 0) > live * 0.5 INTO columnar FROM amax.components(t);
  SELECT count(*) INTO problems FROM amax.verify(t);
END $$;

SELECT twice($$CREATE TABLE t (id int PRIMARY KEY, s text, doc jsonb)$$) \gexec
SELECT twice($$CREATE INDEX t_doc ON t USING gin (doc)$$) \gexec
SELECT twice($$CALL small('t', 1, 400)$$) \gexec
SELECT * FROM shape('amax_side.t');
SELECT * FROM compare('SELECT * FROM t');
SET enable_seqscan = off;
SELECT * FROM compare('SELECT id, doc FROM t WHERE id BETWEEN 1 AND 2000');
SELECT * FROM compare('SELECT id FROM t WHERE doc @> ''{"changed": true}''');
RESET enable_seqscan;

-- with cursors open, held and not, and values out of line
SELECT twice($$ALTER TABLE t ALTER s SET STORAGE EXTERNAL$$) \gexec
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT id, length(s) FROM amax_side.t WHERE id < 100 ORDER BY id;
FETCH 2 FROM held;
COMMIT;
SELECT twice($$INSERT INTO t SELECT i, noise(i, 5000), '{}' FROM generate_series(5001, 5100) i$$) \gexec
SELECT twice($$CALL small('t', 2000, 2400)$$) \gexec
FETCH 2 FROM held;
CLOSE held;
DO $$
DECLARE
  r record;
  n int := 0;
BEGIN
  FOR r IN SELECT id FROM amax_side.t WHERE id BETWEEN 5001 AND 5100 ORDER BY id LOOP
    UPDATE amax_side.t SET doc = '{"looped": true}' WHERE id = r.id;
    n := n + 1;
    COMMIT;
  END LOOP;
  RAISE NOTICE '% rows', n;
END $$;
SELECT twice($$UPDATE t SET doc = '{"looped": true}' WHERE id BETWEEN 5001 AND 5100$$) \gexec
SELECT * FROM shape('amax_side.t');
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM shape('amax_side.t');
SELECT * FROM compare('SELECT * FROM t');

-- not when it is off, nor on temporary tables
SET amax.flush_inline = off;
SELECT twice($$CREATE TABLE off (LIKE t INCLUDING INDEXES)$$) \gexec
SELECT twice($$CALL small('off', 1, 300)$$) \gexec
RESET amax.flush_inline;
SELECT count(*) FROM amax.components('amax_side.off');
SELECT * FROM compare('SELECT * FROM off');
CREATE TEMP TABLE passing (id int PRIMARY KEY, s text, doc jsonb) USING amax;
CALL small('passing', 1, 300);
SELECT count(*) FROM amax.components('passing');
