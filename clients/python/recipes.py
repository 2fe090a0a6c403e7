"""Query results as Arrow, and frames into tables: recipes of a few lines each. `db` is a psycopg connection.

COPY needs the library in the session: session_preload_libraries = 'amax' in the server's or database's settings, or
`db.execute("SELECT amax.load()")` once per session. amax.arrow() loads it by itself.
"""

import contextlib
import io
import mmap

import duckdb
import pandas as pd
import polars as pl
import psycopg
import psycopg.sql
import pyarrow as pa


def room(size: int):
    """Memory for a message. Linux gives pages of 4 kB as they are touched, which takes longer than filling them, unless it is asked for all at once."""
    if size >= 1 << 20 and hasattr(mmap, "MAP_POPULATE"):
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)
    return bytearray(size)


class CopyStream(io.RawIOBase):
    """What COPY sends, as a file. Arrow asks for a message at a time."""

    def __init__(self, copy):
        self.chunks, self.rest = iter(copy), memoryview(b"")

    def readable(self):
        return True

    def read(self, size):
        message, at = room(size), 0
        while at < size and (self.rest or self.more()):
            piece = self.rest[:size - at]
            message[at:at + len(piece)] = piece
            self.rest, at = self.rest[len(piece):], at + len(piece)
        return message if at == size else message[:at]

    def more(self):
        self.rest = memoryview(next(self.chunks, b""))
        return len(self.rest) > 0


@contextlib.contextmanager
def stream(db: psycopg.Connection, query: str):
    """A reader of record batches as they arrive; memory holds one at a time, here and in the server."""
    with db.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT arrow)") as copy:
        yield pa.ipc.open_stream(CopyStream(copy))
        for _ in copy:  # to the end, so that the connection is free again
            pass


def batches(db: psycopg.Connection, query: str):
    with stream(db, query) as reader:
        yield from reader


def to_pyarrow(db: psycopg.Connection, query: str) -> pa.Table:
    with stream(db, query) as reader:
        return reader.read_all()


def to_pandas(db: psycopg.Connection, query: str) -> pd.DataFrame:
    """Columns stay Arrow's: no copy, integers with NULL stay integers, decimals stay decimals."""
    return to_pyarrow(db, query).to_pandas(types_mapper=pd.ArrowDtype)


def to_polars(db: psycopg.Connection, query: str) -> pl.DataFrame:
    """(An interval column needs POLARS_IMPORT_INTERVAL_AS_STRUCT=1 in the environment, set before polars is imported.)"""
    return pl.from_arrow(to_pyarrow(db, query))


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
