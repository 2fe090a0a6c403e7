"""An error, and a crash, at every fault point of the extension: nothing is lost, and the table works on.

Which points there are is read from the source: one that has no recipe here, or that its recipe does not reach, fails.
"""

import os
import pathlib
import re
import time

import psycopg

from twins import Mismatch, Twins

# Rows go to row pages where a recipe does not ask for a load.
SETTINGS = ["amax.flush_threshold = 0", "amax.bulk_threshold = 1000000", "amax.rows_per_leaf = 100", "amax.merge_ratio = 0"]
LOAD = "SET amax.bulk_threshold = 10"
TABLES = ("t", "loaded")

CHECKPOINTER = "SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
FLUSH = "VACUUM {amax}t"
KEEP = "VACUUM (TRUNCATE off) {amax}t"
WIDE = ("INSERT INTO {table} SELECT {first} - i, 0, jsonb_build_object('wide', (SELECT string_agg(md5(i || ' ' || n), '') FROM generate_series(1, 50) n)) "
        "FROM generate_series(1, {count}) i")
# A component behind row pages that are of no use any more, and row pages without rows.
SCATTER = [WIDE.format(table="t", first=-1, count=600), KEEP, WIDE.format(table="t", first=-1000, count=200), "DELETE FROM t WHERE id < -1000"]
PASS = "INSERT INTO loaded VALUES (-1, '{}')"
# What is done first, on both sides or ({amax} in it) on one, and the statement that meets the point.
RECIPES = {
    "flush": ([], FLUSH),
    "reclaim": ([FLUSH, "UPDATE t SET v = v WHERE id % 40 = 0"], FLUSH),
    "freeze": ([FLUSH], "VACUUM (FREEZE) {amax}t"),
    "merge": ([FLUSH, "UPDATE t SET v = v + 1 WHERE id % 9 = 1"], FLUSH),
    "truncate": ([KEEP, "DELETE FROM t WHERE id % 200 > 9", KEEP, PASS, KEEP, PASS, KEEP, PASS, KEEP], FLUSH),
    "truncate_freed": (SCATTER, FLUSH),
    "compact": (SCATTER, FLUSH),
    "vacuum_released": ([FLUSH, "SELECT id FROM t WHERE id % 5 = 1 FOR SHARE"], FLUSH),
    "vacuum": ([FLUSH, "DELETE FROM t WHERE id % 9 = 0"], FLUSH),
    "vacuum_settled": ([LOAD, "BEGIN", "INSERT INTO loaded SELECT i, '{}' FROM generate_series(1, 300) i", "UPDATE loaded SET i = -i", "ROLLBACK"],
                       "VACUUM {amax}loaded"),
    "stub": ([FLUSH], "UPDATE {amax}t SET v = v + 1 WHERE id % 13 = 3"),
    # Rows, which go with the error, take what row pages have left; then there are more stubs than fit into the last one.
    "stub_room": (["INSERT INTO t SELECT -60000 - i, 0, '{}' FROM generate_series(1, 3000) i", FLUSH],
                  "INSERT INTO {amax}t SELECT -10000 - i, 0, '{}' FROM generate_series(1, 40000) i; SELECT id FROM {amax}t FOR UPDATE"),
    "stub_seen": ([FLUSH, "SELECT id FROM t WHERE id % 5 = 1 FOR SHARE"], "SELECT count(*) FROM {amax}t"),
    "stub_missed": ([FLUSH, "DELETE FROM t WHERE id % 9 = 0"], FLUSH),
    "update": ([FLUSH], "UPDATE {amax}t SET v = v + 1 WHERE id % 13 = 4"),
    "insert": ([], "INSERT INTO {amax}t VALUES (-1, 0, '{}')"),
    # So many row pages that a transaction flushes which adds enough of them itself to be one that looks, wherever their
    # numbers begin; those of the flush before, more than the reserve, become row pages again.
    "reclaim_given": ([WIDE.format(table="t", first=-1, count=1000), KEEP, PASS, KEEP, WIDE.format(table="t", first=-2000, count=400)],
                      WIDE.format(table="{amax}t", first=-3000, count=800)),
    # Rows of whole leaves, but less than a fifth of them.
    "drop": ([LOAD, "INSERT INTO loaded SELECT -100000 - i, '{}' FROM generate_series(1, 2000) i", "RESET amax.bulk_threshold", "VACUUM {amax}loaded",
              "DELETE FROM loaded WHERE i BETWEEN -101300 AND -101001"], "VACUUM {amax}loaded"),
    # Changes of its own transaction go to row pages.
    "rewrite": ([FLUSH, LOAD], "UPDATE {amax}t SET v = v + 1 WHERE id % 13 = 5; CLUSTER {amax}t USING t_v"),
    "verify": ([FLUSH], "SELECT * FROM amax.verify('{amax}t')"),
    "prune": ([], "SELECT count(*) FROM {amax}t"),
    "range": ([], "CREATE INDEX t_late ON {amax}t (v, id)"),
    "manifest": ([], FLUSH),
    # An empty file.
    "meta": (["TRUNCATE loaded"], "INSERT INTO {amax}loaded SELECT i, '{}' FROM generate_series(1, 300) i"),
    "copy": ([FLUSH], "COPY {amax}t TO '/dev/null'"),
    # Of leaves that have come since.
    "join": ([FLUSH, "VACUUM {amax}loaded", LOAD, "INSERT INTO loaded SELECT -i, '{}' FROM generate_series(1, 300) i"], "VACUUM {amax}loaded"),
    "load": ([LOAD], "INSERT INTO {amax}t SELECT -i, 0, '{}' FROM generate_series(1, 300) i"),
}


def points():
    """The names of all fault points in the source."""
    text = "".join(path.read_text() for path in sorted(pathlib.Path(os.environ["AMAX_ROOT"], "src").rglob("*.rs")))
    return list(dict.fromkeys(re.findall(r'\bfault\("(\w+)"\)', text)))


def recipe(point):
    found = RECIPES.get(point) or RECIPES.get(point.split("_")[0])
    if not found:
        raise Mismatch(f"there is no recipe for fault point {point}")
    return found


def truncation(server):
    """A VACUUM that fails after it moved pages out of the way: other sessions know that they have moved."""
    with server.connect() as control:
        control.execute("CREATE DATABASE moved")
        for setting in SETTINGS:
            control.execute(f"ALTER DATABASE moved SET {setting}")
    with server.connect("moved") as one, server.connect("moved") as other:
        one.execute("CREATE EXTENSION amax; CREATE TABLE far (id int PRIMARY KEY, v int, doc jsonb) USING amax; CREATE TABLE ids (i int)")
        # So many logical blocks that there are map pages, at the end of what will be free.
        one.execute(WIDE.format(table="far", first=0, count=2400))
        for _ in range(4):
            one.execute("INSERT INTO ids VALUES (1)")
            one.execute("VACUUM (TRUNCATE off) far")
            one.execute("INSERT INTO far VALUES ((SELECT coalesce(max(id), 0) + 1 FROM far), 0, '{}')")
        other.execute("BEGIN; INSERT INTO far VALUES (1000, 0, '{}'); ROLLBACK")
        for _ in range(3):
            one.execute("INSERT INTO ids VALUES (1)")
            one.execute("VACUUM (TRUNCATE off) far")
        # Remembers where map pages are. What this leaves VACUUM takes away.
        other.execute("BEGIN; INSERT INTO far VALUES (1000, 0, '{}'); ROLLBACK")
        one.execute("SET amax.fault_point = 'truncate_published'")
        try:
            one.execute("VACUUM far")
            raise Mismatch("nothing was truncated")
        except psycopg.Error as error:
            if "fault injected" not in str(error):
                raise
        one.execute("RESET amax.fault_point")
        other.execute("INSERT INTO far SELECT i, 0, '{}' FROM generate_series(1001, 1100) i")
        found = [c.execute("SELECT count(*), count(*) FILTER (WHERE id > 1000) FROM far").fetchone() for c in (one, other)]
        problems = one.execute("SELECT * FROM amax.verify('far')").fetchall()
        if found != [(2504, 100)] * 2 or problems:
            raise Mismatch(f"(rows, new ones) of either session: {found}; {problems[:3]}")
    with server.connect() as control:
        control.execute("DROP DATABASE moved WITH (FORCE)")
    return "known to others"


class Faults:
    def __init__(self, server):
        self.server = server
        self.twins = Twins(server, "faults", 1, SETTINGS)
        self.twins.both("CREATE TABLE t (id int PRIMARY KEY, v int, doc jsonb)")
        self.twins.both("CREATE INDEX t_v ON t (v)")
        self.twins.both("CREATE TABLE loaded (i int, doc jsonb)")
        self.twins.both("CREATE INDEX loaded_i ON loaded (i)")
        self.twins.amax.query("SELECT amax.create_join_index('amax_side.loaded', 'i', 'amax_side.t', 'id')")
        for table in TABLES:
            self.twins.both(f"ALTER TABLE {table} SET (autovacuum_enabled = off, toast.autovacuum_enabled = off)")
        self.next = 0

    def drop(self):
        """After a failure nothing is known of the rows."""
        self.twins.close()
        with self.server.connect() as control:
            control.execute("DROP DATABASE faults WITH (FORCE)")

    def test(self, point, how):
        """`how` is "" for an error, "!" for a crash."""
        before, statement = recipe(point)
        both, next_id = self.twins.both, self.next
        self.next += 200
        both("RESET amax.bulk_threshold")
        for table, column in (("t", "id"), ("loaded", "i")):
            both(f"DELETE FROM {table} WHERE {column} < {next_id - 400}")
        # Rows of all kinds: new ones, some of them with TOAST; columnar ones that are changed, locked and deleted.
        both(f"INSERT INTO t SELECT i, i % 50, CASE WHEN i % 20 = 0 THEN gen.doc(i, 1) || jsonb_build_object('long', (SELECT string_agg(md5(i || ' ' || n), '') FROM generate_series(1, 150) n)) ELSE gen.doc(i, 1) END "
             f"FROM generate_series({next_id}, {self.next - 1}) i")
        both(f"UPDATE t SET v = v + 1 WHERE id % 7 = {next_id // 200 % 7}")
        both("SELECT id FROM t WHERE id % 17 = 0 FOR SHARE")
        both(f"DELETE FROM t WHERE id % 11 = {next_id // 200 % 11}")
        both(LOAD)
        both("INSERT INTO loaded SELECT id, doc FROM t WHERE id % 8 = 0")
        both("RESET amax.bulk_threshold")
        for step in before:
            if "{amax}" in step:
                self.twins.amax.query(step.replace("{amax}", "amax_side."))
            else:
                both(step)
        self.hit(statement.replace("{amax}", "amax_side."), point, how)
        self.check()
        # Still a table, whose rows all become columnar.
        both("UPDATE t SET v = v - 1 WHERE id % 5 = 0")
        both("DELETE FROM loaded WHERE i % 3 = 0")
        for table in TABLES * 2:
            self.twins.amax.query(f"VACUUM amax_side.{table}")
        self.check()
        return "nothing lost"

    def hit(self, statement, point, how):
        amax = self.twins.amax.connection
        checkpointer = amax.execute(CHECKPOINTER).fetchone()
        amax.execute(f"SET amax.fault_point = '{point}{how}'")
        try:
            amax.execute(statement)
        except psycopg.Error as error:
            if how and amax.closed:
                return self.reconnect(checkpointer)
            if how or f"fault injected at {point}" not in str(error):
                raise Mismatch(f"{point}{how}: {error.sqlstate} {error} in: {statement}") from error
            return amax.execute("RESET amax.fault_point")
        raise Mismatch(f"{point} was not reached by: {statement}")

    def reconnect(self, checkpointer):
        """To the server as it is after recovery: before the postmaster hears of the death, the old one still takes connections."""
        deadline = time.monotonic() + 60
        while True:
            self.twins.close()
            try:
                self.twins.connect(self.server)
                if self.twins.amax.connection.execute(CHECKPOINTER).fetchone() not in (None, checkpointer):
                    return
            except psycopg.OperationalError:
                pass
            if time.monotonic() > deadline:
                raise Mismatch("the server did not come back")
            time.sleep(0.05)

    def check(self):
        for table in TABLES:
            self.twins.same_rows(table)
            self.twins.except_all(table)
        self.twins.same_answers("SELECT count(*), sum(t.v) FROM loaded JOIN t ON i = t.id")
        self.twins.amax.query("SET enable_seqscan = off")
        self.twins.same_rows(condition="id >= 0")
        self.twins.same_rows(condition="v >= 0")
        self.twins.same_rows("loaded", "i IS NOT NULL")
        self.twins.amax.query("RESET enable_seqscan")
        self.twins.healthy(TABLES)
