"""ClickHouse with one thread (chDB, embedded), and documents of PostgreSQL's in it."""

import json
import tempfile
from pathlib import Path

from chdb.session import Session

# Documents are kept as they are: what looks like a time stays a string.
LOAD = """INSERT INTO {table} SELECT json FROM file('{path}', 'JSONAsObject', 'json JSON')
SETTINGS input_format_try_infer_datetimes = 0, input_format_try_infer_dates = 0"""


class ClickHouse:
    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.session = Session(self.directory.name)
        for statement in ("CREATE DATABASE bench ENGINE = Atomic", "USE bench", "SET max_threads = 1", "SET session_timezone = 'UTC'", "SET output_format_json_quote_64bit_integers = 0"):
            self.session.query(statement)

    def rows(self, statement):
        return [tuple(row) for row in json.loads(self.session.query(statement, "JSONCompact").bytes())["data"]]

    def copy_documents(self, session, table):
        """A table of `session` with a column doc of jsonb, as one with a column of type JSON."""
        path = Path(self.directory.name) / "documents.jsonl"
        with path.open("wb") as file, session.cursor().copy(f"COPY (SELECT doc::text COLLATE \"C\" FROM {table}) TO STDOUT (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')") as copy:
            for part in copy:
                file.write(part)
        self.session.query(f"CREATE TABLE {table} (doc JSON) ENGINE = MergeTree ORDER BY tuple()")
        self.session.query(LOAD.format(table=table, path=path))
        self.session.query(f"OPTIMIZE TABLE {table} FINAL")
        path.unlink()

    def close(self):
        self.session.close()
        self.directory.cleanup()
