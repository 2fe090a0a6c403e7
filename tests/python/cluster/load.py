"""Random changes, the same in one transaction to a heap table and to its amax twin: in every snapshot, anywhere, both hold the same rows."""

import random
import re
import threading
import time

import psycopg

from twins import INTERNAL, Mismatch
from values import FUNCTIONS

SIDES = ("heap", "amax")
SALT = 1000
LOADED = 700  # rows of one bulk load

SETUP = "CREATE EXTENSION amax; CREATE EXTENSION amcheck; " + FUNCTIONS + "".join(f"""
CREATE SCHEMA {side}_side;
-- Written a few rows at a time; truncating its end would be a conflict of its own on standbys.
CREATE TABLE {side}_side.t (id int PRIMARY KEY, k int, note text, doc jsonb) USING {side} WITH (vacuum_truncate = off);
CREATE INDEX t_k ON {side}_side.t (k);
CREATE INDEX t_doc ON {side}_side.t USING gin (doc jsonb_path_ops);
-- Loaded in bulk: no unique index.
CREATE TABLE {side}_side.b (id bigint, batch int, doc jsonb, note text) USING {side} WITH (vacuum_truncate = off);
CREATE INDEX b_batch ON {side}_side.b (batch);
CREATE INDEX b_id ON {side}_side.b USING brin (id) WITH (pages_per_range = 4);
INSERT INTO {side}_side.t SELECT i, gen.int(i, 1), gen.toast(i, 1), gen.doc(i, 1) FROM generate_series(1, 300) i;
INSERT INTO {side}_side.b SELECT i, 0, gen.doc(i, 2), gen.text(i, 2) FROM generate_series(1, 2000) i;
""" for side in SIDES)

TABLES = ("t", "b")
BTREES = ("t_pkey", "t_k", "b_batch")
SETTINGS = ["amax.flush_threshold = 0", "amax.bulk_threshold = 100", "amax.rows_per_leaf = 300"]


class Stopped(Exception):
    """The load is over."""


class Writer:
    """Changes rows that no other writer changes, so that both statements of a pair see the same ones."""

    def __init__(self, number, writers, seed):
        self.rng = random.Random(f"writer {number} {seed}")
        self.number, self.writers = number, writers
        self.ids = [i for i in range(1, 301) if i % writers == number]
        self.next = 1000 * writers + number
        self.batches, self.next_batch = [], number + writers
        self.commits = 0

    def transaction(self, connection):
        ids, batches = list(self.ids), list(self.batches)
        try:
            with connection.transaction():
                for _ in range(self.rng.randrange(1, 6)):
                    if self.rng.random() < 0.15:
                        kept = list(self.ids), list(self.batches)
                        with connection.transaction():
                            self.change(connection)
                            raise psycopg.Rollback()
                        self.ids, self.batches = kept
                    else:
                        self.change(connection)
                if self.rng.random() < 0.15:
                    self.ids, self.batches = ids, batches
                    raise psycopg.Rollback()
            self.commits += 1
        except psycopg.errors.DeadlockDetected:
            self.ids, self.batches = ids, batches

    def both(self, connection, statement):
        counts = [connection.execute(statement.replace("{s}", f"{side}_side")).rowcount for side in SIDES]
        if counts[0] != counts[1]:
            raise Mismatch(f"heap changed {counts[0]} rows, amax {counts[1]}: {statement}")

    def lock(self, connection, statement):
        """Locks anybody's rows on both sides. Those of others may come and go between the two statements; our own are the same."""
        found = [[row[0] for row in connection.execute(statement.replace("{s}", f"{side}_side")) if row[0] % self.writers == self.number] for side in SIDES]
        if found[0] != found[1]:
            raise Mismatch(f"heap locked {found[0]} of our rows, amax {found[1]}: {statement}")

    def change(self, connection):
        rng, draw = self.rng, self.rng.random()
        some = rng.sample(self.ids, min(len(self.ids), rng.choice([1, 1, 2, 5, 20])))
        listed, salt = ", ".join(map(str, some)), rng.randrange(SALT)
        if draw < 0.30 or not some:
            count = rng.choice([1, 1, 3, 10, 60])
            ids = [self.next + self.writers * n for n in range(count)]
            self.next = ids[-1] + self.writers
            self.ids += ids
            self.both(connection, f"INSERT INTO {{s}}.t SELECT i, gen.int(i, {salt}), gen.toast(i, {salt}), gen.doc(i, {salt}) "
                                  f"FROM generate_series({ids[0]}, {ids[-1]}, {self.writers}) i")
        elif draw < 0.48:
            self.both(connection, f"UPDATE {{s}}.t SET doc = gen.doc(id, {salt}) WHERE id IN ({listed})")
        elif draw < 0.60:
            self.both(connection, f"UPDATE {{s}}.t SET k = gen.int(id, {salt}), note = gen.toast(id, {salt}) WHERE id IN ({listed})")
        elif draw < 0.78:
            self.both(connection, f"DELETE FROM {{s}}.t WHERE id IN ({listed})")
            self.ids = [i for i in self.ids if i not in some]
        elif draw < 0.84:
            # Who waits for whom may be a deadlock.
            first = rng.randrange(max(self.ids))
            lock = rng.choice(["KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE"])
            self.lock(connection, f"SELECT id FROM {{s}}.t WHERE id BETWEEN {first} AND {first + 20} ORDER BY id FOR {lock}")
        elif draw < 0.94 and len(self.batches) < 4:
            batch, self.next_batch = self.next_batch, self.next_batch + self.writers
            self.batches.append(batch)
            self.both(connection, f"INSERT INTO {{s}}.b SELECT i, {batch}, gen.doc(i, {salt}), gen.text(i, {salt}) "
                                  f"FROM generate_series({batch * LOADED}, {batch * LOADED + rng.choice([30, LOADED])}) i")
        elif self.batches:
            batch = rng.choice(self.batches)
            if rng.random() < 0.5:
                self.both(connection, f"DELETE FROM {{s}}.b WHERE batch = {batch}")
                self.batches.remove(batch)
            else:
                self.both(connection, f"UPDATE {{s}}.b SET note = gen.text(id, {salt}) WHERE batch = {batch} AND id % 17 = {salt % 17}")


class Load:
    """Writers and VACUUM on a server, which can be paused."""

    def __init__(self, server, seed, writers=2):
        self.server, self.seed = server, seed
        with server.connect() as control:
            control.execute("CREATE DATABASE load")
            for setting in SETTINGS:
                control.execute(f"ALTER DATABASE load SET {setting}")
        with server.connect("load") as control:
            control.execute(SETUP)
        self.writers = [Writer(n, writers, seed) for n in range(writers)]
        self.problems = []
        self.vacuums = self.flushed = self.freed = 0
        self.stop = threading.Event()
        self.threads = []

    def __enter__(self):
        return self.resume()

    def __exit__(self, *_):
        self.pause()

    def resume(self):
        self.stop.clear()
        jobs = [lambda w=w: w.transaction for w in self.writers] + [lambda: self.vacuum]
        self.threads = [threading.Thread(target=self.thread, args=(job(),)) for job in jobs]
        for thread in self.threads:
            thread.start()
        return self

    def pause(self):
        """Ends the load; raises what went wrong in it."""
        self.stop.set()
        for thread in self.threads:
            thread.join()
        if self.problems:
            raise Mismatch("\n".join(self.problems))

    def thread(self, step):
        try:
            with self.server.connect("load", prepare_threshold=None) as connection:
                connection.execute("SET statement_timeout = '60s'")
                connection.add_notice_handler(self.notice)
                while not self.stop.is_set():
                    step(connection)
        except Exception as error:  # pylint: disable=broad-except
            self.problems.append(f"{step.__name__}: {type(error).__name__} {getattr(error, 'sqlstate', '')} {error}")
            self.stop.set()

    def vacuum(self, connection):
        rng = random.Random(f"vacuum {self.seed} {self.vacuums}")
        table = rng.choice(TABLES)
        options = rng.choice(["VERBOSE", "VERBOSE", "VERBOSE", "VERBOSE, FREEZE"])
        connection.execute(f"VACUUM ({options}) amax_side.{table}")
        if rng.random() < 0.3:
            connection.execute(f"VACUUM heap_side.{table}")
        if rng.random() < 0.05:
            connection.execute("CHECKPOINT")
        self.vacuums += 1
        time.sleep(0.02)

    def notice(self, diagnostic):
        for what in ("flushed", "freed"):
            found = re.search(rf"(\d+) (?:row )?pages(?: with \d+ rows)? {what}", diagnostic.message_primary or "")
            if found:
                setattr(self, what, getattr(self, what) + int(found[1]))

    def run(self, seconds):
        """The load for so long, and on a busy machine until something of everything was done."""
        until = time.monotonic() + seconds
        with self:
            while not self.stop.wait(0.2):
                if time.monotonic() > until and (self.enough() or time.monotonic() > until + 30):
                    break

    def enough(self):
        return all((any(w.commits for w in self.writers), self.vacuums, self.flushed, self.freed))

    def did(self):
        """What was done; raises when it was too little to have tested anything."""
        commits = sum(w.commits for w in self.writers)
        if not self.enough():
            raise Mismatch(f"nothing was tested: {commits} commits, {self.vacuums} VACUUMs, {self.flushed} pages flushed, {self.freed} pages freed")
        return f"{commits} commits, {self.vacuums} VACUUMs, {self.flushed} pages flushed, {self.freed} freed"


# Reading

PLANS = {
    "seqscan": "",
    "indexscan": "",
    "bitmapscan": "",
    "parallel": "; SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_table_scan_size = 0",
}


def plan(connection, name):
    """Within a transaction: makes one way to reach rows the only one where it is possible."""
    kinds = [name] if name != "parallel" else ["seqscan"]
    connection.execute("; ".join(f"SET LOCAL enable_{k} = {'on' if k in kinds else 'off'}" for k in ("seqscan", "indexscan", "bitmapscan"))
                       + f"; SET LOCAL enable_indexonlyscan = {'on' if name == 'indexscan' else 'off'}" + PLANS[name])


def queries(rng):
    """Queries on {s}, a few of each kind."""
    k, width, batch = rng.randrange(-100, 400), rng.choice([3, 30, 300]), rng.randrange(0, 60)
    digest = "SELECT count(*), sum(hashtextextended(x::text, 0)) FROM"
    return [
        f"{digest} {{s}}.t x",
        f"{digest} {{s}}.b x",
        f"{digest} {{s}}.t x WHERE k BETWEEN {k} AND {k + width}",
        f"{digest} {{s}}.t x WHERE id BETWEEN {k} AND {k + 40 * width}",
        f"{digest} {{s}}.t x WHERE doc @> '{{\"k\": {k % 20}}}'",
        f"{digest} {{s}}.b x WHERE batch IN (0, {batch}, {batch + 1})",
        f"{digest} {{s}}.b x WHERE id BETWEEN {batch * LOADED + 5} AND {(batch + 2) * LOADED}",
        f"SELECT count(*) FROM {{s}}.t WHERE k >= {k}",
        "SELECT count(*) FROM {s}.b",
        "SELECT doc->>'k', count(*), max(note), sum((doc->>'id')::numeric) FROM {s}.t WHERE jsonb_typeof(doc) = 'object' GROUP BY 1 ORDER BY 1",
        f"SELECT id, k, note, doc::text FROM {{s}}.t WHERE id > {k} ORDER BY id LIMIT 40",
        f"SELECT doc FROM {{s}}.t WHERE id = {rng.randrange(1, 300)}",
    ]


def ask(connection, query, side):
    try:
        return connection.execute(query.replace("{s}", f"{side}_side")).fetchall()
    except psycopg.Error as error:
        if error.sqlstate in INTERNAL:
            raise Mismatch(f"{error.sqlstate} {error} {error.diag.message_detail or ''} in: {query}") from error
        raise


def compare(connection, rng, limit=None):
    """In one snapshot: heap's answers by sequential scans, amax's by every way. Returns how many were compared."""
    compared = 0
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        chosen = queries(rng)
        for query in chosen if limit is None else rng.sample(chosen, limit):
            plan(connection, "seqscan")
            wanted = ask(connection, query, "heap")
            for name in PLANS:
                plan(connection, name)
                got = ask(connection, query, "amax")
                compared += 1
                if got != wanted:
                    raise Mismatch(f"{query} ({name}): heap {str(wanted)[:1000]}, amax {str(got)[:1000]}")
    return compared


def healthy(connection):
    for table in TABLES:
        problems = connection.execute(f"SELECT * FROM amax.verify('amax_side.{table}')").fetchall()
        if problems:
            raise Mismatch(f"amax.verify({table}): {problems[:5]}")
    for index in BTREES:
        connection.execute(f"SELECT bt_index_check('amax_side.{index}', true)")


def digest(connection):
    """The contents of all four tables."""
    return [connection.execute(f"SELECT count(*), sum(hashtextextended(x::text, 0)) FROM {side}_side.{table} x").fetchone()
            for table in TABLES for side in SIDES]
