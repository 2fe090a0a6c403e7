"""Random statements on table t whose outcome does not depend on the physical order of rows."""

from schemas import Column
from values import MAKERS, sql_type

LOCKS = ["FOR UPDATE", "FOR NO KEY UPDATE", "FOR SHARE", "FOR KEY SHARE"]


class Statements:
    """Draws statements for one schema; keeps the schema up to date with the DDL it drew."""

    def __init__(self, schema, rng):
        self.schema = schema
        self.rng = rng

    # Pieces

    def salt(self):
        return self.rng.randrange(1000)

    def span(self, most=200):
        """A range of ids that probably exist."""
        top = max(self.schema.next_id, 2)
        low = self.rng.randrange(1, top)
        return low, low + self.rng.randrange(0, most)

    def take(self, count):
        """A range of ids nobody had."""
        low = self.schema.next_id
        self.schema.next_id += count
        return low, low + count - 1

    def columns_of_row(self):
        return ", ".join(self.schema.names())

    def select_rows(self, low, high):
        return f"SELECT {', '.join(self.schema.values('i', self.salt()))} FROM generate_series({low}::bigint, {high}) i"

    def predicate(self):
        """A WHERE condition; often one that an index could answer."""
        rng, schema = self.rng, self.schema
        low, high = self.span()
        choices = [f"id = {low}", f"id BETWEEN {low} AND {high}", f"id % {rng.randrange(2, 40)} = {rng.randrange(2)}",
                   f"id IN ({low}, {low + 3}, {high}, {high + 1})", f"id > {low}"]
        for column in schema.columns:
            name, value = column.name, MAKERS[column.kind].format(i=low, s=self.salt())
            match column.kind:
                case "int" | "bigint" | "smallint" | "date" | "timestamptz" | "gen.mood" | "uuid" | "numeric(12,3)" | "varchar(40)":
                    choices += [f"{name} = {value}", f"{name} IS NULL"]
                    if column.kind not in ("uuid", "varchar(40)"):
                        choices.append(f"{name} BETWEEN {value} AND {MAKERS[column.kind].format(i=high, s=1)}")
                case "numeric":
                    choices += [f"{name} > {rng.randrange(20000)}", f"b AND big > 0 AND {name} IS NOT NULL" if schema.name == "columns" else f"{name} IS NULL"]
                case "text":
                    choices += [f"lower({name}) = lower({value})", f"{name} LIKE 'word%'", f"{name} IS NULL"]
                case "long text":
                    choices += [f"length({name}) > 1000", f"{name} IS NULL"]
                case "int[]":
                    choices += [f"{name} @> ARRAY[{rng.randrange(50)}]", f"{name} && ARRAY[1, {rng.randrange(50)}]"]
                case "int4range":
                    choices.append(f"{name} @> {low}")
                case "jsonb":
                    choices += [f"{name} @> '{{\"k\": {rng.randrange(20)}}}'", f"{name} ? 'tags'", f"{name}->>'k' = '{rng.randrange(20)}'",
                                f"{name} @> '{{\"tags\": [\"t{rng.randrange(9)}\"]}}'", f"{name}->'nested'->'a'->'b'->0->>'c' = '{low}'",
                                f"jsonb_typeof({name}->'mixed') = 'array'", f"{name} IS NULL"]
        return rng.choice(choices)

    def assignment(self):
        """SET of one to three columns, each from the row itself."""
        rng = self.rng
        columns = rng.sample(self.schema.columns, min(len(self.schema.columns), rng.randrange(1, 4)))
        parts = []
        for column in columns:
            if column.kind == "jsonb" and rng.random() < 0.5:
                parts.append(f"{column.name} = CASE jsonb_typeof({column.name}) WHEN 'object' THEN {column.name} || jsonb_build_object('changed', {self.salt()}) "
                             f"ELSE jsonb_build_array({column.name}, id) END")
            elif column.kind == "int" and rng.random() < 0.5:
                parts.append(f"{column.name} = coalesce({column.name}, 0) % 1000 + 1")
            else:
                parts.append(f"{column.name} = {MAKERS[column.kind].format(i='id', s=self.salt())}")
        return ", ".join(parts)

    # DML: each returns (statement, COPY data or None)

    def insert_rows(self):
        count = self.rng.choice([1, 1, 2, 5, 20])
        low, high = self.take(count)
        rows = ", ".join(f"({', '.join(self.schema.values(i, self.salt()))})" for i in range(low, high + 1))
        returning = self.rng.choice(["", " RETURNING *"])
        return f"INSERT INTO t ({self.columns_of_row()}) VALUES {rows}{returning}"

    def insert_select(self):
        most = 150 if self.schema.toasted else 1800
        low, high = self.take(self.rng.choice([30, 200, most]))
        return f"INSERT INTO t ({self.columns_of_row()}) {self.select_rows(low, high)}"

    def insert_from_itself(self):
        low, high = self.span()
        shift = self.schema.next_id
        self.schema.next_id = shift + high + 1
        names = self.columns_of_row()
        return f"INSERT INTO t ({names}) SELECT id + {shift}{names[2:]} FROM t WHERE id BETWEEN {low} AND {high}"

    def insert_duplicates(self):
        low, _ = self.span()
        return f"INSERT INTO t ({self.columns_of_row()}) {self.select_rows(low, low + self.rng.randrange(5))}"

    def insert_conflict(self):
        low, high = self.span(30)
        action = "DO NOTHING" if not self.schema.key or self.rng.random() < 0.4 else \
            f"(id) DO UPDATE SET {', '.join(f'{c.name} = excluded.{c.name}' for c in self.schema.columns[:3])}" + \
            self.rng.choice(["", f" WHERE t.id % 2 = {self.rng.randrange(2)}"])
        return f"INSERT INTO t ({self.columns_of_row()}) {self.select_rows(low, high)} ON CONFLICT {action} RETURNING id"

    def update(self):
        returning = self.rng.choice(["", "", " RETURNING *", " RETURNING id"])
        return f"UPDATE t SET {self.assignment()} WHERE {self.predicate()}{returning}"

    def update_key(self):
        low, high = self.span(40)
        shift = self.schema.next_id
        self.schema.next_id = shift + high + 1
        return f"UPDATE t SET id = id + {shift} WHERE id BETWEEN {low} AND {high}"

    def update_join(self):
        low, high = self.span(60)
        return (f"UPDATE t SET {self.assignment()} FROM generate_series({low}, {high}, 2) g(i) WHERE t.id = g.i"
                + self.rng.choice(["", " RETURNING t.id"]))

    def delete(self):
        low, high = self.span(60)
        condition = self.rng.choice([f"id BETWEEN {low} AND {high}", f"id = {low}", f"({self.predicate()}) AND id % 3 = 0"])
        return f"DELETE FROM t WHERE {condition}" + self.rng.choice(["", " RETURNING *"])

    def delete_join(self):
        low, high = self.span(100)
        return f"DELETE FROM t USING generate_series({low}, {high}, 3) g(i) WHERE t.id = g.i RETURNING t.id"

    def merge(self):
        low, high = self.span(40)
        values = ", ".join(self.schema.values("s.i", self.salt()))
        return (f"MERGE INTO t USING generate_series({low}, {high}) s(i) ON t.id = s.i "
                f"WHEN MATCHED AND s.i % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET {self.assignment()} "
                f"WHEN NOT MATCHED AND s.i % 2 = 0 THEN INSERT ({self.columns_of_row()}) VALUES ({values})")

    def lock(self):
        return f"SELECT id FROM t WHERE {self.predicate()} {self.rng.choice(LOCKS)} {self.rng.choice(['', 'NOWAIT', 'SKIP LOCKED'])}"

    def change_twice(self):
        """Own-command rules: the second change of a row within one statement must not be done."""
        low, high = self.span(10)
        return (f"WITH x AS (UPDATE t SET {self.assignment()} WHERE id BETWEEN {low} AND {high} RETURNING id), "
                f"y AS (DELETE FROM t WHERE id BETWEEN {high + 1} AND {high + 4} RETURNING id) SELECT * FROM x UNION ALL SELECT * FROM y")

    # DDL and maintenance

    def add_column(self):
        schema, rng = self.schema, self.rng
        if len(schema.columns) > 26:
            return None
        column = Column(schema.fresh("added"), rng.choice(["int", "text", "jsonb", "numeric", "int[]", "gen.pair", "bool"]))
        default = rng.choice(["", f" DEFAULT {MAKERS[column.kind].format(i=rng.randrange(100), s=self.salt())}"])
        if column.kind == "int" and rng.random() < 0.2:
            default = " NOT NULL DEFAULT 7"
            column = Column(column.name, "smallint")
        schema.columns.append(column)
        return f"ALTER TABLE t ADD COLUMN {column.name} {sql_type(column.kind)}{default}"

    def drop_column(self):
        added = [c for c in self.schema.columns if c.name.startswith("added")]
        if len(self.schema.columns) < 2:
            return None
        # Mostly one that was added; an original one takes its indexes along.
        column = self.rng.choice(added) if added and self.rng.random() < 0.8 else self.rng.choice(self.schema.columns)
        if column.name in ("b", "big", "num"):
            return None
        self.schema.columns.remove(column)
        return f"ALTER TABLE t DROP COLUMN {column.name}"

    def rewrite_column(self):
        ints = self.schema.of_kind("int")
        if not ints:
            return None
        name = self.rng.choice(ints).name
        return f"ALTER TABLE t ALTER COLUMN {name} TYPE {self.rng.choice(['numeric', 'bigint', 'int'])} USING {name}::int"

    def create_index(self):
        rng, schema = self.rng, self.schema
        if schema.serial > 14:
            return None
        name = schema.fresh("made")
        choices = ["(id)", "(id) WHERE id % 2 = 0", "USING brin (id)", "USING hash (id)"]
        for column in schema.columns:
            match column.kind:
                case "int" | "bigint" | "numeric" | "timestamptz" | "date" | "float8" | "smallint" | "bool":
                    choices += [f"({column.name})", f"({column.name}, id)", f"USING brin ({column.name})", f"(id) INCLUDE ({column.name})"]
                case "text":
                    choices += [f"(left({column.name}, 20))", f"(id) WHERE {column.name} IS NULL"]
                case "jsonb":
                    choices += [f"USING gin ({column.name})", f"USING gin ({column.name} jsonb_path_ops)", f"(({column.name}->>'k'), id)",
                                f"(jsonb_typeof({column.name}))"]
                case "int[]" | "text[]":
                    choices.append(f"USING gin ({column.name})")
                case "int4range":
                    choices.append(f"USING gist ({column.name})")
                case "point":
                    choices.append(f"USING spgist ({column.name})")
        concurrently = "CONCURRENTLY " if not schema.partitions and rng.random() < 0.4 else ""
        return f"CREATE INDEX {concurrently}{name} ON t {rng.choice(choices)}"

    def maintenance(self):
        """What cannot run in a transaction block."""
        rng, schema = self.rng, self.schema
        if rng.random() < 0.35:
            make = rng.choice([self.create_index, self.create_index, self.add_column, self.drop_column, self.rewrite_column])
            if statement := make():
                return statement
        choices = ["VACUUM t"] * 6 + ["VACUUM (FREEZE) t", "VACUUM (ANALYZE) t", "VACUUM (INDEX_CLEANUP ON) t", "VACUUM FULL t", "ANALYZE t", "REINDEX TABLE t"]
        if not schema.partitions:
            choices.append("REINDEX TABLE CONCURRENTLY t")
            if schema.cluster:
                choices.append(f"CLUSTER t USING {schema.cluster}")
        return rng.choice(choices)

    def dml(self):
        rng = self.rng
        kinds = {self.insert_rows: 6, self.insert_select: 2, self.insert_from_itself: 2, self.insert_duplicates: 1, self.insert_conflict: 4,
                 self.update: 9, self.update_key: 2, self.update_join: 3, self.delete: 4, self.delete_join: 2, self.merge: 3,
                 self.lock: 5, self.change_twice: 1}
        if not self.schema.key:
            # Without a unique key a statement could meet a row several times, or many rows of one id.
            for kind in (self.merge,):
                del kinds[kind]
        return rng.choices(list(kinds), list(kinds.values()))[0]()
