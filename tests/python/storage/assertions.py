"""What PostgreSQL's assertions would stop: errors that are caught while a transaction commits, after which it commits; dead entries of columnar rows in an index.

    assertions.py DIRECTORY RESULTS PROGRAMS [TEST...]

PROGRAMS is where the server's programs are. The last line is "N passed, N failed".
"""

import pathlib
import shutil
import sys

import psycopg

from checks import Checks, equal
from commits import ROWS, components, filled, one
from server import Server
from twins import Mismatch

TIMES = 30
ADD = "; ".join([ROWS.format(t="caught")] * TIMES)
# The first request of a kilobyte or more is refused: a flush makes some.
REFUSE = "SET amax.fault_allocation = '1/1024'"
KEPT = 'rows of relation "caught" stay in row pages'

# How a transaction ends, and so in which state PostgreSQL has it while it flushes.
ENDS = {
    "explicit": ["BEGIN", ADD, REFUSE, "COMMIT"],
    "savepoint": ["BEGIN", "SAVEPOINT s", ADD, REFUSE, "COMMIT"],
    "chained": ["BEGIN", ADD, REFUSE, "COMMIT AND CHAIN", "COMMIT"],
    "prepared": ["BEGIN", ADD, REFUSE, "PREPARE TRANSACTION 'caught'", "COMMIT PREPARED 'caught'"],
    "implicit": [f"{ADD}; {REFUSE}"],
    "alone": [REFUSE, "CALL add()"],
    "procedure": [REFUSE, "CALL add_and_commit()"],
}


def said(server):
    return server.log.read_text(errors="replace").count(KEPT)


def caught(server, statements):
    """A commit whose flush has no memory leaves the rows where they are; the next session's flushes them."""
    with server.connect("assertions", prepare_threshold=None) as control:
        rows = filled(control, "caught")
        for name, end in (("add", ""), ("add_and_commit", "COMMIT; ")):
            control.execute(f"CREATE PROCEDURE {name}() LANGUAGE plpgsql AS $$BEGIN {ADD}; {end}END$$")
    before = said(server)
    with server.connect("assertions", prepare_threshold=None) as session:
        session.execute("SET amax.flush_threshold = 16; SELECT amax.load()")
        for statement in statements:
            session.execute(statement)
        session.execute("SET amax.fault_allocation = ''")
        equal("transaction status", session.info.transaction_status.name, "IDLE")
    if said(server) == before:
        raise Mismatch("no flush met an error")
    with server.connect("assertions") as control:
        equal("components", components(control, "caught"), 0)
        equal("rows", one(control, "SELECT count(*) FROM caught"), rows + TIMES * 300)
        control.execute(f"SET amax.flush_threshold = 16; BEGIN; {ADD}; COMMIT")
        if not components(control, "caught"):
            raise Mismatch("the next commit was to flush")
        equal("rows", one(control, "SELECT count(*) FROM caught"), rows + 2 * TIMES * 300)
        equal("problems", control.execute("SELECT * FROM amax.verify('caught')").fetchall(), [])
    crashes = server.new_crashes()
    if crashes:
        raise Mismatch(f"a crash: {crashes}")


def known_dead(server):
    """A btree that is full removes entries that it knows to be dead, of columnar rows, beside others of the block of the new row."""
    with server.connect("assertions") as control:
        control.execute("CREATE TABLE dead (k int, v int); INSERT INTO dead SELECT i, 0 FROM generate_series(1, 340) i; CREATE INDEX ON dead (k)")
        control.execute("SELECT amax.flush('dead')")
        control.execute("DELETE FROM dead WHERE k BETWEEN 100 AND 300")
        # Dead, with entries.
        control.execute("SET amax.fault_point = 'vacuum_marked'")
        try:
            control.execute("VACUUM dead")
        except psycopg.errors.Error:
            control.execute("SET amax.fault_point = ''")
        control.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
        equal("rows", one(control, "SELECT count(*) FROM dead WHERE k BETWEEN 90 AND 310"), 20)
        for k in range(100, 300):
            control.execute(f"INSERT INTO dead VALUES ({k}, 1)")
        # A page has some 400: without those that are dead it was not split.
        equal("pages of the index", one(control, "SELECT pg_relation_size('dead_k_idx') / 8192"), 2)
        equal("rows", one(control, "SELECT count(*) FROM dead WHERE k BETWEEN 1 AND 340"), 339)
        equal("problems", control.execute("SELECT * FROM amax.verify('dead')").fetchall(), [])
    if crashes := server.new_crashes():
        raise Mismatch(f"a crash: {crashes}")


def main():
    directory, results, programs, *names = sys.argv[1:]
    server = Server(directory, "assertions", ["autovacuum = off", "fsync = off", "default_table_access_method = amax"], programs)
    server.start()
    with server.connect() as control:
        control.execute("CREATE DATABASE assertions")
    with server.connect("assertions") as control:
        control.execute("CREATE EXTENSION amax")
        equal("debug_assertions", one(control, "SHOW debug_assertions"), "on")
    checks = Checks()
    for name, statements in ENDS.items():
        if names and name not in names:
            continue
        try:
            with checks.check(f"an error caught at a commit: {name}"):
                caught(server, statements)
        finally:
            server.stop()
            server.start()
            with server.connect("assertions") as control:
                control.execute("DROP TABLE IF EXISTS caught; DROP PROCEDURE IF EXISTS add, add_and_commit")
    if not names or "known_dead" in names:
        with checks.check(known_dead.__doc__.rstrip(".")):
            known_dead(server)
    if checks.failed:
        shutil.copy(server.log, pathlib.Path(results) / "server.log")
    server.stop()
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
