"""Random SQL/JSON paths over documents, with all that paths can have: lax and strict, with variables, and errors where they may be."""

import json

from documents import quote
from nodes import Literal, Node

COMPARISONS = ["==", "==", "!=", "<>", "<", "<=", ">", ">="]
REGULAR = ['"^[a-m]"', '"e"', '"^R" flag "i"', '"." flag "q"', '"^red$"', '"\\\\d+"']
METHODS = ["type()", "size()", "double()", "abs()", "floor()", "ceiling()", "keyvalue()", "keyvalue().key", "keyvalue().value", "datetime()", "size() + 1"]
# What takes a document, a path, variables and `silent`.
FUNCTIONS = {"jsonb_path_exists": "bool", "jsonb_path_match": "bool", "jsonb_path_query_first": "jsonb", "jsonb_path_query_array": "jsonb"}
ROWS = ["jsonb_path_query", "jsonb_path_query", "jsonb_path_query_tz"]


class Paths:
    """Paths over documents of these types. Those that are not `risky` raise no error where errors are suppressed."""

    def __init__(self, rng, paths, risky):
        self.rng, self.paths, self.risky = rng, paths, risky
        self.variables = {}

    def steps(self, root="$"):
        """From `$` along some path, more or less."""
        rng = self.rng
        found = min((rng.choice(self.paths.paths) for _ in range(rng.choice([1, 1, 2, 3]))), key=lambda path: len(path.steps))
        text = root
        for step in found.steps:
            draw = rng.random()
            if draw < 0.05:
                text += rng.choice([".*", ".**", ".**{1}", ".**{1 to last}", ".nothing", "[*]", "[0]"])
            if isinstance(step, int):
                text += "[*]" if rng.random() < 0.5 else self.subscript(step)
            elif draw > 0.03:
                text += "." + json.dumps(step, ensure_ascii=False)
        return text, found

    def subscript(self, step=0):
        rng = self.rng
        return rng.choice([f"[{step if step >= 0 else 'last'}]"] * 4 + ["[last]", "[last - 1]", "[0 to 1]", "[0, 1]", "[1 to last]", "[9]", "[1.7]", f"[{self.variable(rng.choice([0, 1]))}]",
                                                                     "[last - $.n]", "[-1]"])

    def variable(self, value):
        for name, known in self.variables.items():
            if known == value and type(known) is type(value):
                return f"${name}"
        name = self.rng.choice(["x", "y", "value", '"a b"']) + str(len(self.variables))
        name = name if '"' not in name else f'"{len(self.variables)} b"'
        self.variables[name] = value
        return f"${name}"

    def literal(self, path=None):
        rng = self.rng
        value = json.loads(path.example(rng)) if path and rng.random() < 0.7 else rng.choice([None, True, False, 0, 1, 3, 2.5, -7, 100, "red", "", "a", "1"])
        if isinstance(value, (dict, list)) or isinstance(value, str) and (len(value) > 60 or "\0" in value):
            value = 1
        if rng.random() < 0.25:
            return self.variable(value)
        return json.dumps(value, ensure_ascii=False) if not isinstance(value, float) else repr(value)

    def operand(self, root):
        """Something that is compared, and where it is from."""
        rng = self.rng
        if root == "@" and rng.random() < 0.45:
            text, found = "@", None
        elif root == "@" and rng.random() < 0.7:
            keys = sorted({str(step) for path in self.paths.inner for step in path.steps if not isinstance(step, int)})
            text, found = "@." + json.dumps(rng.choice(keys or ["a"]), ensure_ascii=False), None
            text += rng.choice(["", "", "", "[*]", "[0]", ".*"])
        else:
            text, found = self.steps("$")
        if rng.random() < 0.1:
            text += "." + rng.choice(METHODS[:6])
        return text, found

    def predicate(self, root, depth=2):
        rng = self.rng
        draw = rng.random()
        if depth and draw < 0.25:
            inner = [self.predicate(root, depth - 1) for _ in range(2)]
            return rng.choice(["({0}) && ({1})", "({0}) || ({1})", "!({0})", "({0}) is unknown", "!({0}) && ({1})"]).format(*inner)
        left, found = self.operand(root)
        if draw < 0.65:
            right = self.literal(found)
            operator = rng.choice(COMPARISONS)
            return f"{left} {operator} {right}" if rng.random() < 0.85 else f"{right} {operator} {left}"
        if draw < 0.72:
            return f"{left} {rng.choice(COMPARISONS)} {self.operand(root)[0]}"
        if draw < 0.80:
            return f"{left} starts with {rng.choice([json.dumps('r'), json.dumps('a'), json.dumps(''), self.variable('re')])}"
        if draw < 0.87:
            return f"{left} like_regex {rng.choice(REGULAR)}"
        if draw < 0.93:
            inner = f" ? ({self.predicate('@', depth - 1)})" if depth and rng.random() < 0.5 else ""
            return f"exists ({left}{inner})"
        if draw < 0.97:
            return f"({left} {rng.choice(['+', '-', '*', '/', '%'])} {rng.choice(['1', '2', '0', left])}) {rng.choice(COMPARISONS)} {rng.choice(['1', '3', '0.5'])}"
        return f'{left}.type() == "{rng.choice(["string", "number", "array", "object", "null", "boolean"])}"'

    def path(self):
        """A path that finds values."""
        rng = self.rng
        text, found = self.steps()
        for _ in range(rng.choice([0, 0, 1, 1, 2])):
            text += rng.choice(["", "[*]", "[*]"]) + (f" ? ({self.predicate('@')})" if rng.random() < 0.8 else rng.choice([".*", ".**", ".**{2}", self.subscript()]))
            if rng.random() < 0.4:
                text += "." + json.dumps(rng.choice([str(step) for path in self.paths.inner for step in path.steps if not isinstance(step, int)] or ["a"]), ensure_ascii=False)
        if rng.random() < 0.12:
            text += "." + rng.choice(METHODS)
        if rng.random() < 0.03:
            text = f"{text} {rng.choice('+-*/%')} {rng.choice(['1', text])}"
        return self.mode() + text

    def test(self):
        """A path that is a predicate, mostly."""
        return self.path() if self.rng.random() < 0.05 else self.mode() + self.predicate("$")

    def mode(self):
        return self.rng.choice(["", "", "", "lax ", "strict "])

    def given(self):
        """Variables as an argument; sometimes more of them, and in a risky batch fewer, or no object."""
        rng = self.rng
        values = {name.strip('"'): value for name, value in self.variables.items()}
        if rng.random() < 0.1:
            values["other"] = 1
        if self.risky and rng.random() < 0.05:
            values = rng.choice([{}, [], {name: [1] for name in values}])
        return Literal("jsonb", f"{quote(json.dumps(values, ensure_ascii=False))}::jsonb", fixed=True)

    def literal_path(self, text):
        return Literal("jsonpath", f"{quote(text)}::jsonpath", fixed=True)

    def call(self, name, base):
        """A call of one of the functions, which raises no error unless it is risky."""
        rng = self.rng
        text = self.test() if name == "jsonb_path_match" else self.path()
        silent = not self.risky or rng.random() < 0.3
        # Not suppressed: time zones where they are not used.
        if not self.risky:
            text = text.replace("datetime()", "type()")
        zoned = "" if name.endswith("_tz") or rng.random() < 0.85 else "_tz"
        if not self.variables and not silent:
            return f"{name}{zoned}(%s, %s)", [Node("jsonb", base), self.literal_path(text)]
        return f"{name}{zoned}(%s, %s, %s, {'true' if silent else 'false'})", [Node("jsonb", base), self.literal_path(text), self.given()]

    def operator(self, base):
        """`@?` or `@@`, which have no variables and suppress errors."""
        exists = self.rng.random() < 0.5
        for _ in range(20):
            self.variables = {}
            text = (self.path() if exists else self.test()).replace("datetime()", "type()")
            if not self.variables:
                return f"(%s {'@?' if exists else '@@'} %s)", [Node("jsonb", base), self.literal_path(text)]
        return "(%s @? %s)", [Node("jsonb", base), self.literal_path("$.a")]

    def value(self, base):
        """An expression, and its type."""
        rng = self.rng
        if rng.random() < 0.3:
            return Node("bool", *self.pieces(self.operator(base)))
        name = rng.choice(list(FUNCTIONS))
        return Node(FUNCTIONS[name], *self.pieces(self.call(name, base)))

    def truth(self, base):
        rng = self.rng
        found = self.operator(base) if rng.random() < 0.5 else self.call(rng.choice(["jsonb_path_exists", "jsonb_path_match"]), base)
        return Node("bool", *self.pieces(found))

    def rows(self, base):
        """A call that gives rows."""
        return Node(None, *self.pieces(self.call(self.rng.choice(ROWS), base)))

    @staticmethod
    def pieces(found):
        text, kids = found
        return text, *kids
