"""Random queries on random documents, on heap and on amax.

    queries.py DIRECTORY RESULTS [SEED...]

Environment: AMAX_QUERY_SECONDS (default 60), AMAX_QUERIES (as many and no time limit), AMAX_SEED (the first world's; 0: from the clock),
AMAX_QUERY_JOBS (default 2), AMAX_QUERIES_PER_WORLD (default 240), AMAX_REDUCE_SECONDS (for each finding, default 60).
AMAX_COMPANIONS: libraries that plan along (play.py); all queries are explained, too.
A finding is written to RESULTS as a psql script. The last line is "N passed, N failed", of queries.
"""

import collections
import itertools
import multiprocessing
import os
import pathlib
import re
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "storage"))

from server import Server  # pylint: disable=wrong-import-position
from play import COMPANIONS, Finding, Stage, cases  # pylint: disable=wrong-import-position
from reduce import Reducer, script  # pylint: disable=wrong-import-position
from shapes import SHAPES  # pylint: disable=wrong-import-position
from worlds import World  # pylint: disable=wrong-import-position

SETTINGS = ["fsync = off", "autovacuum = off", "max_wal_size = '2GB'", "shared_buffers = '128MB'", "jit = off", "max_locks_per_transaction = 256",
            "log_min_messages = log", "log_error_verbosity = terse"]
# Every other server begins with the library, and has room of its own for some of the columns that are shared: docs/tuning.md.
PRELOADED = ["shared_preload_libraries = 'amax'", "min_dynamic_shared_memory = '16MB'"]
# Reduced at most; more of them rarely say more.
MOST_FINDINGS = 8


class Worker:
    """Plays worlds one after the other and reports on a queue."""

    def __init__(self, directory, number, results, deadline):
        self.deadline = deadline
        self.server = Server(directory, f"queries{number}", SETTINGS + (PRELOADED if number % 2 == 1 else []))
        self.server.start()
        self.plain = number % 2 == 1
        self.stage = Stage(self.server, "play", self.plain)
        self.small = None
        self.results = pathlib.Path(results)
        self.count = collections.Counter()
        self.signatures = collections.Counter()

    def world(self, seed, queries):
        """Plays a world; returns what it counted and the findings' texts."""
        self.count.clear()
        texts = []
        world = World(seed)
        try:
            self.stage.reset()
            self.stage.build(world.steps)
            if "hypopg" in COMPANIONS:
                self.stage.suppose(world.hypothetical())
        except Finding as finding:
            return self.count, [self.report(world, finding)]
        rows = self.stage.sides[1].must("SELECT sum(n.rows) FROM pg_class c, amax.components(c.oid) n WHERE relnamespace = 'amax_side'::regnamespace AND relkind = 'r' "
                                        "AND relam = (SELECT oid FROM pg_am WHERE amname = 'amax')")
        self.count["columnar rows"] += int(rows[0][0] or 0)
        before = None
        for session, case in cases(world, queries):
            if time.monotonic() > self.deadline:
                break
            try:
                if session is not before:
                    self.stage.reset()
                    before = session
                    self.stage.enter(session)
                answer = self.stage.run(case, session)
                state = answer.state
                self.count["queries"] += 1
                self.count["expressions"] += case.expressions
                self.count[f"{'risky ' if case.risky else ''}{state[:2] or 'fine'}"] += 1
                if state.startswith("42") or state and not case.risky and state not in ("40001", "24000"):
                    # The generator's own mistakes; a query that says nothing.
                    self.count["invalid"] += 1
                    if os.environ.get("AMAX_SHOW_INVALID"):
                        print(f"invalid: {case.node.sql()}\n    {answer}", flush=True)
                if (COMPANIONS or self.count["queries"] % 4 == 0) and case.kind != "change":
                    self.count["plans"] += 1
                    plan = self.stage.explain(case)[1]
                    self.count["custom scans"] += "Custom Scan" in plan
                    self.count["fetches"] += "AmaxFetch" in plan
                    self.count["top nodes"] += "AmaxTop" in plan
                    self.count["top nodes of groups"] += "AmaxTop" in plan and "Unique" in plan
                    self.count["unnesting scans"] += "AmaxUnnest" in plan
                    self.count["hypothetical indexes"] += bool(re.search(r"<\d+>", plan))
            except Finding as finding:
                texts.append(self.report(world, finding))
                before = None
                if finding.what == "the connection was lost":
                    self.stage.reopen()
                    break
                if len(texts) >= 3:
                    break
        return self.count, texts

    def report(self, world, finding):
        """Reduces a finding, writes it to a file, and returns a text that describes it."""
        case, steps, session = finding.case, world.steps, finding.session
        signature = (finding.what, re.sub(r"[\d'\"].*", "", finding.amax.message))
        lost = "lost" in (finding.heap.state, finding.amax.state)
        if lost:
            self.stage.reopen()
            if self.small:
                self.small.reopen()
        name = self.results / f"{world.seed}-{len(list(self.results.glob(f'{world.seed}-*'))) + 1}.sql"
        original = case.node.sql() if case else finding.statement
        reduced = False
        seconds = float(os.environ.get("AMAX_REDUCE_SECONDS", "60"))
        if case and seconds and self.signatures.total() < MOST_FINDINGS and self.signatures[signature] < 3:
            self.signatures[signature] += 1
            self.small = self.small or Stage(self.server, "small", self.plain)
            reducer = Reducer(self.small, finding, steps, seconds)
            reduced = reducer.run()
            finding, steps, session = reducer.finding, reducer.steps, reducer.session
        plans = ["", ""]
        if case and not lost:
            try:
                stage = self.small if reduced else self.stage
                plans = stage.explain(case)
            except Exception as error:  # pylint: disable=broad-except
                plans = [str(error), ""]
        name.write_text(script(world.seed, finding, steps, session, case, plans) + f"-- before reduction: {original}\n".replace("\n", " ") + "\n")
        rows = sum(len(s[2]) for s in steps if s[0] == "copy")
        crashes = "\n".join(self.server.new_crashes()[:2])
        return f"seed {world.seed}: {finding.what} ({'reduced' if reduced else 'not reduced'}, {rows} rows, {name.name})\n{finding.statement}\nheap: {finding.heap}\namax: {finding.amax}\n" \
               f"heap's plan:\n{plans[0]}\namax's plan:\n{plans[1]}\n{crashes}"


def work(directory, number, results, seeds, stop, deadline, queries, queue):
    try:
        worker = Worker(directory, number, results, deadline)
        try:
            for seed in seeds:
                if stop.is_set() or time.monotonic() > deadline:
                    break
                count, texts = worker.world(seed, queries)
                queue.put((dict(count), texts))
        finally:
            worker.server.kill()
    except Exception:  # pylint: disable=broad-except
        queue.put(({}, [traceback.format_exc()]))
    queue.put(None)


def main():
    directory, results, *only = sys.argv[1:]
    first = int(os.environ.get("AMAX_SEED", "1")) or time.time_ns() // 1_000_000 % 100_000_000
    wanted = int(os.environ.get("AMAX_QUERIES", "0"))
    seconds = float(os.environ.get("AMAX_QUERY_SECONDS", "60")) if not wanted and not only else float("inf")
    jobs = 1 if only else int(os.environ.get("AMAX_QUERY_JOBS", "2"))
    seeds = [[int(seed) for seed in only]] if only else [itertools.count(first + number, jobs) for number in range(jobs)]
    queries = int(os.environ.get("AMAX_QUERIES_PER_WORLD", "240"))
    print(f"seed {' '.join(only) or first} (AMAX_SEED), {jobs} jobs", flush=True)
    started = time.monotonic()
    deadline = started + seconds
    queue, stop = multiprocessing.Queue(), multiprocessing.Event()
    workers = [multiprocessing.Process(target=work, args=(directory, n, results, s, stop, deadline, queries, queue)) for n, s in enumerate(seeds)]
    for worker in workers:
        worker.start()
    total, failures, worlds, running, shown = collections.Counter(), 0, 0, jobs, started
    while running:
        item = queue.get()
        if item is None:
            running -= 1
            continue
        count, texts = item
        worlds += 1
        total.update(count)
        failures += len(texts)
        for text in texts:
            print("FAILED  " + text[:6000].replace("\n", "\n    "), flush=True)
        now = time.monotonic()
        if now - shown > 30:
            shown = now
            print(f"        {worlds} worlds, {total['queries']} queries, {total['queries'] / (now - started):.0f} a second, {failures} failures", flush=True)
        if (wanted and total["queries"] >= wanted) or failures > 60:
            stop.set()
    for worker in workers:
        worker.join()
    print(f"{worlds} worlds, {total['queries']} queries in {time.monotonic() - started:.0f} s; " + ", ".join(f"{k}: {v}" for k, v in sorted(total.items())))
    if not total["queries"] or not total["columnar rows"]:
        failures += 1
        print("FAILED  no query ran, or no row was columnar: nothing was tested")
    others = () if SHAPES else (("fetches", 400), ("top nodes", 200), ("top nodes of groups", 1000)) + ((("hypothetical indexes", 100),) if "hypopg" in COMPANIONS else ())
    for wanted, plans in (("custom scans", 60), *others):
        if total["plans"] >= plans and not total[wanted]:
            failures += 1
            print(f"FAILED  none of the plans looked at has {wanted}: nothing of them was tested")
    print(f"{total['queries']} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
