"""Answers made comparable across engines, and the comparison."""

import hashlib
import json
from collections import Counter
from decimal import Decimal


def normalise(rows: list[tuple]) -> list[tuple]:
    """Rows as sorted tuples of int, str and None.

    Engines differ in the types of sums (bigint, numeric, hugeint), and in how
    ties and text sort; neither is part of an answer. A sum that is no whole
    number is an error: all the benchmark's sums are.
    """
    return sorted((tuple(map(_value, row)) for row in rows), key=repr)


def _value(value):
    if value is None or type(value) in (int, str):
        return value
    if isinstance(value, (Decimal, float)) and value == int(value):
        return int(value)
    raise ValueError(f"unexpected value {value!r} of type {type(value).__name__}")


def misordered(query: str, rows: list[tuple]) -> bool:
    """Whether rows break the numeric part of the query's ORDER BY.

    Flight 3 orders by year and falling revenue, flights 2 and 4 by year first;
    what follows is text, whose order is the collation's affair.
    """
    flight = query[1]
    keys = {
        "1": lambda row: 0,
        "2": lambda row: row[1],
        "3": lambda row: (row[2], -row[3]),
        "4": lambda row: row[0],
    }[flight]
    order = [keys(row) for row in rows]
    return order != sorted(order)


def digest(answer: list[tuple]) -> str:
    """A short name for a normalised answer."""
    return hashlib.sha256(json.dumps(answer).encode()).hexdigest()[:16]


def differences(answers: dict[str, dict[str, list[tuple]]]) -> list[str]:
    """Compares answers[contestant][query]; one line for each that differs.

    The first contestant with an answer to a query is its reference. A missing
    answer is a difference.
    """
    queries = sorted({query for given in answers.values() for query in given})
    found = []
    for contestant, given in answers.items():
        if missing := [query for query in queries if query not in given]:
            found.append(f"{contestant} gave no answer to {', '.join(missing)}")
    for query in queries:
        holders = [contestant for contestant, given in answers.items() if query in given]
        reference = answers[holders[0]][query]
        for contestant in holders[1:]:
            answer = answers[contestant][query]
            if answer != reference:
                ours, theirs = Counter(answer), Counter(reference)
                found.append(f"{query}: {contestant} differs from {holders[0]}:"
                             f" {_sample(ours - theirs)} for {_sample(theirs - ours)}")
    return found


def _sample(rows: Counter) -> str:
    if not rows:
        return "no row of its own"
    more = f" and {rows.total() - 1} more" if rows.total() > 1 else ""
    return f"{min(rows, key=repr)}{more}"
