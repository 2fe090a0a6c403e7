"""COPY … TO and FROM … (FORMAT parquet): what we write, read by others; what others write, read by us."""

import datetime as dt
import decimal
import io
import os
import random
import subprocess
import threading
import time
import uuid
from pathlib import Path

import duckdb
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import copy_bytes, table
from test_copy import EXPECTED, server_file as output_file, t as t  # noqa: F401
from test_copy_from import (  # noqa: F401
    ROUND_TRIP, TYPES, UTC, UUID, as_columns, columns as columns, method as method, random_row, rows, send, server_file as server_file, types as types)

TO = "COPY ({}) TO STDOUT (FORMAT parquet)"
FROM = "COPY t FROM STDIN (FORMAT parquet)"


def parquet(data, **options):
    data = data if isinstance(data, pa.Table) else pa.table(data)
    sink = io.BytesIO()
    pq.write_table(data, sink, **options)
    return sink.getvalue()


def opened(data):
    return pq.ParquetFile(io.BytesIO(data))


def read(data):
    return opened(data).read()


# --- out


def test_what_others_read(db, t):
    data = copy_bytes(db, "COPY t TO STDOUT (FORMAT parquet)")
    assert read(data).to_pydict() == EXPECTED
    assert pl.read_parquet(io.BytesIO(data)).to_dict(as_series=False) == EXPECTED


def test_duckdb_reads(db, tmp_path):
    path = tmp_path / "out.parquet"
    path.write_bytes(copy_bytes(db, TO.format("""SELECT i, i::numeric(12,2) / 4 AS n, 'row ' || i AS s, timestamptz '2024-01-01' + i * interval '1 us' AS at,
        date '2024-01-01' + i AS day, jsonb_build_object('i', i) AS doc, ARRAY[i, NULL] AS list, gen_random_uuid() AS id FROM generate_series(1, 5000) i""")))
    found = duckdb.sql(f"""SELECT count(*), sum(i), sum(CAST(doc->>'i' AS int)), max(day), sum(list[1]), count(DISTINCT id), max(epoch_us("at")) FROM '{path}'""").fetchall()[0]
    total = 5000 * 5001 // 2
    assert found == (5000, total, total, dt.date(2024, 1, 1) + dt.timedelta(5000), total, 5000, 1704067200000000 + 5000)
    kinds = dict(duckdb.sql(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '{path}')").fetchall())
    assert (kinds["doc"], kinds["id"], kinds["list"], kinds["at"]) == ("JSON", "UUID", "INTEGER[]", "TIMESTAMP WITH TIME ZONE")


@pytest.mark.parametrize("compression, name", [("none", "UNCOMPRESSED"), ("snappy", "SNAPPY"), ("zstd", "ZSTD"), (None, "ZSTD")])
def test_compression(db, t, compression, name):
    option = f", compression {compression}" if compression else ""
    file = opened(copy_bytes(db, f"COPY t TO STDOUT (FORMAT parquet{option})"))
    assert file.read().to_pydict() == EXPECTED
    column = file.metadata.row_group(0).column(1)
    assert column.compression == name
    assert (column.statistics.min, column.statistics.max, column.statistics.null_count) == ("row 1", "row 999", 0)
    assert "RLE_DICTIONARY" in column.encodings
    assert file.metadata.created_by.startswith("amax version")


# An expression of the row's number i, and how a column of it is encoded; None: as it comes.
ENCODED = {
    "id": ("i::int8", "DELTA_BINARY_PACKED"),
    "small": ("(i % 7 * 1000)::int2", "RLE_DICTIONARY"),
    "many": ("hashint4(i)", "PLAIN"),
    "maybe": ("CASE WHEN i % 3 > 0 THEN hashint4(i) % 100000 END", "DELTA_BINARY_PACKED"),
    "line": ("hashint4(i / 4)", "PLAIN"),
    "day": ("date '1999-01-01' + abs(hashint4(i) % 300)", "RLE_DICTIONARY"),
    "at": ("timestamptz '1999-12-31' + i * interval '1.5 s'", "DELTA_BINARY_PACKED"),
    "price": ("(hashint4(i) % 1000000 / 100.0)::numeric(9,2)", "DELTA_BINARY_PACKED"),
    "large": ("(i::int8 * 1000003 % 1000000000000)::numeric(18,0)", "DELTA_BINARY_PACKED"),
    "huge": ("i::numeric(38,0)", None),
    "word": ("(ARRAY['', 'rail', 'ünïcödé', 'ship', NULL])[i % 5 + 1]", "RLE_DICTIONARY"),
    "words": ("md5(i::text)", None),
    "nothing": ("NULL::int4", "PLAIN"),
    "real": ("i / 7.0::float8", None),
    "yes": ("i % 3 = 0", None),
}


@pytest.mark.parametrize("options", ["", ", COMPRESSION none", ", COMPRESSION snappy", ", ROW_GROUP_SIZE 7000"])
@pytest.mark.parametrize("hot", [0, 300])
def test_how_columns_are_encoded(db, columns, tmp_path, options, hot):
    """Numbers, and texts of leaves' dictionaries: rows, types and statistics are those of Arrow, for all who read them; with rows of no dictionary, too."""
    values = ", ".join(f"{value} AS {name}" for name, (value, _) in ENCODED.items())
    db.execute(f"CREATE TABLE t AS SELECT {values} FROM generate_series(1, 30000) i")
    db.execute("VACUUM t")
    db.execute("SET amax.flush_inline = off; SET amax.bulk_threshold = 2000000000")
    db.execute(f"INSERT INTO t SELECT {values} FROM generate_series(1, {hot}) i")
    expected = table(copy_bytes(db, "COPY t TO STDOUT (FORMAT arrow)"))
    assert expected.num_rows == 30000 + hot
    path = tmp_path / "t.parquet"
    path.write_bytes(copy_bytes(db, f"COPY t TO STDOUT (FORMAT parquet{options})"))
    file = pq.ParquetFile(path)
    assert file.read().equals(expected)
    assert file.schema_arrow.equals(expected.schema, check_metadata=True)
    assert pl.read_parquet(path).equals(pl.from_arrow(expected))
    assert duckdb.sql(f"SELECT * FROM '{path}'").fetchall() == duckdb.sql("SELECT * FROM expected").fetchall()
    group = file.metadata.row_group(0)
    first = expected.slice(0, group.num_rows)
    for at, (name, (_, encoding)) in enumerate(ENCODED.items()):
        column, found = group.column(at), first.column(name).drop_null().to_pylist()
        assert column.statistics.null_count == first.column(name).null_count, name
        if found and name not in ("real", "price", "large", "huge"):
            assert (column.statistics.min, column.statistics.max) == (min(found), max(found)), name
        if options == "" and hot == 0 and encoding:
            assert encoding in column.encodings, (name, column.encodings)


def test_row_groups(db, t):
    file = opened(copy_bytes(db, "COPY t TO STDOUT (FORMAT parquet, ROW_GROUP_SIZE 300)"))
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [300, 300, 300, 100]
    assert file.read().to_pydict() == EXPECTED
    # As large as memory may be.
    query = "SELECT i, repeat(md5(i::text), 100) FROM generate_series(1, 5000) i"
    db.execute("SET amax.parquet_row_group_memory = '1MB'; SET amax.arrow_batch_size = '256kB'")
    file = opened(copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT parquet, COMPRESSION none)"))
    assert file.num_row_groups > 5
    assert file.read().num_rows == 5000


def test_too_many_row_groups(db):
    with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="32767 row groups"):
        copy_bytes(db, "COPY (SELECT generate_series(1, 33000)) TO STDOUT (FORMAT parquet, row_group_size 1)")
    assert opened(copy_bytes(db, "COPY (SELECT generate_series(1, 32767)) TO STDOUT (FORMAT parquet, row_group_size 1)")).num_row_groups == 32767
    # Across batches, of which each has parts of many.
    db.execute("SET amax.arrow_batch_rows = 10")
    groups = opened(copy_bytes(db, "COPY (SELECT generate_series(1, 100)) TO STDOUT (FORMAT parquet, row_group_size 7)"))
    assert [groups.metadata.row_group(at).num_rows for at in range(groups.num_row_groups)] == [7] * 14 + [2]
    assert groups.read().column(0).to_pylist() == list(range(1, 101))


def test_nothing(db):
    assert read(copy_bytes(db, TO.format("SELECT 1 AS a WHERE false"))).to_pydict() == {"a": []}
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="rows without columns cannot be represented in Parquet"):
        copy_bytes(db, TO.format("SELECT FROM generate_series(1, 7)"))


def test_names_that_are_the_same(db):
    file = opened(copy_bytes(db, TO.format("SELECT 1 AS a, 'x' AS a")))
    assert file.schema_arrow.names == ["a", "a"]


def test_numbers_with_odd_scales(db):
    data = read(copy_bytes(db, TO.format("SELECT 0.00012::numeric(2, 5) AS a, 1200::numeric(2, -2) AS b, 1.5::numeric AS c")))
    assert data.to_pydict() == {"a": [decimal.Decimal("0.00012")], "b": [decimal.Decimal(1200)], "c": ["1.5"]}


def test_values_that_do_not_fit(db):
    for value, error in [("'NaN'::numeric(10,2)", psycopg.errors.NumericValueOutOfRange), ("'infinity'::date", psycopg.errors.DatetimeFieldOverflow),
                         ("'24:00'::time", psycopg.errors.DatetimeFieldOverflow)]:
        with pytest.raises(error, match='column "v" of row 1 cannot be represented in Parquet'):
            copy_bytes(db, TO.format(f"SELECT {value} AS v"))
    with pytest.raises(psycopg.errors.FeatureNotSupported, match='column "v" cannot be represented in Parquet'):
        copy_bytes(db, TO.format("SELECT point '(1,2)' AS v"))


@pytest.mark.parametrize("option, error, message", [
    ("DELIMITER ','", psycopg.errors.SyntaxError, '"delimiter" is not available with format parquet'),
    ("framing file", psycopg.errors.SyntaxError, '"framing" is not available with format parquet'),
    ("compression snappy, compression zstd", psycopg.errors.SyntaxError, "conflicting or redundant options"),
    ("row_group_size 1, row_group_size 1", psycopg.errors.SyntaxError, "conflicting or redundant options"),
    ("FORMAT parquet", psycopg.errors.SyntaxError, "conflicting or redundant options"),
    ("FORMAT csv", psycopg.errors.SyntaxError, "conflicting or redundant options"),
    ("compression lz4", psycopg.errors.InvalidParameterValue, '"compression" must be'),
    ("compression", psycopg.errors.InvalidParameterValue, '"compression" must be'),
    ("row_group_size 0", psycopg.errors.InvalidParameterValue, '"row_group_size" must be'),
    ("row_group_size -5", psycopg.errors.InvalidParameterValue, '"row_group_size" must be'),
    ("row_group_size many", psycopg.errors.SyntaxError, "row_group_size requires a numeric value"),
    ("row_group_size", psycopg.errors.SyntaxError, "row_group_size requires a numeric value"),
])
def test_bad_options(db, t, option, error, message):
    with pytest.raises(error, match=message):
        copy_bytes(db, f"COPY t TO STDOUT (FORMAT parquet, {option})")


@pytest.mark.parametrize("option, error, message", [
    ("MATCH 'order'", psycopg.errors.InvalidParameterValue, '"match" must be'),
    ("MATCH name, MATCH name", psycopg.errors.SyntaxError, "conflicting or redundant"),
    ("compression zstd", psycopg.errors.SyntaxError, '"compression" is not available with format parquet'),
])
def test_bad_options_of_from(db, option, error, message):
    db.execute("CREATE TEMP TABLE t (a int)")
    with pytest.raises(error, match=message):
        send(db, f"COPY t FROM STDIN (FORMAT parquet, {option})", parquet({"a": [1]}))


# --- there and back


@pytest.mark.parametrize("seed", range(4))
def test_there_and_back(db, method, seed):
    generator = random.Random(seed)
    db.execute(f"DROP TABLE IF EXISTS t, back; CREATE TABLE t ({ROUND_TRIP}, aa interval[], bb timetz, cc date[], dd uuid[], ee jsonb[]); CREATE TABLE back (LIKE t)")
    with db.cursor() as cursor:
        for row in (random_row(generator) for _ in range(300)):
            more = ([row[16], None], "12:00:00+02", [row[12]], [row[17]], [row[19]])
            cursor.execute(f"INSERT INTO t VALUES ({', '.join(['%s'] * 26)}, %s::interval[], %s, %s::date[], %s::uuid[], %s::jsonb[])", row + more)
    db.execute("INSERT INTO t (a, q) VALUES (1, '-1 mon 3 days -00:00:00.000001'), (2, '10000000:00:00')")
    if seed % 2:
        db.execute("VACUUM (FREEZE) t")
    for compression in ("none", "snappy", "zstd"):
        sent = copy_bytes(db, f"COPY t TO STDOUT (FORMAT parquet, COMPRESSION {compression}, ROW_GROUP_SIZE 100)")
        db.execute("TRUNCATE back; SET intervalstyle = 'sql_standard'; SET datestyle = 'SQL, DMY'")
        assert send(db, "COPY back FROM STDIN (FORMAT parquet)", sent) == 302
        db.execute("RESET intervalstyle; RESET datestyle")
        for one, other in [("t", "back"), ("back", "t")]:
            assert rows(db, f"SELECT count(*) FROM (SELECT x::text FROM {one} x EXCEPT ALL SELECT x::text FROM {other} x) d") == [(0,)]
    # The same values, and the same types, as in Arrow: but for intervals, which are text.
    names = [name for name in read(sent).column_names if name not in ("q", "aa")]
    db.execute("DELETE FROM t WHERE q = '10000000:00:00'")
    columns = ", ".join(names)
    arrow = table(copy_bytes(db, f"COPY (SELECT {columns} FROM t) TO STDOUT (FORMAT arrow)"))
    same = read(copy_bytes(db, TO.format(f"SELECT {columns} FROM t")))
    assert same.schema.equals(arrow.schema, check_metadata=False)
    assert same.to_pydict() == arrow.to_pydict()
    assert same.schema.field("g").metadata[b"postgresql.type"] == b"numeric(20,5)"
    db.execute("DROP TABLE back")


def test_columns_as_such(db):
    """What scans of amax hand over by column is the same as what goes row by row."""
    db.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (a int, s text, doc jsonb) USING amax")
    db.execute("INSERT INTO t SELECT i, CASE WHEN i % 7 > 0 THEN 's' || i % 50 END, jsonb_build_object('x', i, 'y', 'v' || i % 9) FROM generate_series(1, 200000) i")
    db.execute("VACUUM t")
    query = "SELECT a, s, doc->>'y' AS y, (doc->>'x')::int AS x, doc FROM t"
    assert rows(db, f"SELECT DISTINCT path FROM amax.arrow_plan($${query}$$) WHERE \"column\" = 's'") == [("vectors",)]
    data = read(copy_bytes(db, TO.format(query)))
    assert data.to_pydict() == table(copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow)")).to_pydict()
    db.execute("TRUNCATE t")
    send(db, "COPY t (a, s, doc) FROM STDIN (FORMAT parquet)", copy_bytes(db, TO.format("SELECT 1 AS a, 's' AS s, '{\"k\": [1]}'::jsonb AS doc")))
    assert rows(db) == [(1, "s", {"k": [1]})]
    db.execute("DROP TABLE t")


# --- in


def written(array):
    """None: pyarrow does not write the type as Parquet."""
    try:
        return parquet({"n": range(len(array)), "v": array})
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError, OSError):
        return None


FILES = [(sql, array.type, data, expected) for sql, array, expected in TYPES if (data := written(array))]


def test_enough_types():
    assert len(TYPES) - len(FILES) <= 5


@pytest.mark.parametrize("sql, data, expected", [(sql, data, expected) for sql, _, data, expected in FILES], ids=[f"{sql} from {kind}" for sql, kind, _, _ in FILES])
def test_types(db, types, method, sql, data, expected):
    db.execute(f"CREATE TABLE t (n int, v {sql})")
    db.execute("SET datestyle = 'SQL, DMY'; SET intervalstyle = 'sql_standard'")
    send(db, FROM, data)
    db.execute("RESET datestyle; RESET intervalstyle")
    assert [row[0] for row in rows(db, "SELECT v::text FROM t ORDER BY n")] == expected


def test_without_arrows_schema(db):
    """Types as Parquet itself has them."""
    db.execute("CREATE TEMP TABLE t (a timestamptz, b timestamp, c numeric(10,2), d uuid, e jsonb, f text, g time, h smallint[])")
    data = pa.table({
        "a": pa.array([dt.datetime(2024, 1, 1, tzinfo=UTC)], pa.timestamp("ms", "UTC")), "b": pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("us")),
        "c": pa.array([decimal.Decimal("1.25")]), "d": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([UUID.bytes], pa.binary(16))),
        "e": pa.array([[{"x": 1}]]), "f": pa.array(["s"]).dictionary_encode(), "g": pa.array([dt.time(1, 2, 3)], pa.time64("ns")),
        "h": pa.array([[1, None]], pa.list_(pa.int16()))})
    send(db, FROM, parquet(data, store_schema=False))
    assert rows(db, "SELECT a, b, c, d, e, f, g, h FROM t") == [
        (dt.datetime(2024, 1, 1, tzinfo=UTC), dt.datetime(2024, 1, 1), decimal.Decimal("1.25"), UUID, [{"x": 1}], "s", dt.time(1, 2, 3), [1, None])]


@pytest.mark.parametrize("options", [
    {}, {"compression": "none"}, {"compression": "gzip"}, {"compression": "lz4"}, {"compression": "zstd"}, {"data_page_version": "2.0"}, {"version": "1.0"},
    {"use_dictionary": False}, {"row_group_size": 100}, {"data_page_size": 500}, {"write_page_checksum": True}, {"write_page_index": True},
    {"use_dictionary": False, "column_encoding": {"a": "DELTA_BINARY_PACKED", "b": "DELTA_LENGTH_BYTE_ARRAY", "c": "BYTE_STREAM_SPLIT"}},
    {"use_dictionary": False, "column_encoding": {"a": "BYTE_STREAM_SPLIT", "b": "DELTA_BYTE_ARRAY"}, "data_page_version": "2.0"},
], ids=str)
def test_how_files_are_written(db, method, options):
    db.execute("CREATE TABLE t (a int, b text, c float8, d jsonb)")
    count = 3500
    data = {"a": range(count), "b": [None if i % 11 == 0 else f"word {i % 700}" for i in range(count)], "c": [i / 8 for i in range(count)],
            "d": [{"n": [i] * (i % 3), "s": None} for i in range(count)]}
    assert send(db, FROM, parquet(data, **options)) == count
    assert rows(db, "SELECT * FROM t ORDER BY a") == list(zip(data["a"], data["b"], data["c"], data["d"]))


def test_compressions_that_are_not_read(db):
    db.execute("CREATE TEMP TABLE t (a int)")
    with pytest.raises(psycopg.errors.FeatureNotSupported) as raised:
        send(db, FROM, parquet({"a": range(100)}, compression="brotli"))
    assert raised.value.diag.message_primary == "could not read the Parquet file"
    assert raised.value.diag.message_detail == 'Column "a" is compressed with BROTLI; zstd, snappy, gzip and lz4 are read.'


def test_old_timestamps(db):
    """INT96, as Spark wrote them: cut to microseconds, and in UTC where a time zone is wanted."""
    db.execute("CREATE TEMP TABLE t (n int, a timestamp)")
    at = pa.array([1_500_000_000_123_456_789, -1, None], pa.timestamp("ns"))
    send(db, FROM, parquet({"n": [1, 2, 3], "a": at}, use_deprecated_int96_timestamps=True))
    assert rows(db, "SELECT a::text FROM t ORDER BY n") == [("2017-07-14 02:40:00.123456",), ("1969-12-31 23:59:59.999999",), (None,)]
    zoned = at.cast(pa.timestamp("ns", "America/New_York"))
    with pytest.raises(psycopg.errors.DatatypeMismatch, match='cannot be loaded from Arrow type Timestamp'):
        send(db, FROM, parquet({"n": [1, 2, 3], "a": zoned}, use_deprecated_int96_timestamps=True))


@pytest.mark.parametrize("store_schema", [True, False])
@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_old_timestamps_are_points_in_time(db, method, zone, store_schema):
    """Whatever the session's time zone is, and in arrays and by column, too."""
    db.execute("CREATE TABLE t (n int, a timestamptz, b timestamptz[]); SET timezone = 'Asia/Tokyo'")
    at = pa.array([1_500_000_000_123_456_789, None], pa.timestamp("ns", zone))
    data = {"n": [1, 2], "a": at, "b": pa.ListArray.from_arrays([0, 1, 2], at)}
    send(db, FROM, parquet(data, use_deprecated_int96_timestamps=True, store_schema=store_schema))
    assert rows(db, "SELECT a::text, b::text FROM t ORDER BY n") == [("2017-07-14 11:40:00.123456+09", '{"2017-07-14 11:40:00.123456+09"}'), (None, "{NULL}")]


def test_old_timestamps_go_to_leaves(db, columns):
    db.execute("CREATE TABLE t (a timestamptz); SET timezone = 'Asia/Tokyo'")
    data = parquet({"a": pa.array(range(3000), pa.timestamp("us"))}, use_deprecated_int96_timestamps=True)
    assert as_columns(db, FROM, data) == 3000
    assert rows(db, "SELECT min(a)::text, max(a)::text FROM t") == [("1970-01-01 09:00:00+09", "1970-01-01 09:00:00.002999+09")]


def halves(letter):
    """Two texts of a byte each, unchecked."""
    return pa.Array.from_buffers(pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(letter)])


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"store_schema": False}, {"use_dictionary": False, "column_encoding": "DELTA_LENGTH_BYTE_ARRAY"},
                                     {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}], ids=str)
def test_text_that_is_not_utf8(db, method, options):
    """Not even where the halves of a letter make a whole one of a page."""
    db.execute("CREATE TABLE t (a text, b text[])")
    assert send(db, FROM, parquet({"a": halves(b"xy"), "b": [["z"], []]}, **options)) == 2
    for data in ({"a": halves("é".encode()), "b": [["z"], []]}, {"a": halves(b"xy"), "b": pa.ListArray.from_arrays([0, 1, 2], halves("é".encode()))}):
        with pytest.raises(psycopg.errors.BadCopyFileFormat, match="could not read the Parquet file") as raised:
            send(db, FROM, parquet(data, **options))
        assert "UTF-8" in raised.value.diag.message_detail
    assert rows(db, "SELECT count(*) FROM t") == [(2,)]


DUCK = """SELECT i::tinyint AS a, i::ubigint AS b, i / 8 AS c, i::decimal(12,3) AS d, i % 2 = 0 AS e, 'row ' || i AS f, 'x'::blob AS g,
    date '2024-01-01' + i::int AS h, time '01:02:03.5' AS j, timestamp '2024-01-01' + to_microseconds(i) AS k, timestamptz '2024-01-01 00:00:00+00' AS l,
    interval '14 months 3 days 01:00:00.5' AS m, '12345678-9abc-def0-1234-56789abcdef0'::uuid AS n, '{"k": [1, null]}'::json AS o,
    [i, NULL] AS p, {'a': i, 'b': ['x']} AS q, MAP {'k': i} AS r, (timestamp '2024-01-01')::timestamp_s AS s, (timestamp '2024-01-01')::timestamp_ms AS u,
    (timestamp '2024-01-01')::timestamp_ns AS v, 'glad'::enum('sad', 'glad') AS w, CASE WHEN i % 3 = 0 THEN i END AS x FROM range(100) r(i)"""


@pytest.mark.parametrize("options", ["", ", COMPRESSION uncompressed", ", COMPRESSION zstd, ROW_GROUP_SIZE 2048", ", COMPRESSION gzip", ", COMPRESSION lz4_raw",
                                     ", PARQUET_VERSION v2"])
def test_what_duckdb_writes(db, method, tmp_path, options):
    path = tmp_path / "duck.parquet"
    duckdb.sql(f"SET timezone = 'UTC'; COPY ({DUCK}) TO '{path}' (FORMAT parquet{options})")
    db.execute("""CREATE TABLE t (a int, b numeric, c float8, d numeric(12,3), e bool, f text, g bytea, h date, j time, k timestamp, l timestamptz,
        m interval, n uuid, o jsonb, p int[], q jsonb, r jsonb, s timestamp, u timestamp, v timestamp, w text, x bigint)""")
    assert send(db, FROM, path.read_bytes()) == 100
    assert rows(db, "SELECT t::text FROM t WHERE a = 3") == [(
        '(3,3,0.375,3.000,f,"row 3","\\\\x78",2024-01-04,01:02:03.5,"2024-01-01 00:00:00.000003","2024-01-01 00:00:00+00","1 year 2 mons 3 days 01:00:00.5",'
        '12345678-9abc-def0-1234-56789abcdef0,"{""k"": [1, null]}","{3,NULL}","{""a"": 3, ""b"": [""x""]}","{""k"": 3}","2024-01-01 00:00:00",'
        '"2024-01-01 00:00:00","2024-01-01 00:00:00",glad,3)',)]
    assert rows(db, "SELECT count(x), sum(a), sum(p[1]), count(DISTINCT f) FROM t") == [(34, 4950, 4950, 100)]


def test_names_and_positions(db, method):
    db.execute("CREATE TABLE t (a int, b text DEFAULT 'none', c int GENERATED ALWAYS AS (a * 2) STORED, \"Dö\" bool)")
    assert send(db, FROM, parquet({"Dö": [True, None], "a": [1, 2]})) == 2
    assert rows(db) == [(1, "none", 2, True), (2, "none", 4, None)]
    send(db, "COPY t (b, a) FROM STDIN (FORMAT parquet)", parquet({"x": [0], "a": [3], "b": ["y"]}))
    send(db, "COPY t (b, a) FROM STDIN (FORMAT parquet, MATCH position)", parquet({"p": ["z"], "q": [4]}))
    assert rows(db, "SELECT a, b FROM t WHERE a > 2 ORDER BY a") == [(3, "y"), (4, "z")]
    with pytest.raises(psycopg.errors.UndefinedColumn, match='has no column "z" that the Parquet file\'s could go to'):
        send(db, FROM, parquet({"a": [1], "z": [1]}))
    with pytest.raises(psycopg.errors.UndefinedColumn, match='the Parquet file has no column "b"'):
        send(db, "COPY t (a, b) FROM STDIN (FORMAT parquet)", parquet({"a": [1]}))
    with pytest.raises(psycopg.errors.DatatypeMismatch, match="the Parquet file has 1 columns where 3"):
        send(db, "COPY t FROM STDIN (FORMAT parquet, MATCH position)", parquet({"a": [1]}))
    assert rows(db, "SELECT count(*) FROM t") == [(4,)]


def test_columns_go_to_leaves(db, columns):
    """As those of streams do: strings that are views of pages, dictionaries, documents; the same rows as heap has of the file."""
    definition = "a int, b text, c varchar(9), d char(5), e numeric(12,3), f bytea, g date, h timestamptz, i uuid, j jsonb, k bool, l float8"
    db.execute(f"CREATE TABLE t ({definition}); DROP TABLE IF EXISTS h; CREATE TABLE h (LIKE t) USING heap; SET amax.rows_per_leaf = 700")
    db.execute("""INSERT INTO h SELECT i, 'text ' || i % 50, 'é' || i, CASE WHEN i % 9 > 0 THEN 'x' END, i::numeric / 8, decode(md5(i::text), 'hex'), date '2024-01-01' + i,
        timestamptz '2024-01-01 UTC' + i * interval '1 s', md5(i::text)::uuid, jsonb_build_object('n', i, 'l', ARRAY[i]), i % 2 = 0, i / 8.0 FROM generate_series(1, 20000) i""")
    data = copy_bytes(db, "COPY h TO STDOUT (FORMAT parquet, ROW_GROUP_SIZE 9000)")
    assert as_columns(db, FROM, data) == 20000
    for one, other in [("t", "h"), ("h", "t")]:
        assert rows(db, f"SELECT count(*) FROM (SELECT x::text FROM {one} x EXCEPT ALL SELECT x::text FROM {other} x) d") == [(0,)]
    assert rows(db, "SELECT * FROM amax.verify('t')") == []
    # Few rows that are as large as many, and one value many times.
    db.execute("RESET amax.rows_per_leaf; CREATE TABLE long (a text); DROP TABLE h")
    assert as_columns(db, "COPY long FROM STDIN (FORMAT parquet)", parquet({"a": [f"{i} " * 1000 for i in range(500)]})) == 500
    assert send(db, "COPY long FROM STDIN (FORMAT parquet)", parquet({"a": ["x" * 100_000] * 3000})) == 3000
    assert rows(db, "SELECT count(*), max(length(a)) FROM long") == [(3500, 100_000)]
    db.execute("DROP TABLE long")


def test_columns_that_are_not_wanted_are_not_read(db):
    db.execute("CREATE TEMP TABLE t (a int, b text, c jsonb)")
    data = parquet({"a": range(1000), "b": [f"text {i}" for i in range(1000)], "c": [{"x": [i]} for i in range(1000)]}, row_group_size=300)
    metadata, damaged = opened(data).metadata, bytearray(data)
    for group in range(metadata.num_row_groups):
        for column in (1, 2):
            chunk = metadata.row_group(group).column(column)
            start = chunk.dictionary_page_offset or chunk.data_page_offset
            damaged[start:start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    assert send(db, "COPY t (a) FROM STDIN (FORMAT parquet)", bytes(damaged)) == 1000
    assert rows(db, "SELECT count(*), sum(a), count(b) FROM t") == [(1000, 499500, 0)]
    with pytest.raises(psycopg.errors.BadCopyFileFormat):
        send(db, "COPY t (a, c) FROM STDIN (FORMAT parquet)", bytes(damaged))
    assert rows(db, "SELECT count(*) FROM t") == [(1000,)]


def test_all_that_tables_have(db, method):
    db.execute("""
        CREATE TABLE t (a int PRIMARY KEY, b text CHECK (b <> 'bad')) PARTITION BY RANGE (a);
        CREATE TABLE t_low PARTITION OF t FOR VALUES FROM (0) TO (100);
        CREATE TABLE t_high PARTITION OF t FOR VALUES FROM (100) TO (1000)""")
    assert send(db, f"{FROM} WHERE a % 2 = 0", parquet({"a": [1, 2, 200], "b": ["x", "y", "z"]})) == 2
    for bad, error in [({"a": [5, 2], "b": ["x", "x"]}, psycopg.errors.UniqueViolation), ({"a": [5, 6], "b": ["x", "bad"]}, psycopg.errors.CheckViolation)]:
        with pytest.raises(error) as raised:
            send(db, FROM, parquet(bad))
        assert "line 2" in raised.value.diag.context
    assert rows(db, "SELECT * FROM t ORDER BY a") == [(2, "y"), (200, "z")]


# --- where from and where to


def test_files_and_programs(db, method, server_file, output_file):
    path = server_file(parquet({"a": [1, 2]}), ".parquet")
    db.execute("CREATE TABLE t (a int)")
    db.execute(f"COPY t FROM '{path}' (FORMAT parquet)")
    db.execute(f"COPY t FROM PROGRAM 'cat {path}' (FORMAT parquet)")
    assert rows(db, "SELECT sum(a), count(*) FROM t") == [(6, 4)]
    out = output_file(".parquet")
    assert db.execute(f"COPY t TO '{out}' (FORMAT parquet)").rowcount == 4
    assert sorted(pq.read_table(out)["a"].to_pylist()) == [1, 1, 2, 2]
    assert os.stat(out).st_mode & 0o777 == 0o644
    db.execute(f"COPY t TO PROGRAM 'cat >{out}' (FORMAT parquet)")
    assert pq.read_table(out).num_rows == 4
    with pytest.raises(psycopg.errors.InvalidName):
        db.execute("COPY t FROM 'here.parquet' (FORMAT parquet)")
    with pytest.raises(psycopg.errors.UndefinedFile):
        db.execute("COPY t FROM '/nowhere.parquet' (FORMAT parquet)")
    with pytest.raises(psycopg.errors.WrongObjectType, match="is a directory"):
        db.execute("COPY t FROM '/tmp' (FORMAT parquet)")
    with pytest.raises(psycopg.errors.ExternalRoutineException, match="failed"):
        db.execute(f"COPY t FROM PROGRAM 'cat {path}; exit 3' (FORMAT parquet)")
    with pytest.raises(psycopg.errors.ExternalRoutineException, match="failed"):
        db.execute("COPY t TO PROGRAM 'cat >/dev/null; exit 3' (FORMAT parquet)")
    if os.path.exists("/dev/full"):
        with pytest.raises(psycopg.errors.DiskFull):
            db.execute("COPY t TO '/dev/full' (FORMAT parquet)")
    assert rows(db, "SELECT count(*) FROM t") == [(4,)]


def test_named_pipe(db, server_file):
    """What has no size is read as a program is."""
    path = server_file(b"", ".fifo")
    os.unlink(path)
    os.mkfifo(path)
    os.chmod(path, 0o666)
    db.execute("CREATE TEMP TABLE t (a int)")
    writer = threading.Thread(target=lambda: open(path, "wb").write(parquet({"a": range(1000)})))
    writer.start()
    db.execute(f"COPY t FROM '{path}' (FORMAT parquet)")
    writer.join()
    assert rows(db, "SELECT sum(a) FROM t") == [(499500,)]


def test_temporary_files_are_postgresqls(db):
    """What comes from a client goes through one, within temp_file_limit, and none is left."""
    db.execute("CREATE TEMP TABLE t (a float8)")
    generator = random.Random(1)
    data = parquet({"a": [generator.random() for _ in range(200_000)]}, use_dictionary=False)
    notices = []
    db.add_notice_handler(lambda diag: notices.append(diag.message_primary))
    db.execute("SET log_temp_files = 0; SET client_min_messages = log")
    assert send(db, FROM, data) == 200_000
    db.execute("RESET client_min_messages; RESET log_temp_files")
    assert any(notice.startswith("temporary file") for notice in notices)
    assert not any("leak" in notice or "not closed" in notice for notice in notices)
    db.execute("SET temp_file_limit = '64kB'")
    with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="temp_file_limit"):
        send(db, FROM, data)
    db.execute("RESET temp_file_limit")
    assert rows(db, "SELECT count(*) FROM t") == [(200_000,)]
    assert rows(db, "SELECT count(*) FROM pg_ls_tmpdir()") == [(0,)]


def test_psql_copy(db, method, tmp_path):
    db.execute("CREATE TABLE t (a int, b text)")
    path, back = tmp_path / "in.parquet", tmp_path / "out.parquet"
    path.write_bytes(parquet({"a": [1, 2], "b": ["\n\\.\n", "x"]}))
    subprocess.run(["psql", "-qXc", "SELECT amax.load()", "-c", f"\\copy t FROM '{path}' (FORMAT parquet)", "-c", f"\\copy t TO '{back}' (FORMAT parquet)"],
                   check=True, stdout=subprocess.DEVNULL)
    assert rows(db) == [(1, "\n\\.\n"), (2, "x")]
    assert pq.read_table(back).to_pylist() == [{"a": 1, "b": "\n\\.\n"}, {"a": 2, "b": "x"}]


def test_privileges(db, role, t, output_file):
    path = output_file("")
    data = parquet({"a": [1], "b": ["x"]})
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        copy_bytes(role, "COPY t TO STDOUT (FORMAT parquet)")
    db.execute("GRANT SELECT ON t TO arrow_reader; GRANT INSERT (a) ON t TO arrow_reader")
    for statement, group in [(f"COPY t TO '{path}'", "pg_write_server_files"), (f"COPY t TO PROGRAM 'cat >{path}'", "pg_execute_server_program"),
                             ("COPY t FROM '/etc/passwd'", "pg_read_server_files"), ("COPY t FROM PROGRAM 'true'", "pg_execute_server_program")]:
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match=group):
            role.execute(f"{statement} (FORMAT parquet)")
    assert not os.path.exists(path)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        send(role, FROM, data)
    assert send(role, "COPY t (a) FROM STDIN (FORMAT parquet)", data) == 1
    # Before a program is run.
    db.execute("GRANT pg_execute_server_program TO arrow_reader")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for table t"):
        role.execute("COPY t (b) FROM PROGRAM 'exit 1' (FORMAT parquet)")
    db.execute("CREATE POLICY few ON t FOR SELECT TO arrow_reader USING (a <= 3 AND b IS NOT NULL); ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    assert read(copy_bytes(role, "COPY t TO STDOUT (FORMAT parquet)"))["a"].to_pylist() == [1, 2, 3]
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="row-level security"):
        send(role, "COPY t (a) FROM STDIN (FORMAT parquet)", data)


def test_read_only(db):
    db.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (a int)")
    with db.transaction():
        db.execute("SET TRANSACTION READ ONLY")
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            with db.transaction():
                send(db, FROM, parquet({"a": [1]}))
    db.execute("DROP TABLE t")


def test_cancel(db):
    db.execute("CREATE TEMP TABLE t (a int)")
    db.execute("SET statement_timeout = '300ms'")
    for statement in ("COPY t FROM PROGRAM 'sleep 30' (FORMAT parquet)",
                      "COPY (SELECT i, md5(i::text) FROM generate_series(1, 100000000) i) TO '/dev/null' (FORMAT parquet)"):
        started = time.monotonic()
        with pytest.raises(psycopg.errors.QueryCanceled):
            db.execute(statement)
        assert time.monotonic() - started < 10
    db.execute("RESET statement_timeout")
    data = parquet({"a": range(3_000_000)})
    db.execute("SET statement_timeout = '500ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        send(db, FROM, data)
    db.execute("RESET statement_timeout")
    assert rows(db, "SELECT count(*) FROM t") == [(0,)]


def test_lost_client(db):
    db.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (a int)")
    with pytest.raises(RuntimeError):
        with db.cursor().copy(FROM) as copy:
            copy.write(parquet({"a": range(5000)})[:3000])
            raise RuntimeError("the client gives up")
    assert rows(db) == []
    db.execute("DROP TABLE t")


@pytest.fixture
def pg_parquet(server_file):
    """A library with pg_parquet's switch, which takes no statement."""
    path, source = server_file(b"", ".so"), Path(__file__).with_name("switch.c")
    headers = subprocess.run([os.environ["PG_CONFIG"], "--includedir-server"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{headers}", "-o", path, source], check=True)
    os.chmod(path, 0o755)
    return path


def test_pg_parquet_keeps_its_claim(db, t, pg_parquet):
    """Its switch is looked at: where its library is loaded and takes the format, the statement is passed on; here nobody is behind us."""
    statement = "COPY t TO STDOUT (FORMAT parquet)"
    assert read(copy_bytes(db, statement)).num_rows == 1000
    # A value that somebody has given the name is no library.
    db.execute("SET pg_parquet.enable_copy_hooks = on")
    assert read(copy_bytes(db, statement)).num_rows == 1000
    db.execute(f"LOAD '{pg_parquet}'")
    for passed_on in (statement, FROM):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match='COPY format "parquet" not recognized') as raised:
            copy_bytes(db, passed_on)
        assert "SET pg_parquet.enable_copy_hooks = off" in raised.value.diag.message_hint
    assert table(copy_bytes(db, "COPY t TO STDOUT (FORMAT arrow)")).num_rows == 1000
    db.execute("SET pg_parquet.enable_copy_hooks = off")
    assert read(copy_bytes(db, statement)).num_rows == 1000


# --- damage


def test_what_is_no_parquet(db, method):
    db.execute("CREATE TABLE t (a int, b text)")
    whole = parquet({"a": range(5000), "b": ["x" * 10] * 5000})
    for data, detail in [(b"", "does not begin"), (b"a,b\n1,x\n" * 9, "does not begin"), (whole[:-1], "does not end"), (whole + b"x", "does not end"),
                         (whole[:-8] + b"\xff\xff\xff\x7fPAR1", "footer is longer"), (whole[:-4] + b"PARE", "encrypted"),
                         (whole[:4] + whole[-8:], "footer is longer")]:
        with pytest.raises((psycopg.errors.BadCopyFileFormat, psycopg.errors.FeatureNotSupported), match="could not read the Parquet file") as raised:
            send(db, FROM, data)
        assert detail in raised.value.diag.message_detail
    assert rows(db) == []


def small():
    """A small file of many encodings."""
    data = pa.table({"a": pa.array([1, None, 3], pa.int32()), "b": ["one", "two", None], "c": [[1, 2], [], None]})
    return parquet(data, compression="snappy", use_dictionary=["b"], column_encoding={"a": "DELTA_BINARY_PACKED"}, write_statistics=False)


@pytest.mark.parametrize("how", [lambda byte: byte ^ 0xff, lambda byte: byte ^ 1, lambda byte: 0x7f, lambda byte: byte ^ 0x80], ids=["all", "lowest", "many", "highest"])
def test_every_byte_flipped(db, how):
    """The session lives, and no part of a file is loaded; a value of another may be."""
    db.execute("CREATE TEMP TABLE t (a int, b text, c int[])")
    pid, whole, refused = db.info.backend_pid, small(), 0
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] = how(damaged[at])
        try:
            count = send(db, FROM, bytes(damaged))
        except psycopg.Error as error:
            assert error.sqlstate not in (None, "XX000"), (at, error)
            count, refused = 0, refused + 1
        assert rows(db, "SELECT count(*) FROM t") == [(count,)], at
        db.execute("TRUNCATE t")
    assert refused > len(whole) / 4
    assert rows(db, "SELECT pg_backend_pid()") == [(pid,)]


def test_every_length(db):
    db.execute("CREATE TEMP TABLE t (a int, b text, c int[])")
    whole = small()
    for end in range(len(whole)):
        with pytest.raises(psycopg.errors.BadCopyFileFormat):
            send(db, FROM, whole[:end])
    assert rows(db) == []


def test_checksums_are_looked_at(db):
    db.execute("CREATE TEMP TABLE t (a int)")
    data = bytearray(parquet({"a": range(1000)}, use_dictionary=False, compression="none", write_page_checksum=True))
    data[2000] ^= 1
    with pytest.raises(psycopg.errors.BadCopyFileFormat) as raised:
        send(db, FROM, bytes(data))
    assert "CRC" in raised.value.diag.message_detail
    assert rows(db) == []


def test_schemas_that_are_too_deep(db):
    db.execute("CREATE TEMP TABLE t (a jsonb)")
    nested = pa.array([1])
    for _ in range(80):
        nested = pa.StructArray.from_arrays([nested], names=["x"])
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="more than 64 groups"):
        send(db, FROM, parquet({"a": nested}, store_schema=False))


def test_large_values(db, method):
    """More than a page holds, and more of them than a batch would."""
    db.execute("CREATE TABLE t (a int, b text)")
    long = ["x" * 3_000_000, "y" * 3_000_000]
    data = pa.table({"a": range(60), "b": pa.array([long[i % 2] for i in range(60)])})
    assert send(db, FROM, parquet(data)) == 60
    assert rows(db, "SELECT sum(length(b)), count(DISTINCT b) FROM t") == [(180_000_000, 2)]
    back = opened(copy_bytes(db, "COPY t TO STDOUT (FORMAT parquet)")).read()
    assert back.num_rows == 60 and back["b"].to_pylist().count(long[0]) == 30
