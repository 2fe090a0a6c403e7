"""Options, samples and bars."""

import argparse
from pathlib import Path

from bench import samples
from bench.queries import read

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]
KINDS = ["crates", "npm"]

# At most this many times heap's: a miss fails the run. Sizes are pg_total_relation_size right after COPY.
BARS = {"crates": {"size": 0.3, "load": 2.0}, "npm": {"size": 0.7, "load": 2.0}}


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line; see --help."""
    parser = argparse.ArgumentParser(
        prog="benchmarks/documents/run", description="Real documents in heap and in amax: load, size, memory, answers.",
        epilog="Exit status: 0 if all answers agree and all bars hold, 1 if not, 2 if it could not start.")
    parser.add_argument("--dsn", help="libpq connection string of a server with the extension installed (default: build,"
                                      " install and start a throwaway server); it must be local for memory to be measured")
    parser.add_argument("--repeat", type=int, default=3, help="loads and runs per query, of which the median counts (default 3)")
    parser.add_argument("--workers", type=int, default=0, help="max_parallel_workers_per_gather (default 0)")
    parser.add_argument("--data", type=Path, default=samples.directory(), help="directory with crates*.jsonl.xz and npm*.jsonl.xz"
                        " (default: $AMAX_DATA, else ../shared/data if it is there, else data)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "documents", help="directory for results")
    return parser.parse_args(arguments)


def queries(kind: str) -> dict[str, str]:
    """Queries by title, in the order of the file."""
    return read(HERE / "queries" / f"{kind}.sql")
