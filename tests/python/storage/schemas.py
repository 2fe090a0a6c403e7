"""The tables of the random tests."""

import dataclasses

from values import MAKERS, sql_type


@dataclasses.dataclass
class Column:
    name: str
    kind: str  # a key of values.MAKERS


@dataclasses.dataclass
class Schema:
    """What the generator must know of a table `t`; it changes as columns and indexes come and go."""

    name: str
    columns: list
    key: bool = True  # id is the primary key
    persistence: str = ""  # "", TEMP or UNLOGGED
    indexes: list = dataclasses.field(default_factory=list)  # of CREATE INDEX ... ON t ..., and whatever else makes the table
    others: list = dataclasses.field(default_factory=list)  # tables that triggers fill; with an id
    partitions: int = 0
    toasted: bool = False
    next_id: int = 1
    serial: int = 0  # names of added columns and indexes
    cluster: str = ""

    def fresh(self, prefix):
        self.serial += 1
        return f"{prefix}{self.serial}"

    def create(self):
        """The statements that make the table, the same on both sides."""
        body = ", ".join(["id bigint" + (" PRIMARY KEY" if self.key else "")]
                         + [f"{c.name} {sql_type(c.kind)}" for c in self.columns])
        if self.partitions:
            statements = [f"CREATE {self.persistence} TABLE t ({body}) PARTITION BY HASH (id)"]
            for number in range(self.partitions):
                statements.append(f"CREATE {self.persistence} TABLE t{number} PARTITION OF t "
                                  f"FOR VALUES WITH (MODULUS {self.partitions}, REMAINDER {number})")
        else:
            statements = [f"CREATE {self.persistence} TABLE t ({body})"]
        return statements + list(self.indexes)

    def names(self):
        return ["id"] + [c.name for c in self.columns]

    def values(self, i, salt):
        """Expressions of a whole row, id first."""
        return [str(i)] + [MAKERS[c.kind].format(i=i, s=salt) for c in self.columns]

    def relations(self):
        """The tables that hold the rows."""
        return ([f"t{n}" for n in range(self.partitions)] if self.partitions else ["t"]) + self.others

    def of_kind(self, *kinds):
        return [c for c in self.columns if c.kind in kinds]


def plain():
    kinds = ["int", "bigint", "numeric", "float8", "text", "bool", "timestamptz", "date", "interval", "int[]", "text[]",
             "gen.pair", "gen.mood", "uuid", "bytea", "int4range", "point", "json", "numeric(12,3)", "varchar(40)",
             "char(12)", "smallint"]
    names = ["n", "big", "num", "f", "s", "b", "ts", "d", "iv", "a", "sa", "pair", "mood", "u", "raw", "r", "pt", "j",
             "money", "vc", "ch", "small"]
    return Schema("columns", [Column(n, k) for n, k in zip(names, kinds)], indexes=[
        "CREATE INDEX t_n ON t (n)",
        "CREATE INDEX t_part ON t (big, num) WHERE b",
        "CREATE INDEX t_lower ON t (lower(s))",
        "CREATE INDEX t_hash ON t USING hash (u)",
        "CREATE INDEX t_brin ON t USING brin (ts) WITH (pages_per_range = 2)",
        "CREATE INDEX t_gin ON t USING gin (a)",
        "CREATE INDEX t_gist ON t USING gist (r)",
        "CREATE INDEX t_spgist ON t USING spgist (vc)",
        "CREATE INDEX t_cover ON t (mood, d) INCLUDE (money)",
    ])


def documents():
    return Schema("documents", [Column("doc", "jsonb")], indexes=[
        "CREATE INDEX t_gin ON t USING gin (doc)",
        "CREATE INDEX t_k ON t ((doc->>'k'))",
        "CREATE INDEX t_brin ON t USING brin (id)",
    ])


def keyless():
    return Schema("keyless", [Column("s", "text"), Column("doc", "jsonb"), Column("num", "numeric"), Column("n", "int")],
                  key=False, indexes=["CREATE INDEX t_id ON t (id)", "CREATE INDEX t_brin ON t USING brin (id)",
                                      "CREATE INDEX t_path ON t USING gin (doc jsonb_path_ops)"])


def bare():
    return Schema("bare", [Column("doc", "jsonb"), Column("ts", "timestamptz"), Column("pair", "gen.pair")], key=False)


def toasted():
    return Schema("toasted", [Column("long1", "long text"), Column("n", "int"), Column("doc", "jsonb"), Column("long2", "long text")],
                  indexes=["CREATE INDEX t_n ON t (n)"], toasted=True)


def partitioned():
    return Schema("partitioned", [Column("n", "int"), Column("doc", "jsonb"), Column("s", "text")], partitions=3,
                  indexes=["CREATE INDEX t_n ON t (n)", "CREATE INDEX t_gin ON t USING gin (doc)"])


def temporary():
    return Schema("temporary", [Column("n", "int"), Column("doc", "jsonb"), Column("num", "numeric")], persistence="TEMP",
                  indexes=["CREATE INDEX t_n ON t (n)"])


def unlogged():
    return Schema("unlogged", [Column("n", "int"), Column("doc", "jsonb"), Column("sa", "text[]")], persistence="UNLOGGED",
                  indexes=["CREATE INDEX t_n ON t (n)", "CREATE UNIQUE INDEX t_u ON t (id, n)"])


def odd():
    kinds = ["real", "money", "time", "timetz", "name", "oid", '"char"', "inet", "bit(4)", "varbit", "tsvector", "nummultirange", "tstzrange", "float8[]",
             "gen.few", "gen.object", "gen.nest"]
    return Schema("odd", [Column(f"c{n}", k) for n, k in enumerate(kinds)] + [Column("n", "int"), Column("doc", "jsonb")], toasted=True, indexes=[
        "ALTER TABLE t ADD COLUMN computed jsonb GENERATED ALWAYS AS (doc -> 'nested') STORED, ADD COLUMN twice bigint GENERATED ALWAYS AS (id * 2) STORED",
        "CREATE UNIQUE INDEX t_unique ON t ((coalesce(doc ->> 'none', '')), twice)",
        "CREATE INDEX t_n ON t (n) INCLUDE (computed, c0) WHERE computed IS NOT NULL",
        "CREATE INDEX t_words ON t USING gin (c10)",
        "CREATE INDEX t_time ON t USING gist (c12)",
        "ALTER TABLE t ADD CONSTRAINT t_exclude EXCLUDE USING gist (int8range(id, id + 1) WITH &&)",
        "CREATE STATISTICS t_statistics ON n, c14 FROM t",
    ])


def watched():
    """Triggers that see old and new rows: at once, at the statement's end and at the transaction's; and a foreign key."""
    log = "CREATE FUNCTION {0}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen {1}; RETURN NULL; END $$"
    return Schema("watched", [Column("n", "int"), Column("parent", "parent"), Column("doc", "jsonb"), Column("s", "long text")], toasted=True, others=["seen"], indexes=[
        "CREATE TABLE seen (id bigint, what text, old text, new text)",
        "CREATE INDEX t_parent ON t (parent)",
        "ALTER TABLE t ADD FOREIGN KEY (parent) REFERENCES t ON DELETE SET NULL ON UPDATE CASCADE DEFERRABLE",
        "CREATE FUNCTION before_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.n % 17 = 3 AND NEW.id = OLD.id AND NEW.parent IS NOT DISTINCT FROM OLD.parent "
        "THEN RETURN NULL; END IF; IF jsonb_typeof(NEW.doc) = 'object' THEN NEW.doc['seen'] = to_jsonb(OLD.n); END IF; RETURN NEW; END $$",
        "CREATE TRIGGER a BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION before_row()",
        log.format("row_changed", "VALUES (coalesce(NEW.id, OLD.id), TG_NAME || TG_OP, md5(OLD::text), md5(NEW::text))"),
        "CREATE TRIGGER b AFTER UPDATE OR DELETE ON t FOR EACH ROW WHEN (OLD.id % 3 = 0) EXECUTE FUNCTION row_changed()",
        "CREATE CONSTRAINT TRIGGER c AFTER INSERT OR UPDATE OR DELETE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION row_changed()",
        log.format("statement_changed", "SELECT id, TG_OP, md5(o::text), NULL FROM o"),
        "CREATE TRIGGER d AFTER DELETE ON t REFERENCING OLD TABLE AS o FOR EACH STATEMENT EXECUTE FUNCTION statement_changed()",
        log.format("statement_updated", "SELECT id, TG_OP, md5(o::text), md5(u::text) FROM o FULL JOIN u USING (id)"),
        "CREATE TRIGGER e AFTER UPDATE ON t REFERENCING OLD TABLE AS o NEW TABLE AS u FOR EACH STATEMENT EXECUTE FUNCTION statement_updated()",
    ])


ALL = [plain, documents, keyless, bare, toasted, partitioned, temporary, unlogged, odd, watched]
