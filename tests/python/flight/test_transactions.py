"""Transactions: all or nothing, and nobody is told otherwise."""

import concurrent.futures
import time

import pyarrow as pa
import pyarrow.flight as flight
import pytest

from conftest import admin, backends, eventually, gone, own, run, value
from messages import Raw, command


@pytest.fixture(scope="module", autouse=True)
def tables(service):
    with service.connect() as db:
        run(db, "CREATE TABLE accounts (id int, balance int, CONSTRAINT once UNIQUE (id) DEFERRABLE INITIALLY DEFERRED)")


@pytest.fixture(autouse=True)
def empty(service):
    with service.connect() as db:
        run(db, "TRUNCATE accounts")


def count(db):
    return value(db, "SELECT count(*) FROM accounts")


def test_commit(transaction, db):
    run(transaction, "INSERT INTO accounts VALUES (1, 1)")
    assert count(transaction) == 1 and count(db) == 0
    transaction.commit()
    assert count(db) == 1


def test_roll_back(transaction, db):
    run(transaction, "INSERT INTO accounts VALUES (1, 1)")
    transaction.rollback()
    assert count(transaction) == count(db) == 0


def test_error(transaction, db):
    run(transaction, "INSERT INTO accounts VALUES (1, 1)")
    with pytest.raises(Exception, match="division by zero"):
        run(transaction, "SELECT 1/0")
    with pytest.raises(Exception, match="current transaction is aborted.*25P02"):
        run(transaction, "SELECT 1")
    # PostgreSQL's COMMIT of it would be a rollback without a word.
    with pytest.raises(Exception, match="aborted"):
        transaction.commit()
    gone(transaction)
    assert count(db) == 0


def test_commit_that_fails(transaction, db):
    run(transaction, "INSERT INTO accounts VALUES (1, 1), (1, 2)")
    with pytest.raises(Exception, match="duplicate key"):
        transaction.commit()
    gone(transaction)
    assert count(db) == 0


def test_commit_whose_connection_is_lost(raw, db):
    """Nobody knows whether it was done: it is not called rolled back."""
    run(db, "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END'")
    run(db, "CREATE TABLE slow_to_commit (a int)")
    run(db, "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow_to_commit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()")
    transaction = raw.begin()
    raw.update("INSERT INTO slow_to_commit VALUES (1)", transaction)
    prepared = raw.prepare("INSERT INTO slow_to_commit VALUES ($1)")
    one = pa.record_batch([pa.array([1])], names=["0"])
    for call in (lambda: raw.end(transaction, True), lambda: raw.update("INSERT INTO slow_to_commit VALUES (1)"),
                 lambda: raw.put(command("CommandPreparedStatementUpdate", f1=prepared), [one], one.schema),
                 lambda: raw.table(raw.query("INSERT INTO slow_to_commit VALUES (1) RETURNING a"))):
        with concurrent.futures.ThreadPoolExecutor(1) as pool, admin() as postgres:
            called = pool.submit(call)
            commits = "query ~ 'COMMIT|INSERT INTO slow' AND wait_event = 'PgSleep'"
            eventually(lambda: backends(commits) == 1)
            postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {commits} AND pid <> pg_backend_pid()")
            with pytest.raises(pa.ArrowException, match="whether it was committed is not known"):
                called.result()
    with pytest.raises(pa.ArrowException, match="whether it was committed is not known"):
        raw.update("SELECT 1", transaction)
    raw.end(transaction, False)


def test_transaction_that_has_ended(raw, db):
    for commit in (True, False):
        transaction = raw.begin()
        raw.update("INSERT INTO accounts VALUES (1, 1)", transaction)
        ticket = raw.query("INSERT INTO accounts VALUES (2, 2) RETURNING id", transaction)
        raw.end(transaction, commit)
        for call in (lambda: raw.update("INSERT INTO accounts VALUES (3, 3)", transaction),
                     lambda: raw.query("SELECT 1", transaction),
                     lambda: raw.table(ticket),
                     lambda: raw.ingest("accounts", [], pa.schema([("id", pa.int32())]), there=2, f6=transaction),
                     lambda: raw.end(transaction, True),
                     lambda: raw.end(transaction, False)):
            with pytest.raises(pa.ArrowException, match="no such transaction"):
                call()
    for unknown in (b"", b"x", bytes(16)):
        with pytest.raises(pa.ArrowException, match="no such transaction"):
            raw.update("INSERT INTO accounts VALUES (3, 3)", unknown)
    assert count(db) == 1


def test_transactions_of_others(service, raw):
    transaction = raw.begin()
    for user in ("writer", "other"):
        with pytest.raises(pa.ArrowException, match="no such transaction"):
            service.raw(user).query("SELECT 1", transaction)


def test_statements_that_would_end_it(raw, db):
    transaction = raw.begin()
    raw.update("INSERT INTO accounts VALUES (1, 1)", transaction)
    for statement in ("COMMIT", ";/* a */ end", "ROLLBACK", "abort", "PREPARE TRANSACTION 'a'", "COMMIT AND CHAIN"):
        for call in (raw.update, raw.query):
            with pytest.raises(pa.ArrowException, match="Flight SQL's actions"):
                call(statement, transaction)
    with pytest.raises(pa.ArrowException, match="multiple commands"):
        raw.update("SELECT 1; COMMIT", transaction)
    assert count(db) == 0
    with pytest.raises(pa.ArrowException, match="aborted"):
        raw.end(transaction, True)
    raw.end(transaction, False)
    transaction = raw.begin()
    raw.update("DO 'BEGIN NULL; END'", transaction)
    with pytest.raises(pa.ArrowException, match="invalid transaction termination"):
        raw.update("DO 'BEGIN COMMIT; END'", transaction)
    raw.end(transaction, False)


def test_savepoints_are_statements(transaction, db):
    run(transaction, "INSERT INTO accounts VALUES (1, 1)")
    run(transaction, "SAVEPOINT a")
    with pytest.raises(Exception, match="division by zero"):
        run(transaction, "SELECT 1/0")
    run(transaction, "ROLLBACK TO SAVEPOINT a")
    run(transaction, "RELEASE a")
    transaction.commit()
    assert count(db) == 1


def test_isolation(transaction, db):
    run(transaction, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    assert count(transaction) == 0
    run(db, "INSERT INTO accounts VALUES (1, 1)")
    assert count(transaction) == 0
    transaction.rollback()
    assert count(transaction) == 1


def test_reader_that_goes_early(transaction, db):
    """The rest of a query is read for it: cancelled, it would take the transaction with it."""
    run(transaction, "INSERT INTO accounts VALUES (1, 1)")
    with transaction.cursor() as cursor:
        cursor.execute("SELECT generate_series(1, 3000000) AS g")
        assert cursor.fetchone() == (1,)
    assert count(transaction) == 1
    transaction.commit()
    assert count(db) == 1


def slow(raw):
    """A transaction that has written, and a result in it that has begun and takes very long."""
    transaction = raw.begin()
    raw.update("INSERT INTO accounts VALUES (1, 1)", transaction)
    raw.update("SET LOCAL amax.arrow_batch_rows = 10", transaction)
    info = raw.query("SELECT generate_series(1, 1000000) AS g, pg_sleep(0.01) IS NULL AS p, repeat('x', 2000) AS x", transaction)
    reader = raw.reader(info)
    assert reader.read_chunk().data.num_rows == 10
    return transaction, reader, info


def test_reader_that_goes_too_early(raw, db):
    """If that takes too long, the transaction is lost, and says so."""
    transaction, reader, _ = slow(raw)
    reader.cancel()
    del reader
    started = time.monotonic()
    with pytest.raises(pa.ArrowException, match="rolled back: the client left a result"):
        raw.update("INSERT INTO accounts VALUES (2, 2)", transaction)
    assert time.monotonic() - started > 5
    with pytest.raises(pa.ArrowException, match="rolled back"):
        raw.end(transaction, True)
    raw.end(transaction, False)
    eventually(lambda: backends("query LIKE '%pg_sleep(0.01)%' AND state = 'active'") == 0)
    assert count(db) == 0


def test_statement_whose_reader_goes_early_is_undone(raw, db):
    """Outside of a transaction, as its end was not seen."""
    reader = raw.reader(raw.query("INSERT INTO accounts SELECT g, 0 FROM generate_series(1, 1000000) g RETURNING id, repeat('x', 100) AS x"))
    assert reader.read_chunk().data.num_rows > 0
    reader.cancel()
    del reader
    eventually(lambda: backends("query LIKE '%INSERT%' AND state <> 'idle'") == 0)
    assert count(db) == 0


def test_begun_is_not_open(service, raw):
    """Drivers begin a transaction as soon as they can: that takes nothing of PostgreSQL."""
    before = service.backends("xact_start IS NOT NULL")
    transactions = [raw.begin() for _ in range(50)]
    assert service.backends("xact_start IS NOT NULL") == before
    for transaction in transactions:
        raw.end(transaction, True)


def test_too_many_transactions(raw):
    transactions = [raw.begin() for _ in range(100)]
    with pytest.raises(pa.ArrowException, match="transactions that it has not ended"):
        raw.begin()
    for transaction in transactions:
        raw.end(transaction, False)


def test_connections_run_out():
    """Each transaction has one; a statement more waits, and is refused in the end."""
    with own("--session-connections", "1") as service:
        raw = service.raw()
        transaction = raw.begin()
        raw.update("SELECT 1", transaction)
        with pytest.raises(flight.FlightTimedOutError):
            Raw(raw.client, raw.header, timeout=1).query("SELECT 1")
        raw.end(transaction, True)
        assert raw.table(raw.query("SELECT 1 AS a")).to_pydict() == {"a": [1]}


def test_rollback_cancels(raw, db):
    transaction, reader, _ = slow(raw)
    raw.end(transaction, False)
    eventually(lambda: backends("query LIKE '%pg_sleep(0.01)%' AND state = 'active'") == 0)
    with pytest.raises(pa.ArrowException):
        reader.read_all()
    assert count(db) == 0


def test_a_cancel_takes_the_transaction_with_it(raw, db):
    """It may come late: the connection runs nothing after it."""
    transaction, reader, info = slow(raw)
    assert raw.cancel(info) == {1: 2}
    with pytest.raises(pa.ArrowException):
        reader.read_all()
    with pytest.raises(pa.ArrowException, match="rolled back: one of its statements was cancelled"):
        raw.update("INSERT INTO accounts VALUES (2, 2)", transaction)
    raw.end(transaction, False)
    eventually(lambda: backends("query LIKE '%pg_sleep(0.01)%' AND state = 'active'") == 0)
    assert count(db) == 0


def test_what_changes_how_statements_are_read(raw, db):
    """Strings in which a backslash hides a quote would be read in another way by PostgreSQL than by the service."""
    for change in ("SET LOCAL standard_conforming_strings = off", "SET client_encoding = latin1"):
        transaction = raw.begin()
        raw.update("INSERT INTO accounts VALUES (1, 1)", transaction)
        raw.update(change, transaction)
        with pytest.raises(pa.ArrowException, match="standard_conforming_strings or client_encoding was changed"):
            raw.update(r"INSERT INTO accounts SELECT length('\')", transaction)
        with pytest.raises(pa.ArrowException, match="rolled back"):
            raw.end(transaction, True)
        raw.end(transaction, False)
    with pytest.raises(Exception, match="standard_conforming_strings or client_encoding was changed"):
        run(db, "SELECT set_config('standard_conforming_strings', 'off', false)")
    assert value(db, r"SELECT '\'") == "\\"
    assert count(db) == 0


def test_locks_are_gone_after_a_rollback(raw, db):
    for _ in range(20):
        transaction = raw.begin()
        raw.update("LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE", transaction)
        raw.end(transaction, False)
        with admin() as postgres:
            postgres.execute("DO 'BEGIN LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE NOWAIT; END'")
