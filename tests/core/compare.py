#!/usr/bin/env python3
"""Compares what PostgreSQL's own tests printed with what they are expected to, statement by statement. See README.md.

    compare.py PART INPUT RESULTS DIFFS TEST...                        says "ok TEST" or "failed TEST" of each, counts, and names exceptions
                                                                       that were of no use
    compare.py --except KIND REASON PART INPUT RESULTS DIFFS TEST...   excepts every statement that differs

PART may have a suffix, as in core-columns+drops_rows: it counts as the part before it. --major N also takes the exceptions of pgN,
and writes new ones there.
"""

import argparse
import difflib
import pathlib
import re
import sys
from dataclasses import dataclass, field

import results
import statements

HERE = pathlib.Path(__file__).parent
# Where exceptions are read, each with what is recorded beside it: those of all majors, then those of one. New ones go into the last.
FOLDERS = [HERE]
KINDS = ("order", "numbers", "plan", "recorded", "waits")
# What holds for a part holds for those that do more of the same.
ALSO = {"core-eager": ("core",), "core-columns": ("core-eager", "core"), "core-isolation-eager": ("core-isolation",)}
# Parts whose tables are as heap's: nothing is left out.
EXACT = ("core", "core-isolation")


@dataclass
class Exceptions:
    """Statements that may differ: (part, test, key) to what may. `used` are those that did."""

    kinds: dict
    used: set = field(default_factory=set)

    @classmethod
    def read(cls, paths):
        kinds = {}
        for path in paths:
            reason = None
            for number, line in enumerate(path.read_text().splitlines() if path.exists() else (), 1):
                if line.startswith("## "):
                    reason = line[3:].strip()
                elif line.strip() and not line.startswith("#"):
                    words = line.split(None, 4)
                    if not reason or len(words) < 5 or words[3] not in KINDS:
                        raise SystemExit(f"{path}:{number}: not PART TEST KEY KIND STATEMENT below a reason: {line}")
                    kinds[tuple(words[:3])] = words[3]
        return cls(kinds)

    def of(self, part, test, key):
        """The kind of the exception for a statement that differs, "" if there is none."""
        names = [(name, test, key) for name in (part, *ALSO.get(part, ()))]
        found = [name for name in names if name in self.kinds]
        self.used.update(found)
        return self.kinds[found[0]] if found else ""

    def unused(self, part, tests):
        """Those of the part itself that none of these tests needed."""
        return [name for name in self.kinds if name[0] == part and name[1] in tests and name not in self.used]


def read(path):
    # Tests print bytes of any encoding.
    return path.read_text(encoding="utf-8", errors="surrogateescape").split("\n")


def recorded(part, test):
    """Outputs that are recorded, by key; there may be several of one statement."""
    found = {}
    for path in [folder / "recorded" / name / f"{test}.out" for name in (part, *ALSO.get(part, ())) for folder in FOLDERS]:
        if path.exists():
            for block in re.split(r"^==== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
                key, _, output = block.partition("\n")
                found.setdefault(key.split()[0], []).append(output.split("\n")[:-1])
    return found


def without_waits(output):
    """As if no step of an isolation test had waited."""
    return [line.removesuffix(" <waiting ...>") for line in output if not re.fullmatch(r"step \w+: <\.\.\. completed>", line)]


class Comparison:
    """One test's output against one expected file."""

    def __init__(self, part, test, cut, expected, actual, exceptions):
        self.part, self.test = part, test
        self.compared = self.excepted = 0
        # (statement, expected output)
        self.differ = []
        known = recorded(part, test)
        if expected != actual and exceptions.of(part, test, "all") == "waits":
            self.excepted += 1
            expected, actual = without_waits(expected), without_waits(actual)
        if expected == actual:
            self.compared = len(cut(expected))
            return
        one, other = self.resolve(cut(expected)), self.resolve(cut(actual))
        for a, b in zip(one, other):
            self.compared += 1
            if a.key != b.key:
                self.differ.append((b, [f"statement: {a.text}"]))
                break
            same = lambda output, free="", a=a, b=b: results.same(a.runs, output, b.output, exact=part in EXACT, free=free)
            if same(a.output):
                continue
            kind = exceptions.of(part, test, a.key)
            if kind == "recorded":
                allowed = any(same(output) for output in known.get(a.key, ()))
            else:
                allowed = kind and same(a.output, kind)
            if allowed:
                self.excepted += 1
            else:
                self.differ.append((b, a.output))
        else:
            if len(one) != len(other):
                longer, there = (one, "missing") if len(one) > len(other) else (other, "unexpected")
                self.differ.append((longer[min(len(one), len(other))], [f"{there}: this statement"]))

    @staticmethod
    def resolve(cut):
        """What FETCH and EXECUTE run was said by DECLARE and PREPARE."""
        named = {}
        for statement in cut:
            text = re.sub(r"--[^\n]*", "", statement.runs)
            for name in re.findall(r"\b(?:declare|prepare)\s+(\w+)\b", text, re.IGNORECASE):
                named[name.lower()] = text
            for line in re.findall(r"\b(?:fetch|execute)\b[^;]*", text, re.IGNORECASE):
                for word in re.findall(r"\w+", line):
                    if word.lower() in named:
                        statement.runs += "\n" + named[word.lower()]
                        break
        return cut

    def report(self):
        for statement, expected in self.differ:
            yield f"==== {statement.key}\n{statement.text}\n"
            diff = difflib.unified_diff(expected, statement.output, "expected", "printed", lineterm="", n=3)
            yield "\n".join(diff) + "\n"


def compare(part, input_dir, results_dir, test, exceptions):
    """With the expected file that fits best: PostgreSQL has several for some tests."""
    actual = read(results_dir / f"{test}.out")
    if "isolation" in part:
        cut = statements.cut_isolation
    else:
        script = read(input_dir / "sql" / f"{test}.sql")
        cut = lambda output: statements.cut_script(script, output)
    part = part.split("+")[0]
    best = None
    names = [f"{test}.out"] + [f"{test}_{n}.out" for n in range(10)]
    for path in [input_dir / "expected" / name for name in names]:
        if path.exists():
            comparison = Comparison(part, test, cut, read(path), actual, exceptions)
            if best is None or len(comparison.differ) < len(best.differ):
                best = comparison
            if not best.differ:
                break
    return best


def add_exceptions(comparison, exceptions, kind, reason):
    """Writes lines for all that differs, below the reason, and records the outputs if that is asked for: one more, if there is one already."""
    path = FOLDERS[-1] / "exceptions.txt"
    lines = path.read_text().split("\n") if path.exists() else [""]
    heading = f"## {reason}"
    if heading not in lines:
        lines = [*lines[:-1], "", heading, ""]
    at = lines.index(heading) + 1
    new = []
    for statement, _ in comparison.differ:
        lines_of = [line for line in statement.text.split("\n") if not line.startswith("--")]
        # The step is what matters, then its permutation.
        text = " ".join(reversed(lines_of) if "isolation" in comparison.part else lines_of)
        if exceptions.of(comparison.part, comparison.test, statement.key) == kind == "recorded":
            continue
        new.append(f"{comparison.part} {comparison.test} {statement.key} {kind} {' '.join(text.split())}"[:120])
    while at < len(lines) and lines[at]:
        at += 1
    lines[at:at] = new
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines))
    if kind == "recorded":
        file = FOLDERS[-1] / "recorded" / comparison.part / f"{comparison.test}.out"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as out:
            for statement, _ in comparison.differ:
                out.write("\n".join([f"==== {statement.key}", *statement.output, ""]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--except", nargs=2, metavar=("KIND", "REASON"), dest="excepts")
    parser.add_argument("--major")
    parser.add_argument("part")
    parser.add_argument("input", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("diffs", type=pathlib.Path)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    if arguments.major:
        FOLDERS.append(HERE / f"pg{arguments.major}")
    exceptions = Exceptions.read(folder / "exceptions.txt" for folder in FOLDERS)
    arguments.diffs.mkdir(parents=True, exist_ok=True)
    compared = excepted = failed = 0
    for test in arguments.tests:
        diff = arguments.diffs / f"{test}.statements"
        diff.unlink(missing_ok=True)
        try:
            comparison = compare(arguments.part, arguments.input, arguments.results, test, exceptions)
        except (OSError, statements.Unaligned) as error:
            print(f"failed {test}")
            diff.write_text(f"{error}\n")
            failed += 1
            continue
        compared += comparison.compared
        excepted += comparison.excepted
        if comparison.differ and arguments.excepts:
            add_exceptions(comparison, exceptions, *arguments.excepts)
        elif comparison.differ:
            failed += 1
            with diff.open("w", encoding="utf-8", errors="surrogateescape") as out:
                out.writelines(comparison.report())
        print("failed" if comparison.differ else "ok", test)
    print(f"statements {compared} compared, {excepted} excepted")
    for _, test, key in exceptions.unused(arguments.part.split("+")[0], arguments.tests):
        print(f"unused {test} {key}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
