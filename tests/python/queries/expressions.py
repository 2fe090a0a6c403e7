"""Random expressions over documents and columns, typed, and free of errors unless `risky`.

What would be open in SQL is avoided or noted: `loose` when equal values with another text may stand for each other, `float_sums` when
the order of rows shows in the last digits.
"""

import json
import re

from columns import CAST_TYPES, OTHERS
from documents import ALL, ARR, BAD, BIG, JSON_CASTS, OBJ, TEXT_CASTS, quote
from nodes import Literal, List, Node

TYPES = ["int", "bigint", "numeric", "float8", "text", "bool", "date", "timestamp", "timestamptz", "jsonb", "text[]"]
ORDERED = [t for t in TYPES if t not in ("text[]",)]
COLLATIONS = ['"C"', '"C"', '"POSIX"', '"en-x-icu"']
COMPARISONS = ["=", "<>", "<", "<=", ">", ">=", "="]


class Number(str):
    """A number as it was written."""


def dump(value):
    """JSON text; numbers as they were."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {dump(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dump, value)) + "]"
    return json.dumps(value)


class Scope:
    """What an expression may refer to."""

    def __init__(self, documents=(), columns=(), keys=()):
        self.documents = list(documents)  # (SQL of a jsonb, Documents)
        self.columns = list(columns)  # (SQL, type)
        self.keys = list(keys)  # SQL of columns that together are unique
        self.others = CAST_TYPES + sorted({t for _, t in self.columns if t in OTHERS}) * 2

    def __add__(self, other):
        return Scope(self.documents + other.documents, self.columns + other.columns, self.keys + other.keys)


class Expressions:
    def __init__(self, rng, scope, risky=False, world=None):
        self.rng, self.scope, self.risky, self.world = rng, scope, risky, world
        self.loose = self.float_sums = False

    def inside(self, scope):
        """The same generator in another scope; what it notes is noted here."""
        return Expressions(self.rng, scope, self.risky, self.world)

    def adopt(self, inner):
        self.loose |= inner.loose
        self.float_sums |= inner.float_sums

    def type(self, trait=None, share=0.2):
        """A type; sometimes one of OTHERS with this trait."""
        others = [t for t in self.scope.others if trait is None or trait in OTHERS[t].traits]
        return self.rng.choice(others if others and self.rng.random() < share else TYPES)

    # Literals

    def literal(self, type_, path=None):
        """A constant: as it stands at the path, at the edge of something, or anything."""
        rng = self.rng
        value = json.loads(path.example(rng), parse_float=str, parse_int=str) if path else None
        value = str(value).lower() if isinstance(value, bool) else value
        if rng.random() < 0.03:
            return Literal(type_, f"NULL::{type_}")
        number = value if isinstance(value, str) and re.fullmatch(r" *-?[0-9]{1,18}(\.[0-9]{1,9})? *", value) and rng.random() < 0.6 else None
        day = value if isinstance(value, str) and re.match(r"[12][0-9]{3}-[01]\d-[0-3]\d", value) and BAD not in path.kinds and rng.random() < 0.5 else None
        match type_:
            case "int":
                text = number if number and re.fullmatch("[0-9]{1,5}", number) else str(rng.choice([0, 1, -1, 7, 60, rng.randint(-60, 300)]))
                text = f"({text})" if text.startswith("-") else text
            case "bigint":
                text = quote(number if number and "." not in number else str(rng.choice([0, 5, -3, 2**31, 2**53, 2**63 - 1, -2**63, rng.randint(-60, 300)])))
            case "numeric":
                text = quote(number or rng.choice(["0", "1.0", "2.50", "-3.25", "0.1", "1e3", "12345678901234567890.5", str(rng.randint(-60, 300))]))
            case "float8":
                text = quote(number or rng.choice(["0", "1", "2.5", "-3.25", "1e10", str(rng.randint(-60, 300))]))
            case "text":
                text = quote(value if isinstance(value, str) and "\0" not in value else rng.choice(["red", "", "a", "z", "5", "true"]))
            case "bool":
                text = rng.choice(["true", "false"])
            case "date":
                text = quote(day[:10]) if day else f"'{rng.randint(2018, 2025)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}'"
            case "timestamp" | "timestamptz":
                text = quote(day) if day else f"'{rng.randint(2018, 2025)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d} {rng.randint(0, 23):02d}:30:00{rng.choice(['', '+01']) if type_[-2:] == 'tz' else ''}'"
            case "jsonb":
                text = quote(path.example(rng) if path else rng.choice(["1", "1.0", '"red"', "null", "true", "[]", "{}", '{"a": 1}', "[1, 2]", '""']))
            case "text[]":
                text = rng.choice(["'{}'", "'{red,NULL}'", "'{a,b,red}'", "'{\"\"}'"])
            case _:
                text = quote(rng.choice(OTHERS[type_].values))
        return Literal(type_, f"{text}::{type_}" if not text.startswith("(") else text + "::int")

    # Paths

    def path(self, allowed=None):
        """(SQL of the document, path): one whose values are of allowed kinds only, or (risky) of others too. None where there is none."""
        rng = self.rng
        if not self.scope.documents:
            return None
        documents, paths = rng.choice(self.scope.documents)
        if allowed is None:
            return documents, self.shallow(paths.inner or [paths.root])
        if self.risky and rng.random() < 0.5:
            # Those with a few others among them are the interesting ones.
            mostly = paths.of(allowed, also_others=True)
            if mostly:
                return documents, self.shallow(mostly)
        fitting = paths.of(allowed)
        if paths.root.kinds and paths.root.kinds <= allowed:
            fitting = fitting + [paths.root]
        return (documents, self.shallow(fitting)) if fitting else None

    def shallow(self, paths):
        """One of the paths; rather one of few steps, for there are many of many."""
        return min((self.rng.choice(paths) for _ in range(self.rng.choice([1, 2, 4]))), key=lambda p: len(p.steps))

    def step(self, step):
        if isinstance(step, int):
            return Literal("int", str(step) if step >= 0 else f"({step})", fixed=True)
        return Literal("text", f"{quote(step)}::text" if self.rng.random() < 0.1 else quote(step), fixed=True)

    def steps(self, steps):
        """A path as a text[]."""
        if self.rng.random() < 0.2:
            return Node("text[]", "ARRAY[%s]::text[]", List([Literal("text", quote(str(s)), fixed=True) for s in steps], least=len(steps)))
        parts = ",".join('"' + str(s).replace("\\", "\\\\").replace('"', '\\"') + '"' if not isinstance(s, int) else str(s) for s in steps)
        return Literal("text[]", quote("{" + parts + "}"), fixed=True)

    def json_at(self, base, steps):
        """-> in one of its forms."""
        rng = self.rng
        node = Node("jsonb", base)
        if not steps:
            return node
        steps = list(steps)
        draw = rng.random()
        if draw < 0.15:
            return Node("jsonb", "(%s #> %s)", node, self.steps(steps))
        if draw < 0.22:
            return Node("jsonb", "jsonb_extract_path(%s)", List([node] + [Literal("text", quote(str(s)), fixed=True) for s in steps], least=2))
        if draw < 0.40:
            subscripts = "".join(f"[{s}]" if isinstance(s, int) else f"[{quote(s).replace('%', '%%')}]" for s in steps)
            return Node("jsonb", f"(%s){subscripts}", node)
        for number, step in enumerate(steps):
            if rng.random() < 0.08:
                return Node("jsonb", "(%s #> %s)", node, self.steps(steps[number:]))
            node = Node("jsonb", "(%s -> %s)", node, self.step(step))
        return node

    def text_at(self, base, steps):
        """->> in one of its forms."""
        rng = self.rng
        node = Node("jsonb", base)
        draw = rng.random()
        if not steps or draw < 0.05:
            return Node("text", "(%s #>> '{}')", self.json_at(base, steps))
        if draw < 0.2:
            return Node("text", "(%s #>> %s)", node, self.steps(steps))
        if draw < 0.25:
            return Node("text", "jsonb_extract_path_text(%s)", List([node] + [Literal("text", quote(str(s)), fixed=True) for s in steps], least=2))
        if draw < 0.28 and isinstance(steps[-1], str):
            return Node("text", "public.at(%s, %s)", self.json_at(base, steps[:-1]), self.step(steps[-1]))
        return Node("text", "(%s ->> %s)", self.json_at(base, steps[:-1]), self.step(steps[-1]))

    def field(self, type_):
        """(expression of the type that reads a path, the path), or None."""
        rng = self.rng
        if not self.scope.documents:
            return None
        if type_ == "jsonb":
            base, path = self.path()
            return self.json_at(base, path.steps), path
        if type_ == "text":
            base, path = self.path()
            if rng.random() < 0.12:
                return Node("text", "(%s)::text", self.json_at(base, path.steps)), path
            return self.text_at(base, path.steps), path
        if type_ not in TEXT_CASTS:
            return None
        if rng.random() < 0.12 and type_ not in OTHERS:
            return self.guarded(type_)
        if type_ in JSON_CASTS and rng.random() < 0.4:
            found = self.path(JSON_CASTS[type_])
            if found:
                return self.cast(self.json_at(found[0], found[1].steps), type_), found[1]
        found = self.path(TEXT_CASTS[type_])
        return (self.cast(self.text_at(found[0], found[1].steps), type_), found[1]) if found else None

    def cast(self, node, type_):
        return Node(type_, f"CAST(%s AS {type_})" if self.rng.random() < 0.1 else f"(%s)::{type_}", node)

    def guarded(self, type_):
        """A cast that is safe because CASE asks first."""
        base, path = self.path()
        json_kind = {"numeric": "number", "bool": "boolean"}.get(type_)
        if json_kind:
            value = self.rng.choice([self.json_at, self.text_at])(base, path.steps)
            return Node(type_, f"CASE WHEN jsonb_typeof(%s) = '{json_kind}' THEN (%s)::{type_} END", self.json_at(base, path.steps), value), path
        pattern = {"int": "^ *[0-9]{1,4}$", "bigint": "^[0-9]{1,15}$", "float8": "^-?[0-9]{1,12}(\\.[0-9]{1,5})?$"}.get(type_, "^20[0-9][0-9]-0[1-9]-[12][0-8]$")
        return Node(type_, f"CASE WHEN %s ~ '{pattern}' THEN (%s)::{type_}{self.rng.choice([' END', ' ELSE NULL END'])}",
                    self.text_at(base, path.steps), self.text_at(base, path.steps)), path

    # Values

    def column(self, type_):
        found = [sql for sql, t in self.scope.columns if t == type_]
        return Node(type_, self.rng.choice(found)) if found else None

    def simple(self, type_):
        """A path, a column or a literal."""
        draw = self.rng.random()
        if draw < 0.72 and (found := self.field(type_)):
            return found[0]
        if draw < 0.95 and (found := self.column(type_)):
            return found
        return self.literal(type_)

    def value(self, type_, depth=2):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.6:
            return self.simple(type_)
        draw = rng.random()
        if draw < 0.10:
            return Node(type_, "COALESCE(%s)", List([self.value(type_, depth - 1), self.value(type_, depth - 1)], least=1))
        if draw < 0.20:
            return Node(type_, "CASE WHEN %s THEN %s ELSE %s END", self.condition(depth - 1), self.value(type_, depth - 1), self.value(type_, depth - 1))
        if draw < 0.24 and "=" in (OTHERS[type_].traits if type_ in OTHERS else "="):
            return Node(type_, "NULLIF(%s, %s)", self.value(type_, depth - 1), self.simple(type_))
        if draw < 0.27 and type_ not in ("jsonb", "bool", "text[]") and "<" in (OTHERS[type_].traits if type_ in OTHERS else "<"):
            return Node(type_, rng.choice(["GREATEST", "LEAST"]) + "(%s, %s)", self.value(type_, depth - 1), self.simple(type_))
        if draw < 0.29:
            return Node(type_, "CASE %s WHEN %s THEN %s END", self.value("text", depth - 1), self.literal("text"), self.value(type_, depth - 1))
        return self.computed(type_, depth - 1) or self.simple(type_)

    def computed(self, type_, depth):
        rng = self.rng
        value = lambda t: self.value(t, depth)  # pylint: disable=unnecessary-lambda-assignment
        if self.risky and type_ in ("int", "bigint", "numeric", "float8") and rng.random() < 0.3:
            # Overflow, division by zero, what does not fit the type.
            return rng.choice([
                lambda: Node(type_, f"(%s {rng.choice(['/', '/', '*', '+', '-'])} %s)", value(type_), value(type_)),
                lambda: Node(type_, f"(%s * %s)", value(type_), Literal(type_, f"1000000::{type_}")),
                lambda: Node(type_, f"(%s)::{type_}", value(rng.choice(["int", "bigint", "numeric", "float8"]))),
            ])()
        match type_:
            case "int":
                number = "%s" if self.risky else "NULLIF(%s, 'NaN')"
                return rng.choice([
                    lambda: Node("int", "(%s + %s)", value("int"), self.literal("int")),
                    lambda: Node("int", "(%s - %s)", value("int"), self.simple("int")),
                    lambda: Node("int", f"mod(%s, {rng.choice([2, 3, 7, 10])})", value("int")),
                    lambda: Node("int", f"(%s / {rng.choice([2, 10, 100])})", value("int")),
                    lambda: Node("int", rng.choice(["abs(%s)", "(- %s)", "sign(%s)::int"]), value("int")),
                    lambda: Node("int", rng.choice(["length(%s)", "octet_length(%s)", "char_length(%s)"]), value("text")),
                    lambda: self.array_length(),
                    self.year,
                    lambda: Node("int", "(%s)::int", self.simple("bool")),
                    lambda: Node("int", f"width_bucket({number}, {rng.choice(['0, 100, 10', '10, -5, 3', '0.5, 7, 1000', '-1e9, 1e9, 7', '1, 0, 1'])})", value(rng.choice(["float8", "numeric"]))),
                    lambda: Node("int", "cardinality(%s)", value("text[]")),
                    lambda: Node("int", rng.choice(["strpos(%s, %s)", "position(%s in %s)"]), value("text"), self.literal("text")),
                ])()
            case "bigint":
                return rng.choice([
                    lambda: Node("bigint", "(%s)::bigint", value("int")),
                    lambda: Node("bigint", "((%s)::bigint * %s)", value("int"), self.literal("int")),
                    lambda: Node("bigint", "(%s / 1000)", value("bigint")),
                    lambda: Node("bigint", "mod(%s, 10)", value("bigint")),
                ])()
            case "numeric":
                return rng.choice([
                    lambda: Node("numeric", "(%s + %s)", value("numeric"), value("numeric")),
                    lambda: Node("numeric", "(%s - %s)", value("numeric"), self.literal("numeric")),
                    lambda: Node("numeric", "(%s * %s)", value("numeric"), self.literal("numeric")),
                    lambda: Node("numeric", f"(%s / {rng.choice(['3', '100', '0.5'])})", value("numeric")),
                    lambda: Node("numeric", "((%s)::numeric * 1.5)", value(rng.choice(["int", "bigint"]))),
                    lambda: Node("numeric", f"round(%s, {rng.choice([0, 1, 2, 5, -1])})", value("numeric")),
                    lambda: Node("numeric", f"CASE WHEN %s THEN %s ELSE {rng.choice(['0', '0.0', '1.5'])} END", self.simple("bool"), value("numeric")),
                    lambda: Node("numeric", rng.choice(["abs(%s)", "trunc(%s)", "floor(%s)", "ceil(%s)", "(- %s)", "trim_scale(%s)"]), value("numeric")),
                    lambda: Node("numeric", f"extract({rng.choice(['year', 'month', 'dow', 'isodow', 'epoch', 'quarter', 'day', 'doy', 'hour', 'minute', 'second', 'week'])} from %s)",
                                 value(rng.choice(["timestamp", "timestamptz"]))),
                    lambda: Node("numeric", "extract(month from %s)", value("date")),
                    lambda: Node("numeric", "(%s)::numeric(30, 2)", value("int")),
                    lambda: Node("numeric", "(%s)::real::numeric", value("int")),
                    lambda: Node("numeric", f"(%s)::numeric({rng.choice(['1000, 2', '60, 1', '1000'])})", value(rng.choice(["int", "bigint"]))),
                ])()
            case "float8":
                return rng.choice([
                    lambda: Node("float8", "(%s + %s)", value("float8"), self.literal("float8")),
                    lambda: Node("float8", "(%s * 0.5)", value("float8")),
                    lambda: Node("float8", "(%s / 3)", value("float8")),
                    lambda: Node("float8", "(%s)::float8", value(rng.choice(["int", "bigint"]))),
                    lambda: Node("float8", rng.choice(["sqrt(abs(%s))", "ln(abs(%s) + 1)", "log(abs(%s) + 0.5)", "exp(- abs(%s) / 1e12)"]), value("float8")),
                    lambda: Node("float8", f"date_part('{rng.choice(['epoch', 'hour', 'second', 'year'])}', %s)", value("timestamp")),
                ])()
            case "text":
                return rng.choice([
                    lambda: Node("text", rng.choice(["upper(%s)", "lower(%s)", "left(%s, 3)", "right(%s, 2)", "substr(%s, 2, 3)", "reverse(%s)", "trim(%s)", "md5(%s)",
                                                     "left(%s, -2)", "right(%s, -3)", "left(%s, 10)", "substring(%s from 3)", "substring(%s from -1 for 4)", "ltrim(%s)", "rtrim(%s)", "('<' || %s || '>')"]),
                                 value("text")),
                    lambda: Node("text", "(%s || %s)", value("text"), self.simple("text")),
                    lambda: Node("text", "concat(%s, '-', %s)", value("text"), self.simple(rng.choice(TYPES[:7]))),
                    lambda: Node("text", "(%s)::text", value(self.type(share=0.4))),
                    lambda: Node("text", f"(%s)::{rng.choice(['varchar(3)', 'char(4)', 'varchar', 'name'])}::text", value("text")),
                    lambda: Node("text", "jsonb_typeof(%s)", self.simple("jsonb")),
                    lambda: Node("text", f"to_char(%s, '{rng.choice(['YYYY-MM', 'HH24', 'Day', 'YYYY-MM-DD HH24:MI:SS'])}')", value(rng.choice(["timestamp", "timestamptz"]))),
                    lambda: Node("text", "replace(%s, %s, '_')", value("text"), self.literal("text")),
                    lambda: Node("text", f"split_part(%s, '{rng.choice(['-', 'e', '::', ' '])}', {rng.choice([1, 2, 3])})", value("text")),
                    lambda: Node("text", "replace(%s, 'e', %s)", value("text"), self.literal("text")),
                ])()
            case "bool":
                # What a condition leaves open shows here: NULL or false.
                return rng.random() < 0.4 and self.containment() or self.condition(depth)
            case "date":
                return rng.choice([
                    lambda: Node("date", "(%s + %s)", value("date"), Literal("int", str(rng.randint(0, 40)))),
                    lambda: Node("date", "(%s)::date", value(rng.choice(["timestamp", "timestamptz"]))),
                ])()
            case "timestamp":
                return rng.choice([
                    lambda: Node("timestamp", f"date_trunc('{rng.choice(['year', 'month', 'week', 'day', 'hour', 'minute'])}', %s)", value("timestamp")),
                    lambda: Node("timestamp", "(%s)::timestamp", value("date")),
                    lambda: Node("timestamp", f"(%s + interval '{rng.choice(['1 day', '1 month', '-90 minutes'])}')", value("timestamp")),
                    lambda: Node("timestamp", "(%s AT TIME ZONE 'Asia/Kolkata')", value("timestamptz")),
                ])()
            case "timestamptz":
                return rng.choice([
                    lambda: Node("timestamptz", f"date_trunc('{rng.choice(['year', 'month', 'week', 'day', 'hour'])}', %s)", value("timestamptz")),
                    lambda: Node("timestamptz", "date_trunc('day', %s, 'America/New_York')", value("timestamptz")),
                    lambda: Node("timestamptz", "to_timestamp(%s)", Node("float8", "(%s)::float8", value("int"))),
                    self.epoch, self.epoch,
                    lambda: Node("timestamptz", "(%s AT TIME ZONE 'UTC')", value("timestamp")),
                    lambda: Node("timestamptz", "(%s)::timestamptz", value("date")),
                ])()
            case "jsonb":
                return rng.choice([
                    lambda: Node("jsonb", "to_jsonb(%s)", value(rng.choice(["int", "numeric", "text", "bool", "date", "text[]"]))),
                    lambda: Node("jsonb", "jsonb_build_object('a', %s, 'b', %s)", value("jsonb"), self.simple(self.type())),
                    lambda: Node("jsonb", "jsonb_build_array(%s, %s)", value("jsonb"), self.simple(self.type())),
                    lambda: Node("jsonb", "jsonb_strip_nulls(%s)", value("jsonb")),
                    lambda: Node("jsonb", f"jsonb_path_query_{rng.choice(['first', 'array'])}(%s, %s)", self.simple("jsonb"), self.jsonpath()),
                    lambda: self.changed_document(),
                ])()
            case "text[]":
                return Node("text[]", "ARRAY[%s, %s]", self.simple("text"), self.simple("text"))

    def year(self):
        """Of a path: columns may be infinite."""
        found = self.field(self.rng.choice(["date", "timestamp", "timestamptz"]))
        return Node("int", "extract(year from %s)::int", found[0]) if found else None

    def epoch(self):
        """A time from seconds or microseconds since 1970."""
        rng = self.rng
        for documents, paths in self.scope.documents:
            if rng.random() < 0.8 and (found := [p for p in paths.of({BIG}) if p.steps == ("us",)]):
                value = Node("bigint", "(%s)::bigint", self.text_at(documents, found[0].steps))
                return rng.choice([
                    lambda: Node("timestamptz", "to_timestamp(%s / 1000000.0)", value),
                    lambda: Node("timestamptz", "to_timestamp(%s / 1000000)", value),
                    lambda: Node("timestamptz", "(timestamptz '1970-01-01 00:00:00+00' + interval '1 microsecond' * %s)", value),
                    lambda: Node("timestamptz", "('2000-01-01'::timestamptz + %s / 1000 * interval '1 millisecond')", value),
                ])()
        return Node("timestamptz", f"('epoch'::timestamptz + interval '{rng.choice(['1 second', '90 minutes', '1 day'])}' * %s)", self.simple("int"))

    def array_length(self):
        if self.rng.random() < 0.5 and (found := self.path()):
            base, path = found
            value = self.json_at(base, path.steps)
            guard, length = "jsonb_typeof(%s) = 'array'", "jsonb_array_length(%s)"
            if self.rng.random() < 0.7:
                return Node("int", f"CASE WHEN {guard} THEN {length} END", value, value)
            return Node("int", f"({guard} AND {length} > 1)::int", value, value)
        found = self.path({ARR})
        return Node("int", "jsonb_array_length(%s)", self.json_at(found[0], found[1].steps)) if found else None

    def changed_document(self):
        """Operators that want an object."""
        found = self.path({OBJ})
        if not found:
            return None
        node, rng = self.json_at(found[0], found[1].steps), self.rng
        keys = [k for t in found[1].types if OBJ in t.kinds for k in t.fields] or ["a"]
        key = Literal("text", quote(rng.choice(keys)), fixed=True)
        return rng.choice([
            lambda: Node("jsonb", "(%s - %s)", node, key),
            lambda: Node("jsonb", "(%s || %s)", node, Literal("jsonb", "'{\"z\": [1], \"n\": null}'::jsonb")),
            lambda: Node("jsonb", "jsonb_set(%s, %s, %s)", node, Node("text[]", "ARRAY[%s]", key), Literal("jsonb", "'0'::jsonb")),
            lambda: Node("jsonb", "(%s #- %s)", node, Node("text[]", "ARRAY[%s]", key)),
        ])()

    # Conditions

    def condition(self, depth=2):
        rng = self.rng
        draw = rng.random()
        if depth > 0 and draw < 0.30:
            if draw < 0.05:
                return Node("bool", "NOT (%s)", self.condition(depth - 1))
            if draw < 0.07:
                return Node("bool", f"((%s) IS {rng.choice(['NOT ', ''])}{rng.choice(['TRUE', 'FALSE', 'UNKNOWN'])})", self.condition(depth - 1))
            count = rng.choice([2, 2, 3])
            return Node("bool", "(%s)", List([self.condition(depth - 1) for _ in range(count)], rng.choice([" AND ", " OR "]), least=1))
        kinds = {self.comparison: 30, self.membership: 12, self.between: 8, self.null_test: 10, self.pattern: 10, self.containment: 12,
                 self.key_test: 6, self.jsonpath_test: 6, self.kind_test: 5, self.rows: 2, self.array_test: 3, self.boolean: 5}
        if depth > 0 and self.world and not self.risky:
            kinds[self.subquery] = 3
        return rng.choices(list(kinds), list(kinds.values()))[0]() or self.comparison()

    def pair(self, type_=None, depth=1):
        """An expression and something to compare it with."""
        rng = self.rng
        type_ = type_ or (self.type("<") if rng.random() < 0.5 else rng.choice(ORDERED + ["int", "text", "numeric"]))
        if rng.random() < 0.75 and (found := self.field(type_)):
            left, path = found
            return type_, left, self.literal(type_, path) if rng.random() < 0.85 else self.value(type_, depth)
        return type_, self.value(type_, depth), self.literal(type_) if rng.random() < 0.7 else self.simple(type_)

    def comparison(self):
        rng = self.rng
        type_, left, right = self.pair()
        operator = rng.choice(COMPARISONS)
        if rng.random() < 0.12:
            operator = rng.choice(["IS DISTINCT FROM", "IS NOT DISTINCT FROM"])
        if rng.random() < 0.12:
            left, right = right, left
        collation = ""
        if type_ == "text" and rng.random() < 0.15:
            collation = f" COLLATE {rng.choice(COLLATIONS + ['public.caseless'])}"
        elif type_ in ("int", "bigint", "numeric") and rng.random() < 0.15:
            # Operators between types.
            other = rng.choice(["int", "bigint", "numeric"] + ([] if type_ == "numeric" else ["float8"]))
            right = self.literal(other)
        elif type_ in ("date", "timestamp", "timestamptz") and rng.random() < 0.2:
            right = self.literal(rng.choice(["date", "timestamp", "timestamptz"]))
        return Node("bool", f"(%s {operator} %s{collation})", left, right)

    def membership(self):
        rng = self.rng
        others = [t for t in self.scope.others if "=" in OTHERS[t].traits and not t.endswith("[]")]
        type_ = rng.choice(["int", "bigint", "numeric", "float8", "text", "text", "date", "timestamp", "jsonb", "bool", rng.choice(others)])
        found = self.field(type_) if rng.random() < 0.85 else None
        left, path = found if found else (self.value(type_, 1), None)
        values = [self.literal(type_, path) for _ in range(rng.choice([1, 2, 3, 5, 12]))]
        draw = rng.random()
        if draw < 0.6:
            return Node("bool", f"(%s {rng.choice(['IN', 'IN', 'NOT IN'])} (%s))", left, List(values, least=1))
        operator = rng.choice(["= ANY", "<> ALL", "= ANY", "> ANY", "<= ALL"])
        if draw < 0.9:
            return Node("bool", f"(%s {operator} (ARRAY[%s]::{type_}[]))", left, List(values))
        return Node("bool", f"(%s {operator} (%s))", left, Literal(f"{type_}[]", rng.choice([f"'{{}}'::{type_}[]", f"NULL::{type_}[]", f"'{{NULL}}'::{type_}[]"])))

    def between(self):
        rng = self.rng
        type_ = rng.choice(["int", "int", "bigint", "numeric", "float8", "text", "date", "timestamp", "timestamptz", "jsonb", self.type("<", 1)])
        type_, left, low = self.pair(type_)
        return Node("bool", f"(%s {rng.choice(['', '', 'NOT '])}BETWEEN {rng.choice(['', '', 'SYMMETRIC '])}%s AND %s)", left, low, self.literal(type_))

    def null_test(self):
        type_ = self.rng.choice(["jsonb", "text", "jsonb", "text", self.type(share=1)] + TYPES)
        return Node("bool", f"(%s IS {self.rng.choice(['', 'NOT '])}NULL)", self.value(type_, 1))

    def pattern(self):
        rng = self.rng
        found = self.field("text") if rng.random() < 0.85 else None
        left, path = found if found else (self.value("text", 1), None)
        sample = json.loads(path.example(rng)) if path and path.types else "red"
        sample = sample if isinstance(sample, str) and sample else rng.choice(["red", "a", "1", "b_"])
        escaped = sample.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        draw = rng.random()
        if draw < 0.75:
            cut = escaped[:rng.randint(1, 4)]
            cut = cut[:-1] if cut.endswith("\\") and not cut.endswith("\\\\") else cut
            like = rng.choice([cut + "%", "%" + sample[-1].replace("\\", "\\\\").replace("%", "\\%"), f"%{sample[0]}%" if sample[0] != "\\" else "%", "_" + "%", escaped, "%", "_%_", ""])
            return Node("bool", f"(%s {rng.choice(['LIKE', 'LIKE', 'ILIKE', 'NOT LIKE', 'NOT ILIKE', '~~'])} %s)", left, Literal("text", quote(like)))
        if draw < 0.85:
            return Node("bool", rng.choice(["starts_with(%s, %s)", "(%s ^@ %s)"]), left, Literal("text", quote(sample[:2])))
        # Of what stands for itself LIKE can be asked.
        plain = "".join(c for c in sample[:3] if c not in "\\^$.*+?()[]{}|")
        plain = rng.choice(["", "^", "^"]) + rng.choice([plain, plain + ".*" + sample[-1:], plain + ".", ".*" + plain, ""]) + rng.choice(["", "", "$", ".*$", "*"])
        regex = rng.choice([quote(plain), quote(plain), quote(plain.upper()), "'^[a-m]'", "'\\d+'", "'e'", "'^$'", "'(a|b)$'"])
        return Node("bool", f"(%s {rng.choice(['~', '!~', '~*', '!~*'])} %s)", left, Literal("text", regex))

    def part(self, value, keep=0.5):
        """A part of a JSON value that it contains."""
        rng = self.rng
        if isinstance(value, dict):
            return {k: self.part(v) for k, v in value.items() if rng.random() < keep / max(1, len(value) / 3)}
        if isinstance(value, list):
            parts = [self.part(v) for v in value if rng.random() < keep]
            return parts + parts[:1] if rng.random() < 0.1 else parts
        if rng.random() < 0.06:
            return rng.choice([{}, [], [value], None, "red", Number("1.0")])
        return value

    def containment(self):
        rng = self.rng
        if not self.scope.documents:
            return None
        base, path = self.path() if rng.random() < 0.6 else (lambda d: (d[0], d[1].root))(rng.choice(self.scope.documents))
        example = path.example(rng)
        if rng.random() < 0.8:
            example = dump(self.part(json.loads(example, parse_float=Number, parse_int=Number)))
        if rng.random() < 0.15 and not example.startswith("["):
            example = f"[{example}]"
        node = self.json_at(base, path.steps)
        literal = Literal("jsonb", f"{quote(example)}::jsonb")
        if rng.random() < 0.1:
            return Node("bool", "(%s <@ %s)", literal, node)
        return Node("bool", "(%s @> %s)", node, literal) if rng.random() < 0.9 else Node("bool", "(%s <@ %s)", node, literal)

    def key_test(self):
        rng = self.rng
        if not self.scope.documents:
            return None
        base, path = self.path() if rng.random() < 0.5 else (lambda d: (d[0], d[1].root))(rng.choice(self.scope.documents))
        keys = [k for t in path.types if OBJ in t.kinds for k in t.fields] + ["red", "a", "nothing", "1", ""]
        node = self.json_at(base, path.steps)
        if rng.random() < 0.6:
            return Node("bool", "(%s ? %s)", node, Literal("text", quote(rng.choice(keys))))
        return Node("bool", f"(%s {rng.choice(['?|', '?&'])} ARRAY[%s]::text[])", node, List([Literal("text", quote(rng.choice(keys))) for _ in range(rng.randint(0, 3))]))

    def jsonpath(self):
        """A jsonpath; lax, so that it does not fail."""
        rng = self.rng
        _, paths = rng.choice(self.scope.documents) if self.scope.documents else (None, None)
        path = rng.choice(paths.paths) if paths else None
        text = "$"
        for step in path.steps if path else ("a",):
            text += f"[{rng.choice([str(step) if step >= 0 else 'last', '*'])}]" if isinstance(step, int) else "." + json.dumps(step, ensure_ascii=False)
        test = rng.choice(["@ > 3", "@ == 1", '@ == "red"', '@ starts with "a"', "@ != null", "exists(@.a)", '@.type() == "number"', "@ <= 7 && @ > 0", '@ like_regex "^[a-c]"',
                           "!(@ == 1)", "(@ > 3) is unknown", "@ == null || exists(@.a ? (@ > 1))", '@ >= "b" && @ != "red"', "$.a == 1", "3 > @.b", "@[last] == @[0]"])
        text += rng.choice(["", "", "[*]", f" ? ({test})", f"[*] ? ({test})", ".*", ".**", ".size()" if rng.random() < 0.3 else ""])
        mode = "strict " if self.risky and rng.random() < 0.3 else ""
        return Literal("jsonpath", f"{quote(mode + text)}::jsonpath", fixed=True)

    def jsonpath_test(self):
        rng = self.rng
        if not self.scope.documents:
            return None
        base = rng.choice(self.scope.documents)[0]
        path = self.jsonpath()
        draw = rng.random()
        if draw < 0.4:
            return Node("bool", "(%s @? %s)", Node("jsonb", base), path)
        if draw < 0.7:
            return Node("bool", "jsonb_path_exists(%s, %s)", Node("jsonb", base), path)
        test = Literal("jsonpath", quote(path.text[1:path.text.rindex("'")].replace("''", "'").split(" ? ")[0] + rng.choice([" > 3", ' == "red"', " == true", " < 100", " != null", ' starts with "r"', ' >= "b"'])) + "::jsonpath", fixed=True)
        return Node("bool", "(%s @@ %s)", Node("jsonb", base), test)

    def kind_test(self):
        rng = self.rng
        if rng.random() < 0.3:
            node = self.array_length()
            if node:
                return Node("bool", f"(%s {rng.choice(COMPARISONS)} {rng.randint(0, 4)})", node)
        kinds = ["string", "number", "boolean", "null", "object", "array"]
        if rng.random() < 0.7:
            return Node("bool", f"(jsonb_typeof(%s) {rng.choice(['=', '<>'])} %s)", self.simple("jsonb"), Literal("text", f"'{rng.choice(kinds)}'"))
        return Node("bool", "(jsonb_typeof(%s) IN (%s))", self.simple("jsonb"), List([Literal("text", f"'{k}'") for k in rng.sample(kinds, 2)], least=1))

    def rows(self):
        rng = self.rng
        types = [rng.choice(["int", "text", "numeric", "date"]) for _ in range(2)]
        return Node("bool", f"((%s, %s) {rng.choice(['=', '<', '>=', '<>'])} (%s, %s))", self.value(types[0], 1), self.value(types[1], 1), self.literal(types[0]), self.literal(types[1]))

    def array_test(self):
        rng = self.rng
        node = self.column("text[]")
        if not node:
            return None
        if rng.random() < 0.4:
            return Node("bool", "(%s = ANY (%s))", self.simple("text"), node)
        return Node("bool", f"(%s {rng.choice(['@>', '&&', '<@', '='])} %s)", node, self.literal("text[]"))

    def boolean(self):
        node = self.simple("bool")
        return self.rng.choice([lambda: node, lambda: Node("bool", "NOT %s", node), lambda: Node("bool", "(%s IS TRUE)", node), lambda: Node("bool", "(%s IS NOT FALSE)", node),
                                lambda: Node("bool", "(%s IS NOT UNKNOWN)", node)])()

    def subquery(self):
        """EXISTS, IN and scalar subqueries, correlated or not."""
        rng = self.rng
        relation = self.world.relation(rng, small=True)
        inner = self.inside(relation.scope + Scope(self.scope.documents if rng.random() < 0.4 else [], self.scope.columns if rng.random() < 0.4 else []))
        where = [inner.condition(1)] if rng.random() < 0.8 else []
        draw = rng.random()
        mine = self.inside(relation.scope)
        type_ = rng.choice(["int", "text", "numeric", "date"])
        if draw < 0.4:
            # Correlated by equality: a semijoin or an antijoin.
            where.append(Node("bool", "(%s = %s)", mine.value(type_, 1), self.simple(type_)))
            node = Node("bool", f"{rng.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM {relation.sql}%s)", List(where, " AND ", " WHERE "))
        elif draw < 0.8:
            node = Node("bool", f"(%s {rng.choice(['IN', 'IN', 'NOT IN'])} (SELECT %s FROM {relation.sql}%s))", self.simple(type_), mine.value(type_, 1), List(where, " AND ", " WHERE "))
        else:
            aggregate = rng.choice(["max(%s)", "min(%s)"])
            node = Node("bool", f"(%s {rng.choice(['<', '>=', '='])} (SELECT {aggregate} FROM {relation.sql}%s))", self.simple(type_), mine.value(type_, 1), List(where, " AND ", " WHERE "))
        self.adopt(mine)
        self.adopt(inner)
        return node

    # Aggregates

    def aggregate(self):
        """An aggregate whose result does not depend on the order of rows."""
        rng = self.rng
        node = self.plain_aggregate()
        if rng.random() < 0.2 and not node.text.startswith("extract"):
            node = Node(node.type, "%s FILTER (WHERE %s)", node, self.condition(1))
        return node

    def plain_aggregate(self):
        rng = self.rng
        draw = rng.random()
        if draw < 0.15:
            return Node("bigint", "count(*)")
        if draw < 0.28:
            return Node("bigint", "count(%s)", self.value(self.type(), 1))
        if draw < 0.38:
            return Node("bigint", "count(DISTINCT %s)", self.value(self.type("="), 1))
        if draw < 0.40:
            type_ = rng.choice(["timestamp", "timestamptz"])
            fields = [self.field(type_), self.field(type_)]
            return Node("numeric", "extract(epoch from (max(%s) - min(%s)))", *(f[0] for f in fields)) if None not in fields else Node("bigint", "count(*)")
        if draw < 0.58:
            type_ = rng.choice(["int", "int", "bigint", "numeric", "numeric", "float8", self.type("sum", 1)])
            if type_ in OTHERS:
                self.loose |= type_ in ("real", "interval")
                value = self.column(type_) if type_ == "real" else self.value(type_, 1)
                return Node(None, f"{rng.choice(['sum', 'avg'])}(%s)", value or self.literal(type_))
            if type_ not in ("int", "bigint", "numeric", "float8"):
                type_ = "int"
            if type_ == "float8":
                # Sums of anything may cancel out and leave nothing but the last digits.
                self.float_sums = True
                tame = self.column("float8") if rng.random() < 0.5 else None
                return Node("float8", f"{rng.choice(['sum', 'avg'])}(%s)", tame or Node("float8", "((%s)::float8 / 3)", self.value("int", 1)))
            name = rng.choice(["sum", "avg", "sum", "avg"] + ([] if type_ == "bigint" else ["var_pop", "stddev_samp"]))
            distinct = "DISTINCT " if rng.random() < 0.08 else ""
            self.loose |= bool(distinct)
            return Node("numeric", f"{name}({distinct}%s)", self.value(type_, 1))
        if draw < 0.61:
            return Node("text", f"{rng.choice(['min', 'max'])}(%s COLLATE {rng.choice(COLLATIONS)})", self.varying("text"))
        if draw < 0.80:
            type_ = rng.choice(["int", "bigint", "numeric", "float8", "text", "text", "date", "timestamp", "timestamptz", "text[]"]
                               + [t for t in self.scope.others if "max" in OTHERS[t].traits])
            # 1.0 and 1 are the same to min and max.
            self.loose |= type_ in ("numeric", "float8", "real")
            return Node(None if type_ in OTHERS else type_, f"{rng.choice(['min', 'max'])}(%s)", self.varying(type_))
        if draw < 0.84:
            return Node("bool", f"{rng.choice(['bool_and', 'bool_or', 'every'])}(%s)", self.value("bool", 1))
        if draw < 0.86:
            type_ = rng.choice(["int", "bigint"])
            if rng.random() < 0.4:
                return Node("bigint", "regr_count(%s, %s)", self.value("int", 1), self.value(rng.choice(["int", "float8"]), 1))
            return Node(type_, f"{rng.choice(['bit_and', 'bit_or', 'bit_xor'])}(%s)", self.value(type_, 1))
        if draw < 0.89:
            return self.aggregate_of_all()
        if draw < 0.9:
            return self.joined()
        keys = ", ".join(self.scope.keys)
        if not keys:
            return Node("bigint", "count(*)")
        if draw < 0.98:
            if draw < 0.93:
                call, result, type_ = "string_agg(%s, ','", "text", "text"
            elif draw < 0.96:
                call, result, type_ = "array_agg(%s", None, rng.choice(TYPES[:-1] + [t for t in self.scope.others if not t.endswith("[]")])
            else:
                call, result, type_ = "jsonb_agg(%s", "jsonb", "jsonb"
            value = self.value(type_, 1)
            # Rows may have the same keys: then the values themselves give an order.
            return Node(result, f'{call} ORDER BY {keys}, (%s)::text COLLATE "C")', value, value)
        return rng.choice([
            lambda: Node("numeric", rng.choice(["mode() WITHIN GROUP (ORDER BY %s)", "rank(3) WITHIN GROUP (ORDER BY %s)",
                                                "percentile_cont(0.25) WITHIN GROUP (ORDER BY %s)", "array_agg(DISTINCT %s)"]), self.value("int", 1)),
            lambda: Node(None, f"percentile_disc({rng.choice(['0', '0.5', '1', 'ARRAY[0.1, 0.9]'])}) WITHIN GROUP (ORDER BY %s)", self.value(rng.choice(["int", "bigint", "text", "date", "timestamp"]), 1)),
            lambda: Node("text", "string_agg(DISTINCT %s, '|' ORDER BY %s)", *[Node("text", '(%s) COLLATE "C"', self.value("text", 1))] * 2),
            lambda: Node("jsonb", f"jsonb_object_agg(concat('k', %s), %s ORDER BY {keys}, (%s)::text COLLATE \"C\")", self.simple("text"), *[self.value("jsonb", 1)] * 2),
        ])()

    def joined(self):
        """string_agg in the order of rows, which is not the same on both sides, but the length is."""
        between = self.rng.choice(["','", "''", "NULL", "repeat('é', 2)", "(SELECT 'ab')"])
        return Node("int", f"length(string_agg(%s, {between}))", self.value("text", 1))

    def varying(self, type_, depths=(1,)):
        """A value that is not a constant, as a rule: the least and the greatest of one PostgreSQL finds without a look at all rows, and at conditions that may fail."""
        for _ in range(20):
            value = self.value(type_, self.rng.choice(depths))
            if re.search(r"\b[a-z]\w*\.[a-z]", value.sql()):
                break
        return value

    def aggregate_of_all(self):
        """An aggregate of all values in their own order."""
        rng = self.rng
        down = rng.choice(["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"])
        draw = rng.random()
        if draw < 0.2:
            self.loose = True
            return Node(None, f"percentile_cont({rng.choice(['0', '0.1', '0.5', '0.77', '1', 'NULL'])}) WITHIN GROUP (ORDER BY %s{down})", self.value(rng.choice(["float8", "int", "bigint"]), 1))
        type_ = rng.choice(["int", "bigint", "text", "text", "date", "timestamp", "timestamptz", "bool", "numeric", "float8"])
        # 1.0 and 1 are the same.
        self.loose |= type_ in ("numeric", "float8")
        if draw < 0.6:
            call = rng.choice(["mode()", "percentile_disc(0.5)", "percentile_disc(0.9)", "percentile_disc(0)", f"percentile_disc({rng.choice(['1', '0.33', '1.01'])})"])
            return Node(None, f"{call} WITHIN GROUP (ORDER BY %s{down})", self.value(type_, 1))
        if type_ in ("numeric", "float8"):
            type_ = "int"
        value = self.value(type_, 1)
        distinct = rng.choice(["", "DISTINCT "])
        if type_ == "text" and rng.random() < 0.5:
            return Node("text", f"string_agg({distinct}%s, '|' ORDER BY %s{down})", value, value)
        call = "jsonb_agg" if type_ in ("int", "bigint", "text", "bool") and rng.random() < 0.3 else "array_agg"
        return Node(None, f"{call}({distinct}%s ORDER BY %s{down})", value, value)

    def reduced(self):
        """An expression of a type that vectors hold, in an aggregate that they compute."""
        rng = self.rng
        type_ = rng.choice(["int", "bigint", "numeric", "numeric", "float8", "text", "text", "bool", "date", "timestamp", "timestamptz"])
        value = self.varying(type_, [1, 2, 2, 3])
        calls = ["count(%s)", "count(DISTINCT %s)"]
        if type_ in ("int", "bigint", "numeric"):
            calls += ["sum(%s)", "sum(%s)", "avg(%s)", "min(%s)", "max(%s)"]
        elif type_ == "bool":
            calls += ["bool_and(%s)", "bool_or(%s)"]
        elif type_ == "text":
            calls += ['min((%s) COLLATE "C")', 'max((%s) COLLATE "C")', "sum(length(%s))"]
        else:
            calls += ["min(%s)", "max(%s)"] * 2
        # Equal ones look different.
        self.loose |= type_ in ("numeric", "float8")
        filtered = rng.random() < 0.3
        return Node(None, rng.choice(calls) + (" FILTER (WHERE %s)" if filtered else ""), value, *([self.condition(2)] if filtered else []))

    def key(self):
        """An expression to group or partition by: one with few values, mostly."""
        rng = self.rng
        type_ = rng.choice(["text", "text", "text", "int", "bool", "date", "timestamp", "numeric", "jsonb", "timestamptz", "bigint", "float8", self.type("key", 1)])
        self.loose |= type_ in ("numeric", "jsonb", "float8", "real")
        if type_ == "text" and rng.random() < 0.2:
            return Node("text", "jsonb_typeof(%s)", self.simple("jsonb"))
        if type_ == "text" and rng.random() < 0.1:
            return Node("text", f"(%s COLLATE {rng.choice(COLLATIONS)})", self.simple("text"))
        if type_ in ("timestamp", "timestamptz") and rng.random() < 0.7:
            return Node(type_, f"date_trunc('{rng.choice(['year', 'month', 'week'])}', %s)", self.simple(type_))
        return self.value(type_, 1)
