-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION amax" to load this file. \quit

CREATE SCHEMA amax;

CREATE FUNCTION amax.handler(internal) RETURNS table_am_handler
  LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'amax_handler';

CREATE ACCESS METHOD amax TYPE TABLE HANDLER amax.handler;
COMMENT ON ACCESS METHOD amax IS 'columnar documents in an LSM tree';

CREATE FUNCTION amax.join_index_handler(internal) RETURNS index_am_handler
  LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'amax_join_index_handler';

CREATE ACCESS METHOD amax_join TYPE INDEX HANDLER amax.join_index_handler;
COMMENT ON ACCESS METHOD amax_join IS 'which row of another table each row of an amax table finds';

CREATE OPERATOR CLASS amax.join_rows DEFAULT FOR TYPE bigint USING amax_join AS STORAGE bigint;

GRANT USAGE ON SCHEMA amax TO PUBLIC;

-- In plans only

CREATE FUNCTION amax.late_document("table" regclass, attribute int, tid) RETURNS jsonb
  LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'late_document_wrapper';
COMMENT ON FUNCTION amax.late_document(regclass, int, tid) IS 'a document that a plan reads late; raises an error if called by a query';

CREATE FUNCTION amax.part_of(jsonb, keys text[]) RETURNS jsonb
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'part_of_wrapper';
COMMENT ON FUNCTION amax.part_of(jsonb, text[]) IS 'a document that a plan hands to a subquery, which looks at some keys; raises an error if called by a query';

-- Options of a table

CREATE FUNCTION amax.set_options("table" regclass, options jsonb) RETURNS void
  LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'set_options_wrapper';
COMMENT ON FUNCTION amax.set_options(regclass, jsonb) IS 'change storage options of an amax table; null takes one back';

CREATE FUNCTION amax.options("table" regclass) RETURNS TABLE (name text, value text, source text)
  LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'options_wrapper';
COMMENT ON FUNCTION amax.options(regclass) IS 'storage options in force for an amax table, and where they come from';

-- A look inside a table

CREATE FUNCTION amax.flush("table" regclass) RETURNS bigint
  LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'flush_wrapper';
COMMENT ON FUNCTION amax.flush(regclass) IS 'make all rows of an amax table columnar that may be; returns how many';

CREATE FUNCTION amax.storage("table" regclass)
  RETURNS TABLE (columnar_rows bigint, columnar_bytes bigint, rows bigint, bytes bigint, why text)
  LANGUAGE C VOLATILE STRICT ROWS 1 AS 'MODULE_PATHNAME', 'storage_wrapper';
COMMENT ON FUNCTION amax.storage(regclass) IS 'rows of an amax table that are columnar, rows that are not, and why';

CREATE VIEW amax.tables AS
  SELECT c.oid::regclass AS "table", s.*
  FROM pg_class c JOIN pg_am a ON a.oid = c.relam AND a.amname = 'amax', amax.storage(c.oid) s
  WHERE c.relkind IN ('r', 'm') AND has_table_privilege(c.oid, 'SELECT')
    AND NOT (c.relpersistence = 'u' AND pg_is_in_recovery()) AND NOT pg_is_other_temp_schema(c.relnamespace);
COMMENT ON VIEW amax.tables IS 'amax.storage of the amax tables that one may read';
GRANT SELECT ON amax.tables TO PUBLIC;

CREATE FUNCTION amax.components("table" regclass)
  RETURNS TABLE (component bigint, rows bigint, leaves int, pages bigint, bytes bigint, blocks text, xid bigint)
  LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'components_wrapper';
COMMENT ON FUNCTION amax.components(regclass) IS 'disk components of an amax table';

CREATE FUNCTION amax.leaves("table" regclass)
  RETURNS TABLE (component bigint, leaf int, rows bigint, first_tid text, last_tid text, bytes bigint, first_page bigint, aliases int)
  LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'leaves_wrapper';
COMMENT ON FUNCTION amax.leaves(regclass) IS 'mega leaves of an amax table';

CREATE FUNCTION amax.columns("table" regclass)
  RETURNS TABLE (component bigint, leaf int, attribute int, path text, type text, encoding text, compression text,
                 bytes bigint, raw_bytes bigint, "values" bigint, absent bigint, min text, max text)
  LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'columns_wrapper';
COMMENT ON FUNCTION amax.columns(regclass) IS 'columns of an amax table on disk: SQL columns and JSON paths';

CREATE FUNCTION amax.schema("table" regclass)
  RETURNS TABLE (attname text, path text, depth int, types text[], counts bigint[], "values" bigint, parents bigint, optional boolean,
                 leaves int)
  LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'schema_wrapper';
COMMENT ON FUNCTION amax.schema(regclass) IS 'paths of the documents in the columnar rows of an amax table, with the types of their values';

CREATE FUNCTION amax.path_statistics("table" regclass, attribute smallint)
  RETURNS TABLE (path text, statistics pg_catalog.pg_statistic)
  LANGUAGE C VOLATILE STRICT ROWS 100 COST 100000 AS 'MODULE_PATHNAME', 'path_statistics_wrapper';
COMMENT ON FUNCTION amax.path_statistics(regclass, smallint) IS 'what amax.stats is of';

-- As pg_stats has it (system_views.sql); of these types no statistics are in other slots than the first three.
CREATE VIEW amax.stats WITH (security_barrier) AS
  SELECT n.nspname AS schemaname, c.relname AS tablename, a.attname, p.path,
    (s).stanullfrac AS null_frac, (s).stawidth AS avg_width, (s).stadistinct AS n_distinct,
    CASE 1 WHEN (s).stakind1 THEN (s).stavalues1 WHEN (s).stakind2 THEN (s).stavalues2 WHEN (s).stakind3 THEN (s).stavalues3 END::text
      AS most_common_vals,
    CASE 1 WHEN (s).stakind1 THEN (s).stanumbers1 WHEN (s).stakind2 THEN (s).stanumbers2 WHEN (s).stakind3 THEN (s).stanumbers3 END
      AS most_common_freqs,
    CASE 2 WHEN (s).stakind1 THEN (s).stavalues1 WHEN (s).stakind2 THEN (s).stavalues2 WHEN (s).stakind3 THEN (s).stavalues3 END::text
      AS histogram_bounds,
    CASE 3 WHEN (s).stakind1 THEN (s).stanumbers1[1] WHEN (s).stakind2 THEN (s).stanumbers2[1] WHEN (s).stakind3 THEN (s).stanumbers3[1] END
      AS correlation
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid,
    amax.path_statistics(c.oid, a.attnum) AS p(path, s)
  WHERE c.relam = (SELECT oid FROM pg_am WHERE amname = 'amax') AND c.relkind IN ('r', 'm')
    AND NOT (c.relpersistence = 'u' AND pg_is_in_recovery()) AND NOT pg_is_other_temp_schema(c.relnamespace)
    AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid = 'jsonb'::regtype
    AND has_column_privilege(c.oid, a.attnum, 'SELECT') AND NOT row_security_active(c.oid);
COMMENT ON VIEW amax.stats IS 'statistics of the paths of documents that the planner is told of, as pg_stats has those of columns';
GRANT SELECT ON amax.stats TO PUBLIC;

CREATE FUNCTION amax.verify("table" regclass) RETURNS SETOF text
  LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'verify_wrapper';
COMMENT ON FUNCTION amax.verify(regclass) IS 'problems found in the structures of an amax table; no rows if there are none';

CREATE FUNCTION amax.shared_cache() RETURNS TABLE (segments bigint, bytes bigint, columns bigint)
  LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'shared_cache_wrapper';
COMMENT ON FUNCTION amax.shared_cache() IS 'decoded columns that sessions share: segments of shared memory, their bytes, columns in them';

CREATE FUNCTION amax.table_counters()
  RETURNS TABLE (relid oid, loads bigint, loaded_rows bigint, loaded_bytes bigint, last_load timestamptz, flushes bigint, flushed_rows bigint,
    flushed_bytes bigint, last_flush timestamptz, merges bigint, merged_rows bigint, merged_bytes bigint, last_merge timestamptz, moved_bytes bigint,
    leaves_read bigint, leaves_skipped bigint, columns_found bigint, columns_decoded bigint)
  LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'table_counters_wrapper';
COMMENT ON FUNCTION amax.table_counters() IS 'what amax.stat_tables is of';

CREATE FUNCTION amax.cache_counters()
  RETURNS TABLE (bytes bigint, max_bytes bigint, columns bigint, segments bigint, segments_evicted bigint, columns_found bigint, columns_decoded bigint,
    stats_reset timestamptz)
  LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1 AS 'MODULE_PATHNAME', 'cache_counters_wrapper';
COMMENT ON FUNCTION amax.cache_counters() IS 'what amax.stat_cache is of';

CREATE FUNCTION amax.reset_counters() RETURNS void
  LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'reset_counters_wrapper';
COMMENT ON FUNCTION amax.reset_counters() IS 'sets the counts of amax.stat_tables and amax.stat_cache to zero, in all databases, but for segments_evicted';
REVOKE EXECUTE ON FUNCTION amax.reset_counters() FROM PUBLIC;

CREATE VIEW amax.stat_tables AS
  SELECT c.oid AS relid, n.nspname AS schemaname, c.relname,
    coalesce(s.loads, 0) AS loads, coalesce(s.loaded_rows, 0) AS loaded_rows, coalesce(s.loaded_bytes, 0) AS loaded_bytes, s.last_load,
    coalesce(s.flushes, 0) AS flushes, coalesce(s.flushed_rows, 0) AS flushed_rows, coalesce(s.flushed_bytes, 0) AS flushed_bytes, s.last_flush,
    coalesce(s.merges, 0) AS merges, coalesce(s.merged_rows, 0) AS merged_rows, coalesce(s.merged_bytes, 0) AS merged_bytes, s.last_merge,
    coalesce(s.moved_bytes, 0) AS moved_bytes,
    round((s.loaded_bytes + s.flushed_bytes + s.merged_bytes + s.moved_bytes)::numeric / nullif(s.loaded_bytes + s.flushed_bytes, 0), 2)
      AS write_amplification,
    s.leaves_read, s.leaves_skipped, s.columns_found, s.columns_decoded
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_am a ON a.oid = c.relam AND a.amname = 'amax'
    LEFT JOIN amax.table_counters() s ON s.relid = c.oid
  WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't';
COMMENT ON VIEW amax.stat_tables IS 'what has been done with each amax table since the server started, or since amax.reset_counters()';
GRANT SELECT ON amax.stat_tables TO PUBLIC;

CREATE VIEW amax.stat_cache AS SELECT * FROM amax.cache_counters();
COMMENT ON VIEW amax.stat_cache IS 'decoded columns that sessions share: how much there is, how often it was found, how much had to go';
GRANT SELECT ON amax.stat_cache TO PUBLIC;

-- Join indexes

CREATE FUNCTION amax.join_row(dimension regclass, key name, VARIADIC "any") RETURNS bigint
  LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'amax_join_row';
COMMENT ON FUNCTION amax.join_row(regclass, name, "any") IS 'what a join index is of: the row of another table that has these values in a unique index of it, or in its primary key (NULL); NULL wherever it is called';

CREATE FUNCTION amax.create_join_index("table" regclass, keys text, dimension regclass, dimension_keys text) RETURNS regclass
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'create_join_index_wrapper';
COMMENT ON FUNCTION amax.create_join_index(regclass, text, regclass, text) IS 'makes an index of which row of a dimension each row of a table finds by keys; the dimension''s are those of a unique index';

CREATE FUNCTION amax.create_join_indexes("table" regclass) RETURNS SETOF regclass LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
  SET search_path = pg_catalog, pg_temp AS $$
  SELECT amax.create_join_index(k.conrelid, k.keys, k.confrelid, k.others)
  FROM (SELECT c.oid, c.conrelid, c.confrelid, string_agg(quote_ident(a.attname), ', ' ORDER BY p.at) AS keys, string_agg(quote_ident(b.attname), ', ' ORDER BY p.at) AS others
    FROM pg_constraint c CROSS JOIN unnest(c.conkey, c.confkey) WITH ORDINALITY AS p(own, other, at)
      JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = p.own JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = p.other
      JOIN pg_class d ON d.oid = c.confrelid JOIN pg_am m ON m.oid = d.relam AND m.amname = 'amax'
    WHERE c.contype = 'f' AND c.conrelid = "table" AND c.conparentid = 0
    GROUP BY 1, 2, 3 ORDER BY 1 OFFSET 0) k
$$;
COMMENT ON FUNCTION amax.create_join_indexes(regclass) IS 'makes a join index for each foreign key of a table that refers to an amax table';

CREATE FUNCTION amax.drop_join_index(index regclass) RETURNS void
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'drop_join_index_wrapper';
COMMENT ON FUNCTION amax.drop_join_index(regclass) IS 'drops a join index, as DROP INDEX does';

CREATE FUNCTION amax.join_index_state(index regclass) RETURNS TABLE (dimension regclass, rows bigint, covered bigint, found bigint, reason text)
  LANGUAGE C STABLE STRICT PARALLEL RESTRICTED ROWS 1 COST 10000 AS 'MODULE_PATHNAME', 'join_index_state_wrapper';
COMMENT ON FUNCTION amax.join_index_state(regclass) IS 'what amax.join_indexes shows of one';

CREATE VIEW amax.join_indexes AS
  SELECT x.indexrelid::regclass AS index, x.indrelid::regclass AS "table", s.dimension, s.rows, s.covered, s.covered - s.found AS unknown,
    pg_relation_size(x.indexrelid) AS bytes, s.reason
  FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid AND c.relkind = 'i' JOIN pg_am a ON a.oid = c.relam AND a.amname = 'amax_join',
    LATERAL amax.join_index_state(c.oid::regclass) s;
COMMENT ON VIEW amax.join_indexes IS 'join indexes: how many columnar rows of their tables they cover, and of how many of those they do not know which row of the dimension these find, as there is none, or as it is not columnar or has been replaced';
GRANT SELECT ON amax.join_indexes TO PUBLIC;

-- Arrow

CREATE FUNCTION amax.arrow(query text) RETURNS SETOF bytea
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 10 COST 1000 AS 'MODULE_PATHNAME', 'amax_arrow';
COMMENT ON FUNCTION amax.arrow(text) IS 'result of a query as an Arrow IPC stream: schema, record batches, end of stream';
CREATE FUNCTION amax.arrow(query text, json_as text) RETURNS SETOF bytea
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 10 COST 1000 AS 'MODULE_PATHNAME', 'amax_arrow';
COMMENT ON FUNCTION amax.arrow(text, text) IS 'result of a query as an Arrow IPC stream, in which columns of jsonb are structs and lists of what their documents hold (json_as ''struct''), variants (''variant'') or text (''text'')';

CREATE FUNCTION amax.arrow_plan(query text) RETURNS TABLE ("column" text, path text, reason text)
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'arrow_plan_wrapper';
COMMENT ON FUNCTION amax.arrow_plan(text) IS 'how the columns of a query''s result become Arrow''s: by vectors, row by row, or through the executor, and why';

CREATE FUNCTION amax.arrow_parts(query text, parts integer) RETURNS SETOF text
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 4 AS 'MODULE_PATHNAME', 'arrow_parts_wrapper';
COMMENT ON FUNCTION amax.arrow_parts(text, integer) IS 'queries whose rows are together those of a query: each of some of the blocks of the one amax table that it reads; the query as it is if it reads others or is not of each row by itself';

CREATE FUNCTION amax.load() RETURNS void
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'amax_load';
COMMENT ON FUNCTION amax.load() IS 'load the library into this session, for COPY with format arrow';
