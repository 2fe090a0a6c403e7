"""The randomized differential tests: runs every scenario in every mode and counts.

    differential.py DIRECTORY RESULTS [SCENARIO...]

Environment: AMAX_DIFF_SECONDS (in all, default 60), AMAX_SEED (default 1; 0: from the clock), AMAX_DIFF_JOBS (default 2).
A scenario that failed leaves its statements in RESULTS. The last line is "N passed, N failed".
"""

import concurrent.futures
import multiprocessing.util
import os
import pathlib
import re
import sys
import threading
import time
import traceback

import bank
import histories
import schedule
import schemas
import sharing
import trickle
from server import Server
from single import Single
from twins import Mismatch

MODES = {
    # The defaults: rows in row pages; loads past 1000 rows become columns.
    "default": [],
    # Both kinds of rows side by side: VACUUM turns all it can into columns, DML writes row pages.
    "mixed": ["amax.flush_threshold = 0", "amax.bulk_threshold = 100", "amax.rows_per_leaf = 100", "amax.max_components = 2"],
    # Everything becomes columns at once, and every VACUUM merges all of it.
    "eager": ["amax.eager = on", "amax.rows_per_leaf = 300", "amax.merge_ratio = 0"],
}
SETTINGS = ["fsync = off", "autovacuum = off", "max_wal_size = '2GB'",
            # SERIALIZABLE transactions that overlap for long keep many locks, on heap too.
            "max_pred_locks_per_transaction = 2000"]


def scenarios():
    """Name -> function(server, database, seed, mode, seconds) that returns what it did, or raises Mismatch."""
    found = {}
    for make in schemas.ALL:
        def run(server, database, seed, mode, seconds, make=make):
            test = Single(server, database, make, seed, MODES[mode])
            try:
                return f"{test.run(seconds)} statements, {test.twins.reached(mode)}"
            except Mismatch as error:
                raise Mismatch(error, test.twins.log) from error
            finally:
                test.twins.close()
        found[f"random-{make.__name__}"] = run
    def run_histories(server, database, seed, mode, seconds):
        # A round takes about two seconds.
        return histories.run(server, database, seed, mode, MODES[mode], max(1, min(len(histories.FINALS), int(seconds / 2))))
    found["histories"] = run_histories
    for order in ("heap-first", "amax-first"):
        def run(server, database, seed, mode, seconds, order=order):
            return schedule.run(server, database, seed, mode, MODES[mode], seconds, order)
        found[f"schedule-{order}"] = run
    def run_trickle(server, database, seed, mode, seconds):
        return trickle.run(server, database, seed, mode, MODES[mode], seconds)
    found["trickle"] = run_trickle
    def run_sharing(server, database, seed, mode, seconds):
        return sharing.run(server, database, seed, mode, MODES[mode], seconds)
    found["sharing"] = run_sharing
    for level in bank.LEVELS:
        def run(server, database, seed, mode, seconds, level=level):
            return bank.run(server, database, seed, MODES[mode], seconds, level)
        found[f"bank-{level.lower().replace(' ', '-')}"] = run
    return found


WORKER = {}


def start_worker(directory):
    """Every worker process has a server of its own: a crash is not the neighbour's."""
    WORKER["server"] = server = Server(directory, f"server{os.getpid()}", SETTINGS)
    server.start()
    multiprocessing.util.Finalize(None, server.remove, exitpriority=100)


def what_runs(server):
    """The statements of all active backends, for a report; never empty."""
    try:
        with server.connect() as control:
            return control.execute("SELECT datname, wait_event, left(query, 200) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()").fetchall() or ["nothing"]
    except Exception as error:  # pylint: disable=broad-except
        return [str(error)]


def run_one(name, mode, seed, seconds, results):
    """Returns (title, seconds it took, what it did, problem or None)."""
    server = WORKER["server"]
    started = time.monotonic()
    database = re.sub(r"\W", "_", f"{name}_{mode}_{seed}").lower()
    title = f"{name} {mode} seed {seed}"
    did, problem, log = "", None, []
    # A backend that hears no interrupt would hold up everything: after a while the server goes, and the scenario with it.
    activity = []
    watchdog = threading.Timer(3 * seconds + 60, lambda: (activity.extend(what_runs(server)), server.kill()))
    watchdog.start()
    try:
        did = scenarios()[name](server, database, seed, mode, seconds)
    except Mismatch as error:
        problem = str(error.args[0])
        log = error.args[1] if len(error.args) > 1 else []
    except Exception:  # pylint: disable=broad-except
        problem = traceback.format_exc()
    watchdog.cancel()
    watchdog.join()
    if activity:
        problem = f"not done after {time.monotonic() - started:.0f} s: {activity}\n{problem}"
        server.start()
    crashes = server.new_crashes()
    if crashes:
        problem = (problem or "") + "\nthe server's log speaks of a crash:\n" + "\n".join(crashes[:5])
    if problem:
        file = pathlib.Path(results) / f"{database}.sql"
        file.write_text("".join(f"{s};\n" for s in log) + "/*\n" + problem.replace("*/", "* /") + "\n*/\n")
    for _ in range(60):
        try:
            with server.connect() as control:
                control.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
            break
        except Exception:  # the server may be recovering
            time.sleep(0.5)
    return title, time.monotonic() - started, did, problem


def main():
    directory, results, *wanted = sys.argv[1:]
    total = float(os.environ.get("AMAX_DIFF_SECONDS", "60"))
    jobs = int(os.environ.get("AMAX_DIFF_JOBS", "2"))
    first = int(os.environ.get("AMAX_SEED", "1")) or time.time_ns() // 1_000_000 % 1_000_000
    names = [n for n in scenarios() if not wanted or n in wanted or any(w in n for w in wanted)]
    plan = [(n, m) for n in names for m in MODES]
    # About a second of each scenario is making and dropping its database. A long run repeats all of it with other seeds.
    rounds = max(1, int(total * jobs / len(plan) / 20))
    seconds = max(0.5, total * jobs / len(plan) / rounds - 1.0) if plan else 0
    print(f"seed {first} (AMAX_SEED), {len(plan)} scenarios x {rounds}, {seconds:.1f} s each", flush=True)
    passed = failed = 0
    columnar = dict.fromkeys(MODES, 0)
    with concurrent.futures.ProcessPoolExecutor(jobs, initializer=start_worker, initargs=(directory,)) as pool:
        futures = [pool.submit(run_one, n, m, first + r, seconds, results) for r in range(rounds) for n, m in plan]
        for future in concurrent.futures.as_completed(futures):
            try:
                title, took, did, problem = future.result()
            except Exception as error:  # pylint: disable=broad-except
                title, took, did, problem = "a worker", 0, "", f"died: {error}"
            if problem:
                failed += 1
                print(f"FAILED  {title} ({took:.1f} s)\n    " + problem[:3000].replace("\n", "\n    "), flush=True)
            else:
                passed += 1
                mode = title.split()[1]
                columnar[mode] += not did.endswith(" 0 components")
                print(f"ok      {title}: {did} ({took:.1f} s)", flush=True)
    for mode in {m for _, m in plan} - {"default"}:
        if not columnar[mode]:
            failed += 1
            print(f"FAILED  no row became columnar in any scenario of mode {mode}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
