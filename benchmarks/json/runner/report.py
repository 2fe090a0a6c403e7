"""Results as tables, a JSON file and a chart."""

import json
import math
from datetime import datetime, timezone
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from bench.answers import digest
from bench.numbers import geometric_mean, machine, plain, shown
from matplotlib.ticker import LogLocator, NullFormatter

from .config import SHAPES, Options
from .data import DataSet
from .measure import Result

COLOURS = {"heap": "#4c72b0", "amax": "#dd8452", "amax_zstd": "#c44e52", "duckdb": "#8c8c8c", "clickhouse": "#ccb974",
           "heap_10": "#64b5cd", "amax_10": "#55a868", "amax_32": "#8172b3"}


def _titles(results: list[Result]) -> list[str]:
    return list(dict.fromkeys(title for result in results for title in result.answers))


def _times(result: Result, kind: str, titles: list[str]) -> list[float]:
    return [result.cold.get(title, math.nan) if kind == "cold" else result.median(title) for title in titles]


def markdown(options: Options, data: DataSet, results: list[Result]) -> str:
    """The table: load, size, every query hot, means; ratios to heap."""
    names = [result.system for result in results]
    heap = next((result for result in results if result.system == "heap"), None)
    others = [result for result in results if heap and result is not heap]
    title = f"{data.rows:,} {options.data}, {data.bytes / 1e6:,.0f} MB, {options.workers} workers"
    lines = ["| " + " | ".join([title, *names, *(f"{r.system} / heap" for r in others)]) + " |",
             "|---|" + "---:|" * (len(names) + len(others))]

    def add(label, value, digits=1):
        cells = [shown(value(result), digits) for result in results]
        cells += [shown(value(result) / value(heap), 3) for result in others]
        lines.append("| " + " | ".join([label, *cells]) + " |")

    add("copy, s", lambda r: r.load.copy_seconds, 2)
    add("VACUUM (ANALYZE), CHECKPOINT or OPTIMIZE, s", lambda r: r.load.settle_seconds, 2)
    add("load, s", lambda r: r.load.copy_seconds + r.load.settle_seconds, 2)
    add("size, MB", lambda r: r.bytes / 1e6 or math.nan)
    titles = _titles(results)
    for kind in ("hot", "cold"):
        for title in titles:
            add(f"{kind}: {title}, ms", lambda r: 1e3 * _times(r, kind, [title])[0])
        add(f"**{kind}: the {SHAPES} shapes, geometric mean, ms**", lambda r: 1e3 * geometric_mean(_times(r, kind, titles[:SHAPES])))
    return "\n".join(lines) + "\n"


def write_json(path: Path, options: Options, data: DataSet, results: list[Result], failures: list[str]) -> None:
    """Everything measured, with enough about the run to judge it."""
    titles = _titles(results)
    document = {
        "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "options": {"data": options.data, "seed": options.seed, "repeat": options.repeat, "workers": options.workers,
                    "settings": options.settings, "before_cold": options.before_cold},
        "data": {"rows": data.rows, "bytes": data.bytes, "parameters": data.parameters},
        "failures": failures,
        "results": [
            {
                "system": r.system,
                "about": r.about,
                "copy_seconds": r.load.copy_seconds,
                "settle_seconds": r.load.settle_seconds,
                "bytes": r.bytes,
                "cold_seconds": r.cold,
                "hot_seconds": r.hot,
                "hot_median_seconds": {title: r.median(title) for title in titles},
                "hot_shapes_geometric_mean_seconds": geometric_mean(_times(r, "hot", titles[:SHAPES])),
                "cold_shapes_geometric_mean_seconds": geometric_mean(_times(r, "cold", titles[:SHAPES])),
                "answers": {title: {"rows": len(a), "digest": digest(a)} for title, a in r.answers.items()},
                "errors": r.errors,
            }
            for r in results
        ],
    }
    path.write_text(json.dumps(plain(document), indent=2, allow_nan=False) + "\n")


def draw(path: Path, options: Options, data: DataSet, results: list[Result]) -> None:
    """Hot medians by query, load time and size."""
    titles = _titles(results)
    figure, (queries, load, size) = plt.subplots(1, 3, figsize=(15, 6), width_ratios=[6, 1, 1], layout="constrained")
    for result in results:
        mean = geometric_mean(_times(result, "hot", titles[:SHAPES]))
        # Points, not bars: a logarithmic axis has no zero to start from.
        queries.plot(range(len(titles)), [1e3 * t for t in _times(result, "hot", titles)], "o:", linewidth=0.8,
                     label=f"{result.system} (geometric mean of the shapes {shown(1e3 * mean)} ms)", color=COLOURS[result.system])
    queries.axvspan(-0.5, SHAPES - 0.5, color="#f0f0f0", zorder=0)
    queries.set_xticks(range(len(titles)), titles, rotation=30, ha="right")
    queries.set(ylabel="ms, hot median", xlim=(-0.5, len(titles) - 0.5))
    if any(t > 0 for result in results for t in _times(result, "hot", titles)):
        queries.set_yscale("log")
        queries.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        queries.yaxis.set_major_formatter("{x:,.10g}")
        queries.yaxis.set_minor_formatter(NullFormatter())
    queries.grid(axis="y", alpha=0.3)
    queries.legend(fontsize="small")
    names = [result.system for result in results]
    shades = [COLOURS[name] for name in names]
    loads = [result.load.copy_seconds + result.load.settle_seconds for result in results]
    for axis, values, title in ((load, loads, "load, s"), (size, [r.bytes / 1e6 for r in results], "size, MB")):
        axis.bar(names, [0.0 if math.isnan(value) else value for value in values], color=shades)
        axis.set(title=title)
        axis.tick_params(axis="x", rotation=60)
    figure.suptitle(f"{data.rows:,} {options.data}, {data.bytes / 1e6:,.0f} MB of JSON, {options.workers} parallel workers")
    figure.savefig(path, dpi=110)
    plt.close(figure)
