"""The engines under test. Each loads one form's tables and times queries."""

import math
import time
from abc import ABC, abstractmethod
from pathlib import Path

import duckdb
import psycopg
from psycopg import sql

from .config import BUILD, INDEXED, MODES, SSB, TABLES, Options
from .data import DataSet

BLOCK = 1 << 20

# Settings for heap, per form, before those of the command line; amax has PostgreSQL's own.
#
# ANALYZE counts an expression's distinct values as if its sample were the whole
# table (compute_expr_stats in backend/statistics/extended_stats.c), so joins on
# documents look far more selective than they are, and the planner takes nested
# loops that run for minutes. All of the benchmark's joins are equijoins.
HEAP_SETTINGS = {"documents": {"enable_nestloop": "off"}}

# What join indexes are of: a key of lineorder, and that of a dimension.
JOINS = [("lo_custkey", "customer", "c_custkey"), ("lo_suppkey", "supplier", "s_suppkey"), ("lo_partkey", "part", "p_partkey"), ("lo_orderdate", "date", "d_datekey")]


def sql_text(dialect: str, form: str, name: str) -> str:
    """A statement's text: the dialect's own if it has one, else the common one; that of the relational form if its form has none."""
    places = [f"{dialect}/{form}", form, "relational"]
    files = [SSB / "sql" / place / f"{name}.sql" for place in places]
    return next(file for file in files if file.exists()).read_text()


class Engine(ABC):
    """One engine holding one form. Times are in seconds, sizes in bytes."""

    dialect: str

    def __init__(self, name: str, form: str, options: Options):
        self.name, self.form, self.options = name, form, options

    @abstractmethod
    def load(self, data: DataSet, advance) -> dict:
        """Creates and fills the tables, calling advance(bytes) on the way.

        Returns copy_seconds, settle_seconds (what follows the copy until the
        tables are as a user would leave them) and rows by table.
        """

    @abstractmethod
    def size(self) -> int:
        """Bytes on disk."""

    @abstractmethod
    def connect(self):
        """A new session."""

    def settle(self) -> None:
        """What follows changes until tables are as a user would leave them."""

    def change(self, session) -> None:
        """Updates a twentieth of the rows and deletes another one, of all tables but date."""
        session.execute(sql_text(self.dialect, self.form, "change"))

    @abstractmethod
    def drop(self) -> None:
        """Removes everything load created."""

    @abstractmethod
    def describe(self) -> dict:
        """Version and settings, for the results file."""

    def attach(self) -> dict:
        """Stands in for load where the tables are there already."""
        with self.connect() as session:
            rows = {table: session.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}
        return {"copy_seconds": math.nan, "settle_seconds": math.nan, "rows": rows}

    def query(self, session, name: str) -> tuple[float, list[tuple]]:
        """Runs a query in a session; time from sending it to holding all rows."""
        text = sql_text(self.dialect, self.form, name)
        started = time.perf_counter()
        rows = session.execute(text).fetchall()
        return time.perf_counter() - started, rows


class Postgres(Engine):
    """PostgreSQL with one of its table access methods: heap or amax."""

    dialect = "postgres"
    index_seconds = 0.0
    REPORTED = ["shared_buffers", "work_mem", "jit", "max_parallel_workers_per_gather", "max_wal_size", "fsync",
                "maintenance_work_mem", "effective_cache_size", "enable_nestloop"]

    @property
    def method(self) -> str:
        """The access method, which is the extension's name, too."""
        return "amax" if self.name in MODES or self.name == INDEXED else self.name

    @property
    def schema(self) -> str:
        return f"ssb_{self.name}" + ("" if self.form == "relational" else f"_{self.form}")

    def connect(self):
        session = psycopg.connect(self.options.dsn, autocommit=True, prepare_threshold=None)
        of_heap = HEAP_SETTINGS.get(self.form, {}) if self.name == "heap" else {}
        settings = {
            "search_path": self.schema,
            "max_parallel_workers_per_gather": str(self.options.workers),
            "default_table_access_method": self.method,
        } | of_heap | self.options.settings
        for name, value in settings.items():
            session.execute("SELECT set_config(%s, %s, false)", (name, value))
        if self.name in MODES:
            # Once the library is there, which has these settings.
            session.execute("LOAD 'amax'")
            session.execute("SELECT set_config('amax.materialization', %s, false)", (MODES[self.name],))
        return session

    def load(self, data: DataSet, advance) -> dict:
        with psycopg.connect(self.options.dsn, autocommit=True) as session:
            if self.name != "heap":
                session.execute(sql.SQL("CREATE EXTENSION IF NOT EXISTS {}").format(sql.Identifier(self.method)))
            self._drop(session)
            session.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self.schema)))
        rows = {}
        with self.connect() as session:
            session.execute(sql_text(self.dialect, self.form, "schema"))
            if self.name == "heap" and self.form == "documents":
                session.execute(sql_text(self.dialect, self.form, "statistics"))
            self._check_access_method(session)
            started = time.perf_counter()
            for table in TABLES:
                rows[table] = self._copy(session, table, data.path(table), advance)
            copied = time.perf_counter()
            for table in TABLES:
                session.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(table)))
            settled = time.perf_counter()
            if self.name == INDEXED:
                self._index(session)
            self.index_seconds = time.perf_counter() - settled
        return {"copy_seconds": copied - started, "settle_seconds": settled - copied, "rows": rows}

    def _index(self, session) -> None:
        for key, dimension, other in JOINS:
            session.execute("SELECT amax.create_join_index('lineorder', %s, %s::regclass, %s)", (key, dimension, other))

    def settle(self) -> None:
        with self.connect() as session:
            for table in TABLES:
                session.execute(sql.SQL("VACUUM {}").format(sql.Identifier(table)))

    def _check_access_method(self, session) -> None:
        """Guards against comparing an access method with itself."""
        methods = session.execute(
            "SELECT DISTINCT a.amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam"
            " WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r'", (self.schema,)).fetchall()
        if methods != [(self.method,)]:
            raise RuntimeError(f"tables of {self.schema} use {methods}, not {self.method}")

    def _copy(self, session, table: str, path: Path, advance) -> int:
        # A document is one CSV field whose delimiter and quote cannot occur in it.
        form = "FORMAT csv" if self.form != "documents" else r"FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01'"
        command = sql.SQL("COPY {} FROM STDIN WITH (" + form + ")").format(sql.Identifier(table))
        with session.cursor() as cursor:
            with path.open("rb") as file, cursor.copy(command) as copy:
                while block := file.read(BLOCK):
                    copy.write(block)
                    advance(len(block))
            return cursor.rowcount

    def size(self) -> int:
        with self.connect() as session:
            tables = [f"{self.schema}.{table}" for table in TABLES]
            return session.execute("SELECT sum(pg_total_relation_size(t::regclass))::bigint FROM unnest(%s::text[]) t",
                                   (tables,)).fetchone()[0]

    def _drop(self, session) -> None:
        session.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(self.schema)))

    def drop(self) -> None:
        with psycopg.connect(self.options.dsn, autocommit=True) as session:
            session.execute("SET client_min_messages = warning")
            self._drop(session)

    def describe(self) -> dict:
        with self.connect() as session:
            version = session.execute("SHOW server_version").fetchone()[0]
            extension = session.execute("SELECT extversion FROM pg_extension WHERE extname = %s",
                                        (self.method,)).fetchone()
            settings = {name: session.execute("SELECT current_setting(%s)", (name,)).fetchone()[0]
                        for name in self.REPORTED + list(self.options.settings)}
            indexes = session.execute("SELECT coalesce(sum(pg_relation_size(c.oid)), 0)::bigint FROM pg_class c JOIN pg_am a ON a.oid = c.relam "
                                      "WHERE a.amname = 'amax_join' AND c.relnamespace = %s::regnamespace", (self.schema,)).fetchone()[0]
        return {"version": f"PostgreSQL {version}", "extension": extension and extension[0], "settings": settings,
                "join_indexes": {"seconds": self.index_seconds, "bytes": indexes}}


class DuckDB(Engine):
    """DuckDB with a database file of its own."""

    dialect = "duckdb"

    @property
    def path(self) -> Path:
        return BUILD / "ssb" / f"{self.form}-sf{self.options.sf:g}.duckdb"

    def connect(self):
        session = duckdb.connect(str(self.path))
        session.execute(f"SET threads = {self.options.workers + 1}")
        return session

    def load(self, data: DataSet, advance) -> dict:
        self.drop()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        rows = {}
        with self.connect() as session:
            session.execute(sql_text(self.dialect, self.form, "schema"))
            started = time.perf_counter()
            for table in TABLES:
                path = data.path(table)
                rows[table] = self.fill(session, self.form, table, path)
                advance(path.stat().st_size)
            copied = time.perf_counter()
            session.execute("CHECKPOINT")
            settled = time.perf_counter()
        return {"copy_seconds": copied - started, "settle_seconds": settled - copied, "rows": rows}

    def size(self) -> int:
        return self.path.stat().st_size

    @staticmethod
    def fill(session, form: str, table: str, path: Path) -> int:
        """Reads a generated file into its table; the number of rows."""
        if form != "documents":
            text = f"COPY {table} FROM ? (FORMAT csv, HEADER false)"
        else:
            text = f"INSERT INTO {table} SELECT json FROM read_json_objects(?, format = 'newline_delimited')"
        return session.execute(text, [str(path)]).fetchone()[0]

    def drop(self) -> None:
        for path in (self.path, Path(f"{self.path}.wal")):
            path.unlink(missing_ok=True)

    def describe(self) -> dict:
        with self.connect() as session:
            limit = session.execute("SELECT current_setting('memory_limit')").fetchone()[0]
        return {"version": f"DuckDB {duckdb.__version__}", "extension": None,
                "settings": {"threads": str(self.options.workers + 1), "memory_limit": limit}}


def make(name: str, form: str, options: Options) -> Engine:
    """The engine of that name."""
    return (DuckDB if name == "duckdb" else Postgres)(name, form, options)
