"""Paths, loads, bars and options of a run."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from bench.generator import PROJECT
from bench.options import at_least, choices, setting

HERE = Path(__file__).resolve().parent.parent
BUILD = PROJECT / "build" / "points"

SYSTEMS = ["heap", "amax"]


@dataclass(frozen=True)
class Load:
    """Scripts with their weights, and amax's throughput as a part of heap's that is good enough."""

    scripts: dict[str, int]
    bar: float
    writes: bool


# Mixed: half is new rows, half is uniform updates and deletes of old ones (AMAX paper, §6.3, update-intensive).
LOADS = {
    "select path": Load({"select-path": 1}, 0.5, False),
    "select document": Load({"select-document": 1}, 0.3, False),
    "insert": Load({"insert": 1}, 0.8, True),
    "update": Load({"update": 1}, 0.5, True),
    "mixed": Load({"insert": 2, "update": 1, "delete": 1}, 0.65, True),
}


@dataclass(frozen=True)
class Options:
    """The command line, parsed."""

    rows: int
    clients: list[int]
    loads: list[str]
    seconds: int
    warm_up: int
    repeat: int
    dsn: str
    settings: dict[str, str]
    generator: Path | None
    pgbench: Path
    keep: bool
    reuse: bool
    out: Path


def parse(arguments: list[str] | None = None) -> Options:
    """Parses the command line; exits with status 2 if it is wrong."""
    parser = argparse.ArgumentParser(
        prog="benchmarks/points/run", description="Point reads and writes by primary key: PostgreSQL's heap and amax, with pgbench.",
        epilog="Exit status: 0 if all ran and the tables agree, 1 if not, 2 if it could not start. A missed bar is marked, no failure.")
    add = parser.add_argument
    add("--rows", type=at_least(1000), default=2_000_000, help="documents of 1 to 2 kB (default 2,000,000)")
    add("--clients", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2], help="default 1,2")
    add("--loads", type=choices(list(LOADS)), default=list(LOADS), help=f"default {','.join(LOADS)}")
    add("--seconds", type=at_least(1), default=30, help="of each pgbench run (default 30)")
    add("--warm-up", type=at_least(0), default=0,
        help="seconds that each load runs before, in connections of its own: it fills the shared buffers (default 0)")
    add("--repeat", type=at_least(1), default=1, help="runs of each load, of which the median counts (default 1)")
    add("--dsn", default="", help="libpq connection string of a server that has the extension (default: build, install and start"
                                  " a throwaway server)")
    add("--set", type=setting, action="append", default=[], metavar="NAME=VALUE", dest="settings",
        help="PostgreSQL setting of all sessions; may be given again")
    add("--generator", type=Path, help="an amax-events binary; without it the run builds one with cargo")
    add("--pgbench", type=Path, default=Path("pgbench"), help="the program to use")
    add("--keep", action="store_true", help="leave the tables in place")
    add("--reuse", action="store_true", help="use tables left by an earlier run with --keep that wrote nothing, and leave them")
    add("--out", type=Path, default=BUILD, help="directory for results (default build/points)")
    parsed = vars(parser.parse_args(arguments))
    parsed["settings"] = dict(parsed["settings"])
    parsed["keep"] |= parsed["reuse"]
    return Options(**parsed)
