-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION amax" to load this file. \quit

CREATE SCHEMA amax;

CREATE FUNCTION amax.handler(internal) RETURNS table_am_handler
  LANGUAGE C STRICT AS 'MODULE_PATHNAME', 'amax_handler';

CREATE ACCESS METHOD amax TYPE TABLE HANDLER amax.handler;
COMMENT ON ACCESS METHOD amax IS 'columnar documents in an LSM tree';

GRANT USAGE ON SCHEMA amax TO PUBLIC;

-- Options of a table

CREATE FUNCTION amax.set_options("table" regclass, options jsonb) RETURNS void
  LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'set_options_wrapper';
COMMENT ON FUNCTION amax.set_options(regclass, jsonb) IS 'change storage options of an amax table; null takes one back';

CREATE FUNCTION amax.options("table" regclass) RETURNS TABLE (name text, value text, source text)
  LANGUAGE C STABLE STRICT AS 'MODULE_PATHNAME', 'options_wrapper';
COMMENT ON FUNCTION amax.options(regclass) IS 'storage options in force for an amax table, and where they come from';

-- A look inside a table

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

CREATE FUNCTION amax.verify("table" regclass) RETURNS SETOF text
  LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'verify_wrapper';
COMMENT ON FUNCTION amax.verify(regclass) IS 'problems found in the structures of an amax table; no rows if there are none';

CREATE FUNCTION amax.shared_cache() RETURNS TABLE (segments bigint, bytes bigint, columns bigint)
  LANGUAGE C VOLATILE STRICT AS 'MODULE_PATHNAME', 'shared_cache_wrapper';
COMMENT ON FUNCTION amax.shared_cache() IS 'decoded columns that sessions share: segments of shared memory, their bytes, columns in them';

-- Arrow

CREATE FUNCTION amax.arrow(query text) RETURNS SETOF bytea
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 10 COST 1000 AS 'MODULE_PATHNAME', 'amax_arrow';
COMMENT ON FUNCTION amax.arrow(text) IS 'result of a query as an Arrow IPC stream: schema, record batches, end of stream';

CREATE FUNCTION amax.load() RETURNS void
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'amax_load';
COMMENT ON FUNCTION amax.load() IS 'load the library into this session, for COPY with format arrow';
