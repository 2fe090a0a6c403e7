"""Queries: the rows and the schema are those of COPY; errors are PostgreSQL's."""

import os
import threading
import time

import pyarrow as pa
import pyarrow.flight as flight
import pytest

from conftest import admin, backends, copied, eventually, own, run, value
from messages import command, field

TYPES = """SELECT true AS bool, 1::int2 AS int2, 2::int4 AS int4, 3::int8 AS int8, 4::oid AS oid, 1.5::float4 AS float4, 0.1::float8 AS float8,
    12.34::numeric(10, 2) AS decimal, 5::numeric AS numeric, 'é''"'::text AS text, 'v'::varchar(3) AS varchar, 'c'::char(3) AS char, 'n'::name AS name,
    '\\x00ff'::bytea AS bytea, '2024-02-29'::date AS date, '12:34:56.789'::time AS time, '2024-02-29 12:00'::timestamp AS timestamp,
    '2024-02-29 12:00+01'::timestamptz AS timestamptz, '1 month 2 days 3 s'::interval AS interval,
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid AS uuid, '{"a": [1]}'::jsonb AS jsonb, '[1]'::json AS json, '{1,NULL}'::int[] AS ints,
    '{a,NULL}'::text[] AS texts, NULL::int AS nothing"""

QUERIES = [
    TYPES,
    "SELECT g AS a, repeat('x', g % 7) AS b FROM generate_series(1, 100000) g",
    "VALUES (1, 'a'), (2, NULL)",
    "TABLE few",
    "WITH a AS (SELECT 1 AS x) SELECT x, x FROM a ORDER BY 1",
    "(SELECT 1 AS a) UNION ALL (SELECT 2)",
    "SELECT * FROM few WHERE false",
    "SELECT d, count(*) FROM few GROUP BY d ORDER BY 1",
    "SELECT id FROM few FOR UPDATE",
    "SELECT doc->>'k' AS k, (doc->>'n')::int AS n FROM documents ORDER BY n",
]


@pytest.fixture(scope="module", autouse=True)
def tables(service):
    with service.connect() as db:
        for statement in ("CREATE DOMAIN small AS numeric(4, 1)", "CREATE TYPE mood AS ENUM ('good', 'bad')",
                          "CREATE TABLE few (id int PRIMARY KEY, d small, m mood)", "INSERT INTO few VALUES (1, 1.5, 'good'), (2, NULL, 'bad')",
                          "CREATE TABLE documents (doc jsonb) USING amax",
                          "INSERT INTO documents SELECT jsonb_build_object('k', 'v' || g, 'n', g) FROM generate_series(1, 5000) g",
                          "CREATE TABLE written (a int UNIQUE DEFERRABLE INITIALLY DEFERRED, b text)"):
            run(db, statement)


@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_those_of_copy(service, raw, query):
    info = raw.query(query)
    result = raw.table(info)
    expected = copied(query)
    assert result.schema.equals(expected.schema, check_metadata=True)
    assert info.schema.equals(expected.schema, check_metadata=True)
    assert result.equals(expected)
    with service.connect() as db:
        assert run(db, query).equals(expected)


@pytest.mark.parametrize("query", ["SELECT 1 AS a;", " ; SELECT 1 AS a -- the end", "/* ; */ SELECT 1 AS a ; ;", "SELECT 1 AS a --"])
def test_what_surrounds_a_query(db, query):
    assert run(db, query).to_pydict() == {"a": [1]}


def test_statements_that_copy_does_not_take(db, raw):
    assert value(db, "SHOW server_encoding") == "UTF8"
    plan = run(db, "EXPLAIN SELECT * FROM few")
    assert plan.column_names == ["QUERY PLAN"] and "few" in plan[0][0].as_py()
    assert "Plan" in value(db, "EXPLAIN (FORMAT json) SELECT 1")
    run(db, "CREATE PROCEDURE twice(INOUT a int, INOUT b text) LANGUAGE sql AS 'SELECT a * 2, NULL::text'")
    assert run(db, "CALL twice(21, 'x')").to_pydict() == {"a": ["42"], "b": [None]}
    info = raw.query("CALL twice(1, NULL)")
    raw.table(info)
    with pytest.raises(pa.ArrowException, match="ticket has been used"):
        raw.table(info)
    run(db, "CREATE PROCEDURE nothing() LANGUAGE plpgsql AS 'BEGIN COMMIT; END'")
    assert run(db, "CALL nothing()").num_columns == 0


def test_statements_without_result_run_once_when_asked_about(db, raw):
    info = raw.query("INSERT INTO written VALUES (1, 'a'), (2, 'b')")
    assert not info.endpoints and info.total_records == 2 and len(info.schema) == 0
    assert value(db, "SELECT count(*) FROM written") == 2
    with db.cursor() as cursor:
        cursor.execute("DELETE FROM written")
        assert cursor.rowcount == 2
    assert len(raw.client.get_schema(command("CommandStatementQuery", f1="DELETE FROM few"), raw.options).schema) == 0
    assert value(db, "SELECT count(*) FROM few") == 2
    run(db, "VACUUM few")


def test_returning(db, raw):
    """It runs when its result is fetched, once; and is done when the result has ended."""
    info = raw.query("INSERT INTO written SELECT g, 'é' FROM generate_series(1, 3) g RETURNING a, b, a::small AS c")
    assert value(db, "SELECT count(*) FROM written") == 0
    result = raw.table(info)
    assert result.schema.equals(info.schema)
    assert result["a"].to_pylist() == [1, 2, 3]
    with pytest.raises(pa.ArrowException, match="ticket has been used"):
        raw.table(info)
    assert value(db, "SELECT count(*) FROM written") == 3
    assert run(db, "WITH d AS (DELETE FROM written RETURNING a) SELECT sum(a) FROM d")[0].to_pylist() == [6]
    assert value(db, "SELECT count(*) FROM written") == 0


def test_errors_at_commit_are_not_missed(db, raw):
    """The constraint is deferred: all rows have been sent when it fails."""
    for again in ("INSERT INTO written VALUES (1), (1) RETURNING a", "INSERT INTO written VALUES (1), (1)"):
        with pytest.raises(Exception, match="duplicate key"):
            run(db, again)
    with pytest.raises(pa.ArrowException, match="duplicate key"):
        raw.table(raw.query("INSERT INTO written VALUES (1), (1) RETURNING a"))
    assert value(db, "SELECT count(*) FROM written") == 0


@pytest.mark.parametrize("statement, error", [
    ("SELEC 1", r"syntax error at or near \"SELEC\" \(SQLSTATE 42601\)\nPOSITION: 1"),
    ("SELECT * FROM absent", "does not exist .SQLSTATE 42P01"),
    ("SELECT 1/(a - 50000) FROM generate_series(1, 100000) a", "division by zero .SQLSTATE 22012"),
    ("SELECT '1.1.1.1'::inet AS address", "HINT: Cast the column to text"),
    ("INSERT INTO few VALUES (1)", "DETAIL: Key"),
    ("SELECT 1; SELECT 2", "cannot insert multiple commands"),
    ("SELECT $1::int", "no parameter|none is bound"),
    (" ; -- nothing", "statement is empty"),
    ("COPY few TO STDOUT", "COPY from and to the client"),
    ("COMMIT", "Flight SQL's actions"),
    ("SELECT 1) TO STDOUT (FORMAT arrow); --", "syntax error"),
    ("SELECT 'é' || 1/0", "division by zero"),
])
def test_errors(service, db, statement, error):
    with pytest.raises(Exception, match=error):
        run(db, statement)
    assert value(db, "SELECT 1") == 1


def test_many_statements_at_a_time(service):
    """Of one session, each on a connection of its own; no more than it may have wait."""
    with own("--session-connections", "2") as service:
        raw = service.raw()
        results = []
        threads = [threading.Thread(target=lambda at=at: results.append(raw.table(raw.query(f"SELECT {at} AS a, pg_sleep(0.2) IS NULL AS b"))["a"][0].as_py()))
                   for at in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == list(range(6))
        assert service.backends() <= 2


def test_large_results_take_little_memory():
    with own() as service:
        raw = service.raw()
        info = raw.query("SELECT generate_series(1, 5000000) AS a, repeat('0123456789', 20) AS b")
        reader = raw.reader(info)
        rows = total = 0
        first = reader.read_chunk().data
        rows += first.num_rows
        time.sleep(1)  # a reader that is slow: nobody collects for it
        for chunk in reader:
            rows += chunk.data.num_rows
            total += chunk.data.nbytes
        assert rows == 5_000_000 and total > 1e9
        print(f"memory: {service.memory() / 1e6:.0f} MB of {total / 1e6:.0f} MB")
        assert service.memory() < 150e6


CANCELLING, NOT_CANCELLABLE = 2, 3


def test_cancel(service, raw):
    info = raw.query("SELECT pg_sleep(60)::text AS a")
    failed = []

    def read():
        try:
            raw.table(info)
        except pa.ArrowException as error:
            failed.append(str(error))

    thread = threading.Thread(target=read)
    thread.start()
    eventually(lambda: service.backends("query LIKE '%pg_sleep%' AND state = 'active'") == 1)
    assert raw.cancel(info) == {1: CANCELLING}
    thread.join(10)
    assert failed and "canceling statement due to user request" in failed[0]
    assert raw.cancel(info) == {1: NOT_CANCELLABLE}
    # The older action.
    info = raw.query("SELECT pg_sleep(60)::text AS b")
    thread = threading.Thread(target=read)
    thread.start()
    eventually(lambda: service.backends("query LIKE '%AS b%' AND state = 'active'") == 1)
    assert raw.act("CancelQuery", "ActionCancelQueryRequest", field(1, info.serialize())) == {1: CANCELLING}
    thread.join(10)
    assert len(failed) == 2


def test_a_connection_is_not_used_again_after_a_cancel():
    """Which may come late, and hit what runs then."""
    with own("--session-connections", "1") as service:
        raw = service.raw()
        pid = lambda: raw.table(raw.query("SELECT pg_backend_pid() AS a"))["a"][0].as_py()
        first = pid()
        assert pid() == first
        info = raw.query("SELECT generate_series(1, 100000000) AS g")
        reader = raw.reader(info)
        reader.read_chunk()
        assert raw.cancel(info) == {1: CANCELLING}
        with pytest.raises(pa.ArrowException, match="(?i)cancel"):
            reader.read_all()
        assert pid() != first


@pytest.mark.parametrize("options, error", [
    (["--statement-timeout", "2"], "statement timeout"),
    (["--idle", "2"], "the client was waited for 2 s"),
    ([], "(?i)cancel"),
])
def test_reader_that_does_not_read(options, error):
    """Nothing of PostgreSQL's waits for it for ever, though it is there."""
    with own(*options) as service:
        raw = service.raw()
        info = raw.query("SELECT generate_series(1, 100000000) AS g, repeat('x', 100) AS x")
        reader = raw.reader(info)
        reader.read_chunk()
        eventually(lambda: service.backends("wait_event = 'ClientWrite'") == 1)
        if not options:
            raw.cancel(info)
        eventually(lambda: service.backends("state = 'active'") == 0)
        with pytest.raises(flight.FlightTimedOutError if options else flight.FlightCancelledError, match=error):
            reader.read_all()


def test_cancel_by_a_driver(service, db):
    with db.cursor() as cursor:
        thread = threading.Timer(1, cursor.adbc_cancel)
        thread.start()
        started = time.monotonic()
        with pytest.raises(Exception, match="(?i)cancel"):
            cursor.execute("SELECT pg_sleep(60)::text AS c")
            cursor.fetchall()
        assert time.monotonic() - started < 20
    eventually(lambda: service.backends("query LIKE '%AS c%' AND state = 'active'") == 0)


def test_time_limit():
    with own("--statement-timeout", "1") as service, service.connect() as db:
        with pytest.raises(Exception, match="statement timeout"):
            value(db, "SELECT pg_sleep(60)::text")
        assert value(db, "SELECT 1") == 1


def test_text_in_no_encoding():
    """A database may have bytes that are no text: PostgreSQL does not send them, as we speak UTF-8."""
    with admin() as db:
        db.execute("CREATE DATABASE bytes ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    with admin(dbname="bytes") as db:
        db.execute("CREATE EXTENSION amax")
        db.execute("GRANT USAGE ON SCHEMA amax TO PUBLIC")
    with own(database=f"host={os.environ['PGHOST']} port={os.environ['PGPORT']} dbname=bytes") as service, service.connect() as db:
        with pytest.raises(Exception, match="invalid byte sequence for encoding .UTF8."):
            run(db, "EXPLAIN (VERBOSE) SELECT E'\\xff' || g FROM generate_series(1, 2) g")
        assert value(db, "SELECT 1") == 1


def test_a_backend_that_is_terminated(service):
    with service.connect() as db, admin() as postgres:
        assert value(db, "SELECT 1") == 1
        thread = threading.Timer(0.5, lambda: postgres.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%AS terminated%' AND pid <> pg_backend_pid()"))
        thread.start()
        with pytest.raises(Exception, match="terminating connection|lost the connection"):
            value(db, "SELECT pg_sleep(60)::text AS terminated")
        thread.join()
        assert value(db, "SELECT 1") == 1
