"""The shapes of queries. Each function makes a Case from a world."""

import os
import random

from documents import ARR, OBJ, Documents
from columns import OTHERS
from expressions import Expressions, Scope, TYPES
from jsonpaths import Paths
from nodes import List, Literal, Node
from worlds import Relation

# Names of functions of Shapes: only queries that these make.
SHAPES = set(filter(None, os.environ.get("AMAX_QUERY_SHAPES", "").split(",")))


class Case:
    """A query and how its answers may be compared."""

    def __init__(self, node, notes, ordered=False, kind="select"):
        self.node, self.ordered, self.kind = node, ordered, kind
        self.loose, self.float_sums, self.risky = notes.loose, notes.float_sums, notes.risky
        self.literals = None  # of a prepared statement: other values for its parameters
        self.rng_seed = 0
        self.digest = None  # a relation to look at after a change
        self.exact_message = False  # only one error is possible
        self.expressions = 0  # that are reduced to one value each
        self.before = None  # a cursor whose row is changed
        self.between = None  # a change that an open cursor does not see, or that comes before a plan is used again; what to EXPLAIN

    def steps(self):
        """(statement, how to compare: "ordered", "rows" or None)."""
        compare = "ordered" if self.ordered else "rows"
        if self.kind == "select":
            return [(self.node.sql(), compare)]
        if self.kind == "prepare":
            return self.prepared(compare)
        if self.kind == "function":
            return self.called_function()
        if self.kind == "explain":
            return [(f"EXPLAIN ({self.between}) {self.node.sql()}", None)]
        if self.before:
            return [(self.before, None), ("FETCH c", "rows"), (self.node.sql(), "rows"), ("CLOSE c", None)]
        if self.kind == "change":
            return [(self.node.sql(), "rows"), (f"SELECT count(*), sum(hashtextextended(x::text, 0)) FROM {self.digest} x", "rows")]
        rng = random.Random(self.rng_seed)
        hold = rng.choice(["", "", " WITH HOLD"])
        steps = [(f"DECLARE c SCROLL CURSOR{hold} FOR {self.node.sql()}", None)]
        if self.between:
            steps.append((self.between, "rows"))
        if self.ordered:
            moves = ["FETCH 3", "FETCH 100", "FETCH BACKWARD 2", "FETCH PRIOR", "FETCH FIRST", "FETCH LAST", "FETCH ABSOLUTE 7", "FETCH RELATIVE -3", "MOVE 5",
                     "FETCH BACKWARD ALL", "FETCH ALL"]
            steps += [(f"{rng.choice(moves)} FROM c", "ordered") for _ in range(rng.randint(2, 6))]
        else:
            steps += [("FETCH ALL FROM c", "rows"), ("FETCH BACKWARD ALL FROM c", "rows"), ("FETCH ALL FROM c", "rows")]
        return steps + [("CLOSE c", None)]

    def needs_transaction(self):
        return self.kind in ("cursor", "change") or self.kind in ("prepare", "function") and self.between is not None

    def called_function(self):
        """The query in a function; its parameters have values in the next call that they had not in the one before."""
        rng = random.Random(self.rng_seed)
        literals = []
        text = self.node.sql(literals)
        body = rng.choice([("sql", f"SELECT q::text FROM ({text}) q"), ("plpgsql", f"BEGIN RETURN QUERY SELECT q::text FROM ({text}) q; END"),
                           ("plpgsql", f"DECLARE one record; BEGIN FOR one IN {text} LOOP RETURN NEXT one::text; END LOOP; END")])
        types = ", ".join(p.type for p in literals)
        steps = [(f"CREATE OR REPLACE FUNCTION pg_temp.f({types}) RETURNS SETOF text LANGUAGE {body[0]} {rng.choice(['STABLE', 'VOLATILE'])} AS $f$ {body[1]} $f$", None)]
        for number in range(rng.choice([1, 2, 7])):
            values = [p.text if not number or p.fixed or rng.random() < 0.5 else rng.choice(self.literals.get(p.type, [p.text])) for p in literals]
            steps += [(self.between, None)] if number == 1 and self.between else []
            steps.append((f"SELECT * FROM pg_temp.f({', '.join(values)})", "ordered" if self.ordered else "rows"))
        return steps + [(f"DROP FUNCTION pg_temp.f({types})", None)]

    def prepared(self, compare):
        rng = random.Random(self.rng_seed)
        literals = []
        text = self.node.sql(literals)
        types = f"({', '.join(p.type for p in literals)})" if literals else ""
        steps = [(f"PREPARE s{types} AS {text}", None)]
        for number in range(rng.choice([1, 2, 7])):
            values = [p.text for p in literals]
            if number:
                values = [v if p.fixed and not self.risky or rng.random() < 0.5 else rng.choice(self.literals.get(p.type, [v])) for p, v in zip(literals, values)]
            steps += [(self.between, None)] if number == 1 and self.between else []
            steps.append((f"EXECUTE s{'(' + ', '.join(values) + ')' if values else ''}", compare))
        return steps + [("DEALLOCATE s", None)]


class Shapes:
    def __init__(self, world, rng, risky):
        self.world, self.rng, self.risky = world, rng, risky
        world.aliases = 0

    def case(self):
        rng = self.rng
        makers = {self.rows: 20, self.aggregates: 20, self.grouped: 18, self.unnested: 12, self.srf: 8, self.combined: 4, self.whole: 3, self.best: 14, self.best_of_each: 10, self.jsonpath: 8}
        if not self.world.locked:
            makers[self.change] = 7
        if not self.risky:
            makers |= {self.ties: 2, self.recursive: 2, self.partitions_joined: 2, self.windows: 6, self.joined: 10, self.several_joined: 6, self.grouping_sets: 3, self.with_queries: 5, self.distinct_on: 3, self.per_row: 3, self.computed: 4, self.single_row: 0}
        else:
            makers |= {self.single_row: 12, self.computed: 4}
        if SHAPES:
            makers = {maker: share for maker, share in makers.items() if maker.__name__ in SHAPES}
        case = rng.choices(list(makers), list(makers.values()))[0]()
        if case.kind == "select" and not self.risky and rng.random() < 0.06:
            case.kind = "cursor"
            if rng.random() < 0.4 and not self.world.locked:
                case.between = self.world.change(rng.choice(["t1", "t2", "p"]), rng)
        elif case.kind == "select" and rng.random() < 0.03:
            case.kind = "explain"
            case.between = "ANALYZE" + rng.choice(["", ", VERBOSE", ", BUFFERS", ", SETTINGS", ", TIMING OFF", ", WAL"]) + rng.choice(["", ", FORMAT JSON", ", FORMAT XML", ", FORMAT YAML"])
        elif case.kind == "select" and rng.random() < 0.2:
            case.kind = "prepare" if self.risky or case.float_sums or rng.random() < 0.75 else "function"
            spare = Expressions(rng, Scope())
            if rng.random() < 0.3 and not self.world.locked and not self.risky:
                table = rng.choice(["t1", "t2", "p"])
                case.between = rng.choice([self.world.change(table, rng), f"TRUNCATE {table}", f"ALTER TABLE {table} ADD COLUMN between_uses jsonb DEFAULT '{{\"a\": 1}}'",
                                           f"CREATE INDEX ON {table} ((doc ->> 's'))", f"ANALYZE {table}", "ALTER TABLE t1 SET ACCESS METHOD {other}"])
            case.literals = {t: [spare.literal(t).text for _ in range(4)] for t in TYPES + list(OTHERS)}
        case.rng_seed = rng.getrandbits(32)
        return case

    # Pieces

    def one(self, small=False):
        relation = self.world.relation(self.rng, small)
        return relation, Expressions(self.rng, relation.scope, self.risky, self.world)

    def where(self, make, most=2):
        count = self.rng.choice([0, 1, 1, 1, most])
        return List(self.few(make) + [make.condition() for _ in range(count)], " AND ", " WHERE ")

    def few(self, make):
        """Where there are indexes, often a condition that one may answer."""
        rng = self.rng
        keys = [key for key in make.scope.keys if key.endswith(".id")]
        if not (self.world.indexes and keys and rng.random() < 0.4):
            return []
        key, low = rng.choice(keys), rng.randint(0, 300)
        return [Node("bool", rng.choice([f"{key} = {low}", f"{key} BETWEEN {low} AND {low + rng.choice([5, 50])}", f"{key} IN ({low}, {low // 2}, {low + 7})"]))]

    def items(self, make, most=4, trait=None):
        rng = self.rng
        return [make.value(make.type(trait), rng.choice([0, 1, 2])) for _ in range(rng.randint(1, most))]

    def direction(self):
        return self.rng.choice(["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"])

    def collation(self, node):
        return self.rng.choice([' COLLATE "C"', ' COLLATE "en-x-icu"']) if node.type == "text" and self.rng.random() < 0.1 else ""

    def limit(self):
        rng = self.rng
        count = rng.choice([1, 3, 10, 100, "NULL", "(SELECT 3)"] if rng.random() < 0.1 else [1, 3, 10, 100])
        return List([Literal("bigint", str(count), fixed=True, parameter=isinstance(count, int))], "", " LIMIT ", rng.choice(["", "", " OFFSET 2", " OFFSET 50"]))

    def order(self, make, items):
        """A total order: the relation's keys come last."""
        rng = self.rng
        keys = [Node(None, f"%s{self.collation(item)}{self.direction()}", item) for item in
                rng.sample(items, min(len(items), rng.randint(0, 2))) if item.type != "text[]" and (item.type not in OTHERS or "<" in OTHERS[item.type].traits)]
        if rng.random() < 0.3:
            keys.append(Node(None, f"%s{self.direction()}", make.value(rng.choice(["int", "text", "numeric", "timestamp", "jsonb"]), 1)))
        return keys + [Node(None, f"{key}{rng.choice(['', ' DESC'])}") for key in make.scope.keys]

    def ordered(self, make, items):
        """ORDER BY … LIMIT, or neither; and whether."""
        if not make.scope.keys or self.rng.random() < 0.55:
            return Node(None, ""), False
        order = self.order(make, items)
        return Node(None, "%s%s", List(order, ", ", " ORDER BY ", least=len(order)), self.limit() if self.rng.random() < 0.7 else List([])), True

    def some_keys(self, make, counts, types):
        """Sort keys, mostly paths."""
        rng, keys = self.rng, []
        for _ in range(rng.choice(counts)):
            type_ = rng.choice([*types, make.type("<", 0.5)])
            found = make.field(type_) if rng.random() < 0.7 else None
            key = found[0] if found else make.column(type_)
            if key is not None and type_ != "text[]":
                keys.append(Node(None, f"%s{self.collation(key)}{self.direction()}", key))
        return keys

    # Shapes

    def rows(self):
        relation, make = self.one()
        items = self.items(make)
        where = self.where(make)
        rng = self.rng
        if rng.random() < 0.1:
            items = self.items(make, trait="key")
            node = Node(None, f"SELECT DISTINCT %s FROM {relation.sql}%s", List(items, least=1), where)
            make.loose = True
            return Case(node, make)
        tail, ordered = self.ordered(make, items)
        sample = rng.choice([" TABLESAMPLE BERNOULLI (100) REPEATABLE (1)", " TABLESAMPLE SYSTEM (100)"]) \
            if relation.sql.split()[0] in ("t1", "t2") and rng.random() < 0.02 else ""
        if not self.world.locked and not self.risky and relation.sql.split()[0] in ("t1", "t2", "p", "h", "v") and rng.random() < 0.05:
            lock = rng.choice(["UPDATE", "SHARE", "NO KEY UPDATE", "KEY SHARE"]) + rng.choice(["", "", " SKIP LOCKED", " NOWAIT"])
            first = rng.choice(["", f" ORDER BY {relation.alias}.id LIMIT 7"])
            case = Case(Node(None, f"SELECT %s FROM {relation.sql}%s{first} FOR {lock}", List(items, least=1), where), make, kind="change")
            case.digest = "t1"
            return case
        return Case(Node(None, f"SELECT %s FROM {relation.sql}{sample}%s%s", List(items, least=1), where, tail), make, ordered)

    def best(self):
        """The first rows of a table by several keys, mostly paths, with what is read of those rows alone."""
        rng = self.rng
        relation, make = self.one()
        if not make.scope.keys:
            return self.rows()
        keys = self.some_keys(make, [1, 1, 2, 3], ["int", "bigint", "numeric", "float8", "bool", "date", "timestamp", "timestamptz", "text", "text"])
        keys += [Node(None, f"{key}{rng.choice(['', ' DESC'])}") for key in make.scope.keys]
        table = relation.sql.split()[0] in ("t1", "t2", "p", "h")
        items = [Node(None, f"{relation.alias}.*")] if table and rng.random() < 0.3 else self.items(make)
        count, start = rng.choice([1, 2, 7, 30, 200]), rng.choice([None, None, 0, 3, 60])
        limit = [Literal("bigint", str(count), fixed=True)] + ([Literal("bigint", str(start), fixed=True)] if start is not None else [])
        limit = Node(None, " LIMIT %s" if start is None else " LIMIT %s OFFSET %s", *limit)
        if rng.random() < 0.1:
            limit = Node(None, f" FETCH FIRST {count} ROWS ONLY")
        order = List(keys, ", ", " ORDER BY ", least=len(make.scope.keys))
        return Case(Node(None, f"SELECT %s FROM {relation.sql}%s%s%s", List(items, least=1), self.where(make), order, limit), make, True)

    def best_of_each(self):
        """The first row of each group by several keys, or some of them by number, with what is read of those rows alone."""
        rng = self.rng
        relation, make = self.one()
        if not make.scope.keys:
            return self.rows()
        groups = []
        for _ in range(rng.choice([1, 1, 1, 2])):
            found = make.field(rng.choice(["int", "bool", "text", "date", make.type("key", 0.5)])) if rng.random() < 0.6 else None
            group = found[0] if found else make.column(rng.choice(["int", "bool", "text", "numeric"]))
            if group is not None and group.type != "text[]" and group.type not in OTHERS:
                groups.append(group)
        groups = groups or [make.value("bool", 1)]
        keys = [Node(None, f"%s{self.direction()}", group) for group in rng.sample(groups, len(groups))]
        keys += self.some_keys(make, [0, 1, 1, 2], ["int", "bigint", "numeric", "float8", "bool", "timestamp", "text", "text"])
        keys += [Node(None, f"{key}{rng.choice(['', ' DESC'])}") for key in make.scope.keys]
        table = relation.sql.split()[0] in ("t1", "t2", "p", "h")
        items = [Node(None, f"{relation.alias}.*")] if table and rng.random() < 0.4 else self.items(make)
        if rng.random() < 0.4:
            return self.numbered(relation, make, items, groups, keys)
        limit = self.limit() if rng.random() < 0.2 and not self.risky else List([])
        order, each = List(keys, ", ", " ORDER BY ", least=len(keys)), List(groups, least=len(groups))
        return Case(Node(None, f"SELECT DISTINCT ON (%s) %s FROM {relation.sql}%s%s%s", each, List(items, least=1), self.where(make), order, limit), make, True)

    def numbered(self, relation, make, items, groups, keys):
        """The first rows of all or of each group, by a number that a window function gives them."""
        rng = self.rng
        rank = rng.random() < 0.4
        order = List(keys[:len(keys) - len(make.scope.keys)] if rank and rng.random() < 0.7 and len(keys) > len(make.scope.keys) else keys, least=1)
        partition = List(rng.choice([groups, groups, []]), ", ", "PARTITION BY ", " ")
        number = Node(None, f"{'rank' if rank else 'row_number'}() OVER (%sORDER BY %s) AS numbered", partition, order)
        count = Literal("bigint", str(rng.choice([0, 1, 2, 3, 10, 100])), fixed=True)
        bound = Node(None, rng.choice(["numbered <= %s", "numbered < %s", "%s >= numbered", "numbered = %s", "numbered BETWEEN 2 AND %s"]), count)
        inner = Node(None, f"SELECT %s, %s FROM {relation.sql}%s", List(items, least=1), number, self.where(make))
        return Case(Node(None, "SELECT * FROM (%s) w WHERE %s", inner, bound), make)

    def single_row(self):
        """One row, and mostly one thing that can go wrong with it: the message must be the same too."""
        relation, make = self.one()
        found = make.field(self.rng.choice(["int", "numeric", "date", "bool", "float8"]))
        if not found:
            return self.rows()
        node = Node(None, f"SELECT %s FROM {relation.sql} WHERE {relation.alias}.id = {self.rng.randint(1, 300)}", found[0])
        case = Case(node, make)
        case.exact_message = True
        return case

    def jsonpath(self):
        """SQL/JSON paths of all kinds: in the select list, as conditions and keys, as rows in FROM and in the select list."""
        rng = self.rng
        relation, make = self.one()
        if not make.scope.documents:
            return self.rows()

        def paths():
            base, documents = rng.choice(make.scope.documents)
            # Of what is at a key, too.
            inner = [path for path in documents.inner if len(path.steps) == 1 and not isinstance(path.steps[0], int) and path.types]
            if inner and rng.random() < 0.15:
                path = rng.choice(inner)
                return Documents(path.types), make.json_at(base, path.steps).sql()
            return documents, base

        def of(method):
            documents, base = paths()
            return getattr(Paths(rng, documents, self.risky), method)(base.replace("%", "%%"))

        draw = rng.random()
        number = Node(None, relation.scope.keys[0]) if relation.scope.keys else Node(None, "1")
        few = List([of("truth")] if rng.random() < 0.25 and not self.risky else [], " AND ", " WHERE ")
        if draw < 0.3:
            items = [of("value") for _ in range(1 if self.risky else rng.randint(1, 4))]
            return Case(Node(None, f"SELECT %s, %s FROM {relation.sql}%s", number, List(items, least=1), few), make)
        if draw < 0.55:
            conditions = [of("truth") for _ in range(1 if self.risky else rng.choice([1, 1, 2]))]
            where = List(conditions, rng.choice([" AND ", " OR "]), rng.choice([" WHERE ", " WHERE ", " WHERE NOT (", " WHERE ("]))
            where.after = ")" if where.before.endswith("(") else ""
            where.least = 1
            return Case(Node(None, f"SELECT {rng.choice(['count(*)', '%s', 'count(*), min(%s)', 'sum(%s)']).replace('%s', number.text)} FROM {relation.sql}%s", where), make)
        if draw < 0.7:
            make.loose = True
            tail = List([of("truth")], "", " HAVING bool_or(", ")") if rng.random() < 0.1 and not self.risky else List([])
            return Case(Node(None, f"SELECT %s, count(*) FROM {relation.sql}%s GROUP BY 1%s", of("value"), few, tail), make)
        if draw < 0.8:
            return Case(Node(None, f"SELECT %s, %s FROM {relation.sql}%s", number, of("rows"), few), make)
        self.world.aliases += 1
        alias = f"e{self.world.aliases}"
        items = rng.choice([f"count(*), count({alias}.v), min({alias}.v::text COLLATE \"C\")", f"{number.text}, {alias}.v", f"{alias}.v"])
        join = rng.choice([", ", " CROSS JOIN LATERAL "] + ([] if self.risky else [" LEFT JOIN LATERAL "]))
        return Case(Node(None, f"SELECT {items} FROM {relation.sql}{join}%s AS {alias}(v){' ON true' if 'LEFT' in join else ''}%s", of("rows"), few), make)

    def whole(self):
        """All of a row."""
        rng = self.rng
        relation, make = self.one()
        item = rng.choice(["*", f"{relation.alias}.*", relation.alias, f"to_jsonb({relation.alias})", f"{relation.alias}.doc", f"{relation.alias}.id",
                           f"({relation.alias}).doc -> 's', ({relation.alias}).i", f"ROW({relation.alias}.*) IS NULL, {relation.alias} IS NOT NULL", f"count(*) OVER (), {relation.alias}.id"])
        if relation.sql.split()[0] in ("t1", "t2", "p", "h") and rng.random() < 0.1:
            item += f", {relation.alias}.tableoid::regclass"
        return Case(Node(None, f"SELECT {item} FROM {relation.sql}%s", self.where(make)), make)

    def aggregates(self):
        relation, make = self.one()
        rng = self.rng
        if rng.random() < 0.08:
            return Case(Node(None, f"SELECT count(*) FROM {relation.sql}%s", self.where(make)), make)
        items = [make.aggregate() for _ in range(rng.randint(1, 4))]
        if rng.random() < 0.1:
            items.append(Node(None, "(sum(%s) + count(*)) / 2.0", make.value("int", 1)))
        elif rng.random() < 0.05:
            items.append(Node(None, rng.choice([f"count({relation.alias})", f"sum(hashtextextended({relation.alias}::text, 0))", f"max(({relation.alias}).tx COLLATE \"C\")"])))
        having = List([Node("bool", f"count(*) {rng.choice(['>', '<'])} {rng.choice([0, 5])}")], "", " HAVING ") if rng.random() < 0.1 else List([])
        return Case(Node(None, f"SELECT %s FROM {relation.sql}%s%s", List(items, least=1), self.where(make), having), make)

    def computed(self):
        """Expressions of all types, many at once, reduced to what vectors compute of them. Of those that may fail one: which error comes first is open."""
        relation, make = self.one()
        rng = self.rng
        items = [make.reduced() for _ in range(1 if self.risky else rng.randint(8, 14))]
        keys = [] if self.risky or rng.random() < 0.5 else [make.value(rng.choice(["text", "int", "bool", "date", "bigint"]), 1) for _ in range(rng.choice([1, 1, 2]))]
        grouping = List([Node(None, str(n + 1)) for n in range(len(keys))], ", ", " GROUP BY ")
        case = Case(Node(None, f"SELECT %s FROM {relation.sql}%s%s", List(keys + items, least=len(keys) + 1), self.where(make), grouping), make)
        case.expressions = len(keys + items)
        return case

    def grouped(self):
        relation, make = self.one()
        return self.group(make, relation.sql, self.where(make))

    def group(self, make, source, where):
        rng = self.rng
        keys = [make.key() for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        items = [make.aggregate() for _ in range(rng.randint(0, 3))]
        having = List([], " AND ", " HAVING ")
        if rng.random() < 0.2:
            having.kids.append(rng.choice([
                lambda: Node("bool", f"count(*) {rng.choice(['>', '=', '<='])} {rng.randint(1, 30)}"),
                lambda: Node("bool", "%s IS NOT NULL", rng.choice(keys)),
                lambda: Node("bool", "max(%s) > %s", make.value("int", 1), make.literal("int")),
                lambda: Node("bool", "bool_or(%s)", make.condition(1)),
                self.comparison_of_aggregate(make), self.comparison_of_aggregate(make),
            ])())
            if rng.random() < 0.4:
                having.kids.append(self.comparison_of_aggregate(make)())
        if rng.random() < 0.5:
            grouping = [Node(None, str(number + 1)) for number in range(len(keys))]
        else:
            grouping = keys
        tail, ordered = Node(None, ""), False
        if rng.random() < 0.3:
            # Groups are unique by their keys; keys that are equal but look different may swap.
            positions = list(range(1, len(keys) + 1))
            rng.shuffle(positions)
            first = [Node(None, rng.choice(["count(*) DESC", "count(*)", f"{len(keys) + 1} DESC" if items and items[0].type in ("bigint", "numeric", "int") else "count(*)"]))] \
                if rng.random() < 0.6 else []
            order = first + [Node(None, f"{p}{self.direction()}") for p in positions]
            # With sorted groups, a limit ends what could still fail.
            limit = self.limit() if rng.random() < 0.7 and not self.risky else List([])
            tail = Node(None, "%s%s", List(order, ", ", " ORDER BY ", least=len(order)), limit)
            ordered = True
        node = Node(None, f"SELECT %s FROM {source}%s GROUP BY %s%s%s", List(keys + items, least=1), where, List(list(grouping), least=1), having, tail)
        return Case(node, make, ordered)

    def comparison_of_aggregate(self, make):
        rng = self.rng
        type_ = rng.choice(["int", "bigint", "numeric", "numeric", "date", "timestamp", "float8"])
        aggregate = rng.choice(["min", "max"] if type_ in ("date", "timestamp") else ["min", "max", "sum", "sum", "avg"])
        operator = rng.choice([">", ">=", "<", "<=", "=", "<>"])
        return lambda: Node("bool", f"{aggregate}(%s) {operator} %s", make.value(type_, 1), make.literal(type_))

    def grouping_sets(self):
        relation, make = self.one()
        rng = self.rng
        keys = [make.key() for _ in range(rng.choice([2, 2, 3]))]
        listed = List(keys, least=1)
        by = rng.choice([
            lambda: Node(None, "ROLLUP (%s)", listed), lambda: Node(None, "CUBE (%s)", listed),
            lambda: Node(None, "GROUPING SETS ((%s), (%s), ())", listed, keys[0]), lambda: Node(None, "GROUPING SETS ((%s), (%s))", keys[0], keys[1]),
            lambda: Node(None, "GROUPING SETS ((%s), (%s), (%s), ())", keys[0], listed, keys[0]), lambda: Node(None, "%s, CUBE (%s)", keys[0], listed)])()
        if "GROUPING SETS ((%s), (%s))" == by.text:
            keys = keys[:2]
            listed = List(keys, least=1)
        items = [make.aggregate() for _ in range(rng.randint(0, 2))]
        items += [Node("int", "GROUPING(%s)", key) for key in rng.choice([[keys[0]], [keys[0], listed], [listed], []])]
        having = List([], " AND ", " HAVING ")
        if rng.random() < 0.3:
            having.kids.append(rng.choice([
                lambda: Node("bool", f"GROUPING(%s) {rng.choice(['=', '<>'])} 0", rng.choice(keys)),
                lambda: Node("bool", "%s IS NULL", rng.choice(keys)),
                lambda: Node("bool", f"count(*) > {rng.randint(0, 20)}"), self.comparison_of_aggregate(make),
            ])())
        return Case(Node(None, f"SELECT %s FROM {relation.sql}%s GROUP BY %s%s", List(keys + items, least=1), self.where(make), by, having), make)

    def element(self, make):
        """(FROM item, its scope): the elements or fields of something in a document."""
        rng = self.rng
        draw = rng.random()
        self.world.aliases += 1
        alias = f"e{self.world.aliases}"
        if draw < 0.7:
            found = make.path({ARR})
            if not found:
                return None
            node = make.json_at(found[0], found[1].steps)
            if self.rng.random() < 0.05:
                node = Node("jsonb", "COALESCE(%s, '[]')", node)
            text = rng.random() < 0.4
            below = found[1].elements()
            ordinality = rng.random() < 0.4
            source = Node(None, f"jsonb_array_elements{'_text' if text else ''}(%s){' WITH ORDINALITY' if ordinality else ''} AS {alias}(v{', o' if ordinality else ''})", node)
            scope = Scope([] if text else [(f"{alias}.v", below)] * 3, [(f"{alias}.v", "text" if text else "jsonb")] * 3, make.scope.keys + [f"{alias}.o"] if ordinality else [])
            if ordinality:
                scope.columns.append((f"{alias}.o", "bigint"))
            return source, scope
        if draw < 0.9:
            found = make.path({OBJ})
            if not found:
                return None
            text = rng.random() < 0.4
            source = Node(None, f"jsonb_each{'_text' if text else ''}(%s) AS {alias}(k, v)", make.json_at(found[0], found[1].steps))
            return source, Scope([] if text else [(f"{alias}.v", found[1].values())], [(f"{alias}.k", "text"), (f"{alias}.v", "text" if text else "jsonb")], make.scope.keys + [f"{alias}.k"])
        if draw < 0.95:
            found = make.path({OBJ})
            if not found:
                return None
            return Node(None, f"jsonb_object_keys(%s) AS {alias}(k)", make.json_at(found[0], found[1].steps)), Scope([], [(f"{alias}.k", "text")] * 3, make.scope.keys + [f"{alias}.k"])
        if draw < 0.98 and (found := make.path({ARR})) and all(t.element and set(t.element.kinds) == {OBJ} for t in found[1].types):
            keys = sorted({k for t in found[1].types for k in t.element.fields})[:3]
            columns = ", ".join(f'"{k}" {t}'.replace("%", "%%") for k, t in zip(keys, ["text", "jsonb", "text"]) if '"' not in k and k and len(k) < 60)
            if columns and not self.risky:
                first = columns.split('"')[1]
                return Node(None, f"jsonb_to_recordset(%s) AS {alias}({columns})", make.json_at(found[0], found[1].steps)), Scope([], [(f'{alias}."{first}"', "text")], [])
        base = rng.choice(make.scope.documents)[0]
        return Node(None, f"jsonb_path_query(%s, %s) AS {alias}(v)", Node("jsonb", base), make.jsonpath()), Scope([], [(f"{alias}.v", "jsonb")], [])

    def unnested(self):
        """Elements in FROM: comma, CROSS JOIN LATERAL, LEFT JOIN LATERAL; sometimes elements of elements."""
        rng = self.rng
        relation, make = self.one()
        found = self.element(make)
        if not found:
            return self.rows()
        item, scope = found
        join = rng.choice([", ", " CROSS JOIN LATERAL ", " CROSS JOIN ", " LEFT JOIN LATERAL "])
        on = Node("bool", "true")
        if rng.random() < 0.5:
            on = Expressions(rng, Scope(relation.scope.documents) + scope, self.risky, self.world).condition(1)
        source = Node(None, f"{relation.sql}{join}%s ON %s", item, on) if "LEFT" in join else Node(None, f"{relation.sql}{join}%s", item)
        scopes = scope + Scope(relation.scope.documents, relation.scope.columns[:6])
        scopes.keys = scope.keys
        if rng.random() < 0.4 and scope.documents and not self.risky:
            below = Expressions(rng, Scope(scope.documents, [], scope.keys), False, self.world)
            again = self.element(below)
            if again:
                source = Node(None, "%s, %s", source, again[0])
                keys = again[1].keys if scope.keys else []
                scopes = again[1] + scopes
                scopes.keys = keys
        elements = Expressions(rng, scopes, self.risky, self.world)
        where = self.where(elements)
        draw = rng.random()
        if draw < 0.35:
            case = self.group(elements, "%s", where)
            case.node.kids.insert(1, source)
            return case
        if draw < 0.65:
            items = [elements.aggregate() for _ in range(rng.randint(1, 3))]
            return Case(Node(None, "SELECT %s FROM %s%s", List(items, least=1), source, where), elements)
        items = self.items(elements)
        tail, ordered = self.ordered(elements, items)
        return Case(Node(None, "SELECT %s FROM %s%s%s", List(items, least=1), source, where, tail), elements, ordered)

    def call(self, make, depth=1):
        """A set-returning function of something in a document, as it may stand in a select list; (SQL, the documents it gives) or None."""
        rng = self.rng
        found = make.path({ARR} if rng.random() < 0.8 else {OBJ})
        if not found:
            return None
        argument = make.json_at(found[0], found[1].steps).sql()
        if not found[1].kinds & {ARR}:
            name = rng.choice(["jsonb_object_keys(%s)", "jsonb_each_text(%s)", "jsonb_each(%s)", "(jsonb_each(%s)).key", "(jsonb_each_text(%s)).value", "(jsonb_each(%s)).value"])
            return name.replace("%s", argument), found[1].values() if name == "(jsonb_each(%s)).value" else None
        if rng.random() < 0.35:
            return f"jsonb_array_elements_text({argument})", None
        call, elements = f"jsonb_array_elements({argument})", found[1].elements()
        if depth and rng.random() < 0.3:
            return self.call(Expressions(rng, Scope([(call, elements)]), self.risky, self.world), depth - 1) or (call, elements)
        return call, elements

    def called(self, call):
        """The call, or something in what it returns."""
        rng = self.rng
        sql, below = call
        if below and rng.random() < 0.6:
            field = Expressions(rng, Scope([(sql, below)]), self.risky, self.world).field(rng.choice(["jsonb", "text", "text", "int", "numeric"]))
            if field and not field[0].text.startswith("CASE"):
                return field[0]
        return Node(None, sql)

    def srf(self):
        """Set-returning functions in the select list: of elements of elements, side by side, beside other things; grouped, sorted, in subqueries."""
        rng = self.rng
        relation, make = self.one()
        call = self.call(make)
        if not call:
            return self.rows()
        items = [self.called(call)]
        for _ in range(rng.choice([0, 0, 1, 2])):
            items.append(rng.choice([lambda: make.simple(rng.choice(TYPES)), lambda: Node(None, relation.scope.keys[0]) if relation.scope.keys else Node(None, "1"),
                                     lambda: self.called(call), lambda: self.called(self.call(make) or call)])())
        rng.shuffle(items)
        where, draw = self.where(make), rng.random()
        every = Node(None, ", ".join(str(n + 1) for n in range(len(items))))
        make.loose = draw < 0.75
        if draw < 0.25:
            if rng.random() < 0.2:
                items[0] = Node(None, "%s, %s", items[0], make.key())
                every.text += f", {len(items) + 1}"
            tail = List([every], "", " ORDER BY ") if rng.random() < 0.3 else List([])
            grouped = Node(None, f"SELECT %s, %s FROM {relation.sql}%s GROUP BY %s%s", List(items, least=len(items)), List([make.aggregate()], least=1), where, every, tail)
            return Case(grouped, make, bool(tail.kids))
        if draw < 0.35:
            return Case(Node(None, f"SELECT DISTINCT %s FROM {relation.sql}%s", List(items, least=1), where), make)
        if draw < 0.5:
            limit = self.limit() if rng.random() < 0.6 and not self.risky else List([])
            return Case(Node(None, f"SELECT %s FROM {relation.sql}%s ORDER BY %s%s", List(items, least=len(items)), where, every, limit), make, True)
        if draw < 0.6 and make.scope.keys and not self.risky:
            return Case(Node(None, f"SELECT %s FROM {relation.sql}%s ORDER BY {', '.join(make.scope.keys)}%s", List(items, least=1), where, self.limit()), make, True)
        node = Node(None, f"SELECT %s FROM {relation.sql}%s", Node(None, "%s AS x" + ", %s" * (len(items) - 1), *items), where)
        if draw < 0.75:
            node = Node(None, rng.choice(["SELECT x, count(*) FROM (%s) q GROUP BY x", "SELECT count(*), count(DISTINCT x) FROM (%s) q", "SELECT DISTINCT x FROM (%s) q",
                                          "SELECT x FROM (%s) q WHERE x IS NOT NULL", "WITH q AS (%s) SELECT x FROM q WHERE x IS NOT NULL"]), node)
        elif draw < 0.9 and call[1] and not self.risky:
            # Of the elements that a subquery gives, paths.
            above = Expressions(rng, Scope([("q.x", call[1])] * 3), False, self.world)
            above.loose = True
            beside = [Node(None, relation.scope.keys[0])] if relation.scope.keys and rng.random() < 0.5 else []
            inner = Node(None, f"SELECT %s AS x%s FROM {relation.sql}%s", Node(None, call[0]), List(beside, "", ", "), where)
            wanted = [above.value(rng.choice(TYPES), 1) for _ in range(rng.randint(1, 3))]
            source = rng.choice([("SELECT %s FROM (%s) q%s", False), ("SELECT %s FROM (%s) q%s GROUP BY 1", True)])
            wanted = wanted[:1] + [Node(None, "count(*)")] if source[1] else wanted
            return Case(Node(None, source[0], List(wanted, least=len(wanted)), inner, self.where(above)), above)
        return Case(node, make)

    def ties(self):
        """The first rows and those that are equal to the last of them; the first groups."""
        rng = self.rng
        relation, make = self.one()
        make.loose = True
        where, tail = self.where(make), f" FETCH FIRST {rng.choice([1, 5, 40])} ROWS WITH TIES"
        order = [make.value(rng.choice(["int", "text", "numeric", "timestamp", "bool", make.type("key", 1)]), 1) for _ in range(rng.choice([1, 1, 2]))]
        by = List([Node(None, f"%s{self.direction()}", key) for key in order], ", ", " ORDER BY ", tail, least=len(order))
        if rng.random() < 0.4:
            keys = List([make.key()], least=1)
            aggregate = make.aggregate() if rng.random() < 0.5 else Node("bigint", "count(*)")
            by = List([Node(None, rng.choice(["2 DESC", "2"]))] if aggregate.type in ("bigint", "int", "numeric") else [Node(None, "count(*)")], "", " ORDER BY ", tail, least=1)
            return Case(Node(None, f"SELECT %s, %s FROM {relation.sql}%s GROUP BY 1%s", keys, aggregate, where, by), make)
        return Case(Node(None, f"SELECT %s FROM {relation.sql}%s%s", List(self.items(make), least=1), where, by), make)

    def recursive(self):
        """Rows that refer to rows."""
        rng = self.rng
        first, first_make = self.one(small=True)
        table, make = self.one()
        make.adopt(first_make)
        step = List([Node("bool", f"{table.alias}.{rng.choice(['id', 'i'])} = c.i + 1"), Node("bool", "c.depth < 3"), make.condition(1)], " AND ", " WHERE ", least=2)
        text = Node(None, f"WITH RECURSIVE c(id, i, depth, x) AS (SELECT {first.alias}.id, {first.alias}.i, 0, %s FROM {first.sql}%s UNION SELECT {table.alias}.id, %s, c.depth + 1, %s "
                          f"FROM c, {table.sql}%s) SELECT depth, count(*), count(DISTINCT id), count(x), min(x COLLATE \"C\") FROM c GROUP BY 1",
                    first_make.value("text", 1), self.where(first_make, 1), make.value("int", 1), make.value("text", 1), step)
        return Case(text, make)

    def partitions_joined(self):
        """Two partitioned tables, or one with itself, by the key that they are partitioned by."""
        rng = self.rng
        names = [f"r{self.world.aliases + n}" for n in (1, 2)]
        self.world.aliases += 2
        left, right = (Relation("p", name, self.world.documents["p"], self.world.columns) for name in names)
        make = Expressions(rng, left.scope + right.scope, False, self.world)
        join = rng.choice(["JOIN", "LEFT JOIN", "FULL JOIN"])
        source = f"{left.sql} {join} {right.sql} ON {left.alias}.id = {right.alias}.id"
        if rng.random() < 0.5:
            return self.group(make, source, self.where(make))
        return Case(Node(None, f"SELECT %s FROM {source}%s", List([make.aggregate() for _ in range(2)], least=1), self.where(make)), make)

    def windows(self):
        rng = self.rng
        relation, make = self.one()
        order = ", ".join(make.scope.keys)
        items = [Node(None, relation.scope.keys[0])]
        for _ in range(rng.randint(1, 2)):
            by = List([make.key() for _ in range(rng.choice([0, 1, 1]))], ", ", "PARTITION BY ")
            value = make.value(rng.choice(["int", "numeric", "text", "timestamp"]), 1)
            total = List([make.value(rng.choice(["int", "text", "timestamp"]), 1)] if rng.random() < 0.5 else [], ", ", "", ", ")
            items.append(rng.choice([
                lambda by=by, total=total: Node(None, f"row_number() OVER (%s ORDER BY %s{order})", by, total),
                lambda by=by, total=total, value=value: Node(None, f"{rng.choice(['lag', 'lead', 'first_value', 'last_value'])}(%s) OVER (%s ORDER BY %s{order})", value, by, total),
                lambda by=by, value=value: Node(None, "rank() OVER (%s ORDER BY %s)", by, value),
                lambda by=by: Node(None, f"sum(%s) OVER (%s ORDER BY {order} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)", make.value("int", 1), by),
                lambda by=by: Node(None, "count(%s) OVER (%s)", make.value("jsonb", 1), by),
                lambda by=by: Node(None, "max(%s) OVER (%s)", make.value("date", 1), by),
                lambda by=by, value=value: Node(None, f"{rng.choice(['dense_rank', 'percent_rank', 'cume_dist'])}() OVER (%s ORDER BY %s)", by, value),
                lambda by=by: Node(None, f"count(*) OVER (%s ORDER BY %s {rng.choice(['RANGE BETWEEN 3 PRECEDING AND 2 FOLLOWING', 'GROUPS 1 PRECEDING'])})", by, make.value("int", 1)),
                lambda by=by: Node(None, f"nth_value(%s, 2) OVER (%s ORDER BY {order} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW)", make.value(make.type(), 1), by),
            ])())
        node = Node(None, f"SELECT %s FROM {relation.sql}%s", List(items, least=1), self.where(make))
        if rng.random() < 0.3 and len(items) == 2 and items[1].text.startswith("row_number"):
            node = Node(None, "SELECT * FROM (%s) w(id, n) WHERE n <= 3", node)
        return Case(node, make)

    def joined(self):
        rng = self.rng
        left, left_make = self.one(small=rng.random() < 0.6)
        right, right_make = self.one(small=True)
        both = Expressions(rng, left.scope + right.scope, self.risky, self.world)
        kind = rng.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        type_ = rng.choice(["int", "text", "text", "numeric", "date", "bigint", "jsonb", "timestamptz"])
        both.loose |= type_ in ("numeric", "jsonb")
        conditions = [Node("bool", "(%s = %s)", left_make.value(type_, 1), right_make.value(type_, 1))]
        if rng.random() < 0.3 or kind == "FULL JOIN":
            conditions = [Node("bool", f"({left.alias}.id = {right.alias}.id)")]
        if rng.random() < 0.3 and kind != "FULL JOIN":
            conditions.append(both.condition(1))
        source = Node(None, f"{left.sql} {kind} {right.sql} ON %s", List(conditions, " AND ", least=1))
        where = self.where(both)
        both.adopt(left_make)
        both.adopt(right_make)
        draw = rng.random()
        if draw < 0.35:
            node = Node(None, "SELECT %s FROM %s%s", List([both.aggregate() for _ in range(rng.randint(1, 3))], least=1), source, where)
            return Case(node, both)
        if draw < 0.6:
            case = self.group(both, "%s", where)
            case.node.kids.insert(1, source)
            return case
        items = self.items(both)
        order = self.order(both, items)
        items += [Node(None, f"{side.alias}.*") for side in (left, right) if side.sql.split()[0] in ("t1", "t2", "p", "h") and rng.random() < 0.3]
        node = Node(None, "SELECT %s FROM %s%s%s%s", List(items, least=1), source, where, List(order, ", ", " ORDER BY ", least=len(order)), self.limit())
        return Case(node, both, True)

    def several_joined(self):
        """A table and what has a match, or none, in others: by one column of theirs or two."""
        rng = self.rng
        table, make = self.one()
        source, where = List([Node(None, table.sql)], " ", least=1), self.where(make, 1)
        every = make
        for _ in range(rng.choice([1, 2, 2, 3])):
            other, other_make = self.one(small=True)
            keys = [rng.choice([("i", "i"), ("id", "id"), ("i", "id"), ("b", "i"), ("b", "b"), ("tx", "tx"), ("d", "d"), ("ts", "ts")]
                               + [(c, c) for c, t in self.world.columns.items() if t in OTHERS and "=" in OTHERS[t].traits]) for _ in range(rng.choice([1, 1, 2]))]
            conditions = [Node("bool", f"{table.alias}.{ours} = {other.alias}.{theirs}") for ours, theirs in keys]
            if rng.random() < 0.2:
                conditions[0] = Node("bool", "(%s = %s)", *(m.value("text", 1) for m in (make, other_make)))
            if rng.random() < 0.4:
                conditions.append(other_make.condition(1))
            if rng.random() < 0.25:
                conditions.append(Node("bool", f"{table.alias}.{rng.choice(['i', 'id', 'b'])} {rng.choice(['<', '<>', '>='])} {other.alias}.{rng.choice(['i', 'id', 'b'])}"))
            every.adopt(other_make)
            kind = rng.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "EXISTS", "EXISTS", "NOT EXISTS"])
            on = List(conditions, " AND ", least=1)
            if kind.endswith("EXISTS"):
                where.kids.append(Node("bool", f"{kind} (SELECT FROM {other.sql} WHERE %s)", on))
            else:
                source.kids.append(Node(None, f"{kind} {other.sql} ON %s", on))
        draw, others = rng.random(), [kid.text.split(" ON ")[0].split()[-1] for kid in source.kids[1:] if "RIGHT" not in kid.text]
        if draw < 0.3:
            items = [every.aggregate() for _ in range(rng.randint(1, 3))]
        elif draw < 0.7 and others:
            keys = [Node(None, f"{rng.choice(others + [table.alias])}.{column}") for column in rng.sample(["i", "b", "nu", "tx", "d"], rng.randint(1, 3))]
            items = keys + [every.aggregate() for _ in range(rng.randint(1, 3))]
            groups = Node(None, ", ".join(str(n + 1) for n in range(len(keys))))
            every.loose |= any(key.text.endswith(".nu") for key in keys)
            return Case(Node(None, "SELECT %s FROM %s%s GROUP BY %s", List(items, least=len(items)), source, where, groups), every)
        else:
            items = [Node(None, f"{table.alias}.{column}") for column in rng.sample(["id", "i", "b", "nu", "f", "tx", "d", "ts", "doc"], 3)]
        return Case(Node(None, "SELECT %s FROM %s%s", List(items, least=1), source, where), every)

    def combined(self):
        """UNION and the like."""
        rng = self.rng
        types = [rng.choice(["text", "int", "date", "numeric", "jsonb", "bool"]) for _ in range(rng.randint(1, 2))]
        parts, notes = [], None
        for _ in range(2):
            relation, make = self.one()
            items = List([make.value(t, 1) for t in types], least=len(types))
            parts.append(Node(None, f"SELECT %s FROM {relation.sql}%s", items, self.where(make)))
            if notes:
                make.adopt(notes)
            notes = make
        operator = rng.choice(["UNION", "UNION ALL", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL", "UNION ALL"])
        notes.loose = True
        node = Node(None, f"%s {operator} %s", *parts)
        if rng.random() < 0.3:
            node = Node(None, "SELECT count(*) FROM (%s) q", node)
        return Case(node, notes)

    def with_queries(self):
        """CTEs and subqueries in FROM."""
        rng = self.rng
        relation, make = self.one()
        types = [rng.choice(TYPES[:-1]) for _ in range(3)]
        names = ["c0", "c1", "c2"]
        items = [Node(None, f"%s AS {n}", make.value(t, 1)) for n, t in zip(names, types)]
        cut = List([Node(None, key) for key in make.scope.keys], ", ", " ORDER BY ", f" LIMIT {rng.choice([5, 50])}") if rng.random() < 0.25 else List([])
        inner = Node(None, f"SELECT %s FROM {relation.sql}%s%s", List(items, least=3), self.where(make), cut)
        scope = Scope([], [(f"c.{n}", t) for n, t in zip(names, types)])
        outer = Expressions(rng, scope, False)
        form = rng.choice(["WITH c AS %s(%%s) SELECT %%s FROM c%%s" % m for m in ("", "MATERIALIZED ", "NOT MATERIALIZED ")] + ["sub"])
        aggregate = List([outer.aggregate() for _ in range(2)], least=1)
        where = self.where(outer, 1)
        outer.adopt(make)
        if form == "sub":
            return Case(Node(None, "SELECT %s FROM (%s) c%s", aggregate, inner, where), outer)
        return Case(Node(None, form, inner, aggregate, where), outer)

    def distinct_on(self):
        relation, make = self.one()
        key = make.key()
        items = [key] + self.items(make, 3)
        order = List([Node(None, "%s", key)] + [Node(None, k + self.rng.choice(["", " DESC"])) for k in make.scope.keys], ", ", " ORDER BY ", least=2)
        return Case(Node(None, f"SELECT DISTINCT ON (%s) %s FROM {relation.sql}%s%s", key, List(items, least=1), self.where(make), order), make)

    def per_row(self):
        """Subqueries in the select list, and LATERAL ones."""
        rng = self.rng
        relation, make = self.one(small=True)
        inner = self.world.relation(rng, small=True)
        inside = Expressions(rng, inner.scope + Scope(relation.scope.documents), False, None)
        mine = Expressions(rng, inner.scope, False, None)
        type_ = rng.choice(["int", "text"])
        match = Node("bool", "(%s = %s)", mine.value(type_, 1), make.value(type_, 1))
        where = List([match] + ([inside.condition(1)] if rng.random() < 0.4 else []), " AND ", " WHERE ")
        aggregate = mine.aggregate()
        make.adopt(mine)
        if rng.random() < 0.5:
            return Case(Node(None, f"SELECT {relation.alias}.id, (SELECT %s FROM {inner.sql}%s) FROM {relation.sql}%s", aggregate, where, self.where(make, 1)), make)
        item = mine.simple(rng.choice(["text", "jsonb", "numeric"]))
        join, on = rng.choice([("CROSS JOIN", ""), ("LEFT JOIN", " ON true")])
        return Case(Node(None, f"SELECT {relation.alias}.id, l.* FROM {relation.sql} {join} LATERAL (SELECT {inner.alias}.id AS other, %s AS x FROM {inner.sql}%s "
                              f"ORDER BY 1 LIMIT 2) l{on}", item, where), make)

    def change(self):
        """UPDATE or DELETE by conditions on paths, and what it left."""
        rng = self.rng
        table = rng.choice(["t1", "t1", "t2", "p", "h", "v"])
        relation = Relation(table, table, self.world.documents[table], self.world.columns)
        make = Expressions(rng, relation.scope, self.risky, self.world)
        where = List([make.condition() for _ in range(rng.choice([1, 1, 2]))], " AND ", " WHERE ")
        returning = List(self.items(make, 2) if rng.random() < 0.6 else [], ", ", " RETURNING ")
        # Which rows a condition meets above a join, the plan decides.
        draw = rng.choice([0, 0.5]) if self.risky else rng.random()
        if draw < 0.35:
            node = Node(None, f"DELETE FROM {table}%s%s", where, returning)
        elif draw < 0.42:
            other = self.world.relation(rng, small=True)
            matched = Node("bool", f"({table}.id = {other.alias}.id)")
            node = Node(None, f"DELETE FROM {table} USING {other.sql}%s%s", List([matched] + where.kids, " AND ", " WHERE ", least=1), returning)
        elif draw < 0.75:
            column = rng.choice([("i", "int"), ("tx", "text"), ("nu", "numeric"), ("bo", "bool"), ("ts", "timestamp"), ("doc", "jsonb")]
                                + [(c, t) for c, t in self.world.columns.items() if t in OTHERS])
            node = Node(None, f"UPDATE {table} SET {column[0]} = %s%s%s", make.value(column[1], 1), where, returning)
        elif draw < 0.85:
            # Of documents that are objects, one field; or columns from a row of another table.
            other = self.world.relation(rng, small=True)
            key = rng.choice(["n", "fresh", "objs", "o"])
            where.kids.append(Node("bool", "(jsonb_typeof(doc) = 'object')"))
            where.least = len(where.kids)
            item = make.simple("jsonb")
            form = rng.choice([f"doc['{key}'] = %s", f"doc = jsonb_set(doc, '{{{key}}}', COALESCE(%s, '1'))", f"doc = jsonb_set_lax(doc, '{{{key}}}', %s)",
                               f"doc = doc - '{key}' || jsonb_build_object('{key}', %s)", f"(i, extra) = (SELECT max({other.alias}.i), %s FROM {other.sql} WHERE {other.alias}.i = {table}.i)"])
            node = Node(None, f"UPDATE {table} SET {form}%s%s", Node("jsonb", f"to_jsonb(max({other.alias}.b))") if "max(" in form else item, where, returning)
        elif draw < 0.9 and table in ("t1", "t2"):
            source = self.world.relation(rng, small=True)
            target = rng.choice(["", *self.world.unique[table]])
            action = "DO UPDATE SET tx = concat(excluded.tx, %s), i = excluded.i WHERE %s" if target else "DO NOTHING"
            node = Node(None, f"INSERT INTO {table} (id, i, tx, doc) SELECT id + {rng.choice([0, 0, 300])}, i, 'new', doc FROM {source.sql} ON CONFLICT {target} {action}%s",
                        *([make.value("text", 1), where.kids[0]] if target else []), returning)
        elif draw < 0.91 and table != "v":
            other = self.world.relation(rng, small=True)
            matched = Node("bool", f"({table}.id = {other.alias}.id)")
            node = Node(None, f"SELECT {table}.id, %s FROM {table} JOIN {other.sql} ON %s%s FOR UPDATE OF {table}", make.value("text", 1), matched, where)
            returning = List([])
        elif draw < 0.93 and table not in ("v", "p"):
            source, from_make = self.one()
            chosen = List([from_make.condition(1)], " AND ", " WHERE ")
            node = Node(None, f"INSERT INTO {table} (id, i, tx, doc) SELECT {source.alias}.id + 3000000, %s, %s, {source.alias}.doc FROM {source.sql}%s",
                        from_make.value("int", 1), from_make.value("text", 1), chosen)
            make.adopt(from_make)
        elif draw < 0.96 and table not in ("v", "p", "h"):
            other = self.world.relation(rng, small=True)
            node = Node(None, f"MERGE INTO {table} USING {other.sql} ON {table}.id = {other.alias}.id WHEN MATCHED AND %s THEN DELETE WHEN MATCHED THEN UPDATE SET tx = %s",
                        where.kids[0], make.value("text", 1))
        else:
            other = self.world.relation(rng, small=True)
            matched = Node("bool", f"({table}.id = {other.alias}.id)")
            node = Node(None, f"UPDATE {table} SET i = {table}.i + 1 FROM {other.sql}%s%s", List([matched] + where.kids, " AND ", " WHERE ", least=1), returning)
        if returning.kids and rng.random() < 0.15:
            node = Node(None, "WITH changed AS (%s) SELECT count(*), sum(hashtextextended(changed::text, 0)) FROM changed", node)
            returning.least = 1
        case = Case(node, make, kind="change")
        if table in ("t1", "t2") and rng.random() < 0.1:
            # Through a cursor on one row.
            case.node = Node(None, f"UPDATE {table} SET i = %s WHERE CURRENT OF c%s", make.value("int", 1), returning)
            case.before = f"DECLARE c CURSOR FOR SELECT * FROM {table} WHERE id = {rng.randint(1, 200)}{rng.choice(['', ' FOR UPDATE'])}"
        case.digest = table if table != "v" else "t1"
        return case
