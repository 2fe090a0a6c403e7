"""heap and amax, a schema each on the same server, and DuckDB beside them, which has the normalized tables."""

import time
from pathlib import Path

import psycopg

from bench import queries
from bench.clocks import clock
from bench.duck import connect as connect_duckdb
from bench.duck import copy_table

HERE = Path(__file__).parent
AMS = ("heap", "amax")
TABLES = {"nested": ("users", "messages", "chirps"), "normalized": ("users", "friends", "employments", "messages", "chirp_users", "chirps", "topics")}
TRIGRAMS = "-- pg_trgm"
# DuckDB has no such words: a part of a title.
NOT_IN_DUCKDB = ("tsvector", "pg_trgm")
# A document is one CSV field whose delimiter and quote cannot occur in it.
COPY = r"COPY bigfun_source.{table} FROM STDIN WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')"


class Postgres:
    """A table access method."""

    def __init__(self, options, am):
        self.am = am
        self.session = psycopg.connect(options.dsn, autocommit=True, prepare_threshold=None)
        self.clock = clock(self.session, options.processor)
        self.run("CREATE EXTENSION IF NOT EXISTS amax")
        self.extensions = {name for name in ("pg_trgm", "fuzzystrmatch") if self.run("SELECT FROM pg_available_extensions WHERE name = %s", [name]).fetchall()}
        self.run("SET client_min_messages = warning")
        for name in self.extensions:
            self.run(f"CREATE EXTENSION IF NOT EXISTS {name} SCHEMA public")
        self.run(f"SET timezone = 'UTC'; SET jit = off; SET max_parallel_workers_per_gather = {options.workers}")
        self.run(f"SET search_path = bigfun_{am}, public; SET default_table_access_method = {am}")

    def run(self, statement, arguments=None):
        return self.session.execute(statement, arguments)

    def has(self, title):
        """Whether the extension that a query is about is there."""
        needed = {"pg_trgm": "pg_trgm", "levenshtein": "fuzzystrmatch"}
        return all(extension in self.extensions for word, extension in needed.items() if word in title)

    def prepare(self, schema):
        """Its tables with their keys: seconds."""
        self.run(f"DROP SCHEMA IF EXISTS bigfun_{self.am} CASCADE; CREATE SCHEMA bigfun_{self.am}; CHECKPOINT")
        started = time.perf_counter()
        self.run((HERE / f"{schema}.sql").read_text())
        seconds = time.perf_counter() - started
        self.settle(schema)
        return seconds

    def add_indexes(self, schema):
        started = time.perf_counter()
        for block in (HERE / f"{schema}-indexes.sql").read_text().split("\n\n"):
            if not block.startswith(TRIGRAMS) or "pg_trgm" in self.extensions:
                self.run(block)
        seconds = time.perf_counter() - started
        self.settle(schema)
        return seconds

    def settle(self, schema):
        for table in TABLES[schema]:
            self.run(f"VACUUM (ANALYZE) {table}")

    def bytes(self, schema):
        """Of tables, of indexes."""
        found = [self.run(f"SELECT pg_table_size('{table}'), pg_indexes_size('{table}')").fetchone() for table in TABLES[schema]]
        return [sum(column) for column in zip(*found)]

    def rows_of(self, table):
        return self.run(f"SELECT count(*), sum(hashtextextended(t::text, 0)) FROM {table} t").fetchone()

    def problems(self, schema):
        if self.am == "amax":
            for table in TABLES[schema]:
                for (problem,) in self.run("SELECT * FROM amax.verify(%s::regclass)", [table]):
                    yield f"{table}: {problem}"

    def close(self):
        self.run(f"DROP SCHEMA bigfun_{self.am} CASCADE")
        self.session.close()


class DuckDB:
    """With one thread, or as many as PostgreSQL has processes for a query."""

    def __init__(self, options, heap):
        self.duck = connect_duckdb()
        self.clock = (lambda: time.process_time() * 1000) if options.processor else (lambda: time.perf_counter() * 1000)
        self.duck.execute(f"SET threads = {options.workers + 1}")
        for table in TABLES["normalized"]:
            copy_table(heap.session, self.duck, table)
        self.words = queries.read(HERE / "queries" / "duckdb.sql")

    @staticmethod
    def has(title):
        return not any(word in title for word in NOT_IN_DUCKDB)

    def run(self, statement):
        return self.duck.execute(statement)


def load_source(session, directory):
    """The documents of both, as they come from the generator."""
    session.execute("DROP SCHEMA IF EXISTS bigfun_source CASCADE; CREATE SCHEMA bigfun_source")
    for table in TABLES["nested"]:
        session.execute(f"CREATE TABLE bigfun_source.{table} (doc jsonb) USING heap")
        with session.cursor().copy(COPY.format(table=table)) as copy, (directory / f"{table}.jsonl").open("rb") as file:
            while block := file.read(1 << 20):
                copy.write(block)
        session.execute(f"VACUUM (ANALYZE) bigfun_source.{table}")
