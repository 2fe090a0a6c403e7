"""Results as text and JSON."""

from bench.numbers import geometric_mean

from .config import BARS
from .load import VARIANTS


def failures(results: dict) -> list[str]:
    """What must not be: differing answers or rows, damage, missed bars."""
    found = []
    for kind, result in results.items():
        heap = result["load"]["heap"]
        for variant, load in result["load"].items():
            found += [f"{kind}: {variant}: {problem}" for problem in load.get("problems", [])]
            if load["rows"] != heap["rows"]:
                found.append(f"{kind}: {variant} has {load['rows']} rows, heap {heap['rows']}")
            if load.get("component_rows") == 0:
                found.append(f"{kind}: {variant} has no columnar rows: COPY built no component")
        for variant, rows in result["except_all"].items():
            if any(rows.values()):
                found.append(f"{kind}: EXCEPT ALL with {variant}: {rows['missing']} rows missing, {rows['extra']} extra")
        for title, query in result["queries"].items():
            if not query["same"]:
                found.append(f"{kind}: {title}: {query.get('error', 'answers differ')}")
        for name, key in (("size", "size"), ("load", "seconds")):
            ratio = result["load"]["amax"][key] / heap[key]
            if ratio > BARS[kind][name]:
                found.append(f"{kind}: {name} is {ratio:.2f} times heap's, more than {BARS[kind][name]}")
    return found


def markdown(results: dict) -> str:
    """The tables, in Markdown."""
    return "\n".join(_loads(results) + [line for kind in results for line in _queries(kind, results[kind])])


def _loads(results: dict) -> list[str]:
    lines = ["| | " + " | ".join(f"{kind}: {variant}" for kind in results for variant in VARIANTS) + " |",
             "|---|" + "---:|" * (len(results) * len(VARIANTS))]

    def add(label, key, digits=2):
        cells = []
        for result in results.values():
            for load in result["load"].values():
                base, value = result["load"]["heap"][key], load[key]
                cells.append("n/a" if value is None or not base else f"{value / base:.{digits}f}")
        lines.append(f"| {label} | " + " | ".join(cells) + " |")

    def add_megabytes(label, key):
        cells = [f"{load[key] / 1e6:.1f}" if load[key] is not None else "n/a"
                 for result in results.values() for load in result["load"].values()]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")

    add("COPY, time / heap", "seconds")
    add("size after COPY / heap", "size", 3)
    add("size after VACUUM / heap", "size_after_vacuum", 3)
    add_megabytes("size after COPY, MB", "size")
    add_megabytes("loading backend, rise of VmHWM, MB", "high_water")
    add_megabytes("loading backend, rise of RssAnon, MB", "private")
    return lines + [""]


def _queries(kind: str, result: dict) -> list[str]:
    lines = [f"| {kind} | rows | amax / heap, time | same answer |", "|---|---:|---:|---|"]
    for title, query in result["queries"].items():
        ratio = f"{query['amax'] / query['heap']:.2f}" if "amax" in query else "–"
        lines.append(f"| {title} | {query.get('rows', '–')} | {ratio} | {'yes' if query['same'] else '**no**'} |")
    mean = geometric_mean([query["amax"] / query["heap"] for query in result["queries"].values() if "amax" in query])
    lines.append(f"| geometric mean | | {mean:.2f} | |")
    for variant, rows in result["except_all"].items():
        lines.append(f"| EXCEPT ALL, heap and {variant}, both ways | {rows['missing'] + rows['extra']} | | |")
    return lines + [""]
