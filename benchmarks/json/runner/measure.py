"""One system: load, cold runs, hot runs."""

import math
import statistics
import subprocess
from dataclasses import dataclass, field

from .config import Options
from .data import DataSet
from .systems import System
from .systems.base import Load, of_documents


@dataclass
class Result:
    """What one system showed. Seconds and bytes."""

    system: str
    about: dict = field(default_factory=dict)
    load: Load = field(default_factory=lambda: Load(math.nan, math.nan, 0))
    bytes: int = 0
    cold: dict[str, float] = field(default_factory=dict)
    hot: dict[str, list[float]] = field(default_factory=dict)
    answers: dict[str, list[tuple]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def median(self, query: str) -> float:
        """Median of the hot runs; NaN if there are none."""
        return statistics.median(self.hot[query]) if self.hot.get(query) else math.nan


def measure(system: System, data: DataSet, options: Options, say) -> Result:
    """Loads (or finds the table loaded), then runs every query once cold and `repeat` times hot.

    A failure is recorded; a query's ends its part only, as does the system's.
    """
    result = Result(system.name)
    try:
        say("loading")
        result.load = Load(math.nan, math.nan, system.count()) if options.reuse else system.load(data)
        if result.load.rows != data.rows:
            raise RuntimeError(f"{result.load.rows} rows, not {data.rows}")
        result.bytes = system.size()
        result.about = system.describe()
        queries = system.queries(data)
        say("cold runs")
        for title, text in queries.items():
            _attempt(result, title, _cold, system, text, options)
        say("hot runs")
        with system.connect() as session:
            for title, text in queries.items():
                if title in result.answers:
                    _attempt(result, title, _hot, system, text, options, session)
    except Exception as error:  # any driver's error: the other systems go on
        result.errors.append(f"{type(error).__name__}: {error}".strip())
    return result


def _attempt(result: Result, title: str, run, *arguments) -> None:
    try:
        run(result, title, *arguments)
    except Exception as error:
        result.errors.append(f"{title}: {type(error).__name__}: {error}".strip())


def _cold(result: Result, title: str, system: System, text: str, options: Options) -> None:
    if options.before_cold:
        subprocess.run(options.before_cold, shell=True, check=True)
    with system.connect() as session:
        result.cold[title], held = system.query(session, text)
    result.answers[title] = system.answer(text, held)


def _hot(result: Result, title: str, system: System, text: str, options: Options, session) -> None:
    result.hot[title] = []
    for _ in range(options.repeat):
        seconds, held = system.query(session, text)
        result.hot[title].append(seconds)
        # Documents were compared once; it takes longer than the query.
        if not of_documents(text) and system.answer(text, held) != result.answers[title]:
            result.errors.append(f"{title}: the answer changed between runs")
