"""Times of statements in both systems, in turns, and whether their answers are the same."""

import json

from bench.answers import rows

SYSTEMS = ("heap", "amax")


def timed(clock, run):
    """Seconds."""
    started = clock()
    run()
    return (clock() - started) / 1000


def fastest(sessions, clocks, statement, repeat):
    """The least of `repeat` runs in ms by system, after one to warm up; whether the answers agree."""
    best, answers = dict.fromkeys(SYSTEMS, float("inf")), {}
    for turn in range(repeat + 1):
        for system in SYSTEMS:
            started = clocks[system]()
            answers[system] = sessions[system].execute(statement).fetchall()
            took = clocks[system]() - started
            if turn:
                best[system] = min(best[system], took)
    return best, rows(answers["heap"]) == rows(answers["amax"])


def same_rows(sessions, table, columns):
    """Whether both tables have the same rows."""
    statement = f"SELECT count(*), sum(hashtextextended(({columns})::text, 0)) FROM {table}"
    return len({json.dumps(session.execute(statement).fetchone(), default=str) for session in sessions.values()}) == 1
