"""The datasets, queries and look-ups of the AMAX paper's evaluation (§6), on heap and on amax: sizes, ingestion, with updates, and times of queries. Hot."""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import psycopg

import figures
import ingest
import lookups
import report
from bench import queries
from bench.clocks import clock
from bench.numbers import machine, plain
from bench.options import at_least, choices
from bench.plans import scans
from datasets import DATASETS
from datasets.files import write
from measure import SYSTEMS, fastest, same_rows

HERE = Path(__file__).parent
# The one that is changed while it comes, and looked up by times.
UPDATED = "tweet_2"
# Containers of other values are not paths that have values.
LEAVES = "SELECT count(*) FROM amax.schema('{table}') WHERE NOT types <@ '{{object,array,null}}'"


def connect(options, system):
    session = psycopg.connect(options.dsn, autocommit=True, prepare_threshold=None)
    session.execute("CREATE EXTENSION IF NOT EXISTS amax")
    session.execute(f"SET client_min_messages = warning; SET timezone = 'UTC'; SET jit = off; SET max_parallel_workers_per_gather = {options.workers}")
    session.execute(f"DROP SCHEMA IF EXISTS paper_{system} CASCADE; CREATE SCHEMA paper_{system}")
    session.execute(f"SET search_path = paper_{system}, public; SET default_table_access_method = {system}")
    return session


class Run:
    """What is measured, and what went wrong."""

    def __init__(self, options):
        self.options = options
        self.sessions = {system: connect(options, system) for system in SYSTEMS}
        self.clocks = {system: clock(session, options.processor) for system, session in self.sessions.items()}
        self.failures = []

    def documents(self, name):
        return max(1, round(DATASETS[name].documents * self.options.scale))

    def scanned(self, name, path):
        """Ingestion of a dataset without updates, and its queries."""
        found = {"documents": self.documents(name), "text": write(path, self.options.seed, name, self.documents(name), self.options.processes)}
        found |= {"copy": {}, "feed": {}}
        for system, session in self.sessions.items():
            found["copy"][system] = ingest.load(session, self.clocks[system], name, path)
            found["feed"][system] = ingest.feed(session, self.clocks[system], name, path, self.options.batch)
        self.check_rows(name, "doc")
        (found["paths"],) = self.sessions["amax"].execute(LEAVES.format(table=name)).fetchone()
        found["queries"] = {title: self.query(statement, f"{name}: {title}") for title, statement in queries.read(HERE / "queries" / f"{name}.sql").items()}
        return found

    def updated(self, path):
        """Ingestion with updates, and look-ups."""
        name, count = UPDATED, self.documents(UPDATED)
        # The file has a quarter more: those that come in place of others.
        found = {"documents": count, "text": write(path, self.options.seed, name, count + count // 4, self.options.processes)}
        found["updates"] = {
            system: ingest.feed_with_updates(session, self.clocks[system], name, path, self.options) for system, session in self.sessions.items()
        }
        self.check_rows(name, "id, doc")
        (found["paths"],) = self.sessions["amax"].execute(LEAVES.format(table=name)).fetchone()
        conditions = lookups.ranges(self.sessions["heap"], name)
        found["rows"] = {percent: rows for percent, (_, rows) in conditions.items()}
        found["lookups"] = {}
        for number, scan, by_selectivity in lookups.statements(self.options.seed, name, conditions):
            found["lookups"][number] = {"scan": self.query(scan, f"{name}: {number} columns")}
            for percent, statement in by_selectivity.items():
                found["lookups"][number][percent] = self.query(statement, f"{name}: {number} columns, {percent} %")
        return found

    def query(self, statement, title):
        best, same = fastest(self.sessions, self.clocks, statement, self.options.repeat)
        if not same:
            self.failures.append(f"{title}: the answers differ")
        return best | {
            "ratio": best["amax"] / best["heap"],
            "scans": {system: scans(session, statement) for system, session in self.sessions.items()},
            "statement": statement,
        }

    def check_rows(self, name, columns):
        if not same_rows(self.sessions, name, columns):
            self.failures.append(f"{name}: the tables have other rows")
        for (problem,) in self.sessions["amax"].execute("SELECT * FROM amax.verify(%s::regclass)", (name,)):
            self.failures.append(f"{name}: {problem}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--datasets", type=choices(list(DATASETS)), default=list(DATASETS), help=f"some of {','.join(DATASETS)}")
    parser.add_argument(
        "--scale", type=float, default=1, help="how many documents: at 1 " + ", ".join(f"{name} {dataset.documents:,}" for name, dataset in DATASETS.items())
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=at_least(1), default=100, help="documents of a transaction, where there are many")
    parser.add_argument("--repeat", type=at_least(1), default=3, help="how often a query is run; the fastest counts")
    parser.add_argument("--workers", type=at_least(0), default=0, help="processes beside a query's own")
    parser.add_argument("--processor", action="store_true", help="the time of the processor, not of the clock: where others use the machine, too")
    parser.add_argument("--processes", type=at_least(1), default=os.cpu_count(), help="that write documents")
    parser.add_argument("--keep", action="store_true", help="leave the tables there")
    parser.add_argument("--out", type=Path, required=True, help="directory for the figures as JSON")
    options = parser.parse_args()
    print(machine(), file=sys.stderr)
    run, found = Run(options), {}
    with tempfile.TemporaryDirectory() as directory:
        for name in options.datasets:
            print(f"{name}: {run.documents(name):,} documents", file=sys.stderr)
            path = Path(directory) / f"{name}.jsonl"
            found[name] = run.updated(path) if name == UPDATED else run.scanned(name, path)
            path.unlink()
    print(report.markdown(found, figures))
    for failure in run.failures:
        print(failure, file=sys.stderr)
    options.out.mkdir(parents=True, exist_ok=True)
    settings = {
        "scale": options.scale,
        "seed": options.seed,
        "batch": options.batch,
        "repeat": options.repeat,
        "workers": options.workers,
        "processor": options.processor,
    }
    (options.out / "amax.json").write_text(
        json.dumps(plain({"machine": machine(), "settings": settings, "datasets": found, "failures": run.failures}), indent=1)
    )
    for system, session in run.sessions.items():
        if not options.keep:
            session.execute(f"DROP SCHEMA paper_{system} CASCADE")
        session.close()
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
