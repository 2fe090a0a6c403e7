"""Kinds of range queries, bars and options of a run."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from bench.generator import PROJECT
from bench.options import at_least, choices, setting

HERE = Path(__file__).resolve().parent.parent
BUILD = PROJECT / "build" / "ranges"

SYSTEMS = ["heap", "amax"]
FIELDS = 10
# Of YCSB's Zipf distribution.
THETA = 0.99
STARTS = ["uniform", "zipfian"]
# A writer's 99th percentile may be so many times heap's.
WRITERS_BAR = 2.0


@dataclass(frozen=True)
class Kind:
    """A range query: its script, its rows as a part of the table, at most how many, and amax's throughput as a part of heap's that is good enough."""

    script: str
    part: float
    most: int | None
    bar: float | None

    def length(self, rows: int) -> int:
        """Rows of a range in a table of so many."""
        length = max(1, int(rows * self.part))
        return min(length, self.most) if self.most else length


KINDS = {
    "short-all": Kind("all", 0.1, 100, 0.5),
    "short-one": Kind("one", 0.1, 100, 0.5),
    "medium-all": Kind("all", 0.01, None, None),
    "medium-one": Kind("one", 0.01, None, None),
    "long-all": Kind("all", 0.1, None, None),
    "long-one": Kind("one", 0.1, None, 3.0),
}


@dataclass(frozen=True)
class Options:
    """The command line, parsed."""

    rows: int
    shuffled: bool
    ordered: bool
    kinds: list[str]
    starts: list[str]
    clients: list[int]
    updates: int
    readers: int
    writers: int
    rate: int
    seconds: int
    warm_up: int
    repeat: int
    protocol: str
    dsn: str
    settings: dict[str, str]
    pgbench: Path
    keep: bool
    out: Path


def parse(arguments: list[str] | None = None) -> Options:
    """Parses the command line; exits with status 2 if it is wrong."""
    parser = argparse.ArgumentParser(
        prog="benchmarks/ranges/run", description="Range queries over a primary key beside updates: PostgreSQL's heap and amax, with pgbench.",
        epilog="Exit status: 0 if all ran and all answers agree, 1 if not, 2 if it could not start. A missed bar is marked, no failure.")
    add = parser.add_argument
    add("--rows", type=at_least(100), default=500_000, help="records of 1 kB (default 500,000)")
    add("--shuffled", action="store_true", help="load the records in no order, instead of by key")
    add("--ordered", action="store_true", help="ask for whole records in the order of their keys")
    add("--kinds", type=choices(list(KINDS)), default=list(KINDS), help=f"of ranges (default {','.join(KINDS)})")
    add("--starts", type=choices(STARTS), default=STARTS, help=f"how their first keys are chosen (default {','.join(STARTS)})")
    add("--clients", type=_numbers, default=[1, 8, 80], help="of the mixes; empty: no mixes (default 1,8,80)")
    add("--updates", type=at_least(0), default=5, help="percent of updates in the mixes (default 5)")
    add("--readers", type=at_least(1), default=4, help="clients that read while writers write (default 4)")
    add("--writers", type=at_least(0), default=4, help="clients that only update; 0: leave that part out (default 4)")
    add("--rate", type=at_least(1), default=100, help="updates a second of all writers together (default 100)")
    add("--seconds", type=at_least(1), default=5, help="of each pgbench run that count (default 5)")
    add("--warm-up", type=at_least(0), default=2, help="seconds before, in the same connections, that do not (default 2)")
    add("--repeat", type=at_least(1), default=1, help="runs of each; the median of throughput, the percentiles of all (default 1)")
    add("--protocol", choices=["simple", "extended", "prepared"], default="simple", help="pgbench's (default simple)")
    add("--dsn", default="", help="libpq connection string of a server that has the extension (default: build, install and start"
                                  " a throwaway server)")
    add("--set", type=setting, action="append", default=[], metavar="NAME=VALUE", dest="settings",
        help="PostgreSQL setting of all sessions; may be given again")
    add("--pgbench", type=Path, default=Path("pgbench"), help="the program to use")
    add("--keep", action="store_true", help="leave the tables in place")
    add("--out", type=Path, default=BUILD, help="directory for results (default build/ranges)")
    parsed = vars(parser.parse_args(arguments))
    parsed["settings"] = dict(parsed["settings"])
    return Options(**parsed)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]
