"""A cold scan of a large table goes through a ring of buffers, as heap's does, and leaves other tables' pages in theirs; from 17 on it reads neighbouring pages together."""

import os
import time

from server import Server
from twins import Mismatch

SETTINGS = ["fsync = off", "autovacuum = off", "shared_buffers = '16MB'", "max_parallel_workers_per_gather = 0"]
ROWS = "SELECT i, jsonb_build_object('n', i, 'text', md5(i::text) || md5((-i)::text)) FROM generate_series(1, 200000) i"
QUERY = "SELECT count(*), sum((doc->>'n')::int), max(doc->>'text' COLLATE \"C\") FROM {}"
# Of a table's pages in buffers: the ring has 32, the rest are maps, the metapage and directories. (With fewer buffers a backend may pin too few to read many pages at once.)
MOST = 100
LEAST_READ = 3 * 8192


def run(directory):
    server = Server(directory, "reading", SETTINGS)
    server.start()
    try:
        with server.connect() as control:
            control.execute("CREATE EXTENSION amax; CREATE EXTENSION pg_buffercache; CREATE TABLE other AS SELECT i FROM generate_series(1, 20000) i")
            for am in ("heap", "amax"):
                control.execute(f"CREATE TABLE {am}_side (id int, doc jsonb) USING {am}; INSERT INTO {am}_side {ROWS}")
                control.execute(f"VACUUM {am}_side")
        server.stop()
        server.start()
        with server.connect() as control:
            one = lambda query: control.execute(query).fetchone()  # pylint: disable=unnecessary-lambda-assignment
            buffered = lambda table: one(f"SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('{table}')")[0]  # pylint: disable=unnecessary-lambda-assignment
            pages = one("SELECT pg_relation_size('amax_side') / 8192")[0]
            control.execute("SELECT count(*) FROM other")
            before = buffered("other")
            answers = [one(QUERY.format(table)) for table in ("heap_side", "amax_side")]
            if answers[0] != answers[1]:
                raise Mismatch(f"{answers}")
            held = buffered("amax_side")
            if not pages > 512 > MOST > held:
                raise Mismatch(f"{held} of {pages} pages are in buffers")
            if buffered("other") < before:
                raise Mismatch(f"of another table {buffered('other')} of {before} pages are still in buffers")
            read = together(server) if int(os.environ.get("AMAX_PG_MAJOR", "15")) >= 18 else ""
        if crashes := server.new_crashes():
            raise Mismatch("the server's log speaks of a crash:\n" + "\n".join(crashes[:5]))
        return f"{held} of {pages} pages in buffers{read}"
    finally:
        server.remove()


def together(server):
    """How much of the table is read at a time, by a session that has decoded none of it."""
    with server.connect() as control:
        control.execute("SELECT pg_stat_reset_shared('io')")
        control.execute("SET amax.shared_cache = 0")
        control.execute(QUERY.format("amax_side"))
    # Its counts are there when it has ended, soon after its connection.
    with server.connect() as control:
        deadline = time.monotonic() + 30
        reads = 0
        while not reads and time.monotonic() < deadline:
            reads, size = control.execute("SELECT sum(reads), sum(read_bytes) FROM pg_stat_io WHERE context = 'bulkread'").fetchone()
    if not reads or size / reads < LEAST_READ:
        raise Mismatch(f"{reads} reads of {size} bytes in all")
    return f", {size / reads / 1024:.0f} kB a read"
