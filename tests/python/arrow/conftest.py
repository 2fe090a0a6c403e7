"""Fixtures. The server is found through PGHOST, PGUSER and PGDATABASE, and has the extension installed."""

import io
import os
import sys
from pathlib import Path

# polars has no interval of months, days and nanoseconds of its own; asked so, it reads one as a struct.
os.environ["POLARS_IMPORT_INTERVAL_AS_STRUCT"] = "1"

import psycopg
import pyarrow as pa
import pytest

CLIENTS = Path(__file__).resolve().parents[3] / "clients" / "python"
sys.path.insert(0, str(CLIENTS))


def connect(**options):
    connection = psycopg.connect(autocommit=True, **options)
    connection.execute("SET timezone = 'UTC'")
    return connection


@pytest.fixture(scope="session", autouse=True)
def extension():
    assert os.environ.get("PGHOST"), "no server: run tests/parts/50-arrow"
    with connect() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS amax")
        # COPY (FORMAT arrow) in every new session, as a site would set it up.
        connection.execute("ALTER DATABASE postgres SET session_preload_libraries = 'amax'")


@pytest.fixture
def db(extension):
    with connect() as connection:
        yield connection


@pytest.fixture
def role(db):
    """A role without privileges; a second connection is it."""
    db.execute("DROP ROLE IF EXISTS arrow_reader")
    db.execute("CREATE ROLE arrow_reader LOGIN")
    db.execute("GRANT USAGE ON SCHEMA amax TO arrow_reader")
    with connect(user="arrow_reader") as connection:
        yield connection
    db.execute("DROP OWNED BY arrow_reader")
    db.execute("DROP ROLE arrow_reader")


def copy_bytes(db, statement):
    with db.cursor() as cursor, cursor.copy(statement) as copy:
        return b"".join(bytes(part) for part in copy)


def through_copy(db, query):
    return copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow)")


def through_function(db, query):
    rows = db.execute("SELECT amax.arrow(%s)", (query,)).fetchall()
    return b"".join(row[0] for row in rows)


WAYS = {"copy": through_copy, "function": through_function}


@pytest.fixture(params=WAYS)
def read_bytes(request):
    """Both ways out of the database, as functions (connection, query) -> bytes of an IPC stream."""
    return WAYS[request.param]


def table(stream):
    return pa.ipc.open_stream(io.BytesIO(stream)).read_all()
