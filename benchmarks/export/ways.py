"""Ways out and in. Each takes the connection string and what is to be moved, and gives back rows and bytes.

    python ways.py DSN WAY ARGUMENT     one way in a process of its own: JSON with seconds and peaks of memory

Of Flight SQL the connection string is grpc://ROLE:PASSWORD@HOST:PORT.
"""

import io
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.flight
import pyarrow.parquet as pq
import recipes


def connect(dsn):
    session = psycopg.connect(dsn, autocommit=True)
    session.execute("SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS amax; SELECT amax.load()")
    return session


def uri(dsn):
    """The same as a URI, for drivers of Rust."""
    parts = psycopg.conninfo.conninfo_to_dict(dsn)
    host = quote(parts.get("host", "localhost"), safe="")
    user, password = parts.get("user", "postgres"), parts.get("password")
    return f"postgresql://{user}{':' + quote(password) if password else ''}@{host}:{parts.get('port', 5432)}/{parts.get('dbname', user)}"


def csv_to_pandas(session, query):
    with session.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER)") as copy:
        return pd.read_csv(io.BytesIO(b"".join(copy)))


def binary_copy(session, query):
    """Nobody makes anything of it."""
    with session.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT binary)") as copy:
        return sum(len(part) for part in copy)


def parquet(session, query):
    with session.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT parquet)") as copy:
        return pq.read_table(pa.BufferReader(b"".join(copy)))


def json_struct(session, query):
    with session.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT arrow, JSON struct)") as copy:
        return pa.ipc.open_stream(recipes.CopyStream(copy)).read_all()


def adbc(dsn, query):
    from adbc_driver_postgresql import dbapi
    with dbapi.connect(uri(dsn)) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetch_arrow_table()


def connectorx(dsn, query):
    import connectorx
    return connectorx.read_sql(uri(dsn), query, return_type="arrow")


def protobuf(number, text):
    """One field of a message."""
    length = len(text)
    prefix = [number << 3 | 2]
    while length > 0x7F:
        prefix.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*prefix, length]) + text


def flight_sql(uri, query):
    """All endpoints at a time."""
    server = urlsplit(uri)
    command = protobuf(1, b"type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery") + protobuf(2, protobuf(1, query.encode()))
    with pa.flight.FlightClient(f"grpc://{server.hostname}:{server.port}") as client:
        header = client.authenticate_basic_token(unquote(server.username), unquote(server.password))
        options = pa.flight.FlightCallOptions(headers=[header])
        info = client.get_flight_info(pa.flight.FlightDescriptor.for_command(command), options)
        with ThreadPoolExecutor(len(info.endpoints)) as pool:
            return pa.concat_tables(pool.map(lambda endpoint: client.do_get(endpoint.ticket, options).read_all(), info.endpoints))


def file(path):
    with pa.OSFile(path) as source:
        return pa.ipc.open_file(source).read_all()


def copy_in(form):
    def load(session, table, path):
        with session.cursor().copy(f"COPY {table} FROM STDIN (FORMAT {form})") as copy, open(path, "rb") as source:
            while part := source.read(1 << 20):
                copy.write(part)
    return load


# What is read from the server: by a session of its own, or by a driver.
OUT = {
    "COPY csv, pandas": csv_to_pandas,
    "COPY binary, not decoded": binary_copy,
    "COPY arrow, pyarrow": recipes.to_pyarrow,
    "COPY arrow, pandas": recipes.to_pandas,
    "COPY arrow, polars": recipes.to_polars,
    "amax.arrow(), pyarrow": recipes.through_select,
    "COPY parquet, pyarrow": parquet,
}
# Documents as columns within columns.
STRUCT = {"COPY arrow, JSON struct, pyarrow": json_struct}
DRIVERS = {"ADBC, pyarrow": adbc, "connectorx, pyarrow": connectorx}
# Through services/flight-sql.
FLIGHT = {"Flight SQL, pyarrow": flight_sql}
FILE = "Arrow file, pyarrow"
IN = {f"COPY {form}": (copy_in(form), form) for form in ("csv", "arrow", "parquet")}


def peak(pid):
    """MB that a process had at most since it runs its program, where it is on this machine. (What getrusage() says is at least its parent's.)"""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), None)


def main():
    dsn, way, argument = sys.argv[1:]
    ours = OUT | STRUCT
    session = connect(dsn) if way in ours or way in IN else None
    before = peak(os.getpid())
    started = time.perf_counter()
    if way in ours:
        ours[way](session, argument)
    elif way in DRIVERS | FLIGHT:
        (DRIVERS | FLIGHT)[way](dsn, argument)
    elif way == FILE:
        file(argument)
    else:
        table, path = argument.split("=")
        IN[way][0](session, table, path)
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "client": peak(os.getpid()) - before, "server": session and peak(session.info.backend_pid)}))


if __name__ == "__main__":
    main()
