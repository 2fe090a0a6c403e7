"""Sessions that may take so many megabytes beside what they have: COMMIT, inline flush, SELECT and VACUUM succeed, or end with "out of memory".

    headroom.py DIRECTORY RESULTS [snappy|zstd|none|lz4...]

Once with a limit on address space, once in a memory cgroup, where one can be made. A commit does not fail for what it flushes of others' rows; VACUUM
gets to its end wherever heap's does, and relfrozenxid moves; no session ends; the rows are those of a heap table. AMAX_MEMORY_HEADROOM: megabytes, several
with spaces between (default "60 60 1 5 10"). In a cgroup nothing less than one is tried: the kernel kills heap's session, too.
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

# Much of it first, twice: shared memory counts for the cgroup of whoever first touches a page of it, and nobody can be refused that.
HEADROOM = [int(limit) for limit in os.environ.get("AMAX_MEMORY_HEADROOM", "60 60 1 5 10").split()]
# Rows of some 1,500 bytes: of others, of our own, and how many stay.
OTHERS, OWN, KEPT = 2000, 700, 12000
INSERT = ("INSERT INTO {am} SELECT i, jsonb_build_object('n', i, 's', md5(i::text), 'tags', jsonb_build_array(i % 9, 'tag ' || i % 100), "
          "'text', (SELECT string_agg(md5(i || ' ' || j), ' ') FROM generate_series(1, 40) j)) FROM generate_series({first}, {last}) i")
SELECTS = ("SELECT count(*), sum(hashtextextended(x::text, 0)) FROM (SELECT * FROM {am} OFFSET 0) x",
           "SELECT count(*), sum(c), sum(m) FROM (SELECT doc->>'s' k, count(*) c, max((doc->>'n')::int) m FROM {am} GROUP BY 1) x")
SESSION = ("SELECT amax.load(); SET max_parallel_workers_per_gather = 0; SET amax.shared_cache = 0; SET amax.flush_threshold = 0; "
           "SET amax.max_components = 1; SET amax.merge_ratio = 0")


class AddressSpace:
    """A limit on what a session maps, once it has loaded the library."""

    LEAST = 0

    @staticmethod
    def limit(session, megabytes):
        session.execute(SESSION)
        pid = session.info.backend_pid
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        size = int(status.split("VmSize:")[1].split()[0]) * 1024
        subprocess.run(as_server_user(["prlimit", f"--pid={pid}", f"--as={size + (megabytes << 20)}:"]), check=True)

    def lift(self):
        """The session has ended, and its limit with it."""


class Cgroup:
    """A limit on the pages that a session has, once it has loaded the library."""

    LEAST = 1
    # Where version 1 and 2 are mounted, and what they call what is used, the limit and its absence.
    VERSIONS = (("/sys/fs/cgroup/memory", "memory.usage_in_bytes", "memory.limit_in_bytes", "-1"),
                ("/sys/fs/cgroup", "memory.current", "memory.max", "max"))

    def __init__(self):
        for root, usage, limit, none in self.VERSIONS:
            self.group = pathlib.Path(root) / f"amax-{os.getpid()}"
            self.usage, self.file, self.none = self.group / usage, self.group / limit, none
            try:
                self.group.mkdir()
            except OSError:
                continue
            if self.file.exists():
                return
            self.group.rmdir()
        raise NotImplementedError("no memory cgroup can be made here")

    def limit(self, session, megabytes):
        (self.group / "cgroup.procs").write_text(str(session.info.backend_pid))
        session.execute(SESSION)
        self.file.write_text(str(int(self.usage.read_text()) + (megabytes << 20)))

    def lift(self):
        self.file.write_text(self.none)

    def remove(self):
        """Its last session may not be gone yet."""
        time.sleep(0.1)
        self.group.rmdir()


class Limited:
    def __init__(self, server, database, limit, megabytes):
        self.session, self.limit = server.connect(database, prepare_threshold=None), limit
        limit.limit(self.session, megabytes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session.close()
        self.limit.lift()

    def run(self, statement):
        """What it returns; None if there was no memory."""
        try:
            cursor = self.session.execute(statement)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            if self.session.closed or error.sqlstate != OUT_OF_MEMORY:
                raise Mismatch(f"{statement[:60]}: {error.sqlstate} {error}{' (the session has ended)' if self.session.closed else ''}") from error
            return None


class Headroom:
    def __init__(self, server, limit, compression):
        self.server, self.limit, self.last = server, limit, 0
        self.database = f"{type(limit).__name__}_{compression}".lower()
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
        """A session without a limit."""
        return self.server.connect(self.database)

    def add(self, control, am, rows, last):
        control.execute(INSERT.format(am=am, first=last + 1, last=last + rows))

    def limited(self, megabytes, what, statement):
        """What it returns, and counts how it went."""
        with Limited(self.server, self.database, self.limit, megabytes) as session:
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
        with Limited(self.server, self.database, self.limit, megabytes) as session:
            session.run("BEGIN")
            inserted = session.run(INSERT.format(am="amax", first=self.last + 1, last=self.last + OWN)) is not None
            self.note(megabytes, "INSERT", inserted)
            if inserted and session.run("COMMIT") is None:
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
        if done["heap"] and not done["amax"]:
            raise Mismatch("VACUUM failed where heap's did not")
        self.note(megabytes, "merge", done["amax"] and components == 1)


def run(server, limit, compression):
    test = Headroom(server, limit, compression)
    for megabytes in (limit for limit in HEADROOM if limit >= test.limit.LEAST):
        try:
            test.step(megabytes)
        except Mismatch as error:
            raise Mismatch(f"with {megabytes} MB: {error}") from error
    whats = dict.fromkeys(what for what, _ in test.counts)
    return [f"{what} {test.counts[what, True]} of {test.counts[what, True] + test.counts[what, False]} (from {test.least.get(what)} MB)" for what in whats]


def main():
    directory, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    own(directory)
    server = Server(directory, "headroom", ["autovacuum = off", "fsync = off", "shared_buffers = '4MB'"])
    server.start()
    checks = Checks()
    compressions = sys.argv[3:] or ("snappy", "zstd")
    for compression in compressions:
        with checks.check(f"headroom with {compression}") as said:
            said += run(server, AddressSpace(), compression)
            if server.new_crashes():
                raise Mismatch(f"a crash: {server.log_tail(1000)}")
    try:
        cgroup = Cgroup()
    except NotImplementedError as error:
        print(f"left out: {error}")
    else:
        for compression in compressions:
            with checks.check(f"headroom in a cgroup with {compression}") as said:
                said += run(server, cgroup, compression)
        cgroup.remove()
    if checks.failed:
        (results / "headroom.log").write_text(server.log_tail(20000))
    server.stop()
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
