"""The sample documents."""

import lzma
import os
from pathlib import Path

from .generator import PROJECT


def directory() -> Path:
    """$AMAX_DATA, else ../shared/data if it is there, else data."""
    if "AMAX_DATA" in os.environ:
        return Path(os.environ["AMAX_DATA"])
    shared = PROJECT.parent / "shared" / "data"
    return shared if any(shared.glob("crates*.jsonl.xz")) else PROJECT / "data"


def documents(where: Path, kind: str) -> bytes:
    """All of a kind's documents as JSON lines. Raises FileNotFoundError if there are none."""
    files = sorted(where.glob(f"{kind}*.jsonl.xz"))
    if not files:
        raise FileNotFoundError(f"no {kind}*.jsonl.xz in {where}")
    return b"".join(lzma.decompress(file.read_bytes()) for file in files)
