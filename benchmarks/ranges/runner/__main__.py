"""The command: load both tables, run every load on both in turn, report."""

import json
import sys
from datetime import datetime, timezone
from statistics import median

import psycopg
from bench.numbers import machine, plain

from . import config, pgbench, report, tables
from .config import SYSTEMS, Options
from .pgbench import Load

REPORTED = ["server_version", "shared_buffers", "fsync", "synchronous_commit", "max_wal_size", "work_mem", "max_parallel_workers_per_gather", "autovacuum", "amax.decode_cache"]


def _measure(options: Options, loads: list[Load], updates: dict[str, int]) -> dict:
    """Throughput of the first load, milliseconds of its reads, and of all updates, by system. Adds to the number of updates."""
    found = {system: {"runs": [], "reads": [], "updates": []} for system in SYSTEMS}
    for round_ in range(options.repeat):
        for system in SYSTEMS if round_ % 2 == 0 else reversed(SYSTEMS):
            done = pgbench.run(options, system, loads)
            found[system]["runs"].append(sum(map(len, done[0].milliseconds.values())) / done[0].seconds)
            for part in done:
                updates[system] += part.updates
                for name, milliseconds in part.milliseconds.items():
                    found[system]["updates" if name == "update" else "reads"] += milliseconds
    for of in found.values():
        of["tps"] = median(of["runs"])
        of["reads"].sort()
        of["updates"].sort()
    return found


def _all(options: Options, updates: dict[str, int]) -> tuple[list[dict], list[dict]]:
    mixes, beside = [], []
    for starts in options.starts:
        for kind in options.kinds:
            for clients in options.clients:
                weights = {kind: 100 - options.updates} | ({"update": options.updates} if options.updates else {})
                mixes.append({"kind": kind, "starts": starts, "clients": clients} | _measure(options, [Load(starts, weights, clients)], updates))
                _progress(mixes[-1])
            if options.writers:
                loads = [Load(starts, {kind: 1}, options.readers), Load(starts, {"update": 1}, options.writers, options.rate)]
                beside.append({"kind": kind, "starts": starts, "clients": None} | _measure(options, loads, updates))
                _progress(beside[-1])
    return mixes, beside


def _progress(run: dict) -> None:
    tps = [run[system]["tps"] for system in SYSTEMS]
    where = f"{run['clients']} clients" if run["clients"] else "beside writers"
    print(f"{run['kind']}, {run['starts']}, {where}: heap {tps[0]:.1f}, amax {tps[1]:.1f} tps, {tps[1] / tps[0]:.2f}", file=sys.stderr)


def _summary(run: dict) -> dict:
    """What the JSON has of a run: percentiles and counts instead of all transactions."""
    def of(system: str) -> dict:
        percentiles = {what: {f"p{percent}": report.percentile(run[system][what], percent) for percent in report.PERCENTS} | {"transactions": len(run[system][what])}
                       for what in ("reads", "updates")}
        return percentiles | {"tps": run[system]["tps"], "runs": run[system]["runs"]}

    return {key: run[key] for key in ("kind", "starts", "clients")} | {system: of(system) for system in SYSTEMS}


def main() -> int:
    options = config.parse()
    try:
        with psycopg.connect(options.dsn, autocommit=True) as session:
            session.execute("CREATE EXTENSION IF NOT EXISTS amax")
            session.execute("SELECT amax.load()")
            about = {name: session.execute("SELECT current_setting(%s, true)", (name,)).fetchone()[0] for name in REPORTED}
        loads = {}
        for system in SYSTEMS:
            print(f"{system}: loading", file=sys.stderr)
            loads[system] = tables.load(options, system)
    except (psycopg.Error, OSError) as error:
        print(f"could not start: {error}", file=sys.stderr)
        return 2
    failures, mixes, beside = [], [], []
    try:
        failures += tables.differing_answers(options)
        updates = dict.fromkeys(SYSTEMS, 0)
        mixes, beside = _all(options, updates)
        failures += tables.differences(options, updates)
    except (RuntimeError, OSError, psycopg.Error) as error:
        failures.append(str(error))
    table = report.markdown(options, loads, mixes, beside)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "ranges.md").write_text(table)
    given = {key: value for key, value in vars(options).items() if key not in ("dsn", "pgbench", "out", "keep")}
    (options.out / "ranges.json").write_text(json.dumps(plain(
        {"finished": datetime.now(timezone.utc).isoformat(timespec="seconds"), "machine": machine(), "server": about, "options": given,
         "loads": loads, "mixes": [_summary(run) for run in mixes], "beside": [_summary(run) for run in beside], "failures": failures}), indent=1) + "\n")
    print(table)
    for line in failures:
        print(line)
    if not options.keep:
        tables.drop(options)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
