"""Options, samples and bars."""

import argparse
import lzma
import os
from pathlib import Path

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
    parser.add_argument("--data", type=Path, default=_data(), help="directory with crates*.jsonl.xz and npm*.jsonl.xz"
                        " (default: $AMAX_DATA, else ../shared/data if it is there, else data)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "documents", help="directory for results")
    return parser.parse_args(arguments)


def _data() -> Path:
    if "AMAX_DATA" in os.environ:
        return Path(os.environ["AMAX_DATA"])
    shared = ROOT.parent / "shared" / "data"
    return shared if any(shared.glob("crates*.jsonl.xz")) else ROOT / "data"


def documents(directory: Path, kind: str) -> bytes:
    """All of a kind's documents as JSON lines. Raises FileNotFoundError if there are none."""
    files = sorted(directory.glob(f"{kind}*.jsonl.xz"))
    if not files:
        raise FileNotFoundError(f"no {kind}*.jsonl.xz in {directory}")
    return b"".join(lzma.decompress(file.read_bytes()) for file in files)


def queries(kind: str) -> dict[str, str]:
    """Queries by title, in the order of the file: blocks of a comment with the title and one statement."""
    found = {}
    for block in (HERE / "queries" / f"{kind}.sql").read_text().split("\n\n"):
        title, _, text = block.strip().partition("\n")
        if not title.startswith("-- ") or not text.endswith(";") or title[3:] in found:
            raise ValueError(f"not a titled query: {block!r}")
        found[title[3:]] = text[:-1]
    return found
