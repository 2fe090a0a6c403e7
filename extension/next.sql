CREATE FUNCTION amax.arrow_plan(query text) RETURNS TABLE ("column" text, path text, reason text)
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'arrow_plan_wrapper';
COMMENT ON FUNCTION amax.arrow_plan(text) IS 'how the columns of a query''s result become Arrow''s: by vectors, row by row, or through the executor, and why';
