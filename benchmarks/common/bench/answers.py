"""Comparing the answers of several contestants."""

import datetime
import decimal
import hashlib
import json
from collections import Counter


def digest(answer: list[tuple]) -> str:
    """A short name for a normalised answer."""
    return hashlib.sha256(json.dumps(answer).encode()).hexdigest()[:16]


def differences(answers: dict[str, dict[str, list[tuple]]]) -> list[str]:
    """Compares answers[contestant][query]; one line for each that differs.

    The first contestant with an answer to a query is its reference. A missing
    answer is a difference.
    """
    queries = list(dict.fromkeys(query for given in answers.values() for query in given))
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


def plain(cell):
    """The same value in the same words, whoever says it."""
    if isinstance(cell, bool) or cell is None:
        return cell
    if isinstance(cell, datetime.datetime):
        return cell.replace(tzinfo=None).date() if cell.time() == datetime.time() else cell.replace(tzinfo=None)
    if isinstance(cell, int | float | decimal.Decimal):
        return f"{float(cell):.9g}"
    return cell.strip() if isinstance(cell, str) else cell


def rows(found):
    """An answer as a multiset, numbers to nine digits."""
    return sorted((tuple(map(plain, row)) for row in found), key=str)
