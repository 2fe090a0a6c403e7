"""Fixtures. The server is found through PGHOST and PGPORT, has the extension installed, and trusts the role postgres alone; AMAX_FLIGHT_SQL is the program."""

import contextlib
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import adbc_driver_flightsql.dbapi
import psycopg
import pyarrow as pa
import pyarrow.flight as flight
import pytest

import messages

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "clients" / "python"))

PROGRAM = os.environ["AMAX_FLIGHT_SQL"]
PASSWORDS = {"reader": "r:e a'd\"er", "writer": "wrïter", "other": "another-one"}
NAME = "amax-flight-sql"
NUMBERS = itertools.count(1)
# Otherwise clients of one process share a connection, and so the window in which all of their results come.
APART = [("grpc.use_local_subchannel_pool", 1)]

# pyarrow answers a result that the server has cancelled with Ctrl-C, in the main thread, if that has a handler.
signal.signal(signal.SIGINT, signal.SIG_DFL)


class Service:
    """A server of its own, on a port that is free."""

    def __init__(self, *options, database=None, listen="127.0.0.1:0"):
        host, port = os.environ["PGHOST"], os.environ["PGPORT"]
        # Of a name of its own, so that its processes of PostgreSQL are told from others'.
        self.name = f"{NAME} {next(NUMBERS)}"
        database = (database or f"host={host} port={port} dbname=postgres") + f" application_name='{self.name}'"
        self.log_path = pathlib.Path(os.environ["RUN_DIR"]) / f"flight-{os.getpid()}-{time.monotonic_ns()}.log"
        self.log_file = self.log_path.open("w")
        self.process = subprocess.Popen([PROGRAM, "--listen", listen, "--database", database, *options],
                                        stdout=subprocess.PIPE, stderr=self.log_file, text=True)
        line = self.process.stdout.readline()
        found = re.match(r"listening on (.*):(\d+)$", line)
        assert found, self.log()
        self.port = int(found[2])

    @property
    def uri(self):
        return f"grpc://127.0.0.1:{self.port}"

    def log(self):
        return self.log_path.read_text()

    def connect(self, user="writer", password=None, uri=None, autocommit=True, **options):
        login = {"username": user, "password": PASSWORDS[user] if password is None else password}
        return adbc_driver_flightsql.dbapi.connect(uri or self.uri, db_kwargs={**login, **options}, autocommit=autocommit)

    def client(self):
        """pyarrow's, which has yet to log in."""
        return flight.FlightClient(self.uri, generic_options=APART)

    def raw(self, user="writer", **options):
        client = self.client()
        return messages.Raw(client, client.authenticate_basic_token(user, PASSWORDS[user]), **options)

    def backends(self, condition="true"):
        """What PostgreSQL runs for it."""
        return backends(condition, self.name)

    def memory(self):
        """The most that it has had of memory, in bytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(30)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.log_file.close()


def admin(**options):
    return psycopg.connect(user="postgres", autocommit=True, **options)


def backends(condition="true", name=f"{NAME}%"):
    """What PostgreSQL runs for services."""
    with admin() as db:
        query = f"SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '{name}' AND {condition}"
        return db.execute(query).fetchone()[0]


def eventually(condition, seconds=15):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it has not come about"
        time.sleep(0.05)


@pytest.fixture(scope="session", autouse=True)
def roles():
    with admin() as db:
        db.execute("CREATE EXTENSION IF NOT EXISTS amax")
        db.execute("GRANT USAGE ON SCHEMA amax TO PUBLIC")
        db.execute("GRANT CREATE, USAGE ON SCHEMA public TO PUBLIC")
        for name, password in PASSWORDS.items():
            db.execute(psycopg.sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(psycopg.sql.Identifier(name), psycopg.sql.Literal(password)))
        db.execute("GRANT CREATE ON DATABASE postgres TO writer")
        db.execute("CREATE TABLE secret (a int)")
        db.execute("CREATE TABLE mine (owner name DEFAULT current_user, a int) USING amax")
        db.execute("ALTER TABLE mine ENABLE ROW LEVEL SECURITY")
        db.execute("CREATE POLICY own ON mine USING (owner = current_user)")
        db.execute("GRANT SELECT, INSERT ON mine TO PUBLIC")
        db.execute("INSERT INTO mine VALUES ('reader', 1), ('writer', 2)")


@pytest.fixture(scope="session")
def service(roles):
    service = Service()
    yield service
    assert service.stop() == 0
    eventually(lambda: service.backends() == 0)
    for password in PASSWORDS.values():
        assert password not in service.log()


@contextlib.contextmanager
def own(*options, **more):
    """A server for one test."""
    service = Service(*options, **more)
    try:
        yield service
    finally:
        service.stop()


@pytest.fixture
def db(service):
    with service.connect() as connection:
        yield connection


@pytest.fixture
def transaction(service):
    with service.connect(autocommit=False) as connection:
        yield connection


@pytest.fixture
def raw(service):
    """Flight's calls without a driver."""
    with service.raw() as raw:
        yield raw


def gone(connection):
    """After a commit that has failed: ADBC's driver has forgotten the transaction, and says so to each further call."""
    with pytest.raises(Exception, match="missing a valid transaction"):
        connection.rollback()
    with pytest.raises(Exception, match="missing a valid transaction"):
        run(connection, "SELECT 1")


def run(connection, statement, parameters=None):
    """All rows of a statement, as a table."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetch_arrow_table()


def value(connection, statement, parameters=None):
    table = run(connection, statement, parameters)
    assert table.shape == (1, 1), table
    return table[0][0].as_py()


def copied(query, user="writer"):
    """What COPY gives of it, without a service."""
    with psycopg.connect(user=user, password=PASSWORDS[user], autocommit=True) as db:
        db.execute("SELECT amax.load()")
        with db.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT arrow)") as copy:
            return pa.ipc.open_stream(b"".join(bytes(part) for part in copy)).read_all()
