"""Paths, names and options of a run."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from bench import samples
from bench.generator import PROJECT
from bench.options import at_least, choices, setting

HERE = Path(__file__).resolve().parent.parent
BUILD = PROJECT / "build" / "json"

SYSTEMS = ["heap", "amax", "amax_zstd", "duckdb", "clickhouse"]
# Partitioned tables are measured where they are asked for.
PARTITIONED = ["heap_10", "amax_10", "amax_32"]
DATA = ["events", "crates"]

# The first queries of each file are the shapes of public benchmarks, which the mean is over.
SHAPES = 5


@dataclass(frozen=True)
class Options:
    """The command line, parsed."""

    data: str
    events: int
    seed: int
    systems: list[str]
    queries: list[int] | None
    repeat: int
    workers: int
    dsn: str
    settings: dict[str, str]
    samples: Path
    generator: Path | None
    before_cold: str | None
    keep: bool
    reuse: bool
    out: Path

    @property
    def label(self) -> str:
        """Names the results."""
        size = f"-{self.events}" if self.data == "events" else ""
        return f"{self.data}{size}-w{self.workers}"


def _numbers(text: str) -> list[int]:
    numbers = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def parse(arguments: list[str] | None = None) -> Options:
    """Parses the command line; exits with status 2 if it is wrong."""
    parser = argparse.ArgumentParser(
        prog="benchmarks/json/run", description="Queries on JSON documents: PostgreSQL's heap, amax, DuckDB and ClickHouse side by side.",
        epilog="Exit status: 0 if all queries ran and all answers agree, 1 if not, 2 if it could not start.")
    add = parser.add_argument
    add("--data", choices=DATA, default="events", help="generated events (default), or the sample of crates")
    add("--events", type=at_least(1), default=1_000_000, help="how many events (default 1,000,000)")
    add("--seed", type=int, default=42, help="of the generator (default 42)")
    add("--systems", type=choices(SYSTEMS + PARTITIONED), default=SYSTEMS, help=f"default {','.join(SYSTEMS)}; also {','.join(PARTITIONED)}")
    add("--queries", type=_numbers, help=f"numbers of queries in the file, 1-{SHAPES} for the shapes only (default all)")
    add("--repeat", type=at_least(1), default=3, help="hot runs per query, of which the median counts (default 3)")
    add("--workers", type=at_least(0), default=0,
        help="max_parallel_workers_per_gather; the others get one thread more, as the leader works too (default 0)")
    add("--dsn", default="", help="libpq connection string of a server that has the extension (default: build, install and start"
                                  " a throwaway server)")
    add("--set", type=setting, action="append", default=[], metavar="NAME=VALUE", dest="settings",
        help="PostgreSQL setting of the sessions that load and query; may be given again")
    add("--samples", type=Path, default=samples.directory(),
        help="directory with crates*.jsonl.xz (default: $AMAX_DATA, else ../shared/data if it is there, else data)")
    add("--generator", type=Path, help="an amax-events binary; without it the run builds one with cargo")
    add("--before-cold", metavar="COMMAND",
        help="shell command run before every cold run, to restart the server or drop the system's cache for instance")
    add("--keep", action="store_true", help="leave the loaded tables in place")
    add("--reuse", action="store_true", help="query tables left by an earlier run with --keep, and leave them")
    add("--out", type=Path, default=BUILD / "results", help="directory for results (default build/json/results)")
    parsed = vars(parser.parse_args(arguments))
    parsed["settings"] = dict(parsed["settings"])
    parsed["keep"] |= parsed["reuse"]
    return Options(**parsed)
