"""Queries by title."""

from pathlib import Path


def read(path: Path) -> dict[str, str]:
    """In the order of the file: blocks of a comment with the title and one statement, a blank line between."""
    found = {}
    for block in path.read_text().split("\n\n"):
        title, _, text = block.strip().partition("\n")
        if not title.startswith("-- ") or not text.endswith(";") or title[3:] in found:
            raise ValueError(f"not a titled query: {block!r}")
        found[title[3:]] = text[:-1]
    return found
