"""The command: load both tables, run every load on both, report."""

import json
import subprocess
import sys
from datetime import datetime, timezone
from statistics import median

import psycopg
from bench.numbers import machine, shown

from . import config, pgbench, tables
from .config import LOADS, SYSTEMS, Options

REPORTED = ["server_version", "shared_buffers", "fsync", "synchronous_commit", "max_wal_size", "amax.decode_cache"]


def _measure(options: Options) -> list[dict]:
    runs = []
    for name in options.loads:
        for clients in options.clients:
            found = {system: [] for system in SYSTEMS}
            for round_ in range(options.repeat):
                for system in SYSTEMS if round_ % 2 == 0 else reversed(SYSTEMS):
                    if options.warm_up and round_ == 0:
                        pgbench.run(options, system, name, clients, options.warm_up)
                    found[system].append(pgbench.run(options, system, name, clients, options.seconds))
            tps = {system: median(run["tps"] for run in found[system]) for system in SYSTEMS}
            ratio = tps["amax"] / tps["heap"]
            runs.append({"load": name, "clients": clients, "tps": tps, "ratio": ratio, "bar": LOADS[name].bar, "runs": found})
            print(f"{name}, {clients} clients: heap {tps['heap']:.0f}, amax {tps['amax']:.0f} tps, {ratio:.2f}", file=sys.stderr)
        if LOADS[name].writes:
            for system in SYSTEMS:
                with tables.connect(options, system) as session:
                    tables.settle(session)
    return runs


def _markdown(options: Options, loads: dict, runs: list[dict]) -> str:
    lines = [f"| {options.rows:,} documents | heap, tps | amax, tps | amax / heap | bar |", "|---|---:|---:|---:|---:|"]
    for run in runs:
        plural = "s" if run["clients"] > 1 else ""
        missed = "" if run["ratio"] >= run["bar"] else " **missed**"
        lines.append(f"| {run['load']}, {run['clients']} client{plural} | {shown(run['tps']['heap'], 0)} | {shown(run['tps']['amax'], 0)}"
                     f" | {run['ratio']:.2f} | {run['bar']:.2f}{missed} |")
    for key, label in (("table_bytes", "table, MB"), ("index_bytes", "indexes, MB")):
        values = [loads[system][key] / 1e6 for system in SYSTEMS]
        lines.append(f"| {label} | {shown(values[0])} | {shown(values[1])} | {values[1] / values[0]:.2f} | |")
    return "\n".join(lines) + "\n"


def main() -> int:
    options = config.parse()
    try:
        with psycopg.connect(options.dsn) as session:
            session.execute("CREATE EXTENSION IF NOT EXISTS amax")
            session.execute("SELECT amax.load()")
            about = {name: session.execute("SELECT current_setting(%s, true)", (name,)).fetchone()[0] for name in REPORTED}
        loads = {}
        for system in SYSTEMS:
            print(f"{system}: {'looking' if options.reuse else 'loading'}", file=sys.stderr)
            if options.reuse:
                with tables.connect(options, system) as session:
                    loads[system] = tables.size(session, system)
            else:
                loads[system] = tables.load(options, system)
    except (psycopg.Error, subprocess.CalledProcessError, OSError, RuntimeError) as error:
        print(f"could not start: {error}", file=sys.stderr)
        return 2
    failures, runs = [], []
    if loads["amax"]["columnar_rows"] < options.rows * 0.9:
        failures.append(f"only {loads['amax']['columnar_rows']} of {options.rows} rows are columnar")
    try:
        runs = _measure(options)
        failures += tables.differences(options)
    except (RuntimeError, psycopg.Error) as error:
        failures.append(str(error))
    table = _markdown(options, loads, runs)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "points.md").write_text(table)
    (options.out / "points.json").write_text(json.dumps(
        {"finished": datetime.now(timezone.utc).isoformat(timespec="seconds"), "machine": machine(), "server": about,
         "options": {"rows": options.rows, "seconds": options.seconds, "warm_up": options.warm_up, "settings": options.settings},
         "loads": loads, "runs": runs, "failures": failures}, indent=1) + "\n")
    print(table)
    for line in failures:
        print(line)
    if not options.keep:
        for system in SYSTEMS:
            tables.drop(options, system)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
