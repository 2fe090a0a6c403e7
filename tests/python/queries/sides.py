"""The two sides: each statement goes to both at once, and their answers must be the same."""

import collections
import dataclasses
import math
import pathlib
import re
import time

from psycopg import pq

ERROR, LOST = pq.ExecStatus.FATAL_ERROR, "lost"
TIMEOUT = "57014"
# The time a statement has. Amax has more: without statistics, chance may give only one side a plan that starts workers for each row.
LIMITS = {"heap": "60s", "amax": "600s"}
SLOW = 60  # seconds; statements of amax alone that take longer are counted, and printed
FLOATS = (700, 701)
# Never right, not even when both sides say it. (XX000 of an unsupported regular expression or the like does not come up.)
INTERNAL = re.compile(r"XX|58|53[^4]")
# What a cast may say of a value; the latter of NaN as an integer.
BAD_VALUE = re.compile(r"22|0A000")
ZEROS = re.compile(rb"(\d\.\d*?)0+(?!\d)")
POINT = re.compile(rb"(\d)\.(?!\d)")
MINUS_ZERO = re.compile(rb"(?<![\w.])-0(?![\w.])")


@dataclasses.dataclass
class Answer:
    state: str = ""  # SQLSTATE, or "lost"
    message: str = ""
    tag: bytes = b""
    rows: list = dataclasses.field(default_factory=list)
    types: list = dataclasses.field(default_factory=list)

    def __str__(self):
        if self.state:
            return f"ERROR {self.state}: {self.message}"
        shown = "\n".join("  " + " | ".join("NULL" if c is None else c.decode(errors="replace") for c in row)[:400] for row in self.rows[:20])
        return f"{self.tag.decode()}, {len(self.rows)} rows\n{shown}" + ("\n  …" if len(self.rows) > 20 else "")


def on_side(am, statement):
    """A statement as one side gets it: names of its access method, its schema, and the other access method."""
    other = "heap" if am == "amax" else "amax"
    return statement.replace("{side}", f"{am}_side").replace("{am}", am).replace("{other}", other)


class Side:
    """A connection whose search_path finds one of the twins."""

    def __init__(self, server, database, am):
        self.server, self.database, self.am = server, database, am
        self.connect()

    def connect(self):
        self.connection = self.server.connect(self.database, prepare_threshold=None)
        self.link = self.connection.pgconn
        for statement in (f"SET search_path = {self.am}_side, public", f"SET default_table_access_method = {self.am}", "SET client_min_messages = error",
                          self.limit()):
            self.run(statement)

    def limit(self):
        return f"SET statement_timeout = '{LIMITS[self.am]}'"

    def close(self):
        self.connection.close()

    def send(self, statement):
        try:
            self.link.send_query(on_side(self.am, statement).encode())
        except Exception:  # pylint: disable=broad-except
            pass  # the answer says that the connection is lost

    def answer(self):
        answer = Answer()
        while True:
            try:
                result = self.link.get_result()
            except Exception as error:  # pylint: disable=broad-except
                return Answer(LOST, str(error))
            if result is None:
                break
            if result.status == ERROR:
                answer.state = (result.error_field(pq.DiagnosticField.SQLSTATE) or LOST.encode()).decode()
                answer.message = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or result.error_message or b"").decode(errors="replace")
            else:
                answer.tag = result.command_status or b""
                columns = range(result.nfields)
                get = result.get_value
                answer.types = [result.ftype(c) for c in columns]
                answer.rows += [tuple(get(r, c) for c in columns) for r in range(result.ntuples)]
        if self.link.status != pq.ConnStatus.OK:
            answer.state = LOST
        return answer

    def run(self, statement):
        self.send(statement)
        return self.answer()

    def resident(self):
        """Memory of its own that the server process has, in kB."""
        pid = int(self.must("SELECT pg_backend_pid()")[0][0])
        return int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii"))[1])

    def must(self, statement):
        answer = self.run(statement)
        if answer.state:
            raise RuntimeError(f"{self.am}: {answer} in: {statement}")
        return answer.rows

    def copy(self, target, lines):
        with self.connection.cursor() as cursor, cursor.copy(f"COPY {target} FROM STDIN") as copy:
            copy.write("".join(line + "\n" for line in lines))


def both(sides, statement):
    started = time.monotonic()
    for side in sides:
        side.send(statement)
    answers = [side.answer() for side in sides]
    if time.monotonic() - started > SLOW and answers[0].state != TIMEOUT:
        print(f"slow: {time.monotonic() - started:.0f} s, heap's answer is known: {statement}", flush=True)
    return answers


def plain(rows):
    """Numbers without trailing zeros; zeros without a sign."""
    return [tuple(None if c is None else MINUS_ZERO.sub(b"0", POINT.sub(rb"\1", ZEROS.sub(rb"\1", c))) for c in row) for row in rows]


def sort_key(row):
    return tuple((c is None, c or b"") for c in row)


def close_enough(a, b, types):
    """The same but for the last digits of floats."""
    def same(x, y, type_):
        if x == y:
            return True
        return None not in (x, y) and type_ in FLOATS and math.isclose(float(x), float(y), rel_tol=1e-12, abs_tol=1e-9)
    return len(a) == len(b) and all(all(map(same, x, y, types)) for x, y in zip(a, b))


def same_rows(heap, amax, ordered, loose, float_sums):
    a, b = heap.rows, amax.rows
    if a == b:
        return True
    if len(a) != len(b):
        return False
    if not ordered and collections.Counter(a) == collections.Counter(b):
        return True
    if loose:
        a, b = plain(a), plain(b)
    if not ordered:
        a, b = sorted(a, key=sort_key), sorted(b, key=sort_key)
    return a == b or (float_sums and close_enough(a, b, heap.types))


def difference(case, compare, heap, amax):
    """What is wrong, in a few words; None when nothing is."""
    if LOST in (heap.state, amax.state):
        return "the connection was lost"
    for answer in (heap, amax):
        if INTERNAL.match(answer.state):
            return f"internal error {answer.state}"
    if heap.state == TIMEOUT:
        return None  # nobody knows what it would have said
    if heap.state == amax.state == "":
        if heap.tag != amax.tag:
            return "another number of rows"
        if compare and not same_rows(heap, amax, compare == "ordered", case.loose, case.float_sums):
            return "other rows"
        return None
    if not heap.state:
        return f"only amax fails, {amax.state}"
    if not amax.state:
        return f"only heap fails, {heap.state}"
    # Which of several bad values comes first is open.
    if heap.state != amax.state and (case.exact_message or not all(BAD_VALUE.match(answer.state) for answer in (heap, amax))):
        return f"other errors, {heap.state} and {amax.state}"
    if case.exact_message and heap.message != amax.message:
        return "other messages"
    return None
