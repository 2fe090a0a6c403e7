"""Sessions that may take so many megabytes beside what they have: COMMIT, inline flush, SELECT and VACUUM succeed, or end with "out of memory".

    headroom.py DIRECTORY RESULTS [snappy|zstd|none|lz4...]

A commit does not fail for what it flushes of others' rows; VACUUM gets to its end wherever heap's does, and relfrozenxid moves; no session ends, the
rows are those of a heap table. AMAX_MEMORY_HEADROOM: megabytes, several with spaces between (default "5 60"). With AMAX_MEMORY_CGROUP, the name of a
directory of the cgroup file system to be made (version 1), that is the limit in place of one on address space: there the kernel kills, the server
restarts, and rows and relfrozenxid are looked at.
"""

import collections
import os
import pathlib
import subprocess
import sys
import time

import psycopg

from checks import Checks, equal
from commits import one
from memory import OUT_OF_MEMORY
from server import Server, as_server_user, own
from twins import Mismatch

HEADROOM = [int(limit) for limit in os.environ.get("AMAX_MEMORY_HEADROOM", "5 60").split()]
CGROUP = os.environ.get("AMAX_MEMORY_CGROUP")
# Rows of some 1,500 bytes: of others, of our own, and how many stay.
OTHERS, OWN, KEPT = 2000, 700, 12000
INSERT = ("INSERT INTO {am} SELECT i, jsonb_build_object('n', i, 's', md5(i::text), 'tags', jsonb_build_array(i % 9, 'tag ' || i % 100), "
          "'text', (SELECT string_agg(md5(i || ' ' || j), ' ') FROM generate_series(1, 40) j)) FROM generate_series({first}, {last}) i")
SELECTS = ("SELECT count(*), sum(hashtextextended(x::text, 0)) FROM (SELECT * FROM {am} OFFSET 0) x",
           "SELECT count(*), sum(c), sum(m) FROM (SELECT doc->>'s' k, count(*) c, max((doc->>'n')::int) m FROM {am} GROUP BY 1) x")
SESSION = ("SELECT amax.load(); SET max_parallel_workers_per_gather = 0; SET amax.shared_cache = 0; SET amax.flush_threshold = 0; "
           "SET amax.max_components = 1; SET amax.merge_ratio = 0")


class Limited:
    """A session, limited once it is connected and has loaded the library."""

    def __init__(self, server, database, megabytes):
        self.session = server.connect(database, prepare_threshold=None)
        self.session.execute(SESSION)
        pid = self.session.info.backend_pid
        if CGROUP:
            group = pathlib.Path(CGROUP)
            (group / "cgroup.procs").write_text(str(pid))
            (group / "memory.limit_in_bytes").write_text(str(megabytes + 1 << 20))
        else:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            size = int(status.split("VmSize:")[1].split()[0]) * 1024
            subprocess.run(as_server_user(["prlimit", f"--pid={pid}", f"--as={size + (megabytes << 20)}:"]), check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session.close()
        if CGROUP:
            (pathlib.Path(CGROUP) / "memory.limit_in_bytes").write_text("-1")

    def run(self, statement):
        """What it returns; None if there was no memory."""
        try:
            cursor = self.session.execute(statement)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            if CGROUP and self.session.closed:
                return None
            if self.session.closed or error.sqlstate != OUT_OF_MEMORY:
                raise Mismatch(f"{statement[:60]}: {error.sqlstate} {error}{' (the session has ended)' if self.session.closed else ''}") from error
            return None


class Headroom:
    def __init__(self, server, compression):
        self.server, self.database, self.last = server, f"headroom_{compression}", 0
        self.counts = collections.Counter()
        self.least = {}
        with server.connect() as control:
            control.execute(f"CREATE DATABASE {self.database}")
        with self.control() as control:
            control.execute("CREATE EXTENSION amax")
            for am in ("heap", "amax"):
                control.execute(f"CREATE TABLE {am} (id int, doc jsonb) USING {am} WITH (autovacuum_enabled = off)")
                control.execute(f"ALTER TABLE {am} ALTER doc SET STORAGE MAIN; CREATE INDEX ON {am} (id)")
            control.execute(f"SELECT amax.set_options('amax', '{{\"compression\": \"{compression}\"}}')")

    def control(self):
        """A session without a limit, when the server takes any."""
        deadline = time.monotonic() + 60
        while True:
            try:
                return self.server.connect(self.database)
            except psycopg.OperationalError:
                if not CGROUP or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def add(self, control, am, rows, last):
        control.execute(INSERT.format(am=am, first=last + 1, last=last + rows))

    def limited(self, megabytes, what, statement):
        """Counts how it went."""
        with Limited(self.server, self.database, megabytes) as session:
            result = session.run(statement)
        self.note(megabytes, what, result is not None)
        return result

    def note(self, megabytes, what, done):
        self.counts[what, done] += 1
        if done:
            self.least[what] = min(megabytes, self.least.get(what, megabytes))

    def step(self, megabytes):
        with self.control() as control:
            control.execute("SET amax.flush_inline = off")
            for am in ("heap", "amax"):
                self.add(control, am, OTHERS, self.last)
                control.execute(f"DELETE FROM {am} WHERE id < {self.last - KEPT} OR id % 7 = 3")
        self.last += OTHERS
        self.commit(megabytes)
        for statement in SELECTS:
            found = self.limited(megabytes, "SELECT", statement.format(am="amax"))
            with self.control() as control:
                expected = control.execute(statement.format(am="heap")).fetchall()
            if found is not None:
                equal(statement, found, expected)
        self.vacuum(megabytes)
        with self.control() as control:
            rows = "SELECT count(*), sum(hashtextextended(x::text, 0)) FROM {} x"
            equal("rows", *(control.execute(rows.format(am)).fetchall() for am in ("amax", "heap")))
            equal("problems", control.execute("SELECT * FROM amax.verify('amax')").fetchall(), [])

    def commit(self, megabytes):
        """Rows of its own and, when it commits, a flush of the others'."""
        with self.control() as control:
            before = one(control, "SELECT coalesce(sum(rows), 0) FROM amax.components('amax')")
        with Limited(self.server, self.database, megabytes) as session:
            session.run("BEGIN")
            inserted = session.run(INSERT.format(am="amax", first=self.last + 1, last=self.last + OWN)) is not None
            self.note(megabytes, "INSERT", inserted)
            if inserted and session.run("COMMIT") is None and not CGROUP:
                raise Mismatch("the commit failed")
        with self.control() as control:
            committed = one(control, f"SELECT count(*) FROM amax WHERE id > {self.last}") > 0
            if committed:
                self.add(control, "heap", OWN, self.last)
            after = one(control, "SELECT coalesce(sum(rows), 0) FROM amax.components('amax')")
        self.last += OWN
        if inserted:
            self.note(megabytes, "COMMIT", committed)
            self.note(megabytes, "inline flush", after > before)

    def vacuum(self, megabytes):
        done = {}
        for am in ("heap", "amax"):
            with self.control() as control:
                control.execute("SELECT pg_current_xact_id()")
                last = one(control, "SELECT pg_current_xact_id()")
            done[am] = self.limited(megabytes, f"VACUUM of {am}", f"VACUUM (FREEZE) {am}") is not None
            with self.control() as control:
                frozen = one(control, f"SELECT age('{last}'::xid) >= age(relfrozenxid) FROM pg_class WHERE relname = '{am}'")
                components = control.execute("SELECT count(*) FROM amax.components('amax')").fetchone()[0]
            if done[am] and not frozen:
                raise Mismatch(f"VACUUM of {am} succeeded, and relfrozenxid has not moved")
        if done["heap"] and not done["amax"] and not CGROUP:
            raise Mismatch("VACUUM failed where heap's did not")
        self.note(megabytes, "merge", done["amax"] and components == 1)


def run(server, compression):
    test = Headroom(server, compression)
    for megabytes in HEADROOM:
        try:
            test.step(megabytes)
        except Mismatch as error:
            raise Mismatch(f"with {megabytes} MB: {error}") from error
    whats = dict.fromkeys(what for what, _ in test.counts)
    return [f"{what} {test.counts[what, True]} of {test.counts[what, True] + test.counts[what, False]} (from {test.least.get(what)} MB)" for what in whats]


def main():
    directory, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    own(directory)
    server = Server(directory, "headroom", ["autovacuum = off", "fsync = off"])
    if CGROUP:
        pathlib.Path(CGROUP).mkdir()
    server.start()
    postmaster = (server.data / "postmaster.pid").read_text().split()[0]
    checks = Checks()
    for compression in sys.argv[3:] or ("snappy", "zstd"):
        with checks.check(f"headroom with {compression}") as said:
            said += run(server, compression)
            if not CGROUP and server.new_crashes() or (server.data / "postmaster.pid").read_text().split()[0] != postmaster:
                raise Mismatch(f"a crash: {server.log_tail(1000)}")
    if checks.failed:
        (results / "headroom.log").write_text(server.log_tail(20000))
    server.stop()
    if CGROUP:
        pathlib.Path(CGROUP).rmdir()
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
