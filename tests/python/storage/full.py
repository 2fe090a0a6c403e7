"""A file that cannot grow, as on a full disk: rows can be deleted and locked all the same, and VACUUM gets to its end, gives back what it has
taken in vain, and makes room for more.

    full.py DIRECTORY RESULTS [TEST...]

The limit is one on the size of a session's files (RLIMIT_FSIZE). full.c, which the server has loaded, has what meets it say that the disk is full.
Heap's twin is changed by a session without the limit.
"""

import concurrent.futures
import pathlib
import shutil
import subprocess
import sys
import time

import psycopg

from checks import Checks
from server import Server, as_server_user
from twins import Mismatch

PAGE = 8192
DISK_FULL = "53100"
ROWS = 6000


class Table:
    """A table of columnar rows and its twin in heap, each with a session of its own; amax's may be limited."""

    def __init__(self, server, name, rows=ROWS, setup="", width=40):
        self.server, self.name = server, name
        with server.connect() as control:
            control.execute(f"CREATE DATABASE {name}")
        self.heap, self.amax = server.connect(name), server.connect(name)
        self.notices = []
        self.amax.execute("SET work_mem = '256MB'")  # the limit is for temporary files, too
        self.amax.add_notice_handler(lambda notice: self.notices.append(notice.message_primary))
        self.heap.execute("CREATE EXTENSION amax; CREATE FUNCTION row_of(i int, width int) RETURNS jsonb LANGUAGE sql AS $$ "
                          "SELECT jsonb_build_object('n', i, 's', (SELECT string_agg(md5(i || ' ' || j), '') FROM generate_series(1, width) j)) $$")
        for am in ("heap", "amax"):
            self.heap.execute(f"CREATE TABLE {am} (id int, doc jsonb) USING {am} WITH (autovacuum_enabled = off)")
            self.heap.execute("ALTER TABLE {0} ALTER doc SET STORAGE MAIN; CREATE INDEX ON {0} (id); SET amax.bulk_threshold = {1}"
                              .format(am, 100 if not setup else 1000000))
            self.heap.execute(setup)
            self.heap.execute(f"INSERT INTO {am} SELECT i, row_of(i, {width}) FROM generate_series(1, {rows}) i")

    def pages(self):
        return self.heap.execute("SELECT pg_relation_size('amax') / 8192").fetchone()[0]

    def limit(self, more=0):
        """From now on amax's session cannot add more than so many pages."""
        size = self.pages() + more
        self.set_limit(size * PAGE)

    def lift(self):
        self.set_limit("unlimited")

    def set_limit(self, size, session=None):
        """As the server's user, who may do so for his processes."""
        subprocess.run(as_server_user(["prlimit", f"--pid={(session or self.amax).info.backend_pid}", f"--fsize={size}:"]), check=True)

    def both(self, statement):
        self.amax.execute(statement.format(am="amax"))
        self.heap.execute(statement.format(am="heap"))

    def is_full(self, statement):
        """The statement fails for want of space, with a hint."""
        try:
            self.amax.execute(statement.format(am="amax"))
        except psycopg.Error as error:
            if error.sqlstate != DISK_FULL:
                raise Mismatch(f"{statement}: {error.sqlstate} {error}") from error
            return error.diag
        raise Mismatch(f"{statement}: there was room")

    def vacuum(self):
        """VACUUM, and a transaction after which what it has given up is nobody's."""
        self.notices = []
        self.amax.execute("VACUUM amax")
        self.heap.execute("SELECT pg_current_xact_id()")
        return self.notices

    def check(self):
        problems = self.heap.execute("SELECT * FROM amax.verify('amax')").fetchall()
        if problems:
            raise Mismatch(f"amax.verify: {problems[:5]}")
        for session in (self.heap, self.amax):
            for join in ("USING (id)", "ON heap.id = amax.id AND heap.doc->'n' = amax.doc->'n'"):
                differ = session.execute(f"SELECT count(*) FROM heap FULL JOIN amax {join} WHERE heap.doc IS DISTINCT FROM amax.doc").fetchone()
                if differ != (0,):
                    raise Mismatch(f"{differ[0]} rows differ from heap's")
        by_index = "SELECT count(*), sum(id) FROM {} WHERE id > 0"
        self.heap.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
        found = [self.heap.execute(by_index.format(am)).fetchone() for am in ("heap", "amax")]
        self.heap.execute("RESET enable_seqscan; RESET enable_bitmapscan")
        if found[0] != found[1]:
            raise Mismatch(f"by index: heap has {found[0]}, amax {found[1]}")

    @staticmethod
    def kept_nothing(before, sizes):
        """VACUUMs that failed to write something have given back what they took for it, but for manifests and the maps."""
        if max(sizes) > before + 8 or sizes[0] != sizes[-1]:
            raise Mismatch(f"the file had {before} pages, and after VACUUMs {sizes}")

    def close(self):
        self.heap.close()
        self.amax.close()


def deletes(server):
    """All rows are deleted from a table whose file cannot grow, a part at a time; then there is room for others."""
    table = Table(server, "deletes")
    table.limit()
    pages = table.pages()
    said = table.is_full("DELETE FROM {am}")
    if "VACUUM" not in (said.message_hint or ""):
        raise Mismatch(f"no hint: {said.message_primary}")
    table.check()
    for _ in range(2):
        table.vacuum()
    step = ROWS // 12
    for last in range(step, ROWS + 1, step):
        table.both(f"DELETE FROM {{am}} WHERE id <= {last}")
        table.check()
        for _ in range(2):
            warned = table.vacuum()
            if warned and last == ROWS:
                raise Mismatch(f"VACUUM without a row: {warned}")
        table.check()
    for _ in range(3):
        table.vacuum()
    if table.pages() > pages // 10:
        raise Mismatch(f"{table.pages()} pages without a row, {pages} before")
    table.both(f"INSERT INTO {{am}} SELECT i, row_of(i, 40) FROM generate_series(1, {ROWS // 4}) i")
    table.check()
    return f"{pages} pages, {table.pages()} in the end"


def narrow(server):
    """Many rows to a page: those deleted may be on all pages of the stub directory, or be many of one."""
    rows = 60000
    table = Table(server, "narrow", rows=rows, width=1)
    table.vacuum()
    pages = table.pages()
    table.limit()
    table.both("DELETE FROM {am} WHERE id % 1000 = 7")
    table.both("DELETE FROM {am} WHERE id <= 1500")
    table.check()
    step = rows // 20
    for last in range(step, rows + 1, step):
        for _ in range(2):
            table.vacuum()
        table.both(f"DELETE FROM {{am}} WHERE id <= {last} AND id > {last - step // 2}")
        for _ in range(2):
            table.vacuum()
        table.both(f"DELETE FROM {{am}} WHERE id <= {last}")
    table.check()
    for _ in range(3):
        table.vacuum()
    if table.pages() > pages // 2:
        raise Mismatch(f"{table.pages()} pages without a row, {pages} before")
    return f"{pages} pages, {table.pages()} in the end"


def leaves(server):
    """Leaves without a row go where there is no room for a merge, and others' rows have their pages."""
    table = Table(server, "leaves")
    table.heap.execute("SELECT amax.set_options('amax', '{\"rows_per_leaf\": 600}'); TRUNCATE amax")
    table.heap.execute(f"INSERT INTO amax SELECT i, row_of(i, 40) FROM generate_series(1, {ROWS}) i")
    table.vacuum()
    table.limit()
    count = "SELECT leaves FROM amax.components('amax')"
    before = table.heap.execute(count).fetchall()
    for last in (450, 900, 1350):
        table.both(f"DELETE FROM {{am}} WHERE id <= {last}")
        for _ in range(2):
            table.vacuum()
        table.check()
    after = table.heap.execute(count).fetchall()
    if after != [(before[0][0] - 2,)]:
        raise Mismatch(f"{before} leaves, and then {after}")
    table.amax.execute("SET amax.bulk_threshold = 100")
    table.both("INSERT INTO {am} SELECT i, row_of(i, 40) FROM generate_series(10001, 10600) i")
    table.check()
    return f"{before[0][0]} leaves, {after[0][0]} after the rows of two"


def locks(server):
    """Rows are locked, and updated as far as heap could."""
    table = Table(server, "locks")
    table.limit()
    with table.amax.transaction():
        locked = table.amax.execute("SELECT id FROM amax WHERE id % 20 = 3 AND id < 3000 FOR UPDATE").fetchall()
    if len(locked) != 150:
        raise Mismatch(f"{len(locked)} rows locked")
    table.is_full("UPDATE {am} SET doc = doc || '{{\"new\": true}}'")
    table.check()
    table.lift()
    table.both("UPDATE {am} SET doc = doc || '{{\"new\": true}}'")
    table.vacuum()
    table.check()
    return f"{len(locked)} rows locked"


def vacuums(server):
    """What VACUUM cannot flush stays in row pages; it does not keep the space that it took in vain."""
    table = Table(server, "vacuums", setup="SET amax.flush_inline = off")
    pages = table.pages()
    table.limit(pages // 10)
    sizes = []
    for _ in range(3):
        warned = table.vacuum()
        if not any("flush" in line for line in warned):
            raise Mismatch(f"VACUUM did not warn, but said {warned}")
        table.check()
        sizes.append(table.pages())
    table.kept_nothing(pages, sizes)
    # Some rows go all the same, and VACUUM makes room for others.
    for part in range(4):
        table.both(f"DELETE FROM {{am}} WHERE id % 4 = {part} AND id < 2000")
        table.vacuum()
        table.both(f"INSERT INTO {{am}} SELECT i, row_of(i, 40) FROM generate_series({10000 * part + 10000}, {10000 * part + 10300}) i")
    table.check()
    table.lift()
    if table.vacuum():
        raise Mismatch("VACUUM warned with space enough")
    if not table.heap.execute("SELECT count(*) FROM amax.components('amax')").fetchone()[0]:
        raise Mismatch("VACUUM flushed nothing with space enough")
    table.check()
    return f"{pages} pages, {sizes[0]} after VACUUM"


def merges(server):
    """A component with dead rows stays as it is when there is no room for its remainder."""
    table = Table(server, "merges")
    table.both("DELETE FROM {am} WHERE id % 3 = 0")
    pages = table.pages()
    table.limit(pages // 10)
    sizes = []
    for _ in range(3):
        warned = table.vacuum()
        sizes.append(table.pages())
    if not any("merge" in line for line in warned):
        raise Mismatch(f"VACUUM did not warn, but said {warned}")
    table.kept_nothing(pages, sizes)
    table.check()
    table.both("DELETE FROM {am} WHERE id % 3 = 1 AND id < 2000")
    table.vacuum()
    table.check()
    table.lift()
    for _ in range(3):
        if table.vacuum():
            raise Mismatch("VACUUM warned with space enough")
    table.check()
    return f"{sizes[0]} pages, {table.pages()} in the end"


def commits(server):
    """A commit that cannot flush others' rows succeeds."""
    table = Table(server, "commits", rows=1000, setup="SET amax.flush_inline = off")
    table.amax.execute("SET amax.flush_threshold = 0")
    table.limit(45)
    logged = len(server.log.read_text(errors="replace"))
    before = table.heap.execute("SELECT count(*) FROM amax.components('amax')").fetchone()[0]
    for i in range(20):
        table.both(f"INSERT INTO {{am}} SELECT i, row_of(i, 40) FROM generate_series({10000 + 10 * i}, {10009 + 10 * i}) i")
    if "stay in row pages" not in server.log.read_text(errors="replace")[logged:]:
        raise Mismatch("no commit tried to flush")
    if table.heap.execute("SELECT count(*) FROM amax.components('amax')").fetchone()[0] != before:
        raise Mismatch("a commit did flush")
    table.check()
    return "20 commits"


def appended(server):
    """Pages that were appended, but never written, when a flush failed are nobody's: a row that comes to one of them stays there."""
    for more in (1, 2, 3):
        table = Table(server, f"appended_{more}", rows=1000, setup="SET amax.flush_inline = off")
        table.heap.execute("ALTER TABLE amax SET (vacuum_truncate = off)")
        table.amax.execute("SET amax.flush_threshold = 0")
        table.limit(8 + more)
        if not any("flush" in line for line in table.vacuum()):
            raise Mismatch("VACUUM did not warn")
        for i in range(200):
            row = f"SELECT {10000 + i}, row_of({i}, 200)"
            try:
                table.amax.execute(f"INSERT INTO amax {row}")
            except psycopg.errors.DiskFull:
                break
            table.heap.execute(f"INSERT INTO heap {row}")
        for _ in range(2):
            table.vacuum()
            table.check()
        table.lift()
        for _ in range(2):
            table.vacuum()
            table.check()
        table.close()
    return f"{i} rows inserted"


def taken(server):
    """A page that the reserve gave for a stub is not taken by rows that others insert before the stub is in it."""
    table = Table(server, "taken")
    table.limit()
    with server.connect("taken") as holder, concurrent.futures.ThreadPoolExecutor() as sessions:
        holder.execute("SELECT pg_advisory_lock(1)")
        table.amax.execute("SET amax.fault_point = 'stub_room@1'")
        delete = sessions.submit(table.both, "DELETE FROM {am} WHERE id <= 200")
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'"
        deadline = time.monotonic() + 30
        while holder.execute(waits).fetchone() == (0,):
            if delete.done() or time.monotonic() > deadline:
                raise Mismatch("no page was made for a stub")
            time.sleep(0.01)
        # Somebody on the same disk takes all the room there is for rows, which are smaller than stubs.
        table.set_limit(table.pages() * PAGE, holder)
        rows = 0
        try:
            while True:
                holder.execute(f"INSERT INTO amax VALUES ({10000 + rows}, '0')")
                rows += 1
        except psycopg.errors.DiskFull:
            pass
        holder.execute("SELECT pg_advisory_unlock(1)")
        delete.result(60)
        found = holder.execute("SELECT count(*), sum(id) FROM amax WHERE doc = '0'").fetchone()
        if not rows or found != (rows, rows * 10000 + rows * (rows - 1) // 2):
            raise Mismatch(f"{rows} rows inserted, and then {found}")
        holder.execute("DELETE FROM amax WHERE doc = '0'")
    table.check()
    table.vacuum()
    table.check()
    return f"200 rows deleted, {rows} inserted"


def progress(server):
    """A VACUUM that has left something undone is still shown to be under way."""
    table = Table(server, "progress", setup="SET amax.flush_inline = off")
    logged = len(server.log.read_text(errors="replace"))
    table.limit(table.pages() // 10)
    with server.connect("progress") as holder, concurrent.futures.ThreadPoolExecutor() as sessions:
        holder.execute("SELECT pg_advisory_lock(1)")
        table.both("DELETE FROM {am} WHERE id % 9 = 1")
        table.amax.execute("SET amax.fault_point = 'reclaim_taken_out@1 reclaim_emptied@1'")
        vacuum = sessions.submit(table.vacuum)
        deadline = time.monotonic() + 30
        while holder.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'").fetchone() == (0,):
            if vacuum.done() or time.monotonic() > deadline:
                raise Mismatch("VACUUM was to stop at a fault point")
            time.sleep(0.01)
        if "left undone" not in server.log.read_text(errors="replace")[logged:]:
            raise Mismatch("VACUUM has not failed to write anything yet")
        shown = holder.execute("SELECT relid::regclass::text FROM pg_stat_progress_vacuum").fetchall()
        holder.execute("SELECT pg_advisory_unlock(1)")
        vacuum.result(60)
    if shown != [("amax",)]:
        raise Mismatch(f"pg_stat_progress_vacuum shows {shown}")
    table.check()
    return "shown"


TESTS = [deletes, narrow, leaves, locks, vacuums, merges, commits, appended, taken, progress]


def initdb(server):
    """With small WAL files, which the limit holds for as well."""
    server.run("initdb", "-D", server.data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--data-checksums",
               "--no-sync", "--wal-segsize=1")


def main():
    directory, results, *wanted = sys.argv[1:]
    server = Server(directory, "full", ["autovacuum = off", "fsync = off", "shared_buffers = '256MB'"], make=initdb)
    server.start()
    checks = Checks()
    for test in TESTS:
        if wanted and test.__name__ not in wanted:
            continue
        with checks.check(test.__name__) as said:
            said.append(test(server))
            crashes = server.new_crashes()
            if crashes:
                raise Mismatch("\n".join(crashes[:3]))
    if checks.failed:
        shutil.copy(server.log, pathlib.Path(results) / "server.log")
    server.stop()
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
