"""Results as a table, a JSON file and a chart."""

import json
import math
from datetime import datetime, timezone
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, NullFormatter
from rich.console import Console
from rich.table import Table

from bench.answers import digest
from bench.numbers import geometric_mean, machine, plain, shown

from .config import QUERIES, Options
from .measure import Result


def _baseline(results: list[Result], form: str) -> Result | None:
    return next((r for r in results if r.form == form and r.engine == "heap"), None)


def _times(result: Result, kind: str) -> list[float]:
    if kind == "cold":
        return [result.cold.get(query, math.nan) for query in QUERIES]
    return [result.median(query, kind) for query in QUERIES]


def print_tables(console: Console, results: list[Result]) -> None:
    """A table per form: load, size, every query hot, means and ratios to heap."""
    for form in dict.fromkeys(result.form for result in results):
        contestants = [result for result in results if result.form == form]
        heap = _baseline(results, form)
        table = Table(title=f"Star Schema Benchmark, {form}", title_justify="left")
        table.add_column("")
        for result in contestants:
            table.add_column(result.engine, justify="right")
        if heap:
            for result in contestants:
                if result is not heap:
                    table.add_column(f"{result.engine} / heap", justify="right")
        table.add_column("rows", justify="right")

        def add(label, values, digits=1, rows=""):
            cells = [shown(value, digits) for value in values]
            if heap:
                base = values[contestants.index(heap)]
                cells += [shown(value / base, 3) for value, result in zip(values, contestants) if result is not heap]
            table.add_row(label, *cells, rows)

        add("COPY, s", [r.copy_seconds for r in contestants], 2)
        add("VACUUM ANALYZE or CHECKPOINT, s", [r.settle_seconds for r in contestants], 2)
        add("load, s", [r.copy_seconds + r.settle_seconds for r in contestants], 2)
        indexes = [r.about.get("join_indexes", {}) for r in contestants]
        if any(index.get("bytes") for index in indexes):
            add("join indexes, s", [index.get("seconds", math.nan) for index in indexes], 2)
            add("join indexes, MB", [index.get("bytes", math.nan) / 1e6 for index in indexes])
        add("size, MB", [r.bytes / 1e6 if r.bytes else math.nan for r in contestants])
        table.add_section()
        for query in QUERIES:
            rows = next((str(len(r.answers[query])) for r in contestants if query in r.answers), "")
            add(f"{query.upper()} hot, ms", [1e3 * r.median(query) for r in contestants], rows=rows)
        table.add_section()
        kinds = ["hot", "cold"] + [kind for kind in ("changed", "vacuumed") if any(getattr(r, kind) for r in contestants)]
        for kind in kinds:
            times = [_times(r, kind) for r in contestants]
            add(f"{kind}, sum, ms", [1e3 * sum(t) for t in times])
            add(f"{kind}, geometric mean, ms", [1e3 * geometric_mean(t) for t in times])
        console.print(table)


def write_json(path: Path, options: Options, results: list[Result], manifests: dict, failures: list[str]) -> None:
    """Everything measured, with enough about the run to judge it."""
    document = {
        "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "options": {"sf": options.sf, "seed": options.seed, "repeat": options.repeat, "workers": options.workers,
                    "settings": options.settings, "before_cold": options.before_cold},
        "data": manifests,
        "failures": failures,
        "results": [
            {
                "engine": r.engine,
                "form": r.form,
                "about": r.about,
                "copy_seconds": r.copy_seconds,
                "settle_seconds": r.settle_seconds,
                "bytes": r.bytes,
                "cold_seconds": r.cold,
                "hot_seconds": r.hot,
                "changed_seconds": r.changed,
                "vacuumed_seconds": r.vacuumed,
                "hot_median_seconds": {query: r.median(query) for query in QUERIES},
                "hot_geometric_mean_seconds": geometric_mean(_times(r, "hot")),
                "cold_geometric_mean_seconds": geometric_mean(_times(r, "cold")),
                "answers": {q: {"rows": len(a), "digest": digest(a)} for q, a in r.answers.items()},
                "errors": r.errors,
            }
            for r in results
        ],
    }
    path.write_text(json.dumps(plain(document), indent=2, allow_nan=False) + "\n")


def draw(path: Path, options: Options, results: list[Result]) -> None:
    """A row of charts per form: hot medians by query, load time and size."""
    forms = list(dict.fromkeys(result.form for result in results))
    figure, axes = plt.subplots(len(forms), 3, figsize=(14, 3.8 * len(forms)), squeeze=False,
                                width_ratios=[6, 1, 1], layout="constrained")
    colours = {"heap": "#4c72b0", "amax": "#dd8452", "duckdb": "#8c8c8c", "amax_early": "#c44e52", "amax_late": "#937860", "amax_ultra_late": "#55a868", "amax_join_index": "#8172b3"}
    for row, form in zip(axes, forms):
        contestants = [result for result in results if result.form == form]
        for result in contestants:
            mean = geometric_mean(_times(result, "hot"))
            # Points, not bars: a logarithmic axis has no zero to start from.
            row[0].plot(range(len(QUERIES)), [1e3 * t for t in _times(result, "hot")], "o:", linewidth=0.8,
                        label=f"{result.engine} (sum {shown(1e3 * sum(_times(result, 'hot')))} ms, geometric mean {shown(1e3 * mean)} ms)",
                        color=colours[result.engine])
        row[0].set_xticks(range(len(QUERIES)), [query.upper() for query in QUERIES])
        row[0].set(ylabel="ms, hot median", title=form)
        if any(t > 0 for result in contestants for t in _times(result, "hot")):
            row[0].set_yscale("log")
            row[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            row[0].yaxis.set_major_formatter("{x:,.10g}")
            row[0].yaxis.set_minor_formatter(NullFormatter())
        row[0].grid(axis="y", alpha=0.3)
        row[0].legend(fontsize="small")
        names = [result.engine for result in contestants]
        shades = [colours[name] for name in names]
        loads = [r.copy_seconds + r.settle_seconds for r in contestants]
        row[1].bar(names, [0.0 if math.isnan(load) else load for load in loads], color=shades)
        row[1].set(title="load, s")
        row[2].bar(names, [r.bytes / 1e6 for r in contestants], color=shades)
        row[2].set(title="size, MB")
    figure.suptitle(f"Star Schema Benchmark, SF {options.sf:g}, {options.workers} parallel workers")
    figure.savefig(path, dpi=110)
    plt.close(figure)
