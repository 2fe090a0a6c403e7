"""DuckDB, embedded, with a column of type JSON."""

import time
from pathlib import Path

import duckdb

from .. import answers
from ..config import BUILD
from ..data import DataSet
from .base import Load, System, of_documents


class DuckDB(System):
    """A database file of its own."""

    dialect = "duckdb"

    @property
    def path(self) -> Path:
        return BUILD / f"{self.options.data}.duckdb"

    def connect(self):
        session = duckdb.connect(str(self.path))
        session.execute(f"SET threads = {self.threads}")
        return session

    def load(self, data: DataSet) -> Load:
        self.drop()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.connect() as session:
            session.execute("CREATE TABLE documents (doc JSON)")
            started = time.perf_counter()
            rows = session.execute(
                "INSERT INTO documents SELECT json FROM read_json_objects(?, format = 'newline_delimited')", [str(data.path)]).fetchone()[0]
            copied = time.perf_counter()
            session.execute("CHECKPOINT")
            return Load(copied - started, time.perf_counter() - copied, rows)

    def count(self) -> int:
        with self.connect() as session:
            return session.execute("SELECT count(*) FROM documents").fetchone()[0]

    def size(self) -> int:
        return self.path.stat().st_size

    def query(self, session, text: str):
        started = time.perf_counter()
        # Arrow: a Python object per document would be most of the time.
        held = session.sql(text).to_arrow_table() if of_documents(text) else session.execute(text).fetchall()
        return time.perf_counter() - started, held

    def answer(self, text: str, held) -> list[tuple]:
        if not of_documents(text):
            return answers.normalise(held)
        return answers.documents(answers.parse(value.as_py()) for value in held.column(0))

    def drop(self) -> None:
        for path in (self.path, Path(f"{self.path}.wal")):
            path.unlink(missing_ok=True)

    def describe(self) -> dict:
        return {"version": f"DuckDB {duckdb.__version__}", "extension": None, "settings": {"threads": str(self.threads)}}
