"""Generated statements, cancelled at any time, whose results are read wholly, in part or not at all: each gives an answer or an error of SQL's.

    cancels.py DIRECTORY RESULTS

Environment: AMAX_CANCELLED (see tests/parts/37-interrupts), AMAX_SEED (the first world's). The server goes on, the session is of use, and nothing is left
behind. Answers are not compared here. The last line is "N passed, N failed", of worlds.
"""

import collections
import os
import pathlib
import random
import select
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "storage"))

from psycopg import pq  # pylint: disable=wrong-import-position

from checks import Checks, equal  # pylint: disable=wrong-import-position
from interrupts import SETTINGS  # pylint: disable=wrong-import-position
from server import Server  # pylint: disable=wrong-import-position
from twins import Mismatch  # pylint: disable=wrong-import-position
from play import BATCH, Stage, settings  # pylint: disable=wrong-import-position
from shapes import Shapes  # pylint: disable=wrong-import-position
from sides import INTERNAL, LOST, TIMEOUT  # pylint: disable=wrong-import-position

STATEMENTS = int(os.environ.get("AMAX_CANCELLED", "600"))
PER_WORLD = 300
# What a session may have in kB after a world's statements: caches, and what malloc() keeps.
MOST = 512 << 10
LEFT = {
    "locks": "SELECT count(*) FROM pg_locks WHERE relation >= 16384 AND pid <> pg_backend_pid()",
    "temporary files": "SELECT count(*) FROM pg_ls_tmpdir()",
    "parallel workers": "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'",
}


def beside(shapes, rng):
    """Set-returning functions beside negations, constants and comparisons whose collation nobody can tell."""
    relation, make = shapes.one()
    call = shapes.call(make)
    if not call:
        return shapes.rows().node.sql()
    items = [shapes.called(call).sql()]
    for _ in range(rng.randint(1, 3)):
        items.append(rng.choice([
            lambda: f"NOT ({make.condition().sql()})", lambda: make.literal(rng.choice(["int", "text", "numeric"])).sql(), lambda: "NULL",
            lambda: shapes.called(shapes.call(make) or call).sql(), lambda: f"NOT NOT ({make.condition().sql()})"])())
    where = rng.choice(["", f" WHERE {make.condition().sql()}", f" WHERE NOT ({make.condition().sql()})", " WHERE false", " WHERE NULL"])
    if rng.random() < 0.4:
        texts = ", ".join(f'{make.simple("text").sql()} COLLATE "{collation}" AS {name}' for name, collation in (("c1", "C"), ("c2", "POSIX")))
        compared = rng.choice(["c1 < c2", "NOT c1 = c2", "c1 <> c2", "c1 LIKE c2", "greatest(c1, c2)", "CASE WHEN false THEN c1 < c2 END"])
        condition = rng.choice(["", " WHERE c1 >= c2", " WHERE false AND c1 > c2", " WHERE NOT (c1 IS NULL OR c1 <= c2)"])
        return f"SELECT {rng.choice([compared, 'count(*)', 'min(c1)', 'x, c1'])} FROM (SELECT {items[0]} AS x, {texts} FROM {relation.sql}{where}) q{condition}" \
               + rng.choice(["", " GROUP BY x, c1, c2", " LIMIT 3"])
    rng.shuffle(items)
    return f"SELECT {', '.join(items)} FROM {relation.sql}{where}"


def steps(shapes, rng):
    """What is said of one generated query, and how many of its rows are read (None: all)."""
    case = shapes.case()
    while case.kind != "select":
        case = shapes.case()
    text = beside(shapes, rng) if rng.random() < 0.2 else case.node.sql()
    draw = rng.random()
    if draw < 0.4:
        return [text], None
    if draw < 0.55:
        return [text], rng.choice([0, 1, 5, 100])
    if draw < 0.75:
        fetch = rng.choice([[], [], ["FETCH 1 FROM c"], [f"FETCH {rng.randint(2, 50)} FROM c"], ["FETCH ALL FROM c"], ["MOVE 3 FROM c", "CLOSE c"]])
        return [f"DECLARE c {rng.choice(['', 'NO SCROLL', 'SCROLL'])} CURSOR{rng.choice(['', '', ' WITH HOLD'])} FOR {text}"] + fetch, None
    return [rng.choice(["SELECT count(*) FROM ({}) z", "SELECT FROM ({}) z", "SELECT WHERE EXISTS ({})", "SELECT FROM ({}) z LIMIT 1", "SELECT FROM ({}) z LIMIT 0",
                        "EXPLAIN (ANALYZE, VERBOSE) {}", "EXPLAIN {}", "SELECT 1 FROM (SELECT count(*) FROM ({}) z) y", "CREATE TEMP TABLE made AS SELECT count(*) FROM ({}) z"])
            .format(text)], None


class Canceller:
    def __init__(self, stage, seed):
        self.stage, self.side = stage, stage.sides[1]
        self.rng = random.Random(f"cancels {seed}")
        self.states = collections.Counter()

    def read(self, most):
        """Up to so many rows, one by one; then the rest is cancelled. None if the statement gave no more."""
        link = self.side.link
        for _ in range(most):
            result = link.get_result()
            if result is None or result.status != pq.ExecStatus.SINGLE_TUPLE:
                return result is not None and result.status == pq.ExecStatus.FATAL_ERROR and result or None
        return True

    def say(self, text, most):
        """A statement, cancelled at some time, or not."""
        link, rng = self.side.link, self.rng
        self.side.send(text)
        if most is not None:
            link.set_single_row_mode()
            seen = self.read(most)
            link.get_cancel().cancel()
            answer = self.side.answer()
            if isinstance(seen, pq.PGresult):
                answer.state = seen.error_field(pq.DiagnosticField.SQLSTATE).decode()
            return answer
        # Not after the answer has begun: most are there within some milliseconds.
        if rng.random() < 0.8 and not select.select([link.socket], [], [], 10 ** rng.uniform(-5, -1.5))[0]:
            link.get_cancel().cancel()
        return self.side.answer()

    def ready(self):
        """The session is of use. A cancel that came late may be this statement's."""
        for _ in range(3):
            answer = self.side.run("ROLLBACK")
            if not answer.state:
                break
        if answer.state:
            raise Mismatch(f"the session is of no use: {answer}")

    def run(self, said, most):
        cursor = said[0].startswith("DECLARE")
        for text in (["BEGIN"] if cursor else []) + said:
            answer = self.say(text, most if text != "BEGIN" else None)
            self.states[answer.state] += 1
            if answer.state == LOST or INTERNAL.match(answer.state or "-"):
                raise Mismatch(f"{answer}\n{text}")
            if answer.state:
                break
        self.ready()
        if cursor or said[0].startswith("CREATE"):
            for text in ("CLOSE ALL", "DROP TABLE IF EXISTS pg_temp.made"):
                if self.side.run(text).state:
                    self.side.must(text)

    def world(self, world, count):
        for start in range(0, count, BATCH):
            risky = self.rng.random() < 0.4
            self.stage.reset()
            for statement in settings(self.rng, world, risky):
                if statement.startswith("SET "):
                    self.side.must(statement)
            for _ in range(min(BATCH, count - start)):
                self.run(*steps(Shapes(world, self.rng, risky), self.rng))


def nothing_left(control):
    for what, query in LEFT.items():
        deadline = time.monotonic() + 30
        while control.execute(query).fetchone() != (0,):
            if time.monotonic() > deadline:
                raise Mismatch(f"{what} are left: {control.execute(query).fetchone()}")
            time.sleep(0.05)


def main():
    directory, results = sys.argv[1:3]
    server = Server(directory, "cancels", SETTINGS)
    server.start()
    checks = Checks()
    total = collections.Counter()
    first = int(os.environ.get("AMAX_SEED", "1"))
    for number in range(-(-STATEMENTS // PER_WORLD)):
        seed = first + number
        with checks.check(f"seed {seed}") as said:
            stage = Stage(server, "play")
            world = stage.make(seed)
            rows = "SELECT t1::text FROM t1 ORDER BY 1"
            before = stage.sides[1].must(rows)
            canceller = Canceller(stage, seed)
            canceller.world(world, min(PER_WORLD, STATEMENTS - number * PER_WORLD))
            stage.reset()
            equal("rows", stage.sides[1].must(rows), before)
            equal("problems", stage.sides[1].must("SELECT * FROM amax.verify('t1')"), [])
            if canceller.side.resident() > MOST:
                raise Mismatch(f"the session has {canceller.side.resident()} kB")
            with server.connect("play") as control:
                nothing_left(control)
            total += canceller.states
            said += [f"{count} {state or 'answers'}" for state, count in canceller.states.most_common()]
            stage.close()
        crashes = server.new_crashes()
        if crashes:
            print(f"a crash: {crashes[:2]}", flush=True)
            checks.failed += 1
    if not total[TIMEOUT] or not total[""]:
        print("FAILED  nothing was cancelled, or everything", flush=True)
        checks.failed += 1
    print(f"{sum(total.values())} statements: {dict(total)}", flush=True)
    server.stop()
    if checks.failed:
        shutil.copy(server.log, results)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
