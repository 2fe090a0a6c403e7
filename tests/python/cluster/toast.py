"""Values out of line that several versions of a row share. An UPDATE that leaves a large column alone makes the new version point to the old
one's chunks; when the new one is flushed, the old one may still be read on a standby, or copied by what rewrites the table after the horizon
has moved back. Heap's twin is changed by the same transactions.
"""

import collections
import contextlib
import random
import time

import psycopg

from checks import equal
from twins import Mismatch

SIDES = ("heap", "amax")
# Some eight versions to a page, each with two chunks.
ROW = "i, 0, repeat('p', 900), (SELECT string_agg(md5(i || ' ' || {salt} || ' ' || j), '') FROM generate_series(1, 100) j)"
TABLE = "".join(f"""
CREATE SCHEMA {side}_side;
CREATE TABLE {side}_side.t (id int, n int, pad text, big text) USING {side} WITH (vacuum_truncate = off);
ALTER TABLE {side}_side.t ALTER big SET STORAGE EXTERNAL;
CREATE INDEX t_id ON {side}_side.t (id);
""" for side in SIDES)
DIGEST = "SELECT count(*), sum(n), sum(hashtext(big)::bigint), sum(length(pad)) FROM {s}_side.t"
# By which ways to the rows.
PLANS = ("SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = on", "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off",
         "SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
REWRITES = ("CREATE INDEX ON {s}_side.t (md5(big))", "VACUUM FULL {s}_side.t", "CLUSTER {s}_side.t USING t_id")


class Primary:
    """A database on the primary, whose commits flush what others have left; VACUUM comes when it is told to."""

    def __init__(self, server, database):
        self.server, self.database = server, database
        with server.connect() as control:
            control.execute(f"CREATE DATABASE {database}")
        self.connection = server.connect(database)
        self.connection.execute("CREATE EXTENSION amax; SET amax.flush_threshold = 0; SET amax.bulk_threshold = 1000000;" + TABLE)

    def both(self, statement):
        with self.connection.transaction():
            for side in SIDES:
                self.connection.execute(statement.replace("{s}", side))

    def insert(self, first, count, salt=0):
        self.both(f"INSERT INTO {{s}}_side.t SELECT {ROW.format(salt=salt)} FROM generate_series({first}, {first + count - 1}) i")

    def alone(self, statement):
        """Of those that run in no transaction."""
        for side in SIDES:
            self.connection.execute(statement.replace("{s}", side))

    def components(self):
        return self.connection.execute("SELECT count(*), coalesce(sum(rows), 0)::int FROM amax.components('amax_side.t')").fetchone()

    def healthy(self):
        equal("amax.verify", self.connection.execute("SELECT * FROM amax.verify('amax_side.t')").fetchall(), [])

    def horizon(self):
        """The oldest transaction id that a standby asks to keep."""
        return self.connection.execute("SELECT min(backend_xmin::text::bigint) FROM pg_stat_replication").fetchone()[0]


class Reader:
    """A transaction with one snapshot, which holds no lock on the tables between its questions."""

    def __init__(self, server, database):
        self.connection = server.connect(database, prepare_threshold=None)
        self.pid = self.connection.info.backend_pid
        self.connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1")

    def ask(self, question, plan=PLANS[0]):
        """What heap and amax say."""
        answers = []
        for side in SIDES:
            self.connection.execute(f"SAVEPOINT s; {plan}")
            answers.append(self.connection.execute(question.replace("{s}", side)).fetchall())
            self.connection.execute("ROLLBACK TO s")
        return answers

    def compare(self, plan=PLANS[0]):
        heap, amax = self.ask(DIGEST + " WHERE id >= 0", plan)
        equal(f"amax's answer ({plan})", amax, heap)

    def close(self):
        self.connection.close()


def feedback(primary, standby, value):
    """Switches hot_standby_feedback, and waits until the primary knows."""
    with standby.connect() as control:
        control.execute(f"ALTER SYSTEM SET hot_standby_feedback = {value}")
        control.execute("SELECT pg_reload_conf()")
    deadline = time.monotonic() + 30
    while (primary.horizon() is None) == (value == "on"):
        if time.monotonic() > deadline:
            raise Mismatch(f"hot_standby_feedback = {value} has not come to the primary")
        time.sleep(0.05)


def old_versions(server, standby, caught_up):
    """Rows updated and flushed are read, by their older versions, in a standby's older snapshot; when that is made known to the primary, which has
    taken the older versions for dead, rewrites find their values. No VACUUM comes in between."""
    primary = Primary(server, "old_versions")
    for first in range(0, 640, 40):
        primary.insert(first, 40)
    caught_up()
    reader = Reader(standby, "old_versions")
    reader.compare()
    cursors = [f"DECLARE {side} CURSOR FOR SELECT big FROM {side}_side.t ORDER BY id + 0 DESC" for side in SIDES]
    sorted_rows = Reader(standby, "old_versions")
    for side, cursor in zip(SIDES, cursors):
        sorted_rows.connection.execute(cursor)
        sorted_rows.connection.execute(f"FETCH 1 FROM {side}")
    primary.both("UPDATE {s}_side.t SET n = n + 1")
    for first in range(10000, 10800, 20):
        primary.insert(first, 20)
    flushed = primary.components()
    if not flushed[0]:
        raise Mismatch("no commit has flushed anything")
    caught_up()
    reader.compare()
    rows = [sorted_rows.connection.execute(f"FETCH ALL FROM {side}").fetchall() for side in SIDES]
    if rows[0] != rows[1] or len(rows[0]) != 639:
        raise Mismatch(f"by a cursor over a sort {len(rows[1])} rows, heap has {len(rows[0])}")
    # Rewrites lock the tables, which would be a conflict.
    with standby.connect() as control:
        control.execute("SELECT pg_wal_replay_pause()")
        feedback(primary, standby, "on")
        for statement in REWRITES:
            primary.alone(statement)
        control.execute("SELECT pg_wal_replay_resume()")
    reader.close()
    sorted_rows.close()
    feedback(primary, standby, "off")
    # What VACUUM has pruned the older versions of is flushed as ever.
    for _ in range(2):
        primary.both("UPDATE {s}_side.t SET n = n + 1 WHERE id < 300")
        primary.alone("VACUUM {s}_side.t")
    equal("columnar rows, live or dead", primary.components()[1] >= 1440, True)
    primary.healthy()
    caught_up()
    for place in (server, standby):
        last = Reader(place, "old_versions")
        last.compare()
        last.close()
    return f"{flushed[0]} components before VACUUM"


class Changes:
    """Rounds of random changes whose versions share values, and readers on both servers that look at them, each in its snapshot.

    Who comes to a page prunes it, which ends a standby's older snapshots and all that can go wrong. So the changes of a round are to different
    rows, by index, and the primary is not read before the standby.
    """

    MOST = 1500  # rows, about
    CHANGES = ["n = n + 1"] * 5 + ["n = n + 1, big = big || n"]

    def __init__(self, server, standby, seed, is_conflict):
        self.rng = random.Random(f"shared values {seed}")
        self.primary, self.standby, self.is_conflict = Primary(server, "changes"), standby, is_conflict
        self.first, self.next, self.indexed = 0, 0, False
        self.readers, self.done, self.did = [], collections.Counter(), collections.Counter()
        self.primary.connection.execute("SET enable_seqscan = off")
        for _ in range(20):
            self.insert(30)

    def insert(self, count):
        self.primary.insert(self.next, count, self.rng.randrange(100))
        self.next += count

    def update(self, some):
        """Once, or by a transaction that changes its mind, in all or in part, or that has several versions of a row."""
        kind = self.rng.choice(["plain"] * 5 + ["rolled back", "savepoint rolled back", "twice"])
        connection, change = self.primary.connection, self.rng.choice(self.CHANGES)
        with connection.transaction():
            for side in SIDES:
                with connection.transaction():
                    connection.execute(f"UPDATE {side}_side.t SET {change} WHERE {some}")
                    if kind == "savepoint rolled back":
                        raise psycopg.Rollback()
                if kind in ("savepoint rolled back", "twice"):
                    connection.execute(f"UPDATE {side}_side.t SET n = n - 3 WHERE {some} AND id % 3 > 0")
            if kind == "rolled back":
                raise psycopg.Rollback()
        self.did[kind] += 1

    def delete(self):
        """The oldest rows, most of them."""
        self.first += self.MOST // 3
        self.primary.both(f"DELETE FROM {{s}}_side.t WHERE id < {self.first} AND id % 50 > 0")

    def index(self):
        """Now and then there is an index on the column that changes, so that updates are not HOT, and one that reads all values."""
        if self.indexed:
            self.primary.alone("DROP INDEX {s}_side.t_n, {s}_side.t_big")
        else:
            self.primary.alone("CREATE INDEX t_n ON {s}_side.t (n)")
            self.primary.alone("CREATE INDEX t_big ON {s}_side.t (md5(big))")
        self.indexed = not self.indexed

    def rewrite(self):
        """Of all that the standby's readers may see."""
        self.primary.alone(self.rng.choice(REWRITES[1:]))

    def maintain(self):
        rng = self.rng
        with_feedback = rng.random() < 0.5
        if with_feedback:
            feedback(self.primary, self.standby, "on")
        for change in rng.sample([self.rewrite, self.index, self.rewrite, lambda: self.primary.alone("VACUUM {s}_side.t")], 2):
            change()
        if with_feedback:
            feedback(self.primary, self.standby, "off")
        self.did["maintained, the horizon moved back" if with_feedback else "maintained"] += 1

    @contextlib.contextmanager
    def conflicts(self, reader, place):
        """A recovery conflict is no failure, but the end of the snapshot."""
        try:
            yield
        except psycopg.Error as error:
            if place is not self.standby or not self.is_conflict(place, reader and reader.pid, error):
                raise
            self.done["cancelled"] += 1
            if reader:
                self.close(reader)

    def open(self, place):
        with self.conflicts(None, place):
            self.readers.append((place, Reader(place, "changes")))

    def close(self, reader):
        reader.close()
        self.readers = [(place, other) for place, other in self.readers if other is not reader]

    def compare(self, place):
        for where, reader in list(self.readers):
            if where is place:
                with self.conflicts(reader, place):
                    reader.compare(self.rng.choice(PLANS))
                    self.done["on the standby" if place is self.standby else "on the primary"] += 1

    def round(self):
        rng = self.rng
        for _ in range(rng.randrange(1, 3)):
            self.open(self.standby)
        ranges = [(first, min(first + rng.choice([20, 60, 150]), self.next)) for first in range(self.first, self.next, 150)]
        for first, end in rng.sample(ranges, rng.randrange(1, len(ranges))):
            self.update(f"id BETWEEN {first} AND {end}")
            if rng.random() < 0.05:
                self.open(self.primary.server)
        for _ in range(rng.randrange(30)):
            self.insert(rng.choice([10, 20]))
        self.did["columnar"] += self.primary.components()[0] > 0
        self.compare(self.standby)
        self.compare(self.primary.server)
        if self.next - self.first > self.MOST:
            self.delete()
        if rng.random() < 0.6:
            self.maintain()
            self.compare(self.standby)
            self.compare(self.primary.server)
        for place, reader in list(self.readers):
            if rng.random() < (0.3 if place is self.standby else 0.7):
                self.close(reader)

    def run(self, comparisons):
        while self.done["on the primary"] + self.done["on the standby"] < comparisons:
            self.round()
            self.did["rounds"] += 1
        if not self.did["columnar"]:
            raise Mismatch("there was never a component")
        for _, reader in self.readers:
            reader.close()
        self.primary.healthy()
        return ", ".join(f"{n} {what}" for counts in (self.done, self.did) for what, n in sorted(counts.items()))
