-- COPY table TO writes documents' text from columns: the same bytes as heap's, in every format, and the same errors.
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\set crates_file :abs_srcdir '/data/crates.jsonl'
\set npm_file :abs_srcdir '/data/npm.jsonl'
\i :include
SET amax.eager = off;

-- copied(what, options): COPY on both sides to a file: rows of heap's, and whether amax's has the same lines, byte by byte (of the binary
-- format, as many bytes; rows may be in another order); or the error of both. Whether the text was written from columns tells a fault
-- point, which is passed there.
CREATE FUNCTION twins.copied(what text, options text DEFAULT '', OUT rows bigint, OUT same boolean, OUT from_columns boolean, OUT error text)
LANGUAGE plpgsql AS $$
DECLARE
  path text := current_setting('search_path');
  file text := current_setting('data_directory') || '/copied';
  heap text;
  heap_error text;
  heap_rows bigint;
  copied bigint;
  content text;
  message text;
  detail text;
  hint text;
  side text;
BEGIN
  FOREACH side IN ARRAY '{heap,amax,fault}'::text[] LOOP
    PERFORM set_config('search_path', replace(side, 'fault', 'amax') || '_side, public, twins', false);
    IF side = 'fault' THEN
      PERFORM set_config('amax.fault_point', 'copy_text', false);
    END IF;
    BEGIN
      error := NULL;
      content := NULL;
      copied := NULL;
      EXECUTE format('COPY %s TO %L %s', what, file, options);
      GET DIAGNOSTICS copied = ROW_COUNT;
      content := CASE WHEN options ~ 'binary' THEN length(pg_read_binary_file(file))::text ELSE
        (SELECT md5(string_agg(line, E'\n' ORDER BY line COLLATE "C")) FROM string_to_table(convert_from(pg_read_binary_file(file), 'latin1'), E'\n') AS line) END;
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
      error := SQLSTATE || ' ' || concat_ws(' | ', message, nullif(detail, ''), nullif(hint, ''));
    END;
    CASE side
      WHEN 'heap' THEN
        heap := content;
        heap_rows := copied;
        heap_error := error;
      WHEN 'amax' THEN
        same := (content, copied, error) IS NOT DISTINCT FROM (heap, heap_rows, heap_error);
      WHEN 'fault' THEN
        from_columns := coalesce(error, '') ~ 'fault injected';
    END CASE;
  END LOOP;
  PERFORM set_config('amax.fault_point', '', false);
  PERFORM set_config('search_path', path, false);
  rows := heap_rows;
  error := heap_error;
END $$;

-- real documents
SELECT twice($$CREATE TABLE crates (doc jsonb)$$) \gexec
SELECT twice($$CREATE TABLE npm (doc jsonb)$$) \gexec
COPY heap_side.crates FROM :'crates_file' WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
COPY amax_side.crates FROM :'crates_file' WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
COPY heap_side.npm FROM :'npm_file' WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
COPY amax_side.npm FROM :'npm_file' WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
SELECT * FROM copied('crates');
SELECT * FROM copied('npm');
SELECT twice($$VACUUM crates$$) \gexec
SELECT twice($$VACUUM npm$$) \gexec
SELECT * FROM copied('crates');
SELECT * FROM copied('npm');
SELECT * FROM copied('npm', '(FORMAT csv)');

-- documents of all kinds, in columns, in row pages, out of line and missing, beside other columns
SET amax.rows_per_leaf = 300;
SELECT twice($$CREATE DOMAIN document AS jsonb CHECK (VALUE IS NOT NULL)$$) \gexec
SELECT twice($$CREATE TABLE t (gone int, id int, doc jsonb, "Name" text DEFAULT 'a"b,c', dom document DEFAULT '[1, 1.50, "x"]', made jsonb GENERATED ALWAYS AS (doc->'a') STORED, c "char" DEFAULT 'x')$$) \gexec
SELECT twice($$INSERT INTO t (gone, id, doc) SELECT i, i, (ARRAY[NULL, 'null', 'true', '"a\"\\\u0001\n\t\b\f\r\u001f\u007f/é"', '-0.0', '1e100', '1.10', '123456789012345678901234567890.1234567890', '9223372036854775807', '-9223372036854775808', '0.00000000000000000000000000000000000000000000000000000000000000000000001', '[]', '{}', '[[], {}, [{}]]', '{"": "", "\"\\\n": [null, true, false], "b": {"c": {"d": [1, [2, [3.0]]]}}}'])[i % 16]::jsonb FROM generate_series(1, 2000) i$$) \gexec
SELECT twice($$INSERT INTO t (id, doc) SELECT 2000 + i, jsonb_build_object('a', i, 'k' || i % 700, repeat('"', i % 50), 'n', i / 7.0, 'list', jsonb_build_array(i, null, i::text, jsonb_build_object('x', i % 3 = 0)), 'nan', 'NaN'::numeric) FROM generate_series(1, 2000) i$$) \gexec
SELECT twice($$INSERT INTO t (id, doc) SELECT 4000 + i, (repeat('[', i) || '{"deep": 1.0}' || repeat(']', i))::jsonb FROM generate_series(90, 130) i$$) \gexec
SELECT twice($$ALTER TABLE t DROP COLUMN gone$$) \gexec
SELECT * FROM copied('t');
SELECT twice($$VACUUM t$$) \gexec
SELECT * FROM copied('t');
SELECT twice($$ALTER TABLE t ADD COLUMN late jsonb DEFAULT '{"late": [1.00]}', ADD COLUMN none jsonb$$) \gexec
SELECT twice($$UPDATE t SET doc = doc || '{"changed": "yes"}' WHERE id > 2000 AND id % 7 = 0$$) \gexec
SELECT twice($$DELETE FROM t WHERE id % 11 = 0$$) \gexec
SELECT twice($$INSERT INTO t (id, doc) SELECT 5000 + i, jsonb_build_object('a', twins.noise(i, 30000), 'short', i) FROM generate_series(1, 5) i$$) \gexec
SELECT sum(rows) > 1000 FROM amax.components('amax_side.t');
SELECT * FROM copied('t');

-- formats, columns and options
SELECT * FROM copied('t', '(FORMAT text, HEADER true, NULL ''-'', DELIMITER ''|'')');
SELECT * FROM copied('t', '(FORMAT csv, HEADER, FORCE_QUOTE (id, doc), QUOTE '''''''', ESCAPE ''\'')');
SELECT * FROM copied('t', 'CSV HEADER FORCE QUOTE *');
SELECT * FROM copied('t', '(ENCODING ''latin1'')');
SELECT * FROM copied('t (late, "Name", doc, id)', '(FORMAT csv, HEADER, FORCE_QUOTE ("Name"))');
SELECT * FROM copied('t (id)');
SELECT * FROM copied('t', '(FORMAT binary)');
SELECT * FROM copied('(SELECT * FROM t)');

-- what is wrong is said as before
SELECT * FROM copied('t (id, made)');
SELECT * FROM copied('t (id, gone)');
SELECT * FROM copied('t (id, doc, id)');
SELECT * FROM copied('t (ctid)');
SELECT * FROM copied('missing');
SELECT same, from_columns, left(error, 5) FROM copied('pg_class_oid_index');
SELECT * FROM copied('t', '(FORMAT nonsense)');
SELECT * FROM copied('t', '(FORMAT csv, FORMAT csv)');
SELECT * FROM copied('t', '(nonsense 1)');
SELECT * FROM copied('t', '(DELIMITER ''ab'')');
SELECT * FROM copied('t (id)', '(FORMAT csv, FORCE_QUOTE (doc))');
SELECT * FROM copied('t', '(FORMAT csv, FORCE_QUOTE (nothing))');
SELECT * FROM copied('t', '(ENCODING ''nonsense'')');
SELECT twice($$CREATE VIEW v AS SELECT * FROM t$$) \gexec
SELECT * FROM copied('v');

-- only the table itself, not its children; partitions, but not the whole
SELECT twice($$CREATE TABLE child () INHERITS (t)$$) \gexec
SELECT twice($$INSERT INTO child (id, doc) VALUES (1, '{"of": "child"}')$$) \gexec
SELECT * FROM copied('t (doc)');
SELECT * FROM copied('child');
SELECT twice($$CREATE TABLE parts (id int, doc jsonb) PARTITION BY RANGE (id)$$) \gexec
SELECT twice($$CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (10)$$) \gexec
SELECT twice($$INSERT INTO parts VALUES (1, '{"of": "part"}')$$) \gexec
SELECT * FROM copied('part');
SELECT * FROM copied('parts');

-- what a transaction has done so far, and its snapshot
BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE;
SELECT twice($$INSERT INTO npm SELECT doc FROM npm$$) \gexec
SELECT * FROM copied('npm');
SAVEPOINT s;
SELECT twice($$UPDATE npm SET doc = '[]' WHERE doc->>'name' < 'c'$$) \gexec
SELECT * FROM copied('npm');
ROLLBACK TO s;
SELECT twice($$TRUNCATE crates$$) \gexec
SELECT * FROM copied('crates');
COMMIT;
CREATE TEMP TABLE own (doc jsonb) USING amax;
INSERT INTO own VALUES ('{"a": "to the client\\"}'), (NULL), ('[1.0]');
VACUUM own;
COPY own TO STDOUT;
COPY own TO STDOUT (FORMAT csv, HEADER);
COPY own TO PROGRAM 'cat >/dev/null';
SET default_transaction_read_only = on;
COPY own TO STDOUT;
RESET default_transaction_read_only;

-- privileges
CREATE ROLE copy_1;
GRANT USAGE ON SCHEMA heap_side, amax_side, twins TO copy_1;
GRANT pg_read_server_files, pg_read_all_settings TO copy_1;
GRANT EXECUTE ON FUNCTION pg_read_binary_file(text) TO copy_1;
GRANT SET ON PARAMETER amax.fault_point TO copy_1;
SET ROLE copy_1;
SELECT same, from_columns, left(error, 5) FROM copied('t');
RESET ROLE;
GRANT pg_write_server_files TO copy_1;
SET ROLE copy_1;
SELECT * FROM copied('t');
RESET ROLE;
SELECT twice($$GRANT SELECT (id, doc) ON t TO copy_1$$) \gexec
SET ROLE copy_1;
SELECT * FROM copied('t');
SELECT * FROM copied('t (id, doc)');
\set VERBOSITY sqlstate
COPY amax_side.t TO PROGRAM 'cat >/dev/null';
\set VERBOSITY default
RESET ROLE;
SELECT twice($$GRANT SELECT ON t TO copy_1$$) \gexec
SET ROLE copy_1;
SELECT * FROM copied('t');
RESET ROLE;
SELECT twice($$ALTER TABLE t ENABLE ROW LEVEL SECURITY$$) \gexec
SELECT twice($$CREATE POLICY few ON t USING (id % 100 = 1)$$) \gexec
SELECT * FROM copied('t');
SET ROLE copy_1;
SELECT * FROM copied('t');
SET row_security = off;
SELECT * FROM copied('t');
RESET row_security;
RESET ROLE;

SELECT * FROM amax.verify('amax_side.t');
\set ECHO none
SET client_min_messages = warning;
REVOKE EXECUTE ON FUNCTION pg_read_binary_file(text) FROM copy_1;
DROP SCHEMA heap_side, amax_side CASCADE;
DROP OWNED BY copy_1;
DROP ROLE copy_1;
