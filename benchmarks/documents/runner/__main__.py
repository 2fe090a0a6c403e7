"""The command: load, query, compare, report."""

import json
import sys

import psycopg
from bench import samples

from . import compare, config, load, report


def main() -> int:
    options = config.parse()
    try:
        lines = {kind: samples.documents(options.data, kind) for kind in config.KINDS}
        load.prepare(options.dsn or "")
    except (OSError, psycopg.Error) as error:
        print(f"could not start: {error}", file=sys.stderr)
        return 2
    dsn, results = options.dsn or "", {}
    for kind in config.KINDS:
        print(f"{kind}: loading", file=sys.stderr)
        results[kind] = {"bytes": len(lines[kind]), "load": load.load_all(dsn, kind, lines[kind], options.repeat)}
    for kind, result in results.items():
        print(f"{kind}: queries", file=sys.stderr)
        result["queries"] = compare.run_queries(dsn, config.queries(kind), options.repeat, options.workers)
        result["except_all"] = {variant: compare.except_all(dsn, kind, variant) for variant in load.VARIANTS if variant != "heap"}
    failures = report.failures(results)
    tables = report.markdown(results)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "documents.md").write_text(tables)
    (options.out / "documents.json").write_text(json.dumps(
        {"repeat": options.repeat, "workers": options.workers, "bars": config.BARS, "failures": failures,
         "samples": results}, indent=1))
    print(tables)
    for line in failures:
        print(line)
    if failures:
        return 1
    print("all answers agree, all bars hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
