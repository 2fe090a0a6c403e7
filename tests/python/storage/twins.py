"""One statement on a heap table and on its amax twin, and what must be the same afterwards."""

import collections
import dataclasses
import random

import psycopg

from values import FUNCTIONS

# Never right, not even when both sides say it.
INTERNAL = ("XX000", "XX001", "XX002", "58P01", "58030", "53200")


class Mismatch(Exception):
    """The sides differ, or the amax side says of itself that it is damaged."""


@dataclasses.dataclass
class Outcome:
    error: str = ""  # SQLSTATE
    message: str = ""
    rows: list = None
    count: int = -1

    def comparable(self):
        rows = None if self.rows is None else collections.Counter(map(str, self.rows))
        return (self.error, self.count, rows)


class Side:
    """A connection whose search_path finds one of the twins."""

    def __init__(self, server, database, am, settings=()):
        self.am = am
        self.connection = server.connect(database, prepare_threshold=None)
        self.connection.execute(f"SET search_path = {am}_side, public; SET default_table_access_method = {am};"
                                "SET client_min_messages = error; SET timezone = 'UTC'")
        for setting in settings:
            self.connection.execute(setting)

    def run(self, statement, data=None):
        """Runs a statement; an ERROR is an outcome, a lost connection is not."""
        try:
            with self.connection.cursor() as cursor:
                if data is not None:
                    with cursor.copy(statement) as copy:
                        copy.write(data)
                    return Outcome(count=cursor.rowcount)
                cursor.execute(statement)
                if cursor.description is not None:
                    return Outcome(rows=cursor.fetchall(), count=cursor.rowcount)
                return Outcome(count=cursor.rowcount)
        except psycopg.Error as error:
            if self.connection.closed:
                raise Mismatch(f"the connection was lost ({self.am}): {error}") from error
            if error.sqlstate in INTERNAL:
                raise Mismatch(f"internal error ({self.am}): {error.sqlstate} {error} {error.diag.context or ''}") from error
            return Outcome(error=error.sqlstate or "?", message=str(error))

    def query(self, statement):
        """Runs what must not fail; returns its rows."""
        outcome = self.run(statement)
        if outcome.error:
            raise Mismatch(f"{self.am}: {outcome.error} {outcome.message} in: {statement}")
        return outcome.rows


class Twins:
    """Both sides, the log of what they were told, and the comparisons."""

    def __init__(self, server, database, seed, settings=()):
        self.random = random.Random(f"checks {seed}")
        self.log = []
        self.components = 0  # the most there were
        self.database = database
        with server.connect() as control:
            control.execute(f"CREATE DATABASE {database}")
            for setting in settings:
                control.execute(f"ALTER DATABASE {database} SET {setting}")
        with server.connect(database) as control:
            control.execute("CREATE EXTENSION amax; CREATE EXTENSION amcheck; CREATE SCHEMA heap_side; CREATE SCHEMA amax_side")
            control.execute(FUNCTIONS)
        self.connect(server)

    def connect(self, server):
        self.heap = Side(server, self.database, "heap")
        self.amax = Side(server, self.database, "amax")
        self.sides = (self.heap, self.amax)

    def close(self):
        for side in self.sides:
            side.connection.close()

    def both(self, statement, data=None, compare=True):
        """Runs a statement on both sides (`{side}` in it is heap or amax); returns heap's outcome."""
        self.log.append(statement if data is None else f"{statement} -- {len(data)} bytes")
        outcomes = [side.run(statement.replace("{side}", side.am), data) for side in self.sides]
        heap, amax = outcomes
        if heap.error != amax.error:
            raise Mismatch(f"heap: {heap.error or 'ok'} {heap.message}; amax: {amax.error or 'ok'} {amax.message}\nin: {statement}")
        if compare and heap.comparable() != amax.comparable():
            raise Mismatch(f"in: {statement}\n{difference(heap, amax)}")
        return heap

    def in_failed_transaction(self):
        return self.heap.connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR

    def in_transaction(self):
        return self.heap.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE

    def same_answers(self, query):
        self.both(query)

    def same_rows(self, source="t", condition="true"):
        """The rows as text, as a multiset; by a digest first, which is cheap."""
        digest = f"SELECT count(*), sum(hashtextextended({source}::text, 0)) FROM {source} WHERE {condition}"
        answers = [side.query(digest) for side in self.sides]
        if answers[0] != answers[1]:
            rows = [Outcome(rows=side.query(f"SELECT {source}::text FROM {source} WHERE {condition}")) for side in self.sides]
            raise Mismatch(f"{source} WHERE {condition}: heap {answers[0]}, amax {answers[1]}\n{difference(*rows)}")
        return answers[0][0][0]

    def except_all(self, table="t"):
        """EXCEPT ALL both ways, on the server; only for what both connections can see."""
        for a, b in (("heap", "amax"), ("amax", "heap")):
            rows = self.heap.query(f"SELECT x::text FROM {a}_side.{table} x EXCEPT ALL SELECT x::text FROM {b}_side.{table} x LIMIT 5")
            if rows:
                raise Mismatch(f"only in {a}: {shorten(rows)}")

    def reached(self, mode):
        """How columnar the table became. A short run may keep a table in row pages; differential.py wants some of each mode that did not."""
        return f"{self.components} components"

    def healthy(self, tables, temporary=False):
        """amax.verify finds nothing and amcheck finds the btrees complete."""
        for table in tables:
            self.components = max(self.components, self.amax.query(f"SELECT count(*) FROM amax.components('{table}'::regclass)")[0][0])
            problems = self.amax.query(f"SELECT * FROM amax.verify('{table}'::regclass)")
            if problems:
                raise Mismatch(f"amax.verify({table}): {shorten(problems)}")
            if temporary:
                continue
            # amcheck 1.3 asks of the index alone to be a btree; the table is read through its own access method.
            for (index,) in self.amax.query("SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = indexrelid "
                                            f"JOIN pg_am a ON a.oid = c.relam WHERE indrelid = '{table}'::regclass AND amname = 'btree' AND indisvalid"):
                self.amax.query(f"SELECT bt_index_parent_check('{index}', true)" if not self.in_transaction() and self.random.random() < 0.3
                                else f"SELECT bt_index_check('{index}', true)")


def shorten(rows, limit=1200):
    text = str(rows)
    return text if len(text) <= limit else text[:limit] + "…"


def difference(heap, amax):
    """What one side has and the other has not."""
    if heap.rows is None or amax.rows is None:
        return f"heap: count {heap.count} {shorten(heap.rows)}\namax: count {amax.count} {shorten(amax.rows)}"
    a, b = (collections.Counter(map(str, outcome.rows)) for outcome in (heap, amax))
    return f"only in heap ({sum((a - b).values())}): {shorten(list((a - b).elements())[:5])}\n" \
           f"only in amax ({sum((b - a).values())}): {shorten(list((b - a).elements())[:5])}"
