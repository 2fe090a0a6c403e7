"""The tables of a report."""

import math

from bench.numbers import shown

from .config import KINDS, SYSTEMS, WRITERS_BAR, Options

PERCENTS = (50, 95, 99)


def percentile(values: list[float], percent: int) -> float:
    """Of sorted values, the least that `percent` of them do not exceed; NaN if there are too few to tell."""
    if len(values) < 100 / (100 - percent):
        return math.nan
    return values[math.ceil(len(values) * percent / 100) - 1]


def markdown(options: Options, loads: dict, mixes: list[dict], beside: list[dict]) -> str:
    """All of a report; `mixes` and `beside` are of dicts with kind, starts, clients, and by system tps, reads and updates (sorted milliseconds)."""
    parts = []
    if mixes:
        parts.append(f"| {100 - options.updates} % ranges, {options.updates} % updates | heap, tps | amax, tps | amax / heap | heap: {_percents()} | amax | amax / heap"
                     f" | updates, {_percents()}: heap | amax | amax / heap |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
        parts += [_row(run, KINDS[run["kind"]].bar, None) for run in mixes]
    if beside:
        parts.append(f"\n| {options.readers} readers, {options.writers} writers with {options.rate} updates a second | heap, tps | amax, tps | amax / heap | heap: {_percents()} | amax | amax / heap"
                     f" | updates, {_percents()}: heap | amax | amax / heap |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
        parts += [_row(run, KINDS[run["kind"]].bar, WRITERS_BAR) for run in beside]
    heap, amax = (loads[system] for system in SYSTEMS)
    parts.append(f"\n| {options.rows:,} records | heap | amax | amax / heap |\n|---|---:|---:|---:|")
    for key, unit, label in (("load_seconds", 1, "load, s"), ("vacuum_seconds", 1, "VACUUM (ANALYZE), s"), ("table_bytes", 1e6, "table, MB"), ("index_bytes", 1e6, "index, MB")):
        parts.append(f"| {label} | {heap[key] / unit:,.1f} | {amax[key] / unit:,.1f} | {amax[key] / heap[key]:.2f} |")
    return "\n".join(parts) + "\n"


def _percents() -> str:
    return ", ".join(f"p{percent}" for percent in PERCENTS) + ", ms"


def _row(run: dict, bar: float | None, writers_bar: float | None) -> str:
    ratio = run["amax"]["tps"] / run["heap"]["tps"]
    missed = " **missed**" if bar and ratio < bar else ""
    label = f"{run['kind']}, {run['starts']}" + (f", {run['clients']} client{'s' * (run['clients'] > 1)}" if run["clients"] else "")
    cells = [label, *(shown(run[system]["tps"], 0 if run[system]["tps"] >= 100 else 1) for system in SYSTEMS), f"{ratio:.2f}{missed}"]
    for what in ("reads", "updates"):
        heap, amax = ([percentile(run[system][what], percent) for percent in PERCENTS] for system in SYSTEMS)
        ratios = [b / a for a, b in zip(heap, amax, strict=True)]
        missed = " **missed**" if writers_bar and what == "updates" and ratios[-1] > writers_bar else ""
        cells += [_joined(heap), _joined(amax), ", ".join(shown(value, 2 if value < 10 else 0) for value in ratios) + missed]
    return f"| {' | '.join(cells)} |"


def _joined(values: list[float]) -> str:
    return ", ".join(shown(value, 2 if value < 1 else 1 if value < 100 else 0) for value in values)
