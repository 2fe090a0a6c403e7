"""Makes a world on both sides and runs cases in it."""

import os
import random
import re
import time

import psycopg

from columns import PREPARE_DATABASE
from documents import quote
from shapes import Shapes
from sides import LOST, Answer, Side, both, difference
from worlds import World

PARALLEL = {"parallel_setup_cost": "0", "parallel_tuple_cost": "0", "min_parallel_table_scan_size": "0", "min_parallel_index_scan_size": "0",
            "max_parallel_workers_per_gather": "2"}
# Libraries that plan along, loaded before ours or after it: hypopg, with indexes that are not there; pg_hint_plan, with hints.
COMPANIONS = os.environ.get("AMAX_COMPANIONS", "").split()
# As the major has it.
FORCED = "force_parallel_mode" if int(os.environ.get("AMAX_PG_MAJOR", "15")) < 16 else "debug_parallel_query"
BATCH = 12  # cases between changes of settings
OTHER = "other session: "  # how statements of the other session are marked


class Finding(Exception):
    """The sides differ."""

    def __init__(self, what, case, session, statement, heap, amax):
        super().__init__(what)
        self.what, self.case, self.session, self.statement, self.heap, self.amax = what, case, list(session), statement, heap, amax


def settings(rng, world, risky):
    """Statements that set a batch of cases apart: settings, a role, an open transaction with changes of its own."""
    values = {}
    if rng.random() < 0.35:
        values |= PARALLEL
        if rng.random() < 0.15:
            values |= {"parallel_leader_participation": "off"}
    elif rng.random() < 0.05:
        values |= {FORCED: "on"}
    for name, choices, share in (
            ("enable_hashagg", ["off"], 0.2), ("enable_sort", ["off"], 0.05), ("enable_hashjoin", ["off"], 0.15), ("enable_nestloop", ["off"], 0.1),
            ("enable_mergejoin", ["off"], 0.1), ("enable_material", ["off"], 0.1), ("work_mem", ["'64kB'"], 0.2), ("enable_partitionwise_aggregate", ["on"], 0.2),
            ("enable_partitionwise_join", ["on"], 0.2), ("enable_memoize", ["off"], 0.1), ("plan_cache_mode", ["force_generic_plan", "force_custom_plan"], 0.6),
            ("TimeZone", ["'Europe/Berlin'", "'Asia/Kolkata'", "'America/St_Johns'", "'Europe/Amsterdam'", "'Africa/Monrovia'"], 0.25), ("DateStyle", ["'SQL, DMY'", "'German'"], 0.08), ("extra_float_digits", ["0"], 0.08),
            ("cursor_tuple_fraction", ["1.0"], 0.2), ("amax.materialization", ["early", "late", "ultra_late", "ultra_late"], 0.4), ("amax.decode_cache", ["'64kB'", "0"], 0.1), ("amax.shared_cache", ["'128kB'", "0"], 0.15), ("amax.exchange_threshold", ["0", "'4kB'"], 0.4), ("from_collapse_limit", ["1"], 0.05),
            ("join_collapse_limit", ["1"], 0.05), ("geqo_threshold", ["2"], 0.05), ("enable_gathermerge", ["off"], 0.05), ("enable_parallel_hash", ["off"], 0.1),
            ("enable_incremental_sort", ["off"], 0.1), ("amax.fault_point", ["join_spine", "join_order", "join_keys", "join_keys", "page_leaves", "page_leaves"], 0.35), ("enable_partition_pruning", ["off"], 0.05), ("IntervalStyle", ["iso_8601", "sql_standard"], 0.05), ("bytea_output", ["escape"], 0.05)):
        if rng.random() < share:
            values[name] = rng.choice(choices)
    if rng.random() < 0.03:
        values |= {"jit": "on", "jit_above_cost": "0"}
    if risky:
        # Which rows a condition meets must not depend on the plan.
        values |= {"enable_indexscan": "off", "enable_bitmapscan": "off", "enable_indexonlyscan": "off", "enable_memoize": "off"}
        # Of rows sorted in part, those behind a LIMIT are not joined.
        values["enable_incremental_sort"] = "off"
        values.setdefault("plan_cache_mode", "force_custom_plan")
        # Nor what a sort below a join computes, which is planned when neither hashing nor the join to a function is cheap.
        for name in ("enable_hashagg", "enable_nestloop"):
            values.pop(name, None)
    elif world.indexes and rng.random() < 0.6:
        values |= {"enable_seqscan": "off"}
        if rng.random() < 0.5:
            values |= {rng.choice(["enable_bitmapscan", "enable_indexscan"]): "off"}
    statements = [f"SET {name} = {value}" for name, value in values.items()]
    role = ["SET ROLE reader"] if rng.random() < 0.1 else []
    draw = rng.random()
    table = rng.choice(["t1", "t1", "t2", "p", "h"])
    if draw < 0.3:
        statements.append("BEGIN" + rng.choice(["", " ISOLATION LEVEL REPEATABLE READ"]))
        for number in range(rng.randint(0, 4)):
            if not world.locked:
                change = [world.change(table, rng) if rng.random() < 0.9 else f"ALTER TABLE {table} ADD COLUMN fleeting{number} int DEFAULT 7"]
                statements += change if rng.random() < 0.7 else ["SAVEPOINT undone"] + change + ["ROLLBACK TO undone"]
            statements.append(world.more(rng))
        return statements + role + ["SAVEPOINT q"]
    if draw < 0.42 and not world.locked:
        # Others commit after our snapshot was taken.
        statements += ["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT"]
        statements += [OTHER + rng.choice([world.change(table, rng), world.change(table, rng), world.more(rng), f"VACUUM {table}"]) for _ in range(rng.randint(1, 4))]
        return statements + role + ["SAVEPOINT q"]
    return statements + role


class Stage:
    """A database with a schema for each side; `plain`: in locale C."""

    def __init__(self, server, database, plain=False):
        self.server, self.database = server, database
        with server.connect() as control:
            control.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
            control.execute(f"CREATE DATABASE {database}" + (" LOCALE 'C' TEMPLATE template0" if plain else ""))
        with server.connect(database) as control:
            control.execute("CREATE EXTENSION amax")
            if "hypopg" in COMPANIONS:
                control.execute("CREATE EXTENSION hypopg")
            if COMPANIONS:
                libraries = COMPANIONS + ["amax"] if plain else ["amax"] + COMPANIONS
                control.execute(f"ALTER DATABASE {database} SET session_preload_libraries = {', '.join(libraries)}")
            control.execute(PREPARE_DATABASE)
        self.open()

    def open(self):
        self.sides, self.others, self.compiles, self.supposed = [], [], False, []
        for sides in (self.sides, self.others):
            for am in ("heap", "amax"):
                sides.append(Side(self.server, self.database, am))

    def close(self):
        for side in self.sides + self.others:
            side.close()

    def reopen(self):
        """After a crash: as soon as the server takes connections again."""
        self.close()
        deadline = time.monotonic() + 60
        while True:
            try:
                return self.open()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def build(self, steps):
        """Makes the world. A statement that fails must fail on both sides."""
        for other, side in zip(self.others, self.sides):
            for connection in (other, side):
                connection.run("ROLLBACK")
                connection.must("RESET ROLE")
            side.must(f"DROP SCHEMA IF EXISTS {side.am}_side CASCADE")
            side.must(f"CREATE SCHEMA {side.am}_side")
            side.must(f"GRANT USAGE ON SCHEMA {side.am}_side TO reader")
        for kind, text, *lines in steps:
            if kind == "sql":
                heap, amax = both(self.sides, text)
            elif kind == "other":
                heap, amax = both(self.others, text)
            else:
                for side in self.sides:
                    side.copy(text, [line for _, line in lines[0]])
                continue
            if LOST in (heap.state, amax.state) or heap.state != amax.state:
                raise Finding("making the world", None, [], text, heap, amax)

    def make(self, seed):
        """A world that must succeed, for whoever needs no transaction of others in it."""
        world = World(seed)
        try:
            self.reset()
            self.build(world.steps)
        except Finding as finding:
            raise RuntimeError(f"{finding}: {finding.statement}") from finding
        self.reset()
        for other in self.others:
            other.run("ROLLBACK")
        return world

    def suppose(self, statements):
        """Has only these indexes that are not there, in both sides' sessions."""
        self.supposed = statements
        for side in self.sides:
            if statements:
                side.must("SELECT hypopg_reset()")
            for statement in statements:
                side.must(f"SELECT hypopg_create_index({quote(statement)})")

    def reset(self):
        if self.compiles:
            # Workers load what their leader has ever loaded: LLVM takes each of them 50 ms.
            for side in self.sides:
                side.close()
                side.connect()
            self.suppose(self.supposed)
        for side in self.sides:
            side.run("ROLLBACK")
            side.run("DEALLOCATE ALL")
            side.run("RESET ROLE")
            search_path = f"{side.am}_side, public"
            side.must("RESET ALL")
            side.must(f"SET search_path = {search_path}; SET default_table_access_method = {side.am}; SET client_min_messages = error; {side.limit()}")
        self.compiles = False

    def enter(self, session):
        self.compiles = "SET jit = on" in session
        for statement in session:
            other = statement.startswith(OTHER)
            heap, amax = both(self.others if other else self.sides, statement.removeprefix(OTHER))
            if heap.state != amax.state or LOST in (heap.state, amax.state):
                raise Finding("a change", None, session, statement, heap, amax)

    def run(self, case, session):
        """Runs a case; raises Finding. Returns heap's first error, or an answer without."""
        inside = session and session[-1] == "SAVEPOINT q"
        steps = case.steps()
        if case.needs_transaction() and not inside:
            steps = [("BEGIN", None)] + steps
        first, failed = Answer(), None
        hint = hints(case)
        for statement, compare in steps:
            statement = hint + statement
            heap, amax = both(self.sides, statement)
            what = difference(case, compare, heap, amax)
            if what:
                failed = Finding(what, case, session, statement, heap, amax)
            first = first if first.state else heap
            if failed or (heap.state and case.kind != "prepare"):
                break
            if heap.state and inside:
                both(self.sides, "ROLLBACK TO q")
        if failed and failed.what == "the connection was lost":
            raise failed
        if inside:
            if case.kind != "select" or first.state or failed:
                both(self.sides, "ROLLBACK TO q")
        elif case.needs_transaction():
            both(self.sides, "ROLLBACK")
        if case.kind == "prepare" and first.state or failed:
            both(self.sides, "DEALLOCATE ALL")
        if failed:
            raise failed
        return first

    def explain(self, case):
        """Both plans. Both can be made, or neither."""
        texts = []
        statement = f"{hints(case)}EXPLAIN (COSTS OFF) {case.node.sql()}"
        answers = both(self.sides, statement)
        if bool(answers[0].state) != bool(answers[1].state):
            raise Finding("a plan", case, [], statement, *answers)
        for answer in answers:
            texts.append("\n".join(r[0].decode() for r in answer.rows))
        return texts


def hints(case):
    """Some for pg_hint_plan, if there is a choice of plans."""
    if "pg_hint_plan" not in COMPANIONS or case.risky:
        return ""
    text = case.node.sql()
    rng = random.Random(text)
    names = sorted(set(re.findall(r"\bAS (\w+)", text)))
    if not names or rng.random() < 0.2:
        return ""
    found = []
    for _ in range(rng.randint(1, 3)):
        some = " ".join(rng.sample(names, min(len(names), rng.choice([1, 1, 2, 2, 3]))))
        one = rng.choice(names)
        found.append(rng.choice([
            f"{rng.choice(['SeqScan', 'IndexScan', 'BitmapScan', 'IndexOnlyScan', 'NoIndexScan', 'NoSeqScan', 'NoBitmapScan', 'TidScan'])}({one})",
            f"{rng.choice(['HashJoin', 'NestLoop', 'MergeJoin', 'NoHashJoin', 'NoNestLoop', 'Memoize'])}({some})",
            f"Leading({some})", f"Rows({some} #{rng.choice([1, 100, 100000])})", f"Parallel({one} 2 {rng.choice(['soft', 'hard'])})",
            f"Set({rng.choice(['enable_hashagg', 'enable_sort', 'enable_seqscan'])} off)"]))
    return f"/*+ {' '.join(found)} */ "


def cases(world, count):
    """(session, case) of a world, in batches."""
    rng = random.Random(f"queries {world.seed}")
    for start in range(0, count, BATCH):
        risky = rng.random() < 0.25
        session = settings(rng, world, risky)
        for _ in range(min(BATCH, count - start)):
            yield session, Shapes(world, rng, risky).case()
        # What the other session did stays.
        world.steps += [("sql", s.removeprefix(OTHER)) for s in session if s.startswith(OTHER)]
