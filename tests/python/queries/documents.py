"""Random documents: a random type of document, the documents of it, and what is known of every path in them.

A value's *kind* says what can be done with it without an error. Documents are written as JSON text, so that numbers keep their form.
"""

import dataclasses
import functools
import json

# Numbers
INT, BIG, HUGE, DEC, EXP = "int", "bigint", "huge", "decimal", "exponent"
# Strings: of any text, and those that cast to int, numeric, bool, date or timestamp; those that cast to nothing
STR, ISTR, DSTR, BSTR, DATE, TS, TZ, BAD = "string", "int string", "numeric string", "bool string", "date", "timestamp", "timestamptz", "bad string"
BOOL, NULL, OBJ, ARR = "bool", "null", "object", "array"

NUMBERS = {INT, BIG, HUGE, DEC, EXP}
STRINGS = {STR, ISTR, DSTR, BSTR, DATE, TS, TZ, BAD}
ALL = NUMBERS | STRINGS | {BOOL, NULL, OBJ, ARR}

# Kinds that never fail in a cast of ->> (text) or of -> (jsonb). Exponents may be outside of float8.
TEXT_CASTS = {
    "int": {INT, ISTR, NULL},
    "bigint": {INT, BIG, ISTR, NULL},
    "numeric": NUMBERS | {ISTR, DSTR, NULL},
    "float8": {INT, BIG, HUGE, DEC, ISTR, DSTR, NULL},
    "bool": {BOOL, BSTR, NULL},
    "date": {DATE, TS, TZ, NULL},
    "timestamp": {DATE, TS, TZ, NULL},
    "timestamptz": {DATE, TS, TZ, NULL},
    "smallint": {INT, ISTR, NULL},
    "real": {INT, BIG, DEC, ISTR, DSTR, NULL},
    "numeric(12,3)": {INT, DEC, ISTR, DSTR, NULL},
    "interval": {INT, ISTR, NULL},
    "varchar(12)": ALL,
    "char(6)": ALL,
}
JSON_CASTS = {
    "int": {INT, DEC},
    "bigint": {INT, BIG, DEC},
    "numeric": NUMBERS,
    "float8": {INT, BIG, HUGE, DEC},
    "bool": {BOOL},
    "smallint": {INT},
    "real": {INT, BIG, DEC},
    "numeric(12,3)": {INT, DEC},
}

KEYS = ["", "we ird", 'q"uote', "sl/ash", "back\\slash", "do$llar", "a.b", "ключ", "*", "0", "1", "-1", "{x}", "com,ma", "UPPER", "naïve\u0301",
        "'single'", "tab\t", "line\nbreak", "😀", "%", "_", "null", "k" * 70]
WORDS = ["red", "green", "blue", "Red", "RED", "", " ", "a", "ab", "abc", "abd", "b", "ä", "ß", "Äpfel", "日本", "😀 smile", "it's", 'say "hi"', "back\\slash",
         "100%", "under_score", "new\nline", "tab\there", "null", "true", "12", "-7", "3.5", "zebra", "{}", "[1]", "x" * 40, "\u00e9", "e\u0301", "z\u007f", "ÿ"]


def quote(text):
    """A SQL literal."""
    return "'" + text.replace("'", "''") + "'"


@dataclasses.dataclass
class Type:
    """What may stand at a path: kinds with weights; fields of objects, elements of arrays."""
    kinds: dict
    fields: dict = None  # key -> (Type, how many of the objects have it)
    element: "Type" = None
    words: list = None  # the strings that occur; None: every one is another
    limit: int = 60  # of small integers
    clustered: bool = False  # neighbours are alike, so that leaves can be skipped
    longest: int = 4  # array

    def make(self, rng, row):
        """A value of row number `row`, as JSON text."""
        return self.make_kind(rng.choices(list(self.kinds), list(self.kinds.values()))[0], rng, row)

    def make_kind(self, kind, rng, row):
        if kind == OBJ:
            parts = [f"{json.dumps(k, ensure_ascii=rng.random() < 0.5)}: {t.make(rng, row)}" for k, (t, share) in self.fields.items() if rng.random() < share]
            return "{" + ", ".join(parts) + "}"
        if kind == ARR:
            return "[" + ", ".join(self.element.make(rng, row) for _ in range(rng.choice([0, 1, 2, rng.randint(0, self.longest)]))) + "]"
        if kind == INT:
            return str(row // 4 + rng.randint(0, 3) if self.clustered else rng.randint(-self.limit, self.limit))
        if kind == BIG and self.clustered:
            # Microseconds since 1970
            return str(1_600_000_000_000_000 + row * 7_200_000_000 + rng.randrange(10**11))
        if kind == BIG:
            return str(rng.choice([rng.randint(-2**63, 2**63 - 1), 2**31 + rng.randint(-2, 2), -2**31 + rng.randint(-2, 2), 2**63 - 1, -2**63,
                                   2**53 + rng.randint(-2, 2)]))
        if kind == HUGE:
            digits = str(rng.randint(1, 9)) + "".join(rng.choice("0123456789") for _ in range(rng.choice([rng.randint(18, 40)] * 15 + [250])))
            return rng.choice(["", "-"]) + digits + rng.choice(["", ".5", ".000", "." + digits[:25], "e3"])
        if kind == DEC:
            return rng.choice([f"{rng.randint(-500, 500)}.{rng.randint(0, 99)}", f"{rng.randint(-9, 9)}.{rng.choice(['0', '50', '500', '25', '000001'])}",
                               "0.1", "-0.0", "1e3", "2.5E-3", f"{rng.random():.15f}", f"{rng.randint(0, 99)}e2"])
        if kind == EXP:
            return rng.choice(["1e400", "-1e400", "1e-400", "1.25e200", "1e-200"])
        if kind == BOOL:
            return rng.choice(["true", "false"])
        if kind == NULL:
            return "null"
        return json.dumps(self.string(kind, rng, row), ensure_ascii=rng.random() < 0.5)

    def string(self, kind, rng, row):
        if kind == STR:
            if self.clustered:
                return f"{chr(97 + row // 100 % 26)}{row // 10:05d}-{rng.choice('xyz')}"
            return rng.choice(self.words) if self.words else f"{rng.getrandbits(64):016x}"
        if kind == ISTR:
            return rng.choice([str(rng.randint(-self.limit, self.limit)), f" {rng.randint(0, 99)} ", f"+{rng.randint(0, 9)}", f"00{rng.randint(0, 9)}"])
        if kind == DSTR:
            return rng.choice([f"{rng.randint(-99, 99)}.{rng.randint(0, 9)}", f"{rng.randint(0, 9)}.50", "1e3", "NaN", ".5", "7.", " -2.250 "])
        if kind == BSTR:
            return rng.choice(["true", "false", "t", "f", "yes", "no", "on", "off", "1", "0", " TRUE "])
        if kind == BAD:
            return rng.choice(["abc", "12abc", "", " ", "2021-02-30", "99999999999999999999x", "1,5", "--1", "tru", "24:61", "1 2", "0x1F"])
        if rng.random() < 0.01:
            # Offsets from UTC were no whole minutes.
            day = f"{rng.choice(['1850', '1901', '1936', '0007'])}-{rng.randint(1, 12):02d}-11"
        else:
            day = f"{2019 + row // 150 if self.clustered else rng.randint(2018, 2024)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
        if kind == DATE:
            return day
        stamp = day + rng.choice(" T") + f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}:{rng.randint(0, 59):02d}" + rng.choice(["", ".5", ".123456"])
        return stamp if kind == TS else stamp + rng.choice(["Z", "+02", "-05:30", "+00:00"])

    def at(self, step):
        """The types that may stand at a key or index below this one. A number may be either."""
        # -> 0 and -> -1 of a scalar are the scalar.
        found = [self] if isinstance(step, int) and set(self.kinds) - {OBJ, ARR} else []
        if OBJ in self.kinds and str(step) in self.fields:
            found.append(self.fields[str(step)][0])
        if ARR in self.kinds and (isinstance(step, int) or step.lstrip("-").isdigit()):
            found.append(self.element)
        return found


@dataclasses.dataclass
class Path:
    steps: tuple
    types: list

    @functools.cached_property
    def kinds(self):
        return {k for t in self.types for k in t.kinds}

    def elements(self):
        """The path's array elements, as documents of their own."""
        return Documents([t.element for t in self.types if ARR in t.kinds])

    def values(self):
        return Documents([v for t in self.types if OBJ in t.kinds for v, _ in t.fields.values()])

    def example(self, rng):
        """A value such as those that stand there, as JSON text."""
        return rng.choice(self.types).make(rng, rng.randrange(600)) if self.types else rng.choice(["1", '"red"', "null"])


class Documents:
    """The paths of documents that have one of some types."""

    def __init__(self, types):
        self.root = Path((), types)
        self.paths = [self.root]
        pending = [self.root]
        while pending:
            path = pending.pop()
            if len(path.steps) >= 5 or len(self.paths) > 300:
                continue
            steps = {k for t in path.types if OBJ in t.kinds for k in t.fields}
            if any(ARR in t.kinds for t in path.types):
                steps |= {0, 1, -1}
            for step in sorted(steps, key=str):
                below = Path(path.steps + (step,), [found for t in path.types for found in t.at(step)])
                self.paths.append(below)
                pending.append(below)
        self.inner = [p for p in self.paths if p.steps]
        self.found = {}

    def of(self, allowed, also_others=False):
        """Paths that hold nothing but kinds in `allowed`, and something; or those that hold any of these."""
        key = (frozenset(allowed), also_others)
        if key not in self.found:
            self.found[key] = [p for p in self.inner if (p.kinds & allowed if also_others else p.kinds and p.kinds <= allowed)]
        return self.found[key]


def anything(depth=2):
    """Every kind at one path."""
    kinds = {k: 2 for k in NUMBERS | STRINGS} | {INT: 12, STR: 8, BOOL: 5, NULL: 5, OBJ: 5, ARR: 5}
    inner = anything(depth - 1) if depth else Type({INT: 1, STR: 1}, words=WORDS)
    kinds = dict(sorted(kinds.items()))
    return Type(kinds, {"a": (inner, 0.7), "b": (Type({INT: 1}), 0.5), "0": (Type({STR: 1}, words=WORDS), 0.2)}, inner, WORDS)


def scalar(rng):
    """One kind, or one with nulls and a few others among it."""
    kind = rng.choice([INT, INT, INT, BIG, HUGE, DEC, DEC, STR, STR, STR, ISTR, DSTR, BSTR, DATE, TS, TZ, BOOL, BOOL])
    kinds = {kind: 20}
    if rng.random() < 0.3:
        kinds[NULL] = 3
    if rng.random() < 0.15:
        kinds[rng.choice([BAD, STR, INT, OBJ, ARR, DEC, EXP, BOOL])] = 0.4
    return Type(kinds, {"a": (Type({INT: 1}), 1)}, Type({INT: 1}), rng.choice([WORDS, rng.sample(WORDS, 6), None]), rng.choice([5, 60, 10000]),
                rng.random() < 0.25)


def document_type(rng):
    """The type of a table's documents: named fields that every generated query can count on, and random ones."""
    few = rng.sample(WORDS, 5)
    item = {"k": (Type({STR: 1}, words=few), 0.95), "v": (Type({INT: 9, DEC: 3}), 0.8), "w": (scalar(rng), 0.5),
            "t": (Type({ARR: 1}, None, Type({STR: 1}, words=few)), 0.4)}
    fields = {
        "n": (Type({INT: 1}), rng.choice([1, 0.9])),
        "seq": (Type({INT: 1}, clustered=True), 1),
        "big": (Type({BIG: 3, INT: 1}), 0.8),
        "long": (Type({STR: 1}, words=["".join(rng.choices("abcdefghij ", k=rng.choice([2500, 9000]))) for _ in range(3)]), rng.choice([0.02, 0.1])),
        "us": (Type({BIG: 1}, clustered=True), 0.95),
        "num": (Type({INT: 2, DEC: 4, HUGE: 1, BIG: 1}), 0.9),
        "dec": (Type({DEC: 1}), 0.9),
        "s": (Type({STR: 20, NULL: 1}, words=few), 0.95),
        "w": (Type({STR: 1}, words=WORDS), 0.9),
        "u": (Type({STR: 1}, clustered=rng.random() < 0.5), 0.95),
        "b": (Type({BOOL: 10, NULL: 1}), 0.9),
        "is": (Type({ISTR: 5, INT: 5, NULL: 1}), 0.9),
        "ds": (Type({DSTR: 5, DEC: 5}), 0.7),
        "bs": (Type({BSTR: 5, BOOL: 5}), 0.5),
        "day": (Type({DATE: 20, NULL: 1}, clustered=rng.random() < 0.5), 0.9),
        "ts": (Type({TS: 5, DATE: 1}, clustered=rng.random() < 0.5), 0.9),
        "tz": (Type({TZ: 5, TS: 1}), 0.8),
        "bad": (Type({ISTR: 300, BAD: 1}), 0.9),
        "badday": (Type({DATE: 300, BAD: 1, INT: 0.5}), 0.8),
        "almost": (Type({INT: 300, STR: 1, DEC: 1, BIG: 1, BOOL: 0.3}, words=few), 0.9),
        "mix": (anything(), 0.9),
        "o": (Type({OBJ: 1}, {"a": (Type({INT: 1}), 0.9), "b": (Type({OBJ: 8, NULL: 1}, {
            "c": (Type({STR: 1}, words=few), 0.8), "d": (Type({ARR: 1}, None, Type({INT: 1})), 0.6), "e": (scalar(rng), 0.7)}), 0.8)}), 0.85),
        "either": (Type({STR: 3, OBJ: 3, NULL: 1}, {"name": (Type({STR: 1}, words=few), 1), "x": (scalar(rng), 0.5)}, words=few), 0.9),
        "arr": (Type({ARR: 1}, None, Type({INT: 1}), longest=9), 0.8),
        "sarr": (Type({ARR: 1}, None, Type({STR: 10, NULL: 1}, words=few)), 0.8),
        "marr": (Type({ARR: 1}, None, anything(0)), 0.6),
        "objs": (Type({ARR: 1}, None, Type({OBJ: 1}, item)), 0.85),
        "nest": (Type({ARR: 1}, None, Type({ARR: 1}, None, Type({INT: 1}))), 0.4),
        # Fields that are alike, as elements are.
        "sets": (Type({OBJ: 1}, {key: (Type({OBJ: 1}, item | {"in": (Type({OBJ: 1}, {"p": (scalar(rng), 0.8), "q": (Type({INT: 1}), 0.6)}), 0.6)}), 0.7)
                                 for key in ["x", "yy", "long name"]}), 0.6),
        "maybe": (Type({ARR: 30, NULL: 1, INT: 1}, None, Type({INT: 8, STR: 1}, words=few)), 0.6),
    }
    fields = {k: v for k, v in fields.items() if rng.random() < 0.85}
    for key in rng.sample(KEYS, rng.randint(0, 6)):
        fields[key] = (scalar(rng), rng.choice([0.9, 0.3]))
    for number in range(rng.choice([0, 3, 40])):
        fields[f"x{number}"] = (scalar(rng), rng.choice([0.01, 0.05]))
    if rng.random() < 0.15:
        # Data as keys.
        fields["map"] = (Type({OBJ: 1}, {f"user {n * 7919}": (Type({INT: 5, NULL: 1, OBJ: 1}, {"a": (Type({INT: 1}), 0.5)}), 0.02) for n in range(150)}), 0.9)
    if rng.random() < 0.15:
        deep = Type({INT: 1})
        for level in range(60):
            deep = Type({OBJ: 1, NULL: 0.02}, {"d": (deep, 0.98)}) if level % 3 else Type({ARR: 1}, None, deep, longest=1)
        fields["deep"] = (deep, 0.5)
    if rng.random() < 0.15:
        fields["many"] = (Type({ARR: 1}, None, Type({INT: 9, STR: 1}, words=few), longest=2000), 0.03)
    # Reordered, and in some worlds with roots that are no objects.
    order = list(fields)
    rng.shuffle(order)
    roots = rng.choice([{}, {INT: 0.3, STR: 0.3, ARR: 1, NULL: 0.3, BOOL: 0.2}])
    return Type({OBJ: 50} | roots, {k: fields[k] for k in order}, Type({INT: 3, STR: 1}, words=few), few)
