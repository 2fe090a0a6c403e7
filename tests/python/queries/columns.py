"""The columns of tables: those that every table has, and those that only some worlds have, of types that fewer queries know."""

import dataclasses

# Those that every query can count on.
COLUMNS = {"id": "int", "i": "int", "b": "bigint", "nu": "numeric", "f": "float8", "tx": "text", "bo": "bool", "d": "date", "ts": "timestamp",
           "tz": "timestamptz", "ta": "text[]", "doc": "jsonb", "extra": "jsonb"}


@dataclasses.dataclass
class Other:
    """A type with some of its values. What it has: "=" and "<"; "key", values that are equal look the same; "max" (and min); "sum" (and avg)."""
    values: list
    traits: tuple = ("=", "<", "key", "max")


PLAIN = ("=", "<", "key")
NUMBER = ("=", "<", "key", "max", "sum")


OTHERS = {
    "smallint": Other(["0", "1", "-1", "7", "32767", "-32768", "300"], NUMBER),
    # Sums of some quarters are exact.
    "real": Other(["0", "-0", "1", "2.5", "-3.25", "NaN", "Infinity", "-Infinity", "1000.75"], NUMBER),
    "numeric(12,3)": Other(["0", "1.5", "-2.125", "999999999.999", "NaN", "7", "0.001"], NUMBER),
    "varchar(12)": Other(["", "red", "Red", "blue  ", "ä😀", "e\u0301", "x" * 12]),
    "char(6)": Other(["", "red", "Red", "blue", "a b", "äöü"]),
    "name": Other(["", "red", "Red", "pg_class", "z" * 63], PLAIN),
    '"char"': Other(["a", "b", "", "0"], PLAIN),
    "oid": Other(["0", "1", "4294967295", "2147483648"]),
    "interval": Other(["0", "1 day", "24:00:00", "1 mon", "30 days", "-3 days 04:00", "1 year 2 mons 00:00:00.000001"], ("=", "<", "sum")),
    "time": Other(["00:00", "24:00", "12:34:56.789", "23:59:59.999999"]),
    "timetz": Other(["00:00+00", "01:00+01", "12:30-05:30", "24:00+00"]),
    "money": Other(["0", "1.50", "-2.25", "92233720368547758.07"], PLAIN + ("max",)),
    "uuid": Other(["00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "ffffffff-ffff-ffff-ffff-ffffffffffff"], PLAIN),
    "bytea": Other(["\\x", "\\x00", "\\x00ff", "\\xdeadbeef" + "00" * 40], PLAIN),
    "inet": Other(["10.0.0.1", "10.0.0.1/8", "::1", "192.168.0.0/16"]),
    "macaddr": Other(["08:00:2b:01:02:03", "00:00:00:00:00:00"], PLAIN),
    "bit(4)": Other(["0000", "1010", "1111"], PLAIN),
    "varbit": Other(["", "0", "1", "101010101"], PLAIN),
    "int[]": Other(["{}", "{1,NULL,3}", "{{1,2},{3,4}}", "[5:6]={7,8}"]),
    "float8[]": Other(["{}", "{NaN,0}", "{0}", "{1.5,NULL}"], PLAIN),
    "int4range": Other(["empty", "[1,5)", "(,3]", "[7,)"], PLAIN),
    "nummultirange": Other(["{}", "{[1,2),[3,4)}", "{(,)}"], PLAIN),
    "tsvector": Other(["", "'a':1 'b':2", "'red'"], PLAIN),
    "point": Other(["(0,0)", "(1,-2.5)"], ()),
    "json": Other(['{"a": 1,  "a": 2}', "[1.0]", "null"], ()),
    "public.mood": Other(["sad", "ok", "happy"]),
    "public.pair": Other(["(1,red)", "(,)", '(2,"")', "(-7,ä)"], PLAIN),
    "public.few": Other(["0", "3", "9"], NUMBER),
    "public.word": Other(["red", "Red", ""]),
    "public.object": Other(['{}', '{"k": 1, "l": [true]}', '{"k": 1.0}'], ()),
    "public.any_case": Other(["red", "RED", "blue", ""], ("=", "<")),
}


# Those that paths may be cast to.
CAST_TYPES = ["smallint", "real", "numeric(12,3)", "varchar(12)", "char(6)", "interval"]
# Stored generated columns.
GENERATED = {"gi": ("int", "length(tx)"), "gd": ("jsonb", "doc -> 'o'")}


# Once for every database; a finding's script says it again.
PREPARE_DATABASE = """
DO $$ BEGIN CREATE COLLATION public.caseless (provider = icu, deterministic = false, locale = 'und-u-ks-level2'); EXCEPTION WHEN duplicate_object THEN NULL; END $$;
CREATE OR REPLACE FUNCTION public.at(jsonb, text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT $1 ->> $2';
DO $$ BEGIN CREATE ROLE reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN
CREATE TYPE public.mood AS ENUM ('sad', 'happy');
ALTER TYPE public.mood ADD VALUE 'ok' BEFORE 'happy';
CREATE TYPE public.pair AS (a int, b text);
CREATE DOMAIN public.few AS int CHECK (VALUE < 10);
CREATE DOMAIN public.word AS text CHECK (length(VALUE) < 40);
CREATE DOMAIN public.any_case AS text COLLATE public.caseless;
CREATE DOMAIN public.object AS jsonb CHECK (jsonb_typeof(VALUE) = 'object');
EXCEPTION WHEN duplicate_object THEN NULL; END $$;
"""
