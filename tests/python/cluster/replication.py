"""Streaming standbys under load, on servers that preload nothing, one of them without the library.

    replication.py DIRECTORY RESULTS [feedback-off|feedback-on|reports|tids|conflicts|toast|consistency...]

A transaction does the same to a heap table and to its amax twin, so both hold the same rows in every snapshot of every server, whatever has
been replayed. Environment: AMAX_REPLICATION_SECONDS, the time of one load (default 12), AMAX_REPORT_SECONDS, that of long queries
(default 20), AMAX_TOAST_COMPARISONS, those of shared values (default 40), AMAX_SEED. The last line is "N passed, N failed".
"""

import collections
import logging
import os
import pathlib
import random
import re
import shutil
import sys
import threading
import time

import psycopg

import installation
import reports
import tids
import toast
from checks import Checks, equal
from load import Load, ask, compare, digest, healthy, plan, queries, PLANS, TABLES
from server import PG_BIN, Server
from states import statistics
from twins import Mismatch

SETTINGS = ["fsync = off", "autovacuum = off", "max_wal_size = '1GB'", "wal_keep_size = '4GB'", "wal_receiver_status_interval = '1s'",
            "hot_standby = on", "max_worker_processes = 12"]


class Reader:
    """Asks a standby while it replays; a recovery conflict is no failure, anything else is."""

    def __init__(self, standby, seed):
        self.standby, self.seed = standby, seed
        self.stop = threading.Event()
        self.problems = []
        self.did = collections.Counter()
        self.threads = []

    def __enter__(self):
        self.threads = [threading.Thread(target=self.thread, args=(job, n)) for n, job in enumerate([self.short, self.long, self.long, self.cursor])]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def finish(self):
        """Goes on until each kind has got to its end: under a load that conflicts with all long queries, after it."""
        until = time.monotonic() + 60
        while not self.stop.wait(0.2) and time.monotonic() < until:
            if all(self.did[job] for job in ("short", "long", "cursor")):
                break

    def thread(self, job, number):
        rng = random.Random(f"reader {self.seed} {number}")
        connection = pid = None
        while not self.stop.is_set():
            try:
                if connection is None:
                    connection = self.standby.connect("load", prepare_threshold=None)
                    pid = connection.info.backend_pid
                job(connection, rng)
                self.did[job.__name__] += 1
            except Exception as error:  # pylint: disable=broad-except
                if not is_conflict(self.standby, pid, error):
                    self.problems.append(f"{job.__name__}: {type(error).__name__} {getattr(error, 'sqlstate', '')} {error}")
                    self.stop.set()
                self.did[f"{job.__name__} cancelled"] += 1
                if connection and connection.closed:
                    connection = None

    def short(self, connection, rng):
        compare(connection, rng, 2)

    def long(self, connection, rng):
        """Heap's answers at once, amax's over some seconds."""
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            wanted = [(q, ask(connection, q, "heap")) for q in rng.sample(queries(rng), 5)]
            until = time.monotonic() + rng.choice([0.5, 2, 4])
            while time.monotonic() < until and not self.stop.is_set():
                for query, answer in wanted:
                    name = rng.choice(list(PLANS))
                    plan(connection, name)
                    got = ask(connection, query, "amax")
                    if got != answer:
                        raise Mismatch(f"{query} ({name}): heap {str(answer)[:1000]}, amax {str(got)[:1000]}")
                time.sleep(rng.random() * 0.3)

    def cursor(self, connection, rng):
        """A cursor's rows, fetched over some seconds, are those of its snapshot."""
        source, order = rng.choice([("t", "id"), ("t", "k, id"), ("b", None)])
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            wanted = collections.Counter(connection.execute(f"SELECT x::text FROM heap_side.{source} x").fetchall())
            plan(connection, "indexscan" if order == "id" else "seqscan")
            connection.execute(f"DECLARE c CURSOR FOR SELECT x::text FROM amax_side.{source} x" + (f" ORDER BY {order}" if order else ""))
            pause = rng.choice([0.02, 0.2, 1])
            got = collections.Counter()
            for count in [1, 30, 100, "ALL"]:
                got.update(connection.execute(f"FETCH {count} FROM c").fetchall())
                self.stop.wait(pause)
            if got != wanted:
                raise Mismatch(f"cursor on {source}: missing {str(list((wanted - got).items()))[:600]}, too many {str(list((got - wanted).items()))[:600]}")


def is_conflict(standby, pid, error):
    """Whether recovery cancelled that backend's query or ended its session, as it may."""
    if not isinstance(error, psycopg.Error):
        return False
    # A connection that fails while it is made has no code.
    if error.sqlstate in ("40001", None) and "due to conflict with recovery" in str(error):
        return True
    if error.sqlstate is not None:
        return False
    # A session that was idle in its transaction gets to know only that its connection is gone.
    return bool(re.search(rf"\[{pid}\] \w+ FATAL:  terminating connection due to conflict with recovery", standby.log.read_text(errors="replace")))


def wait_for(standby, lsn):
    deadline = time.monotonic() + 60
    while True:
        try:
            with standby.connect() as control:
                replayed, done = control.execute("SELECT pg_last_wal_replay_lsn(), pg_last_wal_replay_lsn() >= %s::pg_lsn", [lsn]).fetchone()
        except psycopg.OperationalError as error:
            replayed, done = error, False
        if done:
            return
        if time.monotonic() > deadline:
            raise Mismatch(f"the standby has replayed up to {replayed}, not {lsn}\n{standby.log_tail()}")
        time.sleep(0.05)


def caught_up(primary, standby):
    with primary.connect() as control:
        wait_for(standby, control.execute("SELECT pg_current_wal_insert_lsn()").fetchone()[0])


def same_everywhere(primary, standby, seed):
    """At a point where the primary is quiet: both servers, both twins, every way to the rows, every structure."""
    caught_up(primary, standby)
    with primary.connect("load") as one, standby.connect("load", prepare_threshold=None) as other:
        contents = digest(one)
        equal("heap and amax on the primary", contents[1::2], contents[::2])
        equal("the standby's contents", digest(other), contents)
        equal("statistics", statistics(other, TABLES), statistics(one, TABLES))
        compared = compare(other, random.Random(seed))
        healthy(other)
    return f"{contents[0][0]} and {contents[2][0]} rows, {compared} answers"


def write_to_promoted(standby, seed, load):
    """The standby becomes a primary like any other."""
    with standby.connect() as control:
        equal("pg_promote()", control.execute("SELECT pg_promote()").fetchone(), (True,))
    load.server = standby
    load.vacuums = load.flushed = load.freed = 0
    with standby.connect("load", prepare_threshold=None) as control:
        healthy(control)
        load.run(2)
        for table in ("t", "b"):
            control.execute(f"VACUUM (FREEZE) amax_side.{table}")
        contents = digest(control)
        equal("heap and amax", contents[1::2], contents[::2])
        compare(control, random.Random(seed))
        healthy(control)
    return load.did()


def stop_and_check(servers):
    """Clean shutdowns; every block of every cluster has its checksum, and no log speaks of a crash."""
    for server in servers:
        server.stop()
        if "Bad checksums:  0" not in server.checksums():
            raise Mismatch(f"{server.data.name}: {server.checksums()}")
        crashes = server.new_crashes()
        if crashes:
            raise Mismatch(f"{server.data.name}: " + "\n".join(crashes[:5]))


class Scenario:
    def __init__(self, directory, name, checks, seconds, seed, stock):
        self.directory, self.name, self.checks, self.seconds, self.seed, self.stock = directory, name, checks, seconds, seed, stock
        self.servers = []

    def started(self, server):
        self.servers.append(server)
        server.start()
        return server

    def streaming(self, feedback):
        """A standby that is read, and one that knows nothing of amax, from a backup under load."""
        check = lambda what: self.checks.check(f"{self.name}: {what}")
        settings = [*SETTINGS, f"hot_standby_feedback = {feedback}"]
        primary = self.started(Server(self.directory, f"{self.name}-primary", settings))
        load = Load(primary, self.seed)
        # With feedback nothing should conflict but pins that a VACUUM of an index or of a row page waits for.
        reader = self.started(primary.backup(f"{self.name}-reader", [*settings, f"max_standby_streaming_delay = '{'5s' if feedback == 'on' else '300ms'}'"]))
        caught_up(primary, reader)
        bare = None
        with check("long queries and cursors on a standby during flush and reuse") as said:
            with Reader(reader, self.seed) as readers:
                with load:
                    readers.stop.wait(self.seconds / 3)
                    with check("pg_basebackup under load"):
                        bare = primary.backup(f"{self.name}-bare", settings, self.stock)
                        primary.run("pg_verifybackup", "--no-parse-wal", "--ignore=postgresql.conf", bare.data)
                        self.started(bare)
                    readers.stop.wait(self.seconds * 2 / 3)
                readers.finish()
            if readers.problems:
                raise Mismatch("\n".join(readers.problems))
            said += [load.did(), ", ".join(f"{n} {what}" for what, n in sorted(readers.did.items()))]
            for job in ("short", "long", "cursor"):
                if not readers.did[job]:
                    raise Mismatch(f"no {job} query got to its end: {readers.did}")
            caught_up(primary, reader)  # until then even starting a session may conflict
            with reader.connect("load") as control:
                snapshots = control.execute("SELECT confl_snapshot FROM pg_stat_database_conflicts WHERE datname = 'load'").fetchone()[0]
            if (snapshots > 0) != (feedback == "off"):
                raise Mismatch(f"{snapshots} queries were cancelled for their snapshots, with hot_standby_feedback = {feedback}")
        with check("a standby's answers are the primary's") as said:
            said.append(same_everywhere(primary, reader, self.seed))
        with check("a standby without the library has replayed everything; with it, not preloaded, it gives the same answers") as said:
            caught_up(primary, bare)
            with bare.connect("load") as control:
                try:
                    control.execute("SELECT count(*) FROM amax_side.t")
                except psycopg.errors.UndefinedFile:
                    pass
                else:
                    raise Mismatch("the server was supposed not to have the library")
            bare.stop()
            bare.binaries = PG_BIN
            bare.start()
            said.append(same_everywhere(primary, bare, self.seed))
        with check("a standby is promoted and written to") as said:
            said.append(write_to_promoted(bare if feedback == "on" else reader, self.seed, load))
        with check("checksums after clean shutdowns"):
            stop_and_check(self.servers)

    def reports(self):
        """Long queries on the standby of a primary that only inserts."""
        seconds = float(os.environ.get("AMAX_REPORT_SECONDS", "20"))
        primary = self.started(Server(self.directory, f"{self.name}-primary", SETTINGS))
        load = Load(primary, self.seed)
        with primary.connect("load") as control:
            control.execute(reports.SETUP)
        reports.Growth(load)
        load.run(2)
        standby = self.started(primary.backup(f"{self.name}-standby", [*SETTINGS, "max_standby_streaming_delay = 0", "hot_standby_feedback = off"]))
        caught_up(primary, standby)
        with self.checks.check(f"{self.name}: an insert-only primary cancels no query of a standby, and changes none") as said:
            with load:
                said.append(reports.Reports(standby, seconds, self.seed).run())
            said.append(load.did())
            said.append(same_everywhere(primary, standby, self.seed))
        with self.checks.check(f"{self.name}: clean shutdowns"):
            stop_and_check(self.servers)

    def tids(self):
        """Rows by their TIDs, with feedback and without."""
        primary = self.started(Server(self.directory, f"{self.name}-primary", SETTINGS))
        load = Load(primary, self.seed)
        for feedback, delay in (("on", "5s"), ("off", "300ms")):
            settings = [*SETTINGS, f"max_standby_streaming_delay = '{delay}'", f"hot_standby_feedback = {feedback}"]
            standby = self.started(primary.backup(f"{self.name}-{feedback}", settings))
            caught_up(primary, standby)
            with self.checks.check(f"{self.name}: a snapshot of a standby has one row for a TID, feedback {feedback}") as said:
                with tids.Tids(standby, self.seed, is_conflict) as readers, load:
                    readers.stop.wait(self.seconds)
                said += [load.did(), readers.report(snapshots=feedback == "on")]
            standby.stop()
        with self.checks.check(f"{self.name}: clean shutdowns"):
            stop_and_check(self.servers)

    def conflicts(self):
        """What maintenance makes visible, or takes away, behind the back of a standby's query, which nothing waits for."""
        primary = self.started(Server(self.directory, f"{self.name}-primary", SETTINGS))
        standby = self.started(primary.backup(f"{self.name}-standby", [*SETTINGS, "max_standby_streaming_delay = 0"]))
        with primary.connect() as control:
            control.execute("CREATE EXTENSION amax")
        # Long enough for columns that are read a block at a time.
        row = "i, jsonb_build_object('n', i, 'long', (SELECT string_agg(md5(i || ' ' || n), '') FROM generate_series(1, 20 + i % 7 / 6 * 80) n))"
        insert = f"INSERT INTO {{t}} SELECT {row} FROM generate_series(1001, 1400) i"
        flush, keep = "SET amax.flush_threshold = 0; SET amax.bulk_threshold = 1000", "SET amax.flush_threshold = 1000; SET amax.bulk_threshold = 1000"
        vacuum = "VACUUM (PROCESS_TOAST false) {t}"
        # Pages that are given up become free with the VACUUM after a transaction, and are used again.
        reuse = ["SELECT pg_current_xact_id()", vacuum, insert, insert, vacuum] * 3
        merge = "SET amax.merge_ratio = 0; SET amax.max_components = 1"
        full = "SET amax.bulk_threshold = 0; VACUUM FULL {t}"
        for number, (what, before, steps, cancelled) in enumerate([
                ("rows flushed that it does not see", [], [flush, insert, vacuum], False),
                ("a load settled that it does not see", [], [flush, "SET amax.bulk_threshold = 0", insert, vacuum], False),
                ("row pages used again that it reads", [], [flush, vacuum, *reuse], False),
                ("columns used again that it reads", [], [flush, merge, insert, vacuum, *reuse], False),
                ("rows frozen that it does not see", [], [keep, insert, "VACUUM (FREEZE) {t}"], True),
                ("columnar rows frozen that it does not see", [flush, vacuum], [flush, insert, "VACUUM (FREEZE) {t}"], True),
                ("a row deleted that it sees", [flush, vacuum], [flush, "DELETE FROM {t} WHERE id = 1", "SELECT pg_current_xact_id()", vacuum], True),
        ]):
            for kind, reading in enumerate(["SELECT id, doc FROM {t}", "SELECT id, doc FROM {t} ORDER BY id", "SELECT id, doc FROM {t} WHERE id > 0",
                                            "SELECT id, doc->'n', doc->>'long' FROM {t} WHERE id > 0", "SELECT id, doc->'n', doc->>'long' FROM {t}"]):
                with self.checks.check(f"{self.name}: {what}: {reading}"), primary.connect() as writer:
                    table = f"t{number}_{kind}"
                    # Truncating the end of the file takes a lock, which is a conflict.
                    writer.execute(f"CREATE TABLE {table} (id int, doc jsonb) USING amax WITH (vacuum_truncate = off); CREATE INDEX ON {table} (id)")
                    # Blocks of many rows.
                    if what.startswith("columns"):
                        writer.execute("SET amax.bulk_threshold = 0")
                    for step in [f"INSERT INTO {{t}} SELECT {row} FROM generate_series(1, 400) i", *before]:
                        writer.execute(step.format(t=table))
                    caught_up(primary, standby)
                    connection = standby.connect(prepare_threshold=None)
                    pid = connection.info.backend_pid
                    said = []
                    connection.add_notice_handler(lambda notice, said=said: said.append(notice.message_primary))
                    connection.execute("SET client_min_messages = debug1")
                    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                    if "ORDER BY" in reading:
                        connection.execute("SET LOCAL enable_sort = off")
                    if "WHERE" in reading:
                        connection.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
                    connection.execute(f"DECLARE c CURSOR FOR {reading.format(t=table)}")
                    got = connection.execute("FETCH 3 FROM c").fetchall()
                    for step in steps:
                        writer.execute(step.format(t=table))
                    try:
                        caught_up(primary, standby)
                        got += connection.execute("FETCH ALL FROM c").fetchall()
                        equal("rows of the cursor", len(got), 400)
                        wrong = [row for i, row in enumerate(got, 1) if row[0] != i or i != (row[1]["n"] if len(row) == 2 else row[1])]
                        equal("what is wrong of them", wrong, [])
                        counted = connection.execute(f"SELECT count(*), count(doc->'n'), sum(length(doc->>'long')) FROM {table}").fetchone()
                        equal("rows counted", counted, (400, 400, 343 * 20 * 32 + 57 * 100 * 32))
                        made_again = any("is made again" in what for what in said)
                        if made_again != ("columns used again" in what and "WHERE" in reading):
                            raise Mismatch(f"whether a leaf was made again: {made_again}")
                        if cancelled:
                            raise Mismatch("the answers are right, but nothing was to keep them so: has the step been done?")
                    except psycopg.Error as error:
                        if not cancelled or not is_conflict(standby, pid, error):
                            raise
                    connection.close()
        with self.checks.check(f"{self.name}: rows rewritten that it does not see"), primary.connect() as writer:
            writer.execute("CREATE TABLE rewritten (id int, doc jsonb) USING amax")
            writer.execute(insert.format(t="rewritten"))
            caught_up(primary, standby)
            with standby.connect(prepare_threshold=None) as connection:
                # A snapshot, but no lock on the table, which would be a conflict.
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
                for step in (insert, full):
                    for statement in step.format(t="rewritten").split("; "):
                        writer.execute(statement)
                try:
                    caught_up(primary, standby)
                    equal("rows counted", connection.execute("SELECT count(*), count(doc->'n') FROM rewritten").fetchone(), (400, 400))
                except psycopg.Error as error:
                    # PostgreSQL's own, of catalogs that the rewrite changed and pruned.
                    if not is_conflict(standby, connection.info.backend_pid, error):
                        raise
        with self.checks.check(f"{self.name}: a component moved that it reads") as said, primary.connect() as writer, primary.connect() as other:
            writer.execute(f"CREATE TABLE moved (id int, doc jsonb) USING amax; CREATE INDEX ON moved (id); SET amax.bulk_threshold = 100000; SET amax.flush_threshold = 0")
            writer.execute(f"INSERT INTO moved SELECT {row} FROM generate_series(-999, 400) i")
            # The component comes to lie behind the row pages, which become free.
            for step in ("VACUUM (TRUNCATE off) {t}", "SELECT pg_current_xact_id()", "VACUUM (TRUNCATE off) {t}", "DELETE FROM {t} WHERE id < -900"):
                writer.execute(step.format(t="moved"))
            # The end of the file stays while somebody reads: else its lock would be a conflict.
            other.execute("BEGIN; SELECT id FROM moved LIMIT 1")
            caught_up(primary, standby)
            with standby.connect(prepare_threshold=None) as connection:
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; DECLARE c CURSOR FOR SELECT id, doc->'n' FROM moved")
                got = connection.execute("FETCH 3 FROM c").fetchall()
                notices = []
                writer.add_notice_handler(lambda notice: notices.append(notice.message_primary))
                for step in ("VACUUM (VERBOSE, PROCESS_TOAST false) {t}", *reuse):
                    writer.execute(step.format(t="moved"))
                moved = sum(int(n) for n in re.findall(r"(\d+) moved", " ".join(notices)))
                if not moved:
                    raise Mismatch(f"nothing was moved: {notices}")
                said.append(f"{moved} pages")
                caught_up(primary, standby)
                got += connection.execute("FETCH ALL FROM c").fetchall()
                equal("rows of the cursor", got, [(i, i) for i in range(-900, 401)])
                equal("rows counted", connection.execute("SELECT count(*), sum(length(doc->>'long')) > 0 FROM moved").fetchone(), (1301, True))
        with self.checks.check(f"{self.name}: functions that look inside are refused an unlogged table, as queries are"), primary.connect() as writer:
            writer.execute("CREATE UNLOGGED TABLE unlogged (id int, doc jsonb) USING amax")
            caught_up(primary, standby)
            with standby.connect() as control:
                for query in ("SELECT * FROM unlogged", *(f"SELECT amax.{f}('unlogged')" for f in ("components", "leaves", "columns", "verify"))):
                    try:
                        control.execute(query)
                        raise Mismatch(f"{query}: no error")
                    except psycopg.errors.FeatureNotSupported:
                        pass
        with self.checks.check(f"{self.name}: TOAST chunks of flushed rows are not visible to all on a promoted standby"):
            with primary.connect() as writer:
                writer.execute("CREATE TABLE long (id int, note text) USING amax")
                writer.execute("ALTER TABLE long ALTER note SET STORAGE EXTERNAL; INSERT INTO long SELECT i, repeat('long ' || i, 2000) FROM generate_series(1, 200) i")
                writer.execute("SET amax.flush_threshold = 0")
                writer.execute("VACUUM long")  # flushes, and sets the bits of the TOAST table's visibility map
                writer.execute("SELECT pg_current_xact_id()")
                writer.execute("VACUUM (PROCESS_TOAST false) long")
            caught_up(primary, standby)
            with standby.connect() as control:
                control.execute("SELECT pg_promote()")
                toast = control.execute("SELECT reltoastrelid::regclass::text FROM pg_class WHERE relname = 'long'").fetchone()[0]
                size = f"SELECT pg_relation_size('{toast}')"
                if not control.execute(size).fetchone()[0]:
                    raise Mismatch("there are no chunks")
                control.execute(f"VACUUM {toast}")
                equal("bytes of dead chunks", control.execute(size).fetchone()[0], 0)
                equal("rows", control.execute("SELECT count(*) FROM long WHERE note = repeat('long ' || id, 2000)").fetchone()[0], 200)
        with self.checks.check(f"{self.name}: clean shutdowns"):
            stop_and_check(self.servers)

    def toast(self):
        """Values out of line that versions share, without feedback and with."""
        primary = self.started(Server(self.directory, f"{self.name}-primary", SETTINGS))
        standby = self.started(primary.backup(f"{self.name}-standby", [*SETTINGS, "max_standby_streaming_delay = 0"]))
        with self.checks.check(f"{self.name}: values of older versions stay when the newer ones are flushed") as said:
            said.append(toast.old_versions(primary, standby, lambda: caught_up(primary, standby)))
        with self.checks.check(f"{self.name}: random changes of rows that share values") as said:
            changes = toast.Changes(primary, standby, self.seed, is_conflict)
            # It has no database of that name before.
            caught_up(primary, standby)
            said.append(changes.run(int(os.environ.get("AMAX_TOAST_COMPARISONS", "40"))))
        with self.checks.check(f"{self.name}: clean shutdowns"):
            stop_and_check(self.servers)

    def consistency(self):
        """Every record's pages are compared after replay (wal_consistency_checking): the standby dies of a difference."""
        settings = [*SETTINGS, "wal_consistency_checking = 'all'"]
        with self.checks.check(f"{self.name}: every page is the same after replay") as said:
            primary = self.started(Server(self.directory, f"{self.name}-primary", settings))
            load = Load(primary, self.seed)
            standby = self.started(primary.backup(f"{self.name}-standby", settings, self.stock))
            load.run(self.seconds / 2)
            said.append(load.did())
            caught_up(primary, standby)
            stop_and_check(self.servers)


def main():
    directory, results, *wanted = sys.argv[1:]
    directory = pathlib.Path(directory)
    seconds = float(os.environ.get("AMAX_REPLICATION_SECONDS", "12"))
    seed = int(os.environ.get("AMAX_SEED", "1")) or time.time_ns() // 1_000_000 % 1_000_000
    print(f"seed {seed} (AMAX_SEED), loads of {seconds:.0f} s", flush=True)
    # psycopg says when it cannot roll back on a connection that is gone.
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)
    checks = Checks()
    stock = installation.stock(PG_BIN, directory / "stock")
    scenarios = {"feedback-off": lambda s: s.streaming("off"), "feedback-on": lambda s: s.streaming("on"), "reports": lambda s: s.reports(), "tids": lambda s: s.tids(),
                 "conflicts": lambda s: s.conflicts(), "toast": lambda s: s.toast(),
                 "consistency": lambda s: s.consistency()}
    for name, run in scenarios.items():
        if wanted and name not in wanted:
            continue
        failed = checks.failed
        scenario = Scenario(directory, name, checks, seconds, seed, stock)
        try:
            run(scenario)
        except Exception as error:  # pylint: disable=broad-except
            with checks.check(f"{name} runs to its end"):
                raise error
        for server in scenario.servers:
            if checks.failed > failed:
                shutil.copy(server.log, pathlib.Path(results) / server.log.name)
            server.remove()
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
