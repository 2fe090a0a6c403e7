"""Files of documents as JSON lines, written by several processes."""

import json
import multiprocessing

from .documents import chirps, messages, user

BLOCK = 250
FILES = ("users", "messages", "chirps")


def write(directory, seed, users, processes):
    """As many users of Gleambook, and half as many of Chirp; gives back how many bytes each file has."""
    blocks = [(seed, users, first, min(first + BLOCK, users + 1)) for first in range(1, users + 1, BLOCK)]
    files = {name: (directory / f"{name}.jsonl").open("wb") for name in FILES}
    with multiprocessing.Pool(processes) as pool:
        for found in pool.imap(_block, blocks):
            for name, lines in found.items():
                files[name].write(lines)
    sizes = {}
    for name, file in files.items():
        sizes[name] = file.tell()
        file.close()
    return sizes


def _block(arguments):
    seed, users, first, end = arguments
    numbers = range(first, end)
    return {
        "users": _lines(user(seed, number, users) for number in numbers),
        "messages": _lines(message for number in numbers for message in messages(seed, number, users)),
        "chirps": _lines(chirp for number in numbers if number % 2 == 0 for chirp in chirps(seed, number // 2)),
    }


def _lines(documents):
    return "".join(json.dumps(document, separators=(",", ":")) + "\n" for document in documents).encode()
