"""The functions of BigFUN, a benchmark of systems for large data: look-ups, ranges, quantifiers, aggregates, places, texts, joins and batches of changes, on
documents and on normalized tables, with keys only and with indexes on what is asked for; heap, amax and, where it has the words, DuckDB. Hot."""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import changes
import parameters
import report
from bench import queries
from bench.numbers import machine, plain
from bench.options import at_least, choices
from bench.plans import scans
from engines import AMS, HERE, TABLES, DuckDB, Postgres, load_source
from measure import differences, fastest
from social.files import write

USERS = 10_000
INDEXES = ("keys", "indexes")
DUCKDB = "duckdb"


class Run:
    """What is measured, and what went wrong."""

    def __init__(self, options):
        self.options = options
        self.engines = {am: Postgres(options, am) for am in AMS}
        self.figures, self.tables, self.failures = [], [], []

    def schema(self, schema):
        prepared = {am: engine.prepare(schema) for am, engine in self.engines.items()}
        duck = DuckDB(self.options, self.engines["heap"]) if schema == "normalized" and self.options.duckdb else None
        for indexes in INDEXES:
            if indexes == "indexes":
                prepared = {am: engine.add_indexes(schema) for am, engine in self.engines.items()}
            if indexes not in self.options.indexes:
                continue
            for am, engine in self.engines.items():
                table_bytes, index_bytes = engine.bytes(schema)
                self.tables.append(
                    {"schema": schema, "indexes": indexes, "system": am, "seconds": prepared[am], "bytes": table_bytes, "index bytes": index_bytes}
                )
            self.queries(schema, indexes, duck)
            if any(title.startswith(self.options.like) for title in ("U1", "U2")):
                for (title, size), ms in changes.measure(self.engines, schema, self.options).items():
                    self.keep(schema, indexes, title, size, ms)
            self.check(schema, indexes)

    def queries(self, schema, indexes, duck):
        for title, text in queries.read(HERE / "queries" / f"{schema}.sql").items():
            if not title.startswith(self.options.like) or not self.engines["heap"].has(title):
                continue
            for size in parameters.selectivities(title):
                values = parameters.draw(self.options.seed, title, size, self.options.users)
                clocks = {am: engine.clock for am, engine in self.engines.items()}
                statement = text.format(**values)
                runs = {am: lambda e=engine, s=statement: e.run(s).fetchall() for am, engine in self.engines.items()}
                if duck and duck.has(title):
                    clocks[DUCKDB] = duck.clock
                    runs[DUCKDB] = lambda s=duck.words.get(title, text).format(**values): duck.run(s).fetchall()
                ms, answers = fastest(runs, clocks, self.options.repeat, self.options.enough)
                self.failures += [f"{schema}, {indexes}, {title}, {size}: {difference}" for difference in differences(answers)]
                found = {am: scans(engine.session, statement) for am, engine in self.engines.items()}
                self.keep(schema, indexes, title, size, ms, len(answers["heap"]), found)

    def keep(self, schema, indexes, title, size, ms, rows=None, found=None):
        self.figures.append({"schema": schema, "indexes": indexes, "query": title, "size": size, "rows": rows, "ms": ms, "scans": found})
        print(f"{schema}, {indexes}, {title}, {size}: " + ", ".join(f"{name} {value:,.1f}" for name, value in ms.items()), file=sys.stderr)

    def check(self, schema, indexes):
        """After the changes the tables are still the same."""
        for table in TABLES[schema]:
            if len({engine.rows_of(table) for engine in self.engines.values()}) != 1:
                self.failures.append(f"{schema}, {indexes}: {table} has other rows")
        self.failures += [f"{schema}, {indexes}: {problem}" for problem in self.engines["amax"].problems(schema)]

    def drop(self):
        self.engines["heap"].run("DROP SCHEMA bigfun_source CASCADE")
        for engine in self.engines.values():
            engine.close()

    def between_schemas(self):
        """Both schemas have the same rows for a query."""
        counts = {}
        for figure in self.figures:
            counts.setdefault((figure["query"], figure["size"]), set()).add(figure["rows"])
        self.failures += [f"{title}, {size}: {sorted(found)} rows" for (title, size), found in counts.items() if len(found) > 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--scale", type=float, default=1, help=f"at 1 {USERS:,} users of Gleambook with 50,000 messages, 5,000 of Chirp with as many")
    parser.add_argument("--schemas", type=choices(list(TABLES)), default=list(TABLES), help=f"some of {','.join(TABLES)}")
    parser.add_argument("--indexes", type=choices(list(INDEXES)), default=list(INDEXES), help="keys only, or indexes on what is asked for as well")
    parser.add_argument("--like", default="", help="only queries whose titles begin so")
    parser.add_argument("--no-duckdb", dest="duckdb", action="store_false", help="only heap and amax")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=at_least(1), default=3, help="how often a query is run; the fastest counts")
    parser.add_argument("--enough", type=float, default=2, help="seconds from which on one run is enough")
    parser.add_argument("--workers", type=at_least(0), default=0, help="processes beside a query's own; DuckDB has one thread more")
    parser.add_argument("--processor", action="store_true", help="the time of the processor, not of the clock: where others use the machine, too")
    parser.add_argument("--processes", type=at_least(1), default=os.cpu_count(), help="that write documents")
    parser.add_argument("--keep", action="store_true", help="the tables stay")
    parser.add_argument("--out", type=Path, required=True, help="directory for the figures as JSON")
    options = parser.parse_args()
    options.users = max(100, round(USERS * options.scale))
    print(machine(), file=sys.stderr)
    run = Run(options)
    with tempfile.TemporaryDirectory() as directory:
        text = write(Path(directory), options.seed, options.users, options.processes)
        load_source(run.engines["heap"].session, Path(directory))
    for name in sorted(set(("pg_trgm", "fuzzystrmatch")) - run.engines["heap"].extensions):
        print(f"without {name}, which is not there", file=sys.stderr)
    for schema in options.schemas:
        run.schema(schema)
    run.between_schemas()
    print(report.markdown(text, run.tables, run.figures))
    for failure in run.failures:
        print(failure, file=sys.stderr)
    options.out.mkdir(parents=True, exist_ok=True)
    settings = {"scale": options.scale, "seed": options.seed, "repeat": options.repeat, "workers": options.workers, "processor": options.processor}
    (options.out / "bigfun.json").write_text(
        json.dumps(
            plain({"machine": machine(), "settings": settings, "text": text, "tables": run.tables, "figures": run.figures, "failures": run.failures}), indent=1
        )
    )
    if not options.keep:
        run.drop()
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
