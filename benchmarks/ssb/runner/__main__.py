"""The command: generate, measure every engine and form, compare, report."""

import subprocess
import sys

import psycopg
from bench.answers import differences
from bench.generator import build
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from . import config, data, engines, report
from .measure import Result, measure


def _run(options: config.Options, console: Console) -> tuple[list[Result], dict]:
    results, manifests = [], {}
    columns = TextColumn("{task.description:<44}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        # A contestant's steps: its load, cold and hot runs, a third each.
        overall = progress.add_task("preparing", total=3.0 * len(options.forms) * len(options.engines))
        generator = options.generator or build("amax-ssb")
        for form in options.forms:
            progress.update(overall, description=f"{form}: generating")
            files = data.generate(options, generator, form)
            manifests[form] = files.manifest
            total = sum(files.path(table).stat().st_size for table in config.TABLES)
            for name in options.engines:
                engine = engines.make(name, form, options)
                label = f"{form}: {name}"
                done = progress.tasks[0].completed
                progress.update(overall, description=f"{label} load")

                def loaded(count, total=total):
                    progress.advance(overall, count / total)

                def ran(label=label):
                    progress.update(overall, advance=1 / len(config.QUERIES), description=f"{label} queries")

                result = measure(engine, files, options, loaded, ran)
                progress.update(overall, completed=done + 3)
                results.append(result)
                if not options.keep:
                    _drop(engine, result)
                if not console.is_terminal:
                    print(f"{label}: {'failed' if result.errors else 'done'}", file=sys.stderr)
    return results, manifests


def _drop(engine: engines.Engine, result: Result) -> None:
    try:
        engine.drop()
    except Exception as error:  # keep what was measured
        result.errors.append(f"could not drop the tables: {error}".strip())


def _failures(results: list[Result]) -> list[str]:
    """Errors, and differences between all engines and both forms."""
    errors = [f"{result.name}: {error}" for result in results for error in result.errors]
    of_all = {result.name: result.answers for result in results}, {result.name: result.changed_answers for result in results}
    return errors + [line for of in of_all for line in differences(of)]


def main() -> int:
    options = config.parse()
    console = Console(width=None if sys.stdout.isatty() else 120)
    if set(options.engines) - {"duckdb"}:
        try:
            psycopg.connect(options.dsn).close()
        except psycopg.OperationalError as error:
            print(f"could not connect to PostgreSQL: {error}", file=sys.stderr)
            return 2
    try:
        results, manifests = _run(options, console)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"could not generate the data: {error}", file=sys.stderr)
        return 2
    failures = _failures(results)
    report.print_tables(console, results)
    options.out.mkdir(parents=True, exist_ok=True)
    stem = options.out / f"ssb-{options.label}"
    report.write_json(stem.with_name(stem.name + ".json"), options, results, manifests, failures)
    report.draw(stem.with_name(stem.name + ".png"), options, results)
    console.print(f"results: {stem}.json, {stem}.png", soft_wrap=True)
    for line in failures:
        console.print(line, style="red", markup=False, soft_wrap=True)
    if failures:
        return 1
    console.print(f"all {len(config.QUERIES)} answers of {len(results)} contestants agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
