"""Several sessions on the twins, one step at a time, so that what must match is known.

Every statement of a transaction runs on the first twin, then on the second, in the same transaction. Row locks are kept to the
transaction's end, so whoever was let through on the first twin must be let through, without waiting, on the second, and with the same
result: with heap first, amax must not wait or fail where heap did not; with amax first, heap shows what amax should have waited for.

So that the answers do not depend on when a wait ends: under READ COMMITTED statements name one row by a key that is never given
again; under REPEATABLE READ, where both twins are read with one snapshot, they are free.
"""

import queue
import random
import threading
import time

import psycopg

from statements import LOCKS
from twins import INTERNAL, Mismatch, Outcome, Twins, difference

ROWS = 60
ALLOWED = ("40001", "40P01", "23505", "55P03")
PATIENCE = 40.0  # seconds


class Session:
    """A connection and the thread that runs its steps."""

    def __init__(self, number, connection, order):
        self.number, self.connection, self.order = number, connection, order
        self.pid = connection.info.backend_pid
        self.level = None  # of the open transaction
        self.savepoints = []
        self.prepared = False
        self.phase = ""
        self.done = threading.Event()
        self.done.set()
        self.started = 0.0
        self.problem = None
        self.note = ""
        self.queue = queue.SimpleQueue()
        threading.Thread(target=self.work, daemon=True).start()

    @property
    def gid(self):
        return f"{self.connection.info.dbname} {self.number}"

    def ending(self, how):
        """COMMIT or ROLLBACK, of what was prepared if anything was."""
        return f"{how} PREPARED '{self.gid}'" if self.prepared else how

    @property
    def busy(self):
        return not self.done.is_set()

    def give(self, job, *arguments):
        self.done.clear()
        self.started = time.monotonic()
        self.queue.put((job, arguments))

    def work(self):
        while (item := self.queue.get()) is not None:
            job, arguments = item
            try:
                self.note = job(*arguments)
            except Exception as error:  # pylint: disable=broad-except
                self.problem = error if isinstance(error, Mismatch) else Mismatch(f"session {self.number}: {type(error).__name__} {error}")
            self.phase = ""
            self.done.set()

    def execute(self, statement):
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(statement)
                return Outcome(rows=cursor.fetchall() if cursor.description else None, count=cursor.rowcount)
        except psycopg.Error as error:
            if self.connection.closed or error.sqlstate in INTERNAL:
                raise Mismatch(f"session {self.number}: {error.sqlstate} {error} in: {statement}") from error
            return Outcome(error=error.sqlstate or "?", message=str(error))

    # Jobs

    def plain(self, statement):
        outcome = self.execute(statement)
        if outcome.error:
            raise Mismatch(f"session {self.number}: {outcome.error} {outcome.message} in: {statement}")
        return "ok"

    def maintain(self, statement):
        outcome = self.execute(statement)
        if outcome.error and outcome.error not in ("40P01",):
            raise Mismatch(f"session {self.number}: {outcome.error} {outcome.message} in: {statement}")
        return outcome.error or "ok"

    def pair(self, statement):
        """The statement on both twins. An error on the first one ends the transaction."""
        outcomes = []
        for self.phase in self.order:
            outcomes.append(self.execute(statement.replace("{t}", f"{self.phase}_side.t")))
            if outcomes[0].error:
                self.end("ROLLBACK")
                if outcomes[0].error not in ALLOWED:
                    raise Mismatch(f"session {self.number}: {outcomes[0].error} {outcomes[0].message} in: {statement}")
                return f"{outcomes[0].error} on {self.phase}, rolled back"
        self.compare(statement, outcomes)
        return f"{outcomes[0].count} rows"

    def careful(self, statement):
        """As `pair`, for statements that may fail (NOWAIT): both must, and the transaction goes on."""
        outcomes = []
        for self.phase in self.order:
            self.plain("SAVEPOINT careful")
            outcomes.append(self.execute(statement.replace("{t}", f"{self.phase}_side.t")))
            self.plain("ROLLBACK TO careful" if outcomes[-1].error else "RELEASE careful")
        self.compare(statement, outcomes)
        return outcomes[0].error or f"{outcomes[0].count} rows"

    def compare(self, statement, outcomes):
        by_side = dict(zip(self.order, outcomes))
        if outcomes[0].error != outcomes[1].error or outcomes[0].comparable() != outcomes[1].comparable():
            raise Mismatch(f"session {self.number} ({self.level}) in: {statement}\nerrors: " + ", ".join(
                f"{k}: {v.error or 'ok'} {v.message}" for k, v in by_side.items()) + "\n" + difference(by_side["heap"], by_side["amax"]))

    def end(self, how):
        outcome = self.execute(how)
        self.level, self.savepoints = None, []
        self.prepared = how.startswith("PREPARE")
        if outcome.error:
            raise Mismatch(f"session {self.number}: {outcome.error} {outcome.message} in: {how}")
        return "ok"


class Schedule:
    def __init__(self, server, database, seed, settings, order):
        self.rng = random.Random(f"{order} {seed}")
        self.order = order.replace("-first", "")
        sides = ["heap", "amax"] if self.order == "heap" else ["amax", "heap"]
        self.twins = Twins(server, database, seed, settings)
        self.log = self.twins.log
        self.twins.both("CREATE TABLE t (id int PRIMARY KEY, v int, doc jsonb, pad text)")
        self.twins.both("CREATE INDEX t_v ON t (v)")
        self.twins.both("CREATE INDEX t_doc ON t USING gin (doc)")
        self.twins.both(f"INSERT INTO t SELECT i, i % 7, jsonb_build_object('k', i % 10, 'list', jsonb_build_array(i)), repeat('x', i) FROM generate_series(1, {ROWS}) i")
        if self.rng.random() < 0.8:
            for side in self.twins.sides:
                side.connection.execute("VACUUM t")
        self.control = server.connect(database, prepare_threshold=None)
        self.sessions = [Session(n, server.connect(database, prepare_threshold=None), sides) for n in range(1, self.rng.choice([3, 4]))]
        self.janitor = Session(9, server.connect(database, prepare_threshold=None), sides)
        self.everybody = self.sessions + [self.janitor]
        self.next_id = 1000
        self.old = list(range(1, ROWS + 1))
        self.new = []
        self.steps = 0

    # What sessions do

    def row(self):
        return self.rng.choice(self.new[-6:]) if self.new and self.rng.random() < 0.2 else self.rng.choice(self.old[:8] if self.rng.random() < 0.6 else self.old)

    def fresh(self):
        self.next_id += 1
        return self.next_id

    def change(self):
        return self.rng.choice(["v = v + 1", "doc = doc || '{\"changed\": 1}'", "pad = pad || 'y'", f"v = {self.rng.randrange(9)}, doc = jsonb_set(doc, '{{k}}', '{self.rng.randrange(10)}')"])

    def single_row(self):
        """For READ COMMITTED."""
        rng, key = self.rng, self.row()
        draw = rng.random()
        if draw < 0.30:
            return f"UPDATE {{t}} SET {self.change()} WHERE id = {key}{rng.choice(['', ' AND v % 2 = 0', ' AND v < 6'])} RETURNING *"
        if draw < 0.36:
            return f"UPDATE {{t}} SET id = {self.fresh()} WHERE id = {rng.choice(self.old)} RETURNING *"
        if draw < 0.46:
            return f"DELETE FROM {{t}} WHERE id = {rng.choice(self.old)} RETURNING *"
        if draw < 0.66:
            return f"SELECT * FROM {{t}} WHERE id = {key} {rng.choice(LOCKS)}"
        if draw < 0.80:
            if rng.random() < 0.5 or not self.new:
                self.new.append(self.fresh())
            key = rng.choice(self.new[-4:])
            action = rng.choice(["", " ON CONFLICT DO NOTHING", " ON CONFLICT (id) DO UPDATE SET v = o.v + 1, pad = excluded.pad"])
            return f"INSERT INTO {{t}} AS o VALUES ({key}, {rng.randrange(9)}, '{{\"k\": 3}}', 'new'){action} RETURNING *"
        if draw < 0.88:
            return f"MERGE INTO {{t}} t USING (SELECT {key}) s(i) ON t.id = s.i WHEN MATCHED AND v % 3 = 0 THEN UPDATE SET {self.change()} WHEN MATCHED THEN UPDATE SET v = v + 3"
        return rng.choice(["SELECT count(*), sum(v) FROM {t}", "SELECT * FROM {t} WHERE doc @> '{\"k\": 3}'", "SELECT id FROM {t} WHERE v = 3"])

    def many_rows(self):
        """For REPEATABLE READ."""
        rng = self.rng
        low = self.row()
        where = rng.choice([f"id BETWEEN {low} AND {low + rng.randrange(12)}", f"v = {rng.randrange(8)}", f"doc @> '{{\"k\": {rng.randrange(10)}}}'", f"id IN ({low}, {self.row()})"])
        draw = rng.random()
        if draw < 0.30:
            return f"UPDATE {{t}} SET {self.change()} WHERE {where} RETURNING *"
        if draw < 0.36:
            return f"DELETE FROM {{t}} WHERE {where} AND id % 4 = 0 RETURNING *"
        if draw < 0.60:
            return f"SELECT * FROM {{t}} WHERE {where} {rng.choice(LOCKS)}"
        if draw < 0.75:
            return self.single_row()
        return rng.choice(["SELECT count(*), sum(v) FROM {t}", f"SELECT * FROM {{t}} WHERE {where}", "SELECT count(*) FROM {t} WHERE id > 0"])

    def step(self):
        rng = self.rng
        free = [s for s in self.sessions if not s.busy]
        if not self.janitor.busy and rng.random() < 0.10:
            side = rng.choice(["amax", "amax", "amax", "heap"])
            statement = rng.choice(["VACUUM"] * 6 + ["VACUUM (FREEZE)", "ANALYZE", "REINDEX TABLE CONCURRENTLY"]) + f" {side}_side.t"
            return self.do(self.janitor, self.janitor.maintain, statement)
        if not free:
            # The waiting ones wait for each other: the deadlock detector ends that. Nothing to do but wait.
            return time.sleep(0.02)
        session = rng.choice(free)
        if session.prepared:
            return self.do(session, session.end, session.ending(rng.choice(["COMMIT", "COMMIT", "ROLLBACK"])))
        if session.level is None:
            session.level = rng.choice(["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ"])
            return self.do(session, session.plain, f"BEGIN ISOLATION LEVEL {session.level}")
        draw = rng.random()
        if draw < 0.03:
            return self.do(session, session.end, f"PREPARE TRANSACTION '{session.gid}'")
        if draw < 0.18:
            return self.do(session, session.end, "COMMIT")
        if draw < 0.24:
            return self.do(session, session.end, "ROLLBACK")
        if draw < 0.30:
            session.savepoints.append(f"p{len(session.savepoints)}")
            return self.do(session, session.plain, f"SAVEPOINT {session.savepoints[-1]}")
        if draw < 0.36 and session.savepoints:
            return self.do(session, session.plain, f"ROLLBACK TO {session.savepoints[-1]}")
        if draw < 0.46 and not any(s.busy for s in self.everybody):
            where = rng.choice([f"id = {self.row()}", f"id < {rng.randrange(20)}", f"v = {rng.randrange(8)}"])
            return self.do(session, session.careful, f"SELECT * FROM {{t}} WHERE {where} {rng.choice(LOCKS)} {rng.choice(['NOWAIT', 'SKIP LOCKED'])}")
        return self.do(session, session.pair, self.single_row() if session.level == "READ COMMITTED" else self.many_rows())

    def do(self, session, job, statement):
        self.steps += 1
        self.log.append(f"/* session {session.number} */ {statement}")
        session.give(job, statement)
        session.done.wait(0.005)
        self.settle()

    def settle(self):
        """Waits until every session has finished its step or waits for a lock that an idle session holds."""
        quiet = 0
        while True:
            for session in self.everybody:
                if session.problem:
                    raise session.problem
            busy = [s for s in self.everybody if s.busy]
            if not busy:
                return
            blocked = {}
            for session in busy:
                blocked[session.pid] = self.control.execute("SELECT pg_blocking_pids(%s)", [session.pid]).fetchone()[0]
            if not blocked.get(self.janitor.pid, True) and len(blocked) > 1 and self.waits_for_pin(self.janitor):
                # Whoever waits for a row keeps its page pinned, in heap as well.
                blocked[self.janitor.pid] = [pid for pid in blocked if pid != self.janitor.pid]
            still = [s for s in busy if s.busy]
            waiting_for_idle = still and all(blocked[s.pid] for s in still) and not cyclic(blocked)
            quiet = quiet + 1 if waiting_for_idle and len(still) == len(busy) else 0
            if quiet >= 3:
                second = [s for s in still if s.phase == s.order[1] and self.janitor.pid not in blocked[s.pid]]
                if second:
                    raise Mismatch(f"session {second[0].number} waits on {second[0].phase} for a row it was given at once on {second[0].order[0]}: "
                                   f"blocked by {blocked[second[0].pid]}")
                return
            late = [s for s in still if time.monotonic() - s.started > PATIENCE and not blocked[s.pid]]
            if late:
                activity = self.control.execute("SELECT pid, wait_event_type, wait_event, state, left(query, 100) FROM pg_stat_activity WHERE pid = %s", [late[0].pid]).fetchall()
                raise Mismatch(f"session {late[0].number} hangs: {activity}")
            time.sleep(0.002 if quiet < 1 else 0.008)

    def waits_for_pin(self, session):
        return self.control.execute("SELECT wait_event = 'BufferPin' FROM pg_stat_activity WHERE pid = %s", [session.pid]).fetchone() == (True,)

    def finish(self):
        """Everybody commits; then contents, indexes and checks must agree."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self.settle()
            free = [s for s in self.sessions if not s.busy and (s.level or s.prepared)]
            if free:
                self.do(free[0], free[0].end, free[0].ending(self.rng.choice(["COMMIT", "ROLLBACK"])))
            elif not any(s.busy for s in self.everybody):
                break
            elif time.monotonic() > deadline:
                raise Mismatch("sessions wait although nobody is in a transaction")
            else:
                time.sleep(0.01)

    def check(self):
        twins = self.twins
        twins.same_rows()
        twins.except_all()
        twins.healthy(["t"])
        for condition in ("v = 3", "v BETWEEN 1 AND 5", "doc @> '{\"k\": 3}'", "id > 20"):
            for setting in ("enable_seqscan = off", "enable_indexscan = off", "enable_bitmapscan = off"):
                for side in twins.sides:
                    side.connection.execute(f"SET {setting}")
                twins.same_rows(condition=condition)
                twins.same_answers(f"SELECT count(*) FROM t WHERE {condition}")
                for side in twins.sides:
                    side.connection.execute(f"RESET {setting.split()[0]}")

    def rewrite(self):
        """What needs the table for itself."""
        if self.rng.random() < 0.5:
            statement = self.rng.choice(["VACUUM FULL t", "CLUSTER t USING t_pkey", "CLUSTER t USING t_v"])
            self.log.append(statement)
            self.twins.amax.query(statement)
            self.twins.same_rows()

    def close(self):
        for session in self.everybody:
            session.queue.put(None)
            try:
                if not session.busy:
                    session.connection.close()
                else:
                    session.connection.cancel_safe(timeout=5)
            except psycopg.Error:
                pass
        self.control.close()
        self.twins.close()


def cyclic(blocked):
    """Whether some of those that wait, wait for each other."""
    waiting = {pid: set(by) & set(blocked) for pid, by in blocked.items()}
    while True:
        free = [pid for pid, by in waiting.items() if not by & set(waiting)]
        if not free:
            return bool(waiting)
        for pid in free:
            del waiting[pid]


def run(server, database, seed, mode, settings, seconds, order):
    schedule = Schedule(server, database, seed, settings, order)
    try:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            schedule.step()
            if schedule.steps % 150 == 0:
                schedule.finish()
                schedule.check()
                schedule.rewrite()
        schedule.finish()
        schedule.check()
        return f"{schedule.steps} steps of {len(schedule.sessions)} sessions, {schedule.twins.reached(mode)}"
    except Mismatch as error:
        raise Mismatch(str(error.args[0]), schedule.log) from error
    finally:
        schedule.close()
