"""The tables, in Markdown."""

from bench.numbers import geometric_mean


def markdown(text, tables, figures):
    parts = [_sizes(text, tables)]
    for schema, indexes in dict.fromkeys((figure["schema"], figure["indexes"]) for figure in figures):
        parts.append(_queries(schema, indexes, [figure for figure in figures if (figure["schema"], figure["indexes"]) == (schema, indexes)]))
    return "\n\n".join(parts)


def _table(head, lines):
    return "\n".join([f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}", *(f"| {' | '.join(line)} |" for line in lines)])


def _sizes(text, tables):
    head = [f"{sum(text.values()) / 1e6:,.1f} MB of text", "time, s", "tables, MB", "indexes, MB"]
    return _table(
        head,
        [
            [f"{one['schema']}, {one['indexes']}, {one['system']}", f"{one['seconds']:,.2f}", f"{one['bytes'] / 1e6:,.1f}", f"{one['index bytes'] / 1e6:,.1f}"]
            for one in tables
        ],
    )


def _queries(schema, indexes, figures):
    has_duckdb = any("duckdb" in figure["ms"] for figure in figures)
    lines, beside_heap, beside_duckdb = [], [], []
    for figure in figures:
        ms = figure["ms"]
        beside_heap.append(ms["amax"] / ms["heap"])
        cells = [
            f"{figure['query']}: {figure['size']}",
            "" if figure["rows"] is None else f"{figure['rows']:,}",
            f"{ms['heap']:,.2f}",
            f"{ms['amax']:,.2f}",
            f"{beside_heap[-1]:.2f}",
        ]
        if has_duckdb and "duckdb" in ms:
            beside_duckdb.append(ms["amax"] / ms["duckdb"])
            cells += [f"{ms['duckdb']:,.2f}", f"{beside_duckdb[-1]:.2f}"]
        cells += [""] * (2 * has_duckdb - len(cells) + 5)
        lines.append([*cells, figure["scans"]["amax"] if figure["scans"] else ""])
    means = ["geometric mean", "", "", "", f"{geometric_mean(beside_heap):.2f}"]
    lines.append([*means, *["", f"{geometric_mean(beside_duckdb):.2f}"] * has_duckdb, ""])
    head = [f"{schema}, {indexes}", "rows", "heap, ms", "amax, ms", "amax / heap"] + ["DuckDB, ms", "amax / DuckDB"] * has_duckdb + ["amax's scan"]
    return _table(head, lines)
