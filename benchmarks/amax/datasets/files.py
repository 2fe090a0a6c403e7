"""Files of documents as JSON lines, written by several processes."""

import json
import multiprocessing

from . import document

BLOCK = 250


def write(path, seed, name, count, processes):
    """So many documents of a dataset; gives back how many bytes they have."""
    blocks = [(seed, name, first, min(first + BLOCK, count)) for first in range(0, count, BLOCK)]
    with multiprocessing.Pool(processes) as pool, path.open("wb") as file:
        return sum(file.write(block) for block in pool.imap(_block, blocks))


def _block(arguments):
    seed, name, first, end = arguments
    made = (document(seed, name, number) for number in range(first, end))
    return "".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) + "\n" for one in made).encode()
