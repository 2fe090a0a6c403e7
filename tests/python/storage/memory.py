"""Memory that is refused: every request of 64 kB and more, one after the other, in every kind of work.

The Nth request fails, and in a second round all from the Nth on (`amax.fault_allocation`). Each time the statement does what it does on
heap, or ends with "out of memory"; a commit that flushes and VACUUM do not even that, and leave undone what they could not do (VACUUM: for want
of 64 kB and more). Afterwards the rows are those of the heap twin.

Then the reserve is empty: who cannot be told no ends the session, and nothing else (`ENDED`).

    memory.py DIRECTORY RESULTS [OPERATION...|"ended OPERATION"...]

AMAX_MEMORY_TRIES: how many values of N for each operation and round, spread evenly over all there are (default 6; 0: all).
AMAX_MEMORY_LEAST: bytes of the smallest request that is counted (default 65536). AMAX_MEMORY_ROWS: rows of the table (default 12000, no less);
with more there are more requests.
"""

import collections
import os
import pathlib
import sys
import time
import traceback

import psycopg

from server import Server, own

TRIES = int(os.environ.get("AMAX_MEMORY_TRIES", "6"))
# From so many bytes on requests are asked for.
ASKED = 65536
LEAST = int(os.environ.get("AMAX_MEMORY_LEAST", str(ASKED)))
# Of requests that end sessions.
SMALL = 1024
ROWS = int(os.environ.get("AMAX_MEMORY_ROWS", "12000"))
OUT_OF_MEMORY = "53200"

DOC = ("jsonb_build_object('n', {i}, 's', md5(({i})::text), 'few', 'value ' || ({i}) % 40, 'x', jsonb_build_object('y', ({i}) / 7.0),"
       " 'tags', jsonb_build_array('tag ' || ({i}) % 9, ({i}) % 100, jsonb_build_object('deep', ({i}) % 13)))")
INSERT = "INSERT INTO {table} SELECT i, i * 3, md5(i::text), " + DOC.format(i="i") + " FROM generate_series({first}, {last}) i"
# Whatever is kept of a leaf would be found again.
FORGET = "SET amax.decode_cache = 0; SET amax.shared_cache = 0"
ROW_PAGES = "SET amax.bulk_threshold = 1000000000; SET amax.flush_inline = off"
COLUMNAR = [INSERT.format(table="t", first=1, last=ROWS), "VACUUM t"]


def fill(*extra):
    """A table with columnar rows, made once for all tries; what is done to it is undone."""
    return ["TRUNCATE t", *COLUMNAR, *extra]


class Operation:
    """What is done before the first try, before each, and the statement: with `changes`, heap is told the same when it succeeded."""

    def __init__(self, once, each, statement, changes=False, always=False, copy=False):
        self.once, self.each, self.statement = once, each, statement
        self.changes, self.always, self.copy = changes, always, copy


FRESH = ["TRUNCATE t"]
OPERATIONS = {
    "load": Operation([], FRESH, INSERT.format(table="t", first=1, last=ROWS), changes=True),
    "load with an index": Operation(["CREATE INDEX t_s ON t (s)"], FRESH, INSERT.format(table="t", first=1, last=ROWS), changes=True),
    # Nobody's commit fails for want of memory to flush what others have left; nor does VACUUM, which has more to do.
    "inline flush": Operation([], [*FRESH, ROW_PAGES, INSERT.format(table="t", first=1, last=ROWS), "SET amax.flush_inline = on"],
                              INSERT.format(table="t", first=ROWS + 1, last=ROWS + ROWS // 4), changes=True, always=True),
    "flush": Operation([], [*FRESH, ROW_PAGES, INSERT.format(table="t", first=1, last=ROWS)], "VACUUM t", always=True),
    "merge": Operation([], [*FRESH, "SET amax.max_components = 8; SET amax.merge_ratio = 1000", INSERT.format(table="t", first=1, last=5000),
                            INSERT.format(table="t", first=5001, last=9000), INSERT.format(table="t", first=9001, last=ROWS),
                            "DELETE FROM t WHERE id % 50 = 0", "SET amax.max_components = 1; SET amax.merge_ratio = 0"], "VACUUM t",
                       always=True),
    "scan": Operation(fill(), [], "SELECT count(*), sum(hashtextextended(x::text, 0)) FROM (SELECT * FROM t OFFSET 0) x"),
    "scan, shared": Operation(fill("SET amax.shared_cache = '64MB'"), [], "SELECT sum(length(doc->>'s')), max((doc->>'n')::int) FROM t"),
    "paths": Operation(fill(), [], "SELECT sum(length(doc->>'s')), max((doc->>'n')::int), min(doc->'x'->>'y') FROM t WHERE (doc->>'n')::int > 50"),
    "rows alone": Operation(fill("CREATE INDEX t_id ON t (id)", "SET enable_seqscan = off"), [],
                            "SELECT sum(hashtextextended(t::text, 0)) FROM t WHERE id = ANY (ARRAY[5, 700, 3000, 8000, 11000])"),
    "aggregate": Operation(fill(), [], "SELECT count(*), sum(c), sum(m) FROM (SELECT doc->>'s' k, count(*) c, sum(v) m, avg(id) FROM t GROUP BY 1) x"),
    "distinct": Operation(fill(), [], "SELECT count(DISTINCT s), count(DISTINCT doc->>'few'), count(DISTINCT v) FROM t"),
    "workers": Operation(fill("SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0",
                              "ALTER TABLE t SET (parallel_workers = 2)"), [],
                         "SELECT count(*), sum(c) FROM (SELECT doc->>'s' k, count(*) c FROM t GROUP BY 1) x"),
    "join": Operation(fill(), [], "SELECT count(*), sum(a.v) FROM t a JOIN t b ON (a.doc->>'n')::int = b.v WHERE b.id < 6000"),
    "unnest": Operation(fill(), [], "SELECT count(*), count(DISTINCT e->>'deep') FROM t, jsonb_array_elements(doc->'tags') e"),
    "order": Operation(fill(), [], "SELECT sum(n), min(s) FROM (SELECT (doc->>'n')::int n, doc->>'s' s FROM t ORDER BY 2 LIMIT 5000) x"),
    "copy": Operation(fill(), [], "COPY t TO STDOUT", copy=True),
    "copy arrow": Operation(fill(), [], "COPY t TO STDOUT (FORMAT arrow)", copy=True),
    "copy parquet": Operation(fill(), [], "COPY t TO STDOUT (FORMAT parquet)", copy=True),
    "copy arrow, struct": Operation(fill(), [], "COPY t TO STDOUT (FORMAT arrow, JSON struct)", copy=True),
    "copy parquet, struct": Operation(fill(), [], "COPY t TO STDOUT (FORMAT parquet, JSON struct)", copy=True),
    "load parquet": Operation(fill("COPY t TO PROGRAM 'cat >memory.parquet' (FORMAT parquet)"), FRESH,
                              "COPY t FROM PROGRAM 'cat memory.parquet' (FORMAT parquet)", changes=True),
    "arrow": Operation(fill(), [], "SELECT count(*), sum(length(x)) FROM amax.arrow('SELECT id, v, s, doc FROM t') x"),
    "arrow, struct": Operation(fill(), [], "SELECT count(*), sum(length(x)) FROM amax.arrow('SELECT id, v, s, doc FROM t', 'struct') x"),
    "verify": Operation(fill(), [], "SELECT * FROM amax.verify('t')"),
    "analyze": Operation(fill(), [], "ANALYZE t"),
    "index": Operation(fill(), ["DROP INDEX IF EXISTS t_index"], "CREATE INDEX t_index ON t ((doc->>'s'))"),
    "update": Operation([], [*FRESH, *COLUMNAR], "UPDATE t SET v = v + 1, doc = doc || '{\"more\": 1}' WHERE id % 3 = 0", changes=True),
    "full": Operation(fill(), [], "VACUUM FULL t"),
    "cluster": Operation(fill("CREATE INDEX t_v ON t (v)"), [], "CLUSTER t USING t_v"),
    "alter": Operation(fill(), [], "ALTER TABLE t ALTER COLUMN v TYPE bigint USING v + 0"),
}


# Sessions that end in the midst of these, with locks and pages in hand.
ENDED = ("load", "inline flush", "flush", "merge", "scan", "aggregate", "update", "verify")


class Failure(Exception):
    """What must not be."""


def tries(count):
    """So many of the requests as are to be refused."""
    step = max(1, count / TRIES) if TRIES else 1
    return sorted({1 + int(i * step) for i in range(count) if i * step < count} | {count})


class Side:
    def __init__(self, server, am):
        self.connection = server.connect("memory", prepare_threshold=None)
        self.am = am
        for statement in (f"SET search_path = {am}_side, public", "SET max_parallel_workers_per_gather = 0", "SET client_min_messages = error",
                          "SELECT amax.load()", FORGET):
            self.connection.execute(statement)

    def run(self, statement, copy=False):
        with self.connection.cursor() as cursor:
            if copy:
                with cursor.copy(statement) as rows:
                    return sum(len(chunk) for chunk in rows)
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else None


class Test:
    def __init__(self, server, operation):
        self.server, self.operation = server, operation
        # How many there were after each try.
        self.components = set()
        # A VACUUM that is refused a small request outside of what it may leave undone fails as heap's does.
        self.may_fail = operation.statement.startswith("VACUUM") and LEAST < ASKED
        with server.connect() as control:
            control.execute("CREATE DATABASE memory")
        with server.connect("memory") as control:
            control.execute("CREATE EXTENSION amax; CREATE SCHEMA heap_side; CREATE SCHEMA amax_side")
            for am in ("heap", "amax"):
                control.execute(f"CREATE TABLE {am}_side.t (id int, v bigint, s text, doc jsonb) USING {am} WITH (autovacuum_enabled = off)")
        self.heap, self.amax = Side(server, "heap"), Side(server, "amax")
        for statement in operation.once:
            self.both(statement)
        for statement in operation.each:
            self.heap.run(statement)
        # An arrow file's bytes are our own.
        self.expected = None if operation.changes else (self.amax if operation.copy else self.heap).run(operation.statement, operation.copy) \
            if operation.statement.startswith(("SELECT", "COPY")) and "verify" not in operation.statement else []

    def close(self):
        for side in (self.heap, self.amax):
            side.connection.close()
        with self.server.connect() as control:
            control.execute("DROP DATABASE memory WITH (FORCE)")

    def both(self, statement):
        for side in (self.heap, self.amax):
            side.run(statement)

    def attempt(self, fault, least=LEAST):
        """Whether the statement succeeded, and how many requests were counted."""
        operation, amax = self.operation, self.amax
        if operation.always:
            # After a flush that failed a session leaves others to flush.
            amax.connection.close()
            amax = self.amax = Side(self.server, "amax")
        for statement in operation.each:
            amax.run(statement)
        amax.run(f"SET amax.fault_allocation = '{fault}/{least}'")
        try:
            result = amax.run(operation.statement, operation.copy)
            done = True
        except psycopg.Error as error:
            if amax.connection.closed or error.sqlstate != OUT_OF_MEMORY:
                raise Failure(f"{fault}: {error.sqlstate} {error}") from error
            result, done = None, False
        shown = amax.run("SHOW amax.fault_allocation")[0][0]
        amax.run("SET amax.fault_allocation = ''")
        if operation.always:
            if not done and not self.may_fail:
                raise Failure(f"{fault}: it failed")
            self.components.add(amax.run("SELECT count(*) FROM amax.components('t')")[0][0])
        if done and not operation.changes and (result or []) != (self.expected or []):
            raise Failure(f"{fault}: {str(result)[:200]}, heap has {str(self.expected)[:200]}")
        return done, int(shown.split()[0])

    def check(self, done, fault):
        """The rows are heap's, before the change or after it."""
        operation = self.operation
        if operation.changes:
            for statement in operation.each:
                if not statement.startswith("VACUUM"):
                    self.heap.run(statement)
            if done:
                self.heap.run(operation.statement)
        rows = "SELECT count(*), sum(hashtextextended(t::text, 0)) FROM t"
        found, wanted = self.amax.run(rows), self.heap.run(rows)
        if found != wanted:
            raise Failure(f"after {fault}: {found}, heap has {wanted}")
        problems = self.amax.run("SELECT * FROM amax.verify('t')")
        if problems:
            raise Failure(f"after {fault}: {problems[:3]}")

    def run(self):
        done, count = self.attempt(10 ** 9)
        if not done or count == 0:
            raise Failure(f"nothing was requested ({count})")
        self.check(done, "no fault")
        tried = errors = 0
        for lasting in ("", "+"):
            for n in tries(count):
                done, _ = self.attempt(f"{n}{lasting}")
                tried += 1
                errors += not done
                if tried % 10 == 1 or tried < 10:
                    self.check(done, f"{n}{lasting}")

        if errors == 0 and len(self.components) < 2:
            raise Failure("no request that failed did anything")
        return f"{count} requests, {tried} of them refused, {errors} errors"

    def end_sessions(self):
        """As `run`, without a reserve, and with smaller requests, of which most cannot be told no."""
        _, count = self.attempt(10 ** 9, f"{SMALL}=0")
        outcomes = collections.Counter()
        for lasting in ("", "+"):
            for n in tries(count):
                fault = f"{n}{lasting}/{SMALL}=0"
                outcome = self.end_session(fault)
                outcomes[outcome] += 1
                self.check(outcome == "done", fault)
        if not outcomes["ended"]:
            raise Failure("no session ended")
        return f"{count} requests, {outcomes.total()} of them refused, {outcomes['ended']} sessions ended, {outcomes['error']} errors"

    def end_session(self, fault):
        """How the statement ended in a session of its own: done, error, ended."""
        operation = self.operation
        self.amax.connection.close()
        self.amax = Side(self.server, "amax")
        for statement in operation.each:
            self.amax.run(statement)
        pid = self.amax.connection.info.backend_pid
        outcome = "done"
        try:
            self.amax.run(f"SET amax.fault_allocation = '{fault}'")
            self.amax.run(operation.statement, operation.copy)
        except psycopg.Error as error:
            outcome = "ended" if self.amax.connection.closed else "error"
            if error.sqlstate != OUT_OF_MEMORY:
                raise Failure(f"{fault}: {error.sqlstate} {error}") from error
        if outcome != "ended":
            self.amax.run("SET amax.fault_allocation = ''")
            return outcome
        self.amax = Side(self.server, "amax")
        # Whoever waits for it to be gone sees that nothing of it is left: it held the table's locks.
        while self.amax.run(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}") != [(0,)]:
            time.sleep(0.01)
        self.amax.run("SET lock_timeout = '5s'; BEGIN; LOCK TABLE t; COMMIT")
        return outcome


def main():
    directory, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    own(directory)
    passed = failed = 0
    server = Server(directory, "memory", ["autovacuum = off", "amax.flush_threshold = 0", "fsync = off"])
    server.start()
    postmaster = (server.data / "postmaster.pid").read_text().split()[0]
    for name in sys.argv[3:] or [*OPERATIONS, *(f"ended {name}" for name in ENDED)]:
        try:
            test = Test(server, OPERATIONS[name.removeprefix("ended ")])
            said = test.end_sessions() if name.startswith("ended ") else test.run()
            test.close()
            if (server.data / "postmaster.pid").read_text().split()[0] != postmaster or server.new_crashes():
                raise Failure(f"a crash: {server.log_tail(1000)}")
            print(f"ok      {name}: {said}", flush=True)
            passed += 1
        except (Failure, psycopg.Error, RuntimeError):
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc(limit=3)}", flush=True)
            (results / f"{name.replace(' ', '-')}.log").write_text(server.log_tail(20000))
            server.new_crashes()
            with server.connect() as control:
                control.execute("DROP DATABASE IF EXISTS memory WITH (FORCE)")
    server.stop()
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
