"""One engine, one form: load, cold runs, hot runs."""

import math
import statistics
import subprocess
from dataclasses import dataclass, field

from . import answers
from .config import QUERIES, TABLES, Options
from .data import DataSet
from .engines import Engine


@dataclass
class Result:
    """What one contestant (engine and form) showed. Seconds and bytes."""

    engine: str
    form: str
    about: dict = field(default_factory=dict)
    copy_seconds: float = math.nan
    settle_seconds: float = math.nan
    bytes: int = 0
    cold: dict[str, float] = field(default_factory=dict)
    hot: dict[str, list[float]] = field(default_factory=dict)
    answers: dict[str, list[tuple]] = field(default_factory=dict)
    # The same once rows have been changed.
    changed: dict[str, list[float]] = field(default_factory=dict)
    changed_answers: dict[str, list[tuple]] = field(default_factory=dict)
    # And once they have been vacuumed.
    vacuumed: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.engine} {self.form}"

    def median(self, query: str, kind: str = "hot") -> float:
        """Median of the hot runs, of those after changes (changed) or after VACUUM of these (vacuumed); NaN if there are none."""
        times = getattr(self, kind).get(query)
        return statistics.median(times) if times else math.nan


def measure(engine: Engine, data: DataSet, options: Options, advance_bytes, advance_run) -> Result:
    """Loads (or finds the tables loaded), then runs every query once cold and `repeat` times hot.

    An engine's failure is recorded and ends its part only.
    """
    result = Result(engine.name, engine.form)
    try:
        _load(engine, data, options, advance_bytes, result)
        _cold(engine, options, advance_run, result)
        _hot(engine, options, advance_run, result, result.hot, result.answers)
        if options.changed:
            with engine.connect() as session:
                engine.change(session)
            _hot(engine, options, lambda: None, result, result.changed, result.changed_answers)
            engine.settle()
            _hot(engine, options, lambda: None, result, result.vacuumed, result.changed_answers)
    except Exception as error:  # any driver's error: the other engines go on
        result.errors.append(f"{type(error).__name__}: {error}".strip())
    return result


def _load(engine: Engine, data: DataSet, options: Options, advance, result: Result) -> None:
    loaded = engine.attach() if options.reuse else engine.load(data, advance)
    result.copy_seconds, result.settle_seconds = loaded["copy_seconds"], loaded["settle_seconds"]
    for table in TABLES:
        if loaded["rows"][table] != data.rows(table):
            raise RuntimeError(f"{table} has {loaded['rows'][table]} rows, not {data.rows(table)}")
    result.bytes = engine.size()
    result.about = engine.describe()


def _cold(engine: Engine, options: Options, advance, result: Result) -> None:
    for query in QUERIES:
        if options.before_cold:
            subprocess.run(options.before_cold, shell=True, check=True)
        with engine.connect() as session:
            seconds, rows = engine.query(session, query)
        result.cold[query] = seconds
        if answers.misordered(query, rows):
            result.errors.append(f"{query}: rows are not in the order asked for")
        result.answers[query] = answers.normalise(rows)
        advance()


def _hot(engine: Engine, options: Options, advance, result: Result, times: dict, of: dict) -> None:
    """Runs every query `repeat` times, whose answers are those known, if any are."""
    with engine.connect() as session:
        for query in QUERIES:
            times[query] = []
            for _ in range(options.repeat):
                seconds, rows = engine.query(session, query)
                times[query].append(seconds)
                if answers.normalise(rows) != of.setdefault(query, answers.normalise(rows)):
                    result.errors.append(f"{query}: the answer changed between runs")
            advance()
