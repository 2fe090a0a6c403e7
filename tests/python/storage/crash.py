"""kill -9 at random points of a concurrent load: what clients were told is what is there afterwards.

    crash.py DIRECTORY RESULTS

Each client owns some rows and knows what they must be: after a COMMIT that returned, the new state; after a crash before COMMIT was sent,
the old one; after a crash while COMMIT was under way, one of the two, whole. Rounds take turns between the death of the whole server
and that of one backend, which makes the postmaster restart the others. Every round is a test; another is that the data checksums are
right after a clean shutdown; another that a last round without a crash ends as it should. Then every fault point has its turn: faults.py.

Environment: AMAX_CRASH_ROUNDS (default 35), AMAX_SEED. The last line is "N passed, N failed".
"""

import os
import pathlib
import random
import shutil
import signal
import sys
import threading
import time
import traceback

import psycopg

import background
import commits
import decoding
import faults
import minimal
import reading
import unlogged
import waiting
import xids
from server import Server
from twins import Mismatch, shorten

CLIENTS = 4
FIRST = 250  # rows of a client at the beginning
SHARED = 5  # rows that all clients count up
MOST_ROWS = 600  # a client that has more deletes some, so that a round takes as long after a thousand as at first
MOST_BATCHES = 30

SETUP = f"""
CREATE EXTENSION amax;
CREATE EXTENSION amcheck;
SET default_table_access_method = amax;
-- What a row must hold, from its key and its version: some are long enough for TOAST.
CREATE FUNCTION content(id bigint, v int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_build_object('id', id, 'v', v, 'list', jsonb_build_array(v, id, 'text ' || v, NULL)) ||
    CASE WHEN (id + v) % 23 = 0 THEN jsonb_build_object('long', (SELECT string_agg(md5(id || ' ' || v || ' ' || n), '') FROM generate_series(1, 150) n)) ELSE '{{}}' END
$$;
CREATE TABLE t (id bigint PRIMARY KEY, v int NOT NULL, client int NOT NULL, doc jsonb);
CREATE INDEX t_v ON t (v);
CREATE INDEX t_doc ON t USING gin (doc jsonb_path_ops);
CREATE TABLE batch (client int, number int, n int, doc jsonb, PRIMARY KEY (client, number, n));
CREATE INDEX batch_number ON batch (client, number);
-- Wide rows that VACUUM seldom sees: commits flush them.
CREATE TABLE trail (client int, number int, n int, doc jsonb, wide text, PRIMARY KEY (client, number, n));
ALTER TABLE trail SET (autovacuum_enabled = off);
CREATE FUNCTION wide(number int, n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(md5(number || ' ' || n || ' ' || i), '') FROM generate_series(1, 55) i
$$;
CREATE TABLE shared (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO shared SELECT i, 0 FROM generate_series(1, {SHARED}) i;
CREATE UNLOGGED TABLE fleeting (id int PRIMARY KEY, doc jsonb);
"""


class Lost(Exception):
    """The server went away."""


class Client:
    """Changes its own rows, remembers what it was told."""

    def __init__(self, number, seed):
        self.number = number
        self.rng = random.Random(f"client {number} {seed}")
        self.rows = {}  # id -> v, as committed
        self.pending = None  # the rows if the transaction whose COMMIT is under way was committed
        self.prepared = None  # gid of a transaction that was, or may have been, prepared
        self.next = number
        self.batches = {}  # number -> rows of batches that are there for sure
        self.maybe = {}  # number -> rows of batches that may be there
        self.next_batch = 0
        self.sure = [0] * (SHARED + 1)  # additions to shared rows that were committed
        self.unsure = [0] * (SHARED + 1)  # and those nobody knows of
        self.connection = None
        self.commits = 0
        self.problem = None

    def execute(self, statement):
        try:
            return self.connection.execute(statement)
        except psycopg.Error as error:
            if self.connection.closed or isinstance(error, (psycopg.OperationalError,)) and error.sqlstate in (None, "57P01", "57P02", "57P03"):
                raise Lost from error
            if error.sqlstate in ("40001", "40P01"):
                raise
            raise Mismatch(f"client {self.number}: {error.sqlstate} {error} in: {statement[:200]}") from error

    def run(self, server, stop):
        """Transactions until told to stop or until the server is gone."""
        try:
            self.connection = server.connect("load", prepare_threshold=None)
            self.execute("SET client_min_messages = error")
            while not stop.is_set():
                try:
                    self.transaction()
                except psycopg.Error:
                    # A deadlock or the like: rolled back, and known to be.
                    self.execute("ROLLBACK")
                    self.pending = None
        except Lost:
            pass
        except psycopg.OperationalError:
            pass  # not connected
        except Exception as error:  # pylint: disable=broad-except
            self.problem = error
        finally:
            if self.connection:
                self.connection.close()

    def transaction(self):
        rng = self.rng
        if rng.random() < 0.2:
            return self.delete_batch() if len(self.batches) > MOST_BATCHES else self.load_batch()
        rows = dict(self.rows)
        added = [0] * (SHARED + 1)
        self.execute(f"BEGIN ISOLATION LEVEL {rng.choice(['READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ'])}")
        for _ in range(rng.randrange(1, 6)):
            if rng.random() < 0.2:
                # A savepoint that is rolled back leaves no trace.
                self.execute("SAVEPOINT s")
                self.change(dict(rows), [0] * (SHARED + 1))
                self.execute("ROLLBACK TO s")
            else:
                self.change(rows, added)
        draw = rng.random()
        if draw < 0.15:
            self.execute("ROLLBACK")
        elif draw < 0.25:
            gid = f"{self.number}-{self.commits}-{rng.randrange(10**9)}"
            self.pending, self.prepared, self.unsure_now = rows, gid, added
            self.execute(f"PREPARE TRANSACTION '{gid}'")
            self.execute(f"COMMIT PREPARED '{gid}'")
            self.committed(rows, added)
        else:
            self.pending, self.unsure_now = rows, added
            self.execute("COMMIT")
            self.committed(rows, added)

    def committed(self, rows, added):
        self.rows, self.pending, self.prepared = rows, None, None
        self.sure = [a + b for a, b in zip(self.sure, added)]
        self.commits += 1

    def change(self, rows, added):
        """One statement, mirrored in `rows` and `added`."""
        rng = self.rng
        draw = rng.random()
        some = rng.sample(sorted(rows), min(len(rows), rng.randrange(1, 8))) if rows else []
        if draw < 0.30 and len(rows) > MOST_ROWS:
            some, draw = rng.sample(sorted(rows), 50), 0.60
        ids = ", ".join(map(str, some))
        if draw < 0.30 or not some:
            count = rng.choice([1, 1, 3, 10, 40])
            fresh = [self.next + CLIENTS * n for n in range(count)]
            self.next += CLIENTS * count
            v = rng.randrange(50)
            self.expect(count, f"INSERT INTO t SELECT i, {v}, {self.number}, content(i, {v}) FROM generate_series({fresh[0]}, {fresh[-1]}, {CLIENTS}) i")
            rows.update({i: v for i in fresh})
        elif draw < 0.60:
            self.expect(len(some), f"UPDATE t SET v = v + 1, doc = content(id, v + 1) WHERE id IN ({ids})")
            for i in some:
                rows[i] += 1
        elif draw < 0.75:
            self.expect(len(some), f"DELETE FROM t WHERE id IN ({ids})")
            for i in some:
                del rows[i]
        elif draw < 0.85:
            self.expect(len(some), f"SELECT 1 FROM t WHERE id IN ({ids}) FOR {rng.choice(['UPDATE', 'NO KEY UPDATE', 'SHARE', 'KEY SHARE'])}")
        elif draw < 0.93:
            row = rng.randrange(1, SHARED + 1)
            self.expect(1, f"UPDATE shared SET n = n + 1 WHERE id = {row}")
            added[row] += 1
        else:
            self.expect(len(some), f"INSERT INTO t SELECT i, 7, {self.number}, content(i, 7) FROM unnest(ARRAY[{ids}]::bigint[]) i "
                                   "ON CONFLICT (id) DO UPDATE SET v = 7, doc = content(excluded.id, 7)")
            for i in some:
                rows[i] = 7

    def expect(self, count, statement):
        done = self.execute(statement).rowcount
        if done != count:
            raise Mismatch(f"client {self.number}: {done} rows instead of {count} in: {statement[:300]}")

    def load_batch(self):
        """COPY or INSERT … SELECT of a batch, which is there whole or not at all; some are rolled back. Odd ones go to `trail`."""
        rng = self.rng
        number, count = self.next_batch, rng.choice([5, 120, 400])
        self.next_batch += 1
        self.execute("BEGIN")
        if number % 2:
            count = 40
            self.execute(f"INSERT INTO trail SELECT {self.number}, {number}, n, jsonb_build_object('n', n, 'of', jsonb_build_array({self.number}, {number})), "
                         f"wide({number}, n) FROM generate_series(0, {count - 1}) n")
        elif rng.random() < 0.5:
            try:
                with self.connection.cursor() as cursor, cursor.copy("COPY batch (client, number, n, doc) FROM STDIN") as copy:
                    for n in range(count):
                        copy.write(f'{self.number}\t{number}\t{n}\t{{"n": {n}, "of": [{self.number}, {number}]}}\n')
            except psycopg.Error as error:
                if self.connection.closed:
                    raise Lost from error
                raise Mismatch(f"client {self.number}: {error.sqlstate} {error} in COPY") from error
        else:
            self.execute(f"INSERT INTO batch SELECT {self.number}, {number}, n, jsonb_build_object('n', n, 'of', jsonb_build_array({self.number}, {number})) "
                         f"FROM generate_series(0, {count - 1}) n")
        if rng.random() < 0.25:
            self.execute("ROLLBACK")
            return
        self.maybe[number] = count
        self.execute("COMMIT")
        self.batches[number] = self.maybe.pop(number)

    def delete_batch(self):
        """The oldest one, all of its rows or, if that is rolled back, none."""
        number = min(self.batches)
        self.execute("BEGIN")
        self.expect(self.batches[number], f"DELETE FROM {'trail' if number % 2 else 'batch'} WHERE client = {self.number} AND number = {number}")
        if self.rng.random() < 0.25:
            self.execute("ROLLBACK")
            return
        self.maybe[number] = self.batches.pop(number)
        self.execute("COMMIT")
        del self.maybe[number]

    def settle(self, control, found_prepared):
        """After recovery: makes up our mind about the transaction whose end nobody reported."""
        actual = dict(control.execute("SELECT id, v FROM t WHERE client = %s", [self.number]).fetchall())
        if self.prepared and self.prepared in found_prepared:
            if actual != self.rows:
                raise Mismatch(f"client {self.number}: a prepared transaction is visible: {compare(self.rows, actual)}")
            control.execute(f"COMMIT PREPARED '{self.prepared}'")
            actual = dict(control.execute("SELECT id, v FROM t WHERE client = %s", [self.number]).fetchall())
            self.committed(self.pending, self.unsure_now)
        if actual != self.rows:
            if self.pending is None or actual != self.pending:
                raise Mismatch(f"client {self.number}: not what was committed: {compare(self.rows, actual)}"
                               + (f"; nor what was under way: {compare(self.pending, actual)}" if self.pending is not None else ""))
            self.committed(self.pending, self.unsure_now)
        elif self.pending is not None and self.pending == self.rows:
            # Only shared rows differ, if anything does.
            self.unsure = [a + b for a, b in zip(self.unsure, self.unsure_now)]
        self.pending = self.prepared = None
        batches = dict(control.execute("SELECT number, count(*) FROM (TABLE batch UNION ALL SELECT client, number, n, doc FROM trail) x WHERE client = %s GROUP BY 1", [self.number]).fetchall())
        wrong = {n: c for n, c in batches.items() if self.batches.get(n, self.maybe.get(n)) != c}
        missing = [n for n in self.batches if n not in batches]
        if wrong or missing:
            raise Mismatch(f"client {self.number}: batches lost {missing[:5]}, in part or not committed {dict(list(wrong.items())[:5])}")
        self.batches, self.maybe = batches, {}


def compare(expected, actual):
    lost = {i: v for i, v in expected.items() if i not in actual}
    extra = {i: v for i, v in actual.items() if i not in expected}
    other = {i: (v, actual[i]) for i, v in expected.items() if i in actual and actual[i] != v}
    return shorten(f"{len(lost)} lost {list(lost.items())[:5]}, {len(extra)} too many {list(extra.items())[:5]}, "
                   f"{len(other)} (expected, actual) differ {list(other.items())[:5]}")


class Load:
    def __init__(self, server, seed):
        self.server = server
        self.rng = random.Random(f"crash {seed}")
        self.clients = [Client(n, seed) for n in range(1, CLIENTS + 1)]
        self.problem = None
        self.cancelled = 0
        server.start()
        with server.connect() as control:
            control.execute("CREATE DATABASE load")
            for setting in ("amax.flush_threshold = 0", "amax.bulk_threshold = 100", "amax.rows_per_leaf = 150", "amax.max_components = 2"):
                control.execute(f"ALTER DATABASE load SET {setting}")
        with server.connect("load") as control:
            control.execute(SETUP)
            for client in self.clients:
                control.execute(f"INSERT INTO t SELECT i, 0, {client.number}, content(i, 0) "
                                f"FROM generate_series({client.number}, {client.number + CLIENTS * (FIRST - 1)}, {CLIENTS}) i")
                client.rows = {client.number + CLIENTS * n: 0 for n in range(FIRST)}
                client.next = client.number + CLIENTS * FIRST
            control.execute("VACUUM t")

    def maintain(self, stop):
        """VACUUM and its relatives, one after the other; cancelled and terminated by `disturb`."""
        rng = random.Random(self.rng.random())
        statements = (["VACUUM t"] * 5 + ["VACUUM batch"] * 2 + ["VACUUM shared", "VACUUM trail", "VACUUM (FREEZE) t", "VACUUM fleeting", "CHECKPOINT",
                      "ANALYZE t", "REINDEX INDEX t_v", "VACUUM FULL t", "CLUSTER batch USING batch_number", "VACUUM FULL fleeting",
                      "INSERT INTO fleeting SELECT coalesce(max(id), 0) + 1, '{\"a\": [1]}' FROM fleeting"])
        while not stop.is_set():
            try:
                with self.server.connect("load", prepare_threshold=None, application_name="maintenance") as connection:
                    # Rewrites wait for prepared transactions, which may have nobody left to end them.
                    connection.execute("SET lock_timeout = '500ms'")
                    while not stop.is_set():
                        try:
                            connection.execute(rng.choice(statements))
                        except psycopg.errors.QueryCanceled:
                            self.cancelled += 1
                        except psycopg.errors.LockNotAvailable:
                            pass
                        time.sleep(rng.random() * 0.02)
            except psycopg.Error as error:
                # Also SET may be cancelled.
                if error.sqlstate not in (None, "57014", "57P01", "57P02", "57P03", "40P01"):
                    self.problem = Mismatch(f"maintenance: {error.sqlstate} {error}")
                    return
                stop.wait(0.05)

    def disturb(self, stop):
        """Cancels maintenance and autovacuum at random points, and ends them now and then."""
        rng = random.Random(self.rng.random())
        try:
            with self.server.connect() as control:
                while not stop.wait(rng.random() * 0.1):
                    how = rng.choice(["pg_cancel_backend"] * 4 + ["pg_terminate_backend"])
                    control.execute(f"SELECT {how}(pid) FROM pg_stat_activity WHERE state = 'active' AND "
                                    "(application_name = 'maintenance' OR backend_type = 'autovacuum worker')")
        except psycopg.Error:
            pass  # the server is gone

    def round(self, crash):
        """Load, then crash (None: stop the clients and shut down cleanly), recovery and checks."""
        stop = threading.Event()
        threads = [threading.Thread(target=c.run, args=(self.server, stop)) for c in self.clients]
        threads += [threading.Thread(target=job, args=(stop,)) for job in (self.maintain, self.disturb)]
        before = sum(c.commits for c in self.clients)
        for thread in threads:
            thread.start()
        time.sleep(self.rng.uniform(0.3, 2.0))
        if crash == "server":
            self.server.kill()
        elif crash == "backend":
            self.kill_backend()
        stop.set()
        for thread in threads:
            thread.join()
        problems = [c.problem for c in self.clients if c.problem] + ([self.problem] if self.problem else [])
        if problems:
            raise problems[0]
        if crash == "server":
            unlogged.start(self.server)
        elif crash is None:
            self.server.stop()
            checked = self.server.checksums()
            if "Bad checksums:  0" not in checked:
                raise Mismatch(f"pg_checksums: {checked}")
            self.server.start()
        self.check(crash)
        return sum(c.commits for c in self.clients) - before

    def kill_backend(self):
        """One backend dies; the postmaster ends the others and recovers. Returns when it has noticed."""
        with self.server.connect() as control:
            try:
                while True:
                    victims = control.execute("SELECT pid FROM pg_stat_activity WHERE datname = 'load' AND pid <> pg_backend_pid() ORDER BY pid").fetchall()
                    if not victims:
                        continue
                    try:
                        os.kill(self.rng.choice(victims)[0], signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                    # One that was about to end by itself may have done so: then another has to die.
                    deadline = time.monotonic() + 5
                    while time.monotonic() < deadline:
                        control.execute("SELECT pg_sleep(0.01)")
            except psycopg.OperationalError:
                pass

    def connect(self):
        """A connection once recovery is over."""
        deadline = time.monotonic() + 240
        while True:
            try:
                connection = self.server.connect("load", prepare_threshold=None)
                connection.execute("SELECT 1")
                return connection
            except psycopg.OperationalError as error:
                # After a backend's death the server recovers by itself, unless a file is in its way.
                has_ended = not (self.server.data / "postmaster.pid").exists()
                if time.monotonic() > deadline or has_ended and not unlogged.start(self.server):
                    raise Mismatch(f"no connection: {error}\n{self.server.state()}") from error
                time.sleep(0.05)

    def check(self, crash):
        with self.connect() as control:
            prepared = {gid for (gid,) in control.execute("SELECT gid FROM pg_prepared_xacts").fetchall()}
            strange = prepared - {c.prepared for c in self.clients}
            if strange:
                raise Mismatch(f"prepared transactions nobody left: {strange}")
            control.execute("SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off")
            for client in self.clients:
                client.settle(control, prepared)
            everything = {i: v for c in self.clients for i, v in c.rows.items()}
            bad = control.execute("SELECT count(*), min(id) FROM t WHERE doc IS DISTINCT FROM content(id, v)").fetchone()
            if bad[0]:
                raise Mismatch(f"{bad[0]} documents are not those that were stored, the first of row {bad[1]}")
            bad = control.execute("SELECT count(*) FROM batch WHERE doc IS DISTINCT FROM jsonb_build_object('n', n, 'of', jsonb_build_array(client, number))").fetchone()[0]
            if bad:
                raise Mismatch(f"{bad} documents of batches are not those that were loaded")
            bad = control.execute("SELECT count(*) FROM trail WHERE doc IS DISTINCT FROM jsonb_build_object('n', n, 'of', jsonb_build_array(client, number)) "
                                  "OR wide IS DISTINCT FROM wide(number, n)").fetchone()[0]
            if bad:
                raise Mismatch(f"{bad} wide rows are not those that were inserted")
            for row, n in control.execute("SELECT id, n FROM shared ORDER BY id").fetchall():
                low = sum(c.sure[row] for c in self.clients)
                high = low + sum(c.unsure[row] for c in self.clients)
                if not low <= n <= high:
                    raise Mismatch(f"shared row {row} was counted to {n}, expected {low} to {high}")
            fleeting = control.execute("SELECT count(*) FROM fleeting").fetchone()[0]
            if crash and fleeting:
                raise Mismatch(f"{fleeting} rows of an unlogged table survived a crash")
            self.check_indexes(control, everything)
            for table in ("t", "batch", "trail", "shared", "fleeting"):
                problems = control.execute(f"SELECT * FROM amax.verify('{table}')").fetchall()
                if problems:
                    raise Mismatch(f"amax.verify({table}): {shorten(problems)}")
            for table in ("t",) if crash else ("t", "trail"):
                if not control.execute(f"SELECT count(*) FROM amax.components('{table}')").fetchone()[0]:
                    raise Mismatch(f"no row of {table} is columnar: nothing was tested")
            # Still a table.
            control.execute("INSERT INTO fleeting VALUES (-1, '{}'); UPDATE fleeting SET doc = '[]' WHERE id = -1; DELETE FROM fleeting")
            control.execute("BEGIN; UPDATE t SET v = v + 1; DELETE FROM t; DELETE FROM batch; ROLLBACK")

    def check_indexes(self, control, everything):
        for index in ("t_pkey", "t_v", "batch_number", "batch_pkey", "trail_pkey", "shared_pkey", "fleeting_pkey"):
            control.execute(f"SELECT bt_index_parent_check('{index}', true)")
        for plan in ("enable_indexscan", "enable_bitmapscan"):
            control.execute(f"SET enable_seqscan = off; SET {plan} = on")
            if dict(control.execute("SELECT id, v FROM t WHERE id > 0").fetchall()) != everything:
                raise Mismatch(f"other rows by primary key ({plan})")
            if dict(control.execute("SELECT id, v FROM t WHERE v >= 0").fetchall()) != everything:
                raise Mismatch(f"other rows by the index on v ({plan})")
            control.execute(f"SET {plan} = off")
        control.execute("SET enable_bitmapscan = on")
        for v in (1, 7, 12):
            found = {i for (i,) in control.execute(f"SELECT id FROM t WHERE doc @> '{{\"v\": {v}}}'").fetchall()}
            if found != {i for i, x in everything.items() if x == v}:
                raise Mismatch("other rows by the GIN index")
        control.execute("RESET ALL")


def fail(what):
    raise Mismatch(what)


def quiet(server):
    """Ends autovacuum: while it analyzes a catalog, its snapshot keeps rows from being settled, and a recipe misses its fault point."""
    with server.connect() as control:
        control.execute("ALTER SYSTEM SET autovacuum = off")
        control.execute("SELECT pg_reload_conf()")
        deadline = time.monotonic() + 60
        while control.execute("SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum %'").fetchone() != (0,):
            if time.monotonic() > deadline:
                raise Mismatch("autovacuum goes on")
            time.sleep(0.05)


def keep(server, place):
    """The data directory that a failed round leaves, as it is, for whoever looks for the cause."""
    if (server.data / "postmaster.pid").exists():
        server.kill()
    shutil.copytree(server.data, place)
    server.start()


def main():
    directory, results = sys.argv[1:3]
    rounds = int(os.environ.get("AMAX_CRASH_ROUNDS", "35"))
    seed = int(os.environ.get("AMAX_SEED", "1")) or time.time_ns() // 1_000_000 % 1_000_000
    print(f"seed {seed} (AMAX_SEED), {rounds} rounds", flush=True)
    server = Server(directory, "crash", [
        "fsync = off", "max_wal_size = '128MB'", "checkpoint_timeout = '30s'", "autovacuum_naptime = '1s'", "autovacuum_vacuum_threshold = 20",
        "autovacuum_vacuum_scale_factor = 0.02", "autovacuum_vacuum_insert_threshold = 20", "autovacuum_vacuum_insert_scale_factor = 0.02",
        "autovacuum_vacuum_cost_delay = 0"])
    count = {True: 0, False: 0}

    def passes(title, test):
        """Runs a test; whether it passed."""
        problem = None
        try:
            did = test()
        except Exception as error:  # pylint: disable=broad-except
            # What went wrong first: reports are cut at the end.
            problem = str(error.args[0]) if isinstance(error, Mismatch) else f"{type(error).__name__}: {error}\n{traceback.format_exc()}{server.log_tail()}"
        crashes = server.new_crashes()
        if crashes:
            problem = (problem or "") + "\nthe server's log speaks of a crash:\n" + "\n".join(crashes[:5])
        count[problem is None] += 1
        print(f"ok      {title}: {did}" if problem is None else f"FAILED  {title}\n    " + problem[:6000].replace("\n", "\n    "), flush=True)
        return problem is None

    try:
        load = Load(server, seed)
        # Deaths in turn, then a clean end.
        for number, crash in enumerate([("server", "backend")[n % 2 if n % 3 else 0] for n in range(rounds)] + [None], 1):
            title = f"round {number}, " + (f"kill -9 of {'a' if crash == 'backend' else 'the'} {crash}" if crash else "clean shutdown, checksums")
            if not passes(title, lambda: f"{load.round(crash)} commits"):
                keep(server, pathlib.Path(results) / "data")
                break  # what is known of the rows no longer holds
        passes("maintenance was cancelled", lambda: f"{load.cancelled} times" if load.cancelled else fail("never"))
        quiet(server)
        faulty = None
        for point in faults.points():
            for how, what in (("", "error"), ("!", "crash")):
                faulty = faulty or faults.Faults(server)
                if not passes(f"{what} at {point}", lambda: faulty.test(point, how)):
                    faulty = faulty.drop()
        passes("a truncation that failed", lambda: faults.truncation(server))
        for what in commits.tests(server):
            passes(what.__doc__.split(":")[0].rstrip("."), lambda: what(server))
        passes("more transaction ids than half of all", lambda: xids.run(directory))
        passes("logical decoding", lambda: decoding.run(directory))
        passes("minimal WAL", lambda: minimal.run(directory))
        passes("large documents", lambda: waiting.run(directory))
        passes("a background worker", lambda: background.run(directory))
        passes("cold scans", lambda: reading.run(directory))
        passes("an unlogged table in the way of a restart, heap's too", lambda: unlogged.run(directory))
    finally:
        if count[False]:
            shutil.copy(server.log, pathlib.Path(results) / "server.log")
        try:
            server.stop()
        except RuntimeError as error:
            count[False] += 1
            print(f"FAILED  the server could not be stopped: {error}")
    print(f"{count[True]} passed, {count[False]} failed")
    return 1 if count[False] or not count[True] else 0


if __name__ == "__main__":
    sys.exit(main())
