"""Two sessions at the same page at the wrong moment: each test holds them where their steps crossed once, and looks at what is left.

    races.py DIRECTORY RESULTS [TEST...]

A session stops at a fault point while the test holds an advisory lock (`NAME@LOCK`). The last line is "N passed, N failed".
"""

import pathlib
import shutil
import sys
import threading
import time

import psycopg

from checks import Checks, equal
from commits import filled, grow, one
from server import Server
from twins import Mismatch


class Session(threading.Thread):
    """Statements in a session of their own, which may have to wait; `join` raises what they raised."""

    def __init__(self, server, points, *statements):
        super().__init__(daemon=True)
        self.connection = server.connect("races")
        self.pid = one(self.connection, "SELECT pg_backend_pid()")
        self.connection.execute(f"SET amax.fault_point = '{points}'")
        self.statements, self.error = statements, None
        self.start()

    def run(self):
        try:
            for statement in self.statements:
                self.connection.execute(statement)
        except psycopg.Error as error:
            self.error = error

    def ended(self):
        self.join(60)
        if self.is_alive():
            raise Mismatch(f"it hangs: {self.statements[-1]}")
        self.connection.close()
        if self.error:
            raise self.error


class Holder:
    """Holds advisory locks and sees who waits."""

    def __init__(self, server, *locks):
        self.connection = server.connect("races")
        for lock in locks:
            self.connection.execute(f"SELECT pg_advisory_lock({lock})")

    def release(self, lock):
        self.connection.execute(f"SELECT pg_advisory_unlock({lock})")

    def until(self, session, event):
        """Waits until the session waits for such an event, any if that is %; whether it does, or has ended."""
        deadline = time.monotonic() + 30
        while session.is_alive() and time.monotonic() < deadline:
            if one(self.connection, f"SELECT count(*) FROM pg_stat_activity WHERE pid = {session.pid} AND wait_event_type IN ('Lock', 'LWLock') "
                                    f"AND wait_event LIKE '{event}'"):
                return True
            time.sleep(0.01)
        if session.is_alive():
            found = self.connection.execute(f"SELECT wait_event_type, wait_event FROM pg_stat_activity WHERE pid = {session.pid}").fetchone()
            raise Mismatch(f"it does not come to wait for {event}, but for {found}: {session.statements[-1]}")
        return False

    def close(self):
        self.connection.close()


def check(connection, table, rows):
    equal("rows", one(connection, f"SELECT count(*) FROM {table}"), rows)
    problems = connection.execute(f"SELECT * FROM amax.verify('{table}')").fetchall()
    equal("problems", problems, [])


def pruned_while_sealed(server):
    """A page is not pruned once a flush has it: whoever changes a row then waits for the flush, and the change is not lost."""
    with server.connect("races") as control:
        rows = filled(control, "sealed")
        # Pages whose rows all live, and that somebody may still prune.
        control.execute("BEGIN; DELETE FROM sealed; ROLLBACK")
        holder = Holder(server, 1, 2, 3)
        flush = Session(server, "flush_sealing@1 flush_sealed@3", "SET amax.flush_threshold = 16; BEGIN",
                        *["INSERT INTO sealed SELECT -i, repeat('y', 700) FROM generate_series(1, 300) i"] * 30, "COMMIT")
        if not holder.until(flush, "advisory"):
            raise Mismatch("a commit was to flush")
        # It has the first page's lock.
        reader = Session(server, "prune_chosen@2", "SELECT a FROM sealed LIMIT 1")
        if not holder.until(reader, "%"):
            raise Mismatch("the reader was to meet the page that is being sealed")
        holder.release(1)
        holder.until(flush, "advisory")
        # With all pages sealed, the reader goes on, if it has been held up.
        holder.release(2)
        reader.ended()
        writer = Session(server, "", "UPDATE sealed SET s = 'changed' WHERE a = 1")
        holder.until(writer, "%")
        holder.release(3)
        writer.ended()
        flush.ended()
        holder.close()
        equal("changed rows", one(control, "SELECT count(*) FROM sealed WHERE s = 'changed'"), 5)
        check(control, "sealed", rows + 30 * 300)
        control.execute("VACUUM sealed")
        equal("changed rows", one(control, "SELECT count(*) FROM sealed WHERE s = 'changed'"), 5)
        check(control, "sealed", rows + 30 * 300)
        control.execute("DROP TABLE sealed")
        return f"{rows} rows"


def unsummarized(control, table):
    """A table of row pages that its BRIN index knows nothing of."""
    control.execute(f"SET amax.flush_inline = off; SET amax.bulk_threshold = 1000000; CREATE TABLE {table} (a int, s text) USING amax WITH (autovacuum_enabled = off)")
    control.execute(f"CREATE INDEX ON {table} USING brin (a) WITH (pages_per_range = 1)")
    for first in (1, 901):
        control.execute(f"INSERT INTO {table} SELECT i, repeat('x', 700) FROM generate_series({first}, {first + 899}) i")
    control.execute("SET amax.flush_inline = on; SET amax.flush_threshold = 16")


ADD = "INSERT INTO {table} SELECT 1000000 + i, repeat('y', 700) FROM generate_series(1, 300) i"


def flushed(control, table, commits):
    """Commits of which one, at least, flushes what others have left."""
    before = one(control, f"SELECT count(*) FROM amax.components('{table}')")
    for _ in range(commits):
        control.execute("BEGIN")
        for _ in range(10):
            control.execute(ADD.format(table=table))
        control.execute("COMMIT")
    if one(control, f"SELECT count(*) FROM amax.components('{table}')") <= before:
        raise Mismatch("a commit was to flush")


def all_summarized(control, table, rows):
    """All rows are there, and the index finds those that were there first."""
    check(control, table, rows)
    control.execute("SET enable_seqscan = off; SET amax.custom_scan = off")
    plan = "".join(row[0] for row in control.execute(f"EXPLAIN SELECT count(*) FROM {table} WHERE a = 7"))
    if "Bitmap" not in plan:
        raise Mismatch(f"the index is not used: {plan}")
    found = one(control, f"SELECT count(*) FROM generate_series(1, 1800) i WHERE EXISTS (SELECT FROM {table} WHERE a = i OFFSET 0)")
    equal("rows that the index finds", found, 1800)
    control.execute(f"DROP TABLE {table}; RESET enable_seqscan; RESET amax.custom_scan")
    return f"{rows} rows"


def summarized_while_reused(server):
    """BRIN summarizes the rows of a block, not of the block that has its page by then."""
    with server.connect("races") as control:
        unsummarized(control, "reused")
        holder = Holder(server, 1)
        vacuum = Session(server, "range_located@1", "SET amax.flush_threshold = 1000000", "VACUUM reused")
        if not holder.until(vacuum, "advisory"):
            raise Mismatch("VACUUM was to summarize")
        # A flush, a reclaim, and rows in the page that was the block's.
        flushed(control, "reused", 4)
        holder.release(1)
        vacuum.ended()
        holder.close()
        return all_summarized(control, "reused", 1800 + 12000)


def reclaiming(server, table, lock):
    """A session whose commits flush and reclaim what others have left; it stops with the first page that it empties locked."""
    commit = ["BEGIN", *[ADD.format(table=table)] * 10, "COMMIT"]
    return Session(server, f"reclaim_toast@{lock}", "SET amax.flush_threshold = 16", *commit * 4)


def summarized_while_reclaimed(server):
    """Nor does BRIN take the page that is being emptied for the block's: with its lock it would find no rows there."""
    with server.connect("races") as control:
        unsummarized(control, "emptied")
        holder = Holder(server, 1, 2)
        vacuum = Session(server, "range_located@1", "SET amax.flush_threshold = 1000000", "VACUUM emptied")
        if not holder.until(vacuum, "advisory"):
            raise Mismatch("VACUUM was to summarize")
        # The first block is summarized when the index is made. With a dead row its page stays, and the one that VACUUM is at is emptied first.
        control.execute("UPDATE emptied SET s = repeat('z', 700) WHERE a = 1")
        commits = reclaiming(server, "emptied", 2)
        if not holder.until(commits, "advisory"):
            raise Mismatch("a commit was to reclaim")
        holder.release(1)
        holder.until(vacuum, "%")
        holder.release(2)
        vacuum.ended()
        commits.ended()
        holder.close()
        return all_summarized(control, "emptied", 1800 + 12000)


def metapage_while_extending(server):
    """Who has the lock that extends the file does not wait for the metapage, whose owner may wait for that lock."""
    with server.connect("races") as control:
        control.execute("CREATE TABLE extended (a int, s text) USING amax WITH (autovacuum_enabled = off)")
        holder = Holder(server, 1, 2)
        load = "SET amax.bulk_threshold = 100; INSERT INTO extended SELECT i, 'x' FROM generate_series(1, 1000) i"
        late = Session(server, "meta_missed@1", load)
        if not holder.until(late, "advisory"):
            raise Mismatch("a session was to find no metapage")
        # Pages that are lost: VACUUM notes them in a manifest for which there is no free page.
        control.execute("SET amax.fault_point = 'load_written'")
        try:
            control.execute(load)
            raise Mismatch("the load was to fail")
        except psycopg.errors.InternalError:
            control.execute("RESET amax.fault_point")
        first = Session(server, "manifest_locked@2", "VACUUM extended")
        if not holder.until(first, "advisory"):
            raise Mismatch("VACUUM was to have the metapage")
        holder.release(1)
        holder.until(late, "%")
        holder.release(2)
        try:
            first.ended()
            late.ended()
        except Mismatch:
            # Neither can be told to end.
            server.kill()
            raise
        holder.close()
        check(control, "extended", 1000)
        control.execute("DROP TABLE extended")
        return "1000 rows"


def stub_made_anew(server):
    """A stub that was taken off between two looks, and made anew where it was, is not taken for a pruned one: its row is there."""
    with server.connect("races") as control:
        control.execute("SET amax.flush_threshold = 0; CREATE TABLE anew (a int, s text) USING amax WITH (autovacuum_enabled = off)")
        control.execute("INSERT INTO anew SELECT i, 'x' FROM generate_series(1, 1000) i")
        control.execute("VACUUM anew")
        control.execute("SELECT a FROM anew WHERE a = 500 FOR SHARE")
        holder = Holder(server, 1, 2)
        reader = Session(server, "stub_seen@1 stub_missed@2", "CREATE TABLE seen AS SELECT count(*) AS rows FROM anew")
        if not holder.until(reader, "advisory"):
            raise Mismatch("the reader was to find a stub")
        # Nobody uses it: VACUUM takes it off.
        control.execute("VACUUM anew")
        holder.release(1)
        if not holder.until(reader, "advisory"):
            raise Mismatch("the reader was to miss the stub")
        control.execute("BEGIN; SELECT a FROM anew WHERE a = 500 FOR SHARE")
        holder.release(2)
        reader.ended()
        control.execute("COMMIT")
        holder.close()
        equal("rows that the reader saw", one(control, "SELECT rows FROM seen"), 1000)
        check(control, "anew", 1000)
        control.execute("DROP TABLE anew, seen")
        return "1000 rows"


def copied_while_the_horizon_moves(server):
    """VACUUM FULL leaves a deleted version's values alone when nobody needs them any more: reading them, it prunes them."""
    with server.connect("races") as control, server.connect("races") as reader:
        control.execute("CREATE TABLE copied (a int, s text) USING amax WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off)")
        control.execute("ALTER TABLE copied ALTER s SET STORAGE EXTERNAL")
        control.execute("SET amax.bulk_threshold = 1000; INSERT INTO copied SELECT i, repeat('x', 3990) FROM generate_series(1, 100) i")
        control.execute("INSERT INTO copied SELECT i, 'y' FROM generate_series(101, 300) i")
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        control.execute("DELETE FROM copied WHERE a <= 50")
        # With an id of its own, its end is one that the other session's next snapshot tells.
        reader.execute("SELECT pg_current_xact_id()")
        holder = Holder(server, 1)
        copy = Session(server, "rewrite_published@1", "SET amax.bulk_threshold = 10", "VACUUM FULL copied")
        if not holder.until(copy, "advisory"):
            raise Mismatch("VACUUM FULL was to write its component")
        reader.execute("COMMIT")
        # More messages than are kept for it: it reads its catalogs again, and with a new snapshot comes a new horizon.
        for n in range(3):
            control.execute(f"CREATE TABLE news{n} (" + ", ".join(f"c{i} int" for i in range(1500)) + ")")
        holder.release(1)
        copy.ended()
        holder.close()
        check(control, "copied", 250)
        control.execute("DROP TABLE copied, news0, news1, news2")
        return "250 rows"


def written_in_vain(server):
    """A flush has written the rows of a page that somebody locks before it is sealed: they stay the page's, whatever becomes of the leaf."""
    said = []
    for ratio, leaves in ((0, "stay"), (1000, "are dropped")):
        with server.connect("races") as control:
            control.execute("CREATE TABLE vain (a int, s text) USING amax WITH (autovacuum_enabled = off)")
            control.execute("""SELECT amax.set_options('vain', '{"rows_per_leaf": 300, "flush_threshold": 0}')""")
            # Another component, which is as large.
            control.execute("SET amax.bulk_threshold = 0; INSERT INTO vain SELECT -i, 'x' FROM generate_series(1, 900) i; RESET amax.bulk_threshold")
            control.execute("VACUUM vain")
            control.execute("INSERT INTO vain SELECT i, 'y' FROM generate_series(1, 900) i")
            holder = Holder(server, 1)
            vacuum = Session(server, "flush_shredded@1", f"SET amax.merge_ratio = {ratio}", "VACUUM (TRUNCATE off) vain")
            if not holder.until(vacuum, "advisory"):
                raise Mismatch("VACUUM was to write rows")
            control.execute("BEGIN; SELECT a FROM vain WHERE a = 1 FOR SHARE")
            holder.release(1)
            vacuum.ended()
            holder.close()
            check(control, "vain", 1800)
            control.execute("COMMIT")
            control.execute(f"SET amax.merge_ratio = {ratio}")
            control.execute("DELETE FROM vain WHERE ctid > (SELECT last_tid::tid FROM amax.leaves('vain') ORDER BY component DESC, leaf DESC LIMIT 1 OFFSET 1)")
            rows = one(control, "SELECT count(*) FROM vain")
            for _ in range(3):
                control.execute("VACUUM (TRUNCATE off) vain")
                check(control, "vain", rows)
            control.execute("DROP TABLE vain")
            said.append(f"leaves {leaves}: {rows} rows")
    return ", ".join(said)


def stub_on_a_page_taken_back(server):
    """The page of a stub that VACUUM found idle, before it was anybody's, is not mapped to a block once VACUUM has made a free page of it."""
    with server.connect("races") as control:
        control.execute("CREATE TABLE taken (a int, s text) USING amax WITH (autovacuum_enabled = off)")
        for first in (1, 20001):
            control.execute(f"INSERT INTO taken SELECT i, md5(i::text) || md5((i + 1)::text) FROM generate_series({first}, {first + 19999}) i")
        control.execute("DELETE FROM taken WHERE a > 20000")
        for _ in range(3):
            control.execute("VACUUM (TRUNCATE off) taken")
        holder = Holder(server, 1)
        update = Session(server, "stub_placed@1", "UPDATE taken SET s = 'changed' WHERE a = 5")
        if not holder.until(update, "advisory"):
            raise Mismatch("an update was to make a stub")
        control.execute("VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) taken")
        holder.release(1)
        update.ended()
        holder.close()
        equal("changed rows", one(control, "SELECT count(*) FROM taken WHERE s = 'changed'"), 1)
        check(control, "taken", 20000)
        grow(control, "taken", 2)
        control.execute("VACUUM (FREEZE) taken")
        rows = one(control, "SELECT count(*) FROM taken")
        check(control, "taken", rows)
        control.execute("DROP TABLE taken")
        return f"{rows} rows"


def main():
    directory, results, *names = sys.argv[1:]
    server = Server(directory, "races", ["autovacuum = off", "fsync = off"])
    server.start()
    with server.connect() as control:
        control.execute("CREATE DATABASE races")
    with server.connect("races") as control:
        control.execute("CREATE EXTENSION amax")
    checks = Checks()
    for test in (pruned_while_sealed, summarized_while_reused, summarized_while_reclaimed, stub_made_anew, metapage_while_extending,
                 copied_while_the_horizon_moves, written_in_vain, stub_on_a_page_taken_back):
        if names and test.__name__ not in names:
            continue
        with checks.check(test.__name__) as said:
            said.append(test(server))
    if checks.failed:
        shutil.copy(server.log, pathlib.Path(results) / "server.log")
    server.stop()
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
