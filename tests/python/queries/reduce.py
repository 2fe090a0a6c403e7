"""Makes a finding smaller: fewer rows, fewer steps, a shorter query; and writes it down as a psql script."""

import time

from columns import PREPARE_DATABASE
from nodes import List, Literal, Node, below
from play import OTHER, Finding
from sides import LOST, on_side


class Reducer:
    def __init__(self, stage, finding, steps, seconds):
        self.stage, self.finding, self.steps, self.session = stage, finding, list(steps), list(finding.session)
        self.case = finding.case
        self.deadline = time.monotonic() + seconds
        self.tries = 0

    def fails(self, steps, session):
        """The finding, when it comes again."""
        self.tries += 1
        try:
            self.stage.reset()
            self.stage.build(steps)
            self.stage.enter(session)
            self.stage.run(self.case, session)
        except Finding as again:
            if again.what == "the connection was lost" or LOST in (again.heap.state, again.amax.state):
                self.stage.reopen()
            if again.what == self.finding.what and (again.case is self.case):
                return again
        except Exception:  # pylint: disable=broad-except
            self.stage.reopen()
        return None

    def run(self):
        if not (again := self.fails(self.steps, self.session)):
            return False
        self.finding = again
        self.drop_steps()
        self.drop_rows()
        self.shrink_query()
        self.drop_steps()
        self.drop_rows()
        self.shrink_query()
        self.fails(self.steps, self.session)
        return True

    def in_time(self):
        return time.monotonic() < self.deadline

    def minimize(self, items, test):
        """Drops items, in ever smaller chunks, as long as test(items) holds."""
        size = max(1, len(items) // 2)
        while items and self.in_time():
            start, dropped = 0, False
            while start < len(items) and self.in_time():
                fewer = items[:start] + items[start + size:]
                if test(fewer):
                    items, dropped = fewer, True
                else:
                    start += size
            if size == 1 and not dropped:
                break
            size = max(1, size // 2)
        return items

    def drop_steps(self):
        def test(fewer):
            steps = [s for s in fewer if isinstance(s, tuple)]
            session = [s for s in fewer if isinstance(s, str)]
            found = self.fails(steps, session)
            if found:
                self.finding, self.steps, self.session = found, steps, session
            return found
        self.minimize(self.steps + self.session, test)

    def drop_rows(self):
        rows = [(number, row) for number, step in enumerate(self.steps) if step[0] == "copy" for row in step[2]]
        def test(fewer):
            steps = [step if step[0] != "copy" else ("copy", step[1], [row for n, row in fewer if n == number]) for number, step in enumerate(self.steps)]
            found = self.fails(steps, self.session)
            if found:
                self.finding, self.steps = found, steps
            return found
        self.minimize(rows, test)

    def shrink_query(self):
        """Drops items of lists and replaces expressions by their parts, as long as the finding stays."""
        changed = True
        while changed and self.in_time():
            changed = False
            for node in list(below(self.case.node)):
                for kid in range(len(node.kids) - 1, -1, -1):
                    if kid < len(node.kids) and self.in_time():
                        changed |= self.shrink_kid(node, kid)

    def shrink_kid(self, node, number):
        kid = node.kids[number]
        if isinstance(node, List) and len(node.kids) > node.least:
            del node.kids[number]
            if self.check():
                return True
            node.kids.insert(number, kid)
        if kid.type is None or not kid.kids:
            return False
        candidates = [inner for inner in below(kid) if inner is not kid and inner.type == kid.type]
        if kid.type == "bool":
            candidates.insert(0, Literal("bool", "true"))
        for candidate in candidates[:6]:
            if self.in_time():
                node.kids[number] = candidate
                if self.check():
                    return True
        node.kids[number] = kid
        return False

    def check(self):
        found = self.fails(self.steps, self.session)
        if found:
            self.finding = found
        return bool(found)


def script(seed, finding, steps, session, case, plans):
    """The finding as a psql script."""
    lines = [f"-- {finding.what}; seed {seed}", f"-- statement: {finding.statement}".replace("\n", "\n-- ")]
    for name, answer in (("heap", finding.heap), ("amax", finding.amax)):
        lines += [f"-- {line}" for line in f"{name}: {answer}".split("\n")]
    for name, plan in zip(("heap", "amax"), plans):
        lines += [f"-- {name}'s plan:"] + [f"--   {line}" for line in plan.split("\n")]
    lines += ["CREATE EXTENSION IF NOT EXISTS amax;", PREPARE_DATABASE]
    for am in ("heap", "amax"):
        lines += [f"\\echo === {am}", f"DROP SCHEMA IF EXISTS {am}_side CASCADE; CREATE SCHEMA {am}_side; GRANT USAGE ON SCHEMA {am}_side TO reader;",
                  f"SET search_path = {am}_side, public; SET default_table_access_method = {am};"]
        for kind, text, *rows in steps:
            if kind == "copy":
                lines += [f"COPY {text} FROM STDIN;"] + [line for _, line in rows[0]] + ["\\."]
            else:
                lines.append(("-- in another session: " if kind == "other" else "") + on_side(am, text) + ";")
        lines += [("-- in another session: " if s.startswith(OTHER) else "") + f"{s.removeprefix(OTHER)};" for s in session]
        if case:
            begin = ["BEGIN;"] if case.needs_transaction() and "SAVEPOINT q" not in session else []
            lines += begin + [f"EXPLAIN (COSTS OFF) {case.node.sql()};"] + [f"{on_side(am, s)};" for s, _ in case.steps()] + ["ROLLBACK;"]
        lines += ["RESET ROLE;", "RESET ALL;"]
    return "\n".join(lines) + "\n"
