"""amax.arrow() as a set-returning function, batches and their bounds, and memory."""

import threading
import time

import psycopg
import pyarrow as pa
import pytest

from recipes import batches
from conftest import connect, copy_bytes, table, through_function


def test_messages_are_schema_batches_end(db):
    db.execute("SET amax.arrow_batch_rows = 10")
    rows = [row[0] for row in db.execute("SELECT amax.arrow('SELECT g FROM generate_series(1, 25) g')")]
    assert len(rows) == 5
    assert pa.ipc.read_schema(pa.BufferReader(rows[0])).names == ["g"]
    assert rows[-1] == b"\xff\xff\xff\xff\0\0\0\0"
    assert [batch.num_rows for batch in pa.ipc.open_stream(b"".join(rows))] == [10, 10, 5]


@pytest.mark.parametrize("rows", [0, 9, 10, 11, 20])
def test_batch_rows(db, read_bytes, rows):
    db.execute("SET amax.arrow_batch_rows = 10")
    parts = list(pa.ipc.open_stream(read_bytes(db, f"SELECT g, NULL::text[] AS n FROM generate_series(1, {rows}) g")))
    assert [batch.num_rows for batch in parts] == [10] * (rows // 10) + ([rows % 10] if rows % 10 else [])
    assert [v for batch in parts for v in batch["g"].to_pylist()] == list(range(1, rows + 1))


def test_batch_size(db, read_bytes):
    db.execute("SET amax.arrow_batch_size = '64kB'")
    parts = list(pa.ipc.open_stream(read_bytes(db, "SELECT repeat('x', 10000) AS x FROM generate_series(1, 20)")))
    assert [batch.num_rows for batch in parts] == [7, 7, 6]


def test_empty_result(db, read_bytes):
    result = table(read_bytes(db, "SELECT 1 AS a, 'x'::text AS b, ARRAY[now()] AS c WHERE false"))
    assert result.num_rows == 0 and result.column_names == ["a", "b", "c"]
    assert result.schema.field("c").type == pa.list_(pa.field("item", pa.timestamp("us", "UTC")))


def test_duplicate_and_odd_column_names(db, read_bytes):
    result = table(read_bytes(db, 'SELECT 1 AS a, 2 AS a, 3 AS "", 4 AS "ü x" FROM generate_series(1, 2)'.replace('AS "",', ",")))
    assert result.column_names == ["a", "a", "?column?", "ü x"]


@pytest.mark.parametrize("query", ["VALUES (1, 'x')", "TABLE pg_class", "WITH w AS (SELECT 1) TABLE w", "(SELECT 1) UNION ALL SELECT 2",
                                   "SELECT 1;", " -- comment\nSELECT 1 -- more"])
def test_statements_that_return_rows(db, query):
    if query.startswith("TABLE"):
        query = "SELECT oid, relname FROM pg_class"
    assert table(through_function(db, query)).num_rows >= 1


@pytest.mark.parametrize("query, error, message", [
    ("", psycopg.errors.SyntaxError, "query is empty"),
    ("SELECT 1; SELECT 2", psycopg.errors.SyntaxError, "single statement"),
    ("INSERT INTO pg_class DEFAULT VALUES", psycopg.errors.FeatureNotSupported, "must be a SELECT"),
    ("CREATE TABLE x ()", psycopg.errors.FeatureNotSupported, "must be a SELECT"),
    ("EXPLAIN SELECT 1", psycopg.errors.FeatureNotSupported, "must be a SELECT"),
    ("SELECT 1 INTO x", psycopg.errors.FeatureNotSupported, "must be a SELECT"),
    ("WITH d AS (DELETE FROM pg_class RETURNING 1) SELECT * FROM d", psycopg.errors.FeatureNotSupported, "must be a SELECT"),
    ("SELECT nope", psycopg.errors.UndefinedColumn, "nope"),
    ("SELECT 1 FROM", psycopg.errors.SyntaxError, "end of input"),
    ("SELECT 1 / (g - 3) FROM generate_series(1, 5) g", psycopg.errors.DivisionByZero, "division"),
])
def test_errors(db, query, error, message):
    with pytest.raises(error, match=message):
        through_function(db, query)
    assert db.execute("SELECT 1").fetchone() == (1,)


def test_errors_point_into_the_query(db):
    with pytest.raises(psycopg.errors.UndefinedColumn) as raised:
        through_function(db, "SELECT nope")
    diagnosis = raised.value.diag
    assert (diagnosis.internal_query, diagnosis.internal_position, diagnosis.statement_position) == ("SELECT nope", "8", None)


def test_null_query(db):
    assert db.execute("SELECT amax.arrow(NULL)").fetchall() == []


def test_in_from(db):
    stream = db.execute(
        "SELECT string_agg(m, ''::bytea ORDER BY n) FROM amax.arrow('SELECT 1 AS x') WITH ORDINALITY AS a(m, n)"
    ).fetchone()[0]
    assert table(stream).to_pydict() == {"x": [1]}


def test_several_at_once(db):
    """Interleaved and nested calls keep apart."""
    rows = db.execute("SELECT amax.arrow('SELECT 1 AS x'), amax.arrow('SELECT 2 AS y UNION ALL SELECT 3')").fetchall()
    for i, expected in enumerate([{"x": [1]}, {"y": [2, 3]}]):
        assert table(b"".join(row[i] for row in rows)).to_pydict() == expected
    nested = through_function(db, "SELECT amax.arrow('SELECT 7 AS z') AS inner")
    assert table(b"".join(table(nested)["inner"].to_pylist())).to_pydict() == {"z": [7]}


def test_one_call_per_outer_row(db):
    rows = db.execute(
        "SELECT i, string_agg(m, ''::bytea ORDER BY n) FROM generate_series(1, 50) i,"
        " LATERAL amax.arrow('SELECT ' || i || ' AS x') WITH ORDINALITY AS a(m, n) GROUP BY i ORDER BY i"
    ).fetchall()
    assert [table(stream)["x"].to_pylist() for _, stream in rows] == [[i] for i in range(1, 51)]


def test_limit_ends_the_query(db):
    db.execute("SET amax.arrow_batch_rows = 1")
    for _ in range(200):
        assert len(db.execute("SELECT amax.arrow('SELECT c.oid, relname, attname FROM pg_class c, pg_attribute') LIMIT 3").fetchall()) == 3
    # A leaked buffer pin or snapshot would have been warned of.
    notices = []
    db.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    with db.transaction():
        db.execute("SELECT amax.arrow('SELECT oid, relname FROM pg_class') LIMIT 2").fetchall()
    assert notices == []


def test_rescan(db):
    """A correlated subquery that stops early and starts again."""
    rows = db.execute("SELECT i, (SELECT length(amax.arrow('SELECT ' || i || ' AS x FROM pg_class')) LIMIT 1) > 0"
                      " FROM generate_series(1, 20) i").fetchall()
    assert rows == [(i, True) for i in range(1, 21)]


def test_cursors(db):
    db.execute("SET amax.arrow_batch_rows = 5")
    query = "SELECT amax.arrow('SELECT g FROM generate_series(1, 23) g')"
    with db.transaction():
        db.execute(f"DECLARE c NO SCROLL CURSOR FOR {query}")
        db.execute(f"DECLARE d NO SCROLL CURSOR FOR {query}")
        streams = {"c": b"", "d": b""}
        for _ in range(10):
            for name in streams:
                streams[name] += b"".join(row[0] for row in db.execute(f"FETCH 1 FROM {name}"))
        assert all(table(stream)["g"].to_pylist() == list(range(1, 24)) for stream in streams.values())


def test_cursor_held_over_commit(db):
    db.execute("SET amax.arrow_batch_rows = 5")
    with db.transaction():
        db.execute("DECLARE held NO SCROLL CURSOR WITH HOLD FOR SELECT amax.arrow('SELECT g FROM generate_series(1, 23) g')")
        stream = b"".join(row[0] for row in db.execute("FETCH 2 FROM held"))
    stream += b"".join(row[0] for row in db.execute("FETCH ALL FROM held"))
    assert table(stream)["g"].to_pylist() == list(range(1, 24))
    db.execute("CLOSE held")


def test_cursor_over_savepoints(db):
    db.execute("SET amax.arrow_batch_rows = 5")
    with db.transaction():
        db.execute("DECLARE c NO SCROLL CURSOR FOR SELECT amax.arrow('SELECT g FROM generate_series(1, 23) g, pg_database')")
        stream = db.execute("FETCH 1 FROM c").fetchone()[0]
        db.execute("SAVEPOINT s")
        stream += db.execute("FETCH 1 FROM c").fetchone()[0]
        with pytest.raises(psycopg.errors.DivisionByZero):
            db.execute("SELECT 1 / 0")
        db.execute("ROLLBACK TO s")
        stream += b"".join(row[0] for row in db.execute("FETCH ALL FROM c"))
        databases = db.execute("SELECT count(*) FROM pg_database").fetchone()[0]
        assert sorted(table(stream)["g"].to_pylist()) == sorted(list(range(1, 24)) * databases)
        # First fetched in a savepoint that is rolled back: the rest is right, or an error; never a crash.
        db.execute("DECLARE e NO SCROLL CURSOR FOR SELECT amax.arrow('SELECT oid FROM pg_class')")
        db.execute("SAVEPOINT s")
        db.execute("FETCH 2 FROM e").fetchall()
        db.execute("ROLLBACK TO s")
        db.execute("SAVEPOINT s")
        try:
            db.execute("FETCH 3 FROM e").fetchall()
        except psycopg.Error:
            db.execute("ROLLBACK TO s")
    assert db.execute("SELECT 1").fetchone() == (1,)


def test_error_in_the_middle_of_a_cursor(db):
    db.execute("SET amax.arrow_batch_rows = 5")
    with db.transaction():
        db.execute("DECLARE c NO SCROLL CURSOR FOR SELECT amax.arrow('SELECT 1 / (20 - g) FROM generate_series(1, 50) g')")
        db.execute("FETCH 3 FROM c").fetchall()
        db.execute("SAVEPOINT s")
        with pytest.raises(psycopg.errors.DivisionByZero):
            db.execute("FETCH ALL FROM c")
        db.execute("ROLLBACK TO s")


def test_in_procedural_language_loop(db):
    db.execute("SET amax.arrow_batch_rows = 5")
    db.execute("CREATE OR REPLACE FUNCTION pg_temp.total(q text) RETURNS bigint LANGUAGE plpgsql AS $$"
               " DECLARE m bytea; n bigint := 0;"
               " BEGIN FOR m IN SELECT amax.arrow(q) LOOP n := n + length(m);"
               " BEGIN PERFORM 1 / (n % 2); EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; RETURN n; END $$")
    query = "SELECT g FROM generate_series(1, 1000) g"
    assert db.execute("SELECT pg_temp.total(%s)", (query,)).fetchone()[0] == len(through_function(db, query))


def test_sees_own_changes_and_leaves_privileges(db, role):
    with db.transaction():
        db.execute("CREATE TABLE secret AS SELECT 1 AS x")
        assert table(through_function(db, "SELECT * FROM secret")).num_rows == 1
    try:
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="secret"):
            through_function(role, "SELECT * FROM secret")
    finally:
        db.execute("DROP TABLE secret")


def test_volatile_query_runs_once(db):
    db.execute("CREATE TEMP SEQUENCE s")
    db.execute("SET amax.arrow_batch_rows = 3")
    assert table(through_function(db, "SELECT nextval('s') AS n FROM generate_series(1, 10)"))["n"].to_pylist() == list(range(1, 11))
    assert db.execute("SELECT last_value FROM s").fetchone() == (10,)


def test_read_only_transaction(db, read_bytes):
    with db.transaction():
        db.execute("SET TRANSACTION READ ONLY")
        assert table(read_bytes(db, "SELECT 1 AS x")).num_rows == 1


@pytest.mark.parametrize("way", ["copy", "function"])
def test_cancel(db, way):
    query = "SELECT g, repeat('x', 100) FROM generate_series(1, 1000000000) g"
    timer = threading.Timer(1.0, db.cancel)
    timer.start()
    started = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        if way == "copy":
            with db.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT arrow)") as copy:
                for _ in copy:
                    pass
        else:
            db.execute("SELECT sum(length(m)) FROM (SELECT amax.arrow(%s) AS m) AS s", (query,))
    assert time.monotonic() - started < 30
    assert db.execute("SELECT 1").fetchone() == (1,)


def peak_kilobytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


BIG = "SELECT g, md5(g::text) AS m, repeat('payload ', 20) AS p FROM generate_series(1, 2000000) AS s(g)"


def test_memory_stays_bounded_in_copy(db):
    """About 400 MB of Arrow with work_mem = 1 MB."""
    pid = db.info.backend_pid
    db.execute("SET work_mem = '1MB'; SET amax.arrow_batch_size = '4MB'")
    db.execute("CREATE TEMP TABLE big AS SELECT generate_series(1, 2000000) AS g")
    query = BIG.replace("generate_series(1, 2000000) AS s(g)", "big")
    # Shared buffers the backend touches count as its memory; touch them before.
    copy_bytes(db, f"COPY (SELECT * FROM ({query}) AS s LIMIT 10000) TO STDOUT (FORMAT arrow)")
    db.execute("SELECT count(*) FROM big")
    before, total, rows = peak_kilobytes(pid), 0, 0
    for batch in batches(db, query):
        total += batch.nbytes
        rows += batch.num_rows
    grown = peak_kilobytes(pid) - before
    print(f"{rows} rows, {total >> 20} MB of Arrow, backend grew by {grown >> 10} MB")
    assert rows == 2000000 and total > 350 << 20
    assert grown < 48 << 10


def test_memory_stays_bounded_in_function(db):
    pid = db.info.backend_pid
    db.execute("SET work_mem = '1MB'; SET amax.arrow_batch_size = '4MB'")
    db.execute("CREATE TEMP TABLE big AS SELECT generate_series(1, 2000000) AS g")
    query = BIG.replace("generate_series(1, 2000000) AS s(g)", "big")
    db.execute("SELECT count(*) FROM big")
    before, rows = peak_kilobytes(pid), 0
    with db.transaction():
        db.execute(psycopg.sql.SQL("DECLARE c NO SCROLL CURSOR FOR SELECT amax.arrow({})").format(query))
        schema, total = db.execute("FETCH 1 FROM c").fetchone()[0], 0
        while message := db.execute("FETCH 1 FROM c", binary=True).fetchone():
            total += len(message[0])
            rows += sum(batch.num_rows for batch in pa.ipc.open_stream(schema + message[0]))
    grown = peak_kilobytes(pid) - before
    print(f"{rows} rows, {total >> 20} MB of Arrow, backend grew by {grown >> 10} MB")
    assert rows == 2000000 and total > 350 << 20
    assert grown < 64 << 10


def test_values_larger_than_a_batch(db, read_bytes):
    db.execute("SET amax.arrow_batch_size = '64kB'")
    query = "SELECT repeat('x', 20000000) AS x, i FROM generate_series(1, 3) i"
    parts = list(pa.ipc.open_stream(read_bytes(db, query)))
    assert [batch.num_rows for batch in parts] == [1, 1, 1]
    assert all(len(batch["x"][0].as_py()) == 20000000 for batch in parts)


def test_offsets_do_not_overflow(db):
    """2.1 GB of text in one column: 32-bit offsets would overflow in one batch; batches end before."""
    db.execute("SET amax.arrow_batch_size = '512MB'")
    query = "SELECT repeat('x', 300000000) AS x FROM generate_series(1, 7)"
    assert [batch.num_rows for batch in batches(db, query)] == [2, 2, 2, 1]


def test_batch_that_does_not_fit_into_a_bytea(db):
    query = "SELECT repeat('x', 600000000) AS x, repeat('y', 600000000) AS y"
    with pytest.raises(psycopg.errors.ProgramLimitExceeded) as raised:
        db.execute("SELECT length(amax.arrow(%s))", (query,))
    assert "COPY" in raised.value.diag.message_hint


def test_settings_have_bounds(db):
    for setting in ["amax.arrow_batch_rows = 0", "amax.arrow_batch_size = '1GB'", "amax.arrow_batch_size = 1"]:
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            db.execute(f"SET {setting}")


@pytest.mark.parametrize("encoding, text", [("LATIN1", "grün"), ("EUC_JP", "日本語")])
def test_other_server_encoding(extension, encoding, text):
    name = f"arrow_{encoding.lower()}"
    with connect() as db:
        db.execute(f"DROP DATABASE IF EXISTS {name}")
        db.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'")
    try:
        with connect(dbname=name) as db:
            db.execute("CREATE EXTENSION amax")
            query = f"""SELECT '{text}'::text AS "{text}", to_jsonb('{text}'::text) AS j"""
            result = table(through_function(db, query))
            assert result.to_pydict() == {text: [text], "j": [f'"{text}"']}
            assert table(copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow)")).equals(result)
    finally:
        with connect() as db:
            db.execute(f"DROP DATABASE {name}")


def test_text_that_is_not_utf8(extension):
    with connect() as db:
        db.execute("DROP DATABASE IF EXISTS arrow_ascii")
        db.execute("CREATE DATABASE arrow_ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
    try:
        with connect(dbname="arrow_ascii") as db:
            db.execute("CREATE EXTENSION amax")
            with pytest.raises(psycopg.errors.CharacterNotInRepertoire) as raised:
                through_function(db, r"SELECT convert_from('\x41ff', 'SQL_ASCII') AS t")
            assert 'column "t"' in str(raised.value)
    finally:
        with connect() as db:
            db.execute("DROP DATABASE arrow_ascii")
