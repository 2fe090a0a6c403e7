"""Interrupts statements at the n-th CHECK_FOR_INTERRUPTS(): each gives its answer or is cancelled, and nothing else comes of it.

    interrupts.py DIRECTORY RESULTS [SEED...]

Environment: AMAX_INTERRUPT_QUERIES, AMAX_INTERRUPT_TRIES, AMAX_INTERRUPT_OTHERS (see tests/parts/37-interrupts). After each statement the session must be of use, what it
left behind must be as before, and its memory, too. The last line is "N passed, N failed", of statements.
"""

import collections
import os
import pathlib
import random
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "storage"))

from checks import Checks, equal  # pylint: disable=wrong-import-position
from server import Server  # pylint: disable=wrong-import-position
from twins import Mismatch  # pylint: disable=wrong-import-position
from play import Stage, cases  # pylint: disable=wrong-import-position
from sides import TIMEOUT, difference  # pylint: disable=wrong-import-position

SETTINGS = ["fsync = off", "autovacuum = off", "shared_buffers = '128MB'", "jit = off", "log_min_messages = log", "log_error_verbosity = terse"]
QUERIES = int(os.environ.get("AMAX_INTERRUPT_QUERIES", "40"))
TRIES = int(os.environ.get("AMAX_INTERRUPT_TRIES", "6"))
OTHERS = os.environ.get("AMAX_INTERRUPT_OTHERS")
NEVER = 1 << 30
# What a session may come to have in kB while a statement of its is repeated: caches, and what malloc() keeps.
GROWTH = 24 << 10

Statement = collections.namedtuple("Statement", "name before text after case")

BEGIN = ["BEGIN"]
UNDONE = {
    "COPY FROM": "COPY t1 FROM '{file}'",
    "INSERT": "INSERT INTO t1 (id, doc) SELECT id, doc FROM t1",
    "UPDATE": "UPDATE t1 SET doc = doc || '{{\"interrupted\": 1}}' WHERE id % 3 = 0",
    "DELETE": "DELETE FROM t1 WHERE id % 2 = 0",
    "TRUNCATE": "TRUNCATE t1; INSERT INTO t1 (id, doc) SELECT id, doc FROM t2",
    "CREATE TABLE AS": "CREATE TABLE made AS SELECT * FROM t1",
    "CREATE INDEX": "CREATE INDEX ON t1 (id); CREATE INDEX ON t1 ((doc->>'a')) WHERE id > 3; CREATE INDEX ON t1 USING gin (doc); CREATE INDEX ON t1 USING brin (id)",
    "ALTER TABLE": "CREATE TABLE made AS SELECT * FROM t1; ALTER TABLE made ADD COLUMN late float DEFAULT random(), ALTER COLUMN id TYPE numeric",
    "SET ACCESS METHOD": "ALTER TABLE t1 SET ACCESS METHOD heap; ALTER TABLE t1 SET ACCESS METHOD amax",
    "CLUSTER": "CREATE INDEX by_id ON t1 (id); CLUSTER t1 USING by_id",
    "DECLARE": "DECLARE c SCROLL CURSOR FOR SELECT * FROM t1; FETCH 5 FROM c; MOVE 9 IN c; FETCH ALL FROM c; FETCH BACKWARD ALL FROM c",
}
READ = {
    "COPY TO": "COPY t1 TO '/dev/null'",
    "COPY TO arrow": "COPY t1 (id, doc) TO '/dev/null' (FORMAT arrow)",
    "COPY TO arrow, struct": "COPY t1 (id, doc) TO '/dev/null' (FORMAT arrow, JSON struct)",
    "COPY query TO arrow": "COPY (SELECT doc->'a', count(*) FROM t1 GROUP BY 1) TO '/dev/null' (FORMAT arrow)",
    "amax.arrow": "SELECT count(*) FROM amax.arrow('SELECT id, doc FROM t1')",
    "amax.verify": "SELECT count(*) FROM amax.verify('t1')",
    "amax.columns": "SELECT count(*) FROM amax.columns('t1')",
    "amax.storage": "SELECT count(*) FROM amax.storage('t1')",
    "amax.schema": "SELECT count(*) FROM amax.schema('t1')",
    "EXPLAIN ANALYZE": "EXPLAIN (ANALYZE, BUFFERS) SELECT doc->'a', count(*) FROM t1 GROUP BY 1",
}
# Outside of transactions: what comes before makes work for them.
CHANGE = "UPDATE t1 SET id = id WHERE id % 5 = 1"
KEPT = {
    "VACUUM": "VACUUM t1",
    "VACUUM FREEZE": "VACUUM (FREEZE) t1",
    "VACUUM FULL": "VACUUM FULL t1",
    "ANALYZE": "ANALYZE t1",
    "amax.flush": "SELECT amax.flush('t1')",
    "VACUUM ANALYZE": "VACUUM (ANALYZE, PARALLEL 2) t1",
    "CREATE INDEX CONCURRENTLY": "CREATE INDEX CONCURRENTLY later ON t1 ((doc->>'a'), id)",
    "REINDEX": "REINDEX TABLE t1",
}


def statements(world, file, seed):
    for session, case in cases(world, QUERIES):
        if case.kind == "select" and not any(s.startswith(("other session", "BEGIN")) for s in session):
            yield Statement(f"seed {seed}: {case.node.sql()}", [s for s in session if s.startswith("SET ") and "ROLE" not in s], case.node.sql(), [], case)
    others = [Statement(name, BEGIN, text.format(file=file), [], None) for name, text in UNDONE.items()]
    others += [Statement(name, [], text, [], None) for name, text in READ.items()]
    others += [Statement(name, [] if name == "ANALYZE" else [CHANGE], text, ["DROP INDEX IF EXISTS later"], None) for name, text in KEPT.items()]
    yield from (other for other in others if OTHERS is None or other.name in OTHERS.split(","))


class Interrupter:
    def __init__(self, stage):
        self.stage, self.side = stage, stage.sides[1]
        self.rng = random.Random(0)
        self.interrupted = self.places = 0

    def set(self, n):
        """Sets the countdown. The first places are the end of this very statement, so it may be cancelled."""
        return self.side.run(f"SELECT public.interrupt_after({n})")

    def left(self):
        """What is left of the countdown, which ends. Its last places may be the beginning of this statement."""
        for _ in range(2):
            answer = self.set(0)
            if not answer.state:
                return int(answer.rows[0][0])
        raise Mismatch(f"the session is of no use: {answer}")

    def run(self, statement, n):
        for text in statement.before:
            self.side.must(text)
        answer = self.set(n)
        # In a transaction that this has ended nothing else is run.
        if not answer.state or statement.before != BEGIN:
            answer = self.side.run(statement.text)
        # What is left of the countdown may be spent on this, whose work is done then all the same.
        if statement.before == BEGIN and self.side.run("ROLLBACK").state:
            self.side.must("ROLLBACK")
        left = self.left()
        for text in statement.after:
            self.side.must(text)
        return answer, left

    def interrupt(self, statement):
        answer, left = self.run(statement, NEVER)
        if answer.state:
            if not statement.case:
                raise Mismatch(f"it fails by itself: {answer}")
            return f"not tried: {answer.state}"
        places = NEVER - left
        chosen = list(range(1, places + 1))
        if TRIES and places > TRIES:
            chosen = sorted(self.rng.sample(chosen, TRIES))
        resident = None
        for number, n in enumerate(chosen):
            if number == min(20, len(chosen) // 2):
                resident = self.side.resident()
            if number % 10 == 9:
                # What was rolled back would be looked at again and again.
                self.side.must("VACUUM t1")
            got, _ = self.run(statement, n)
            self.places += 1
            self.interrupted += got.state == TIMEOUT
            if got.state not in ("", TIMEOUT):
                raise Mismatch(f"interrupted at {n} of {places}: {got}")
            if statement.case and not got.state:
                what = difference(statement.case, "ordered" if statement.case.ordered else "rows", answer, got)
                if what:
                    raise Mismatch(f"interrupted at {n} of {places}, without an error: {what}: {got} instead of {answer}")
        grown = self.side.resident() - (resident or 0)
        if chosen and grown > GROWTH:
            raise Mismatch(f"grown by {grown} kB in {len(chosen)} tries")
        return f"{len(chosen)} of {places}"


def main():
    directory, results, *seeds = sys.argv[1:]
    server = Server(directory, "interrupts", SETTINGS, pathlib.Path(directory) / "pg/bin")
    server.start()
    stage = Stage(server, "play")
    with server.connect("play") as control:
        control.execute(f"CREATE FUNCTION public.interrupt_after(int) RETURNS int LANGUAGE c AS '{directory}/pg/countdown.so'")
    checks = Checks()
    interrupter = Interrupter(stage)
    for seed in map(int, seeds or ["1", "2"]):
        world = stage.make(seed)
        file = pathlib.Path(directory) / "rows"
        stage.sides[1].must(f"COPY t1 TO '{file}'")
        before = stage.sides[1].must("SELECT t1::text FROM t1 ORDER BY 1")
        for statement in statements(world, file, seed):
            with checks.check(statement.name[:300]) as said:
                stage.reset()
                said.append(interrupter.interrupt(statement))
            crashes = server.new_crashes()
            if crashes:
                print(f"a crash: {crashes[:2]}", flush=True)
                checks.failed += 1
                stage.reopen()
                stage.reset()
                interrupter.side = stage.sides[1]
        with checks.check(f"seed {seed}: what is left") as said:
            stage.reset()
            equal("rows", stage.sides[1].must("SELECT t1::text FROM t1 ORDER BY 1"), before)
            equal("problems", stage.sides[1].must("SELECT * FROM amax.verify('t1')"), [])
            if not interrupter.interrupted:
                raise Mismatch("nothing was interrupted")
            said.append(f"{interrupter.interrupted} of {interrupter.places} interrupted")
    stage.close()
    server.stop()
    if checks.failed:
        shutil.copy(server.log, results)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
