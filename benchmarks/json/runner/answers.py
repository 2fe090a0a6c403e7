"""Answers made comparable across systems."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def normalise(rows: list[tuple]) -> list[tuple]:
    """Rows as sorted tuples of int, str and None; times and spans of time are microseconds.

    Systems differ in the types of numbers, and in how ties sort; neither is part of an answer.
    """
    return sorted((tuple(map(_value, row)) for row in rows), key=repr)


def _value(value):
    if value is None or type(value) in (int, str):
        return value
    if isinstance(value, datetime):
        return ((value if value.tzinfo else value.replace(tzinfo=UTC)) - EPOCH) // MICROSECOND
    if isinstance(value, timedelta):
        return value // MICROSECOND
    if isinstance(value, (Decimal, float)) and value == int(value):
        return int(value)
    raise ValueError(f"unexpected value {value!r} of type {type(value).__name__}")


def documents(parsed) -> list[tuple]:
    """How many documents, and a digest of them as a multiset. Keys are in no order; numbers are compared as written."""
    count, total = 0, 0
    for document in parsed:
        text = json.dumps(document, sort_keys=True, ensure_ascii=False)
        total += int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")
        count += 1
    return [(count, f"{total % (1 << 128):032x}")]


def parse(line: bytes | str):
    """A document; a number with a fraction is kept as it is written."""
    return json.loads(line, parse_float=lambda text: {"number": text})
