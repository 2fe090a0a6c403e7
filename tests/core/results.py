"""What a statement printed, as tables and other lines, and whether two such outputs say the same."""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

RULE = re.compile(r"-+(\+-+)*")
FOOTER = re.compile(r"\((\d+) rows?\)")
# Columns that show a plan, or what was taken from one by functions of the tests.
PLAN = re.compile(r"^\s*(QUERY PLAN|explain_\w+)\s*$")
# Columns that say where a row is and which command of its transaction wrote it.
INTERNAL = ("ctid", "cmin", "cmax")
# Tests of BRIN look at plans themselves.
ABOUT_PLAN = re.compile(r"WARNING:  did not get (seqscan|bitmap indexscan) plan for ")


@dataclass
class Table:
    header: str
    rule: str
    rows: list[str]
    footer: str

    def names(self):
        return [name.strip() for name in self.cells(self.header)]

    def cells(self, line):
        """A line cut where the rule has its columns, which are as wide as a terminal shows them."""
        ends = [i for i, c in enumerate(self.rule) if c == "+"]
        cells, cell, at = [], "", 0
        for c in line:
            if ends and at == ends[0]:
                cells.append(cell)
                cell = ""
                ends.pop(0)
            else:
                cell += c
            at += width(c)
        return cells + [cell] + [""] * len(ends)

    def without_numbers(self):
        """The table, but for which numbers its cells have, and how wide that makes them."""
        return self.names(), [[re.sub(r"\d+", "0", cell.strip()) for cell in self.cells(row)] for row in self.rows], self.footer

    def goes_on(self, line):
        """Whether a value with several lines goes on in the next: psql ends its cell with a plus."""
        return any(len(cell) > 1 and cell[0] == " " and cell[-1] == "+" for cell in self.cells(line))

    def is_plan(self):
        return bool(PLAN.match(self.header))


def width(c):
    if unicodedata.combining(c):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def parts(output):
    """Tables, and the lines around them as lists."""
    found, lines, at = [], [], 0
    while at < len(output):
        end = footer(output, at) if RULE.fullmatch(output[at]) else None
        if end is None:
            lines.append(output[at])
            at += 1
            continue
        table = Table(lines.pop() if lines else "", output[at], [], output[end])
        row = []
        for line in output[at + 1:end]:
            row.append(line)
            if not table.goes_on(line):
                table.rows.append("\n".join(row))
                row = []
        if row:
            table.rows.append("\n".join(row))
        found += [lines, table]
        lines, at = [], end + 1
    return found + [lines]


def footer(output, at):
    """The line that ends the table whose rule is at `at`."""
    for end in range(at + 1, len(output)):
        if FOOTER.fullmatch(output[end]):
            return end
        if not output[end]:
            return None
    return None


def words(text):
    """(depth of parentheses, whether that depth is a query, word) of a statement, without comments; a quoted string is one word."""
    token = re.compile(r"""--[^\n]*|/\*.*?\*/|(?:[eE])?'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$|"(?:[^"]|"")*"|[\w.]+|\S""", re.DOTALL)
    levels, begins = [True], False
    for found in token.finditer(text):
        word = found.group()
        if word.startswith(("--", "/*")):
            continue
        if word == "(":
            levels.append(False)
            begins = True
            continue
        if begins:
            levels[-1] = word.lower() in ("select", "with", "values", "table")
        begins = False
        if word == ")" and len(levels) > 1:
            levels.pop()
            continue
        yield len(levels) - 1, levels[-1], word


def orders(text):
    """Whether what a statement prints has an order: ORDER BY in it or in a subquery. What psql's own commands print has one, too."""
    if re.search(r"^\s*\\|\\g\b", text, re.MULTILINE):
        return True
    last = None
    for depth, query, word in words(text):
        if query and last == (depth, "order") and word.lower() == "by":
            return True
        last = (depth, word.lower())
    return False


def order_keys(text):
    """The columns of a statement's last ORDER BY as names or numbers; None where they are anything else."""
    if sum(word == ";" for _, _, word in words(text)) > 1:
        return None
    top, keys, last = [word for depth, _, word in words(text) if depth == 0], None, ""
    for word in top:
        lower = word.lower()
        if last == "order" and lower == "by":
            keys = [[]]
        elif keys is not None and lower in (";", "limit", "offset", "fetch", "for"):
            break
        elif keys is not None and word == ",":
            keys.append([])
        elif keys is not None and not lower in ("asc", "desc", "nulls", "first", "last"):
            keys[-1].append(lower)
        last = lower
    # An expression in parentheses leaves a hole or a function's name here.
    if not keys or "(" in text[re.search(r".*order\s+by", text, re.DOTALL | re.IGNORECASE).end():]:
        return None
    keys = [key[0] if len(key) == 1 or key[1:2] in (["collate"], ["using"]) else "?" for key in keys if key]
    return [int(key) if key.isdigit() else key.split(".")[-1].strip('"') for key in keys]


def same_order(text, one, other):
    """Whether rows that are the same in some order have the order that ORDER BY asks for: rows with the same keys may be in any."""
    if one.rows == other.rows:
        return True
    keys, names = order_keys(text), one.names()
    if keys is None:
        return False
    columns = []
    for key in keys:
        if isinstance(key, int) and key <= len(names):
            columns.append(key - 1)
        elif names.count(key) == 1:
            columns.append(names.index(key))
        else:
            return False
    picked = [[[table.cells(row)[c] for c in columns] for row in table.rows] for table in (one, other)]
    return picked[0] == picked[1]


def masked(table):
    """A table without what is PostgreSQL's choice or heap's own: plans, TIDs."""
    if table.is_plan():
        return Table(table.header.strip(), "", [], "")
    hidden = [i for i, name in enumerate(table.names()) if name in INTERNAL]
    if hidden:
        rows = ["|".join("?" if i in hidden and cell.strip() else cell for i, cell in enumerate(table.cells(row))) for row in table.rows]
        return Table("|".join(table.names()), "", rows, table.footer)
    return table


def same(text, expected, actual, *, exact=False, free=""):
    """Whether two outputs of a statement say the same. `exact`: to the letter; otherwise plans and TIDs are left out, and rows may have any order
    that the statement allows. `free` is what an exception lets through, see exceptions.txt."""
    if expected == actual:
        return True
    if exact and not free:
        return False
    if free == "plan":
        exact = False
    if not exact:
        expected, actual = ([line for line in output if not ABOUT_PLAN.match(line)] for output in (expected, actual))
    one, other = parts(expected), parts(actual)
    if len(one) != len(other):
        return False
    ordered = free != "order" and orders(text)
    any_lines = free == "order" or not ordered and re.match(r"\s*(--.*\n)*\s*copy\b.*\bto\s+stdout", text, re.IGNORECASE | re.DOTALL)
    return all(same_part(text, a, b, ordered, any_lines, exact, free) for a, b in zip(one, other))


def same_part(text, one, other, ordered, any_lines, exact, free):
    if isinstance(one, list):
        return Counter(one) == Counter(other) if any_lines else one == other
    if free == "numbers":
        return one.without_numbers() == other.without_numbers()
    if not exact:
        one, other = masked(one), masked(other)
    if (one.header, one.rule, one.footer) != (other.header, other.rule, other.footer) or Counter(one.rows) != Counter(other.rows):
        return False
    return not ordered or same_order(text, one, other)
