"""PostgreSQL with one of its table access methods."""

import json
import time

import psycopg
from psycopg import sql

from .. import answers
from ..data import DataSet
from .base import Load, System, of_documents

BLOCK = 1 << 20
# A document is one CSV field whose delimiter and quote cannot occur in it.
COPY = r"COPY documents FROM STDIN WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')"
# Access method, options, and how many partitions there are, by a hash of the document.
VARIANTS = {"heap": ("heap", {}, 0), "amax": ("amax", {}, 0), "amax_zstd": ("amax", {"compression": "zstd"}, 0),
            "heap_10": ("heap", {}, 10), "amax_10": ("amax", {}, 10), "amax_32": ("amax", {}, 32)}
PARTITIONS = ("SELECT relid AS part FROM pg_partition_tree('documents') WHERE isleaf "
              "UNION ALL SELECT 'documents'::regclass WHERE NOT EXISTS (SELECT FROM pg_partition_tree('documents'))")
REPORTED = ["shared_buffers", "work_mem", "jit", "max_parallel_workers_per_gather", "max_wal_size", "fsync", "maintenance_work_mem"]


class Postgres(System):
    """A schema of its own on the server."""

    dialect = "postgres"

    @property
    def schema(self) -> str:
        return f"json_{self.options.data}_{self.name}"

    @property
    def method(self) -> str:
        return VARIANTS[self.name][0]

    def connect(self):
        session = psycopg.connect(self.options.dsn, autocommit=True, prepare_threshold=None)
        settings = {
            "search_path": f"{self.schema},public",
            "max_parallel_workers_per_gather": str(self.options.workers),
            "timezone": "UTC",
            "client_min_messages": "warning",
        } | self.options.settings
        for name, value in settings.items():
            session.execute("SELECT set_config(%s, %s, false)", (name, value))
        return session

    def load(self, data: DataSet) -> Load:
        method, table_options, partitions = VARIANTS[self.name]
        with self.connect() as session:
            if method != "heap":
                session.execute(sql.SQL("CREATE EXTENSION IF NOT EXISTS {}").format(sql.Identifier(method)))
            self._drop(session)
            session.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self.schema)))
            if partitions:
                session.execute("CREATE TABLE documents (doc jsonb) PARTITION BY HASH (doc)")
                for number in range(partitions):
                    bound = f"WITH (MODULUS {partitions}, REMAINDER {number})"
                    session.execute(sql.SQL(f"CREATE TABLE documents{number} PARTITION OF documents FOR VALUES {bound} USING {{}}").format(sql.Identifier(method)))
            else:
                session.execute(sql.SQL("CREATE TABLE documents (doc jsonb) USING {}").format(sql.Identifier(method)))
            if table_options:
                session.execute("SELECT amax.set_options('documents', %s::jsonb)", (json.dumps(table_options),))
            session.execute("CHECKPOINT")
        with self.connect() as session:
            started = time.perf_counter()
            with session.cursor() as cursor:
                with data.path.open("rb") as file, cursor.copy(COPY) as copy:
                    while block := file.read(BLOCK):
                        copy.write(block)
                rows = cursor.rowcount
            copied = time.perf_counter()
            session.execute("VACUUM (ANALYZE) documents")
            settled = time.perf_counter()
            if method == "amax":
                self._check_columnar(session, rows)
        return Load(copied - started, settled - copied, rows)

    @staticmethod
    def _check_columnar(session, rows: int) -> None:
        """Guards against measuring row pages. (The first rows of a load are in some, and VACUUM leaves a few alone.)"""
        columnar = session.execute(f"SELECT coalesce(sum(rows), 0)::bigint FROM ({PARTITIONS}) parts, amax.components(part)").fetchone()[0]
        if columnar < rows / 2:
            raise RuntimeError(f"only {columnar} of {rows} rows are columnar after VACUUM")

    def count(self) -> int:
        with self.connect() as session:
            return session.execute("SELECT count(*) FROM documents").fetchone()[0]

    def size(self) -> int:
        with self.connect() as session:
            return session.execute(f"SELECT sum(pg_total_relation_size(part))::bigint FROM ({PARTITIONS}) parts").fetchone()[0]

    def query(self, session, text: str):
        started = time.perf_counter()
        if of_documents(text):
            with session.cursor().copy(f"COPY ({text}) TO STDOUT") as copy:
                held = list(copy)
        else:
            held = session.execute(text).fetchall()
        return time.perf_counter() - started, held

    def answer(self, text: str, held) -> list[tuple]:
        if not of_documents(text):
            return answers.normalise(held)
        # COPY doubles the only backslashes that jsonb's text has; each item is a row.
        return answers.documents(answers.parse(bytes(row).replace(rb"\\", b"\\")) for row in held)

    def _drop(self, session) -> None:
        session.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(self.schema)))

    def drop(self) -> None:
        with self.connect() as session:
            self._drop(session)

    def describe(self) -> dict:
        with self.connect() as session:
            version = session.execute("SHOW server_version").fetchone()[0]
            extension = session.execute("SELECT extversion FROM pg_extension WHERE extname = %s", (self.method,)).fetchone()
            settings = {name: session.execute("SELECT current_setting(%s)", (name,)).fetchone()[0]
                        for name in REPORTED + list(self.options.settings)}
        return {"version": f"PostgreSQL {version}", "extension": extension and extension[0], "settings": settings}
