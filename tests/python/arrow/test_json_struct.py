"""COPY … (JSON struct) and amax.arrow(query, 'struct'): documents as nested columns, of a type that is inferred from all of them."""

import decimal
import io
import json
import lzma
import random

import duckdb
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pathlib import Path

from conftest import connect, copy_bytes, table

DATA = Path(__file__).resolve().parents[3] / "data"
MANY_KEYS, LEVELS = 1000, 32


def as_arrow(db, query, options=""):
    return table(copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow, JSON struct{options})"))


def as_function(db, query):
    rows = db.execute("SELECT amax.arrow(%s, 'struct')", (query,)).fetchall()
    return table(b"".join(row[0] for row in rows))


def as_parquet(db, query, options=""):
    return pq.read_table(io.BytesIO(copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT parquet, JSON struct{options})")))


WAYS = {"arrow": as_arrow, "function": as_function, "parquet": as_parquet}


@pytest.fixture(params=WAYS)
def read(request):
    return WAYS[request.param]


def documents(*docs):
    """A query of documents, in this order."""
    rows = ", ".join(f"({i}, {'NULL' if doc is None else psycopg.sql.Literal(doc).as_string(None)}::jsonb)" for i, doc in enumerate(docs))
    return f"SELECT doc FROM (VALUES {rows}) v (i, doc) ORDER BY i"


def is_json(field):
    """Where pyarrow knows the extension, it has a type of its own."""
    return (field.metadata or {}).get(b"ARROW:extension:name") == b"arrow.json" or getattr(field.type, "extension_name", "") == "arrow.json"


def kind(field):
    """A field's type, with `json` for text of JSON."""
    if is_json(field):
        return "json"
    if pa.types.is_struct(field.type):
        return {part.name: kind(part) for part in field.type}
    if pa.types.is_list(field.type):
        return [kind(field.type.value_field)]
    return str(field.type)


def plain(value):
    """Without keys whose values are null; numbers by their value."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, (int, float, decimal.Decimal)):
        return decimal.Decimal(repr(value)) if isinstance(value, float) else decimal.Decimal(value)
    return value


def parsed(text):
    return plain(json.loads(text, parse_float=decimal.Decimal))


def reader(field):
    """What makes the document of a column's value that it was."""
    if is_json(field):
        return parsed
    if pa.types.is_struct(field.type):
        parts = {part.name: reader(part) for part in field.type}
        return lambda value: {key: parts[key](part) for key, part in value.items() if part is not None}
    if pa.types.is_list(field.type):
        item = reader(field.type.value_field)
        return lambda value: [None if part is None else item(part) for part in value]
    return plain


def agree(result, texts, column="doc"):
    """All of a column's values are the documents."""
    back = reader(result.schema.field(column))
    assert len(texts) == result.num_rows
    for value, text in zip(result[column].to_pylist(), texts):
        assert (None if value is None else back(value)) == (None if text is None else parsed(text)), text


# --- types


@pytest.mark.parametrize("docs, expected", [
    (["true", "null", None], "bool"),
    (["1", "2.0", "-9223372036854775808"], "int64"),
    (["1", "0.1"], "double"),
    (["18446744073709551615", "0.5"], "decimal128(21, 1)"),
    (["18446744073709551615", "0.00000000000000000001"], "json"),
    (['"a"', '""'], "string"),
    (['"a"', "1"], "json"),
    (["[1, null]", "[]"], ["int64"]),
    (["[[true]]", "[[], null]"], [["bool"]]),
    (["[1]", "[[1]]"], ["json"]),
    (["{}", "{}"], "json"),
    (['{"b": 1}', '{"a": {"x": [{"y": "z"}]}, "b": 0.5}'], {"b": "double", "a": {"x": [{"y": "string"}]}}),
    (['{"a": {}, "b": null}', '{"a": {}}'], {"a": "json", "b": None}),
    (['{"a": 1}', "[1]"], "json"),
    (['{"": 1, "a.b": 2, "ü雪": 3, "a/b": 4}'], {"": "int64", "a.b": "int64", "ü雪": "int64", "a/b": "int64"}),
    (["null", None], None),
])
def test_types(db, read, docs, expected):
    # What has nothing but NULL: a type of Arrow's, and strings in Parquet.
    nothing = "string" if read is as_parquet else "null"
    of = {key: part or nothing for key, part in expected.items()} if isinstance(expected, dict) else expected or nothing
    result = read(db, documents(*docs))
    found = kind(result.schema.field("doc"))
    # Keys of one length come in the order of their bytes, as jsonb has them.
    assert found == of if not isinstance(of, dict) else dict(sorted(found.items())) == dict(sorted(of.items()))
    agree(result, docs)
    assert result.schema.field("doc").metadata[b"postgresql.type"] == b"jsonb"


def test_keys_are_in_order_of_appearance(db, read):
    result = read(db, documents('{"z": 1}', '{"a": 1, "z": 2}', '{"bb": 1, "b": 1}'))
    assert [part.name for part in result.schema.field("doc").type] == ["z", "a", "b", "bb"]


def test_the_last_row_decides(db, read):
    db.execute("SET amax.arrow_batch_rows = 10")
    query = """SELECT CASE WHEN i < 1000 THEN jsonb_build_object('n', i) ELSE '{"n": "x", "new": [1]}' END AS doc FROM generate_series(1, 1000) i"""
    result = read(db, query)
    assert kind(result.schema.field("doc")) == {"n": "json", "new": ["int64"]}
    assert result["doc"].to_pylist()[998:] == [{"n": "999", "new": None}, {"n": '"x"', "new": [1]}]


def test_other_columns(db, read):
    query = """SELECT i, CASE WHEN i % 3 > 0 THEN jsonb_build_object('i', i) END AS one, 'row ' || i AS s, jsonb_build_array(i, i) AS two,
        ARRAY[to_jsonb(i)] AS list, json_build_object('i', i) AS json, NULL::text AS nothing FROM generate_series(1, 500) i"""
    db.execute("SET amax.arrow_batch_rows = 64")
    result = read(db, query)
    assert result["i"].to_pylist() == list(range(1, 501)) and result["s"].to_pylist()[499] == "row 500"
    assert result["one"].to_pylist() == [{"i": i} if i % 3 else None for i in range(1, 501)]
    assert result["two"].to_pylist() == [[i, i] for i in range(1, 501)]
    # Of jsonb alone.
    assert json.loads(result["json"].to_pylist()[6]) == {"i": 7}
    assert result["list"].to_pylist()[6] == ["7"]


def test_domains(db, read):
    db.execute("CREATE DOMAIN pg_temp.doc AS jsonb CHECK (jsonb_typeof(VALUE) = 'object')")
    result = read(db, """SELECT '{"a": 1}'::pg_temp.doc AS doc""")
    assert result["doc"].to_pylist() == [{"a": 1}]


def test_nothing(db, read):
    result = read(db, "SELECT 1 AS i, '{}'::jsonb AS doc WHERE false")
    assert result.num_rows == 0 and result.column_names == ["i", "doc"]
    assert kind(result.schema.field("doc")) == ("string" if read is as_parquet else "null")


def test_text_is_the_default(db):
    query = documents('{"a": 1}')
    for format in ("arrow", "parquet"):
        assert copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT {format})") == copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT {format}, JSON text)")
    of = lambda *arguments: [bytes(row[0]) for row in db.execute(f"SELECT amax.arrow({', '.join(['%s'] * len(arguments))})", arguments)]
    assert of(query) == of(query, "text") != of(query, "struct")


# --- what is too much


def wide(keys):
    return json.dumps({f"k{key}": key for key in keys})


def test_maps(db, read):
    docs = [wide(range(600)), wide(range(400, MANY_KEYS))]
    result = read(db, documents(*docs))
    assert len(kind(result.schema.field("doc"))) == MANY_KEYS
    agree(result, docs)
    docs = [json.dumps({"name": "a", "map": json.loads(text)}) for text in (wide(range(600)), wide(range(400, MANY_KEYS + 1)))]
    result = read(db, documents(*docs))
    assert kind(result.schema.field("doc")) == {"name": "string", "map": "json"}
    agree(result, docs)


def test_deep(db, read):
    def deep(levels, inner="1"):
        return "[" * levels + inner + "]" * levels

    for levels, expected in [(LEVELS - 1, "int64"), (LEVELS, "json"), (300, "json")]:
        result = read(db, documents(deep(levels)))
        of = kind(result.schema.field("doc"))
        found = 1
        while isinstance(of, list):
            of, found = of[0], found + 1
        assert (of, found) == (expected, LEVELS)
        agree(result, [deep(levels)])


def test_deep_columns_come_back(db):
    doc = "".join(f'{{"k{level}": ' for level in range(LEVELS // 2 - 1)) + "[1, [2]]" + "}" * (LEVELS // 2 - 1)
    nested = "[" * (LEVELS - 1) + "1" + "]" * (LEVELS - 1)
    for format in ("arrow", "parquet"):
        db.execute("CREATE TABLE deep (doc jsonb, nested jsonb)")
        data = copy_bytes(db, f"COPY (SELECT '{doc}'::jsonb AS doc, '{nested}'::jsonb AS nested) TO STDOUT (FORMAT {format}, JSON struct)")
        with db.cursor().copy(f"COPY deep FROM STDIN (FORMAT {format})") as copy:
            copy.write(data)
        assert db.execute("SELECT nested = %s::jsonb FROM deep", (nested,)).fetchone() == (True,)
        path = [f"k{level}" for level in range(LEVELS // 2 - 1)]
        assert db.execute("SELECT doc #> %s FROM deep", (path,)).fetchone() == ([1, [2]],)
        db.execute("DROP TABLE deep")


def test_many_places_and_rows(db, read):
    """Each document has few of many keys: batches leave in parts, as large as they may be."""
    db.execute("SET amax.arrow_batch_size = '64kB'")
    query = "SELECT i, jsonb_build_object('k' || i % 900, i, 'list', jsonb_build_array(jsonb_build_object('l' || i % 50, i))) AS doc FROM generate_series(1, 3000) i"
    result = read(db, query)
    assert result["i"].to_pylist() == list(range(1, 3001))
    for i, doc in zip(range(1, 3001), result["doc"].to_pylist()):
        assert plain(doc) == {f"k{i % 900}": i, "list": [{f"l{i % 50}": i}]}
    if read is as_arrow:
        stream = copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow, JSON struct)")
        batches = list(pa.ipc.open_stream(stream))
        assert len(batches) > 100 and max(batch.nbytes for batch in batches) < 300_000


def test_spooled_rows_count_as_temporary(db):
    query = "SELECT jsonb_build_object('text', repeat(md5(i::text), 100)) AS doc FROM generate_series(1, 3000) i"
    db.execute("SET amax.arrow_batch_rows = 100; SET temp_file_limit = '1MB'")
    for way in WAYS.values():
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="temporary file size exceeds"):
            way(db, query)
        db.execute("SET temp_file_limit = -1")
        assert way(db, query).num_rows == 3000
        db.execute("SET temp_file_limit = '1MB'")


# --- tables


def sample(name):
    with lzma.open(DATA / f"{name}.jsonl.xz", "rt") as lines:
        return [line.rstrip("\n") for line in lines]


@pytest.fixture(scope="module")
def samples(extension):
    """The sample documents on heap and on amax, there in leaves and in row pages."""
    with connect() as db:
        db.execute("DROP SCHEMA IF EXISTS nested CASCADE; CREATE SCHEMA nested")
        lines = {name: sample(name) for name in ("crates", "npm")}
        for name, texts in lines.items():
            for am in ("heap", "amax"):
                db.execute(f"CREATE TABLE nested.{name}_{am} (id int, doc jsonb) USING {am}")
                for part in (range(len(texts) - 100), range(len(texts) - 100, len(texts))):
                    with db.cursor().copy(f"COPY nested.{name}_{am} FROM STDIN") as copy:
                        for i in part:
                            copy.write_row((i, texts[i]))
                    if part.start == 0:
                        db.execute(f"VACUUM nested.{name}_{am}")
    yield lines
    with connect() as db:
        db.execute("DROP SCHEMA nested CASCADE")


@pytest.mark.parametrize("name", ["crates", "npm"])
def test_real_documents(db, read, samples, name):
    query = "SELECT id, doc FROM nested.{} ORDER BY id"
    heap, amax = (read(db, query.format(f"{name}_{am}")) for am in ("heap", "amax"))
    assert amax.schema.equals(heap.schema, check_metadata=True) and amax.equals(heap)
    agree(heap, samples[name])
    of = kind(heap.schema.field("doc"))
    if name == "crates":
        assert (of["name"], of["yanked"], of["features"]) == ("string", "bool", "json")
        assert {key: of["deps"][0][key] for key in ("name", "req", "features", "optional")} == {
            "name": "string", "req": "string", "features": ["string"], "optional": "bool"}
    else:
        assert (of["name"], of["keywords"], of["repository"], of["dependencies"]) == ("string", "json", "json", "json")


def test_table_as_it_is(db, samples):
    """COPY of a table, which is read in its order; and of parts of documents."""
    found = table(copy_bytes(db, "COPY nested.crates_amax TO STDOUT (FORMAT arrow, JSON struct)"))
    assert found["id"].to_pylist() == [row[0] for row in db.execute("SELECT id FROM nested.crates_amax")]
    assert found.num_rows == len(samples["crates"])
    parts = as_arrow(db, "SELECT doc->'deps' AS deps, doc->>'name' AS name FROM nested.crates_amax")
    assert pa.types.is_list(parts.schema.field("deps").type) and parts.schema.field("name").type == pa.string()
    assert parts.num_rows == found.num_rows


def test_partitions(db, read):
    db.execute("DROP TABLE IF EXISTS parts; CREATE TABLE parts (id int, doc jsonb) PARTITION BY RANGE (id)")
    db.execute("CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (100) USING amax")
    db.execute("CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (100) TO (200)")
    db.execute("INSERT INTO parts SELECT i, CASE WHEN i < 100 THEN jsonb_build_object('a', i) ELSE jsonb_build_object('b', i / 2.0) END FROM generate_series(0, 199) i")
    result = read(db, "SELECT * FROM parts ORDER BY id")
    assert kind(result.schema.field("doc")) == {"a": "int64", "b": "double"}
    assert result["doc"].to_pylist() == [{"a": i, "b": None} if i < 100 else {"a": None, "b": i / 2} for i in range(200)]
    db.execute("DROP TABLE parts")


def test_the_query_runs_once(db, read):
    db.execute("CREATE SEQUENCE IF NOT EXISTS runs")
    before = db.execute("SELECT nextval('runs')").fetchone()[0]
    read(db, "SELECT to_jsonb(nextval('runs')) AS doc FROM generate_series(1, 10)")
    assert db.execute("SELECT nextval('runs')").fetchone()[0] == before + 11
    # What another run would have is of another type.
    last = db.execute("SELECT nextval('runs')").fetchone()[0]
    result = read(db, f"SELECT CASE WHEN nextval('runs') > {last + 10} THEN to_jsonb('x'::text) ELSE to_jsonb(1) END AS doc FROM generate_series(1, 10)")
    assert kind(result.schema.field("doc")) == "int64" and result["doc"].to_pylist() == [1] * 10


def test_changes(db):
    db.execute("CREATE TEMP TABLE changed (doc jsonb); INSERT INTO changed SELECT jsonb_build_object('i', i) FROM generate_series(1, 5) i")
    result = as_arrow(db, "DELETE FROM changed RETURNING doc")
    assert result["doc"].to_pylist() == [{"i": i} for i in range(1, 6)]
    assert db.execute("SELECT count(*) FROM changed").fetchone() == (0,)


# --- who reads


def test_duckdb(db, tmp_path):
    query = """SELECT i AS id, jsonb_build_object('at', jsonb_build_object('x', i, 'y', i / 4.0), 'tags', jsonb_build_array('t' || i % 3), 'mixed',
        CASE i % 2 WHEN 0 THEN to_jsonb(i) ELSE to_jsonb('s' || i) END) AS doc FROM generate_series(1, 1000) i"""
    frame = as_arrow(db, query)  # noqa: F841
    path = tmp_path / "out.parquet"
    path.write_bytes(copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT parquet, JSON struct)"))
    for source in ("frame", f"'{path}'"):
        found = duckdb.sql(f"SELECT sum(doc.at.x), max(doc.at.y), count(DISTINCT doc.tags[1]) FROM {source}").fetchall()
        assert found == [(500500, 250.0, 3)]
        of = duckdb.sql(f"SELECT typeof(doc) FROM {source} LIMIT 1").fetchall()[0][0]
        assert "STRUCT(x BIGINT, y DOUBLE)" in of.replace('"', "") and "VARCHAR[]" in of


def test_polars_and_pandas(db):
    query = documents('{"a": 1, "l": [{"b": true}, null]}', None, '{"a": null, "s": "ü"}')
    frame = pl.from_arrow(as_arrow(db, query))
    assert frame["doc"].struct.field("a").to_list() == [1, None, None]
    assert pl.read_parquet(io.BytesIO(copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT parquet, JSON struct)")))["doc"].struct.field("s").to_list() == [None, None, "ü"]
    flat = as_arrow(db, query).flatten().to_pandas()
    assert list(flat.columns) == ["doc.a", "doc.l", "doc.s"] and flat["doc.a"][0] == 1


UNION = documents("1", '"x"', None, "[1, null]", '{"a": [1, "y", {"b": null, "c": true}]}', "null", '{"a": null, "d": false}', "2.5", '{"d": 7}')


@pytest.mark.parametrize("options", ["", ", FRAMING file", ", COMPRESSION zstd"])
def test_unions(db, options):
    data = copy_bytes(db, f"COPY ({UNION}) TO STDOUT (FORMAT arrow, JSON struct, MIXED 'union'{options})")
    result = pa.ipc.open_file(data).read_all() if "file" in options else table(data)
    result.validate(full=True)
    kinds = result.schema.field("doc").type
    assert pa.types.is_union(kinds) and kinds.mode == "dense"
    assert [kinds.field(i).name for i in range(kinds.num_fields)] == ["number", "string", "list", "struct"]
    assert result["doc"].to_pylist() == [1.0, "x", None, [1, None], {"a": [1, "y", {"c": True, "b": None}], "d": None}, None, {"a": None, "d": False}, 2.5, {"a": None, "d": 7}]
    # Back as documents: keys that are missing are null.
    db.execute("CREATE TEMP TABLE unions (doc jsonb)")
    with db.cursor().copy("COPY unions FROM STDIN (FORMAT arrow)") as copy:
        copy.write(data)
    same = f"SELECT jsonb_strip_nulls(doc) FROM ({UNION}) x WHERE doc <> 'null'"
    found = "SELECT jsonb_strip_nulls(doc) FROM unions WHERE doc <> 'null'"
    assert db.execute(f"SELECT count(*) FROM (({same} EXCEPT ALL {found}) UNION ALL ({found} EXCEPT ALL {same})) x").fetchone() == (0,)


def test_unions_in_parquet(db):
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="unions cannot be represented in Parquet"):
        copy_bytes(db, f"COPY ({UNION}) TO STDOUT (FORMAT parquet, JSON struct, MIXED 'union')")


@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_and_back_again(db, samples, format):
    """COPY FROM makes documents of columns: text that is marked as JSON is JSON again."""
    db.execute("CREATE TEMP TABLE again (id int, doc jsonb)")
    query = "SELECT id, jsonb_build_object('name', doc->'name', 'deps', doc->'deps') AS doc FROM nested.crates_amax"
    data = copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT {format}, JSON struct)")
    with db.cursor().copy(f"COPY again FROM STDIN (FORMAT {format})") as copy:
        copy.write(data)
    assert db.execute(f"SELECT count(*) FROM again JOIN ({query}) t USING (id) WHERE jsonb_strip_nulls(again.doc) <> jsonb_strip_nulls(t.doc)").fetchone() == (0,)


def test_compression_and_files(db, tmp_path):
    query = "SELECT jsonb_build_object('i', i) AS doc FROM generate_series(1, 5000) i"
    expected = [{"i": i} for i in range(1, 5001)]
    for options in (", COMPRESSION zstd", ", COMPRESSION lz4"):
        assert as_arrow(db, query, options)["doc"].to_pylist() == expected
    for options in (", COMPRESSION none", ", COMPRESSION snappy, ROW_GROUP_SIZE 700"):
        assert as_parquet(db, query, options)["doc"].to_pylist() == expected
    data = copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow, JSON struct, FRAMING file)")
    assert pa.ipc.open_file(data).read_all()["doc"].to_pylist() == expected


# --- errors and ends


@pytest.mark.parametrize("options, error, message", [
    ("JSON columns", psycopg.errors.InvalidParameterValue, 'option "json" must be "text", "struct" or "variant"'),
    ("JSON", psycopg.errors.InvalidParameterValue, 'option "json" must be "text", "struct" or "variant"'),
    ("JSON struct, JSON text", psycopg.errors.SyntaxError, "conflicting or redundant options"),
    ("JSON struct, MIXED columns", psycopg.errors.InvalidParameterValue, 'option "mixed" must be "text" or "union"'),
    ("JSON struct, MIXED text, MIXED text", psycopg.errors.SyntaxError, "conflicting or redundant options"),
])
@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_options(db, format, options, error, message):
    with pytest.raises(error, match=message):
        copy_bytes(db, f"COPY (SELECT '1'::jsonb) TO STDOUT (FORMAT {format}, {options})")


def test_bad_argument(db):
    with pytest.raises(psycopg.errors.InvalidParameterValue, match='must be "text", "struct" or "variant"') as error:
        db.execute("SELECT amax.arrow('SELECT 1', 'columns')")
    assert "columns within columns" in error.value.diag.message_detail
    assert db.execute("SELECT amax.arrow('SELECT 1', NULL)").fetchall() == []


def test_from_has_no_such_option(db):
    db.execute("CREATE TEMP TABLE f (doc jsonb)")
    with pytest.raises(psycopg.errors.SyntaxError, match='option "json" is not available'):
        with db.cursor().copy("COPY f FROM STDIN (FORMAT arrow, JSON struct)") as copy:
            copy.write(b"")


def test_error_in_the_last_row(db):
    query = "SELECT jsonb_build_object('q', 1 / (1000 - i)) AS doc FROM generate_series(1, 1000) i"
    for way in WAYS.values():
        with pytest.raises(psycopg.errors.DivisionByZero):
            way(db, query)
    assert as_arrow(db, "SELECT '{\"a\": 1}'::jsonb AS doc")["doc"].to_pylist() == [{"a": 1}]


def test_stopping_early_leaves_no_file(db):
    """A file that is left behind is a warning when the transaction ends."""
    notices = []
    db.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    query = "SELECT jsonb_build_object('text', repeat(md5(i::text), 100)) AS doc FROM generate_series(1, 3000) i"
    db.execute("SET amax.arrow_batch_rows = 100")
    assert len(db.execute("SELECT amax.arrow(%s, 'struct') LIMIT 2", (query,)).fetchall()) == 2
    with db.transaction():
        cursor = db.cursor("c")
        cursor.execute("SELECT amax.arrow(%s, 'struct')", (query,))
        assert len(cursor.fetchmany(3)) == 3
        cursor.close()
    assert notices == []
    found = db.execute("SELECT count(*) FROM pg_ls_tmpdir()").fetchone()
    assert found == (0,)


def test_an_error_that_is_caught_leaves_no_file(db):
    notices = []
    db.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    db.execute("""DO $$ BEGIN
        PERFORM amax.arrow('SELECT jsonb_build_object(''text'', repeat(md5(i::text), 1000), ''q'', 1 / (300 - i)) AS doc FROM generate_series(1, 300) i', 'struct');
    EXCEPTION WHEN division_by_zero THEN NULL; END $$""")
    assert notices == []
    assert db.execute("SELECT count(*) FROM pg_ls_tmpdir()").fetchone() == (0,)


def test_messages_come_one_by_one(db):
    db.execute("SET amax.arrow_batch_rows = 100")
    rows = db.execute("SELECT amax.arrow($$SELECT jsonb_build_object('i', i) AS doc FROM generate_series(1, 250) i$$, 'struct')").fetchall()
    # The schema, three batches, the end.
    assert len(rows) == 5


def test_other_encodings(db):
    for encoding in ("LATIN1", "SQL_ASCII"):
        db.execute("DROP DATABASE IF EXISTS nested_encoding")
        db.execute(f"CREATE DATABASE nested_encoding TEMPLATE template0 ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'")
        try:
            with connect(dbname="nested_encoding") as other:
                other.execute("CREATE EXTENSION amax; SELECT amax.load()")
                if encoding == "LATIN1":
                    result = as_arrow(other, """SELECT '{"ü": "ä", "n": 0.5}'::jsonb AS doc""")
                    assert result["doc"].to_pylist() == [{"n": 0.5, "ü": "ä"}]
                else:
                    assert as_arrow(other, """SELECT '{"u": "a"}'::jsonb AS doc""")["doc"].to_pylist() == [{"u": "a"}]
                    with pytest.raises(psycopg.errors.CharacterNotInRepertoire):
                        as_arrow(other, r"""SELECT to_jsonb(convert_from('\xff', 'SQL_ASCII')) AS doc""")
        finally:
            db.execute("DROP DATABASE nested_encoding")


def test_random_documents(db):
    generator = random.Random(11)

    def anything(depth):
        choice = generator.randrange(9 if depth else 6)
        if choice == 0:
            return None
        if choice == 1:
            return generator.random() < 0.5
        if choice == 2:
            return generator.randrange(-100, 100)
        if choice == 3:
            return generator.randrange(-10 ** 6, 10 ** 6) / 100
        if choice in (4, 5):
            return "".join(generator.choices('ab"\\\n雪', k=generator.randrange(5)))
        if choice == 6:
            return [anything(depth - 1) for _ in range(generator.randrange(4))]
        return {generator.choice("abcde"): anything(depth - 1) for _ in range(generator.randrange(5))}

    for _ in range(60):
        depth = generator.randrange(4)
        docs = [json.dumps({"id": i, **{key: anything(depth) for key in generator.sample("xyz", 2)}}) for i in range(generator.randrange(1, 40))]
        results = [way(db, documents(*docs)) for way in WAYS.values()]
        for result in results:
            agree(result, docs)
        assert results[0].equals(results[1])
