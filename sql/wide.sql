-- Rows that are too wide: what a heap page cannot hold is refused when it comes, also by loads in bulk; rows of many bytes stay in row pages.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
SET amax.eager = off;
SET amax.bulk_threshold = 10;
-- what('t'): how many of a table's rows are columnar.
CREATE FUNCTION what(t regclass) RETURNS text LANGUAGE sql AS $$
  SELECT CASE WHEN a.amname = 'heap' THEN 'heap' ELSE (SELECT coalesce(sum(rows), 0) FROM amax.components(t)) || ' columnar rows' END
  FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE c.oid = t
$$;

-- 1,200 columns without a form out of line.
SELECT format('CREATE TABLE bigints (%s)', string_agg(format('c%s bigint', i), ', ')) AS ddl,
  'SELECT ' || string_agg(CASE WHEN i <= 900 THEN 'g + ' || i ELSE 'NULL' END, ', ') AS narrow,
  'SELECT ' || string_agg('g + ' || i, ', ') AS wide FROM generate_series(1, 1200) i \gset
\set ECHO none
SELECT twice(:'ddl') \gexec
SELECT twice('INSERT INTO bigints ' || :'narrow' || ' FROM generate_series(1, 50) g') \gexec
SELECT twice('INSERT INTO bigints ' || :'wide' || ' FROM generate_series(1, 50) g') \gexec
SELECT twice('INSERT INTO bigints SELECT b.* FROM bigints b UNION ALL (' || :'wide' || ' FROM generate_series(1, 1) g)') \gexec
\set ECHO all
SELECT * FROM compare($$SELECT * FROM bigints$$);
SELECT what('bigints');
-- What was accepted is kept.
SELECT twice($$UPDATE bigints SET c1 = -c1 WHERE c1 % 2 = 0$$) \gexec
SELECT twice($$VACUUM FULL bigints$$) \gexec
SELECT * FROM compare($$SELECT * FROM bigints$$);
-- Columns added without a rewrite make them too wide for one.
SELECT twice($$ALTER TABLE bigints ADD COLUMN d1 char(1500) DEFAULT repeat('a', 1500), ALTER COLUMN d1 SET STORAGE PLAIN$$) \gexec
SELECT twice($$VACUUM FULL bigints$$) \gexec
SELECT twice($$ALTER TABLE bigints ALTER COLUMN c2 TYPE numeric$$) \gexec
SELECT twice($$DROP TABLE bigints$$) \gexec

-- Columns that may be out of line: 18 bytes each are left of those, and those of up to 24 stay as they are.
\set ECHO none
SELECT twice(format('CREATE TABLE texts (%s)', string_agg(format('c%s text', i), ', '))) FROM generate_series(1, 500) i \gexec
-- Each of these is refused by heap or not.
SELECT twice(format('INSERT INTO texts SELECT %s FROM generate_series(1, 20) g', rtrim(repeat(value || ', ', columns), ', ')))
  FROM (VALUES (500, $$'x' || g$$), (500, $$repeat('x', 15)$$), (500, $$repeat('x', 16)$$), (500, $$noise(g, 21)$$), (450, $$noise(g, 17)$$), (450, $$noise(g, 18)$$),
    (450, $$noise(g, 60)$$), (451, $$noise(g, 60)$$), (449, $$noise(g, 60)$$), (500, $$repeat('x', 2000)$$), (430, $$repeat('x', 2000)$$)) AS v(columns, value) \gexec
\set ECHO all
SELECT * FROM compare($$SELECT * FROM texts$$);
SELECT what('texts');
SELECT twice($$UPDATE texts SET c1 = c2$$) \gexec
SELECT twice($$VACUUM FULL texts$$) \gexec
SELECT * FROM compare($$SELECT * FROM texts$$);
SELECT twice($$DROP TABLE texts$$) \gexec

-- Never out of line.
SELECT twice($$CREATE TABLE plain (i int, t text)$$) \gexec
SELECT twice($$ALTER TABLE plain ALTER t SET STORAGE PLAIN$$) \gexec
SELECT twice($$INSERT INTO plain SELECT i, repeat('x', 8100 + i) FROM generate_series(1, 28) i$$) \gexec
SELECT twice($$INSERT INTO plain SELECT i, repeat('x', 8100 + i) FROM generate_series(1, 29) i$$) \gexec
SELECT twice($$COPY plain FROM PROGRAM 'for i in $(seq 1 14); do printf "%d\t%0$((8119 + i))d\n" $i 0; done'$$) \gexec
SELECT * FROM compare($$SELECT * FROM plain$$);
SELECT what('plain');
SELECT twice($$DROP TABLE plain$$) \gexec

-- Many bytes out of line: more than what one leaf takes of a block of rows. Beside them rows are loaded in bulk.
SELECT twice($$CREATE TABLE large (i int, a text, b text, c text)$$) \gexec
SELECT twice($$INSERT INTO large VALUES (0, repeat('a', 100000000), repeat('b', 100000000), repeat('c', 100000000))$$) \gexec
SELECT twice($$INSERT INTO large SELECT n, CASE WHEN n = 15 THEN a END, CASE WHEN n = 15 THEN b END, CASE WHEN n = 15 THEN c END FROM large, generate_series(1, 30) n$$) \gexec
SELECT what('large');
SELECT twice($$VACUUM FULL large$$) \gexec
SELECT what('large');
SELECT twice($$UPDATE large SET i = -i WHERE i IN (3, 15)$$) \gexec
SELECT * FROM compare($$SELECT i, length(a), length(b), length(c), left(c, 1) FROM large$$);
SELECT twice($$DROP TABLE large$$) \gexec
