"""One session: random statements, transactions, savepoints, cursors and DDL on the twins, with checks in between."""

import random
import time

from statements import LOCKS, Statements
from twins import Mismatch, Twins, difference, Outcome

PLANS = {
    "sequential": ("seqscan",),
    "index": ("indexscan", "indexonlyscan"),
    "bitmap": ("bitmapscan",),
    "index only": ("indexonlyscan",),
}


class Single:
    def __init__(self, server, database, make_schema, seed, settings):
        self.rng = random.Random(f"{make_schema.__name__} {seed}")
        self.schema = make_schema()
        self.twins = Twins(server, database, seed, settings)
        self.statements = Statements(self.schema, self.rng)
        self.temporary = self.schema.persistence == "TEMP"
        self.cursors = []

    def run(self, seconds):
        """Runs until the time is over; returns the number of statements. Raises Mismatch."""
        both = self.twins.both
        deadline = time.monotonic() + seconds
        for statement in self.schema.create():
            both(statement)
        if self.temporary:
            # TEMP tables live in their own schema, before any other.
            for side in self.twins.sides:
                side.connection.execute(f"SET search_path = pg_temp, {side.am}_side, public")
        both(self.statements.insert_select())
        steps = 0
        while time.monotonic() < deadline:
            steps += 1
            self.step()
            if steps % 5 == 0:
                self.check()
        self.check()
        self.check_all()
        return len(self.twins.log)

    # Steps

    def step(self):
        draw = self.rng.random()
        if draw < 0.32:
            self.transaction()
        elif draw < 0.42:
            self.copy()
        elif draw < 0.70:
            self.twins.both(self.statements.dml())
        elif draw < 0.97:
            statement = self.statements.maintenance()
            if statement.startswith("CREATE INDEX") and " USING " not in statement and " WHERE " not in statement \
                    and "CONCURRENTLY" not in statement and self.schema.key and not self.schema.partitions:
                name = statement.split()[2]
                if self.twins.both(statement).error == "":
                    self.schema.cluster = name
                return
            self.twins.both(statement)
        else:
            self.change_access_method()

    def change_access_method(self):
        """The amax side through heap and back; the heap side is rewritten as well."""
        if self.schema.partitions:
            return
        self.twins.log.append("ALTER TABLE t SET ACCESS METHOD heap, DML, and back")
        amax = self.twins.amax
        amax.query("ALTER TABLE t SET ACCESS METHOD heap")
        self.twins.same_rows()
        self.twins.both(self.statements.dml())
        amax.query("ALTER TABLE t SET ACCESS METHOD amax")
        self.twins.same_rows()

    def copy(self, own_transaction=True):
        """COPY FROM of generated rows, or of rows COPY TO gave (which must agree as a multiset of lines)."""
        form = self.rng.choice(["(FORMAT text)", "(FORMAT csv)", "(FORMAT binary)"])
        if self.schema.of_kind("json") and "binary" in form:
            form = "(FORMAT csv)"
        count = self.rng.choice([3, 150, 1200 if not self.schema.toasted else 150])
        low, high = self.statements.take(count)
        with self.twins.heap.connection.cursor() as cursor:
            with cursor.copy(f"COPY ({self.statements.select_rows(low, high)}) TO STDOUT {form}") as copy:
                data = b"".join(bytes(chunk) for chunk in copy)
        if own_transaction and self.rng.random() < 0.15 and "text" in form:
            data += b"not a number\tat all\n"  # fails at its end; nothing stays
        self.twins.both(f"COPY t ({self.statements.columns_of_row()}) FROM STDIN {form}", data)

    def transaction(self):
        """BEGIN … COMMIT, ROLLBACK or PREPARE, with savepoints; an error on both sides ends it."""
        both, rng = self.twins.both, self.rng
        level = rng.choice(["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
        both(f"BEGIN ISOLATION LEVEL {level}")
        savepoints = []
        self.cursors = []
        truncated = False
        for number in range(rng.randrange(1, 9)):
            draw = rng.random()
            if draw < 0.20:
                savepoints.append(f"s{number}")
                both(f"SAVEPOINT s{number}")
            elif draw < 0.34 and savepoints:
                name = rng.choice(savepoints)
                self.cursors = []
                both(f"ROLLBACK TO {name}")
                if rng.random() < 0.5:
                    self.twins.same_rows()
                savepoints = savepoints[:savepoints.index(name) + 1]
            elif draw < 0.40 and savepoints:
                name = rng.choice(savepoints)
                both(f"RELEASE {name}")
                savepoints = savepoints[:savepoints.index(name)]
            elif draw < 0.52:
                self.cursor(f"c{number}")
            elif draw < 0.56 and not self.cursors and not truncated:
                truncated = True
                both("SAVEPOINT before_truncate")
                # Refused while a cursor is open on the table.
                if not both("TRUNCATE t").error and rng.random() < 0.7:
                    if not both(self.statements.insert_select()).error:
                        self.twins.same_rows()
                both("ROLLBACK TO before_truncate")
            elif draw < 0.60:
                self.copy(own_transaction=False)
            else:
                both(self.statements.dml())
            if self.twins.in_failed_transaction():
                if savepoints and rng.random() < 0.7:
                    self.cursors = []
                    both(f"ROLLBACK TO {savepoints[0]}")
                    savepoints = savepoints[:1]
                else:
                    break
            if rng.random() < 0.2:
                self.twins.same_rows()
        if not self.twins.in_failed_transaction():
            self.finish_cursors()
            if rng.random() < 0.3:
                self.check_plans()
        draw = rng.random()
        if self.twins.in_failed_transaction() or draw < 0.3:
            both("ROLLBACK")
        elif draw < 0.45 and not self.temporary:
            both("PREPARE TRANSACTION '{side}'", compare=False)
            if rng.random() < 0.5:
                self.twins.same_rows()
            both(rng.choice(["COMMIT", "ROLLBACK"]) + " PREPARED '{side}'", compare=False)
        else:
            both("COMMIT")

    def cursor(self, name):
        """A cursor that stays open while rows change under it; or rows changed through it."""
        rng, twins = self.rng, self.twins
        if rng.random() < 0.35:
            key = self.statements.span()[0]
            lock = rng.choice(["", f" {rng.choice(LOCKS[:2])}"])
            # Without a key several rows may have this id. With one, no order: a cursor whose rows are sorted has no current row.
            order = "" if self.schema.key else " ORDER BY t::text"
            # Whole rows: on heap, an index-only scan's TID may be a redirect, which WHERE CURRENT OF does not follow (15.18).
            twins.both(f"DECLARE {name} CURSOR FOR SELECT * FROM t WHERE id >= {key} ORDER BY id, t::text{lock}" if lock else
                       f"DECLARE {name} CURSOR FOR SELECT * FROM t WHERE id = {key}{order}")
            fetched = twins.both(f"FETCH {name}")
            if fetched.rows and self.schema.key:
                twins.both(rng.choice([f"UPDATE t SET {self.statements.assignment()} WHERE CURRENT OF {name} RETURNING *",
                                       f"DELETE FROM t WHERE CURRENT OF {name} RETURNING id"]))
            if not twins.in_failed_transaction():
                twins.both(f"CLOSE {name}")
            return
        scroll = rng.choice(["SCROLL", "NO SCROLL"])
        condition = rng.choice(["true", self.statements.predicate()])
        twins.both(f"DECLARE {name} {scroll} CURSOR FOR SELECT t::text FROM t WHERE {condition}")
        parts = [side.query(f"FETCH 40 FROM {name}") for side in twins.sides]
        twins.log.append(f"FETCH 40 FROM {name}")
        self.cursors.append((name, scroll, parts))

    def finish_cursors(self):
        """The rest of the open cursors: both sides must have seen the same rows in all, and backwards the same again."""
        for name, scroll, parts in self.cursors:
            seen = []
            for side, part in zip(self.twins.sides, parts):
                rows = part + side.query(f"FETCH ALL FROM {name}")
                if scroll == "SCROLL":
                    back = side.query(f"FETCH BACKWARD ALL FROM {name}")
                    # In which order equal keys of an index come back is not promised.
                    if Outcome(rows=back).comparable() != Outcome(rows=rows).comparable():
                        raise Mismatch(f"{side.am}: cursor {name} backwards gives other rows: {len(back)} instead of {len(rows)}")
                seen.append(Outcome(rows=rows))
                side.query(f"CLOSE {name}")
            if seen[0].comparable() != seen[1].comparable():
                raise Mismatch(f"cursor {name}\n{difference(*seen)}")
        self.cursors = []

    # Checks

    def check(self):
        draw = self.rng.random()
        self.twins.same_rows()
        if draw < 0.5:
            self.check_plans()
        elif draw < 0.6:
            self.check_tids()
        elif draw < 0.7:
            self.check_projection()
        elif draw < 0.8:
            self.check_parallel()
        else:
            self.twins.healthy(self.schema.relations(), self.temporary)

    def check_all(self):
        if not self.temporary:
            self.twins.except_all()
        for _ in range(6):
            self.check_plans()
        self.check_tids()
        self.check_projection()
        self.check_parallel()
        self.twins.healthy(self.schema.relations(), self.temporary)

    def set_plan(self, kinds):
        names = ["seqscan", "indexscan", "indexonlyscan", "bitmapscan", "tidscan"]
        text = "; ".join(f"SET enable_{n} = {'on' if n in kinds else 'off'}" for n in names)
        for side in self.twins.sides:
            side.connection.execute(text)

    def reset_plan(self):
        self.set_plan(("seqscan", "indexscan", "indexonlyscan", "bitmapscan", "tidscan"))

    def check_plans(self):
        """Every way to reach the rows gives the same ones."""
        condition = self.statements.predicate()
        answers = {}
        for plan, kinds in PLANS.items():
            self.set_plan(kinds)
            for side in self.twins.sides:
                if plan == "index only":
                    answer = side.query(f"SELECT count(*) FROM t WHERE {condition}")[0]
                else:
                    answer = side.query(f"SELECT count(*), sum(hashtextextended(t::text, 0)) FROM t WHERE {condition}")[0]
                answers[f"{side.am} {plan}"] = answer
        self.reset_plan()
        expected = answers["heap sequential"]
        wrong = {k: v for k, v in answers.items() if v != expected[:len(v)]}
        if wrong:
            raise Mismatch(f"WHERE {condition}: {expected} expected, but {wrong}")

    def check_tids(self):
        """TIDs name rows, ranges of them cut the table in two, and samples of 100 % are the table."""
        twins = self.twins
        for relation in self.schema.relations():
            count = twins.same_rows(relation)
            for side in twins.sides:
                cut = self.rng.randrange(0, 30)
                answers = side.query(
                    f"SELECT (SELECT count(*) FROM {relation} WHERE ctid >= '(0,0)'), "
                    f"(SELECT count(*) FROM {relation} WHERE ctid < '({cut},7)') + (SELECT count(*) FROM {relation} WHERE ctid >= '({cut},7)'), "
                    f"(SELECT count(*) FROM {relation} TABLESAMPLE SYSTEM (100)), (SELECT count(*) FROM {relation} TABLESAMPLE BERNOULLI (100)), "
                    f"(SELECT count(*) FROM {relation} TABLESAMPLE SYSTEM (0)), (SELECT count(DISTINCT ctid) FROM {relation})")[0]
                if answers != (count, count, count, count, 0, count):
                    raise Mismatch(f"{side.am}: {count} rows in {relation}, but by TID ranges, samples, distinct TIDs: {answers}")
                differ = side.query(f"SELECT count(*) FROM {relation} one JOIN LATERAL (SELECT x AS again FROM {relation} x WHERE x.ctid = one.ctid) y ON true "
                                    f"WHERE one.id % 7 = 1 AND one::text = y.again::text")[0][0]
                wanted = side.query(f"SELECT count(*) FROM {relation} WHERE id % 7 = 1")[0][0]
                if differ != wanted:
                    raise Mismatch(f"{side.am}: of {wanted} rows of {relation} only {differ} are found again by their TID")

    def check_projection(self):
        """A few columns alone, and none."""
        names = self.rng.sample(self.schema.names(), min(len(self.schema.names()), 2))
        self.twins.same_answers(f"SELECT count(*), sum(hashtextextended(ROW({', '.join(names)})::text, 0)) FROM t")
        self.twins.same_answers("SELECT count(*) FROM t")
        self.twins.same_answers(f"SELECT count(*) FROM (SELECT FROM t WHERE {self.statements.predicate()}) x")
        if self.schema.of_kind("jsonb"):
            name = self.schema.of_kind("jsonb")[0].name
            self.twins.same_answers(f"SELECT {name}->>'k', jsonb_typeof({name}->'mixed'), count(*), count({name}->'n'), max({name}#>>'{{nested,a,b,1,d}}') FROM t GROUP BY 1, 2")

    def check_parallel(self):
        for side in self.twins.sides:
            side.connection.execute("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; "
                                    "SET min_parallel_index_scan_size = 0; SET max_parallel_workers_per_gather = 2")
        self.twins.same_answers("SELECT count(*), sum(id), sum(hashtextextended(t::text, 0)) FROM t")
        self.twins.same_answers(f"SELECT count(*), sum(id) FROM t WHERE {self.statements.predicate()}")
        for side in self.twins.sides:
            side.connection.execute("RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; "
                                    "RESET min_parallel_index_scan_size; RESET max_parallel_workers_per_gather")
