"""The time that small commits take, with very large documents inserted into the same table meanwhile or without, in heap, in amax, and in amax with its
background worker."""

import argparse
import sys
import threading
import time

import psycopg

from bench.numbers import machine

# What is shown: the table, its access method, the background worker.
SYSTEMS = {"heap": ("commits_heap", "heap", "off"), "amax": ("commits_amax", "amax", "off"), "amax, background worker": ("commits_worker", "amax", "on")}
OURS = [table for table, access_method, _ in SYSTEMS.values() if access_method == "amax"]
SMALL = "INSERT INTO {table} VALUES (jsonb_build_object('id', %s::int, 'text', repeat(md5(%s::text), 30)))"


def prepare(session, megabytes):
    """A table for each system, and the large document, which cannot be compressed to much less."""
    session.execute("CREATE EXTENSION IF NOT EXISTS amax")
    session.execute("DROP TABLE IF EXISTS commits_large")
    session.execute("CREATE TABLE commits_large (doc jsonb)")
    session.execute("INSERT INTO commits_large SELECT jsonb_build_object('text', string_agg(md5(i::text), '')) FROM generate_series(1, %s) i",
                    (megabytes * 2**20 // 32,))
    for table, access_method, _ in SYSTEMS.values():
        session.execute(f"DROP TABLE IF EXISTS {table}")
        session.execute(f"CREATE TABLE {table} (doc jsonb) USING {access_method}")


def large(options, table, worker, stop, done):
    with connect(options, worker) as session:
        while not stop.wait(options.pause):
            session.execute(f"INSERT INTO {table} TABLE commits_large")
            done.append(1)


def small(options, table, worker, times):
    with connect(options, worker) as session:
        end = time.monotonic() + options.seconds
        statement = SMALL.format(table=table)
        while time.monotonic() < end:
            started = time.perf_counter()
            session.execute(statement, (len(times), len(times)), prepare=True)
            times.append((time.perf_counter() - started) * 1000)


def connect(options, worker):
    session = psycopg.connect(options.dsn, autocommit=True)
    session.execute("SELECT amax.load()")
    session.execute(f"SET amax.background_worker = {worker}")
    return session


def measure(options, table, worker):
    """Milliseconds of each small commit, and how many large documents were inserted meanwhile."""
    stop, done = threading.Event(), []
    times = [[] for _ in range(options.clients)]
    clients = [threading.Thread(target=small, args=(options, table, worker, of_one)) for of_one in times]
    others = [threading.Thread(target=large, args=(options, table, worker, stop, done))] if options.megabytes else []
    for thread in others + clients:
        thread.start()
    for thread in clients:
        thread.join()
    stop.set()
    for thread in others:
        thread.join()
    return sorted(sum(times, [])), len(done)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--seconds", type=float, default=60, help="how long each system is measured")
    parser.add_argument("--clients", type=int, default=1, help="how many insert small documents")
    parser.add_argument("--megabytes", type=int, default=200, help="the size of a large document; 0: there are none")
    parser.add_argument("--pause", type=float, default=5, help="seconds between two of them")
    options = parser.parse_args()
    print(machine(), file=sys.stderr)
    print("| | small commits | large documents | median, ms | 99 %, ms | 99.9 %, ms | worst, ms |\n|---|---:|---:|---:|---:|---:|---:|")
    with psycopg.connect(options.dsn, autocommit=True) as session:
        prepare(session, options.megabytes)
        for name, (table, _, worker) in SYSTEMS.items():
            times, documents = measure(options, table, worker)
            at = [times[min(int(len(times) * share), len(times) - 1)] for share in (0.5, 0.99, 0.999, 1)]
            print(f"| {name} | {len(times):,} | {documents} | " + " | ".join(f"{ms:.2f}" for ms in at) + " |", flush=True)
        problems = sum(session.execute(f"SELECT count(*) FROM amax.verify('{table}')").fetchone()[0] for table in OURS)
        components = [session.execute(f"SELECT coalesce(sum(rows), 0) FROM amax.components('{table}')").fetchone()[0] for table in OURS]
        rows = [session.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in OURS]
    print(f"\nrows in amax: {rows}, of them columnar: {components}; amax.verify: {problems} problems")
    return 1 if problems or not all(components) else 0


if __name__ == "__main__":
    sys.exit(main())
