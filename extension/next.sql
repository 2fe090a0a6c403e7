CREATE FUNCTION amax.arrow(query text, json_as text) RETURNS SETOF bytea
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 10 COST 1000 AS 'MODULE_PATHNAME', 'amax_arrow';
COMMENT ON FUNCTION amax.arrow(text, text) IS 'result of a query as an Arrow IPC stream, in which columns of jsonb are structs and lists of what their documents hold (json_as ''struct''), variants (''variant'') or text (''text'')';

CREATE FUNCTION amax.arrow_plan(query text) RETURNS TABLE ("column" text, path text, reason text)
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'arrow_plan_wrapper';
COMMENT ON FUNCTION amax.arrow_plan(text) IS 'how the columns of a query''s result become Arrow''s: by vectors, row by row, or through the executor, and why';

CREATE FUNCTION amax.arrow_parts(query text, parts integer) RETURNS SETOF text
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 4 AS 'MODULE_PATHNAME', 'arrow_parts_wrapper';
COMMENT ON FUNCTION amax.arrow_parts(text, integer) IS 'queries whose rows are together those of a query: each of some of the blocks of the one amax table that it reads; the query as it is if it reads others or is not of each row by itself';

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

CREATE FUNCTION amax.part_of(jsonb, keys text[]) RETURNS jsonb
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'part_of_wrapper';
COMMENT ON FUNCTION amax.part_of(jsonb, text[]) IS 'a document that a plan hands to a subquery, which looks at some keys; raises an error if called by a query';

CREATE FUNCTION amax.join_row(dimension regclass, key name, VARIADIC "any") RETURNS bigint
  LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'amax_join_row';
COMMENT ON FUNCTION amax.join_row(regclass, name, "any") IS 'what a join index is of: the row of another table that has these values in a unique index of it, or in its primary key (NULL); NULL wherever it is called';

CREATE FUNCTION amax.join_index_handler(internal) RETURNS index_am_handler
  LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'amax_join_index_handler';

CREATE ACCESS METHOD amax_join TYPE INDEX HANDLER amax.join_index_handler;
COMMENT ON ACCESS METHOD amax_join IS 'which row of another table each row of an amax table finds';

CREATE OPERATOR CLASS amax.join_rows DEFAULT FOR TYPE bigint USING amax_join AS STORAGE bigint;

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
