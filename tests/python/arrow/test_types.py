"""Every supported type: values as psycopg sees them, read by pyarrow, polars and DuckDB."""

import datetime as dt
import io
import json
import math
import uuid
from decimal import Decimal

import duckdb
import polars as pl
import psycopg
import pyarrow as pa
import pytest

from conftest import table

UTC = dt.timezone.utc

# name: (SQL type, values as SQL expressions, Arrow type)
TYPES = {
    "bool": ("bool", ["true", "false"], pa.bool_()),
    "int2": ("int2", ["-32768", "32767", "0"], pa.int16()),
    "int4": ("int4", ["-2147483648", "2147483647", "7"], pa.int32()),
    "int8": ("int8", ["'-9223372036854775808'", "9223372036854775807"], pa.int64()),
    "oid": ("oid", ["0", "4294967295"], pa.uint32()),
    "float4": ("float4", ["1.5", "-0.1", "3.4e38", "'infinity'", "'-infinity'"], pa.float32()),
    "float8": ("float8", ["1.5", "-0.1", "1e308", "'infinity'", "'-infinity'"], pa.float64()),
    "numeric": (
        "numeric(12,3)",
        ["0", "1", "-1.5", "123456789.123", "-999999999.999", "0.001", "10000", "100000000"],
        pa.decimal128(12, 3),
    ),
    "numeric_wide": (
        "numeric(38,10)",
        ["9999999999999999999999999999.9999999999", "-9999999999999999999999999999.9999999999",
         "0.0000000001", "1e27", "-1234567890123456789012345678.9012345678"],
        pa.decimal128(38, 10),
    ),
    "numeric_whole": ("numeric(38,0)", ["1e37", "-99999999999999999999999999999999999999"], pa.decimal128(38, 0)),
    "numeric_small": ("numeric(3,6)", ["0.000123", "-0.000999"], pa.decimal128(6, 6)),
    "numeric_rounded": ("numeric(5,-2)", ["12300", "-9999900"], pa.decimal128(7, 0)),
    "text": ("text", ["''", "'plain'", "'ünïcödé 雪 🦀'", "repeat('long', 30000)"], pa.string()),
    "varchar": ("varchar(20)", ["'abc'"], pa.string()),
    "bpchar": ("char(5)", ["'ab'"], pa.string()),
    "name": ("name", ["'pg_class'"], pa.string()),
    "char": ('"char"', ["'x'"], pa.string()),
    "bytea": ("bytea", ["''", r"'\x00ff10'", "decode(repeat('ab', 60000), 'hex')"], pa.binary()),
    "date": ("date", ["'2000-01-01'", "'1970-01-01'", "'0001-01-01'", "'9999-12-31'"], pa.date32()),
    "time": ("time", ["'00:00'", "'23:59:59.999999'"], pa.time64("us")),
    "timetz": ("timetz", ["'12:34:56.789+02'"], pa.string()),
    "timestamp": (
        "timestamp",
        ["'2000-01-01'", "'1969-12-31 23:59:59.999999'", "'0001-01-01'", "'9999-12-31 23:59:59.999999'"],
        pa.timestamp("us"),
    ),
    "timestamptz": (
        "timestamptz",
        ["'2024-02-29 12:00:00+05:30'", "'1900-01-01 00:00:00+00'"],
        pa.timestamp("us", "UTC"),
    ),
    "interval": ("interval", ["'0'", "'1 year 2 mons -3 days 04:05:06.789'"], pa.month_day_nano_interval()),
    "uuid": ("uuid", ["'00000000-0000-0000-0000-000000000000'", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"], pa.uuid()),
    "enum": ("mood", ["'sad'", "'happy'", "'süß'"], pa.string()),
    "json": ("json", ["""'{"a": 1.50,  "b": null}'""", "'null'", "'[]'"], pa.json_()),
    "jsonb": ("jsonb", ["""'{"a.b": 1.50, "": [1, "x", {}]}'""", "'null'", "'12345678901234567890.123'"], pa.json_()),
    "domain": ("positive", ["1", "2.25"], pa.decimal128(10, 2)),
    "domain_text": ("label", ["'x'"], pa.string()),
}


@pytest.fixture(scope="module", autouse=True)
def own_types(extension):
    from conftest import connect

    with connect() as db:
        db.execute("DROP TYPE IF EXISTS mood CASCADE; CREATE TYPE mood AS ENUM ('sad', 'happy', 'süß')")
        db.execute("DROP DOMAIN IF EXISTS positive; CREATE DOMAIN positive AS numeric(10,2) CHECK (VALUE > 0)")
        db.execute("DROP DOMAIN IF EXISTS label; CREATE DOMAIN label AS varchar(10)")
    yield


def query(sql_type, values):
    """The values in order, NULLs first, last and between."""
    rows = ["NULL"]
    for value in values:
        rows += [value, "NULL"]
    rows = ", ".join(f"({i}, ({row})::{sql_type})" for i, row in enumerate(rows))
    return f"SELECT v FROM (VALUES {rows}) AS t(i, v) ORDER BY i"


def from_arrow(name, value):
    """A value as expected_values gives it."""
    if value is None:
        return None
    if name in ("json", "jsonb"):
        return json.loads(value, parse_float=Decimal, parse_int=Decimal)
    if name == "interval":
        return tuple(value)
    return value


def expected_values(db, name, sql):
    if name in ("json", "jsonb"):
        rows = [row[0] for row in db.execute(f"SELECT v::text FROM ({sql}) AS s")]
        return [None if v is None else json.loads(v, parse_float=Decimal, parse_int=Decimal) for v in rows]
    if name == "interval":
        parts = "extract(year FROM v) * 12 + extract(month FROM v), extract(day FROM v), " \
            "extract(epoch FROM v - date_trunc('day', v)) * 1000000"
        return [
            None if months is None else (int(months), int(days), int(microseconds) * 1000)
            for months, days, microseconds in db.execute(f"SELECT {parts} FROM ({sql}) AS s")
        ]
    if name == "timetz":
        # psycopg's time objects cannot say what the text does.
        sql = f"SELECT v::text FROM ({sql}) AS s"
    return [row[0] for row in db.execute(sql)]


def nanoseconds(months, days, rest):
    """The parts of polars's struct, the last a timedelta, with that as a number."""
    return months, days, rest // dt.timedelta(microseconds=1) * 1000


def same(left, right):
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right)) or math.isclose(left, right, rel_tol=1e-6)
    return left == right


def assert_same(actual, expected):
    assert len(actual) == len(expected)
    for i, (left, right) in enumerate(zip(actual, expected)):
        assert same(left, right), f"row {i}: {str(left)[:200]} is not {str(right)[:200]}"


@pytest.mark.parametrize("name", TYPES)
def test_pyarrow(db, read_bytes, name):
    sql_type, values, arrow_type = TYPES[name]
    sql = query(sql_type, values)
    result = table(read_bytes(db, sql))
    result.validate(full=True)
    assert result.schema.field("v").type == arrow_type
    actual = [from_arrow(name, value) for value in result["v"].to_pylist()]
    assert_same(actual, expected_values(db, name, sql))


@pytest.mark.parametrize("name", TYPES)
def test_arrays(db, read_bytes, name):
    sql_type, values, arrow_type = TYPES[name]
    one = ", ".join(f"({value})::{sql_type}" for value in values)
    sql = (
        f"SELECT v FROM (VALUES (1, ARRAY[{one}]), (2, NULL), (3, ARRAY[{one}, NULL, {one}]),"
        f" (4, ARRAY[]::{sql_type}[]), (5, ARRAY[NULL::{sql_type}])) AS t(i, v) ORDER BY i"
    )
    sql = sql.replace("SELECT v", f"SELECT v::{sql_type}[] AS v", 1)
    result = table(read_bytes(db, sql))
    result.validate(full=True)
    assert result.schema.field("v").type.value_type == arrow_type
    elements = expected_values(db, name, query(sql_type, values))[1::2]
    expected = [elements, None, [*elements, None, *elements], [], [None]]
    actual = result["v"].to_pylist()
    assert [v is None for v in actual] == [v is None for v in expected]
    for left, right in zip(actual, expected):
        if left is not None:
            assert_same([from_arrow(name, value) for value in left], right)


@pytest.mark.parametrize("name", TYPES)
def test_polars(db, read_bytes, name):
    sql_type, values, _ = TYPES[name]
    sql = query(sql_type, values)
    frame = pl.read_ipc_stream(io.BytesIO(read_bytes(db, sql)), use_pyarrow=False)
    actual = frame["v"].to_list()
    expected = expected_values(db, name, sql)
    if name in ("json", "jsonb"):
        actual = [from_arrow(name, value) for value in actual]
    if name == "interval":
        actual = [None if value is None else nanoseconds(*value.values()) for value in actual]
    if name == "uuid":
        actual = [None if value is None else uuid.UUID(bytes=value) for value in actual]
    assert_same(actual, expected)


@pytest.mark.parametrize("name", TYPES)
def test_duckdb(db, read_bytes, name):
    sql_type, values, _ = TYPES[name]
    sql = query(sql_type, values)
    result = table(read_bytes(db, sql))
    with duckdb.connect() as duck:
        duck.execute("SET timezone = 'UTC'")
        duck.register("result", result)
        if name == "interval":
            rows = duck.execute(
                "SELECT datepart('year', v) * 12 + datepart('month', v), datepart('day', v),"
                " epoch_us(v - to_months((datepart('year', v) * 12 + datepart('month', v))::int)"
                " - to_days(datepart('day', v)::int)) * 1000 FROM result"
            ).fetchall()
            actual = [None if row[0] is None else row for row in rows]
        else:
            actual = [from_arrow(name, row[0]) for row in duck.execute("SELECT v FROM result").fetchall()]
    assert_same(actual, expected_values(db, name, sql))


def test_float_nan(db, read_bytes):
    result = table(read_bytes(db, "SELECT 'NaN'::float4 AS a, 'NaN'::float8 AS b"))
    assert math.isnan(result["a"][0].as_py()) and math.isnan(result["b"][0].as_py())


@pytest.mark.parametrize("value", ["1.5", "-123456789012345678901234567890.5", "'NaN'", "'infinity'", "1e-100"])
def test_numeric_without_precision_is_text(db, read_bytes, value):
    result = table(read_bytes(db, f"SELECT ({value})::numeric AS v, ({value})::numeric::text AS t"))
    assert result.schema.field("v").type == pa.string()
    assert result["v"].to_pylist() == result["t"].to_pylist()


def test_numeric_of_more_than_38_digits_is_text(db, read_bytes):
    result = table(read_bytes(db, "SELECT 1.5::numeric(39,1) AS v, 1::numeric(36,-3) AS w"))
    assert result.schema.types == [pa.string(), pa.string()]
    assert result["v"].to_pylist() == ["1.5"]


def test_random_numerics(db, read_bytes):
    """Every combination of header form, weight and scale that fits."""
    db.execute("SELECT setseed(0.25)")
    db.execute(
        "CREATE TEMP TABLE numerics AS SELECT"
        " ((random() - 0.5) * 10 ^ (random() * 20 - 2)::int)::numeric(30,8) AS v FROM generate_series(1, 5000)"
    )
    sql = "SELECT v FROM numerics"
    result = table(read_bytes(db, sql))
    assert result["v"].to_pylist() == [row[0] for row in db.execute(sql)]


def test_dates_before_christ_and_far_future(db, read_bytes):
    result = table(read_bytes(db, "SELECT '4714-11-24 BC'::date AS a, '5874897-12-31'::date AS b,"
                                  " '4714-11-24 BC'::timestamp AS c, '290000-01-01'::timestamp AS d"))
    days = [result[c].cast(pa.int32())[0].as_py() for c in "ab"]
    microseconds = [result[c].cast(pa.int64())[0].as_py() for c in "cd"]
    sql = "SELECT '4714-11-24 BC'::date - '1970-01-01'::date, '5874897-12-31'::date - '1970-01-01'::date," \
        " extract(epoch FROM '4714-11-24 BC'::timestamp) * 1000000, extract(epoch FROM '290000-01-01'::timestamp) * 1000000"
    assert [*days, *microseconds] == [int(v) for v in db.execute(sql).fetchone()]


def test_toasted_and_compressed_values(db, read_bytes):
    db.execute(
        "CREATE TEMP TABLE wide AS SELECT repeat('abcdefgh', 50000) AS t,"
        " (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 5000) i) AS u,"
        " (SELECT array_agg(md5(i::text)) FROM generate_series(1, 5000) i) AS a,"
        " (SELECT jsonb_object_agg('k' || i, i) FROM generate_series(1, 5000) i) AS j"
    )
    result = table(read_bytes(db, "SELECT * FROM wide"))
    t, u, a, j = db.execute("SELECT t, u, a, j FROM wide").fetchone()
    assert result.to_pylist() == [{"t": t, "u": u, "a": a, "j": result["j"][0].as_py()}]
    assert json.loads(result["j"][0].as_py()) == j


def test_field_metadata_names_the_sql_type(db, read_bytes):
    result = table(read_bytes(db, "SELECT 1.5::numeric AS n, '1'::jsonb AS j, now() AS t"))
    assert [field.metadata[b"postgresql.type"] for field in result.schema] == [
        b"numeric", b"jsonb", b"timestamp with time zone",
    ]


# name: (SQL type, value, SQLSTATE, part of the detail)
UNREPRESENTABLE = {
    "date infinity": ("date", "'infinity'", "22008", "infinite"),
    "timestamp infinity": ("timestamp", "'infinity'", "22008", "infinite"),
    "timestamp -infinity": ("timestamp", "'-infinity'", "22008", "infinite"),
    "timestamptz infinity": ("timestamptz", "'infinity'", "22008", "infinite"),
    "timestamp too far": ("timestamp", "'294276-12-31'", "22008", "64 bits"),
    "time 24:00": ("time", "'24:00'", "22008", "24:00:00"),
    "interval too long": ("interval", "'100000000 hours'", "22008", "nanoseconds"),
    "numeric NaN": ("numeric(10,2)", "'NaN'", "22003", "NaN"),
    "array of arrays": ("int[]", "'{{1, 2}, {3, 4}}'", "0A000", "2 dimensions"),
    "infinity in array": ("date[]", "'{2000-01-01, infinity}'", "22008", "infinite"),
}


@pytest.mark.parametrize("name", UNREPRESENTABLE)
def test_unrepresentable_value(db, read_bytes, name):
    sql_type, value, state, detail = UNREPRESENTABLE[name]
    sql = f'SELECT i, (CASE WHEN i = 3 THEN {value} END)::{sql_type} AS "Bad col" FROM generate_series(1, 5) i'
    with pytest.raises(psycopg.Error) as raised:
        read_bytes(db, sql)
    diagnosis = raised.value.diag
    assert diagnosis.sqlstate == state
    assert diagnosis.message_primary == 'value in column "Bad col" of row 3 cannot be represented in Arrow'
    assert detail in diagnosis.message_detail
    assert diagnosis.message_hint
    # The session goes on.
    assert db.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("value", ["'1.2.3.4'::inet", "int4range(1, 2)", "ROW(1, 2)", "'(1,2)'::point",
                                   "ARRAY['1.2.3.4'::inet]", "1::money"])
def test_type_without_arrow_form(db, read_bytes, value):
    with pytest.raises(psycopg.errors.FeatureNotSupported) as raised:
        read_bytes(db, f"SELECT 1 AS a, {value} AS bad")
    assert raised.value.diag.message_primary == 'column "bad" cannot be represented in Arrow'
    assert "text" in raised.value.diag.message_hint
