"""Tables with a primary key beside heap: loads, by one statement and by many, and rounds of changes with VACUUM between, statements that read all of a table. Default settings."""

import argparse
import sys
import threading
import time

import psycopg

from bench.numbers import machine

SYSTEMS = ("heap", "amax")
DOCUMENT = ("jsonb_build_object('id', i, 'kind', 'event ' || i % 7, 'at', '2024-01-01'::timestamptz + i * interval '1 second', 'user', jsonb_build_object('name', 'user ' || i % 5000, "
            "'age', 18 + i % 60), 'tags', jsonb_build_array('t' || i % 3, 't' || i % 11), 'price', (i * 7919 % 100000) / 100.0, 'text', md5(i::text))")
# Of so many times 72 bytes.
LARGE = "jsonb_build_object('kind', 'event ' || i % 7, 'items', (SELECT jsonb_agg(jsonb_build_object('n', n, 'hash', md5(i || ' ' || n))) FROM generate_series(1, {}) n))"
BATCH = 1000
# VACUUM is part of what is measured.
ALONE = "WITH (autovacuum_enabled = off)"


def load(session, name, system, options):
    """Fills one table; what is measured."""
    if name.startswith("copy"):
        with session.cursor() as cursor, cursor.copy(f"COPY keys_{system} FROM STDIN") as copy:
            copy.write(options.text[name])
    elif name == "insert select":
        session.execute(f"INSERT INTO keys_{system} SELECT id, doc FROM keys_source")
    else:
        clients = 4 if name.endswith("four clients") else 1
        threads = [threading.Thread(target=client, args=(options, system, number, clients)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def client(options, system, number, clients):
    """Batches with ON CONFLICT, a tenth of which comes twice."""
    with psycopg.connect(options.dsn, autocommit=True) as session:
        for first in range(number * BATCH, options.rows, clients * BATCH):
            for start in (first, first - BATCH) if first // BATCH % 10 == 9 else (first,):
                session.execute(f"INSERT INTO keys_{system} SELECT id, doc FROM keys_source WHERE n >= %s AND n < %s ON CONFLICT (id) DO NOTHING", (start, start + BATCH))


def create(session, system, key, options=""):
    session.execute(f"DROP TABLE IF EXISTS keys_{system}")
    session.execute(f"CREATE TABLE keys_{system} (id {key} PRIMARY KEY, doc jsonb) USING {system} {options}")


def size(session, system):
    return session.execute(f"SELECT pg_table_size('keys_{system}')").fetchone()[0]


def timed(f):
    started = time.perf_counter()
    f()
    return (time.perf_counter() - started) * 1000


def process_time(session, statement):
    """Milliseconds of the processor that the session's own process takes for a statement; of the clock if the server is elsewhere."""
    is_here = session.info.host.startswith("/") or session.info.host in ("localhost", "127.0.0.1")

    def nanoseconds():
        if not is_here:
            return time.perf_counter_ns()
        with open(f"/proc/{session.info.backend_pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0])

    started = nanoseconds()
    session.execute(statement)
    return (nanoseconds() - started) / 1e6


def loads(session, options):
    """Milliseconds of load and VACUUM, and bytes after it, for each kind of load and system."""
    print(f"| {options.rows:,} rows | heap: load, VACUUM, ms | MB | amax: load, VACUUM, ms | MB | time | size |\n|---|---:|---:|---:|---:|---:|---:|")
    options.text = {}
    for kind in ("bigint", "uuid"):
        key = "i::bigint" if kind == "bigint" else "gen_random_uuid()"
        session.execute("DROP TABLE IF EXISTS keys_source")
        session.execute(f"CREATE TABLE keys_source AS SELECT i AS n, {key} AS id, {DOCUMENT} AS doc FROM generate_series(0, {options.rows - 1}) i")
        session.execute("CREATE INDEX ON keys_source (n)")
        session.execute("VACUUM ANALYZE keys_source")
        with session.cursor() as cursor, cursor.copy("COPY (SELECT id, doc FROM keys_source ORDER BY n) TO STDOUT") as copy:
            text = b"".join(bytes(part) for part in copy)
        names = ["copy"] if kind == "uuid" else ["copy", "insert select", "batches, on conflict", "batches, on conflict, four clients"]
        for name in names:
            options.text[name] = text
            found = {}
            for _ in range(options.repeat):
                for system in SYSTEMS:
                    create(session, system, kind, ALONE)
                    session.execute("CHECKPOINT")
                    times = timed(lambda s=system, n=name: load(session, n, s, options)), timed(lambda s=system: session.execute(f"VACUUM keys_{s}"))
                    best = found.get(system)
                    found[system] = (times, size(session, system)) if not best or sum(times) < sum(best[0]) else best
            heap, amax = found["heap"], found["amax"]
            cells = [f"{t[0]:,.0f}, {t[1]:,.0f} | {b / 1e6:.1f}" for t, b in (heap, amax)]
            print(f"| {name}, {kind} | {' | '.join(cells)} | {sum(amax[0]) / sum(heap[0]):.2f} | {amax[1] / heap[1]:.2f} |", flush=True)
    check(session)


def rounds(session, options):
    """Four rounds of changing a quarter of the rows, then half of them go."""
    print(f"\n| {options.changed:,} rows | heap, ms | amax, ms | amax / heap | amax: file / live content |\n|---|---:|---:|---:|---:|")
    for system in SYSTEMS:
        create(session, system, "bigint", ALONE)
        session.execute(f"INSERT INTO keys_{system} SELECT i, {DOCUMENT} FROM generate_series(0, {options.changed - 1}) i")
        session.execute(f"VACUUM keys_{system}")
    steps = [(f"UPDATE of a quarter, round {n + 1}", f"UPDATE {{t}} SET doc = doc || '{{\"round\": {n}}}' WHERE id % 4 = {n}") for n in range(4)]
    steps += [("DELETE of half", "DELETE FROM {t} WHERE id % 2 = 0"), ("", ""), ("", "")]
    for name, statement in steps:
        for what in ([statement] if name else []) + ["VACUUM {t}"]:
            ms = [timed(lambda s=s, w=what: session.execute(w.replace("{t}", f"keys_{s}"))) for s in SYSTEMS]
            components = session.execute("SELECT sum(pages) * 8192 FROM amax.components('keys_amax')").fetchone()[0]
            label = "VACUUM" if what.startswith("VACUUM") else name
            print(f"| {label} | {ms[0]:,.0f} | {ms[1]:,.0f} | {ms[1] / ms[0]:.1f} | {size(session, 'amax') / float(components):.2f} |", flush=True)
    session.execute("DROP TABLE IF EXISTS keys_fresh")
    session.execute("CREATE TABLE keys_fresh USING amax AS SELECT * FROM keys_heap")
    session.execute("VACUUM keys_fresh")
    query = "SELECT doc->>'kind', sum((doc->>'price')::numeric), count(*) FROM {t} GROUP BY 1"
    best = {t: min(timed(lambda t=t: session.execute(query.format(t=t))) for _ in range(5)) for t in ("keys_amax", "keys_fresh", "keys_heap")}
    print(f"\naggregate, ms: {best['keys_amax']:.1f}, on a fresh table {best['keys_fresh']:.1f}, in heap {best['keys_heap']:.1f}; "
          f"MB: {size(session, 'amax') / 1e6:.1f}, of the fresh table {size(session, 'fresh') / 1e6:.1f}, of heap's {size(session, 'heap') / 1e6:.1f}")
    check(session)


def large(session, _options):
    """Few documents, large ones: rows in columns after one VACUUM, and a query of one path."""
    print("\n| documents | in columns | heap, ms | amax, ms | amax / heap |\n|---|---:|---:|---:|---:|")
    for count, kilobytes in ((200, 200), (300, 1000)):
        for system in SYSTEMS:
            create(session, system, "int", ALONE)
            session.execute(f"INSERT INTO keys_{system} SELECT i, {LARGE.format(kilobytes * 1000 // 72)} FROM generate_series(1, {count}) i")
            session.execute(f"VACUUM keys_{system}")
        query = "SELECT doc->>'kind', count(*) FROM {t} GROUP BY 1"
        best = [min(timed(lambda s=s: session.execute(query.format(t=f"keys_{s}"))) for _ in range(3)) for s in SYSTEMS]
        columns = session.execute("SELECT columnar_rows FROM amax.storage('keys_amax')").fetchone()[0]
        print(f"| {count} of {kilobytes} kB | {columns} | {best[0]:.1f} | {best[1]:.1f} | {best[1] / best[0]:.3f} |", flush=True)
        check(session)


def whole(session, options):
    """Statements that read all of a table of documents alone, in sessions of their own: what others have decoded is no help.
    Processor time, beside which other work on the machine matters less."""
    print(f"\n| {options.documents:,} documents | heap, ms | amax, ms | amax / heap |\n|---|---:|---:|---:|")
    for system in SYSTEMS:
        session.execute(f"DROP TABLE IF EXISTS keys_{system}")
        session.execute(f"CREATE TABLE keys_{system} (doc jsonb) USING {system} {ALONE}")
        session.execute(f"INSERT INTO keys_{system} SELECT {DOCUMENT} FROM generate_series(0, {options.documents - 1}::bigint) i")
        session.execute(f"VACUUM keys_{system}")
    statements = ("ANALYZE {t}", "COPY {t} TO '/dev/null'", "CREATE INDEX keys_index ON {t} ((doc->>'kind'))", "CREATE INDEX keys_index ON {t} (((doc->>'id')::int))")
    for statement in statements:
        best = dict.fromkeys(SYSTEMS, float("inf"))
        for _ in range(options.repeat):
            for system in SYSTEMS:
                with psycopg.connect(options.dsn, autocommit=True) as own:
                    own.execute("LOAD 'amax'")
                    best[system] = min(best[system], process_time(own, statement.format(t=f"keys_{system}")))
                session.execute("DROP INDEX IF EXISTS keys_index")
        print(f"| `{statement.format(t='t').replace('keys_index ', '')}` | {best['heap']:,.0f} | {best['amax']:,.0f} | {best['amax'] / best['heap']:.2f} |", flush=True)


def trickle(session, options):
    """Single INSERTs over some minutes, with an UPDATE of an earlier row after every fourth, autovacuum as it is by default; each on heap, then on amax."""
    print(f"\n| one by one, in {options.minutes:g} minutes | heap: median, p99 of commits, ms | amax | amax, the slowest | in columns, at each tenth of the time |\n|---|---:|---:|---:|---:|")
    for name, count, document in (("events", options.trickle, DOCUMENT), ("documents of 200 kB", options.large, LARGE.format(200_000 // 72))):
        for system in SYSTEMS:
            create(session, system, "bigint")
        times, shares, started = {s: [] for s in SYSTEMS}, [], time.perf_counter()
        for i in range(count):
            statements = [f"INSERT INTO keys_{{s}} SELECT i, {document} FROM generate_series({i}, {i}) i"]
            if i % 4 == 3:
                statements.append(f"UPDATE keys_{{s}} SET doc = doc || '{{{{\"changed\": true}}}}' WHERE id = {i * 7919 % i}")
            for statement in statements:
                for s in SYSTEMS:
                    times[s].append(timed(lambda s=s, statement=statement: session.execute(statement.format(s=s))))
            time.sleep(max(0, started + (i + 1) * options.minutes * 60 / count - time.perf_counter()))
            if (i + 1) * 10 // count > i * 10 // count:
                shares.append(session.execute("SELECT columnar_rows / (columnar_rows + rows)::float8 FROM amax.storage('keys_amax')").fetchone()[0])
        cells = []
        for s in SYSTEMS:
            times[s].sort()
            cells.append(f"{times[s][len(times[s]) // 2]:.2f}, {times[s][len(times[s]) * 99 // 100]:.2f}")
        print(f"| {count:,} {name} | {' | '.join(cells)} | {times['amax'][-1]:.0f} | {', '.join(f'{share:.0%}' for share in shares)} |", flush=True)
        check(session)


def check(session):
    problems = session.execute("SELECT * FROM amax.verify('keys_amax')").fetchall()
    differ = session.execute("SELECT count(*) FROM keys_heap h FULL JOIN keys_amax a USING (id) WHERE h.doc IS DISTINCT FROM a.doc").fetchone()[0]
    if problems or differ:
        sys.exit(f"{differ} rows differ; amax.verify: {problems[:3]}")


PARTS = {"loads": loads, "rounds": rounds, "large": large, "whole": whole, "trickle": trickle}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--rows", type=int, default=200_000, help="of the loads")
    parser.add_argument("--changed", type=int, default=100_000, help="rows of the table that is changed")
    parser.add_argument("--documents", type=int, default=300_000, help="of the table that is read as a whole")
    parser.add_argument("--trickle", type=int, default=20_000, help="events that come one by one")
    parser.add_argument("--large", type=int, default=200, help="documents that come one by one")
    parser.add_argument("--minutes", type=float, default=4, help="how long they take")
    parser.add_argument("--parts", default=",".join(PARTS), help="which of them")
    parser.add_argument("--repeat", type=int, default=3, help="how often a load is run; the fastest counts")
    options = parser.parse_args()
    print(machine(), file=sys.stderr)
    with psycopg.connect(options.dsn, autocommit=True) as session:
        session.execute("CREATE EXTENSION IF NOT EXISTS amax")
        for part in options.parts.split(","):
            PARTS[part](session, options)


if __name__ == "__main__":
    main()
