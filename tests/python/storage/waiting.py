"""Few large documents that come one by one: autovacuum and commits make them columnar, though PostgreSQL's thresholds are far."""

import time

from server import Server
from twins import Mismatch

# A server per way: what it is told, documents, kilobytes of each, and how many have to be columnar.
WAYS = {
    "autovacuum": (["autovacuum_naptime = 1s", "amax.flush_inline = on"], 100, 60, 80),
    # Pages of as many documents as they hold would be larger than a leaf, which a commit leaves alone.
    "commits": (["autovacuum = off", "amax.leaf_size = '4MB'", "amax.flush_threshold = 16"], 100, 250, 60),
    # And these larger than VACUUM takes.
    "maintenance": (["autovacuum_naptime = 1s", "amax.leaf_size = '4MB'", "amax.flush_threshold = 1000", "maintenance_work_mem = '1MB'"], 100, 100, 80),
}
DOCUMENT = "jsonb_build_object('n', {n}, 'text', (SELECT string_agg(md5({n} || ' ' || j), '') FROM generate_series(1, {kilobytes} * 1000 / 32) j))"


def run(directory):
    after_analyze(directory)
    return ", ".join(f"{name}: {way(directory, name, *what)} of {what[1]}" for name, what in WAYS.items())


def after_analyze(directory):
    """ANALYZE, which sets what PostgreSQL counts, leaves autovacuum a reason to come."""
    server = Server(directory, "waiting", ["fsync = off", "autovacuum_naptime = 1h", "amax.flush_inline = on"])
    server.start()
    try:
        with server.connect() as client:
            client.execute("CREATE EXTENSION amax")
            client.execute("CREATE TABLE t (id int, doc jsonb) USING amax")
            with client.transaction():  # which does not count its own
                for n in range(60):
                    client.execute(f"INSERT INTO t SELECT {n}, {DOCUMENT.format(n=n, kilobytes=12)}")
            for statement in ("SELECT", "ANALYZE t"):
                client.execute(statement)
                client.execute("SELECT pg_stat_force_next_flush()")
            counts = "SELECT n_live_tup, n_dead_tup FROM pg_stat_user_tables WHERE relname = 't'"
            live, dead = client.execute(counts).fetchone()
            if dead <= 50 + 0.2 * live:
                raise Mismatch(f"autovacuum does not come for {live} rows, {dead} dead ones")
    finally:
        server.remove()


def way(directory, name, settings, count, kilobytes, wanted):
    server = Server(directory, "waiting", ["fsync = off", *settings])
    server.start()
    try:
        with server.connect() as client:
            client.execute("CREATE EXTENSION amax")
            for am in ("heap", "amax"):
                client.execute(f"CREATE TABLE t_{am} (id int PRIMARY KEY, doc jsonb) USING {am}")
            for n in range(count):
                for am in ("heap", "amax"):
                    client.execute(f"INSERT INTO t_{am} SELECT {n}, {DOCUMENT.format(n=n, kilobytes=kilobytes)}")
            deadline, columnar = time.monotonic() + 60, 0
            while columnar < wanted and time.monotonic() < deadline:
                columnar, why = client.execute("SELECT columnar_rows, why FROM amax.storage('t_amax')").fetchone()
                time.sleep(0.2)
            if columnar < wanted:
                raise Mismatch(f"{name}: {columnar} of {count} documents are columnar; {why}")
            differ, = client.execute("SELECT count(*) FROM t_heap h FULL JOIN t_amax a USING (id) WHERE h.doc IS DISTINCT FROM a.doc").fetchone()
            if differ or client.execute("SELECT * FROM amax.verify('t_amax')").fetchall():
                raise Mismatch(f"{name}: {differ} documents differ, or the table is damaged")
        if crashes := server.new_crashes():
            raise Mismatch("the server's log speaks of a crash:\n" + "\n".join(crashes[:5]))
        return columnar
    finally:
        server.remove()
