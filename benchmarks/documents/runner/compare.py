"""The same queries on heap and amax: answers and times."""

import time
from statistics import median

import psycopg

from .load import schema

SIDES = ["heap", "amax"]


def connect(dsn: str, variant: str, workers: int):
    """A session that finds a variant's tables by their bare names."""
    session = psycopg.connect(dsn, autocommit=True)
    session.execute("SELECT set_config('search_path', %s, false)", (schema(variant),))
    session.execute("SELECT set_config('max_parallel_workers_per_gather', %s, false)", (str(workers),))
    return session


def answer(session, query: str) -> tuple[float, list[bytes]]:
    """Seconds from sending the query to holding all rows, and the rows in COPY's text format: exact, nulls and all."""
    started = time.perf_counter()
    with session.cursor().copy(f"COPY ({query}) TO STDOUT") as copy:
        data = b"".join(copy)
    seconds = time.perf_counter() - started
    return seconds, data.splitlines()


def same(query: str, left: list[bytes], right: list[bytes]) -> bool:
    """Whether two answers are equal: in order if the query asks for one, else as multisets."""
    return left == right if " ORDER BY " in _outer(query) else sorted(left) == sorted(right)


def _outer(query: str) -> str:
    """The query without what is in parentheses, on one line."""
    depth, kept = 0, []
    for character in query:
        depth += (character == "(") - (character == ")")
        if depth == 0:
            kept.append(" " if character.isspace() else character)
    return "".join(kept).upper()


def run_queries(dsn: str, queries: dict[str, str], repeat: int, workers: int) -> dict[str, dict]:
    """Runs each query `repeat` times on either side, taking turns; medians, rows and whether the answers are the same."""
    results = {}
    with connect(dsn, "heap", workers) as heap, connect(dsn, "amax", workers) as amax:
        sessions = {"heap": heap, "amax": amax}
        for title, query in queries.items():
            found = {"query": query, "same": True}
            times, answers = {side: [] for side in SIDES}, {}
            try:
                for round_ in range(repeat):
                    for side in SIDES if round_ % 2 == 0 else reversed(SIDES):
                        seconds, rows = answer(sessions[side], query)
                        times[side].append(seconds)
                        answers[side] = rows
                    found["same"] = found["same"] and same(query, answers["heap"], answers["amax"])
                found |= {side: median(times[side]) for side in SIDES} | {"rows": len(answers["heap"])}
            except psycopg.Error as error:
                found |= {"same": False, "error": str(error).strip()}
            results[title] = found
    return results


def except_all(dsn: str, kind: str, variant: str) -> dict[str, int]:
    """Rows of heap missing in a variant, and rows of the variant heap does not have."""
    heap, other = f"{schema('heap')}.{kind}", f"{schema(variant)}.{kind}"
    with psycopg.connect(dsn, autocommit=True) as session:
        return {name: session.execute(f"SELECT count(*) FROM (TABLE {left} EXCEPT ALL TABLE {right}) x").fetchone()[0]
                for name, left, right in (("missing", heap, other), ("extra", other, heap))}
