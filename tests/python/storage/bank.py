"""The bank: transfers between accounts keep the sum, at every isolation level, while VACUUM moves rows into columns."""

import random
import threading
import time

import psycopg

from twins import INTERNAL, Mismatch

LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]
ACCOUNTS = 120
START = 1000
RETRY = ("40001", "40P01")


class Bank:
    def __init__(self, server, database, seed, settings, level):
        self.server, self.database, self.seed, self.level = server, database, seed, level
        self.stop = threading.Event()
        self.problems = []
        self.done = {"transfers": 0, "retries": 0, "audits": 0, "vacuums": 0}
        self.lock = threading.Lock()
        with server.connect() as control:
            control.execute(f"CREATE DATABASE {database}")
            for setting in settings + ["amax.flush_threshold = 0"]:
                control.execute(f"ALTER DATABASE {database} SET {setting}")
        with self.connect() as control:
            control.execute("CREATE EXTENSION amax; CREATE EXTENSION amcheck")
            control.execute(f"""
                CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL, changes int NOT NULL DEFAULT 0, doc jsonb) USING amax;
                CREATE INDEX account_balance ON account (balance);
                CREATE TABLE entry (id bigserial PRIMARY KEY, account int NOT NULL REFERENCES account, amount int NOT NULL, wide text) USING amax;
                INSERT INTO account SELECT i, {START}, 0, jsonb_build_object('owner', 'nr ' || i, 'limits', jsonb_build_array(i, NULL)) FROM generate_series(1, {ACCOUNTS}) i;
                -- Pairs whose sum may not go below zero: only SERIALIZABLE keeps that from write skew.
                CREATE TABLE pair (id int, half int, balance int NOT NULL, PRIMARY KEY (id, half)) USING amax;
                INSERT INTO pair SELECT i, h, 50 FROM generate_series(1, 5) i, generate_series(0, 1) h""")
            control.execute("VACUUM account")
            control.execute("VACUUM pair")

    def connect(self):
        return self.server.connect(self.database, prepare_threshold=None)

    def count(self, what):
        with self.lock:
            self.done[what] += 1

    def thread(self, function, number):
        """Runs `function` in a loop on its own connection until the end; serialization failures are tried again."""
        rng = random.Random(f"bank {self.seed} {self.level} {number}")
        try:
            with self.connect() as connection:
                connection.execute(f"SET default_transaction_isolation = '{self.level}'; SET statement_timeout = '30s'")
                while not self.stop.is_set():
                    try:
                        function(connection, rng)
                    except psycopg.Error as error:
                        if connection.closed or error.sqlstate in INTERNAL or error.sqlstate not in RETRY:
                            raise
                        if self.level == "READ COMMITTED" and error.sqlstate == "40001":
                            raise
                        self.count("retries")
        except Exception as error:  # pylint: disable=broad-except
            self.problems.append(f"{function.__name__}: {type(error).__name__} {getattr(error, 'sqlstate', '')} {error}")
            self.stop.set()

    def transfer(self, connection, rng):
        a, b = rng.sample(range(1, ACCOUNTS + 1), 2)
        if rng.random() < 0.3:
            a, b = rng.sample(range(1, 6), 2)  # some accounts are busy
        amount = rng.randrange(1, 30)
        with connection.transaction():
            if self.level == "READ COMMITTED":
                lock = rng.choice(["FOR UPDATE", "FOR NO KEY UPDATE"])
                rows = connection.execute(f"SELECT id, balance FROM account WHERE id IN ({a}, {b}) ORDER BY id {lock}").fetchall()
            else:
                rows = connection.execute(f"SELECT id, balance FROM account WHERE id IN ({a}, {b}) ORDER BY id").fetchall()
            balance = dict(rows)
            if len(balance) != 2:
                raise Mismatch(f"accounts {a}, {b}: {rows}")
            # Written from what was read: a lost update or a missing re-check breaks the sum.
            for account, change in ((a, -amount), (b, amount)):
                done = connection.execute(f"UPDATE account SET balance = {balance[account] + change}, changes = changes + 1 WHERE id = {account}").rowcount
                if done != 1:
                    raise Mismatch(f"UPDATE of account {account} changed {done} rows")
            connection.execute(f"INSERT INTO entry (account, amount, wide) SELECT x.*, (SELECT string_agg(md5(x.a || ' ' || n), '') FROM generate_series(1, 55) n) "
                               f"FROM (VALUES ({a}, {-amount}), ({b}, {amount})) x(a, b)")
            if rng.random() < 0.1:
                raise psycopg.Rollback()
        self.count("transfers")

    def withdraw(self, connection, rng):
        pair, half = rng.randrange(1, 6), rng.randrange(2)
        with connection.transaction():
            total = connection.execute(f"SELECT sum(balance) FROM pair WHERE id = {pair}").fetchone()[0]
            if total >= 30:
                connection.execute(f"UPDATE pair SET balance = balance - 30 WHERE id = {pair} AND half = {half}")
            else:
                connection.execute(f"UPDATE pair SET balance = balance + 50 WHERE id = {pair} AND half = {half}")

    def audit(self, connection, rng):
        plan = rng.choice(["SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off", "SET LOCAL enable_seqscan = off",
                           "SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off"])
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY" if self.level != "SERIALIZABLE" else "SET TRANSACTION READ ONLY")
            connection.execute(plan)
            rows = connection.execute("SELECT count(*), sum(balance), count(DISTINCT id), count(doc->'limits') FROM account WHERE id > 0").fetchone()
            entries = connection.execute("SELECT count(*) FROM (SELECT id, balance FROM account) a LEFT JOIN "
                                         "(SELECT account, sum(amount) AS s FROM entry GROUP BY 1) e ON e.account = a.id "
                                         f"WHERE balance <> {START} + coalesce(s, 0)").fetchone()[0]
            worst = connection.execute("SELECT min(s) FROM (SELECT sum(balance) s FROM pair GROUP BY id) x").fetchone()[0]
        if rows != (ACCOUNTS, ACCOUNTS * START, ACCOUNTS, ACCOUNTS):
            raise Mismatch(f"the bank has (accounts, sum, distinct, documents) {rows} ({plan})")
        if entries:
            raise Mismatch(f"{entries} accounts do not agree with their entries ({plan})")
        if self.level == "SERIALIZABLE" and worst < 0:
            raise Mismatch(f"write skew under SERIALIZABLE: a pair has {worst}")
        self.count("audits")

    def vacuum(self, connection, rng):
        # Few of the wide entries': commits flush them.
        connection.execute(rng.choice(["VACUUM account"] * 12 + ["VACUUM pair", "VACUUM (FREEZE) account", "ANALYZE account"] * 3 + ["VACUUM entry"]))
        self.count("vacuums")
        time.sleep(rng.random() * 0.05)

    def finish(self):
        with self.connect() as connection:
            for table in ("account", "entry", "pair"):
                connection.execute(f"VACUUM {table}")
            self.audit(connection, random.Random(1))
            for index in ("account_pkey", "account_balance", "entry_pkey", "pair_pkey"):
                connection.execute(f"SELECT bt_index_check('{index}', true)")
            for table in ("account", "entry", "pair"):
                problems = connection.execute(f"SELECT * FROM amax.verify('{table}')").fetchall()
                if problems:
                    raise Mismatch(f"amax.verify({table}): {problems[:5]}")
                if not connection.execute(f"SELECT count(*) FROM amax.components('{table}')").fetchone()[0]:
                    raise Mismatch(f"no row of {table} became columnar")


def run(server, database, seed, settings, seconds, level):
    bank = Bank(server, database, seed, settings, level)
    jobs = [bank.transfer, bank.transfer, bank.transfer, bank.audit, bank.vacuum]
    if level == "SERIALIZABLE":
        jobs += [bank.withdraw, bank.withdraw]
    threads = [threading.Thread(target=bank.thread, args=(job, n)) for n, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    bank.stop.wait(seconds)
    bank.stop.set()
    for thread in threads:
        thread.join()
    if bank.problems:
        raise Mismatch("\n".join(bank.problems))
    bank.finish()
    if not all(bank.done[what] for what in ("transfers", "audits", "vacuums")):
        raise Mismatch(f"nothing was tested: {bank.done}")
    return ", ".join(f"{n} {what}" for what, n in bank.done.items())
