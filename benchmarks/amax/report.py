"""The tables, in Markdown."""

from bench.numbers import geometric_mean


def markdown(found, figures):
    parts = [_sizes(found, figures), _ingestion(found, figures), _queries(found, figures)]
    parts += [_lookups(result, figures) for result in found.values() if "lookups" in result]
    return "\n\n".join(part for part in parts if part)


def _table(head, lines):
    return "\n".join([f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}", *(f"| {' | '.join(line)} |" for line in lines)])


def _megabytes(bytes_):
    return f"{bytes_ / 1e6:,.1f}"


def _mean(ratios):
    return f"{geometric_mean(ratios):.3f}"


def _sizes(found, figures):
    lines, ratios = [], []
    for name, result in found.items():
        heap, amax = (result.get("copy", result.get("updates"))[system]["bytes"] for system in ("heap", "amax"))
        ratios.append(amax / heap)
        lines.append(
            [
                name,
                f"{result['documents']:,}",
                str(result["paths"]),
                _megabytes(result["text"]),
                _megabytes(heap),
                _megabytes(amax),
                f"{amax / heap:.3f}",
                figures.SIZE.get(name, ""),
            ]
        )
    lines.append(["geometric mean", "", "", "", "", "", _mean(ratios), ""])
    return _table(["size after VACUUM", "documents", "paths", "text, MB", "heap, MB", "amax, MB", "amax / heap", "paper"], lines)


WAYS = {"copy": "one COPY", "feed": "batches", "updates": "batches with updates"}


def _ingestion(found, figures):
    lines, ratios = [], []
    for name, result in found.items():
        for way, title in WAYS.items():
            if way in result:
                heap, amax = result[way]["heap"], result[way]["amax"]
                ratios.append(amax["load"] / heap["load"])
                paper = "" if way == "copy" else figures.INGESTION.get(name, "")
                cells = [f"{one[part]:,.2f}" for one in (heap, amax) for part in ("load", "vacuum")]
                lines.append([f"{name}, {title}", *cells, f"{ratios[-1]:.2f}", f"{_whole(amax) / _whole(heap):.2f}", paper])
    lines.append(["geometric mean", "", "", "", "", _mean(ratios), "", ""])
    return _table(["ingestion, s", "heap", "VACUUM", "amax", "VACUUM", "amax / heap", "with VACUUM", "paper"], lines)


def _whole(run):
    return run["load"] + run["vacuum"]


def _queries(found, figures):
    lines, ratios = [], []
    for name, result in found.items():
        for title, query in result.get("queries", {}).items():
            ratios.append(query["ratio"])
            paper = figures.QUERIES.get(name, {}).get(title.split(",")[0], "")
            lines.append([f"{name} {title}", *(f"{query[system]:,.1f}" for system in ("heap", "amax")), f"{query['ratio']:.3f}", paper, query["scans"]["amax"]])
    if not lines:
        return ""
    lines.append(["geometric mean", "", "", _mean(ratios), "", ""])
    return _table(["queries, ms", "heap", "amax", "amax / heap", "paper", "amax's scan"], lines)


def _lookups(result, figures):
    lines, ratios = [], []
    for number, by_selectivity in result["lookups"].items():
        scan = by_selectivity["scan"]
        for selectivity, query in by_selectivity.items():
            ratios.append(query["ratio"])
            is_scan = selectivity == "scan"
            title = f"{number} of all" if is_scan else f"{number} of {selectivity} %, rows: {result['rows'][selectivity]:,}"
            paper = "" if is_scan else f"{figures.LOOKUPS[number][figures.SELECTIVITIES.index(selectivity)]:.4f}"
            share = "" if is_scan else f"{query['amax'] / scan['amax']:.4f}"
            lines.append([title, f"{query['heap']:,.2f}", f"{query['amax']:,.2f}", f"{query['ratio']:.3f}", share, paper, query["scans"]["amax"]])
    lines.append(["geometric mean", "", "", _mean(ratios), "", "", ""])
    return _table(["look-ups by time: columns", "heap, ms", "amax, ms", "amax / heap", "amax / its scan", "paper: AMAX / its scan", "amax's scan"], lines)
