"""COPY … FROM … (FORMAT arrow): sources, matching, every type there and back, privileges, all that tables have, bad input."""

import datetime as dt
import decimal
import io
import os
import random
import subprocess
import uuid

import duckdb
import polars as pl
import psycopg
import pyarrow as pa
import pytest

from conftest import copy_bytes, table

METHODS = ["heap", "amax", "columns"]


@pytest.fixture(params=METHODS)
def method(request, db):
    """Also an amax table whose columns go to leaves, however few rows there are."""
    db.execute("SET default_table_access_method = heap" if request.param == "heap" else "SET default_table_access_method = amax")
    db.execute("SET amax.bulk_threshold = 0" if request.param == "columns" else "RESET amax.bulk_threshold")
    yield request.param
    db.execute("DROP TABLE IF EXISTS t CASCADE; RESET default_table_access_method; RESET amax.bulk_threshold")


@pytest.fixture
def server_file(db):
    directory = db.execute("SHOW data_directory").fetchone()[0]
    made = []

    def write(data, suffix=".arrows"):
        made.append(f"{directory}/incoming{len(made)}{suffix}")
        with open(made[-1], "wb") as file:
            file.write(data)
        os.chmod(made[-1], 0o644)
        return made[-1]

    yield write
    for path in made:
        os.unlink(path)


def stream(data, new=pa.ipc.new_stream, **options):
    data = data if isinstance(data, pa.Table) else pa.table(data)
    sink = io.BytesIO()
    with new(sink, data.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(data, max_chunksize=1000)
    return sink.getvalue()


def send(db, statement, data):
    with db.cursor() as cursor:
        with cursor.copy(statement) as copy:
            copy.write(data if isinstance(data, bytes) else stream(data))
        return cursor.rowcount


def rows(db, query="SELECT * FROM t"):
    return db.execute(query).fetchall()


def test_by_name(db, method):
    db.execute("CREATE TABLE t (a int, b text DEFAULT 'none', c int GENERATED ALWAYS AS (a * 2) STORED, \"Dö\" bool)")
    assert send(db, "COPY t FROM STDIN (FORMAT arrow)", {"Dö": [True, None], "a": [1, 2]}) == 2
    assert rows(db) == [(1, "none", 2, True), (2, "none", 4, None)]
    # Of a stream with more columns, those that are listed.
    send(db, "COPY t (b, a) FROM STDIN (FORMAT arrow, MATCH 'name')", {"x": [0], "a": [3], "b": ["y"]})
    assert rows(db, "SELECT a, b FROM t WHERE a = 3") == [(3, "y")]


def test_by_position(db, method):
    db.execute("CREATE TABLE t (a int, gone int, b text, c int GENERATED ALWAYS AS (a) STORED)")
    db.execute("ALTER TABLE t DROP COLUMN gone")
    send(db, "COPY t FROM STDIN (FORMAT arrow, MATCH position)", {"b": [1], "a": ["x"]})
    send(db, "COPY t (b, a) FROM STDIN (FORMAT arrow, MATCH position)", {"p": ["y"], "q": [2]})
    same = pa.table([[3], ["z"]], names=["same", "same"])
    send(db, "COPY t FROM STDIN (FORMAT arrow, MATCH position)", same)
    assert rows(db) == [(1, "x", 1), (2, "y", 2), (3, "z", 3)]


@pytest.mark.parametrize("data, columns, error, message", [
    ({"a": [1], "z": [1]}, "", psycopg.errors.UndefinedColumn, 'table "t" has no column "z"'),
    ({"a": [1]}, "(a, b)", psycopg.errors.UndefinedColumn, 'has no column "b"'),
    ({"A": [1]}, "", psycopg.errors.UndefinedColumn, 'table "t" has no column "A"'),
    (pa.table([[1], [2]], names=["a", "a"]), "", psycopg.errors.DuplicateColumn, 'more than one column "a"'),
    ({"a": [1]}, "(a, nope)", psycopg.errors.UndefinedColumn, 'column "nope" of relation "t" does not exist'),
    ({"a": [1]}, "(a, a)", psycopg.errors.DuplicateColumn, 'column "a" specified more than once'),
    ({"c": [1]}, "", psycopg.errors.UndefinedColumn, 'has no column "c"'),
])
def test_names_that_do_not_match(db, data, columns, error, message):
    db.execute("CREATE TEMP TABLE t (a int, b text, c int GENERATED ALWAYS AS (a) STORED)")
    with pytest.raises(error, match=message):
        send(db, f"COPY t {columns} FROM STDIN (FORMAT arrow)", data)
    assert rows(db) == []


def test_positions_that_do_not_match(db):
    db.execute("CREATE TEMP TABLE t (a int, b text)")
    with pytest.raises(psycopg.errors.DatatypeMismatch, match="has 1 columns where 2"):
        send(db, "COPY t FROM STDIN (FORMAT arrow, MATCH position)", {"a": [1]})


@pytest.mark.parametrize("options, error, message", [
    ("MATCH 'order'", psycopg.errors.InvalidParameterValue, '"match" must be'),
    ("MATCH name, MATCH name", psycopg.errors.SyntaxError, "conflicting or redundant"),
    ("FRAMING 'file'", psycopg.errors.SyntaxError, '"framing" is not available'),
    ("DELIMITER ','", psycopg.errors.SyntaxError, '"delimiter" is not available'),
    ("FREEZE maybe", psycopg.errors.SyntaxError, "freeze requires a Boolean value"),
])
def test_options(db, options, error, message):
    db.execute("CREATE TEMP TABLE t (a int)")
    with pytest.raises(error, match=message):
        send(db, f"COPY t FROM STDIN (FORMAT arrow, {options})", {"a": [1]})


def test_freeze(db, method):
    with db.transaction():
        db.execute("CREATE TABLE t (a int)")
        send(db, "COPY t FROM STDIN (FORMAT arrow, FREEZE)", {"a": [1]})
    assert rows(db) == [(1,)]
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="cannot perform COPY FREEZE"):
        send(db, "COPY t FROM STDIN (FORMAT arrow, FREEZE)", {"a": [1]})


@pytest.mark.parametrize("options", [{}, {"compression": "lz4"}, {"compression": "zstd"}, {"emit_dictionary_deltas": True}])
@pytest.mark.parametrize("framing", [pa.ipc.new_stream, pa.ipc.new_file])
def test_framing_and_compression(db, method, framing, options):
    db.execute("CREATE TABLE t (a int, b text)")
    words = pa.array([f"word {i % 7}" for i in range(3500)])
    data = pa.table({"a": range(3500), "b": words.dictionary_encode()})
    assert send(db, "COPY t FROM STDIN (FORMAT arrow)", stream(data, framing, **options)) == 3500
    assert rows(db, "SELECT * FROM t ORDER BY a") == [(i, f"word {i % 7}") for i in range(3500)]


def test_dictionaries_that_change(db):
    db.execute("CREATE TEMP TABLE t (b text)")
    parts = [pa.array(["x", "y", None]).dictionary_encode(), pa.array(["z", "x"]).dictionary_encode()]
    batches = [pa.record_batch([part], names=["b"]) for part in parts]
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    send(db, "COPY t FROM STDIN (FORMAT arrow)", sink.getvalue())
    assert rows(db) == [("x",), ("y",), (None,), ("z",), ("x",)]


def test_files_and_programs(db, method, server_file):
    db.execute("CREATE TABLE t (a int)")
    path = server_file(stream({"a": [1, 2]}))
    db.execute(f"COPY t FROM '{path}' (FORMAT arrow)")
    db.execute(f"COPY t FROM '{server_file(stream({'a': [3]}, pa.ipc.new_file), '.arrow')}' (FORMAT arrow)")
    db.execute(f"COPY t FROM PROGRAM 'cat {path}' (FORMAT arrow)")
    assert rows(db, "SELECT sum(a), count(*) FROM t") == [(9, 5)]
    with pytest.raises(psycopg.errors.InvalidName):
        db.execute("COPY t FROM 'here.arrow' (FORMAT arrow)")
    with pytest.raises(psycopg.errors.UndefinedFile) as raised:
        db.execute("COPY t FROM '/nowhere.arrow' (FORMAT arrow)")
    assert "psql's \\copy" in raised.value.diag.message_hint
    with pytest.raises(psycopg.errors.WrongObjectType, match="is a directory"):
        db.execute("COPY t FROM '/tmp' (FORMAT arrow)")
    with pytest.raises(psycopg.errors.ExternalRoutineException, match="failed"):
        db.execute("COPY t FROM PROGRAM 'false' (FORMAT arrow)")
    # What a program sent before it failed is not kept.
    with pytest.raises(psycopg.errors.ExternalRoutineException, match="failed"):
        db.execute(f"COPY t FROM PROGRAM 'cat {path}; exit 3' (FORMAT arrow)")
    assert rows(db, "SELECT count(*) FROM t") == [(5,)]


def test_psql_copy(db, method, tmp_path):
    db.execute("CREATE TABLE t (a int, b text)")
    path = tmp_path / "out.arrow"
    # With what ends a text COPY in it.
    path.write_bytes(stream({"a": [1, 2], "b": ["\n\\.\n", "x"]}))
    subprocess.run(["psql", "-qXc", "SELECT amax.load()", "-c", f"\\copy t FROM '{path}' (FORMAT arrow)"], check=True,
                   stdout=subprocess.DEVNULL)
    assert rows(db) == [(1, "\n\\.\n"), (2, "x")]


def test_privileges(db, role):
    db.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (a int, b int, c int)")
    db.execute("GRANT INSERT (a) ON t TO arrow_reader")
    send(role, "COPY t FROM STDIN (FORMAT arrow)", {"a": [1]})
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        send(role, "COPY t FROM STDIN (FORMAT arrow)", {"a": [1], "b": [2]})
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="pg_read_server_files"):
        role.execute("COPY t FROM '/etc/passwd' (FORMAT arrow)")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="pg_execute_server_program"):
        role.execute("COPY t FROM PROGRAM 'true' (FORMAT arrow)")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        send(role, "COPY t FROM STDIN (FORMAT arrow) WHERE a > 0", {"a": [1]})
    # Before a program is run.
    db.execute("GRANT pg_execute_server_program TO arrow_reader")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for table t"):
        role.execute("COPY t (c) FROM PROGRAM 'exit 1' (FORMAT arrow)")
    db.execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="row-level security"):
        send(role, "COPY t FROM STDIN (FORMAT arrow)", {"a": [1]})
    assert rows(db, "SELECT a FROM t") == [(1,)]
    db.execute("DROP TABLE t")


def test_read_only(db):
    db.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (a int)")
    with db.transaction(), pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        db.execute("SET TRANSACTION READ ONLY")
        with db.transaction():
            send(db, "COPY t FROM STDIN (FORMAT arrow)", {"a": [1]})
    db.execute("DROP TABLE t")


def test_where(db, method):
    db.execute("CREATE TABLE t (a int, b text, c int GENERATED ALWAYS AS (a) STORED)")
    assert send(db, "COPY t FROM STDIN (FORMAT arrow) WHERE a % 2 = 0 AND b <> 'x'", {"a": [1, 2, 4], "b": ["y", "x", "z"]}) == 1
    assert rows(db, "SELECT a FROM t") == [(4,)]
    for condition in ["c = 1", "t IS NOT NULL"]:
        with pytest.raises(psycopg.errors.InvalidColumnReference, match="generated columns"):
            send(db, f"COPY t FROM STDIN (FORMAT arrow) WHERE {condition}", {"a": [1], "b": ["y"]})


def test_all_that_tables_have(db, method):
    db.execute("""
        CREATE TABLE t (a int PRIMARY KEY, b text CHECK (b <> 'bad'), stamp text) PARTITION BY RANGE (a);
        CREATE TABLE t_low PARTITION OF t FOR VALUES FROM (0) TO (100);
        CREATE TABLE t_high PARTITION OF t FOR VALUES FROM (100) TO (1000);
        CREATE OR REPLACE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN NEW.stamp := TG_TABLE_NAME || ' ' || NEW.a; RETURN NEW; END $$;
        CREATE TRIGGER stamp BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION stamp()""")
    send(db, "COPY t FROM STDIN (FORMAT arrow)", {"a": [1, 200], "b": ["x", "y"]})
    assert rows(db, "SELECT * FROM t ORDER BY a") == [(1, "x", "t_low 1"), (200, "y", "t_high 200")]
    for bad, error in [({"a": [5, 1], "b": ["x", "x"]}, psycopg.errors.UniqueViolation),
                       ({"a": [5, 6], "b": ["x", "bad"]}, psycopg.errors.CheckViolation),
                       ({"a": [5, 5000], "b": ["x", "x"]}, psycopg.errors.CheckViolation)]:
        with pytest.raises(error) as raised:
            send(db, "COPY t FROM STDIN (FORMAT arrow)", bad)
        assert "line 2" in raised.value.diag.context
    assert rows(db, "SELECT count(*) FROM t") == [(2,)]
    db.execute("DROP FUNCTION stamp() CASCADE")


def test_copy_within_a_trigger(db, server_file):
    path = server_file(stream({"a": [10, 20, 30]}))
    db.execute(f"""
        CREATE TEMP TABLE t (a int); CREATE TEMP TABLE inner_t (a int);
        CREATE FUNCTION pg_temp.copies() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN EXECUTE 'COPY inner_t FROM ''{path}'' (FORMAT arrow)'; RETURN NEW; END $$;
        CREATE TRIGGER copies BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION pg_temp.copies()""")
    send(db, "COPY t FROM STDIN (FORMAT arrow)", {"a": list(range(3000))})
    assert rows(db, "SELECT count(*), sum(a) FROM inner_t") == [(9000, 180000)]
    assert rows(db, "SELECT count(*), sum(a) FROM t") == [(3000, 2999 * 1500)]


INTEGERS = [0, 1, -1, None, 127, -128]
UUID = uuid.UUID("12345678-9abc-def0-1234-56789abcdef0")
UTC = dt.timezone.utc

# SQL type, Arrow array, the values that PostgreSQL has then as text.
TYPES = [
    ("bool", pa.array([True, False, None]), ["true", "false", None]),
    *[(sql, pa.array(INTEGERS, arrow), [None if value is None else str(value) for value in INTEGERS])
      for sql in ("smallint", "int", "bigint", "numeric", "text", "float8") for arrow in (pa.int8(), pa.int16(), pa.int32(), pa.int64())],
    ("numeric(20)", pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"]),
    ("oid", pa.array([2**32 - 1], pa.uint32()), ["4294967295"]),
    ("float4", pa.array([0.1, 1e-40, float("inf"), None], pa.float32()), ["0.1", "1e-40", "Infinity", None]),
    ("float8", pa.array([0.1, 5e-324, 1.7976931348623157e308, float("nan")]), ["0.1", "5e-324", "1.7976931348623157e+308", "NaN"]),
    ("float4", pa.array([1.5], pa.float16()), ["1.5"]),
    ("int", pa.array([3.0, None]), ["3", None]),
    ("int", pa.array([123456792.0], pa.float32()), ["123456792"]),
    ("bigint", pa.array([2.0**62]), [str(2**62)]),
    ("text", pa.nulls(2, pa.dictionary(pa.int8(), pa.string())), [None, None]),
    ("interval", pa.array([10**16 + 1], pa.duration("us")), ["2777777:46:40.000001"]),
    ("jsonb[]", pa.array([[float("nan"), 1.0]]), ['{"\\"NaN\\"",1}']),
    ("numeric(10,2)", pa.array([decimal.Decimal("1.20"), decimal.Decimal("-0.05")]), ["1.20", "-0.05"]),
    ("numeric", pa.array([decimal.Decimal("9" * 70 + "." + "1" * 6)], pa.decimal256(76, 6)), ["9" * 70 + "." + "1" * 6]),
    ("numeric", pa.array([decimal.Decimal("1200")], pa.decimal128(5, -2)), ["1200"]),
    *[("text", pa.array(["", "ä\t\\N\n", None], arrow), ["", "ä\t\\N\n", None])
      for arrow in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()))],
    ("char(3)", pa.array(["a"]), ["a"]),
    ("name", pa.array(["n"]), ["n"]),
    *[("bytea", pa.array([b"\x00\xff\\", b"", None], arrow), ["\\x00ff5c", "\\x", None])
      for arrow in (pa.binary(), pa.large_binary(), pa.binary_view())],
    ("bytea", pa.array([b"ab"], pa.binary(2)), ["\\x6162"]),
    ("uuid", pa.array([UUID.bytes], pa.binary(16)), [str(UUID)]),
    ("uuid", pa.ExtensionArray.from_storage(pa.uuid(), pa.array([UUID.bytes], pa.binary(16))), [str(UUID)]),
    ("text", pa.ExtensionArray.from_storage(pa.uuid(), pa.array([UUID.bytes], pa.binary(16))), [str(UUID)]),
    ("uuid", pa.array([str(UUID)]), [str(UUID)]),
    ("date", pa.array([dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31)]), ["2024-02-29", "0001-01-01", "9999-12-31"]),
    ("date", pa.array([-719528, 2932897], pa.date32()), ["0001-01-01 BC", "10000-01-01"]),
    ("date", pa.array([86400000], pa.date64()), ["1970-01-02"]),
    ("date", pa.array([86400], pa.timestamp("s")), ["1970-01-02"]),
    *[("time", pa.array([dt.time(23, 59, 59), dt.time(0, 0, 0, 1000)], arrow), ["23:59:59", "00:00:00.001"])
      for arrow in (pa.time32("ms"), pa.time64("us"), pa.time64("ns"))],
    *[("timestamp", pa.array([dt.datetime(1969, 12, 31, 23, 59, 59), dt.datetime(2024, 2, 29)], pa.timestamp(unit)),
       ["1969-12-31 23:59:59", "2024-02-29 00:00:00"]) for unit in ("s", "ms", "us", "ns")],
    ("timestamp", pa.array([-62135596800000000 - 1], pa.timestamp("us")), ["0001-12-31 23:59:59.999999 BC"]),
    ("timestamptz", pa.array([dt.datetime(2024, 1, 1, 12, tzinfo=UTC)], pa.timestamp("us", "Europe/Vienna")), ["2024-01-01 12:00:00+00"]),
    ("timestamptz", pa.array([dt.datetime(2024, 1, 1, 12)]), ["2024-01-01 12:00:00+00"]),
    ("interval", pa.array([dt.timedelta(days=2, microseconds=-1)]), ["47:59:59.999999"]),
    ("interval", pa.array([pa.MonthDayNano([14, -3, -1500000000]), None]), ["1 year 2 mons -3 days -00:00:01.5", None]),
    ("jsonb", pa.array(['{"b": 1, "a": [null]}', None]), ['{"a": [null], "b": 1}', None]),
    ("json", pa.array(['{"b":  1}']), ['{"b":  1}']),
    ("jsonb", pa.array([1.5, None]), ["1.5", None]),
    ("jsonb", pa.array([dt.date(2024, 1, 1)]), ['"2024-01-01"']),
    ("jsonb", pa.array([True]), ["true"]),
    ("jsonb", pa.array([{"a": [1, None], "b": {"c": 'x"\n\\'}, "t": dt.datetime(2024, 1, 1)}, {"a": None, "b": None, "t": None}]),
     ['{"a": [1, null], "b": {"c": "x\\"\\n\\\\"}, "t": "2024-01-01T00:00:00"}', '{"a": null, "b": null, "t": null}']),
    ("jsonb", pa.array([[("k", 1), ("l", None)]], pa.map_(pa.string(), pa.int32())), ['{"k": 1, "l": null}']),
    ("jsonb", pa.UnionArray.from_dense(pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()),
                                       [pa.array([1, None]), pa.array([True])]), ["1", "true", None]),
    ("int[]", pa.array([[1, None], [], None]), ["{1,NULL}", "{}", None]),
    ("int[]", pa.array([[[1, 2], [3, 4]]]), ["{{1,2},{3,4}}"]),
    ("float4[]", pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)), ["{1,2}"]),
    ("text[]", pa.array([['a"b', "", "NULL", None, "c\\d\t"]], pa.large_list(pa.string())), ['{"a\\"b","","NULL",NULL,"c\\\\d\t"}']),
    ("date[]", pa.array([[dt.date(2024, 1, 1)]]), ["{2024-01-01}"]),
    ("jsonb[]", pa.array([[{"a": "x"}, None]]), ['{"{\\"a\\": \\"x\\"}",NULL}']),
    ("box[]", pa.array([["(1,1),(0,0)", "(2,2),(1,1)"]]), ["{(1,1),(0,0);(2,2),(1,1)}"]),
    ("pair", pa.array([{"b": 'x"y', "a": 1}, {"b": None, "a": None}, None]), ['(1,"x""y")', "(,)", None]),
    ("pair[]", pa.array([[{"a": 1, "b": "x,y"}]]), ['{"(1,\\"x,y\\")"}']),
    ("mood", pa.array(["sad", None]).dictionary_encode(), ["sad", None]),
    ("positive", pa.array([1]), ["1"]),
    ("inet", pa.array(["10.0.0.1/8"]), ["10.0.0.1/8"]),
    ("int4range", pa.array(["[1,3)"]), ["[1,3)"]),
    ("text", pa.nulls(2), [None, None]),
    ("int", pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([7, None])), ["7", "7", None]),
]


@pytest.fixture
def types(db):
    db.execute("""DROP TYPE IF EXISTS pair, mood CASCADE; DROP DOMAIN IF EXISTS positive;
        CREATE TYPE pair AS (a int, b text); CREATE TYPE mood AS ENUM ('sad', 'glad');
        CREATE DOMAIN positive AS int CHECK (VALUE > 0)""")
    yield
    db.execute("DROP TYPE pair, mood CASCADE; DROP DOMAIN positive CASCADE")


@pytest.mark.parametrize("sql, array, expected", TYPES, ids=[f"{sql} from {array.type}" for sql, array, _ in TYPES])
def test_types(db, types, method, sql, array, expected):
    db.execute(f"CREATE TABLE t (n int, v {sql})")
    # Settings of the session are not the stream's.
    db.execute("SET datestyle = 'SQL, DMY'; SET intervalstyle = 'sql_standard'")
    send(db, "COPY t FROM STDIN (FORMAT arrow)", pa.table({"n": range(len(array)), "v": array}))
    db.execute("RESET datestyle; RESET intervalstyle")
    assert [row[0] for row in rows(db, "SELECT v::text FROM t ORDER BY n")] == expected


@pytest.mark.parametrize("sql, array, error, message", [
    ("int", pa.array(["x"]), psycopg.errors.InvalidTextRepresentation, 'invalid input syntax for type integer: "x"'),
    ("smallint", pa.array([70000]), psycopg.errors.NumericValueOutOfRange, "out of range"),
    ("int", pa.array([1.5]), psycopg.errors.InvalidTextRepresentation, "invalid input syntax"),
    ("text", pa.array([b"x"]), psycopg.errors.DatatypeMismatch, "cannot be loaded from Arrow type Binary"),
    ("uuid", pa.array([b"x" * 15], pa.binary(15)), psycopg.errors.DatatypeMismatch, "FixedSizeBinary"),
    ("timestamp", pa.array([0], pa.timestamp("us", "UTC")), psycopg.errors.DatatypeMismatch, "Timestamp"),
    ("timestamp", pa.array([1], pa.timestamp("ns")), psycopg.errors.DatetimeFieldOverflow, "does not fit type timestamp"),
    ("date", pa.array([0], pa.timestamp("s", "UTC")), psycopg.errors.DatatypeMismatch, "Timestamp"),
    ("text", pa.array([1], pa.date64()), psycopg.errors.DatetimeFieldOverflow, "does not fit"),
    ("jsonb", pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), psycopg.errors.DatatypeMismatch, "cannot be loaded"),
    ("date", pa.array([1], pa.timestamp("s")), psycopg.errors.DatetimeFieldOverflow, "does not fit type date"),
    ("time", pa.array([-1], pa.time64("us")), psycopg.errors.DatetimeFieldOverflow, "does not fit type time"),
    ("timestamp", pa.array([2**62], pa.timestamp("s")), psycopg.errors.DatetimeFieldOverflow, "out of range"),
    ("date", pa.array([2**31 - 1], pa.date32()), psycopg.errors.DatetimeFieldOverflow, "out of range"),
    ("text", pa.array(["a\0b"]), psycopg.errors.CharacterNotInRepertoire, "0x00"),
    ("int[]", pa.array([{"a": 1}]), psycopg.errors.DatatypeMismatch, "cannot be loaded"),
    ("date", pa.array([[1]]), psycopg.errors.DatatypeMismatch, "cannot be loaded"),
    ("pair", pa.array([{"a": 1, "z": 1}]), psycopg.errors.DatatypeMismatch, "cannot be loaded"),
    ("positive", pa.array([0]), psycopg.errors.CheckViolation, "violates check constraint"),
    ("mood", pa.array(["dull"]), psycopg.errors.InvalidTextRepresentation, "invalid input value for enum"),
])
def test_values_that_do_not_fit(db, types, sql, array, error, message):
    db.execute(f"CREATE TEMP TABLE t (v {sql})")
    with pytest.raises(error, match=message) as raised:
        send(db, "COPY t FROM STDIN (FORMAT arrow)", pa.table({"v": array}))
    assert raised.value.diag.context.startswith("COPY t, line 1")
    assert rows(db) == []


ROUND_TRIP = """a int2, b int4, c int8, d oid, e float4, f float8, g numeric(20,5), h numeric, i text, j varchar(20), k char(5),
    l bytea, m date, n time, o timestamp, p timestamptz, q interval, r uuid, s json, t jsonb, u bool, v int[], w text[],
    x timestamptz[], y "char", z name"""


def random_row(random):
    def some(value):
        return None if random.random() < 0.1 else value
    text = "".join(random.choices("aä\\\t\n\"'{},N ", k=random.randrange(8)))
    at = dt.datetime(2000, 1, 1) + dt.timedelta(microseconds=random.randrange(-2**54, 2**54))
    number = decimal.Decimal(random.randrange(-10**15, 10**15)).scaleb(-5)
    return tuple(map(some, (
        random.randrange(-2**15, 2**15), random.randrange(-2**31, 2**31), random.randrange(-2**63, 2**63), random.randrange(2**32),
        random.choice([0.5, -1e-30, float("inf"), 3.1415927]), random.uniform(-1e9, 1e9), number, number, text, text, "ab",
        text.encode(), at.date(), at.time(), at, at.replace(tzinfo=UTC), dt.timedelta(days=random.randrange(99), microseconds=random.randrange(10**9)),
        uuid.UUID(int=random.getrandbits(128)), f'{{"a": {random.randrange(9)}}}', f'{{"a": [{random.randrange(9)}, null]}}',
        random.random() < 0.5, [some(random.randrange(99)) for _ in range(random.randrange(4))], [some(text)],
        [at.replace(tzinfo=UTC)], "x", "name")))


@pytest.mark.parametrize("seed", range(4))
def test_there_and_back(db, method, seed):
    """What COPY TO writes, COPY FROM reads: the same rows, also by way of polars and DuckDB."""
    generator = random.Random(seed)
    db.execute(f"DROP TABLE IF EXISTS t, back; CREATE TABLE t ({ROUND_TRIP}); CREATE TABLE back (LIKE t)")
    columns = len(ROUND_TRIP.split(", "))
    with db.cursor() as cursor:
        cursor.executemany(f"INSERT INTO t VALUES ({', '.join(['%s'] * 26)})", [random_row(generator) for _ in range(300)])
    if seed % 2:
        db.execute("VACUUM (FREEZE) t")
    sent = copy_bytes(db, "COPY t TO STDOUT (FORMAT arrow)")
    send(db, "COPY back FROM STDIN (FORMAT arrow)", sent)
    difference = "SELECT count(*) FROM (SELECT x::text FROM t x EXCEPT ALL SELECT x::text FROM back x) d"
    assert rows(db, difference) == [(0,)]
    assert rows(db, "SELECT count(*) FROM back") == [(300,)]
    assert table(copy_bytes(db, "COPY back TO STDOUT (FORMAT arrow)")).equals(table(sent))
    # DuckDB's and polars' own arrays: views, large ones.
    db.execute("TRUNCATE back")
    arrow = table(sent)
    through = duckdb.sql("SELECT * FROM arrow").to_arrow_table()
    send(db, "COPY back (a, b, c, e, f, g, i, m, n, o, p, u, v, w) FROM STDIN (FORMAT arrow)", through)
    some = "a, b, c, e, f, g, i, m, n, o, p, u, v, w"
    some_difference = f"SELECT count(*) FROM (SELECT {some} FROM t EXCEPT ALL SELECT {some} FROM back) x"
    assert rows(db, some_difference) == [(0,)]
    db.execute("TRUNCATE back")
    frame = pl.from_arrow(arrow.select(some.split(", ")))
    sink = io.BytesIO()
    frame.write_ipc_stream(sink)
    send(db, f"COPY back ({some}) FROM STDIN (FORMAT arrow)", sink.getvalue())
    assert rows(db, some_difference) == [(0,)]
    db.execute("DROP TABLE back")


def as_columns(db, statement, data):
    """How many rows went to leaves as columns."""
    said = []

    def hear(notice):
        said.append(notice.message_primary)

    db.add_notice_handler(hear)
    db.execute("SET client_min_messages = debug1")
    try:
        send(db, statement, data)
    finally:
        db.execute("RESET client_min_messages")
        db.remove_notice_handler(hear)
    counts = [message.split()[0] for message in said if message.endswith("as columns")]
    return sum(map(int, counts))


PLAIN = """a int2, b int4, c int8, e float4, f float8, g numeric(20,5), i text, j varchar(20), k char(5), l bytea, m date, n time, o timestamp,
    p timestamptz, r uuid, t jsonb, u bool"""


@pytest.fixture
def columns(db):
    db.execute("SET default_table_access_method = amax; DROP TABLE IF EXISTS t")
    yield
    db.execute("DROP TABLE IF EXISTS t CASCADE; RESET default_table_access_method")


def test_columns_go_to_leaves(db, columns):
    """As many rows as make a component; the same rows as heap has of the same stream, over several leaves and blocks."""
    generator = random.Random(7)
    names = [column.strip().split()[0] for column in PLAIN.replace("20,5", "20;5").split(",")]
    all_names = [column.strip().split()[0] for column in ROUND_TRIP.replace("20,5", "20;5").split(",")]
    db.execute(f"CREATE TABLE t ({PLAIN}); DROP TABLE IF EXISTS h; CREATE TABLE h (LIKE t) USING heap; SET amax.rows_per_leaf = 700")
    some = [random_row(generator) for _ in range(500)]
    picked = [[row[all_names.index(name)] for name in names] for row in some]
    with db.cursor() as cursor:
        cursor.executemany(f"INSERT INTO h VALUES ({', '.join(['%s'] * len(names))})", picked)
    db.execute("INSERT INTO h SELECT h.* FROM h, generate_series(1, 9)")
    data = table(copy_bytes(db, "COPY h TO STDOUT (FORMAT arrow)"))
    assert as_columns(db, "COPY t FROM STDIN (FORMAT arrow)", data) == 5000
    words = data.set_column(names.index("i"), "i", data["i"].dictionary_encode())
    assert as_columns(db, "COPY t FROM STDIN (FORMAT arrow)", words) == 5000
    for there, here in [("SELECT h.* FROM h, generate_series(1, 2)", "SELECT * FROM t"), ("SELECT * FROM t", "SELECT h.* FROM h, generate_series(1, 2)")]:
        assert rows(db, f"SELECT count(*) FROM (SELECT x::text FROM ({there}) x EXCEPT ALL SELECT y::text FROM ({here}) y) d") == [(0,)]
    assert rows(db, "SELECT sum(rows) FROM amax.components('t')") == [(10000,)]
    assert rows(db, "SELECT * FROM amax.verify('t')") == []
    db.execute("DROP TABLE h; RESET amax.rows_per_leaf")


def test_some_columns_go_to_leaves(db, columns):
    db.execute("CREATE TABLE t (a int, gone int, b text, c int); ALTER TABLE t DROP COLUMN gone")
    assert as_columns(db, "COPY t (c, a) FROM STDIN (FORMAT arrow)", {"a": range(2000), "c": range(2000), "x": range(2000)}) == 2000
    assert rows(db, "SELECT count(*), count(b), sum(a), sum(c) FROM t WHERE a = c") == [(2000, 0, 1999000, 1999000)]


@pytest.mark.parametrize("definition, options", [
    ("a int CHECK (a >= 0)", ""), ("a int, b int DEFAULT 1", ""), ("a int, b int GENERATED ALWAYS AS (a) STORED", ""),
    ("a int, b int GENERATED ALWAYS AS IDENTITY", ""), ("a int PRIMARY KEY", ""), ("a positive", ""), ("a int, b never", ""), ("a int", "WHERE a > 5"),
])
def test_tables_with_more_take_rows(db, columns, definition, options):
    db.execute("DROP DOMAIN IF EXISTS positive, never; CREATE DOMAIN positive AS int CHECK (VALUE >= 0); CREATE DOMAIN never AS int DEFAULT 3")
    db.execute(f"CREATE TABLE t ({definition})")
    assert as_columns(db, f"COPY t (a) FROM STDIN (FORMAT arrow) {options}", {"a": range(3000)}) == 0
    assert rows(db, "SELECT count(*) FROM t") == [(3000 if not options else 2994,)]
    db.execute("DROP TABLE t; DROP DOMAIN positive, never")


def test_triggers_see_rows(db, columns):
    db.execute("""CREATE TABLE t (a int);
        CREATE FUNCTION pg_temp.twice() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.a := NEW.a * 2; RETURN NEW; END $$;
        CREATE TRIGGER twice BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION pg_temp.twice()""")
    assert as_columns(db, "COPY t FROM STDIN (FORMAT arrow)", {"a": range(3000)}) == 0
    assert rows(db, "SELECT sum(a) FROM t") == [(2999 * 3000,)]


def test_few_rows_stay_rows(db, columns):
    db.execute("CREATE TABLE t (a int)")
    assert as_columns(db, "COPY t FROM STDIN (FORMAT arrow)", {"a": range(20)}) == 0
    assert rows(db, "SELECT count(*) FROM t") == [(20,)]


@pytest.mark.parametrize("bad, error", [
    ({"a": 2**31}, psycopg.errors.NumericValueOutOfRange), ({"a": None}, psycopg.errors.NotNullViolation),
    ({"b": "123456"}, psycopg.errors.StringDataRightTruncation), ({"b": "x\0"}, psycopg.errors.CharacterNotInRepertoire),
    ({"c": decimal.Decimal("1000.00")}, psycopg.errors.NumericValueOutOfRange),
])
def test_what_does_not_fit_is_found_in_its_row(db, columns, bad, error):
    """Batches before it went as columns; errors say the row of the stream."""
    db.execute("CREATE TABLE t (a int NOT NULL, b varchar(5), c numeric(5,2)); SET amax.bulk_threshold = 0")
    good = [{"a": i, "b": "é" * 5, "c": decimal.Decimal("1.5")} for i in range(3000)]
    kinds = pa.schema([("a", pa.int64()), ("b", pa.string()), ("c", pa.decimal128(9, 2))])
    assert as_columns(db, "COPY t FROM STDIN (FORMAT arrow)", pa.Table.from_pylist(good, kinds)) == 3000
    with pytest.raises(error) as raised:
        send(db, "COPY t FROM STDIN (FORMAT arrow)", pa.Table.from_pylist([*good[:2500], good[2500] | bad, *good[2501:]], kinds))
    assert "line 2501" in raised.value.diag.context
    # What is out of range for a column that another batch has may fit it as text.
    spaces = pa.Table.from_pylist([*good[:2500], good[2500] | {"b": "12345   "}, *good[2501:]], kinds)
    assert as_columns(db, "COPY t FROM STDIN (FORMAT arrow)", spaces) == 2000
    assert rows(db, "SELECT count(*), count(*) FILTER (WHERE b = '12345') FROM t") == [(6000, 1)]
    db.execute("RESET amax.bulk_threshold")


def random_json(random, depth=0):
    """A text, such as others write it."""
    kind = random.randrange(9 if depth < 4 else 6)
    space = random.choice(["", "", " ", "\n\t "])
    if kind == 0:
        return random.choice(["null", "true", "false"])
    if kind < 4:
        return random.choice(["0", "-0", "-0.0", "1.50", "1e5", "1E-7", "12345678901234567890.5", "0.1e+3", "-17", "1e300", "9" * 40, "0." + "0" * 30 + "1"])
    if kind < 6:
        return '"' + "".join(random.choices(["a", "é", "\\n", "\\\"", "\\\\", "\\u00e9", "\\ud83d\\ude00", "\\/", " ", "😀"], k=random.randrange(6))) + '"'
    if kind < 7:
        return "[" + space + ("," + space).join(random_json(random, depth + 1) for _ in range(random.randrange(5))) + "]"
    keys = random.choices(["a", "b", "bb", "", "\\u0061", "key"], k=random.randrange(6))
    return "{" + ",".join(f'"{key}"{space}:{space}{random_json(random, depth + 1)}' for key in keys) + "}" + space


def test_documents_go_to_leaves(db, columns):
    """What jsonb_in makes of a text."""
    generator = random.Random(11)
    texts = [None if i % 50 == 0 else random_json(generator) for i in range(20000)]
    db.execute("CREATE TABLE t (n int, doc jsonb); DROP TABLE IF EXISTS h; CREATE TABLE h (LIKE t) USING heap")
    data = {"n": range(20000), "doc": texts}
    assert as_columns(db, "COPY t FROM STDIN (FORMAT arrow)", data) == 20000
    send(db, "COPY h FROM STDIN (FORMAT arrow)", data)
    differs = "t.doc IS DISTINCT FROM h.doc OR t.doc::text IS DISTINCT FROM h.doc::text OR jsonb_send(t.doc) IS DISTINCT FROM jsonb_send(h.doc)"
    assert rows(db, f"SELECT count(*), count(*) FILTER (WHERE {differs}) FROM t JOIN h USING (n)") == [(20000, 0)]
    db.execute("DROP TABLE h")


@pytest.mark.parametrize("bad", ["{", "[1,]", "01", "1.", '"\\u0000"', '"\\ud800"', "NaN", "", "[" * 700 + "x", '"\t"', "nul", '{"a":1}}', "'a'", "1e999999"])
def test_no_documents(db, columns, bad):
    """The same error as without columns, whichever it is."""
    errors = []
    db.execute("CREATE TABLE t (doc jsonb); DROP TABLE IF EXISTS h; CREATE TABLE h (LIKE t) USING heap; SET amax.bulk_threshold = 0")
    for name in ["t", "h"]:
        with pytest.raises(psycopg.Error) as raised:
            send(db, f"COPY {name} FROM STDIN (FORMAT arrow)", {"doc": ["1"] * 1500 + [bad] + ["2"] * 700})
        said = raised.value.diag
        errors.append((said.sqlstate, said.message_primary, said.message_detail, said.context.replace("COPY h", "COPY t")))
    assert errors[0] == errors[1]
    assert "line 1501" in errors[0][3]
    deep = "[" * 700 + "]" * 700
    assert as_columns(db, "COPY t FROM STDIN (FORMAT arrow)", {"doc": ["1"] * 1500 + [deep]}) == 1000
    assert rows(db, "SELECT count(*) FROM t") == [(1501,)]
    db.execute("DROP TABLE h; RESET amax.bulk_threshold")


def test_a_load_that_is_rolled_back(db, columns):
    db.execute("CREATE TABLE t (a int)")
    with db.transaction(force_rollback=True):
        assert as_columns(db, "COPY t FROM STDIN (FORMAT arrow)", {"a": range(3000)}) == 3000
        # By commands of the same transaction it is seen.
        assert rows(db, "SELECT count(*) FROM t") == [(3000,)]
    assert rows(db, "SELECT count(*) FROM t") == [(0,)]


def test_bad_streams_leave_nothing(db, method):
    db.execute("CREATE TABLE t (a int, b text)")
    whole = stream({"a": range(5000), "b": ["x" * 10] * 5000})
    for end in [0, 3, 4, 8, 100, len(whole) // 2, len(whole) - 9, len(whole) - 1]:
        with pytest.raises(psycopg.errors.BadCopyFileFormat, match="could not read the Arrow stream"):
            send(db, "COPY t FROM STDIN (FORMAT arrow)", whole[:end])
    with pytest.raises(psycopg.errors.BadCopyFileFormat) as raised:
        send(db, "COPY t FROM STDIN (FORMAT arrow)", whole + b"x")
    assert raised.value.diag.message_detail == "Something follows its end."
    with pytest.raises(psycopg.errors.BadCopyFileFormat) as raised:
        send(db, "COPY t FROM STDIN (FORMAT arrow)", b"a,b\n1,x\n")
    assert raised.value.diag.message_detail == "It does not begin as a stream or a file of Arrow does."
    with pytest.raises(RuntimeError):
        with db.cursor().copy("COPY t FROM STDIN (FORMAT arrow)") as copy:
            copy.write(whole[:2000])
            raise RuntimeError("the client gives up")
    assert rows(db) == []
    assert db.execute("SELECT 1").fetchone() == (1,)


def test_damaged_streams(db, method):
    """The session lives, and what a stream does not say whole is not loaded; the crate's test has very many more."""
    db.execute("CREATE TABLE t (a int, b text)")
    whole = stream({"a": range(2000), "b": [f"text {i}" for i in range(2000)]}, compression="lz4")
    generator = random.Random(1)
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        before = rows(db, "SELECT count(*) FROM t")[0][0]
        try:
            more = send(db, "COPY t FROM STDIN (FORMAT arrow)", bytes(damaged))
        except psycopg.Error:
            more = 0
        assert rows(db, "SELECT count(*) FROM t") == [(before + more,)]


def test_lost_client(db):
    db.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (a int)")
    other = psycopg.connect(autocommit=True)
    pid = other.info.backend_pid
    other.pgconn.send_query(b"COPY t FROM STDIN (FORMAT arrow)")
    assert other.pgconn.get_result().status == psycopg.pq.ExecStatus.COPY_IN
    other.pgconn.put_copy_data(stream({"a": range(5000)})[:3000])
    other.pgconn.flush()
    other.pgconn.finish()
    for _ in range(100):
        if rows(db, f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}") == [(0,)]:
            break
        db.execute("SELECT pg_sleep(0.1)")
    else:
        pytest.fail("the backend stays")
    assert rows(db) == []
    db.execute("DROP TABLE t")


def test_cancel(db):
    db.execute("CREATE TEMP TABLE t (a int)")
    db.execute("SET statement_timeout = '300ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        db.execute("COPY t FROM PROGRAM 'sleep 3' (FORMAT arrow)")


def test_latin_database(db):
    db.execute("DROP DATABASE IF EXISTS latin")
    db.execute("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    with psycopg.connect(dbname="latin", autocommit=True) as latin:
        latin.execute("CREATE EXTENSION amax; SELECT amax.load()")
        latin.execute('CREATE TABLE t ("Dö" text, doc jsonb) USING amax')
        send(latin, "COPY t FROM STDIN (FORMAT arrow)", {"Dö": ["ä"], "doc": [{"ü": "ß"}]})
        assert latin.execute("SELECT \"Dö\", doc->>'ü' FROM t").fetchall() == [("ä", "ß")]
        with pytest.raises(psycopg.errors.UntranslatableCharacter):
            send(latin, "COPY t FROM STDIN (FORMAT arrow)", {"Dö": ["漢"]})
    db.execute("DROP DATABASE latin")


def test_tables_without_columns(db, method):
    db.execute("DROP TABLE IF EXISTS t; CREATE TABLE t ()")
    assert send(db, "COPY t FROM STDIN (FORMAT arrow)", copy_bytes(db, "COPY (SELECT FROM generate_series(1, 7)) TO STDOUT (FORMAT arrow)")) == 7
    assert rows(db, "SELECT count(*) FROM t") == [(7,)]
    db.execute("ALTER TABLE t ADD a int")
    with pytest.raises(psycopg.errors.UndefinedColumn, match="has no columns"):
        send(db, "COPY t FROM STDIN (FORMAT arrow)", copy_bytes(db, "COPY (SELECT) TO STDOUT (FORMAT arrow)"))
