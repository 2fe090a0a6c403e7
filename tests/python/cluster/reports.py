"""Long queries on a standby whose primary only inserts, flushes and merges: heap's would not be cancelled, and neither may ours.

Nothing waits for them: max_standby_streaming_delay is 0, and there is no feedback. VACUUM leaves out heap's own tables and TOAST tables, whose
visibility map, when it is set, is a conflict that PostgreSQL makes by itself.
"""

import collections
import random
import threading
import time

from load import LOADED, PLANS, ask, compare, plan, queries
from twins import Mismatch

# The usual truncation; loads that write components.
SETUP = "".join(f"ALTER TABLE {side}_side.t RESET (vacuum_truncate); ALTER TABLE {side}_side.b RESET (vacuum_truncate); DROP INDEX {side}_side.b_id; "
                for side in ("heap", "amax"))


class Growth:
    """What a writer and VACUUM do to tables that only grow (see `load.Writer`)."""

    def __init__(self, load):
        self.load = load
        for writer in load.writers:
            writer.transaction = lambda connection, writer=writer: self.transaction(writer, connection)
        load.vacuum = self.vacuum

    def transaction(self, writer, connection):
        """Nothing is rolled back: what VACUUM removes of that from indexes is a conflict in heap as well."""
        with connection.transaction():
            for _ in range(writer.rng.randrange(1, 6)):
                self.insert(writer, connection)
        writer.commits += 1

    def insert(self, writer, connection):
        rng, salt = writer.rng, writer.rng.randrange(1000)
        if rng.random() < 0.8:
            count = rng.choice([1, 1, 3, 10, 60])
            first, writer.next = writer.next, writer.next + writer.writers * count
            writer.both(connection, f"INSERT INTO {{s}}.t SELECT i, gen.int(i, {salt}), gen.toast(i, {salt}), gen.doc(i, {salt}) "
                                    f"FROM generate_series({first}, {writer.next - 1}, {writer.writers}) i")
        else:
            batch, writer.next_batch = writer.next_batch, writer.next_batch + writer.writers
            writer.both(connection, f"INSERT INTO {{s}}.b SELECT i, {batch}, gen.doc(i, {salt}), gen.text(i, {salt}) "
                                    f"FROM generate_series({batch * LOADED}, {batch * LOADED + rng.choice([30, LOADED])}) i")
        time.sleep(0.01)

    def vacuum(self, connection):
        connection.execute(f"VACUUM (VERBOSE, PROCESS_TOAST false) amax_side.{random.choice(['t', 'b'])}")
        self.load.vacuums += 1
        time.sleep(0.5)


class Reports:
    """Sessions that stay in one snapshot for all of the time."""

    def __init__(self, standby, seconds, seed):
        self.standby, self.seconds, self.seed = standby, seconds, seed
        self.until = time.monotonic() + seconds
        self.problems, self.did = [], collections.Counter()
        jobs = [self.again, self.fresh]
        jobs += [lambda rng, c=c: self.cursor(*c) for c in [
            ("seqscan", "SELECT x::text FROM {s}_side.t x"), ("seqscan", "SELECT x::text FROM {s}_side.b x"),
            ("indexscan", "SELECT x::text FROM {s}_side.t x ORDER BY id"),
            ("seqscan", "SELECT id, doc->>'k', length(note) FROM {s}_side.b WHERE doc->>'k' IS NOT NULL OR id > 0"),
            ("bitmapscan", "SELECT x::text FROM {s}_side.t x WHERE k > -1000000")]]
        jobs.append(self.slow)
        self.threads = [threading.Thread(target=self.thread, args=(job, n)) for n, job in enumerate(jobs)]

    def thread(self, job, number):
        try:
            job(random.Random(f"report {self.seed} {number}"))
        except Exception as error:  # pylint: disable=broad-except
            self.problems.append(f"session {number}: {type(error).__name__} {getattr(error, 'sqlstate', '')} {error}")

    def snapshot(self, connection):
        """Begins a transaction, and holds what heap has in it against what is read later."""
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT 1")

    def again(self, rng):
        """The same questions in one snapshot, by every plan."""
        with self.standby.connect("load", prepare_threshold=None) as connection:
            self.snapshot(connection)
            wanted = [(q, ask(connection, q, "heap")) for q in queries(rng)]
            while time.monotonic() < self.until:
                query, answer = rng.choice(wanted)
                name = rng.choice(list(PLANS))
                plan(connection, name)
                got = ask(connection, query, "amax")
                if got != answer:
                    raise Mismatch(f"{query} ({name}): heap {str(answer)[:1000]}, amax {str(got)[:1000]}")
                self.did["again"] += 1

    def fresh(self, rng):
        """Queries in new snapshots."""
        with self.standby.connect("load", prepare_threshold=None) as connection:
            while time.monotonic() < self.until:
                compare(connection, rng, 2)
                self.did["fresh"] += 1

    def cursor(self, name, query):
        """A cursor whose rows are fetched little by little: it stays in a leaf, or at a row page, for long."""
        with self.standby.connect("load", prepare_threshold=None) as connection:
            self.snapshot(connection)
            wanted = collections.Counter(connection.execute(query.replace("{s}", "heap")).fetchall())
            plan(connection, name)
            connection.execute(f"DECLARE c CURSOR FOR {query.replace('{s}', 'amax')}")
            got = collections.Counter()
            steps = 20
            for step in range(steps):
                got.update(connection.execute(f"FETCH {1 if step < 3 else len(wanted) // steps} FROM c").fetchall())
                time.sleep(max(0, self.until - time.monotonic()) / (steps - step))
            got.update(connection.execute("FETCH ALL FROM c").fetchall())
            if got != wanted:
                raise Mismatch(f"cursor on {query} ({name}): missing {str(list((wanted - got).items()))[:600]}, too many {str(list((got - wanted).items()))[:600]}")
            self.did["cursor"] += 1

    def slow(self, _rng):
        """One query that takes all of the time."""
        with self.standby.connect("load", prepare_threshold=None) as connection:
            self.snapshot(connection)
            query = "SELECT x::text FROM {s}_side.t x"
            wanted = collections.Counter(connection.execute(query.replace("{s}", "heap")).fetchall())
            pause = (self.until - time.monotonic()) / len(wanted)
            slowly = f"SELECT x::text FROM amax_side.t x WHERE pg_sleep({pause}) IS NOT NULL AND length(note) + length(doc::text) IS DISTINCT FROM -1"
            if collections.Counter(connection.execute(slowly).fetchall()) != wanted:
                raise Mismatch(f"another answer than heap's to {slowly}")
            self.did["slow"] += 1

    def run(self):
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()
        if self.problems:
            raise Mismatch("\n".join(self.problems))
        with self.standby.connect("load") as control:
            conflicts = control.execute("SELECT confl_tablespace + confl_lock + confl_snapshot + confl_bufferpin + confl_deadlock "
                                        "FROM pg_stat_database_conflicts WHERE datname = 'load'").fetchone()[0]
        if conflicts:
            raise Mismatch(f"{conflicts} queries were cancelled")
        return ", ".join(f"{n} {what}" for what, n in sorted(self.did.items()))
