"""Answers made comparable across engines."""

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
