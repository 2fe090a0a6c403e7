"""COPY … TO … (FORMAT arrow, DICTIONARIES): text as dictionaries, from leaves that have them, others, row pages and the executor."""

import io

import duckdb
import polars as pl
import psycopg
import pyarrow as pa
import pytest

from conftest import copy_bytes, table

CODED = pa.dictionary(pa.int32(), pa.string())
COLUMNS = "id, few, many, long, bp, v, n, mood, doc->>'k' AS k, doc->>'n' AS n_text, num::text AS num, few || '!' AS e, arr, doc"


@pytest.fixture(scope="module")
def t(extension):
    from conftest import connect
    with connect() as db:
        db.execute("DROP TABLE IF EXISTS texts, heap_texts; DROP TYPE IF EXISTS mood; CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
        db.execute("CREATE TABLE texts (id int, few text, many text, long text, bp char(6), v varchar(9), n name, mood mood, num numeric, arr text[], doc jsonb) USING amax")
        rows = """SELECT i, CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'value ' || i % 5 END, 'row ' || i, repeat(chr(97 + i % 3), 40000 * (i % 300 = 0)::int), 'c' || i % 4, 'vä' || i % 7, 'n' || i % 3,
            (ARRAY['sad', 'ok', 'happy', NULL])[1 + i % 4]::mood, i / 10.0, ARRAY['a', 'b'], jsonb_build_object('k', 'key ' || i % 11, 'n', i % 13) FROM generate_series({}, {}) i"""
        db.execute("SET amax.rows_per_leaf = 3000; INSERT INTO texts " + rows.format(1, 20000))
        db.execute("VACUUM texts")
        db.execute("UPDATE texts SET few = 'changed' WHERE id % 1000 = 0; DELETE FROM texts WHERE id % 7 = 3")
        for i in range(20001, 20051):
            db.execute("INSERT INTO texts " + rows.format(i, i))
        db.execute("CREATE TABLE heap_texts AS SELECT * FROM texts")
    yield "texts"


def coded(db, query, options=""):
    return table(copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow, DICTIONARIES{options})"))


def plain(db, query):
    return table(copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow)"))


@pytest.mark.parametrize("source", ["texts", "heap_texts", "texts WHERE id > 20000", "texts WHERE false", "texts ORDER BY many DESC", "texts WHERE few = 'value 3' AND id % 2 = 0"])
def test_values_are_the_same(db, t, source):
    query = f"SELECT {COLUMNS} FROM {source}"
    as_text, result = plain(db, query), coded(db, query)
    for before, after in zip(as_text.schema, result.schema):
        is_text = before.type == pa.string() and before.name != "doc"
        assert after.type == (CODED if is_text else before.type), before.name
        assert after.metadata == before.metadata
    result.validate(full=True)
    assert result.cast(as_text.schema).equals(as_text)


def test_each_value_is_there_once_and_batches_share_them(db, t):
    db.execute("SET amax.arrow_batch_rows = 1000")
    stream = pa.ipc.open_stream(copy_bytes(db, "COPY (SELECT few, mood FROM texts) TO STDOUT (FORMAT arrow, DICTIONARIES)"))
    batches = list(stream)
    assert len(batches) > 15
    for batch in batches:
        for column in batch.columns:
            values = column.dictionary.to_pylist()
            assert len(values) == len(set(values)) <= 5
    # Once all have been met, none is sent again.
    assert stream.stats.num_dictionary_batches - stream.stats.num_replaced_dictionaries == 2 and stream.stats.num_replaced_dictionaries <= 2


def test_memory_of_a_dictionary_is_bounded(db, t):
    query = "SELECT 'text ' || g AS s FROM generate_series(1, 400000) g"
    stream = pa.ipc.open_stream(copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow, DICTIONARIES)"))
    batches = list(stream)
    assert max(len(batch.column(0).dictionary) for batch in batches) < 200_000
    assert pa.Table.from_batches(batches).column(0).cast(pa.string()).to_pylist() == [f"text {g}" for g in range(1, 400_001)]


@pytest.mark.parametrize("options", [", COMPRESSION lz4", ", COMPRESSION zstd", ", JSON struct"])
def test_with_other_options(db, t, options):
    query = "SELECT id, few, mood, doc FROM texts ORDER BY id"
    json = ", JSON struct" if "JSON" in options else ""
    expected = table(copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow{json})"))
    result = coded(db, query, options)
    assert result.schema.field("few").type == CODED
    assert result.cast(expected.schema).equals(expected)


def test_libraries_read_it(db, t):
    query = "SELECT id, few, many FROM texts ORDER BY id"
    expected = plain(db, query).to_pydict()
    result = coded(db, query)
    assert str(result.to_pandas()["few"].dtype) == "category"
    assert result.to_pandas()["few"].astype(object).where(lambda s: s.notna(), None).tolist() == expected["few"]
    assert pl.from_arrow(result)["few"].cast(pl.String).to_list() == expected["few"]
    assert duckdb.sql("SELECT few FROM result ORDER BY id").fetchall() == [(value,) for value in expected["few"]]


def test_back_into_a_table(db, t):
    stream = copy_bytes(db, "COPY (SELECT id, few, many, mood::text AS mood FROM texts) TO STDOUT (FORMAT arrow, DICTIONARIES)")
    for access in ("amax", "heap"):
        db.execute(f"DROP TABLE IF EXISTS back; CREATE TABLE back (id int, few text, many text, mood text) USING {access}")
        with db.cursor().copy("COPY back FROM STDIN (FORMAT arrow)") as copy:
            copy.write(stream)
        assert db.execute("SELECT count(*) FROM (SELECT id, few, many, mood::text FROM texts EXCEPT ALL SELECT * FROM back) x").fetchone() == (0,)
        assert db.execute("SELECT count(*) = (SELECT count(*) FROM texts) FROM back").fetchone() == (True,)


def test_only_what_rows_have_is_in_a_dictionary(db, role):
    """Values of rows that are hidden, deleted or filtered out are in the leaf's dictionary, and in nobody's result."""
    db.execute("DROP TABLE IF EXISTS hidden; CREATE TABLE hidden (tenant text, name text, id int) USING amax")
    db.execute("INSERT INTO hidden SELECT CASE i % 3 WHEN 0 THEN 'arrow_reader' ELSE 'other' END, CASE i % 3 WHEN 0 THEN 'own ' ELSE 'secret ' END || i % 12, i FROM generate_series(1, 20000) i")
    db.execute("VACUUM hidden")
    db.execute("DELETE FROM hidden WHERE name = 'own 6'")
    db.execute("ALTER TABLE hidden ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON hidden USING (tenant = current_user); GRANT SELECT ON hidden TO arrow_reader")
    own = {"own 0", "own 3", "own 9"}
    stream = pa.ipc.open_stream(copy_bytes(role, "COPY (SELECT name FROM hidden) TO STDOUT (FORMAT arrow, DICTIONARIES)"))
    batches = list(stream)
    assert batches and {value for batch in batches for value in batch.column(0).dictionary.to_pylist()} == own
    assert b"secret" not in copy_bytes(role, "COPY hidden TO STDOUT (FORMAT arrow, DICTIONARIES)")
    stream = copy_bytes(db, "COPY (SELECT name FROM hidden WHERE id % 12 = 3) TO STDOUT (FORMAT arrow, DICTIONARIES)")
    assert b"secret" not in stream and b"own 9" not in stream


def test_large_values_count(db):
    """Batches end by their bytes, of which each new value of a dictionary is some."""
    db.execute("DROP TABLE IF EXISTS hidden; CREATE TABLE hidden (id int, s text) USING amax")
    db.execute("INSERT INTO hidden SELECT i, repeat(chr(97 + i / 4 % 26), 100000) || i / 100 FROM generate_series(1, 4000) i")
    db.execute("VACUUM hidden")
    batches = list(pa.ipc.open_stream(copy_bytes(db, "COPY hidden TO STDOUT (FORMAT arrow, DICTIONARIES)")))
    assert max(len(batch) for batch in batches) < 4000 and sum(len(batch) for batch in batches) == 4000
    assert max(batch.nbytes for batch in batches) < 100e6
    db.execute("DROP TABLE hidden")


def test_off_is_off(db, t):
    stream = copy_bytes(db, "COPY (SELECT few FROM texts) TO STDOUT (FORMAT arrow, DICTIONARIES off)")
    assert pa.ipc.open_stream(stream).schema.field(0).type == pa.string()


@pytest.mark.parametrize("statement, error, message", [
    ("COPY texts TO STDOUT (FORMAT arrow, DICTIONARIES, FRAMING file)", psycopg.errors.FeatureNotSupported, "dictionaries are not supported in an Arrow file"),
    ("COPY texts TO '/tmp/x.arrow' (FORMAT arrow, DICTIONARIES)", psycopg.errors.FeatureNotSupported, "dictionaries are not supported in an Arrow file"),
    ("COPY texts TO STDOUT (FORMAT arrow, DICTIONARIES maybe)", psycopg.errors.SyntaxError, "dictionaries requires a Boolean value"),
    ("COPY texts TO STDOUT (FORMAT arrow, DICTIONARIES, DICTIONARIES)", psycopg.errors.SyntaxError, "conflicting or redundant options"),
    ("COPY texts TO STDOUT (FORMAT parquet, DICTIONARIES)", psycopg.errors.SyntaxError, "not available with format parquet"),
])
def test_refused(db, t, statement, error, message):
    with pytest.raises(error, match=message):
        copy_bytes(db, statement)


def test_text_that_is_none_in_utf8(db):
    """Where the database has no encoding, text may be any bytes: an error of its row."""
    db.execute("DROP DATABASE IF EXISTS no_encoding")
    db.execute("CREATE DATABASE no_encoding ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    try:
        with psycopg.connect(dbname="no_encoding", autocommit=True) as other:
            other.execute("CREATE EXTENSION amax")
            other.execute("CREATE TABLE b USING amax AS SELECT g, CASE WHEN g = 777 THEN E'\\xff' ELSE 'v' || g % 3 END AS s FROM generate_series(1, 2000) g")
            with pytest.raises(psycopg.errors.CharacterNotInRepertoire, match="777|UTF-8"):
                copy_bytes(other, "COPY b TO STDOUT (FORMAT arrow, DICTIONARIES)")
            result = table(copy_bytes(other, "COPY (SELECT s FROM b WHERE g <> 777) TO STDOUT (FORMAT arrow, DICTIONARIES)"))
            assert set(result.column("s").to_pylist()) == {"v0", "v1", "v2"}
    finally:
        db.execute("DROP DATABASE no_encoding")
