-- Compaction: a file that is mostly free shrinks to what is in it, with two VACUUMs at most, wherever components lie.
SET amax.eager = off;
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.flush_inline = off;

-- size(table): pages of the file, but for what is kept for a full disk, for each page of components, to the nearest half.
CREATE FUNCTION twins.size(t regclass, OUT components bigint, OUT size float8) LANGUAGE sql AS $$
  SELECT count(*), (round(2 * (pg_relation_size(t) / 8192 - 80) / sum(pages)) / 2)::float8 FROM amax.components(t)
$$;

-- Rows that came to row pages: the component that they become lies behind them. Nobody else takes a transaction id.
SELECT twice($$CREATE TABLE t (id int PRIMARY KEY, doc jsonb, s text) WITH (autovacuum_enabled = off)$$) \gexec
SELECT twice($$CREATE INDEX t_doc ON t ((doc->>'n'))$$) \gexec
SELECT twice($$INSERT INTO t SELECT i, jsonb_build_object('n', i % 100, 'tags', ARRAY[i, i % 7]), repeat(md5(i::text), 8) FROM generate_series(1, 30000) i ON CONFLICT DO NOTHING$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT (size('amax_side.t')).size <= 2 AS compact;
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM size('amax_side.t');
SELECT * FROM amax.verify('amax_side.t');
SELECT * FROM compare('SELECT * FROM t');
SET enable_seqscan = off;
SELECT * FROM compare($$SELECT * FROM t WHERE doc->>'n' = '42'$$);
SELECT * FROM compare('SELECT * FROM t WHERE id BETWEEN 5000 AND 5100');
RESET enable_seqscan;

-- Rounds of changes, each with row pages of its own; then most rows go. TIDs, aliases and what is marked dead stay what they are.
SELECT twice($$UPDATE t SET doc = doc || '{"round": 1}' WHERE id % 4 = 1$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$UPDATE t SET doc = doc || '{"round": 2}' WHERE id % 4 = 2$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$UPDATE t SET s = s || '!' WHERE id % 8 = 3$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$DELETE FROM t WHERE id % 2 = 0$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT twice($$VACUUM t$$) \gexec
SELECT (size('amax_side.t')).size <= 1.5 AS compact;
SELECT * FROM amax.verify('amax_side.t');
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$INSERT INTO t SELECT i, jsonb_build_object('n', i), NULL FROM generate_series(40000, 42000) i$$) \gexec
SELECT twice($$UPDATE t SET s = NULL WHERE id % 5 = 0$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM compare('SELECT * FROM t');
SELECT * FROM amax.verify('amax_side.t');

-- A few rows behind much that is free become columnar, too, and a table is told from one that has no room to spare.
SELECT twice($$CREATE TABLE few (id int PRIMARY KEY, s text) WITH (autovacuum_enabled = off)$$) \gexec
SELECT twice($$INSERT INTO few SELECT i, repeat(md5(i::text), 8) FROM generate_series(1, 20000) i ON CONFLICT DO NOTHING$$) \gexec
SELECT twice($$VACUUM few$$) \gexec
SELECT twice($$INSERT INTO few SELECT i, repeat(md5(i::text), 8) FROM generate_series(20001, 40000) i ON CONFLICT DO NOTHING$$) \gexec
SELECT twice($$DELETE FROM few WHERE id BETWEEN 20001 AND 39100$$) \gexec
SELECT twice($$VACUUM few$$) \gexec
SELECT twice($$VACUUM few$$) \gexec
SELECT size, (SELECT sum(rows) FROM amax.components('amax_side.few')) AS columnar FROM size('amax_side.few');
SELECT twice($$INSERT INTO few SELECT i, repeat(md5(i::text), 8) FROM generate_series(40001, 40100) i$$) \gexec
SELECT twice($$VACUUM few$$) \gexec
SELECT sum(rows) AS columnar FROM amax.components('amax_side.few');
SELECT * FROM compare('SELECT * FROM few');
SELECT * FROM amax.verify('amax_side.few');

-- What a VACUUM has flushed itself gives its pages back at once where nobody is reading.
CREATE TABLE batches (id int PRIMARY KEY, s text) USING amax WITH (autovacuum_enabled = off);
CREATE PROCEDURE load_batches() LANGUAGE plpgsql AS $$BEGIN
    FOR n IN 0..199 LOOP
        INSERT INTO batches SELECT i, md5(i::text) || md5((-i)::text) FROM generate_series(n * 500 + 1, n * 500 + 500) i ON CONFLICT DO NOTHING;
        COMMIT;
    END LOOP;
END$$;
CALL load_batches();
VACUUM batches;
SELECT pg_relation_size('batches') / 8192 <= 1.3 * sum(pages) AS compact, sum(rows) AS columnar FROM amax.components('batches');
SELECT count(*), sum(length(s)) FROM batches WHERE s = md5(id::text) || md5((-id)::text);
SELECT * FROM amax.verify('batches');
DROP TABLE batches;
