"""Rows read by their TIDs on a standby, while what they are in is flushed, merged, vacuumed and used again on the primary.

In one snapshot a TID has one row or none, whichever way one comes to it; and all of them together are the rows of the heap twin.
"""

import collections
import random
import threading
import time

from load import TABLES, ask, plan
from twins import Mismatch

# What each plan has.
WAYS = {"tid": "Tid Scan", "several": "Tid Scan", "range": "Tid Range Scan", "join": "Tid Scan", "index": "Index", "none": "Tid Scan"}
# How long a session stays in a snapshot.
SECONDS = 2


class Tids:
    """Sessions on a standby; `conflict(pid, error)` says which errors may be."""

    def __init__(self, standby, seed, conflict, sessions=3):
        self.standby, self.conflict = standby, conflict
        self.stop = threading.Event()
        self.problems, self.did = [], collections.Counter()
        self.threads = [threading.Thread(target=self.thread, args=(random.Random(f"tids {seed} {n}"),)) for n in range(sessions)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def thread(self, rng):
        connection = pid = None
        while not self.stop.is_set():
            try:
                if connection is None:
                    connection = self.standby.connect("load", prepare_threshold=None)
                    pid = connection.info.backend_pid
                Snapshot(connection, rng, self.did).run(self.stop)
                self.did["snapshot"] += 1
            except Exception as error:  # pylint: disable=broad-except
                if not self.conflict(self.standby, pid, error):
                    self.problems.append(f"{type(error).__name__} {getattr(error, 'sqlstate', '')} {error}")
                    self.stop.set()
                self.did["conflict"] += 1
                if connection is not None:
                    connection.close()
                connection = None
        if connection is not None:
            connection.close()

    def report(self, snapshots):
        """What was done, with whole `snapshots` or cancelled ones; raises what went wrong, or when nothing was tested."""
        if self.problems:
            raise Mismatch("\n".join(self.problems))
        if not all(self.did[what] for what in (*WAYS, *(["snapshot"] if snapshots else []))):
            raise Mismatch(f"nothing was tested: {self.did}")
        return ", ".join(f"{n} {what}" for what, n in sorted(self.did.items()))


class Snapshot:
    """A table's rows by TID, as one scan has found them, and the same asked for again and again."""

    def __init__(self, connection, rng, did):
        self.connection, self.rng, self.did = connection, rng, did

    def run(self, stop):
        connection, rng = self.connection, self.rng
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self.table = rng.choice(TABLES)
            plan(connection, "seqscan")
            wanted = collections.Counter(ask(connection, f"SELECT id, x::text FROM {{s}}.{self.table} x", "heap"))
            found = self.ask("SELECT ctid::text, id, x::text FROM {t} x")
            self.rows = {tid: (number, text) for tid, number, text in found}
            if len(self.rows) != len(found) or collections.Counter(self.rows.values()) != wanted:
                raise Mismatch(f"{len(found)} rows with {len(self.rows)} TIDs in {self.table}, heap has {wanted.total()}")
            self.tids = sorted(self.rows, key=place)
            self.ids = collections.defaultdict(dict)
            for tid, row in self.rows.items():
                self.ids[row[0]][tid] = row
            self.blocks = sorted({place(tid)[0] for tid in self.tids})
            # Small tables are scanned otherwise.
            connection.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = on; SET LOCAL enable_bitmapscan = on")
            until = time.monotonic() + SECONDS
            while time.monotonic() < until and not stop.is_set() and self.tids:
                way = rng.choice(list(WAYS))
                query, rows = getattr(self, way)()
                if not self.did[way]:
                    shown = str(self.ask(f"EXPLAIN {query}"))
                    if WAYS[way] not in shown:
                        raise Mismatch(f"not by {WAYS[way]}: {shown}")
                got = self.ask(query)
                if len(got) != len(rows) or {tid: (number, text) for tid, number, text in got} != rows:
                    raise Mismatch(f"{query} ({self.table}): {str(got)[:800]} instead of {str(rows)[:800]}")
                self.did[way] += 1
                self.did["rows"] += len(rows)

    def ask(self, query):
        return ask(self.connection, query.replace("{t}", f"{{s}}.{self.table}"), "amax")

    def some(self, count):
        return {tid: self.rows[tid] for tid in self.rng.sample(self.tids, min(count, len(self.tids)))}

    def tid(self):
        rows = self.some(1)
        return f"SELECT ctid::text, id, x::text FROM {{t}} x WHERE ctid = '{next(iter(rows))}'", rows

    def several(self):
        rows = self.some(30)
        listed = ", ".join(f"'{tid}'" for tid in rows)
        return f"SELECT ctid::text, id, x::text FROM {{t}} x WHERE ctid = ANY (ARRAY[{listed}]::tid[])", rows

    def range(self):
        first, last = sorted(self.rng.sample(range(len(self.tids)), 2)) if len(self.tids) > 1 else (0, 0)
        last = min(last, first + self.rng.choice([3, 40, 1000]))
        low, high = self.tids[first], self.tids[last]
        rows = {tid: self.rows[tid] for tid in self.tids[first:last]}
        return f"SELECT ctid::text, id, x::text FROM {{t}} x WHERE ctid >= '{low}' AND ctid < '{high}'", rows

    def join(self):
        rows = self.some(20)
        listed = ", ".join(f"('{tid}'::tid)" for tid in rows)
        return f"SELECT x.ctid::text, x.id, x::text FROM (VALUES {listed}) v (tid) JOIN {{t}} x ON x.ctid = v.tid", rows

    def index(self):
        """t has an index of ids, b one of blocks, of the ranges of ids in them."""
        number = self.rng.choice(list(self.ids))
        return f"SELECT ctid::text, id, x::text FROM {{t}} x WHERE id = {number}", self.ids[number]

    def none(self):
        """TIDs that have no row in this snapshot, but may have some in others."""
        block = self.rng.choice(self.blocks)
        # Heap's own pages have no more.
        offsets = [n for n in range(1, 292) if f"({block},{n})" not in self.rows]
        listed = ", ".join(f"'({block},{n})'" for n in self.rng.sample(offsets, min(20, len(offsets))))
        return f"SELECT ctid::text, id, x::text FROM {{t}} x WHERE ctid = ANY (ARRAY[{listed}]::tid[])", {}


def place(tid):
    block, offset = tid.strip("()").split(",")
    return int(block), int(offset)
