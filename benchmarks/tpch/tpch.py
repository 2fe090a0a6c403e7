"""Queries in the form of TPC-H's, and others that look rows up by an index again and again, on heap and on amax with the same keys and indexes. Default settings of the planner."""

import argparse
import sys
import time
from pathlib import Path

import psycopg

from bench.answers import rows
from bench.duck import connect as connect_duckdb
from bench.duck import copy_table
from bench.numbers import geometric_mean, machine

HERE = Path(__file__).parent
TABLES = ("region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem")
SYSTEMS = ("heap", "amax")
# What the plan chosen is compared with: PostgreSQL's with kinds of nodes left out.
OTHERS = ("enable_nestloop", "enable_indexscan", "enable_hashjoin", "enable_bitmapscan", "max_parallel_workers_per_gather")


def load(session, options):
    for system in SYSTEMS:
        session.execute(f"DROP SCHEMA IF EXISTS tpch_{system} CASCADE; CREATE SCHEMA tpch_{system}")
    session.execute("SET search_path = tpch_heap")
    session.execute((HERE / "tables.sql").read_text().replace(":scale", str(options.scale)))
    session.execute((HERE / "indexes.sql").read_text())
    session.execute("SET search_path = tpch_amax")
    for table in TABLES:
        session.execute(f"CREATE TABLE {table} (LIKE tpch_heap.{table} INCLUDING INDEXES) USING amax")
        session.execute(f"INSERT INTO {table} SELECT * FROM tpch_heap.{table}")
    for system in SYSTEMS:
        for table in TABLES:
            session.execute(f"VACUUM (FREEZE, ANALYZE) tpch_{system}.{table}")


def explained(session, query):
    (found,) = session.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {query}").fetchone()
    return found[0]["Execution Time"]


def other_plans(session, query, repeat):
    """Milliseconds of the best plan with something left out, and what that was."""
    found = []
    for setting in OTHERS:
        session.execute(f"SET {setting} = 0")
        found.append((min(explained(session, query) for _ in range(repeat)), setting))
        session.execute(f"RESET {setting}")
    return min(found)


def by_the_clock(connection, query):
    """Milliseconds, with planning and with the answer taken; the answer."""
    started = time.perf_counter()
    answer = connection.execute(query).fetchall()
    return (time.perf_counter() - started) * 1000, answer


def duckdb_time(duck, query, expected, repeat):
    # It wants something to be selected.
    runs = [by_the_clock(duck, query.replace("SELECT FROM", "SELECT 1 FROM")) for _ in range(repeat + 1)]
    answer = runs[0][1]
    if rows(answer) != rows(expected):
        sys.exit(f"DuckDB differs: {query}\n{rows(answer)[:3]}\n{rows(expected)[:3]}")
    return min(ms for ms, _ in runs)


def measure(session, duck, name, options):
    """amax's time over heap's, and over DuckDB's if it is there."""
    query = (HERE / "queries" / f"{name}.sql").read_text()
    times, answers, others = {system: [] for system in SYSTEMS}, [], {}
    for system in SYSTEMS:
        session.execute(f"SET search_path = tpch_{system}")
        answers.append(sorted(session.execute(query).fetchall(), key=str))
    if answers[0] != answers[1]:
        sys.exit(f"{name}: the answers differ")
    for _ in range(options.repeat):
        for system in SYSTEMS:
            session.execute(f"SET search_path = tpch_{system}")
            times[system].append(by_the_clock(session, query)[0] if duck else explained(session, query))
    heap, amax = (min(times[system]) for system in SYSTEMS)
    cells = [name, f"{heap:,.1f}", f"{amax:,.1f}", f"{amax / heap:.2f}"]
    ratios = [amax / heap]
    if duck:
        beside = duckdb_time(duck, query, answers[0], options.repeat)
        ratios.append(amax / beside)
        cells += [f"{beside:,.1f}", f"{amax / beside:.2f}"]
    if options.others:
        session.execute("SET search_path = tpch_amax")
        best, setting = other_plans(session, query, options.repeat)
        cells += [f"{amax / best:.2f}", setting]
    print(f"| {' | '.join(cells)} |", flush=True)
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--repeat", type=int, default=5, help="how often a query is run; the fastest counts")
    parser.add_argument("--others", action="store_true", help="compare the plan chosen with others")
    parser.add_argument("--duckdb", action="store_true", help="DuckDB beside them, with one thread, and PostgreSQL without workers")
    parser.add_argument("--kept", action="store_true", help="use the tables that are there")
    parser.add_argument("queries", nargs="*", help="names of files in queries/; all by default")
    options = parser.parse_args()
    print(machine(), file=sys.stderr)
    with psycopg.connect(options.dsn, autocommit=True) as session:
        session.execute("CREATE EXTENSION IF NOT EXISTS amax")
        if not options.kept:
            load(session, options)
        duck = None
        if options.duckdb:
            session.execute("SET max_parallel_workers_per_gather = 0; SET search_path = tpch_heap")
            duck = connect_duckdb()
            for table in TABLES:
                copy_table(session, duck, table)
        head = ["query", "heap, ms", "amax, ms", "amax / heap"] + ["DuckDB, ms", "amax / DuckDB"] * options.duckdb + ["chosen / best other", "without"] * options.others
        print(f"| {' | '.join(head)} |\n|---|{'---:|' * (len(head) - 1)}")
        # Others than TPC-H's leave open which rows they mean.
        names = options.queries or sorted(file.stem for file in (HERE / "queries").glob("q*" if duck else "*"))
        ratios = zip(*(measure(session, duck, name, options) for name in names))
        print("\ngeometric means: " + ", ".join(f"{geometric_mean(list(of)):.2f}" for of in ratios))



if __name__ == "__main__":
    main()
