"""Who gets in, and what they see there."""

import base64
import os
import time

import psycopg
import pyarrow.flight as flight
import pytest

from conftest import PASSWORDS, admin, backends, eventually, own, run, value
from messages import Raw, command


def refused(kind, *arguments, service, **options):
    with pytest.raises(Exception, match=kind):
        with service.connect(*arguments, **options) as db:
            value(db, "SELECT 1")


def test_password(service):
    for user in PASSWORDS:
        with service.connect(user) as db:
            assert value(db, "SELECT current_user || '/' || session_user") == f"{user}/{user}"


def test_wrong_password():
    with own() as service:
        refused("UNAUTHENTICATED|Unauthenticated", "writer", "wrong", service=service)
        refused("UNAUTHENTICATED|Unauthenticated", "writer", "", service=service)
        refused("UNAUTHENTICATED|Unauthenticated", "nobody", "x", service=service)
        eventually(lambda: service.backends() == 0)
        assert "wrong" not in service.log()


def test_no_login(service):
    client = service.client()
    for call in (lambda: client.get_flight_info(command("CommandStatementQuery", f1="SELECT 1")),
                 lambda: list(client.do_action(flight.Action("BeginTransaction", b""))),
                 lambda: client.do_get(flight.Ticket(b"")).read_all(),
                 lambda: client.list_actions()):
        with pytest.raises(flight.FlightUnauthenticatedError):
            list(call() or [])


def test_role_that_needs_no_password():
    """pg_hba.conf trusts postgres: so would anybody be it."""
    with own() as service:
        for password in ("", "x"):
            refused("without a password", "postgres", password, service=service)


def test_role_that_may_not_log_in():
    with admin() as db, own() as service:
        db.execute("CREATE ROLE retired LOGIN PASSWORD 'x'")
        with service.connect("retired", "x") as connection:
            assert value(connection, "SELECT 1") == 1
        db.execute("ALTER ROLE retired NOLOGIN")
        refused("not permitted to log in", "retired", "x", service=service)
        db.execute("ALTER ROLE retired LOGIN VALID UNTIL '2000-01-01'")
        refused("UNAUTHENTICATED|Unauthenticated", "retired", "x", service=service)
        db.execute("DROP ROLE retired")


def test_rows_of_others(service):
    with service.connect("reader") as db:
        assert run(db, "SELECT * FROM mine").to_pydict() == {"owner": ["reader"], "a": [1]}
        with pytest.raises(Exception, match="permission denied for table secret"):
            run(db, "SELECT * FROM secret")
        for statement in ("SET ROLE writer", "SET SESSION AUTHORIZATION writer", "SET ROLE postgres"):
            with pytest.raises(Exception):
                run(db, statement)
        with pytest.raises(Exception, match="permission denied"):
            run(db, "SELECT set_config('role', 'writer', false)")
        assert value(db, "SELECT current_user::text") == "reader"
        assert run(db, "SELECT a FROM mine")["a"].to_pylist() == [1]


def test_another_role_does_not_stay(service):
    """A role that may become another does so for a statement or a transaction, not for what comes after."""
    with admin() as postgres:
        postgres.execute("GRANT reader TO other")
    try:
        with service.connect("other", autocommit=False) as transaction:
            run(transaction, "SET ROLE reader")
            assert run(transaction, "SELECT current_user::text AS a, owner FROM mine").to_pylist() == [{"a": "reader", "owner": "reader"}]
            transaction.commit()
            assert run(transaction, "SELECT * FROM mine").num_rows == 0
        with service.connect("other") as db:
            assert value(db, "SELECT set_config('role', 'reader', false)") == "reader"
            for _ in range(5):
                assert value(db, "SELECT current_user::text") == "other"
    finally:
        with admin() as postgres:
            postgres.execute("REVOKE reader FROM other")


def test_settings_do_not_stay(service):
    """A connection goes from statement to statement, what one has set does not."""
    with service.connect(autocommit=False) as db:
        run(db, "SET search_path = nowhere")
        assert value(db, "SHOW search_path") == "nowhere"
        run(db, "CREATE TEMPORARY TABLE gone (a int)")
        run(db, "SELECT pg_advisory_lock(4711)::text")
        run(db, "PREPARE p AS SELECT 1")
        db.commit()
        assert value(db, "SHOW search_path") != "nowhere"
        with pytest.raises(Exception, match="gone"):
            run(db, "SELECT * FROM gone")
        db.rollback()
        assert value(db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0
    with service.connect() as db:
        run(db, "SELECT set_config('search_path', 'nowhere', false)")
        for _ in range(5):
            assert value(db, "SHOW search_path") != "nowhere"
        with pytest.raises(Exception, match="no effect outside of a transaction"):
            run(db, "SET search_path = nowhere")


def test_token(service):
    with service.raw() as first:
        assert first.table(first.query("SELECT 1 AS a")).to_pydict() == {"a": [1]}
        client = service.client()
    # On another connection, after the first is closed.
    raw = Raw(client, first.header)
    assert raw.table(raw.query("SELECT 2 AS a")).to_pydict() == {"a": [2]}
    for wrong in (b"Bearer x", b"Bearer ", b"Basic !", b"Digest x", b"x"):
        with pytest.raises(flight.FlightUnauthenticatedError):
            Raw(client, (b"authorization", wrong)).query("SELECT 1")
    list(client.do_action(flight.Action("CloseSession", b""), raw.options))
    with pytest.raises(flight.FlightUnauthenticatedError):
        raw.query("SELECT 1")


def test_password_with_each_call(service):
    """Of a client that knows nothing of tokens."""
    login = base64.b64encode(f"writer:{PASSWORDS['writer']}".encode())
    with Raw(service.client(), (b"authorization", b"Basic " + login)) as raw:
        before = service.log().count(" login user")
        for at in range(20):
            assert raw.table(raw.query(f"SELECT {at} AS a")).to_pydict() == {"a": [at]}
        assert service.log().count(" login user") == before + 1
        transaction = raw.begin()
        raw.update("CREATE TABLE rolled_back ()", transaction)
        raw.end(transaction, False)


def test_wrong_passwords_take_long():
    """However often somebody else of the address logs in, or the role itself does."""
    with own() as service:
        def timed(user="writer", password="wrong"):
            started = time.monotonic()
            refused("UNAUTHENTICATED|Unauthenticated", user, password, service=service)
            return time.monotonic() - started

        assert sum(timed() for _ in range(7)) > 1.7
        started = time.monotonic()
        with service.connect("other") as db:
            assert value(db, "SELECT 1") == 1
        # As the role that has failed it would be two seconds.
        assert time.monotonic() - started < 1.5
        with service.connect() as db:
            assert value(db, "SELECT 1") == 1
        assert timed() > 0.7
        # PostgreSQL would cut the name off.
        refused("at most 63 bytes", "w" * 64, "wrong", service=service)


def test_too_many_sessions():
    with own("--max-sessions", "2") as service:
        first, second = service.connect(), service.connect()
        assert value(first, "SELECT 1") == value(second, "SELECT 1") == 1
        refused("too many sessions", service=service)
        second.close()
        # Its client is gone, so it makes room.
        eventually(lambda: gets_in(service))
        assert value(first, "SELECT 1") == 1
        first.close()


def gets_in(service):
    try:
        with service.connect() as db:
            return value(db, "SELECT 1") == 1
    except Exception:
        return False


def test_idle_sessions_end():
    with own("--idle", "1") as service:
        raw = service.raw()
        transaction = raw.begin()
        raw.update("CREATE TABLE left_behind ()", transaction)
        assert service.backends("state = 'idle in transaction'") == 1
        eventually(lambda: service.backends() == 0)
        with pytest.raises(flight.FlightUnauthenticatedError):
            raw.query("SELECT 1")
        with admin() as db, pytest.raises(psycopg.errors.UndefinedTable):
            db.execute("SELECT * FROM left_behind")


def test_database_without_amax():
    with admin() as db:
        db.execute("CREATE DATABASE bare")
    here = f"host={os.environ['PGHOST']} port={os.environ['PGPORT']}"
    with own(database=f"{here} dbname=bare") as service:
        refused("CREATE EXTENSION amax", service=service)
    with own(database=f"{here} dbname=absent") as service:
        refused('database "absent" does not exist', service=service)
    with own(database="host=/nowhere dbname=postgres") as service:
        refused("could not connect to PostgreSQL", service=service)
