"""Times of statements in several systems, in turns, and whether their answers are the same."""

from bench.answers import rows


def fastest(runs, clocks, repeat, enough):
    """The least of `repeat` runs in ms by system, after one to warm up, which counts where it alone took `enough` seconds; the answers by system."""
    best, answers = {}, {}
    for turn in range(repeat + 1):
        for name, run in runs.items():
            if turn and best[name] > enough * 1000:
                continue
            started = clocks[name]()
            found = run()
            took = clocks[name]() - started
            if not turn:
                answers[name] = found
            best[name] = took if turn <= 1 else min(best[name], took)
    return best, answers


def differences(answers):
    """Who answers otherwise than heap, and how."""
    expected = rows(answers["heap"])
    for name, answer in answers.items():
        if (found := rows(answer)) != expected:
            ours, theirs = ([row for row in one if row not in other][:2] for one, other in ((found, expected), (expected, found)))
            yield f"{name} differs from heap: {len(found)} rows, {ours}, for {len(expected)}, {theirs}"
