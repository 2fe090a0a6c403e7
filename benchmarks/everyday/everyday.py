"""Statements over one table as reports and dashboards ask them, of columns and of documents, beside heap; those of columns beside DuckDB, those of documents beside ClickHouse. One process, hot."""

import argparse
import sys
import time
from pathlib import Path

import psycopg

import hour
from bench.answers import rows
from bench.clickhouse import ClickHouse
from bench.duck import connect as connect_duckdb
from bench.duck import copy_table
from bench.numbers import geometric_mean, machine, shown

HERE = Path(__file__).parent
TABLES = ("lines", "orders")
AMS = ("heap", "amax")
# How another system is asked, behind a statement; DuckDB mostly as PostgreSQL.
OTHER = " -- {system}: "


def connect(options, am):
    session = psycopg.connect(options.dsn, autocommit=True)
    session.execute("CREATE EXTENSION IF NOT EXISTS amax")
    session.execute(f"SET max_parallel_workers_per_gather = 0; SET jit = off; SET timezone = 'UTC'; SET search_path = everyday_{am}, public")
    return session


def load(options, sessions):
    for am in AMS:
        sessions[am].execute(f"DROP SCHEMA IF EXISTS everyday_{am} CASCADE; CREATE SCHEMA everyday_{am}")
    sessions["heap"].execute((HERE / "tables.sql").read_text().replace(":lines", str(options.lines)).replace(":documents", str(options.documents)))
    for table in TABLES:
        sessions["amax"].execute(f"CREATE TABLE {table} (LIKE everyday_heap.{table}) USING amax; INSERT INTO {table} SELECT * FROM everyday_heap.{table}")
        for session in sessions.values():
            session.execute(f"VACUUM (FREEZE, ANALYZE) {table}")


def measure(statement, runs, repeat):
    """The fastest of several in ms, by system, in turn. All answers must be the same."""
    best, answers = dict.fromkeys(runs, float("inf")), {}
    for _ in range(repeat + 1):
        for name, run in runs.items():
            started = time.perf_counter()
            answers[name] = run()
            # The first one is to warm up, and counts where there is no other.
            best[name] = min(best[name], (time.perf_counter() - started) * 1000)
    expected = rows(answers["heap"])
    for name, answer in answers.items():
        if rows(answer) != expected:
            print(f"{name} differs from heap: {statement}\n{rows(answer)[:3]}\n{expected[:3]}", file=sys.stderr)
            return best, False
    return best, True


def compare(options, sessions, table, system, ask, same_words):
    """`ask` asks the other system, which understands what is written for PostgreSQL if it has the `same_words`."""
    print(f"\n| {table} | heap, ms | amax, ms | amax / heap | {system}, ms | amax / {system} |\n|---|---:|---:|---:|---:|---:|")
    beside_heap, beside_other, agree = [], [], True
    for line in (HERE / f"{table}.sql").read_text().splitlines():
        if line.startswith("--") or options.like not in line:
            continue
        statement, _, other = line.partition(OTHER.format(system=system.lower()))
        if same_words and not other:
            other = statement
        runs = {am: lambda am=am: sessions[am].execute(statement).fetchall() for am in AMS}
        if other:
            runs[system] = lambda: ask(other)
        ms, same = measure(statement, runs, options.repeat)
        agree &= same
        beside_heap.append(ms["amax"] / ms["heap"])
        cells = [f"`{statement.replace('|', chr(92) + '|')}`", shown(ms["heap"]), shown(ms["amax"]), f"{beside_heap[-1]:.3f}", "", ""]
        if other:
            beside_other.append(ms["amax"] / ms[system])
            cells[-2:] = [shown(ms[system]), f"{beside_other[-1]:.2f}"]
        print(f"| {' | '.join(cells)} |", flush=True)
    print(f"\n{len(beside_heap)} statements, geometric mean of amax / heap: {geometric_mean(beside_heap):.3f}; {len(beside_other)}, of amax / {system}: {geometric_mean(beside_other):.2f}")
    return agree


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--lines", type=int, default=600_000)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=3, help="how often a statement is run; the fastest counts")
    parser.add_argument("--kept", action="store_true", help="use the tables that are there")
    parser.add_argument("--hour", action="store_true", help="only one hour of thirty days, by times in text and by an integer")
    parser.add_argument("--events", type=int, default=1_000_000, help="of those thirty days")
    parser.add_argument("--like", default="", help="only statements with this text in them")
    options = parser.parse_args()
    print(machine(), file=sys.stderr)
    sessions = {am: connect(options, am) for am in AMS}
    if not options.kept:
        (hour.load if options.hour else load)(options, sessions)
    if options.hour:
        return 0 if hour.compare(options, sessions, measure, shown) else 1
    duck = connect_duckdb()
    copy_table(sessions["heap"], duck, "lines")
    agree = compare(options, sessions, "lines", "DuckDB", lambda statement: duck.execute(statement).fetchall(), True)
    clickhouse = ClickHouse()
    clickhouse.copy_documents(sessions["heap"], "orders")
    agree &= compare(options, sessions, "orders", "ClickHouse", clickhouse.rows, False)
    clickhouse.close()
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
