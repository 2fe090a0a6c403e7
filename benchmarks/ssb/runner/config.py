"""Paths, names and options of a run."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from bench.options import at_least, choices, setting

SSB = Path(__file__).resolve().parent.parent
PROJECT = SSB.parent.parent
BUILD = PROJECT / "build"

TABLES = ["date", "supplier", "customer", "part", "lineorder"]
QUERIES = [f"q{flight}.{n}" for flight, count in ((1, 3), (2, 3), (3, 4), (4, 3)) for n in range(1, count + 1)]
ENGINES = ["heap", "amax", "duckdb"]
# amax once more, with tuples made elsewhere than it thinks best.
MODES = {f"amax_{mode}": mode for mode in ("early", "late", "ultra_late")}
# amax once more, with join indexes.
INDEXED = "amax_join_index"
# The first two unless others are asked for.
FORMS = ["relational", "documents", "text_keys"]


@dataclass(frozen=True)
class Options:
    """The command line, parsed."""

    sf: float
    engines: list[str]
    forms: list[str]
    repeat: int
    workers: int
    dsn: str
    settings: dict[str, str]
    seed: int
    generator: Path | None
    before_cold: str | None
    changed: bool
    keep: bool
    reuse: bool
    out: Path

    @property
    def label(self) -> str:
        """Names the results: scale factor and workers."""
        return f"sf{self.sf:g}-w{self.workers}"


def parse(arguments: list[str] | None = None) -> Options:
    """Parses the command line; exits with status 2 if it is wrong."""
    parser = argparse.ArgumentParser(
        prog="benchmarks/ssb/run",
        description="Star Schema Benchmark: PostgreSQL's heap, amax and DuckDB side by side.",
        epilog="Exit status: 0 if all queries ran and all answers agree, 1 if not, 2 for a wrong command line.",
    )
    add = parser.add_argument
    add("--sf", type=float, default=1.0, help="scale factor (default 1: six million lineorder rows)")
    add("--engines", type=choices(ENGINES + list(MODES) + [INDEXED]), default=ENGINES,
        help="default heap,amax,duckdb; also amax_early, amax_late, amax_ultra_late, and amax_join_index (of text_keys)")
    add("--forms", type=choices(FORMS), default=FORMS[:2], help="default relational,documents; also text_keys, relational with text for the keys of joins, and primary keys")
    add("--repeat", type=at_least(1), default=5, help="hot runs per query, of which the median counts (default 5)")
    add("--workers", type=at_least(0), default=0,
        help="max_parallel_workers_per_gather; DuckDB gets one thread more, as the leader works too (default 0)")
    add("--dsn", default="", help="libpq connection string (default: the PG* environment variables)")
    add("--set", type=setting, action="append", default=[], metavar="NAME=VALUE", dest="settings",
        help="PostgreSQL setting of the sessions that load and query; may be given again")
    add("--seed", type=int, default=42, help="of the generator (default 42)")
    add("--generator", type=Path, help="an amax-ssb binary; without it the run builds one with cargo")
    add("--before-cold", metavar="COMMAND",
        help="shell command run before every cold run, to restart the server or drop the system's cache for instance")
    add("--changed", action="store_true",
        help="run the queries hot once more after a tenth of all tables but date has been updated or deleted, before VACUUM, and once more after it; not with --keep")
    add("--keep", action="store_true", help="leave the loaded tables in place")
    add("--reuse", action="store_true", help="query tables left by an earlier run with --keep, and leave them")
    add("--out", type=Path, default=BUILD / "ssb" / "results", help="directory for results (default build/ssb/results)")
    parsed = vars(parser.parse_args(arguments))
    parsed["settings"] = dict(parsed["settings"])
    parsed["keep"] |= parsed["reuse"]
    if parsed["keep"] and parsed["changed"]:
        parser.error("tables that are kept are not changed")
    if INDEXED in parsed["engines"] and parsed["forms"] != ["text_keys"]:
        parser.error(f"{INDEXED} is of text_keys alone")
    return Options(**parsed)
