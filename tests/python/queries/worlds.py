"""A world: tables of random rows, what happened to them, and the relations that queries may use. Everything follows from the seed."""

import random

from documents import Documents, Type, ARR, INT, OBJ, STR, WORDS, document_type, quote, scalar
from expressions import Expressions, Scope

COLUMNS = {"id": "int", "i": "int", "b": "bigint", "nu": "numeric", "f": "float8", "tx": "text", "bo": "bool", "d": "date", "ts": "timestamp",
           "tz": "timestamptz", "ta": "text[]", "doc": "jsonb", "extra": "jsonb"}

# Once for every database
PREPARE_DATABASE = """
CREATE COLLATION public.caseless (provider = icu, deterministic = false, locale = 'und-u-ks-level2');
CREATE FUNCTION public.at(jsonb, text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT $1 ->> $2';
DO $$ BEGIN CREATE ROLE reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
"""

STATES = ["pages", "columns", "columns", "loaded", "mixed", "mixed", "mixed"]


class Relation:
    """Something for FROM, with an alias."""

    def __init__(self, source, alias, documents):
        self.alias, self.sql = alias, f"{source} AS {alias}"
        self.scope = Scope([(f"{alias}.doc", documents[0]), (f"{alias}.doc", documents[0]), (f"{alias}.extra", documents[1])],
                           [(f"{alias}.{c}", t) for c, t in COLUMNS.items()], [f"{alias}.id"])


class World:
    def __init__(self, seed):
        self.seed = seed
        self.rng = rng = random.Random(f"world {seed}")
        self.types = {"t1": document_type(rng), "t2": document_type(rng)}
        if rng.random() < 0.5:
            self.types["t2"] = self.types["t1"]
        self.types["p"] = self.types["h"] = self.types["th"] = self.types["t2"]
        self.extra = Type({OBJ: 1}, {"k": (scalar(rng), 0.9), "l": (Type({ARR: 1}, None, Type({STR: 1}, words=WORDS[:6])), 0.5), "n": (Type({INT: 1}), 0.9)})
        self.documents = {t: (Documents([k]), Documents([self.extra])) for t, k in self.types.items()}
        self.aliases = 0
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
            "nu": null(0.05, rng.choice([f"{rng.randint(-99, 99)}.{rng.choice(['0', '50', '125'])}", str(number), "NaN", "1e20"])),
            "f": null(0.05, rng.choice([f"{rng.randint(-400, 400) / 4}", f"{rng.random():.17g}", "1e10"])),
            "tx": null(0.05, self.escape(rng.choice(WORDS + [f"row {number}", f"{number // 50:04d}"]))),
            "bo": null(0.1, rng.choice("tf")),
            "d": null(0.05, f"20{15 + number // 200:02d}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"),
            "ts": null(0.05, f"2021-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d} {rng.randint(0, 23):02d}:00:00"),
            "tz": null(0.05, f"2021-{1 + number // 100 % 12:02d}-{rng.randint(1, 28):02d} {rng.randint(0, 23):02d}:00:00+00"),
            "ta": null(0.05, rng.choice(["{}", "{red}", "{red,NULL,blue}", "{a,b}", '{""}'])),
            "doc": null(0.02, self.escape(self.types[table].make(rng, number))),
            "extra": null(0.1, self.escape(self.extra.make(rng, number))),
        }
        return number, "\t".join(values[c] for c in columns)

    @staticmethod
    def escape(text):
        return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")

    # Tables

    def make(self):
        rng = self.rng
        for table, most in (("t1", rng.choice([300, 500, 1000])), ("t2", 300), ("th", 60)):
            key = " PRIMARY KEY" if rng.random() < 0.2 else ""
            columns = [f"{c} {t}{key if c == 'id' else ''}" for c, t in self.shuffled()]
            dropped = rng.random() < 0.3
            if dropped:
                columns.insert(rng.randrange(len(columns)), "gone jsonb")
            late = [] if rng.random() < 0.7 else [c for c in columns if c.startswith("ta ")]
            unlogged = "UNLOGGED " if rng.random() < 0.1 else ""
            self.sql(f"CREATE {unlogged}TABLE {table} ({', '.join(c for c in columns if c not in late)})" + (" USING heap" if table == "th" else ""))
            if dropped:
                self.sql(f"ALTER TABLE {table} DROP COLUMN gone")
            if late:
                # Rows of before have the column's default from the catalog.
                self.fill(table, most, without={"ta"}, add=f"ALTER TABLE {table} ADD COLUMN ta text[] DEFAULT '{{red,late}}'")
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
        columns = list(COLUMNS.items())
        if self.rng.random() < 0.5:
            self.rng.shuffle(columns)
        return columns

    def fill(self, table, most, without=(), add=None, low=1):
        """Rows of a table, in one of the states it may be in."""
        rng = self.rng
        state = rng.choice(STATES)
        columns = [c for c in COLUMNS if c not in without]
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
                self.sql(self.change(table, rng))
                if rng.random() < 0.25:
                    self.sql(f"VACUUM {table}")
        if add:
            self.sql(add)
            columns, names = list(COLUMNS), ", ".join(COLUMNS)
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
        self.sql(f"CREATE INDEX ON {table} " + self.rng.choice([
            "(id)", "(id)", "(i)", "(i)", "((doc ->> 's'))", "((doc ->> 'u'), id)", "USING gin (doc)", "USING gin (doc jsonb_path_ops)", "(d, i)", "((doc -> 'n'))",
            "(tx) WHERE bo", "USING gin ((doc -> 'objs'))", "(jsonb_typeof(doc -> 'mix'))"]))

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
            f"DELETE FROM {table} WHERE {some}",
            f"DELETE FROM {table} WHERE id BETWEEN {few} AND {few + 40}",
            f"SELECT count(*) FROM (SELECT id FROM {table} WHERE {some} FOR {rng.choice(['UPDATE', 'SHARE', 'KEY SHARE', 'NO KEY UPDATE'])}) x",
        ])

    @staticmethod
    def more(rng):
        """Copies of rows under other numbers; sometimes so many that they are loaded in bulk."""
        return (f"INSERT INTO t1 (id, i, doc, extra, tx) SELECT id + {rng.randint(200000, 900000)}, i, doc, extra, tx FROM t1 "
                f"WHERE id BETWEEN 20 AND {rng.choice([40, 150])}")

    def partitions(self):
        rng = self.rng
        columns = ", ".join(f"{c} {t}" for c, t in self.shuffled())
        by = rng.choice(["RANGE (id)", "LIST (id)", "HASH (id)"])
        self.sql(f"CREATE TABLE p ({columns}) PARTITION BY {by if by != 'LIST (id)' else 'RANGE (id)'}")
        for number in range(3):
            bound = f"FROM ({number * 100}) TO ({number * 100 + 100})" if by != "HASH (id)" else f"WITH (MODULUS 3, REMAINDER {number})"
            others = ", ".join(f"{c} {t}" for c, t in self.shuffled())
            using = " USING heap" if rng.random() < 0.15 else ""
            self.sql(f"CREATE TABLE p{number} (gone int, {others}){using}")
            self.sql(f"ALTER TABLE p{number} DROP COLUMN gone")
            self.sql(f"ALTER TABLE p ATTACH PARTITION p{number} FOR VALUES {bound}")
        self.fill("p", 299, low=1)

    def inheritance(self):
        columns = ", ".join(f"{c} {t}" for c, t in COLUMNS.items())
        self.sql(f"CREATE TABLE h ({columns})")
        self.sql("CREATE TABLE h1 (more text) INHERITS (h)")
        self.fill("h", 100)
        lines = [self.line("h", n, COLUMNS) for n in range(1000, 1080)]
        self.steps.append(("copy", f"h1 ({', '.join(COLUMNS)})", lines))
        if self.rng.random() < 0.6:
            self.sql("VACUUM h1")

    def make_views(self):
        rng = self.rng
        for name, table, options in (("v", "t1", ""), ("vb", "t1", " WITH (security_barrier)")):
            scope = Relation(table, table, self.documents[table]).scope
            conditions = Expressions(rng, scope)
            self.sql(f"CREATE VIEW {name}{options} AS SELECT {', '.join(COLUMNS)} FROM {table} WHERE {conditions.condition(1).sql()}")
            self.documents[name] = self.documents[table]
        scope = Relation("t2", "t2", self.documents["t2"]).scope
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
            return Relation(f"(SELECT * FROM {table} WHERE id BETWEEN {low} AND {low + 60})", alias, self.documents[table])
        table = rng.choice(["t1"] * 8 + ["t2"] * 4 + ["p", "p", "h", "v", "vb"])
        if rng.random() < 0.06:
            inner = Relation(table, "q", self.documents[table])
            condition = Expressions(rng, inner.scope).condition(1).sql().replace("%", "%%")
            return Relation(f"(SELECT * FROM {table} AS q WHERE {condition}{rng.choice(['', ' OFFSET 0'])})", alias, self.documents[table])
        return Relation(table, alias, self.documents[table])
