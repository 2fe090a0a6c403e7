"""Random statements of several sessions on amax tables and their heap twins, interrupted at random.

    interrupted.py DIRECTORY RESULTS [SEED...]

A transaction says everything to both twins, so that whatever ends it ends it for both. Between phases of work the sessions pause, and twins must
hold the same rows, by sequential scans, by custom scans and by each index; nothing may be left of locks, files and prepared transactions. It stops
at the first difference. Left out is SET TABLESPACE: see docs/limitations.md. The last line is "N passed, N failed", of comparisons.
"""

import collections
import os
import pathlib
import random
import re
import shutil
import socket
import sys
import threading
import time
import traceback

import psycopg

from server import Server
from twins import Mismatch

SECONDS = float(os.environ.get("AMAX_INTERRUPTED_SECONDS", "60"))
SETTINGS = ["fsync = off", "jit = off", "autovacuum_naptime = '1s'", "shared_preload_libraries = 'amax'", "max_wal_size = '2GB'",
            "log_error_verbosity = terse"]
PHASE = 8  # seconds between comparisons
WORKERS = 3
ROWS = 3000
# What an interruption or another session may bring about, on heap too: connections, conflicts, what DDL has taken away or brought.
EXPECTED = re.compile(r"57014|57P01|57P03|57P05|55P03|55006|40001|40P01|25P0.|25006|23505|22P02|42P07|42704|42P01|42703|42701|34000|26000|08...|0A000|55000|53300")
# In the server's log.
WRONG = re.compile(r"terminated by signal|PANIC|panicked|TRAP|leak|missing chunk|was not closed|still pinned|rows of relation .* have been lost")

ROW = """g, (g % 17)::int, (g % 1000) / 7.0, jsonb_build_object('id', g, 't', 't' || g % 37, 'v', g % 101, 'a', jsonb_build_array(g % 5, jsonb_build_object('w', 'w' || g % 3)),
    'o', jsonb_build_object('x', g % 5)), repeat('p', (g % 11)::int * 15), CASE WHEN g % 60 = 0 THEN (SELECT string_agg(md5(g::text || i), '') FROM generate_series(1, 120) i) END"""
COLUMNS = "id, grp, n, doc, pad, big"
QUERIES = [
    "SELECT grp, count(*), sum(n), min(doc->>'t') FROM § GROUP BY 1 ORDER BY 1",
    "SELECT count(*), sum((doc->>'v')::int) FROM § WHERE doc->>'t' > 't2'",
    "SELECT e->>'w', count(*) FROM §, jsonb_array_elements(doc->'a') e GROUP BY 1 ORDER BY 1",
    # Not by "id" alone: it is unique, but not to a snapshot that still sees rows whose keys others have freed and the transaction has taken again;
    # heap's join stops at the first match then.
    "SELECT count(*), sum((x.doc->>'v')::int) FROM § x JOIN § y ON x.id + 0 = y.id + 1 AND y.doc->'o'->>'x' = '3'",
    "SELECT doc->>'t' t, count(DISTINCT id) FROM § GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5",
    "SELECT sum(length(big)), count(big) FROM §",
    "SELECT md5(string_agg(doc::text, '' ORDER BY id, n)) FROM § WHERE grp < 3",
    "SELECT id, doc->'o' FROM § ORDER BY doc->>'v' DESC, id, n LIMIT 20",
    "SELECT k, count(*) FROM §, jsonb_each(doc->'o') AS f (k, v) GROUP BY 1 ORDER BY 1",
]


class GivenUp(Exception):
    """The client does not go on with a COPY, nor with the transaction."""


class Tables:
    """The twins heap0 and amax0, …"""

    def __init__(self, server, count):
        self.names = [str(k) for k in range(count)]
        with server.connect() as control:
            control.execute("CREATE EXTENSION amax; CREATE EXTENSION amcheck")
            for k in self.names:
                for am in ("heap", "amax"):
                    control.execute(f"CREATE TABLE {am}{k} (id bigint, grp int, n numeric, doc jsonb, pad text, big text) USING {am}")
                    control.execute(f"ALTER TABLE {am}{k} ALTER big SET STORAGE EXTERNAL")
                    control.execute(f"CREATE {'UNIQUE' if k == '0' else ''} INDEX {am}{k}_id ON {am}{k} (id)")
                    control.execute(f"CREATE INDEX {am}{k}_t ON {am}{k} ((doc->>'t'))")
                    control.execute(f"INSERT INTO {am}{k} SELECT {ROW} FROM generate_series(1, {ROWS}) g")
                compression = ["zstd", "snappy", "lz4"][int(k) % 3]
                control.execute(f"""SELECT amax.set_options('amax{k}', '{{"flush_threshold": 8, "rows_per_leaf": {[300, 900, 2000][int(k) % 3]}, "compression": "{compression}"}}')""")
            control.execute("VACUUM ANALYZE")


class Worker(threading.Thread):
    def __init__(self, play, number):
        super().__init__(daemon=True)
        self.play, self.number = play, number
        self.rng = random.Random(f"{play.seed} {number}")
        self.next = (number + 1) * 10**7
        self.connection, self.pid, self.busy = None, 0, False
        self.idle = threading.Event()
        self.k = "0"

    def connect(self):
        self.connection = self.play.server.connect(prepare_threshold=None)
        self.pid = self.connection.info.backend_pid
        choose = self.rng.choice
        for setting in (f"work_mem = '{choose(['64kB', '4MB'])}'", f"maintenance_work_mem = '{choose(['1MB', '16MB'])}'", f"amax.eager = {choose(['on', 'off'])}",
                        f"max_parallel_workers_per_gather = {choose([0, 2])}", f"client_connection_check_interval = '{choose([0, 20])}ms'",
                        f"amax.decode_cache = '{choose(['0', '256MB'])}'", "parallel_setup_cost = 0", "min_parallel_table_scan_size = 0"):
            self.connection.execute(f"SET {setting}")

    def say(self, statement):
        self.play.note(f"{self.number} [{self.pid}] {statement}")
        self.busy = True
        try:
            return self.connection.execute(statement)
        finally:
            self.busy = False

    def both(self, statement):
        counts = [self.say(statement.replace("§", f"{am}{self.k}")).rowcount for am in ("heap", "amax")]
        if counts[0] != counts[1]:
            raise Mismatch(f"rows on heap and amax: {counts} in {statement}")

    def take(self, count):
        self.next += count
        return f"generate_series({self.next - count}::bigint, {self.next - 1}) g"

    # What transactions do.

    def change(self):
        rng = self.rng
        draw = rng.randrange(10)
        if draw < 2:
            self.both(f"INSERT INTO § ({COLUMNS}) SELECT {ROW} FROM {self.take(rng.choice([20, 400, 1500]))}")
        elif draw == 2:
            self.copy(rng.choice([50, 1500]), rng.choice(["", "", "broken", "given up"]))
        elif draw == 3 and self.k == "0":
            # Which keys are taken is asked of no snapshot: nobody may free one between the twins.
            self.say("LOCK TABLE heap0, amax0 IN SHARE ROW EXCLUSIVE MODE")
            low = rng.randrange(1, ROWS)
            self.both(f"INSERT INTO § ({COLUMNS}) SELECT {ROW} FROM generate_series({low}::bigint, {low + rng.choice([10, 600])}) g ON CONFLICT (id) DO "
                      + rng.choice(["NOTHING", "UPDATE SET n = §.n + 1, doc = excluded.doc || '{\"u\": 1}'"]))
        elif draw < 6:
            more = rng.choice(["", ", big = md5(id::text) || big", ", pad = pad || 1"])
            self.both(f"UPDATE § SET n = n + 1, doc = doc || jsonb_build_object('u', grp){more} WHERE id % {rng.choice([1, 3, 17])} = {rng.randrange(3)}")
        elif draw < 8:
            self.both(f"DELETE FROM § WHERE id % {rng.choice([2, 9, 31])} = {rng.randrange(2)} AND id > {rng.choice([0, ROWS // 2, 10**7])}")
        elif draw == 8:
            self.both(f"MERGE INTO § t USING (SELECT g FROM generate_series({self.next - 200}::bigint, {self.next + 200}) g) q ON t.id = q.g WHEN MATCHED AND t.grp < 8 THEN UPDATE SET n = t.n + 2 "
                      "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, grp, doc) VALUES (q.g, 1, '{\"m\": 1}')")
            self.next += 201
        else:
            self.both(f"SELECT id FROM § WHERE id % 13 = {rng.randrange(13)} FOR {rng.choice(['UPDATE', 'SHARE', 'KEY SHARE', 'NO KEY UPDATE'])}")

    def copy(self, count, how):
        low, self.next = self.next, self.next + count
        for am in ("heap", "amax"):
            self.play.note(f"{self.number} [{self.pid}] COPY {am}{self.k}, {count} rows from {low}, {how}")
            self.busy = True
            try:
                with self.connection.cursor().copy(f"COPY {am}{self.k} (id, grp, doc) FROM STDIN") as copy:
                    for i in range(low, low + count):
                        broken = how == "broken" and am == "amax" and i == low + count // 2
                        copy.write(f'{i}\t{i % 17}\t{{"id": {i}, "t": "t{i % 37}"{"" if broken else "}"}\n')
                        if how == "given up" and am == "amax" and i == low + count // 2:
                            raise GivenUp
            finally:
                self.busy = False

    def query(self):
        text = self.rng.choice(QUERIES)
        answers = [self.say(text.replace("§", f"{am}{self.k}")).fetchall() for am in ("heap", "amax")]
        if answers[0] != answers[1]:
            raise Mismatch(f"answers on heap and amax: {[a[:3] for a in answers]} to {text}\n{self.differences()}")

    def differences(self):
        """What this transaction's snapshot has on one side only, by each kind of scan."""
        said = [str(self.say("SELECT txid_current_snapshot(), pg_current_xact_id_if_assigned()").fetchone())]
        rows = "SELECT id, n, grp, md5(doc::text), length(pad), md5(big) FROM §"
        for setting in ("on", "off"):
            self.say(f"SET LOCAL amax.custom_scan = {setting}")
            sides = [collections.Counter(self.say(rows.replace("§", f"{am}{self.k}")).fetchall()) for am in ("heap", "amax")]
            for name, more in (("heap", sides[0] - sides[1]), ("amax", sides[1] - sides[0])):
                said.append(f"only in {name}, amax.custom_scan = {setting}: {more.total()}, such as {sorted(more, key=str)[:5]}")
                for row in sorted(more, key=str)[:5]:
                    said += [f"  {am} {self.say(f'SELECT ctid, xmin, xmax, cmin, cmax, id, n FROM {am}{self.k} WHERE id = {row[0]}').fetchall()}" for am in ("heap", "amax")]
        return "\n".join(said)

    def read_in_part(self):
        rng, name = self.rng, f"c{self.number}"
        text = rng.choice(QUERIES + ["SELECT * FROM §", "SELECT amax.arrow($$SELECT id, doc FROM §$$)"]).replace("§", f"amax{self.k}")
        self.say(f"DECLARE {name} {rng.choice(['', 'SCROLL'])} CURSOR {rng.choice(['', 'WITH HOLD'])} FOR {text}")
        for _ in range(rng.randrange(1, 4)):
            self.say(f"{rng.choice(['FETCH', 'MOVE'])} {rng.choice(['1', 'FORWARD 3', 'ALL'])} IN {name}")
        self.say(f"CLOSE {name}")

    def define(self):
        rng, name = self.rng, f"x{self.number}_{self.next}"
        draw = rng.randrange(7)
        if draw == 0:
            self.both(f"ALTER TABLE § ADD COLUMN {name} int DEFAULT 7, ALTER COLUMN grp TYPE {rng.choice(['bigint', 'int'])}")
            self.both(f"ALTER TABLE § DROP COLUMN {name}")
        elif draw == 1:
            # Such a rewrite lets an older snapshot see all rows, whatever the access method; so the other twin gets one, too.
            self.say(f"ALTER TABLE heap{self.k} ALTER pad TYPE text USING pad || ''")
            self.say(f"ALTER TABLE amax{self.k} SET ACCESS METHOD heap")
            self.say(f"ALTER TABLE amax{self.k} SET ACCESS METHOD amax")
        elif draw == 2:
            self.say("SAVEPOINT truncated")
            self.both("TRUNCATE §")
            self.both(f"INSERT INTO § ({COLUMNS}) SELECT {ROW} FROM {self.take(1500)}")
            self.say("ROLLBACK TO truncated" if rng.random() < 0.8 else "RELEASE truncated")
        elif draw == 3:
            self.say(f"CREATE INDEX {name} ON amax{self.k} " + rng.choice(["USING gin (doc)", "((doc->>'v')) WHERE grp < 5", "USING brin (id)", "(((doc->>'v')::int), id)"]))
            self.say(f"DROP INDEX {name}")
        elif draw == 4:
            self.say(f"REINDEX TABLE amax{self.k}")
        elif draw == 5:
            self.say(f"CLUSTER amax{self.k} USING amax{self.k}_id")
        else:
            self.say(f"CREATE TABLE {name} USING amax AS SELECT * FROM heap{self.k}")
            self.say(f"DROP TABLE {name}")

    def transaction(self):
        rng = self.rng
        self.say("BEGIN ISOLATION LEVEL REPEATABLE READ")
        self.say(f"SET LOCAL lock_timeout = '{rng.choice([200, 2000])}ms'")
        self.say(f"LOCK TABLE heap{self.k}, amax{self.k} IN ROW EXCLUSIVE MODE")
        if rng.random() < 0.3:
            self.say(f"SET LOCAL statement_timeout = '{rng.choice([2, 5, 20, 100, 300])}ms'")
        for _ in range(rng.randrange(1, 5)):
            step = rng.choice([self.change] * 7 + [self.query] * 5 + [self.read_in_part] + [self.define] * 2)
            if rng.random() < 0.5:
                self.say("SAVEPOINT step")
                try:
                    step()
                    self.say(rng.choice(["RELEASE step", "RELEASE step", "ROLLBACK TO step"]))
                except psycopg.Error as error:
                    if self.connection.closed:
                        raise
                    self.expected(error)
                    self.say("ROLLBACK TO step")
            else:
                step()
        end = rng.random()
        if end < 0.1:
            self.prepare()
        else:
            self.say("ROLLBACK" if end < 0.2 else "COMMIT")

    def prepare(self):
        name = f"p{self.number}_{self.play.statements}"
        self.say(f"PREPARE TRANSACTION '{name}'")
        while True:
            try:
                return self.say(f"{self.rng.choice(['COMMIT', 'COMMIT', 'ROLLBACK'])} PREPARED '{name}'")
            except psycopg.Error as error:
                self.expected(error)
                if error.sqlstate == "42704":
                    return None
                if self.connection.closed:
                    self.connect()

    # What cannot be in one, and what nobody waits for.

    def maintenance(self):
        rng, table = self.rng, f"amax{self.k}"
        self.say(f"SET lock_timeout = '{rng.choice([100, 1500])}ms'")
        if rng.random() < 0.3:
            self.say(f"SET statement_timeout = '{rng.choice([3, 10, 30, 100])}ms'")
        later = f"later{self.number}"
        statement = rng.choice([f"VACUUM {table}", f"VACUUM {table}", f"VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) {table}", f"VACUUM FULL {table}", f"VACUUM (ANALYZE, PARALLEL 2) {table}",
                                f"CREATE INDEX CONCURRENTLY {later} ON {table} ((doc->>'v'))", f"REINDEX TABLE CONCURRENTLY {table}", f"VACUUM heap{self.k}", "CHECKPOINT", f"SELECT amax.flush('{table}')",
                                f"SELECT count(*) FROM amax.{rng.choice(['verify', 'schema', 'columns', 'storage'])}('{table}')"])
        self.say(statement)
        if later in statement:
            self.say(f"DROP INDEX CONCURRENTLY {later}")

    def left_alone(self):
        """Says something, and closes the socket before it is answered."""
        rng, table = self.rng, f"amax{self.k}"
        # One snapshot for both twins: what is committed between two is changed in one of them.
        change = f"BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE heap{self.k}, {table} IN ROW EXCLUSIVE MODE; UPDATE heap{self.k} SET n = n + 1; UPDATE {table} SET n = n + 1; COMMIT"
        statement = rng.choice([f"SELECT * FROM {table}", f"VACUUM {table}", f"VACUUM FULL {table}", f"REINDEX TABLE CONCURRENTLY {table}", change,
                                *(q.replace("§", table) for q in QUERIES)])
        self.play.note(f"{self.number} [{self.pid}] {statement}, cut off")
        link = self.connection.pgconn
        link.send_query(statement.encode())
        link.flush()
        time.sleep(rng.choice([0, rng.random() * 0.02, rng.random() * 0.3]))
        with socket.socket(fileno=os.dup(link.socket)) as cut:
            cut.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def expected(self, error):
        self.play.note(f"{self.number} [{self.pid}] {error.sqlstate} {str(error).splitlines()[0] if str(error) else ''}")
        self.play.errors[error.sqlstate or "connection"] += 1
        if error.sqlstate and not EXPECTED.fullmatch(error.sqlstate):
            raise Mismatch(f"{error.sqlstate} {error}") from error

    def run(self):
        while not self.play.over():
            if self.play.paused.is_set():
                self.idle.set()
                time.sleep(0.02)
                continue
            self.idle.clear()
            try:
                if self.connection is None or self.connection.closed or self.rng.random() < 0.03:
                    self.connect()
                self.k = self.rng.choice(self.play.tables.names)
                draw = self.rng.random()
                (self.transaction if draw < 0.7 else self.maintenance if draw < 0.95 else self.left_alone)()
            except GivenUp:
                pass
            except psycopg.Error as error:
                self.run_down(lambda: self.expected(error))
            except Exception as error:  # pylint: disable=broad-except
                self.play.fail(error)
            self.run_down(self.clean)
        self.idle.set()

    def run_down(self, what):
        try:
            what()
        except psycopg.Error:
            self.connection.close()
        except Mismatch as error:
            self.play.fail(error)

    def clean(self):
        if not self.connection.closed:
            self.connection.execute("ROLLBACK")
            self.connection.execute("SET statement_timeout = 0; SET lock_timeout = 0")
            self.connection.execute("CLOSE ALL")


class Play:
    def __init__(self, server, seed, tables, results):
        self.server, self.seed, self.results = server, seed, results
        self.tables = Tables(server, tables)
        self.paused, self.stop = threading.Event(), threading.Event()
        self.lock = threading.Lock()
        self.statements, self.errors, self.failure, self.compared = 0, collections.Counter(), None, 0
        self.journal = open(results / f"journal-{seed}-{tables}", "w", encoding="utf-8")

    def note(self, text):
        with self.lock:
            self.statements += 1
            if self.journal.closed:
                # Nobody looks at what comes after a failure.
                return
            self.journal.write(f"{time.strftime('%H:%M:%S')} {text[:2000]}\n")

    def over(self):
        return self.stop.is_set()

    def fail(self, error):
        with self.lock:
            self.failure = self.failure or error
        self.stop.set()

    def interrupt(self, workers):
        """Cancels and terminates whoever is busy, now and then."""
        rng = random.Random(f"{self.seed} interrupts")
        with self.server.connect() as control:
            while not self.over():
                time.sleep(rng.choice([rng.random() * 0.03, rng.random() * 0.15, rng.random() * 0.6]))
                worker = rng.choice(workers)
                if worker.busy and not self.paused.is_set():
                    control.execute(f"SELECT pg_{rng.choice(['cancel'] * 6 + ['terminate'])}_backend({worker.pid})")

    def quiet(self, workers, control):
        """Waits until nobody does anything; nothing is left then that anyone held."""
        deadline = time.monotonic() + 600
        others = "backend_type IN ('client backend', 'parallel worker') AND pid <> pg_backend_pid()"
        while not all(worker.idle.is_set() for worker in workers) or \
                control.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {others} AND state <> 'idle'").fetchone()[0]:
            if time.monotonic() > deadline:
                raise Mismatch(f"somebody hangs: {control.execute(f'SELECT pid, state, wait_event_type, wait_event, query FROM pg_stat_activity WHERE {others}').fetchall()}")
            time.sleep(0.05)
        for (name,) in control.execute("SELECT gid FROM pg_prepared_xacts").fetchall():
            control.execute(f"ROLLBACK PREPARED '{name}'")
        locks = control.execute("SELECT locktype, relation::regclass, mode, pid FROM pg_locks JOIN pg_stat_activity a USING (pid) WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'").fetchall()
        if locks:
            raise Mismatch(f"locks are left: {locks[:5]}")

    def compare(self, control):
        for k in self.tables.names:
            amax, content = f"amax{k}", "SELECT count(*), sum(hashtextextended(t::text, 1)::numeric) FROM § t"
            wanted = control.execute(content.replace("§", f"heap{k}")).fetchone()
            for setting in ("on", "off"):
                control.execute(f"SET amax.custom_scan = {setting}")
                got = control.execute(content.replace("§", amax)).fetchone()
                if got != wanted:
                    raise Mismatch(f"{amax} has {got}, heap {wanted} (amax.custom_scan = {setting})")
            control.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
            for column, of in (("id", "id > -1"), ("doc->>'t'", "doc->>'t' >= ''")):
                counts = [control.execute(f"SELECT count(*) FROM (SELECT id, n FROM {t} WHERE {of} ORDER BY {column}) q").fetchone() for t in (f"heap{k}", amax)]
                if counts[0] != counts[1]:
                    raise Mismatch(f"{amax} by its index on {column}: {counts[1]}, heap {counts[0]}")
            control.execute("RESET ALL")
            problems = control.execute(f"SELECT * FROM amax.verify('{amax}')").fetchall()
            if problems:
                raise Mismatch(f"{amax}: {problems[:4]}")
            for index in ("id", "t"):
                control.execute(f"SELECT bt_index_check('{amax}_{index}', true)")
            self.compared += 1
        wrong = [line for line in self.server.log.read_text(errors="replace").splitlines() if WRONG.search(line)]
        if wrong:
            raise Mismatch(f"the log says {wrong[:3]}")

    def run(self, seconds):
        workers = [Worker(self, number) for number in range(WORKERS)]
        threads = [*workers, threading.Thread(target=self.interrupt, args=[workers], daemon=True)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + seconds
        try:
            with self.server.connect() as control:
                while not self.over():
                    self.stop.wait(PHASE)
                    if self.over():
                        break
                    self.paused.set()
                    self.quiet(workers, control)
                    self.compare(control)
                    self.paused.clear()
                    if time.monotonic() > deadline:
                        break
        except Exception as error:  # pylint: disable=broad-except
            self.fail(error)
        self.stop.set()
        self.journal.close()
        return self.failure


def main():
    directory, results, *seeds = sys.argv[1:]
    results = pathlib.Path(results)
    passed = failed = 0
    first = int(os.environ.get("AMAX_SEED") or time.time()) if not seeds else None
    for number, (seed, tables) in enumerate([(int(s), t) for s in seeds or [first] for t in (1, 3)]):
        server = Server(directory, f"interrupted{number}", SETTINGS)
        server.start()
        play = Play(server, seed, tables, results)
        failure = play.run(SECONDS / 2)
        print(f"{'FAILED ' if failure else 'ok     '} seed {seed}, {tables} tables: {play.statements} statements, {play.compared} comparisons, errors {dict(play.errors.most_common(8))}", flush=True)
        passed += play.compared
        if failure:
            failed += 1
            print("".join(traceback.format_exception(failure))[-3000:], flush=True)
            server.run("pg_ctl", "-D", server.data, "-m", "immediate", "-w", "stop")
            shutil.copy(server.log, results)
            shutil.move(server.data, results / server.data.name)
            break
        server.stop()
        server.remove()
        (results / f"journal-{seed}-{tables}").unlink()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
