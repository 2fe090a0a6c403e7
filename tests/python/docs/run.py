"""Executes the blocks of the documentation.

    run.py [PAGE.md...]     with PGHOST, PGPORT and PGUSER of a server that has the extension's files, PG_BIN,
                            and AMAX_SAMPLE, a file of JSON lines

Pages: README.md, docs/*.md, clients/python/README.md. Their fenced blocks, in order:

- ```sql        is executed by psql: one session for all of a page's, in a database of the page's own, `mydb`. That is a copy of what docs/start.md
                has left of its own, with the extension; README.md's is empty. The last statement has to end.
- ```sh         by `bash -euo pipefail` at the repository's root, with PGDATABASE=mydb and the other variables, psql on PATH.
- ```python     by the Python of tests/python/arrow, at the root, clients/python on its path; names stay from block to block of a page.
- ```text       right behind one of these is the end of what it prints, errors and notices included. `…` in a line stands for anything; a line
                that has nothing else, for any lines; and where there is a `…`, numbers of blanks, and of dashes below headings, do not matter.
- ```sql fails  must fail; psql's lines LINE and ^ are left out.
- ```sql norun  is not executed. The line above it says why: <!-- not run: REASON -->
- A block within an HTML comment is executed as well, and not shown: what has to be set up, or cleaned up.

Every block has a language; others than these (json, ini, ...) are only shown. SQL that concerns the server (ALTER SYSTEM) is reset after the page.
"""

import contextlib
import io
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import traceback

from answers import matches, messages
from blocks import blocks_of
from functions import check as check_functions

ROOT = pathlib.Path(__file__).resolve().parents[3]
START = ROOT / "docs" / "start.md"
EMPTY = ROOT / "README.md"
# What the README calls the file that somebody has, and one that is there.
EVENTS, SAMPLE = "/path/to/events.jsonl", os.environ["AMAX_SAMPLE"]
DATABASE, TEMPLATE = "mydb", "amax_docs_start"
SECONDS = 300  # for a block
PSQL = [f"{os.environ['PG_BIN']}/psql", "-X", "-v", "ON_ERROR_STOP=1"]
MARK = "amax: end of block"


def administer(*statements):
    """Statements outside of the pages' databases."""
    arguments = [word for statement in statements for word in ("-c", statement)]
    subprocess.run([*PSQL, "-q", "-d", "postgres", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Psql:
    """One session; what it prints, errors among it, comes line by line."""

    def __init__(self):
        self.process = None

    def run(self, block):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(["stdbuf", "-oL", *PSQL], cwd=ROOT, text=True, errors="replace", bufsize=1,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        process, lines = self.process, []
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(f"\\set ON_ERROR_STOP {0 if block.fails else 1}\n{block.text.replace(EVENTS, SAMPLE)}\\echo {MARK}\n")
            process.stdin.flush()
        ended = False
        for line in process.stdout:
            ended = line.rstrip("\n") == MARK
            if ended:
                break
            lines.append(line.rstrip("\n"))
        timer.cancel()
        if not ended and process.wait() == -signal.SIGKILL:
            lines.append(f"(stopped after {SECONDS} s)")
        return ended and not any(re.match("(ERROR|FATAL|PANIC): ", line) for line in lines if block.fails), lines

    def end(self):
        if self.process is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            self.process.wait(SECONDS)


def run_shell(block):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=ROOT, text=True, timeout=SECONDS,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout.splitlines()


def too_long(*_):
    raise TimeoutError(f"longer than {SECONDS} s")


def run_python(block, names):
    printed = io.StringIO()
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            exec(compile(block.text, "block", "exec"), names)
        fine = True
    except BaseException as error:
        printed.write("".join(traceback.format_exception_only(error)))
        fine = False
    finally:
        signal.alarm(0)
    return fine, printed.getvalue().splitlines()


def problem_of(block, psql, names):
    """What is wrong with a block, or None: it is executed and its answer compared."""
    if block.problems:
        return "it " + ", and it ".join(block.problems)
    if not block.runs:
        return None
    try:
        fine, came = {"sql": psql.run, "sh": run_shell, "python": lambda block: run_python(block, names)}[block.language](block)
    except subprocess.TimeoutExpired:
        return f"it takes longer than {SECONDS} s"
    expected = block.answer
    if block.fails:
        came = messages(came)
        expected = expected and messages(expected)
    said = "\n".join(["-- came:", *came])
    if fine == block.fails:
        return ("it does not fail\n" if block.fails else "it fails\n") + said
    if expected is not None and not matches(expected, came):
        return "\n".join(["it prints something else", "-- expected:", *expected, said])
    return None


def run_page(page):
    """A page's blocks, in a database that is there: how many were fine, and how many not."""
    name = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
    psql, names, failed = Psql(), {"__name__": "__main__"}, 0
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    for block in blocks:
        problem = problem_of(block, psql, names)
        if problem is not None:
            failed += 1
            print(f"FAILED  {name}:{block.line}: {problem}\n-- block:\n{block.text}", flush=True)
    psql.end()
    executed = sum(block.runs for block in blocks)
    left_out = sum("norun" in block.words for block in blocks)
    compared = sum(block.answer is not None for block in blocks)
    print(f"{'FAILED ' if failed else 'ok     '} {name}: {executed} blocks, {compared} answers, {left_out} not run", flush=True)
    counted = sum(block.runs or bool(block.problems) for block in blocks)
    return counted - failed, failed


def main(wanted):
    pages = [page.resolve() for page in map(pathlib.Path, wanted)]
    if not pages:
        pages = [EMPTY, *sorted((ROOT / "docs").glob("*.md")), ROOT / "clients" / "python" / "README.md"]
        pages = [page for page in pages if page.name != "SUMMARY.md"]
    os.chdir(ROOT)
    os.environ["PGDATABASE"] = DATABASE
    os.environ["PATH"] = f"{os.environ['PG_BIN']}:{os.environ['PATH']}"
    sys.path.insert(0, str(ROOT / "clients" / "python"))
    signal.signal(signal.SIGALRM, too_long)
    passed = failed = 0

    def count(page):
        nonlocal passed, failed
        fine, bad = run_page(page)
        passed, failed = passed + fine, failed + bad

    # The others begin with what this leaves.
    administer(f"CREATE DATABASE {DATABASE}")
    if START.exists():
        count(START)
    subprocess.run([*PSQL, "-q", "-c", "CREATE EXTENSION IF NOT EXISTS amax"], check=True, stderr=subprocess.DEVNULL)
    reset = ("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")
    administer(*reset, f"ALTER DATABASE {DATABASE} RENAME TO {TEMPLATE}")
    for page in pages:
        if page != START:
            administer(f"CREATE DATABASE {DATABASE} TEMPLATE {'template1' if page == EMPTY else TEMPLATE}")
            count(page)
            administer(*reset, f"DROP DATABASE {DATABASE} WITH (FORCE)")
    if not wanted:
        fine = check_functions(pathlib.Path(os.environ["AMAX_RESULTS"]) / "functions.md")
        passed, failed = passed + fine, failed + (not fine)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
