"""Errors that are caught while a transaction commits, on a server with assertions: it stays up, and the commit succeeds.

    assertions.py DIRECTORY RESULTS PROGRAMS [TEST...]

PROGRAMS is where the server's programs are. The last line is "N passed, N failed".
"""

import pathlib
import shutil
import sys

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


def main():
    directory, results, programs, *names = sys.argv[1:]
    server = Server(directory, "assertions", ["autovacuum = off", "fsync = off"], programs)
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
    if checks.failed:
        shutil.copy(server.log, pathlib.Path(results) / "server.log")
    server.stop()
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
