"""Join indexes under change, crashes and replay: in every snapshot a join has the answers that PostgreSQL's own has of the same tables.

    join_indexes.py DIRECTORY RESULTS

Writers change both tables, one session vacuums, rewrites and indexes them, readers ask the primary and a standby: the same query with joins on
positions and with columns switched off, in one snapshot, which some of them keep for a while. Each round ends with the death of the primary, or a clean
restart, and what `amax.verify` says of the tables. Another test is that many rows were found by the indexes, and many were not.

Environment: AMAX_JOIN_ROUNDS (default 8), AMAX_JOIN_SECONDS, the length of a round (default 2), AMAX_SEED. The last line is "N passed, N failed".
"""

import collections
import os
import pathlib
import random
import re
import shutil
import sys
import threading
import time
import traceback

import psycopg

from checks import Checks, equal
from server import Server
from twins import Mismatch

SETTINGS = ["autovacuum = off", "max_wal_size = '1GB'", "wal_keep_size = '1GB'", "hot_standby = on", "checkpoint_timeout = '30s'", "max_standby_streaming_delay = '3s'"]
KEYS = 3000
GROUPS = 9

SETUP = f"""
CREATE EXTENSION amax;
SET default_table_access_method = amax;
CREATE TABLE customers (code text PRIMARY KEY, grp int, note text);
CREATE TABLE places (a int, b text, grp int, UNIQUE (a, b));
CREATE TABLE orders (id bigint PRIMARY KEY, code text, a int, b text, v int, doc jsonb);
SELECT amax.set_options(t, '{{"rows_per_leaf": 1000}}') FROM unnest('{{customers,places,orders}}'::regclass[]) t;
INSERT INTO customers SELECT 'C-' || i, i % {GROUPS}, 'note' FROM generate_series(1, {KEYS}) i;
INSERT INTO places SELECT i % 50 * 1000003, 'B-' || i / 50, i % {GROUPS} FROM generate_series(1, {KEYS}) i;
INSERT INTO orders SELECT i, 'C-' || i % {KEYS + 50}, i % 50 * 1000003, 'B-' || i % {KEYS} / 50, i % 100, jsonb_build_object('c', 'C-' || i * 7 % {KEYS}) FROM generate_series(1, 20000) i;
VACUUM customers;
VACUUM places;
VACUUM ANALYZE orders;
"""

INDEXES = {
    "by_code": "amax.join_row('customers', NULL, code)",
    "by_place": "amax.join_row('places', 'places_a_b_key', a, b)",
    "by_path": "amax.join_row('customers', NULL, (doc->>'c'))",
}

# Keys that the snapshot sees twice.
TWICE = "SELECT count(*) FROM (SELECT FROM customers GROUP BY code HAVING count(*) > 1 UNION ALL SELECT FROM places GROUP BY a, b HAVING count(*) > 1) keys"

JOINS = [("customers d", "f.code = d.code"), ("customers d", "f.doc->>'c' = d.code"), ("places d", "f.a = d.a AND f.b = d.b")]


def query(rng):
    table, on = rng.choice(JOINS)
    where = rng.choice(["true", f"f.v < {rng.randint(1, 99)}", f"f.id % 3 = {rng.randint(0, 2)}"])
    of_side = rng.choice(["true", "true", f"d.grp = {rng.randint(0, GROUPS)}", f"d.grp < {rng.randint(0, GROUPS)}", "d.grp % 2 = f.v % 2"])
    kind = rng.choice(["inner", "inner", "left", "semi", "anti", "two"])
    if kind == "inner":
        return f"SELECT d.grp, count(*), sum(f.id) FROM orders f JOIN {table} ON {on} WHERE {where} AND {of_side} GROUP BY 1 ORDER BY 1"
    if kind == "left":
        return f"SELECT d.grp, count(*), sum(f.id) FROM orders f LEFT JOIN {table} ON {on} AND {of_side} WHERE {where} GROUP BY 1 ORDER BY 1"
    if kind == "two":
        other, second = rng.choice(JOINS)
        second = second.replace("d.", "e.")
        return (f"SELECT d.grp, e.grp, count(*), sum(f.id) FROM orders f JOIN {table} ON {on} JOIN {other[:-1]}e ON {second} "
                f"WHERE {where} AND {of_side} GROUP BY 1, 2 ORDER BY 1, 2")
    exists = "EXISTS" if kind == "semi" else "NOT EXISTS"
    return f"SELECT f.v % 7, count(*), sum(f.id) FROM orders f WHERE {where} AND {exists} (SELECT FROM {table} WHERE {on} AND {of_side}) GROUP BY 1 ORDER BY 1"


def change(rng):
    """A change of one of the tables. Keys of rows that went come again, on other rows."""
    key, step = rng.randint(1, KEYS + 50), rng.choice([37, 101, 499])
    some = f"right(code, 3) = '{rng.randint(0, 999):03d}'"
    return rng.choice([
        f"UPDATE customers SET grp = (grp + 1) % {GROUPS} WHERE {some}",
        f"UPDATE customers SET grp = {rng.randint(0, GROUPS - 1)} WHERE code = 'C-{key}'",
        f"DELETE FROM customers WHERE {some}",
        f"INSERT INTO customers SELECT 'C-' || i, i % {GROUPS}, 'again' FROM generate_series({key}, {key + 60}) i ON CONFLICT DO NOTHING",
        f"INSERT INTO customers SELECT 'C-' || i, {rng.randint(0, GROUPS - 1)}, 'once more' FROM generate_series({key}, {key + 9}) i ON CONFLICT (code) DO UPDATE SET grp = excluded.grp",
        f"UPDATE customers SET code = 'C-{key}' WHERE code = 'C-{rng.randint(1, KEYS)}' AND NOT EXISTS (SELECT FROM customers WHERE code = 'C-{key}')",
        f"INSERT INTO customers SELECT 'C-' || i, i % {GROUPS}, 'all' FROM generate_series(1, {KEYS}) i WHERE NOT EXISTS (SELECT FROM customers c WHERE c.code = 'C-' || i) ON CONFLICT DO NOTHING",
        f"UPDATE places SET grp = {rng.randint(0, GROUPS - 1)} WHERE a = {rng.randint(0, 49) * 1000003}",
        f"DELETE FROM places WHERE b = 'B-{rng.randint(0, 60)}'",
        f"INSERT INTO places SELECT i % 50 * 1000003, 'B-' || i / 50, i % {GROUPS} FROM generate_series({key}, {key + 200}) i ON CONFLICT DO NOTHING",
        f"UPDATE orders SET code = 'C-' || (id * {step}) % {KEYS} WHERE id % {step} = {rng.randint(0, 36)}",
        f"UPDATE orders SET v = v + 1 WHERE id % {step} = {rng.randint(0, 36)}",
        f"UPDATE orders SET doc = jsonb_build_object('c', code) WHERE id % 997 = {rng.randint(0, 996)}",
        f"DELETE FROM orders WHERE id % {step} = {rng.randint(0, 36)}",
        f"INSERT INTO orders SELECT (SELECT coalesce(max(id), 0) FROM orders) + i, 'C-' || i * {step} % {KEYS}, i % 50 * 1000003, 'B-' || i % {KEYS} / 50, i % 100, "
        f"jsonb_build_object('c', 'C-' || i) FROM generate_series(1, {rng.choice([5, 60, 2000])}) i ON CONFLICT DO NOTHING",
    ])


def upkeep(rng):
    """What is done to the tables without changing their rows, or to their indexes."""
    table = rng.choice(["customers", "places", "orders", "orders"])
    if rng.random() < 0.8:
        return [f"VACUUM {rng.choice(['', '', '(FREEZE) '])}{table}"]
    name = rng.choice(list(INDEXES))
    return rng.choice([
        [f"VACUUM FULL {table}"],
        [f"CLUSTER {table} USING {dict(customers='customers_pkey', places='places_a_b_key', orders='orders_pkey')[table]}"],
        [f"REINDEX INDEX {name}"],
        [f"REINDEX INDEX CONCURRENTLY {name}"],
        ["REINDEX TABLE CONCURRENTLY customers"],
        [f"DROP INDEX {name}", f"CREATE INDEX {name} ON orders USING amax_join ({INDEXES[name]})"],
        ["BEGIN; ALTER TABLE customers DROP CONSTRAINT customers_pkey; ALTER TABLE customers ADD PRIMARY KEY (code); COMMIT"],
        [f"BEGIN; TRUNCATE {table}; ROLLBACK"],
        ["BEGIN; CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM customers; TRUNCATE customers; INSERT INTO customers SELECT * FROM kept ORDER BY md5(code); COMMIT"],
        ["ALTER TABLE customers ALTER code TYPE varchar(50)", "ALTER TABLE customers ALTER code TYPE text"],
        ["ALTER TABLE orders ALTER code TYPE varchar(60)", "ALTER TABLE orders ALTER code TYPE text"],
    ])


def is_expected(error):
    """What may happen to a session: others' locks, recovery conflicts, the server's death."""
    if error.sqlstate in ("40001", "40P01", "23505", "57014", "42P01", "42704", "55000", "XX000"):
        # A statement that ran into DDL, and a conflict on a standby; of internal errors only those of heap's catalogs.
        return error.sqlstate != "XX000" or bool(re.search("could not open relation with OID|cache lookup failed|tuple concurrently", str(error)))
    return isinstance(error, psycopg.OperationalError)


class Session(threading.Thread):
    """Does something again and again until it is told to stop, and connects anew when the server was away."""

    def __init__(self, server, work, seed, stop):
        super().__init__(daemon=True)
        self.server, self.work, self.stop_now = server, work, stop
        self.rng = random.Random(seed)
        self.problem = None
        self.start()

    def run(self):
        connection = None
        while not self.stop_now.is_set() and not self.problem:
            try:
                if connection is None or connection.closed:
                    connection = self.server.connect("joins", prepare_threshold=None)
                    connection.execute("SET amax.bulk_threshold = 50")
                    connection.execute("SET client_min_messages = error")
                self.work(connection, self.rng)
            except psycopg.Error as error:
                if not is_expected(error):
                    self.problem = f"{self.work.__name__}: {error.sqlstate} {error}"
                if connection is not None and not connection.closed:
                    try:
                        connection.execute("ROLLBACK")
                    except psycopg.Error:
                        pass
                self.stop_now.wait(0.05)
            except Exception:  # pylint: disable=broad-except
                self.problem = traceback.format_exc()
        if connection is not None:
            connection.close()


class Run:
    def __init__(self, directory, seed):
        self.rng = random.Random(f"rounds {seed}")
        self.seed = seed
        self.found = collections.Counter()
        self.primary = Server(directory, "joins", SETTINGS)
        self.primary.start()
        self.primary.connect().execute("CREATE DATABASE joins")
        with self.primary.connect("joins") as connection:
            for statement in SETUP.strip().split(";\n"):
                connection.execute(statement)
            for name, expression in INDEXES.items():
                connection.execute(f"CREATE INDEX {name} ON orders USING amax_join ({expression})")
        self.standby = self.primary.backup("replica", SETTINGS)
        self.standby.start()

    def write(self, connection, rng):
        level = rng.choice(["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ"])
        connection.execute(f"BEGIN ISOLATION LEVEL {level}")
        for _ in range(rng.randint(1, 4)):
            if rng.random() < 0.2:
                connection.execute("SAVEPOINT s")
                connection.execute(change(rng))
                connection.execute("ROLLBACK TO s")
            connection.execute(change(rng))
            if level == "REPEATABLE READ" and rng.random() < 0.5:
                # With its own rows.
                self.compare(connection, rng)
        connection.execute(rng.choice(["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"]))

    @staticmethod
    def keep(connection, rng):
        for statement in upkeep(rng):
            connection.execute(statement)
        time.sleep(0.02)

    def read(self, connection, rng):
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        until = time.monotonic() + rng.choice([0, 0, 0.3, 1])
        while True:
            self.compare(connection, rng)
            if time.monotonic() >= until:
                break
            time.sleep(0.05)
        connection.execute("COMMIT")

    def compare(self, connection, rng):
        """The same query in the same snapshot."""
        text = query(rng)
        parallel = rng.choice([0, 0, 0, 2])
        connection.execute("SAVEPOINT compare")
        for setting in ("enable_nestloop = off", "enable_mergejoin = off", f"max_parallel_workers_per_gather = {parallel}", "parallel_setup_cost = 0", "min_parallel_table_scan_size = 0"):
            connection.execute(f"SET LOCAL {setting}")
        found = connection.execute(text).fetchall()
        if rng.random() < 0.3:
            plan = "\n".join(line for line, in connection.execute(f"EXPLAIN (ANALYZE, TIMING off, COSTS off, SUMMARY off) {text}"))
            for told, asked in re.findall(r"by_\w+ \((\d+) of (\d+)\)", plan):
                self.found["told"] += int(told)
                self.found["not told"] += int(asked) - int(told)
            self.found["joins"] += "AmaxJoin" in plan
        connection.execute("SET LOCAL amax.custom_scan = off")
        expected = connection.execute(text).fetchall()
        connection.execute("ROLLBACK TO compare")
        if found != expected and connection.execute(TWICE).fetchone()[0] > 0:
            # PostgreSQL's own joins disagree then: see `twice`.
            self.found["of two rows of a key"] += 1
            return
        self.found["compared"] += 1
        if found != expected:
            raise Mismatch(f"{text} (parallel {parallel}): {str(found)[:1500]}, without columns {str(expected)[:1500]}")

    def round(self, number, seconds):
        stop = threading.Event()
        jobs = [(self.primary, self.write), (self.primary, self.write), (self.primary, self.keep), (self.primary, self.read), (self.standby, self.read), (self.standby, self.read)]
        sessions = [Session(server, work, f"{self.seed} {number} {at}", stop) for at, (server, work) in enumerate(jobs)]
        stop.wait(seconds * (0.5 + self.rng.random()))
        kills = self.rng.random() < 0.8
        if kills:
            self.primary.kill()
        stop.set()
        for session in sessions:
            session.join(60)
        problems = [session.problem for session in sessions if session.problem]
        if not kills:
            self.primary.stop()
        self.primary.start()
        if problems:
            raise Mismatch("\n".join(problems))
        self.sound(self.primary)
        self.replayed()
        self.sound(self.standby)
        crashes = self.standby.new_crashes() + self.primary.new_crashes()
        equal("crashes", crashes, [])
        return "killed" if kills else "restarted"

    def replayed(self):
        with self.primary.connect("joins") as connection:
            target = connection.execute("SELECT pg_current_wal_flush_lsn()").fetchone()[0]
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with self.standby.connect("joins") as connection:
                if connection.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", (target,)).fetchone()[0]:
                    return
            time.sleep(0.05)
        raise Mismatch("the standby does not follow")

    def sound(self, server):
        rng = random.Random(self.rng.random())
        with server.connect("joins") as connection:
            for table in ("customers", "places", "orders"):
                problems = connection.execute(f"SELECT * FROM amax.verify('{table}')").fetchall()
                equal(f"problems of {table}", problems, [])
            for _ in range(5):
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                self.compare(connection, rng)
                connection.execute("COMMIT")

    def many_were_found(self):
        """Of the rows that were looked up."""
        for what, least in (("compared", 100), ("joins", 20), ("told", 100000), ("not told", 10000)):
            if self.found[what] < least:
                raise Mismatch(f"only {self.found[what]} {what}")
        return [f"{count} {what}" for what, count in self.found.items()]

    def copies(self):
        """A database that is made of another one has the same rows, and indexes with the same pages; what is found from then on is its own."""
        with self.primary.connect("postgres") as control:
            control.execute("CREATE DATABASE original")
            with self.primary.connect("original") as connection:
                connection.execute("""
                    CREATE EXTENSION amax;
                    SET default_table_access_method = amax;
                    CREATE TABLE d (k text PRIMARY KEY, g int);
                    CREATE TABLE f (k text, v int);
                    INSERT INTO d SELECT 'k' || i, i % 2 FROM generate_series(1, 500) i;
                    INSERT INTO f SELECT 'x' || i % 100 + 1, i FROM generate_series(1, 2000) i""")
                connection.execute("SELECT amax.create_join_index('f', 'k', 'd', 'k')")
            control.execute("CREATE DATABASE copy TEMPLATE original")
        for database, key in (("original", "i"), ("copy", "101 - i")):
            with self.primary.connect(database) as connection:
                connection.execute(f"INSERT INTO d SELECT 'x' || {key}, i FROM generate_series(1, 100) i")
                connection.execute("VACUUM d")
                connection.execute("VACUUM f")
                connection.execute("SET enable_nestloop = off; SET enable_mergejoin = off")
                join = "SELECT sum(g * v::bigint) FROM f JOIN d USING (k)"
                plan = "\n".join(line for line, in connection.execute(f"EXPLAIN (ANALYZE, TIMING off) {join}"))
                equal("whether its plan names the index", "Join Indexes: f_d_join (2000 of 2000)" in plan, True)
                found = connection.execute(join).fetchall()
                connection.execute("SET amax.custom_scan = off")
                equal(f"the answer in {database}", found, connection.execute(join).fetchall())
                equal("problems", connection.execute("SELECT * FROM amax.verify('f')").fetchall(), [])

    def twice(self):
        """Two rows of one unique key in a snapshot: what PostgreSQL's joins find of them depends on the plan, and so does what joins on positions do."""
        with self.primary.connect("joins") as reader, self.primary.connect("joins") as writer:
            for table, method in (("on_heap", "heap"), ("on_amax", "amax")):
                reader.execute(f"CREATE TABLE {table} (k text PRIMARY KEY) USING {method}")
                reader.execute(f"INSERT INTO {table} VALUES ('a'), ('b')")
            reader.execute("CREATE TABLE found USING amax AS SELECT 'a' AS k FROM generate_series(1, 2000)")
            reader.execute("SELECT amax.flush('on_amax')")
            reader.execute("SELECT amax.create_join_index('found', 'k', 'on_amax', 'k')")
            for table in ("on_heap", "on_amax", "found"):
                reader.execute(f"VACUUM ANALYZE {table}")
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM found LIMIT 1")
            for table in ("on_heap", "on_amax"):
                writer.execute(f"DELETE FROM {table}")
                reader.execute(f"INSERT INTO {table} VALUES ('a')")
            reader.execute("SET LOCAL enable_nestloop = off; SET LOCAL enable_mergejoin = off; SET LOCAL max_parallel_workers_per_gather = 0")
            count = lambda on: reader.execute(f"SELECT count(*) FROM found JOIN {on}").fetchone()[0]
            equal("on positions by keys, by a join index", [count("on_heap USING (k)"), count("on_amax USING (k)")], [4000, 2000])
            reader.execute("SET LOCAL amax.custom_scan = off")
            equal("by PostgreSQL's hash joins", [count("on_heap USING (k)"), count("on_amax USING (k)")], [2000, 2000])
            reader.execute("SET LOCAL enable_nestloop = on; SET LOCAL enable_hashjoin = off")
            equal("by its nested loops", count("on_heap ON found.k || '' = on_heap.k || ''"), 4000)

    def ends(self):
        """A session that ends in the midst of a join, in a savepoint, leaves no locks behind."""
        with self.primary.connect("joins") as reader, self.primary.connect("joins") as control:
            reader.execute("SET enable_nestloop = off; SET enable_mergejoin = off; SET max_parallel_workers_per_gather = 0; BEGIN; SAVEPOINT s")
            pid = reader.info.backend_pid
            join = "SELECT count(*), {} FROM found JOIN on_amax USING (k)"
            plan = str(reader.execute("EXPLAIN (ANALYZE, TIMING off) " + join.format("1")).fetchall())
            equal("whether its plan names the index", "Join Indexes: found_on_amax_join" in plan, True)

            def end():
                while not control.execute("SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone()[0]:
                    time.sleep(0.01)
                control.execute("SELECT pg_terminate_backend(%s, 10000)", (pid,))

            ending = threading.Thread(target=end)
            ending.start()
            try:
                reader.execute(join.format("pg_sleep(60)"))
                raise Mismatch("it goes on")
            except psycopg.OperationalError as error:
                equal("SQLSTATE", error.sqlstate, "57P01")
            ending.join()
            equal("its locks", control.execute("SELECT locktype, mode FROM pg_locks WHERE pid = %s", (pid,)).fetchall(), [])

    def close(self):
        self.standby.stop()
        self.primary.stop()


def main():
    directory, results = map(pathlib.Path, sys.argv[1:3])
    seed = os.environ.get("AMAX_SEED", str(random.randrange(10**6)))
    rounds, seconds = int(os.environ.get("AMAX_JOIN_ROUNDS", "8")), float(os.environ.get("AMAX_JOIN_SECONDS", "2"))
    print(f"join indexes: AMAX_SEED={seed}", flush=True)
    run = Run(directory, seed)
    checks = Checks()
    for number in range(rounds):
        with checks.check(f"round {number}") as said:
            said.append(run.round(number, seconds))
        if checks.failed:
            break
    with checks.check("many rows were found by join indexes, and many were not") as said:
        said += run.many_were_found()
    with checks.check("a snapshot that sees two rows of a key"):
        run.twice()
    with checks.check("a session that ends in a join"):
        run.ends()
    with checks.check("a copy of a database"):
        run.copies()
    run.close()
    if checks.failed:
        for server in (run.primary, run.standby):
            shutil.copy(server.log, results)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
