"""The time that small commits take while another client inserts very large documents into the same table, in heap and in amax."""

import argparse
import sys
import threading
import time

import psycopg

from bench.numbers import machine

SYSTEMS = ("heap", "amax")
SMALL = "INSERT INTO commits_{system} VALUES (jsonb_build_object('id', %s::int, 'text', repeat(md5(%s::text), 30)))"


def prepare(session, megabytes):
    """A table for each system, and the large document, which cannot be compressed to much less."""
    session.execute("CREATE EXTENSION IF NOT EXISTS amax")
    session.execute("DROP TABLE IF EXISTS commits_large, commits_heap, commits_amax")
    session.execute("CREATE TABLE commits_large (doc jsonb)")
    session.execute("INSERT INTO commits_large SELECT jsonb_build_object('text', string_agg(md5(i::text), '')) FROM generate_series(1, %s) i",
                    (megabytes * 2**20 // 32,))
    for system in SYSTEMS:
        session.execute(f"CREATE TABLE commits_{system} (doc jsonb) USING {system}")


def large(options, system, stop, done):
    with psycopg.connect(options.dsn, autocommit=True) as session:
        while not stop.wait(options.pause):
            session.execute(f"INSERT INTO commits_{system} TABLE commits_large")
            done.append(1)


def measure(options, system):
    """Milliseconds of each small commit, and how many large documents were inserted meanwhile."""
    stop, done, times = threading.Event(), [], []
    others = threading.Thread(target=large, args=(options, system, stop, done))
    others.start()
    with psycopg.connect(options.dsn, autocommit=True) as session:
        end = time.monotonic() + options.seconds
        statement = SMALL.format(system=system)
        while time.monotonic() < end:
            started = time.perf_counter()
            session.execute(statement, (len(times), len(times)), prepare=True)
            times.append((time.perf_counter() - started) * 1000)
    stop.set()
    others.join()
    return sorted(times), len(done)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--seconds", type=float, default=60, help="how long each system is measured")
    parser.add_argument("--megabytes", type=int, default=200, help="the size of a large document")
    parser.add_argument("--pause", type=float, default=5, help="seconds between two of them")
    options = parser.parse_args()
    print(machine(), file=sys.stderr)
    print("| | small commits | large documents | median, ms | 99 %, ms | 99.9 %, ms | worst, ms |\n|---|---:|---:|---:|---:|---:|---:|")
    with psycopg.connect(options.dsn, autocommit=True) as session:
        prepare(session, options.megabytes)
        for system in SYSTEMS:
            times, documents = measure(options, system)
            at = [times[min(int(len(times) * share), len(times) - 1)] for share in (0.5, 0.99, 0.999, 1)]
            print(f"| {system} | {len(times):,} | {documents} | " + " | ".join(f"{ms:.2f}" for ms in at) + " |", flush=True)
        (problems,) = session.execute("SELECT count(*) FROM amax.verify('commits_amax')").fetchone()
        components = session.execute("SELECT coalesce(sum(rows), 0) FROM amax.components('commits_amax')").fetchone()[0]
        rows = [session.execute(f"SELECT count(*) FROM commits_{system}").fetchone()[0] for system in SYSTEMS]
    print(f"\nrows: {rows[0]:,} in heap, {rows[1]:,} in amax, {components:,} of them columnar; amax.verify: {problems} problems")
    return 1 if problems or not components else 0


if __name__ == "__main__":
    sys.exit(main())
