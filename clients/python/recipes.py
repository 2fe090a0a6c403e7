"""Query results as Arrow, and frames into tables: recipes of a few lines each. `db` is a psycopg connection.

COPY needs the library in the session: session_preload_libraries = 'amax' in the server's or database's settings, or
`db.execute("SELECT amax.load()")` once per session. amax.arrow() loads it by itself.
"""

import io

import duckdb
import pandas as pd
import polars as pl
import psycopg
import psycopg.sql
import pyarrow as pa


class CopyStream(io.RawIOBase):
    """What COPY sends, as a file to read from."""

    def __init__(self, copy):
        self.chunks, self.rest = iter(copy), memoryview(b"")

    def readable(self):
        return True

    def readinto(self, buffer):
        if not self.rest:
            self.rest = memoryview(next(self.chunks, b""))
        size = min(len(buffer), len(self.rest))
        buffer[:size] = self.rest[:size]
        self.rest = self.rest[size:]
        return size


def batches(db: psycopg.Connection, query: str):
    """Record batches as they arrive; memory holds one at a time, here and in the server."""
    with db.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT arrow)") as copy:
        yield from pa.ipc.open_stream(io.BufferedReader(CopyStream(copy), 1 << 20))
        for _ in copy:  # to the end, so that the connection is free again
            pass


def stream_bytes(db: psycopg.Connection, query: str) -> bytes:
    """The whole result as an Arrow IPC stream."""
    with db.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT arrow)") as copy:
        return b"".join(copy)


def to_pyarrow(db: psycopg.Connection, query: str) -> pa.Table:
    return pa.ipc.open_stream(stream_bytes(db, query)).read_all()


def to_pandas(db: psycopg.Connection, query: str) -> pd.DataFrame:
    """Columns stay Arrow's: no copy, integers with NULL stay integers, decimals stay decimals."""
    return to_pyarrow(db, query).to_pandas(types_mapper=pd.ArrowDtype)


def to_polars(db: psycopg.Connection, query: str) -> pl.DataFrame:
    """(An interval column needs POLARS_IMPORT_INTERVAL_AS_STRUCT=1 in the environment, set before polars is imported.)"""
    return pl.read_ipc_stream(stream_bytes(db, query))


def to_duckdb(db: psycopg.Connection, query: str, duck: duckdb.DuckDBPyConnection, name: str) -> None:
    """A DuckDB table of that name, filled from the result."""
    result = to_pyarrow(db, query)  # noqa: F841 (DuckDB finds it by its name)
    duck.execute(f'CREATE TABLE "{name}" AS SELECT * FROM result')


def through_select(db: psycopg.Connection, query: str) -> pa.Table:
    """The same through SQL: works wherever a SELECT does, in any driver; binary=True saves the hex."""
    rows = db.execute("SELECT amax.arrow(%s)", (query,), binary=True)
    return pa.ipc.open_stream(b"".join(message for (message,) in rows)).read_all()


class CopySink(io.RawIOBase):
    """What COPY takes, as a file to write to."""

    def __init__(self, copy):
        self.copy = copy

    def writable(self):
        return True

    def write(self, data):
        self.copy.write(bytes(data))
        return len(data)


def load(db: psycopg.Connection, frame, table: str) -> None:
    """A frame of pandas, polars, pyarrow or DuckDB into a table; columns by their names, batch by batch."""
    reader = pa.RecordBatchReader.from_stream(frame)
    statement = psycopg.sql.SQL("COPY {} FROM STDIN (FORMAT arrow)").format(psycopg.sql.Identifier(*table.split(".")))
    with db.cursor().copy(statement) as copy, pa.ipc.new_stream(CopySink(copy), reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
