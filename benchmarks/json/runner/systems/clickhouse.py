"""ClickHouse, embedded (chDB), with a column of type JSON, sorted by what the queries filter by."""

import json
import shutil
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from chdb.session import Session

from .. import answers
from ..config import BUILD, HERE
from ..data import DataSet
from .base import Load, System, of_documents

# Documents are kept as they are: what looks like a time stays a string.
INSERT = """INSERT INTO documents SELECT json FROM file('{path}', 'JSONAsObject', 'json JSON')
SETTINGS input_format_try_infer_datetimes = 0, input_format_try_infer_dates = 0, input_format_json_infer_array_of_dynamic_from_array_of_different_types = 1,
max_threads = {threads}, max_insert_threads = {threads}"""
# Columns with a type have no NULL: what a document lacks reads as this.
LACKING = {"collection": "", "operation": ""}


class ClickHouse(System):
    """A directory of its own."""

    dialect = "clickhouse"

    @property
    def path(self) -> Path:
        return BUILD / f"{self.options.data}.clickhouse"

    @contextmanager
    def connect(self):
        session = Session(str(self.path))
        try:
            session.query("CREATE DATABASE IF NOT EXISTS bench ENGINE = Atomic")
            session.query("USE bench")
            for name, value in {"max_threads": self.threads, "session_timezone": "'UTC'", "output_format_json_quote_64bit_integers": 0,
                                "output_format_json_escape_forward_slashes": 0}.items():
                session.query(f"SET {name} = {value}")
            yield session
        finally:
            session.close()

    def load(self, data: DataSet) -> Load:
        self.drop()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        schema = (HERE / "queries" / self.options.data / "clickhouse-schema.sql").read_text()
        with self.connect() as session:
            session.query(schema)
            started = time.perf_counter()
            session.query(INSERT.format(path=data.path, threads=self.threads))
            copied = time.perf_counter()
            session.query("OPTIMIZE TABLE documents FINAL")
            return Load(copied - started, time.perf_counter() - copied, self._number(session, "SELECT count() FROM documents"))

    @staticmethod
    def _number(session, text: str) -> int:
        return int(str(session.query(text, "TSV")))

    def count(self) -> int:
        with self.connect() as session:
            return self._number(session, "SELECT count() FROM documents")

    def size(self) -> int:
        with self.connect() as session:
            return self._number(session, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'documents'")

    def query(self, session, text: str):
        started = time.perf_counter()
        held = session.query(text, "JSONEachRow" if of_documents(text) else "JSONCompact").bytes()
        return time.perf_counter() - started, held

    def answer(self, text: str, held) -> list[tuple]:
        if of_documents(text):
            return answers.documents(map(self._document, held.splitlines()))
        parsed = json.loads(held)
        converters = [_converter(column["type"]) for column in parsed["meta"]]
        return answers.normalise([tuple(convert(value) for convert, value in zip(converters, row)) for row in parsed["data"]])

    @staticmethod
    def _document(line: bytes):
        document = answers.parse(line)["doc"]
        if document.get("commit") == LACKING:
            del document["commit"]
        return document

    def drop(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def describe(self) -> dict:
        with self.connect() as session:
            version = str(session.query("SELECT version()", "TSV")).strip()
        return {"version": f"ClickHouse {version} (chDB)", "extension": None, "settings": {"max_threads": str(self.threads)}}


def _converter(kind: str):
    """From JSON's value to Python's, by ClickHouse's type. No answer of the benchmark has an empty string."""
    if kind.startswith("DateTime64"):
        return datetime.fromisoformat
    return lambda value: None if value == "" else value
