"""What sessions keep so that look-ups are faster next time is bounded for all of them together.

    sessions.py DIRECTORY RESULTS

What sessions have decoded goes when they do nothing. A session that is alone decodes a leaf's documents after some look-ups by key, and keeps them; one of many reads what it needs. Both find heap's rows.
"""

import contextlib
import pathlib
import sys
import time

import psycopg

from checks import Checks
from server import Server
from twins import Mismatch

ROWS = 12000
OTHERS = 40
CACHE = 48
DOCUMENT = "jsonb_build_object('n', i, 's', (SELECT string_agg(md5(i || ' ' || j), ' ') FROM generate_series(1, 40) j))"
LOOK_UPS = "SELECT sum(length(doc::text)) FROM generate_series(1, {rows}, 7) g, LATERAL (SELECT doc FROM {am} WHERE id = g OFFSET 0) x"


def own_memory(session):
    """MB of a session's own."""
    status = pathlib.Path(f"/proc/{session.info.backend_pid}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def looked_up(server):
    """MB that look-ups add to a session, which are compared with heap's."""
    with server.connect() as session:
        session.execute(f"SELECT amax.load(); SET amax.decode_cache = '{CACHE}MB'; SET enable_seqscan = off; SET amax.custom_scan = off")
        heap = session.execute(LOOK_UPS.format(rows=ROWS, am="heap")).fetchone()
        before = own_memory(session)
        if session.execute(LOOK_UPS.format(rows=ROWS, am="amax")).fetchone() != heap:
            raise Mismatch("other documents than heap's")
        return own_memory(session) - before


def bounded(server):
    """Alone, and with many others that do nothing."""
    with server.connect() as session:
        session.execute("CREATE EXTENSION amax")
        for am in ("heap", "amax"):
            session.execute(f"CREATE TABLE {am} (id int PRIMARY KEY, doc jsonb) USING {am}")
            session.execute(f"INSERT INTO {am} SELECT i, {DOCUMENT} FROM generate_series(1, {ROWS}) i")
        session.execute("VACUUM ANALYZE heap, amax")
    alone = looked_up(server)
    others = [server.connect() for _ in range(OTHERS)]
    among = looked_up(server)
    left = [pathlib.Path(f"/proc/{other.info.backend_pid}") for other in others]
    for other in others:
        other.close()
    # A server's process ends some time after its client has gone.
    while any(each.exists() for each in left):
        time.sleep(0.1)
    again = looked_up(server)
    if among > CACHE / 4 or min(alone, again) < 1.5 * among:
        raise Mismatch(f"{alone:.1f} MB alone, {among:.1f} among {OTHERS} others, {again:.1f} alone again")
    return f"{alone:.1f} MB alone, {among:.1f} among {OTHERS} others"


def idle(server):
    """A session that does nothing gives back what it has decoded, and goes on as before; so does one with a cursor, in whose transaction nothing goes."""
    with server.connect() as session, server.connect() as busy:
        for each in (session, busy):
            each.execute(f"SELECT amax.load(); SET amax.decode_cache = '{CACHE}MB'; SET amax.decode_cache_timeout = '1s'")
        query = "SELECT sum(hashtextextended(doc::text, 0)) FROM {am}"
        heap = session.execute(query.format(am="heap")).fetchone()
        full = 0
        # Also after an error, which unsets timeouts, and of what a transaction has read that is rolled back.
        for then in ("SELECT 1", "SELECT 1 / 0", "ROLLBACK"):
            if then == "ROLLBACK":
                session.execute("BEGIN")
            if session.execute(query.format(am="amax")).fetchone() != heap:
                raise Mismatch("other documents than heap's")
            full = own_memory(session)
            with contextlib.suppress(psycopg.errors.DivisionByZero):
                session.execute(then)
            time.sleep(3)
            left = own_memory(session)
            if left > full - 5:
                raise Mismatch(f"{full:.1f} MB, and {left:.1f} of an idle session")
        with busy.transaction():
            busy.execute("DECLARE c CURSOR FOR SELECT id, doc FROM amax ORDER BY id; FETCH 10 FROM c")
            time.sleep(2.5)
            rows = busy.execute("FETCH ALL FROM c").fetchall()
        if len(rows) != ROWS - 10 or busy.execute("SELECT pg_sleep(2.5), count(*) FROM amax").fetchone()[1] != ROWS:
            raise Mismatch(f"{len(rows)} rows of a cursor")
        return f"{full:.1f} MB, {left:.1f} when idle"


def main():
    directory, results = sys.argv[1:]
    server = Server(directory, "sessions", ["max_connections = 60", "autovacuum = off", "fsync = off"])
    server.start()
    checks = Checks()
    for test in (bounded, idle):
        with checks.check(test.__name__) as said:
            said.append(test(server))
    server.stop()
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
