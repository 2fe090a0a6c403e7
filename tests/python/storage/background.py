"""amax.background_worker: a worker flushes and merges what commits leave to it, comes again after it was ended, is in nobody's way, and is not needed."""

import time

import psycopg
from server import Server
from twins import Mismatch

SETTINGS = ["fsync = off", "autovacuum = off", "amax.flush_threshold = 0", "amax.rows_per_leaf = 2000", "amax.background_worker = on"]
TRICKLE = """
CREATE PROCEDURE trickle(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN first .. last LOOP
    INSERT INTO t_heap VALUES (i, repeat(md5(i::text), 20));
    INSERT INTO t_amax VALUES (i, repeat(md5(i::text), 20));
    COMMIT;
  END LOOP;
END $$"""
AT_ONCE = 4000
WORKERS = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'amax worker' AND datname = current_database()"


def run(directory):
    return f"{comes(directory)} flushes, {is_not_needed(directory)} without a process left for it"


def comes(directory):
    server = Server(directory, "background", SETTINGS)
    server.start()
    try:
        with server.connect() as client:
            prepare(client)
            workers = trickle(client, 1)
            if not workers:
                raise Mismatch("no worker comes")
            client.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s) AS pid", [workers])
            wait(lambda: not set(workers) & found(client), "the worker does not end when it is told to")
            if not trickle(client, AT_ONCE + 1):
                raise Mismatch("no worker comes after one was ended")
            wait(lambda: not found(client), "a worker that nobody asks does not end")
            client.execute("CREATE DATABASE other")
            with server.connect("other") as other:
                prepare(other)
                if not trickle(other, 1):
                    raise Mismatch("no worker comes to another database")
            client.execute("DROP DATABASE other")
            merges, = client.execute("SELECT merges FROM amax.stat_tables WHERE relname = 't_amax'").fetchone()
            if not merges:
                raise Mismatch("nothing is merged")
            return check(client)
    finally:
        server.remove()


def is_not_needed(directory):
    server = Server(directory, "background", [*SETTINGS, "max_worker_processes = 0"])
    server.start()
    try:
        with server.connect() as client:
            prepare(client)
            if trickle(client, 1):
                raise Mismatch("there is a worker where there can be none")
            return check(client)
    finally:
        server.remove()


def prepare(client):
    client.execute("CREATE EXTENSION amax")
    client.execute("CREATE TABLE t_heap (id int PRIMARY KEY, text text)")
    client.execute("CREATE TABLE t_amax (id int PRIMARY KEY, text text) USING amax")
    client.execute(TRICKLE)


def trickle(client, first):
    """Commits that have to be flushed; the workers seen meanwhile."""
    flushed, = client.execute("SELECT flushes FROM amax.stat_tables WHERE relname = 't_amax'").fetchone()
    workers = set()

    def is_flushed():
        workers.update(found(client))
        now, = client.execute("SELECT flushes FROM amax.stat_tables WHERE relname = 't_amax'").fetchone()
        return now > flushed

    for start in range(first, first + AT_ONCE, 500):
        try:
            client.execute("CALL trickle(%s, %s)", [start, start + 499])
        except psycopg.errors.AdminShutdown as error:
            raise Mismatch("the client was ended in place of the worker") from error
        workers.update(found(client))
    wait(is_flushed, f"nothing is flushed of {AT_ONCE} commits")
    return list(workers)


def found(client):
    return {pid for pid, in client.execute(WORKERS)}


def wait(until, or_else):
    deadline = time.monotonic() + 60
    while not until():
        if time.monotonic() > deadline:
            raise Mismatch(or_else)
        time.sleep(0.1)


def check(client):
    differ, = client.execute("SELECT count(*) FROM t_heap h FULL JOIN t_amax a USING (id) WHERE h.text IS DISTINCT FROM a.text").fetchone()
    if differ or client.execute("SELECT * FROM amax.verify('t_amax')").fetchall():
        raise Mismatch(f"{differ} rows differ, or the table is damaged")
    flushes, = client.execute("SELECT flushes FROM amax.stat_tables WHERE relname = 't_amax'").fetchone()
    return flushes
