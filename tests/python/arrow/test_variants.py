"""COPY … (JSON variant) and amax.arrow(query, 'variant'): documents as Parquet's Variant; and variants into tables."""

import io
import json
import lzma
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import copy_bytes, table

DATA = Path(__file__).resolve().parents[3] / "data"
DOCUMENTS = [None, "null", "true", "0", "-1", "1.50", "9223372036854775808", '"é\\u2603 \\""', "[]", "{}", '[1, null, [{}], "x"]',
             '{"a": {"b": [1, 2.5, {"c": null}]}, "long name": "' + "x" * 200 + '", "n": 123456789.123456789}']


@pytest.fixture
def t(db):
    db.execute("DROP TABLE IF EXISTS t, back; CREATE TABLE t (i int, doc jsonb) USING amax; CREATE TABLE back (i int, doc jsonb)")
    for i, document in enumerate(DOCUMENTS):
        db.execute("INSERT INTO t VALUES (%s, %s::jsonb)", (i, document))
    db.execute("INSERT INTO t SELECT g, jsonb_build_object('k', g, 's', 'text ' || g % 10, 'l', ARRAY[g % 3, NULL]) FROM generate_series(100, 20000) g")
    yield "t"


def send(db, statement, data):
    with db.cursor() as cursor:
        with cursor.copy(statement) as copy:
            copy.write(data)
        return cursor.rowcount


def bytes_of(column):
    """The struct of a variant, whether pyarrow knows the type or not."""
    column = column.combine_chunks()
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def extension(field):
    return (field.metadata or {}).get(b"ARROW:extension:name", b"").decode() or getattr(field.type, "extension_name", "")


@pytest.mark.parametrize("way", ["stream", "file", "zstd", "function"])
def test_in_arrow(db, t, way):
    query = "SELECT i, doc FROM t ORDER BY i"
    if way == "function":
        data = b"".join(row[0] for row in db.execute("SELECT amax.arrow(%s, 'variant')", (query,)).fetchall())
    else:
        options = {"stream": "", "file": ", FRAMING file", "zstd": ", COMPRESSION zstd"}[way]
        data = copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow, JSON variant{options})")
    result = pa.ipc.open_file(pa.BufferReader(data)).read_all() if way == "file" else table(data)
    assert extension(result.schema.field("doc")) == "arrow.parquet.variant"
    variants = bytes_of(result["doc"])
    assert [field.name for field in variants.type] == ["metadata", "value"]
    assert variants.null_count == 1 and not variants[0].is_valid
    # `null`, `true` and 0 (VariantEncoding.md): types 0, 1 and 3 of the primitive ones.
    assert [variants[i].as_py()["value"] for i in (1, 2, 3)] == [b"\x00", b"\x04", b"\x0c\x00"]
    assert send(db, "COPY back FROM STDIN (FORMAT arrow)", data) == len(result)
    assert db.execute("SELECT count(*) FROM t FULL JOIN back USING (i) WHERE t.doc::text IS DISTINCT FROM back.doc::text").fetchone() == (0,)


def test_in_parquet(db, t, tmp_path):
    path = tmp_path / "documents.parquet"
    path.write_bytes(copy_bytes(db, "COPY (SELECT i, doc, doc->>'s' AS s FROM t ORDER BY i) TO STDOUT (FORMAT parquet, JSON variant)"))
    column = pq.ParquetFile(path).schema
    assert "Variant" in str(column)
    # DuckDB makes JSON of variants.
    rows = duckdb.sql(f"SELECT i, doc::JSON::VARCHAR, typeof(doc) FROM '{path}' ORDER BY i").fetchall()
    assert {kind for _, _, kind in rows} == {"VARIANT"}
    expected = db.execute("SELECT i, doc FROM t ORDER BY i").fetchall()
    assert len(rows) == len(expected)
    for (i, text, _), (j, document) in zip(rows, expected):
        assert i == j
        assert (None if text is None else json.loads(text)) == document, i
    assert duckdb.sql(f"SELECT sum(doc.k::INT) FROM '{path}' WHERE i >= 100").fetchall() == db.execute("SELECT sum((doc->>'k')::int) FROM t WHERE i >= 100").fetchall()
    assert send(db, "COPY back (i, doc) FROM STDIN (FORMAT parquet)", path.read_bytes()) == len(rows)
    assert db.execute("SELECT count(*) FROM t FULL JOIN back USING (i) WHERE t.doc::text IS DISTINCT FROM back.doc::text").fetchone() == (0,)


def test_real_documents(db):
    db.execute("DROP TABLE IF EXISTS real, back; CREATE TABLE real (doc jsonb) USING amax; CREATE TABLE back (doc jsonb) USING amax")
    path = next(DATA.glob("crates.jsonl*"))
    lines = (lzma.open(path, "rt") if path.suffix == ".xz" else path.open()).read().splitlines()[:5000]
    with db.cursor().copy("COPY real FROM STDIN") as copy:
        for line in lines:
            copy.write_row((line,))
    for form in ("arrow", "parquet"):
        data = copy_bytes(db, f"COPY real TO STDOUT (FORMAT {form}, JSON variant)")
        db.execute("TRUNCATE back")
        assert send(db, f"COPY back FROM STDIN (FORMAT {form})", data) == len(lines)
        assert db.execute("SELECT count(*) FROM (SELECT doc::text FROM real EXCEPT ALL SELECT doc::text FROM back) x").fetchone() == (0,)


def test_variants_of_others(db, tmp_path):
    """DuckDB writes them shredded, where it finds them to be of one type."""
    path = tmp_path / "others.parquet"
    db.execute("DROP TABLE IF EXISTS back; CREATE TABLE back (doc jsonb)")
    duckdb.sql(f"COPY (SELECT NULL::VARIANT AS doc) TO '{path}' (FORMAT parquet, SHREDDING {{doc: 'INTEGER'}})")
    with pytest.raises(psycopg.errors.DatatypeMismatch, match="shredded"):
        send(db, "COPY back FROM STDIN (FORMAT parquet)", path.read_bytes())


@pytest.mark.parametrize("document, message", [
    ("1e300", "more than 38 digits"),
    ("[" * 129 + "]" * 129, "more than 128 levels"),
])
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_documents_that_are_none(db, form, document, message):
    with pytest.raises((psycopg.errors.NumericValueOutOfRange, psycopg.errors.ProgramLimitExceeded)) as raised:
        copy_bytes(db, f"COPY (SELECT '1'::jsonb AS doc UNION ALL SELECT '{document}'::jsonb) TO STDOUT (FORMAT {form}, JSON variant)")
    assert message in raised.value.diag.message_detail and "row 2" in raised.value.diag.message_primary
    assert "as text" in raised.value.diag.message_hint


def test_other_types_stay(db):
    result = table(copy_bytes(db, "COPY (SELECT 1 AS a, '{}'::json AS b, ARRAY['{}'::jsonb] AS c) TO STDOUT (FORMAT arrow, JSON variant)"))
    assert [str(field.type) for field in result.schema][0] == "int32" and result["b"].to_pylist() == ["{}"] and result["c"].to_pylist() == [["{}"]]


def test_damage(db, t):
    data = bytearray(copy_bytes(db, "COPY (SELECT '{\"key\": [1, 2, 3]}'::jsonb AS doc) TO STDOUT (FORMAT arrow, JSON variant)"))
    at = data.index(b"key")
    data[at - 3:at] = b"\xff\xff\xff"
    with pytest.raises(psycopg.DatabaseError, match="damaged|cannot be represented|column"):
        send(db, "COPY back (doc) FROM STDIN (FORMAT arrow)", bytes(data))
    assert db.execute("SELECT count(*) FROM back").fetchone() == (0,)
