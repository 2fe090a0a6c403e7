"""Decoded columns in shared memory: sessions and workers that find what others decoded answer as heap does.

The files of tables are truncated and filled again in place, segments are given up early, and there is no memory for some.
"""

import random
import subprocess
import time

from server import as_server_user
from twins import Mismatch, Side, Twins

TABLES = ["t0", "t1", "t2"]
FILL = """INSERT INTO {table} SELECT i, jsonb_build_object('k', 'k' || (i * {a}) % {m}, 'n', i * {a}, 'd', (i * {a})::numeric / 100, 'o',
    CASE i % 3 WHEN 0 THEN to_jsonb(i) WHEN 1 THEN '[1]' ELSE '"x"' END) FROM generate_series(1, {rows}) i"""
QUERIES = [
    "SELECT doc->>'k', count(*), sum((doc->>'n')::bigint) FROM {table} GROUP BY 1",
    "SELECT count(DISTINCT doc->>'k'), min((doc->>'d')::numeric), max(id) FROM {table}",
    "SELECT jsonb_typeof(doc->'o'), count(*), count(doc->'o'->0) FROM {table} GROUP BY 1",
    "SELECT doc->'o', doc->>'d' FROM {table} WHERE (doc->>'n')::bigint % 97 = 0",
    "SELECT id FROM {table} WHERE doc->>'k' = 'k3' AND id % 11 = 0",
]
CACHES = ["'256kB'", "'1MB'", "'32MB'", "0"]
PARALLEL = ["max_parallel_workers_per_gather = 0", "max_parallel_workers_per_gather = 2"]
SETTINGS = ["parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0", "amax.rows_per_leaf = 700"]


def run(server, database, seed, mode, settings, seconds):
    rng = random.Random(f"sharing {seed}")
    twins = Twins(server, database, seed, SETTINGS + settings)
    asked, others = 0, []
    try:
        for table in TABLES:
            twins.both(f"CREATE TABLE {table} (id int, doc jsonb)")
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline or not asked:
            fill(twins, rng, rng.choice(TABLES))
            if rng.random() < 0.3:
                twins.both("VACUUM")
            others.append(Side(server, database, "amax"))
            if len(others) > 3:
                others.pop(rng.randrange(len(others))).connection.close()
            for _ in range(6):
                asked += ask(twins, rng, [twins.amax, *others])
        twins.amax.query("RESET amax.shared_cache")
        segments, size, columns = twins.amax.query("SELECT * FROM amax.shared_cache()")[0]
        if not columns:
            raise Mismatch("nothing was shared")
        twins.healthy(TABLES)
        return f"{asked} answers, {columns} columns in {segments} segments of {size} bytes, {twins.reached(mode)}"
    except Mismatch as error:
        raise Mismatch(str(error.args[0]), twins.log) from error
    finally:
        twins.close()
        for other in others:
            other.connection.close()


def fill(twins, rng, table):
    """New content, where the old one was: TRUNCATE in the transaction that made the file does not make another."""
    rows, a, m = rng.choice([900, 5000]), rng.choice([1, 7, 11]), rng.choice([5, 40, 3000])
    content = FILL.format(table=table, rows=rows, a=a, m=m)
    twins.both("BEGIN")
    twins.both(f"TRUNCATE {table}")
    if rng.random() < 0.5:
        twins.both(FILL.format(table=table, rows=rows, a=a + 1, m=m))
        twins.both(QUERIES[0].format(table=table))
        twins.both(f"TRUNCATE {table}")
    twins.both(content)
    twins.both("ROLLBACK" if rng.random() < 0.2 else "COMMIT")


def ask(twins, rng, sides):
    """One query in a session of its own memory, with or without workers, with any size of the cache; or where there is no room."""
    table, query = rng.choice(TABLES), rng.choice(QUERIES)
    query = query.format(table=table)
    side, cache, workers = rng.choice(sides), rng.choice(CACHES), rng.choice(PARALLEL)
    twins.log.append(f"{query} -- {cache}, {workers}")
    side.query(f"SET amax.shared_cache = {cache}")
    side.query(f"SET {workers}")
    tight = rng.random() < 0.1
    if tight:
        # No segment of the usual size can be made, with an error inside of PostgreSQL. What workers need fits.
        limit_files(side, 6 << 20)
    amax = side.run(query)
    if tight:
        limit_files(side, "unlimited")
    heap = twins.heap.run(query)
    if heap.comparable() != amax.comparable():
        raise Mismatch(f"in: {query} ({cache}, {workers}{', no room' * tight})\nheap: {heap}\namax: {amax}"[:3000])
    return 1


def limit_files(side, size):
    """How large the side's backend may make a file, segments of shared memory included."""
    command = ["prlimit", "--pid", str(side.connection.info.backend_pid), f"--fsize={size}:"]
    subprocess.run(as_server_user(command), check=True)
