"""What the constants of the cost model are on this machine: work of our nodes, in units of the same work on heap, of the same run.

cpu_tuple_cost is what a sequential scan of heap takes for a row of which nothing is read, cpu_operator_cost what a comparison of two integers
takes there: PostgreSQL's defaults say that one is four of the other, machines say something else. Times are those of EXPLAIN (ANALYZE, TIMING
OFF), the best of several, in one process, with decoded columns in memory."""

import argparse
import re
import sys
import time

import psycopg

from bench.numbers import machine

NAMES = ("a", "b", "c", "d", "e")
KEYS = ("k", "l", "m")
NUMERICS = ("x", "y", "z")
RULES = {"FETCH_LEAVES", "GROUP_BYTES", "KEPT_BYTES", "IN_EACH_PROCESS", "MOST_PASSES"}


class Bench:
    def __init__(self, options):
        self.options = options
        self.session = psycopg.connect(options.dsn, autocommit=True)
        self.rows = options.rows
        self.documents = options.rows // 10

    def run(self, statement):
        return self.session.execute(statement)

    def explain(self, query, options=""):
        (found,) = self.run(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON{options}) {query}").fetchone()
        return found[0]

    def check(self, query, nodes):
        """The plan has to be the one that is measured."""
        plan, found = self.explain(query)["Plan"], []
        while plan:
            found.append(plan.get("Custom Plan Provider", plan["Node Type"]))
            plan = plan.get("Plans", [None])[0]
        if found[: len(nodes)] != nodes:
            sys.exit(f"another plan than {nodes}: {found}: {query}")

    def time(self, query, *nodes):
        """Nanoseconds, the least of several runs."""
        self.check(query, list(nodes))
        return min(self.explain(query)["Execution Time"] for _ in range(self.options.repeat)) * 1e6

    def slope(self, query, steps, *nodes):
        """Nanoseconds of each further step of a query that has 1 to n of something, by least squares, and of none."""
        points = [(n, self.time(query(n), *nodes)) for n in steps]
        mean_n, mean_t = (sum(p[i] for p in points) / len(points) for i in (0, 1))
        slope = sum((n - mean_n) * (t - mean_t) for n, t in points) / sum((n - mean_n) ** 2 for n, _ in points)
        return slope, mean_t - slope * mean_n

    def cold(self, query):
        """What a session without caches does."""
        with psycopg.connect(self.options.dsn, autocommit=True) as session:
            session.execute("SET max_parallel_workers_per_gather = 0")
            session.execute("SET amax.shared_cache = 0")
            (found,) = session.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {query}").fetchone()
        return found[0]

    def pages(self, query):
        """Pages that it reads."""
        plan = self.cold(query)["Plan"]
        return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


def prepare(bench):
    """Rows of integers, and documents of some twenty paths, in heap and amax."""
    run = bench.run
    run("CREATE EXTENSION IF NOT EXISTS amax")
    run("SET max_parallel_workers_per_gather = 0")
    columns = ", ".join(f"abs(hashint4(i * 10 + {n})) % 100000 * 2 AS {name}" for n, name in enumerate(NAMES))
    columns += "".join(f", abs(hashint4(i * 10 + {5 + n})) % {5 + n} AS {name}" for n, name in enumerate(KEYS))
    columns += ", 'kind ' || abs(hashint4(i)) % 20 AS t"
    fields = ", ".join(f"'f{n}', abs(hashint4(i * 20 + {n})) % 1000" for n in range(14))
    for system in ("heap", "amax"):
        run(f"DROP TABLE IF EXISTS costs_{system}, costs_documents_{system}")
        run(f"CREATE TABLE costs_{system} USING {system} AS SELECT i AS id, {columns} FROM generate_series(1, {bench.rows}) i")
        run(f"""CREATE TABLE costs_documents_{system} USING {system} AS
            SELECT i AS id, jsonb_build_object('name', 'name ' || i, 'kind', 'kind ' || i % 20, 'at', to_timestamp(1700000000 + i), {fields},
                'author', jsonb_build_object('login', 'user ' || i * 7919 % 5000, 'followers', i % 777),
                'items', (SELECT jsonb_agg(jsonb_build_object('n', i % 91 + j, 's', 'item ' || j)) FROM generate_series(1, 5) j)) AS doc
            FROM generate_series(1, {bench.documents}) i""")
        run(f"CREATE INDEX ON costs_documents_{system} (id)")
        # In no order that the rows have.
        run(f"CREATE INDEX ON costs_{system} (a)")
        run(f"CREATE INDEX ON costs_documents_{system} (hashint4(id))")
        for table in (f"costs_{system}", f"costs_documents_{system}"):
            run(f"VACUUM (ANALYZE) {table}")
    numerics = "".join(f", (abs(hashint4(i * 10 + {n})) % 1000000 / 100.0)::numeric(9,2) AS {name}" for n, name in enumerate(NUMERICS))
    run("DROP TABLE IF EXISTS costs_numerics")
    run(f"CREATE TABLE costs_numerics USING amax AS SELECT abs(hashint4(i * 10)) % 100000 * 2 AS a{numerics} FROM generate_series(1, {bench.rows}) i")
    run("CREATE INDEX ON costs_numerics (a)")
    run("VACUUM (ANALYZE) costs_numerics")
    for table, rows in (("costs_amax", bench.rows), ("costs_numerics", bench.rows), ("costs_documents_amax", bench.documents)):
        (columnar,) = run(f"SELECT sum(rows) FROM amax.components('{table}')").fetchone()
        if columnar is None or columnar < 0.9 * rows:
            sys.exit(f"{table}: {columnar} of {rows} rows are columnar")


def always(n):
    """n conditions that are true of every row, as numbers are even; no bounds and no dictionary say so."""
    return " AND ".join(f"{NAMES[i]} <> {2 * i + 1}" for i in range(n))


def heap(bench):
    """Nanoseconds of cpu_tuple_cost and cpu_operator_cost."""
    rows = bench.rows
    tuple_ = bench.time("SELECT FROM costs_heap", "Seq Scan") / rows
    operator, _ = bench.slope(lambda n: f"SELECT FROM costs_heap WHERE {always(n)}", range(1, 6), "Seq Scan")
    return tuple_, operator / rows


def measure(bench, tuple_, operator):
    """Each constant, with the query that says what was done."""
    rows, documents = bench.rows, bench.documents
    scan, aggregate = "AmaxScan", "AmaxAggregate"

    def none(n):
        return f"SELECT FROM costs_amax WHERE {always(n)} AND a + b = 1"

    slope, _ = bench.slope(none, range(1, 6), scan)
    yield "CONDITION", slope / rows / operator, "five conditions less one, on vectors"

    # Names are distinct. All rows pass, and are counted.
    def of_documents(condition):
        return bench.time(f"SELECT count(*) FROM costs_documents_amax WHERE {condition}", aggregate, scan) / documents / operator

    name = "doc->>'name'"
    known = of_documents("(doc->>'f1')::int <> -1")
    yield "OF_TEXT", of_documents(f"{name} <> 'none'") - known, "comparing names, less comparing numbers"
    yield "OF_TEXT", of_documents(f"length({name}) <> 0") - known, "lengths of names, likewise"
    yield "OF_TEXT", of_documents(f"{name} NOT LIKE '%none%'") - known, "searching names, likewise"
    # PostgreSQL counts eight operators, two for a cast; and of two values each is another.
    by_row = of_documents("(doc->>'f1')::int # (doc->>'f2')::int <> -1") - known
    yield "BY_ROW", by_row - 10, "an operator of two numbers that vectors have not, less a condition, what PostgreSQL says, and its values"
    bench.run("CREATE TEMP TABLE costs_odd USING heap AS SELECT 2 * i + 1 AS odd FROM generate_series(1, 50000, 50) i; ANALYZE costs_odd")
    dropped = bench.time("SELECT FROM costs_amax JOIN costs_odd ON a = odd", "Hash Join", scan)
    yield "JOIN_FILTER", (dropped - slope) / rows / operator, "rows without a match in a hash join, less a condition"

    whole = bench.time("SELECT FROM costs_amax", scan)
    yield "ROW", whole / rows / tuple_, "SELECT FROM: rows without columns"
    slope, _ = bench.slope(lambda n: f"SELECT {', '.join(NAMES[:n])} FROM costs_amax", range(1, 6), scan)
    yield "COLUMN_VALUE", slope / rows / operator, "five columns less one"
    of_rows = bench.time("SELECT FROM costs_documents_amax", scan)
    of_documents = bench.time("SELECT doc FROM costs_documents_amax", scan)
    yield "DOCUMENT", (of_documents - of_rows) / documents / tuple_, "documents of 34 values less rows without columns"
    elements = documents * 5
    unnested = bench.time("SELECT e->>'n' FROM costs_documents_amax, jsonb_array_elements(doc->'items') e", "AmaxUnnest")
    yield "ELEMENT", (unnested - of_rows) / elements / tuple_, "elements of arrays less rows without columns"

    others = "SELECT doc FROM costs_documents_amax", "SELECT e->>'n' FROM costs_documents_amax, jsonb_array_elements(doc->'items') e"
    bench.run("SET amax.custom_scan = off")
    others = [bench.time(query) for query in others]
    bench.run("RESET amax.custom_scan")
    yield "AT_MOST", of_documents / others[0], "documents, to the same by PostgreSQL's nodes on amax"
    yield "AT_MOST", unnested / others[1], "elements, to the same"

    def sums(n):
        return "SELECT " + ", ".join(f"sum({name})" for name in NAMES[:n]) + " FROM costs_amax"

    slope, base = bench.slope(sums, range(1, 6), aggregate, scan)
    yield "AGGREGATED", slope / rows / operator, "five sums less one"
    handed = bench.time("SELECT a FROM costs_amax", scan)
    yield "NOT_HANDED_UP", max(base, 0) / handed, "no sum, to one column handed up"
    cold = [min(bench.cold(query)["Execution Time"] for _ in range(bench.options.repeat)) for query in (sums(1), "SELECT a FROM costs_amax")]
    yield "NOT_HANDED_UP", cold[0] / cold[1], "one sum, to one column handed up, by a session that has to decode it first"
    path = "doc->>'name'"
    cold = [min(bench.cold(f"SELECT {what} FROM costs_documents_amax")["Execution Time"] for _ in range(bench.options.repeat)) for what in (f"count({path})", path)]
    yield "NOT_HANDED_UP", cold[0] / cold[1], "the same of a path of documents"
    key, _ = bench.slope(lambda n: f"SELECT count(*) FROM costs_amax GROUP BY {', '.join(KEYS[:n])}", range(1, 4), aggregate, scan)
    yield "AGGREGATED", key / rows / operator, "three integer keys less one, few groups"
    text = bench.time("SELECT count(*) FROM costs_amax GROUP BY t", aggregate, scan) - bench.time("SELECT count(*) FROM costs_amax", aggregate, scan)
    yield "AGGREGATED", text / rows / operator, "one text key less none, few groups"
    bench.run("SET work_mem = '1GB'")
    few = bench.time("SELECT id % 10, count(*) FROM costs_amax GROUP BY 1", aggregate, scan)
    many = bench.time("SELECT id, count(*) FROM costs_amax GROUP BY 1", aggregate, scan)

    def counts(n):
        return "SELECT id, count(*)" + "".join(f", max({name})" for name in NAMES[: n - 1]) + " FROM costs_amax GROUP BY 1"

    value, _ = bench.slope(counts, range(1, 6), aggregate, scan)
    one = value / rows / operator
    yield "GROUP_VALUE", one, "groups of one row with five results less one"
    yield "GROUP", max((many - few) / rows - 2 * one * operator, 0) / tuple_, "as many groups as rows, less few groups and two values each"

    # One worker reads all and sends all groups. It is planned for the leader and a worker, and as if sending cost nothing, as else no such plan would be
    # chosen.
    for setting in ("max_parallel_workers_per_gather = 1", "parallel_setup_cost = 0", "min_parallel_table_scan_size = 0",
                    "amax.exchange_threshold = '1GB'", "plan_cache_mode = force_generic_plan", "cpu_operator_cost = 0"):
        bench.run(f"SET {setting}")
    parts = ["AmaxAggregate", "Gather", "AmaxAggregate", "AmaxScan"]
    for name, key in (("few", "id % 10"), ("many", "id")):
        bench.run(f"PREPARE {name} AS SELECT {key}, count(*) FROM costs_amax GROUP BY 1")
        bench.run(f"EXPLAIN EXECUTE {name}")
    bench.run("RESET cpu_operator_cost")
    bench.run("SET parallel_leader_participation = off")
    more = bench.time("EXECUTE many", *parts) - bench.time("EXECUTE few", *parts)
    yield "GROUP_SENT", (more - (many - few)) / rows / 2 / operator, "one worker that sends as many groups as rows, less them in one process; half of it"
    bench.run("SET max_parallel_workers_per_gather = 0")
    bench.run("RESET work_mem")

    bench.run("SET enable_seqscan = off")
    bench.run("SET enable_bitmapscan = off")
    few = "a < 4000"
    ((fetched_rows,),) = bench.run(f"SELECT count(*) FROM costs_heap WHERE {few}").fetchall()
    found = [bench.time(f"SELECT a FROM costs_{system} WHERE {few}", "Index Only Scan") for system in ("amax", "heap")]
    yield "FETCH_ROW", (found[0] - found[1]) / fetched_rows / tuple_, "an index-only scan of scattered rows, less that on heap"

    def values(n):
        return f"SELECT {', '.join(NAMES[1 : n + 1])} FROM costs_amax WHERE {few}"

    def numerics(n):
        return f"SELECT {', '.join(NUMERICS[:n])} FROM costs_numerics WHERE {few}"

    slope, _ = bench.slope(values, range(1, 5), "AmaxFetch", "Index Scan")
    yield "FETCH_VALUE", slope / fetched_rows / tuple_, "four columns less one of scattered rows by an index"
    slope, _ = bench.slope(numerics, range(1, 4), "Index Scan")
    yield "FETCH_NUMERIC", slope / fetched_rows / tuple_, "three numerics less one, likewise"
    by_index = bench.time(values(4), "AmaxFetch", "Index Scan")
    scattered = "FROM costs_documents_amax WHERE hashint4(id) < -1900000000"
    ((fetched_rows,),) = bench.run(f"SELECT count(*) {scattered}").fetchall()
    bench.run("SET enable_indexonlyscan = off")
    found = [bench.time(f"SELECT {what} {scattered}", "Index Scan") for what in ("doc", "")]
    bench.run("RESET enable_indexonlyscan")
    yield "FETCH_DOCUMENT", (found[0] - found[1]) / fetched_rows / tuple_, "scattered documents of 34 values by an index, less rows without columns"
    bench.run("SET enable_bitmapscan = on")
    bench.run("SET enable_indexscan = off")
    yield "FETCH_IN_ORDER", bench.time(values(4), "AmaxFetch", "Bitmap Heap Scan") / by_index, "four columns of scattered rows by a bitmap, to the same by an index"
    for rows in (400, 4000):
        found = f"SELECT b FROM costs_heap WHERE a < {rows}"
        (((bitmap,),),) = bench.run(f"EXPLAIN (FORMAT JSON) {found}").fetchall()
        counted = bitmap["Plan"]["Total Cost"] - bitmap["Plan"]["Plans"][0]["Total Cost"]
        yield "FETCH_PAGES", bench.time(found, "Bitmap Heap Scan") / tuple_ * 0.01 / counted, f"heap's rows by a bitmap, where {rows:,} of 200,000 keys are wanted, to their cost"
    bench.run("RESET enable_indexscan")
    bench.run("SET enable_bitmapscan = off")
    wanted = f"SELECT doc->>'kind' FROM costs_documents_amax WHERE id BETWEEN 1 AND {documents // 4}"
    fetched = bench.time(wanted, "AmaxFetch")
    bench.run("SET amax.custom_scan = off")
    found = bench.time(wanted, "Index Scan")
    for setting in ("enable_seqscan", "enable_bitmapscan", "amax.custom_scan"):
        bench.run(f"RESET {setting}")
    yield "FETCH_SAVES", 1 - fetched / found, "a path by an index, to the same without fetch"

    # Bounds exclude all leaves: what is left is starting workers, and ending them.
    none = "SELECT b FROM costs_amax WHERE b < 0"
    alone = bench.time(none, scan)
    for setting in ("max_parallel_workers_per_gather = 2", "parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0"):
        bench.run(f"SET {setting}")
    shared = bench.time(none, "Gather", scan)
    for setting in ("max_parallel_workers_per_gather = 0", "parallel_setup_cost = DEFAULT", "parallel_tuple_cost = DEFAULT", "min_parallel_table_scan_size = DEFAULT"):
        bench.run(f"SET {setting}")
    # PostgreSQL's default is as much as so many rows.
    yield "WORKERS", (shared - alone) / tuple_ / (1000 / 0.01), "two workers that have nothing to do"

    (all_pages,) = bench.run("SELECT sum(pages)::int FROM amax.components('costs_documents_amax')").fetchone()
    nothing = bench.pages("SELECT count(*) FROM costs_documents_amax")
    paths = ["name", "kind", "at", "f0", "f7"]
    read = [bench.pages(f"SELECT count(doc->>'{path}') FROM costs_documents_amax") - nothing for path in paths]
    yield "COLUMN_PAGES", sum(read) / len(read) / all_pages, f"pages of a path, of {all_pages} of the components"


def constants(source):
    with open(source, encoding="utf-8") as text:
        return {name: float(value) for name, value in re.findall(r"pub const (\w+): f64 = ([\d.]+);", text.read())}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--source", required=True, help="costs.rs")
    parser.add_argument("--rows", type=int, default=1000000, help="rows of integers; documents are a tenth")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each query, of which the best counts")
    options = parser.parse_args()
    known = constants(options.source)
    started = time.monotonic()
    bench = Bench(options)
    prepare(bench)
    tuple_, operator = heap(bench)
    print(f"{machine()}; {options.rows:,} rows; heap: a row {tuple_:.1f} ns, an operator {operator:.2f} ns", file=sys.stderr)
    print("| constant | measured | in the source | measured / source | of what |\n|---|---:|---:|---:|---|")
    measured = {}
    # Where there are as many groups as rows PostgreSQL's node costs about the same.
    bench.run("SET enable_hashagg = off")
    for name, value, what in measure(bench, tuple_, operator):
        measured[name] = value
        print(f"| {name} | {value:.2f} | {known[name]:g} | {value / known[name]:.2f} | {what} |", flush=True)
    missing = sorted(known.keys() - measured.keys() - RULES)
    if missing:
        print(f"not measured: {', '.join(missing)}", file=sys.stderr)
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
