"""SQL functions that make values of many types from a row number and a salt: the same on every side and in every run."""

FUNCTIONS = r"""
CREATE SCHEMA gen;
CREATE TYPE gen.pair AS (a int, b text);
CREATE TYPE gen.mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE gen.nest AS (pairs gen.pair[], doc jsonb, r numrange);
CREATE DOMAIN gen.few AS int DEFAULT 3 CHECK (VALUE < 1000);
CREATE DOMAIN gen.object AS jsonb CHECK (jsonb_typeof(VALUE) = 'object');
CREATE FUNCTION gen.h(i bigint, s bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT abs(hashint8extended(i, s) % 1000000) $$;
CREATE FUNCTION gen.int(i bigint, s bigint) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT CASE WHEN gen.h(i, s) % 19 = 0 THEN NULL ELSE (gen.h(i, s) % 500)::int - 100 END $$;
CREATE FUNCTION gen.big(i bigint, s bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT hashint8extended(i, s) / (1::bigint << (gen.h(i, s) % 60)::int) $$;
CREATE FUNCTION gen.num(i bigint, s bigint) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE gen.h(i, s) % 31 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN '-Infinity' WHEN 4 THEN 0.000
    WHEN 5 THEN 123456789012345678901234567890.0123456789
    ELSE round(gen.h(i, s) / 37.0, (gen.h(i, s) % 7)::int) END $$;
CREATE FUNCTION gen.float(i bigint, s bigint) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE gen.h(i, s) % 29 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' WHEN 3 THEN '-0' ELSE gen.h(i, s) / 7.0 END::float8 $$;
CREATE FUNCTION gen.text(i bigint, s bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE gen.h(i, s) % 13 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN U&'\00e4\4e16\+01f600 ' || i
    WHEN 3 THEN repeat('long ' || i, (gen.h(i, s) % 100)::int) WHEN 4 THEN E'tab\there\n"quote''\\'
    WHEN 5 THEN 'word ' || gen.h(i, s) % 10 ELSE 'Text ' || gen.h(i, s) END $$;
CREATE FUNCTION gen.noise(i bigint, s bigint, bytes int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT left(string_agg(md5(i || '/' || s || '/' || n), '' ORDER BY n), bytes) FROM generate_series(1, bytes / 32 + 1) n $$;
CREATE FUNCTION gen.toast(i bigint, s bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE gen.h(i, s) % 8 WHEN 0 THEN gen.noise(i, s, 6000) WHEN 1 THEN gen.noise(i, s, 2300) WHEN 2 THEN repeat('z', 100000)
    WHEN 3 THEN NULL ELSE 'short ' || i END $$;
CREATE FUNCTION gen.bool(i bigint, s bigint) RETURNS bool LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT CASE gen.h(i, s) % 5 WHEN 0 THEN NULL ELSE gen.h(i, s) % 2 = 0 END $$;
CREATE FUNCTION gen.ts(i bigint, s bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE gen.h(i, s) % 41 WHEN 0 THEN NULL WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity' WHEN 3 THEN '4713-01-01 00:00+00 BC'
    ELSE '2024-01-01 00:00+00'::timestamptz + gen.h(i, s) * '1 minute 3 microseconds'::interval END $$;
CREATE FUNCTION gen.date(i bigint, s bigint) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT date '1999-12-31' + (gen.h(i, s) % 9999)::int $$;
CREATE FUNCTION gen.iv(i bigint, s bigint) RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT make_interval(months => (gen.h(i, s) % 30)::int, days => (i % 40)::int, secs => gen.h(i, s) / 8.0) $$;
CREATE FUNCTION gen.arr(i bigint, s bigint) RETURNS int[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE gen.h(i, s) % 9 WHEN 0 THEN NULL WHEN 1 THEN '{}' WHEN 2 THEN '{{1,2},{3,4}}' WHEN 3 THEN '[5:6]={7,NULL}'
    ELSE ARRAY[(i % 50)::int, NULL, (gen.h(i, s) % 20)::int] END::int[] $$;
CREATE FUNCTION gen.texts(i bigint, s bigint) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT CASE WHEN gen.h(i, s) % 7 = 0 THEN NULL ELSE ARRAY[gen.text(i, s), 'x', gen.text(i, s + 1)] END $$;
CREATE FUNCTION gen.pair(i bigint, s bigint) RETURNS gen.pair LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT CASE gen.h(i, s) % 7 WHEN 0 THEN NULL ELSE ROW(gen.int(i, s), gen.text(i, s))::gen.pair END $$;
CREATE FUNCTION gen.mood(i bigint, s bigint) RETURNS gen.mood LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT (enum_range(NULL::gen.mood))[1 + gen.h(i, s) % 4] $$;
CREATE FUNCTION gen.uuid(i bigint, s bigint) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT md5(gen.h(i, s) % 1000 || '')::uuid $$;
CREATE FUNCTION gen.bytes(i bigint, s bigint) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT CASE gen.h(i, s) % 6 WHEN 0 THEN NULL WHEN 1 THEN '\x' ELSE decode(md5(i || '' || s), 'hex') END::bytea $$;
CREATE FUNCTION gen.range(i bigint, s bigint) RETURNS int4range LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT CASE gen.h(i, s) % 6 WHEN 0 THEN 'empty' WHEN 1 THEN int4range(NULL, 5) ELSE int4range(i::int, i::int + 9) END $$;
CREATE FUNCTION gen.point(i bigint, s bigint) RETURNS point LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT point(gen.h(i, s) % 100, i % 100) $$;
CREATE FUNCTION gen.doc(i bigint, s bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE gen.h(i, s) % 23
    WHEN 0 THEN '{}' WHEN 1 THEN '[]' WHEN 2 THEN 'null' WHEN 3 THEN to_jsonb(i) WHEN 4 THEN '"root"' WHEN 5 THEN NULL
    WHEN 6 THEN '[1, "a", null, {"k": 3}, [[], [1.50]]]' WHEN 7 THEN 'true' WHEN 8 THEN '{"k": {}, "tags": [], "": null, "a.b": {"": [{}]}}'
    ELSE jsonb_build_object('id', i, 'k', gen.h(i, s) % 20, 'name', gen.text(i, s), 'n', nullif(nullif(nullif(gen.num(i, s), 'NaN'), 'Infinity'), '-Infinity'),
        'tags', CASE gen.h(i, s + 1) % 5 WHEN 0 THEN NULL WHEN 1 THEN '[]' ELSE to_jsonb(ARRAY['t' || i % 7, 't' || gen.h(i, s) % 9]) END,
        'mixed', CASE gen.h(i, s + 2) % 6 WHEN 0 THEN to_jsonb(i) WHEN 1 THEN '"s"' WHEN 2 THEN '[1, "b", {"c": 2.0}]' WHEN 3 THEN '{"c": true}' WHEN 4 THEN 'null' ELSE 'false' END,
        'nested', jsonb_build_object('a', jsonb_build_object('b', jsonb_build_array(jsonb_build_object('c', i), jsonb_build_object('c', 'x', 'd', gen.h(i, s)), '[]'::jsonb, NULL))))
      || CASE WHEN i % 3 = 0 THEN jsonb_build_object('rare_' || i % 11, gen.text(i, s), 'when', gen.date(i, s)) ELSE '{}' END
  END::jsonb $$;
"""

# Column type -> expression of a value for row {i} with salt {s}.
MAKERS = {
    "int": "gen.int({i}, {s})",
    "bigint": "gen.big({i}, {s})",
    "numeric": "gen.num({i}, {s})",
    "float8": "gen.float({i}, {s})",
    "text": "gen.text({i}, {s})",
    "long text": "gen.toast({i}, {s})",
    "bool": "gen.bool({i}, {s})",
    "timestamptz": "gen.ts({i}, {s})",
    "date": "gen.date({i}, {s})",
    "interval": "gen.iv({i}, {s})",
    "int[]": "gen.arr({i}, {s})",
    "text[]": "gen.texts({i}, {s})",
    "gen.pair": "gen.pair({i}, {s})",
    "gen.mood": "gen.mood({i}, {s})",
    "uuid": "gen.uuid({i}, {s})",
    "bytea": "gen.bytes({i}, {s})",
    "int4range": "gen.range({i}, {s})",
    "point": "gen.point({i}, {s})",
    "jsonb": "gen.doc({i}, {s})",
    "json": "gen.doc({i}, {s})::json",
    "numeric(12,3)": "(gen.h({i}, {s}) / 8.0)",
    "varchar(40)": "left(gen.text({i}, {s}), 40)",
    "char(12)": "left(gen.text({i}, {s}), 12)",
    "smallint": "(gen.h({i}, {s}) % 30000)::smallint",
    "real": "gen.float({i}, {s})::real",
    "money": "(gen.h({i}, {s}) / 8.0)::numeric::money",
    "time": "(time '00:00' + gen.h({i}, {s}) * interval '1 second')",
    "timetz": "('10:00' || (ARRAY['+00', '-05:30', '+14'])[1 + gen.h({i}, {s}) % 3])::timetz",
    "name": "left(gen.text({i}, {s}), 20)::name",
    "oid": "gen.h({i}, {s})::oid",
    '"char"': "chr(60 + (gen.h({i}, {s}) % 60)::int)::\"char\"",
    "inet": "('10.0.' || {i} % 256 || '.' || gen.h({i}, {s}) % 256)::inet",
    "bit(4)": "(gen.h({i}, {s}) % 16)::int::bit(4)",
    "varbit": "left((gen.h({i}, {s}))::int::bit(20)::text, (gen.h({i}, {s}) % 20)::int)::varbit",
    "tsvector": "to_tsvector('simple', 'a word' || gen.h({i}, {s}) % 9)",
    "nummultirange": "nummultirange(numrange(0, 1 + gen.h({i}, {s}) % 5), numrange(10, NULL))",
    "tstzrange": "tstzrange(gen.ts({i}, {s}), NULL)",
    "float8[]": "ARRAY[gen.float({i}, {s}), gen.float({i}, {s} + 1)]",
    "gen.few": "gen.int({i}, {s})",
    "gen.object": "jsonb_build_object('k', gen.h({i}, {s}) % 20, 'long', gen.toast({i}, {s}))",
    "gen.nest": "ROW(ARRAY[gen.pair({i}, {s}), NULL], gen.doc({i}, {s}), numrange({i}, NULL))::gen.nest",
    # A row there is, for a foreign key.
    "parent": "(SELECT max(id) FROM t WHERE id < {i})",
}


def sql_type(name):
    """The type to declare; "long text" is text with values that need TOAST."""
    return {"long text": "text", "parent": "bigint"}.get(name, name)
