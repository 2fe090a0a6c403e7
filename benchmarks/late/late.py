"""Rows that are read late, and plans that an index or a rescan might spoil, beside heap and DuckDB. Default settings, hot."""

import argparse
import datetime
import decimal
import json
import subprocess
import sys
import tempfile
import time

import duckdb
import psycopg

from bench.generator import build
from bench.numbers import machine

EVENT = "(doc->>'time_us')::bigint"
COLLECTION = "(doc->'commit'->>'collection')"
LINES = """SELECT i >> 2 AS l_orderkey, i * 7919 % 200000 AS l_partkey, i * 104729 % 10000 AS l_suppkey, (i % 4 + 1)::int AS l_linenumber,
    (i * 31 % 50 + 1)::int AS l_quantity, ((i * 7907 % 9500000) / 100.0 + 900)::numeric(12, 2) AS l_extendedprice, (i % 11 / 100.0)::numeric(4, 2) AS l_discount,
    (i % 9 / 100.0)::numeric(4, 2) AS l_tax, chr((65 + i % 3)::int) AS l_returnflag, chr((70 + i % 2)::int) AS l_linestatus, date '1992-01-01' + (i * 13 % 2500)::int AS l_shipdate,
    date '1992-02-01' + (i * 17 % 2500)::int AS l_commitdate, date '1992-01-05' + (i * 13 % 2510)::int AS l_receiptdate,
    'INSTRUCTION ' || i % 4 AS l_shipinstruct, 'MODE ' || i % 7 AS l_shipmode, 'comment ' || i * 48271 % 1000003 AS l_comment"""
COLLECTIONS = f"CREATE TABLE late_collections AS SELECT name, row_number() OVER (ORDER BY name) AS number FROM (SELECT DISTINCT {COLLECTION} AS name FROM late) x WHERE name IS NOT NULL"
# Title, the statement of PostgreSQL, and DuckDB's where it has one: None, or True for the same.
LATE = [
    ("newest ten documents, by an integer path", f"SELECT doc FROM late ORDER BY {EVENT} DESC LIMIT 10", True),
    ("five documents by two paths, text and integer", f"SELECT doc FROM late ORDER BY {COLLECTION} COLLATE \"C\", {EVENT} LIMIT 5", True),
    ("the newest of each kind, DISTINCT ON", f"SELECT DISTINCT ON (doc->>'kind') doc FROM late ORDER BY doc->>'kind', {EVENT} DESC", True),
    ("the newest three of each collection, row_number()",
     f"SELECT doc FROM (SELECT doc, row_number() OVER (PARTITION BY {COLLECTION} ORDER BY {EVENT} DESC) AS n FROM late) y WHERE n <= 3", True),
    ("newest ten documents of a join with their collections",
     f"SELECT late.doc, c.number FROM late JOIN late_collections c ON c.name = {COLLECTION} ORDER BY {EVENT} DESC LIMIT 10", True),
    ("ten rows of lineitem by three columns", "SELECT * FROM late_lines ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 10", True),
]
PLANS = [
    ("a fifth of lineitem by a column", "SELECT count(*), max(l_shipdate) FROM late_lines WHERE l_quantity <= 10", "late_lines (l_quantity)"),
    ("documents that contain one", "SELECT count(*) FROM late WHERE doc @> '{\"kind\": \"identity\"}'", "late USING gin (doc jsonb_path_ops)"),
]
CHOSEN = "CREATE TABLE late_chosen AS SELECT doc->>'did' AS did FROM late GROUP BY 1 HAVING abs(hashtext(doc->>'did')) % 100 = 0"
# Joins that keep one document in a hundred, by amax.materialization.
JOINS = [
    ("documents of one account in a hundred", "SELECT doc FROM late JOIN late_chosen c ON c.did = late.doc->>'did'"),
    ("their lengths as text", "SELECT sum(length(doc::text)), max(doc->>'time_us') FROM late JOIN late_chosen c ON c.did = late.doc->>'did'"),
]
MODES = ("early", "late", "ultra_late")
RESCANS = [
    ("1,000 correlated EXISTS over 3,000 rows, a fifth changed",
     "SELECT count(*) FROM generate_series(1, 1000) g WHERE EXISTS (SELECT FROM late_few WHERE id = g * 3 AND note <> 'none')"),
    ("1,000 LATERAL LIMIT 1 over the same", "SELECT count(*), sum(y.id) FROM generate_series(1, 1000) g, LATERAL (SELECT id FROM late_few WHERE id >= g * 3 ORDER BY id LIMIT 1) y"),
]


class Systems:
    def __init__(self, options):
        self.options = options
        self.session = {}
        for am in ("heap", "amax"):
            # Planned each time: what a setting changes is not in a plan that is kept.
            session = psycopg.connect(options.dsn, autocommit=True, prepare_threshold=None)
            session.execute("CREATE EXTENSION IF NOT EXISTS amax")
            session.execute(f"DROP SCHEMA IF EXISTS late_{am} CASCADE; CREATE SCHEMA late_{am}; SET search_path = late_{am}, public; SET default_table_access_method = {am}")
            self.session[am] = session
        self.duck = duckdb.connect()

    def load(self, events):
        for session in self.session.values():
            session.execute("CREATE TABLE late (doc jsonb)")
            with session.cursor() as cursor, open(events, "rb") as file, cursor.copy("COPY late FROM STDIN (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')") as copy:
                while part := file.read(1 << 20):
                    copy.write(part)
            session.execute(f"CREATE TABLE late_lines AS {LINES} FROM generate_series(1, {self.options.lines}::bigint) i")
            session.execute("CREATE TABLE late_few AS SELECT i AS id, 'note ' || i AS note FROM generate_series(1, 3000) i")
            session.execute("CREATE INDEX ON late_few (id)")
            session.execute(COLLECTIONS)
            session.execute(CHOSEN)
            for table in ("late", "late_lines", "late_few", "late_collections", "late_chosen"):
                session.execute(f"VACUUM ANALYZE {table}")
            session.execute("UPDATE late_few SET note = 'changed' WHERE id % 5 = 0")
        self.duck.execute(f"CREATE TABLE late AS SELECT json AS doc FROM read_json_objects('{events}')")
        self.duck.execute(COLLECTIONS)
        self.duck.execute("CREATE TABLE late_lines AS " + LINES.replace("date '", "DATE '") + f" FROM generate_series(1, {self.options.lines}) s(i)")

    def measure(self, statement, duck=None):
        """The fastest of several in ms, by system, in turn; all answers must be the same."""
        runs = {name: lambda s=session: s.execute(statement).fetchall() for name, session in self.session.items()}
        if duck:
            runs["duckdb"] = lambda: self.duck.execute(statement.replace('COLLATE "C"', "")).fetchall()
        best, answers = dict.fromkeys(runs, float("inf")), {}
        for _ in range(self.options.repeat + 1):
            for name, run in runs.items():
                started = time.perf_counter()
                answers[name] = run()
                # The first one is to warm up.
                best[name] = min(best[name], (time.perf_counter() - started) * 1000)
        found = {name: sorted(json.dumps([plain(cell) for cell in row], sort_keys=True) for row in answer) for name, answer in answers.items()}
        for name, answer in found.items():
            if answer != found["heap"]:
                sys.exit(f"{name} differs from heap: {statement}\n{answer[:2]}\n{found['heap'][:2]}")
        return best


def plain(cell):
    if isinstance(cell, (datetime.date, decimal.Decimal)):
        return str(cell)
    return json.loads(cell) if isinstance(cell, str) and cell.startswith("{") else cell


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--lines", type=int, default=1_000_000, help="rows of lineitem")
    parser.add_argument("--repeat", type=int, default=5, help="how often a statement is run; the fastest counts")
    options = parser.parse_args()
    print(machine(), file=sys.stderr)
    systems = Systems(options)
    with tempfile.NamedTemporaryFile() as events:
        subprocess.run([build("amax-events"), "--events", str(options.events)], check=True, stdout=events)
        systems.load(events.name)
    print(f"| {options.events:,} documents, {options.lines:,} rows of lineitem | heap, ms | amax | DuckDB | amax / heap | amax / DuckDB |\n|---|---:|---:|---:|---:|---:|")
    for title, statement, duck in LATE:
        ms = systems.measure(statement, duck)
        print(f"| {title} | {ms['heap']:,.1f} | {ms['amax']:,.1f} | {ms['duckdb']:,.1f} | {ms['amax'] / ms['heap']:.3f} | {ms['amax'] / ms['duckdb']:.2f} |", flush=True)
    print("\n| | heap with the index, ms | amax without | amax with it | with / without |\n|---|---:|---:|---:|---:|")
    for title, statement, index in PLANS:
        without = systems.measure(statement)
        for session in systems.session.values():
            session.execute(f"CREATE INDEX ON {index}")
        ms = systems.measure(statement)
        print(f"| {title} | {ms['heap']:,.1f} | {without['amax']:,.1f} | {ms['amax']:,.1f} | {ms['amax'] / without['amax']:.2f} |", flush=True)
    print("\n| by amax.materialization | heap, ms | early | late | ultra late | late / ultra late |\n|---|---:|---:|---:|---:|---:|")
    for title, statement in JOINS:
        ms = {}
        for mode in MODES:
            systems.session["amax"].execute(f"SET amax.materialization = {mode}")
            best = systems.measure(statement)
            ms |= {mode: best["amax"], "heap": min(best["heap"], ms.get("heap", best["heap"]))}
        systems.session["amax"].execute("RESET amax.materialization")
        cells = " | ".join(f"{ms[system]:,.1f}" for system in ("heap", *MODES))
        print(f"| {title} | {cells} | {ms['late'] / ms['ultra_late']:.2f} |", flush=True)
    print("\n| | heap, ms | amax, ms | amax / heap |\n|---|---:|---:|---:|")
    for title, statement in RESCANS:
        ms = systems.measure(statement)
        print(f"| {title} | {ms['heap']:,.1f} | {ms['amax']:,.1f} | {ms['amax'] / ms['heap']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
