"""Results of amax's own nodes, whose columns leave as columns: the same as heap's, whatever is in leaves and in row pages."""

import random

import psycopg
import pyarrow as pa
import pytest

from conftest import table

# name: (SQL type, an expression of the row's number i)
COLUMNS = {
    "yes": ("bool", "i % 3 = 0"),
    "small": ("int2", "(i % 60000 - 30000)::int2"),
    "number": ("int4", "i * 7919 % 100000 - 50000"),
    "large": ("int8", "i::int8 * 10000000000 - 5"),
    "real": ("float4", "(i / 7.0)::float4"),
    "double": ("float8", "CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN '-infinity' ELSE i / 7.0 END::float8"),
    "price": ("numeric(12,2)", "(i * 37 % 100000 / 100.0)::numeric(12,2)"),
    "exact": ("numeric", "CASE i % 40 WHEN 0 THEN 'NaN' WHEN 1 THEN '12345678901234567890.1234567890' ELSE (i / 8.0)::text || '00' END::numeric"),
    "word": ("text", "(ARRAY['', 'rail', 'ünïcödé 雪 🦀', 'ship'])[i % 4 + 1]"),
    "words": ("text", "repeat(md5(i::text), i % 5)"),
    "short": ("varchar(20)", "'v' || i % 100"),
    "padded": ("char(5)", "(ARRAY['a', 'bcd', 'efghi'])[i % 3 + 1]"),
    "day": ("date", "date '1999-01-01' + i % 3000"),
    "hour": ("time", "time '00:00' + i % 86400 * interval '1 s'"),
    "at": ("timestamp", "timestamp '1999-12-31' + i * interval '1.5 s'"),
    "zoned": ("timestamptz", "timestamptz '1999-12-31' + i * interval '1.5 s'"),
    "key": ("uuid", "md5(i::text)::uuid"),
    "bytes": ("bytea", "decode(md5(i::text), 'hex')"),
    "lasting": ("interval", "i * interval '1 day 1 s'"),
    "tags": ("text[]", "ARRAY['a', NULL, i::text]"),
    "doc": ("jsonb", """jsonb_build_object('id', i, 'kind', (ARRAY['a', 'b', 'ü'])[i % 3 + 1], 'price', i / 4.0, 'list', jsonb_build_array(i, 'x'))
        || CASE i % 7 WHEN 0 THEN '{"id": "other"}' WHEN 1 THEN '{"kind": null}' ELSE '{}' END::jsonb"""),
}
ROWS = 3000


@pytest.fixture(scope="module")
def tables(extension):
    """The same rows on heap and on amax, in leaves, row pages, and both with some deleted and updated."""
    from conftest import connect

    with connect() as db:
        db.execute("DROP SCHEMA IF EXISTS direct CASCADE; CREATE SCHEMA direct")
        generator = random.Random(7)
        for am in ("heap", "amax"):
            columns = ", ".join(f"{name} {sql_type}" for name, (sql_type, _) in COLUMNS.items())
            db.execute(f"CREATE TABLE direct.{am} (id int, {columns}) USING {am}")
        nulls = {name: generator.randrange(2, 12) for name in COLUMNS}
        values = ", ".join(f"CASE WHEN i % {nulls[name]} > 0 THEN {value} END" for name, (_, value) in COLUMNS.items())
        for am in ("heap", "amax"):
            db.execute(f"INSERT INTO direct.{am} SELECT i, {values} FROM generate_series(1, {ROWS}) i")
            db.execute(f"VACUUM direct.{am}")
            db.execute(f"DELETE FROM direct.{am} WHERE id % 11 = 0; UPDATE direct.{am} SET number = -1 WHERE id % 13 = 0")
            db.execute(f"INSERT INTO direct.{am} SELECT i, {values} FROM generate_series({ROWS + 1}, {ROWS + 500}) i")
    yield
    with connect() as db:
        db.execute("DROP SCHEMA direct CASCADE")


def sorted_rows(batches):
    result = table(batches)
    result.validate(full=True)
    # repr(), as a NaN differs from itself.
    return result.schema, sorted(repr(tuple(row.values())) for row in result.to_pylist())


def paths(db, query):
    return dict(db.execute("SELECT \"column\", path FROM amax.arrow_plan(%s)", (query,)))


QUERIES = {
    "all": f"SELECT id, {', '.join(COLUMNS)} FROM direct.AM WHERE id > 0",
    "vectors": "SELECT id, number, price, word, words, padded, day, zoned, key, exact FROM direct.AM WHERE id > 0",
    "few": "SELECT id, words FROM direct.AM WHERE number BETWEEN 100 AND 400",
    "none": "SELECT id, words, doc FROM direct.AM WHERE number = 1000000",
    "twice": "SELECT word, word AS again, id FROM direct.AM WHERE id > 10",
    "computed": "SELECT id, price * 2 AS double, number + 1 AS next, upper(padded) AS loud, length(words), day + 1 AS tomorrow, price > 10 AS dear "
        "FROM direct.AM WHERE yes",
    "paths": "SELECT doc->>'kind' AS kind, doc->'id' AS id, (doc->>'price')::numeric AS price, (doc->>'price')::float8 AS real, doc->'list'->>1 AS x FROM direct.AM",
    "constants": "SELECT 1 AS one, 'x' AS x, NULL::int AS nothing, id FROM direct.AM WHERE id % 5 = 1",
    "rows without columns": "SELECT FROM direct.AM WHERE id % 5 = 1",
    "in an order that is known": "SELECT id, number FROM direct.AM WHERE small = -29995 ORDER BY small",
    "wide": "SELECT id, repeat(words, 300) AS wide, doc->'list' AS list FROM direct.AM WHERE id % 50 < 3",
    "elements": "SELECT a.id, e AS element FROM direct.AM a, jsonb_array_elements_text(a.doc->'list') e WHERE a.id > 0",
}


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("limits", ["65536 rows", "7 rows", "64 kB"])
def test_same_as_heap(db, tables, read_bytes, name, limits):
    limit, unit = limits.split()
    setting = "amax.arrow_batch_rows" if unit == "rows" else "amax.arrow_batch_size"
    db.execute("SELECT set_config(%s, %s, false)", (setting, limit + ("" if unit == "rows" else unit)))
    query = QUERIES[name]
    expected = sorted_rows(read_bytes(db, query.replace("AM", "heap")))
    assert sorted_rows(read_bytes(db, query.replace("AM", "amax"))) == expected
    assert "executor" not in paths(db, query.replace("AM", "amax")).values()


@pytest.mark.parametrize("limits", [(7, "16MB"), (65536, "64kB")])
def test_batches_end_at_their_limits(db, tables, read_bytes, limits):
    rows, size = limits
    db.execute("SELECT set_config('amax.arrow_batch_rows', %s, false), set_config('amax.arrow_batch_size', %s, false)", (str(rows), size))
    with pa.ipc.open_stream(read_bytes(db, "SELECT id, words, doc FROM direct.amax WHERE id > 0")) as reader:
        batches = list(reader)
    assert all(batch.num_rows <= rows for batch in batches)
    # But for the last, each is full, and its last row crosses the limit at most.
    for batch in batches[:-1]:
        assert batch.num_rows == rows or 50_000 < batch.nbytes < 80_000


def test_volatile_columns_are_computed_in_between_conditions(db, tables, read_bytes):
    db.execute("DROP SEQUENCE IF EXISTS direct.numbers; CREATE SEQUENCE direct.numbers")
    query = "SELECT id, currval('direct.numbers') AS n FROM direct.amax WHERE nextval('direct.numbers') > 0"
    assert set(paths(db, query).values()) == {"executor"}
    numbers = table(read_bytes(db, query))["n"].to_pylist()
    assert numbers == list(range(1, len(numbers) + 1))


def test_counted_by_pg_stat_statements(db, tables):
    db.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    db.execute("SET pg_stat_statements.track = 'all'")
    db.execute("SELECT pg_stat_statements_reset()")
    db.execute("SELECT count(*) FROM amax.arrow('SELECT id, words FROM direct.amax WHERE id > 7')")
    rows = db.execute("SELECT rows, total_exec_time > 0 FROM pg_stat_statements WHERE query LIKE 'SELECT id, words FROM direct.amax%'").fetchall()
    assert rows == [(db.execute("SELECT count(*) FROM direct.amax WHERE id > 7").fetchone()[0], True)]


def test_plan(db, tables):
    assert paths(db, "SELECT id, words, doc, bytes FROM direct.amax WHERE id > 0") == {"id": "vectors", "words": "vectors", "doc": "rows", "bytes": "rows"}
    assert paths(db, "SELECT id FROM direct.heap") == {"id": "executor"}
    line = db.execute("SELECT * FROM amax.arrow_plan('SELECT id FROM direct.amax ORDER BY words || id')").fetchone()
    assert line == ("id", "executor", "the plan's top node is Sort")
    line = db.execute("SELECT * FROM amax.arrow_plan('SELECT doc FROM direct.amax WHERE id = 1')").fetchone()
    assert line == ("doc", "rows", "no vectors of type jsonb")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="query must be a SELECT"):
        db.execute("SELECT * FROM amax.arrow_plan('DELETE FROM direct.amax')")


@pytest.mark.parametrize("column, value, message", [
    ("day", "'infinity'", 'value in column "day" of row 2 cannot be represented in Arrow'),
    ("zoned", "'-infinity'", 'value in column "zoned" of row 2 cannot be represented in Arrow'),
    ("price", "'NaN'", 'value in column "price" of row 2 cannot be represented in Arrow'),
    ("hour", "'24:00'", 'value in column "hour" of row 2 cannot be represented in Arrow'),
])
@pytest.mark.parametrize("vacuumed", [True, False])
def test_values_that_do_not_fit(db, tables, read_bytes, column, value, message, vacuumed):
    db.execute("DROP TABLE IF EXISTS direct.bad")
    sql_type = COLUMNS[column][0]
    db.execute(f"CREATE TABLE direct.bad (id int, {column} {sql_type}) USING amax")
    db.execute(f"INSERT INTO direct.bad SELECT i, CASE i WHEN 2 THEN {value}::{sql_type} END FROM generate_series(1, 3) i")
    if vacuumed:
        db.execute("VACUUM direct.bad")
    with pytest.raises(psycopg.Error, match=message):
        read_bytes(db, f"SELECT {column} FROM direct.bad WHERE id > 0")


@pytest.mark.parametrize("way", ["amax", "heap"])
def test_errors_of_rows_come_as_ever(db, tables, read_bytes, way):
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="invalid input syntax for type integer"):
        read_bytes(db, f"SELECT (doc->>'id')::int FROM direct.{way}")


def test_stopped_early(db, tables):
    """A stream that is not read to its end, beside others, and the query that follows."""
    db.execute("SET amax.arrow_batch_rows = 10")
    with db.transaction():
        db.execute("DECLARE c CURSOR FOR SELECT amax.arrow('SELECT id, words FROM direct.amax WHERE id > 0')")
        db.execute("DECLARE d CURSOR FOR SELECT amax.arrow('SELECT id, doc FROM direct.amax WHERE id > 0')")
        for cursor in "cdc":
            assert len(db.execute(f"FETCH 3 FROM {cursor}").fetchall()) == 3
        db.execute("CLOSE c")
        assert len(db.execute("FETCH 3 FROM d").fetchall()) == 3
    assert db.execute("SELECT count(*) FROM (SELECT amax.arrow('SELECT id FROM direct.amax WHERE id > 0') LIMIT 5) x").fetchone() == (5,)


def test_conditions_are_looked_at_before_rows_are_taken(db, tables):
    """docs/limitations.md: who takes the first messages only meets errors of rows that come later."""
    db.execute("SET amax.arrow_batch_rows = 10")
    with pytest.raises(psycopg.errors.DivisionByZero):
        db.execute("SELECT amax.arrow('SELECT id FROM direct.amax WHERE 100 / (500 - id) <> 1000') LIMIT 2").fetchall()


def test_changes_beside_an_open_stream(db, tables):
    """What a stream's snapshot sees stays, whatever is flushed meanwhile."""
    from conftest import connect

    db.execute("SET amax.arrow_batch_rows = 100")
    with db.transaction(), connect() as other:
        db.execute("DECLARE c CURSOR FOR SELECT amax.arrow('SELECT id, word FROM direct.amax WHERE id > 0')")
        parts = [row[0] for row in db.execute("FETCH 3 FROM c")]
        expected = other.execute("SELECT count(*), sum(id) FROM direct.amax").fetchone()
        other.execute("DELETE FROM direct.amax WHERE id % 2 = 0")
        other.execute("VACUUM direct.amax")
        parts += [row[0] for row in db.execute("FETCH ALL FROM c")]
        result = table(b"".join(parts))
        assert (result.num_rows, sum(result["id"].to_pylist())) == expected
    db.execute("INSERT INTO direct.amax SELECT * FROM direct.heap WHERE id % 2 = 0")
