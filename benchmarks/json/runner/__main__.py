"""The command: generate, measure every system, compare, report."""

import subprocess
import sys

import psycopg
from bench.answers import differences

from . import config, data, report, systems
from .measure import measure


def main() -> int:
    options = config.parse()
    try:
        if set(options.systems) - {"duckdb", "clickhouse"}:
            psycopg.connect(options.dsn).close()
        files = data.prepare(options)
    except (psycopg.OperationalError, subprocess.CalledProcessError, OSError) as error:
        print(f"could not start: {error}", file=sys.stderr)
        return 2
    results = []
    for name in options.systems:
        system = systems.make(name, options)
        result = measure(system, files, options, lambda what: print(f"{name}: {what}", file=sys.stderr))
        results.append(result)
        if not options.keep:
            try:
                system.drop()
            except Exception as error:  # keep what was measured
                result.errors.append(f"could not drop the tables: {error}".strip())
    failures = [f"{result.system}: {error}" for result in results for error in result.errors]
    failures += differences({result.system: result.answers for result in results})
    table = report.markdown(options, files, results)
    options.out.mkdir(parents=True, exist_ok=True)
    stem = options.out / options.label
    stem.with_suffix(".md").write_text(table)
    report.write_json(stem.with_suffix(".json"), options, files, results, failures)
    report.draw(stem.with_suffix(".png"), options, files, results)
    print(table)
    print(f"results: {stem}.md, .json, .png")
    for line in failures:
        print(line)
    if failures:
        return 1
    print(f"all answers of {len(results)} systems agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
