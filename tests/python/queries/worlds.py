"""A world: tables of random rows, what happened to them, and the relations that queries may use. Everything follows from the seed."""

import random

from columns import COLUMNS, GENERATED, OTHERS
from documents import Documents, Type, ARR, BOOL, DEC, INT, OBJ, STR, WORDS, document_type, quote, scalar
from expressions import Expressions, Scope

STATES = ["pages", "columns", "columns", "loaded", "mixed", "mixed", "mixed"]
# What hypopg knows: no GIN.
HYPOTHETICAL = [
    "((doc ->> 's'))", "((doc ->> 'u'), id)", "((doc -> 'n'))", "(((doc ->> 'n')::int))", "(jsonb_typeof(doc -> 'mix'))", "(lower(doc ->> 's'))",
    "((doc ->> 's')) WHERE (doc ->> 's') > 'b'", "(id) WHERE (doc ->> 's') IS NOT NULL", "(id)", "(i)", "(d, i)", "(tx) WHERE bo", "(d) INCLUDE (i, ts)",
    "USING brin (id)", "USING brin (d, ts)", "USING hash ((doc ->> 's'))"]


class Relation:
    """Something for FROM, with an alias."""

    def __init__(self, source, alias, documents, columns):
        self.alias, self.sql = alias, f"{source} AS {alias}"
        self.scope = Scope([(f"{alias}.doc", documents["doc"])] + [(f"{alias}.{c}", d) for c, d in documents.items() if c in columns],
                           [(f"{alias}.{c}", t) for c, t in columns.items()], [f"{alias}.id"])
        for column, type_ in columns.items():
            if type_ == "public.pair":
                self.scope.columns += [(f"({alias}.{column}).a", "int"), (f"({alias}.{column}).b", "text")]
            elif type_ == "int[]":
                self.scope.columns.append((f"({alias}.{column})[1]", "int"))


class World:
    def __init__(self, seed):
        self.seed = seed
        self.rng = rng = random.Random(f"world {seed}")
        self.types = {"t1": document_type(rng), "t2": document_type(rng)}
        if rng.random() < 0.5:
            self.types["t2"] = self.types["t1"]
        self.types["p"] = self.types["h"] = self.types["th"] = self.types["t2"]
        self.extra = Type({OBJ: 1}, {"k": (scalar(rng), 0.9), "l": (Type({ARR: 1}, None, Type({STR: 1}, words=WORDS[:6])), 0.5), "n": (Type({INT: 1}), 0.9)})
        self.columns = dict(COLUMNS)
        self.infinite = rng.random() < 0.5  # values that are infinite, or no numbers
        if rng.random() < 0.7:
            for number, type_ in enumerate(rng.sample(list(OTHERS), rng.randint(1, 8))):
                self.columns[f"c{number}"] = type_
        self.generated = {c: g for c, g in GENERATED.items() if rng.random() < 0.2}
        self.columns |= {c: t for c, (t, _) in self.generated.items()}
        self.documents = {t: {"doc": Documents([k]), "extra": Documents([self.extra]), "gd": Documents(k.at("o"))} for t, k in self.types.items()}
        for column, type_ in self.columns.items():
            if type_ == "public.object":
                found = Documents([Type({OBJ: 1}, {"k": (Type({INT: 1, DEC: 1}), 0.5), "l": (Type({ARR: 1}, None, Type({BOOL: 1})), 0.5)})])
                self.documents = {t: d | {column: found} for t, d in self.documents.items()}
        self.aliases = 0
        self.unique = {}  # table -> what ON CONFLICT may name
        # What makes the world: ("sql", text), ("copy", table, rows), ("other", text); rows are (id, line).
        self.steps = []
        self.indexes = rng.random() < 0.5
        self.locked = rng.random() < 0.3  # another transaction has changed rows and does not end
        self.settings = {
            "amax.rows_per_leaf": rng.choice([30, 100, 100, 300]),
            "amax.path_cap": rng.choice([4000, 4000, 40, 12]),
            "amax.bulk_threshold": rng.choice([50, 1000]),
            "amax.compression": rng.choice(["none", "snappy", "zstd", "lz4"]),
            "amax.flush_threshold": 0,
        }
        for name, value in self.settings.items():
            self.sql(f"SET {name} = {value}")
        self.make()

    def sql(self, text):
        self.steps.append(("sql", text))

    # Rows

    def line(self, table, number, columns):
        """A row in COPY's text form."""
        rng = self.rng
        null = lambda share, value: "\\N" if rng.random() < share else value  # pylint: disable=unnecessary-lambda-assignment
        values = {
            "id": str(number),
            "i": null(0.05, str(rng.choice([rng.randint(-20, 20), number // 10]))),
            "b": null(0.05, str(rng.choice([number * 7, rng.randint(-2**63, 2**63 - 1)]))),
            "nu": null(0.05, rng.choice([f"{rng.randint(-99, 99)}.{rng.choice(['0', '50', '125'])}", str(number), "NaN", "1e20"] + self.odd("Infinity", "-Infinity", "-0.000", "1e-40", "7" * 120))),
            "f": null(0.05, rng.choice([f"{rng.randint(-400, 400) / 4}", f"{rng.random():.17g}", "1e10"] + self.odd("NaN", "Infinity", "-Infinity", "-0", "0"))),
            "tx": null(0.05, self.escape(rng.choice(WORDS + [f"row {number}", f"{number // 50:04d}"]))),
            "bo": null(0.1, rng.choice("tf")),
            "d": null(0.05, rng.choice([f"20{15 + number // 200:02d}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"] * 9 + self.odd("infinity", "-infinity", "0044-03-15 BC"))),
            "ts": null(0.05, rng.choice([f"2021-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d} {rng.randint(0, 23):02d}:00:00"] * 9 + self.odd("infinity", "-infinity", "0044-03-15 01:02:03 BC"))),
            "tz": null(0.05, rng.choice([f"2021-{1 + number // 100 % 12:02d}-{rng.randint(1, 28):02d} {rng.randint(0, 23):02d}:00:00+00"] * 9 + self.odd("infinity", "-infinity", "9999-12-31 23:59:59.999999+00"))),
            "ta": null(0.05, rng.choice(["{}", "{red}", "{red,NULL,blue}", "{a,b}", '{""}'])),
            "doc": null(0.02, self.escape(self.types[table].make(rng, number))),
            "extra": null(0.1, self.escape(self.extra.make(rng, number))),
        }
        for column in columns:
            if column not in values:
                values[column] = null(0.1, self.escape(rng.choice(OTHERS[self.columns[column]].values)))
        return number, "\t".join(values[c] for c in columns)

    def odd(self, *values):
        return list(values) if self.infinite else []

    @staticmethod
    def escape(text):
        return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")

    # Tables

    def make(self):
        rng = self.rng
        for table, most in (("t1", rng.choice([300, 500, 1000])), ("t2", 300), ("th", 60)):
            key = " PRIMARY KEY" if rng.random() < 0.2 else ""
            self.unique[table] = ["(id)"] if key else []
            columns = [f"{c} {t}{key if c == 'id' else ''}" for c, t in self.shuffled()]
            dropped = rng.random() < 0.3
            if dropped:
                columns.insert(rng.randrange(len(columns)), "gone jsonb")
            late = rng.choice([c for c in self.columns if c in ("ta", "gi") or self.columns[c] in OTHERS]) if rng.random() < 0.4 else None
            late, columns = [c for c in columns if c.split()[0] == late], [c for c in columns if c.split()[0] != late]
            unlogged = "UNLOGGED " if rng.random() < 0.1 else ""
            self.sql(f"CREATE {unlogged}TABLE {table} ({', '.join(columns)})" + (" USING heap" if table == "th" else ""))
            if dropped:
                self.sql(f"ALTER TABLE {table} DROP COLUMN gone")
            if late:
                # Rows of before have the column's default from the catalog.
                name, type_ = late[0].split()[0], self.columns[late[0].split()[0]]
                default = "" if name in self.generated else f" DEFAULT {quote(rng.choice(OTHERS[type_].values if type_ in OTHERS else ['{red,late}']))}"
                self.fill(table, most, without={name}, add=f"ALTER TABLE {table} ADD COLUMN {late[0]}{default}")
            else:
                self.fill(table, most)
        self.partitions()
        self.inheritance()
        self.make_views()
        if self.locked:
            # Nobody may see what it did.
            self.steps.append(("other", "BEGIN"))
            for _ in range(3):
                self.steps.append(("other", self.change(rng.choice(["t1", "t2", "p", "h"]), rng)))
            self.steps.append(("other", "INSERT INTO t1 (id, i, doc) SELECT id + 100000, i, doc FROM t1 WHERE id < 50"))

    def shuffled(self):
        columns = [(c, t + (f" GENERATED ALWAYS AS ({self.generated[c][1]}) STORED" if c in self.generated else "")) for c, t in self.columns.items()]
        if self.rng.random() < 0.5:
            self.rng.shuffle(columns)
        return columns

    def fill(self, table, most, without=(), add=None, low=1):
        """Rows of a table, in one of the states it may be in."""
        rng = self.rng
        state = rng.choice(STATES)
        every = [c for c in self.columns if c not in self.generated]
        columns = [c for c in every if c not in without]
        cut = rng.randint(most // 3, most)
        first = range(low, low + cut)
        rest = range(low + cut, low + most)
        names = ", ".join(columns)
        copy = lambda numbers, names=names, columns=columns: numbers and self.steps.append(  # pylint: disable=unnecessary-lambda-assignment
            ("copy", f"{table} ({names})", [self.line(table, n, columns) for n in numbers]))
        if self.indexes and rng.random() < 0.5:
            self.index(table)
        if state == "loaded":
            self.sql("SET amax.bulk_threshold = 20")
        copy(first)
        if state in ("columns", "mixed"):
            self.sql(f"VACUUM {table}")
        if state == "mixed":
            for _ in range(rng.randint(1, 4)):
                self.sql(self.upheaval(table, rng) if rng.random() < 0.15 else self.change(table, rng))
                if rng.random() < 0.25:
                    self.sql(f"VACUUM {table}")
        if add:
            self.sql(add)
            columns, names = every, ", ".join(every)
        copy(rest, names, columns)
        if state == "columns":
            self.sql(f"VACUUM {table}")
        elif state == "mixed":
            for _ in range(rng.randint(0, 3)):
                self.sql(self.change(table, rng))
        self.sql(f"SET amax.bulk_threshold = {self.settings['amax.bulk_threshold']}")
        if self.indexes:
            self.index(table)
        if rng.random() < 0.5:
            self.sql(f"ANALYZE {table}")

    def index(self, table):
        if self.rng.random() < 0.1 and table in self.unique:
            self.unique[table].append("((doc ->> 'u'), id)")
            return self.sql(f"CREATE UNIQUE INDEX ON {table} ((doc ->> 'u'), id)")
        return self.sql(f"CREATE INDEX ON {table} " + self.rng.choice([
            "USING hash ((doc ->> 's'))", "USING brin (id)", "USING brin (d, ts)", "((doc -> 'seq'))", "(((doc ->> 'n')::int))", "(id) WHERE (doc ->> 's') IS NOT NULL", "(d) INCLUDE (i, ts)",
            "USING gin (ta)", "((doc ->> 's') COLLATE \"C\", (doc ->> 'w')) WHERE (doc ->> 's') > 'b'",
            "(id)", "(id)", "(i)", "(i)", "((doc ->> 's'))", "((doc ->> 'u'), id)", "USING gin (doc)", "USING gin (doc jsonb_path_ops)", "(d, i)", "((doc -> 'n'))",
            "(tx) WHERE bo", "USING gin ((doc -> 'objs'))", "(jsonb_typeof(doc -> 'mix'))"]))

    def hypothetical(self):
        """Indexes that hypopg may pretend."""
        rng = random.Random(f"hypothetical {self.seed}")
        return [f"CREATE INDEX ON {table} {rng.choice(HYPOTHETICAL)}" for table in ("t1", "t1", "t2", "t2", "p1", "th") for _ in range(2)]

    def change(self, table, rng):
        """A change that leaves every path the kinds it has."""
        step, rest = rng.choice([(3, 1), (7, 2), (13, 5), (50, 7)])
        some = f"id % {step} = {rest}"
        few = rng.randint(1, 200)
        document = quote(self.types[table].make(rng, few))
        return rng.choice([
            f"UPDATE {table} SET i = i + 1 WHERE {some}",
            f"UPDATE {table} SET tx = tx || '!', bo = NOT bo WHERE {some}",
            f"UPDATE {table} SET doc = doc || '{{\"n\": 5}}' WHERE {some} AND jsonb_typeof(doc) = 'object'",
            f"UPDATE {table} SET doc = {document} WHERE id BETWEEN {few} AND {few + 5}",
            f"UPDATE {table} SET doc = NULL WHERE id BETWEEN {few} AND {few + 2}",
            f"UPDATE {table} SET doc = doc - 's' #- '{{o,b}}' WHERE {some} AND jsonb_typeof(doc) = 'object'",
            f"UPDATE {table} SET extra['n'] = '7', tz = NULL WHERE {some}",
            f"DELETE FROM {table} WHERE {some}",
            f"DELETE FROM {table} WHERE id BETWEEN {few} AND {few + 40}",
            f"SELECT count(*) FROM (SELECT id FROM {table} WHERE {some} FOR {rng.choice(['UPDATE', 'SHARE', 'KEY SHARE', 'NO KEY UPDATE'])}) x",
        ])

    def upheaval(self, table, rng):
        """Changes that are undone, DDL, and what rewrites a table."""
        if table == "th":
            return self.change(table, rng)
        choices = [
            f"BEGIN; {self.change(table, rng)}; ROLLBACK",
            f"BEGIN; TRUNCATE {table}; ROLLBACK",
            f"BEGIN; {self.change(table, rng)}; SAVEPOINT a; {self.change(table, rng)}; ROLLBACK TO a; {self.change(table, rng)}; COMMIT",
            f"VACUUM FULL {table}", f"VACUUM (FREEZE) {table}",
            f"ALTER TABLE {table} ADD COLUMN fleeting jsonb DEFAULT '{{\"a\": 1}}'; {self.change(table, rng)}; ALTER TABLE {table} DROP COLUMN fleeting",
        ]
        if not self.generated:
            choices.append(f"CREATE TEMP TABLE kept AS SELECT * FROM {table}; TRUNCATE {table}; INSERT INTO {table} SELECT * FROM kept; DROP TABLE kept")
        if table in ("t1", "t2"):
            choices.append(f"ALTER TABLE {table} SET ACCESS METHOD heap; {self.change(table, rng)}; ALTER TABLE {table} SET ACCESS METHOD {{am}}")
        return rng.choice(choices)

    @staticmethod
    def more(rng):
        """Copies of rows under other numbers; sometimes so many that they are loaded in bulk."""
        return (f"INSERT INTO t1 (id, i, doc, extra, tx) SELECT id + {rng.randint(200000, 900000)}, i, doc, extra, tx FROM t1 "
                f"WHERE id BETWEEN 20 AND {rng.choice([40, 150])}")

    def partitions(self):
        rng = self.rng
        columns = ", ".join(f"{c} {t}" for c, t in self.shuffled())
        by = rng.choice(["RANGE (id)", "LIST (id)", "HASH (id)"])
        alike = rng.random() < 0.6  # the partitions' columns are the parent's
        self.sql(f"CREATE TABLE p ({columns}) PARTITION BY {by if by != 'LIST (id)' else 'RANGE (id)'}")
        for number in range(3):
            bound = f"FROM ({number * 100}) TO ({number * 100 + 100})" if by != "HASH (id)" else f"WITH (MODULUS 3, REMAINDER {number})"
            others = ", ".join(f"{c} {t}" for c, t in self.shuffled())
            using = " USING heap" if rng.random() < 0.1 else ""
            if alike:
                self.sql(f"CREATE TABLE p{number} PARTITION OF p FOR VALUES {bound}{using}")
                continue
            self.sql(f"CREATE TABLE p{number} (gone int, {others}){using}")
            self.sql(f"ALTER TABLE p{number} DROP COLUMN gone")
            self.sql(f"ALTER TABLE p ATTACH PARTITION p{number} FOR VALUES {bound}")
        self.fill("p", 299, low=1)

    def inheritance(self):
        self.sql(f"CREATE TABLE h ({', '.join(f'{c} {t}' for c, t in self.shuffled())})")
        self.sql("CREATE TABLE h1 (more text) INHERITS (h)")
        self.fill("h", 100)
        columns = [c for c in self.columns if c not in self.generated]
        lines = [self.line("h", n, columns) for n in range(1000, 1080)]
        self.steps.append(("copy", f"h1 ({', '.join(columns)})", lines))
        if self.rng.random() < 0.6:
            self.sql("VACUUM h1")

    def make_views(self):
        rng = self.rng
        for name, table, options in (("v", "t1", ""), ("vb", "t1", " WITH (security_barrier)")):
            scope = Relation(table, table, self.documents[table], self.columns).scope
            conditions = Expressions(rng, scope)
            self.sql(f"CREATE VIEW {name}{options} AS SELECT {', '.join(self.columns)} FROM {table} WHERE {conditions.condition(1).sql()}")
            self.documents[name] = self.documents[table]
        scope = Relation("t1", "t1", self.documents["t1"], self.columns).scope
        self.sql(f"CREATE MATERIALIZED VIEW mv AS SELECT {', '.join(self.columns)} FROM t1 WHERE NOT ({Expressions(rng, scope).condition(1).sql()})")
        self.documents["mv"] = self.documents["t1"]
        if rng.random() < 0.3:
            self.sql(self.change("t1", rng))
            self.sql("REFRESH MATERIALIZED VIEW mv")
        scope = Relation("t2", "t2", self.documents["t2"], self.columns).scope
        self.sql(f"CREATE POLICY allowed ON t2 USING ({Expressions(rng, scope).condition(1).sql()})")
        self.sql("ALTER TABLE t2 ENABLE ROW LEVEL SECURITY")
        self.sql("GRANT ALL ON ALL TABLES IN SCHEMA {side} TO reader")

    # Relations

    def relation(self, rng, small=False):
        self.aliases += 1
        alias = f"r{self.aliases}"
        if small:
            table = rng.choice(["t1", "t2", "p", "th", "v"])
            low = rng.choice([0, 100])
            return Relation(f"(SELECT * FROM {table} WHERE id BETWEEN {low} AND {low + 60})", alias, self.documents[table], self.columns)
        table = rng.choice(["t1"] * 8 + ["t2"] * 4 + ["p"] * 5 + ["h", "v", "vb", "mv"])
        if rng.random() < 0.06:
            inner = Relation(table, "q", self.documents[table], self.columns)
            condition = Expressions(rng, inner.scope).condition(1).sql().replace("%", "%%")
            return Relation(f"(SELECT * FROM {table} AS q WHERE {condition}{rng.choice(['', ' OFFSET 0'])})", alias, self.documents[table], self.columns)
        return Relation(table, alias, self.documents[table], self.columns)
