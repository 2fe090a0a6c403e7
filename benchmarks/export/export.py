"""Rows out of PostgreSQL into Python as CSV, as Arrow and through drivers, and back in; time, and peaks of memory. All default."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pyarrow as pa
import pyarrow.parquet as pq
import recipes
from bench.generator import build
from bench.numbers import machine
from ways import DRIVERS, FILE, FLIGHT, IN, OUT, STRUCT, connect

HERE = Path(__file__).parent
SCHEMA = (HERE.parent / "ssb/sql/relational/schema.sql").read_text()
LINEORDER = SCHEMA[SCHEMA.index("CREATE TABLE lineorder"):]
SYSTEMS = ("heap", "amax")
# How much of lineorder is in row pages, in percent: what has been inserted and not flushed yet (Arrow paper, Fig. 15).
HOT = (0, 10, 50, 100)
PATHS = """SELECT doc->>'did' AS did, (doc->>'time_us')::bigint AS at, doc->>'kind' AS kind, doc->'commit'->>'collection' AS collection,
    doc->'commit'->>'operation' AS operation FROM export_events"""


def once(options, name, argument):
    command = [sys.executable, str(HERE / "ways.py"), options.flight if name in FLIGHT else options.dsn, name, argument]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def way(options, name, argument):
    """The median of several processes."""
    runs = [once(options, name, argument) for _ in range(options.repeat)]
    return sorted(runs, key=lambda run: run["seconds"])[len(runs) // 2]


def readers(options):
    """Ways out that are there."""
    return [*OUT, *DRIVERS, *(FLIGHT if options.flight else ())]


def prepare(session, options, directory):
    """lineorder in both systems, the events in amax, and files of both forms."""
    lines = subprocess.Popen([build("amax-ssb"), "gen", "--sf", str(options.sf), "--table", "lineorder", "--format", "csv", "--out", str(directory / "lineorder.csv")])
    if lines.wait():
        sys.exit("lineorder cannot be generated")
    session.execute("SET client_min_messages = warning; DROP SCHEMA IF EXISTS export_heap, export_amax CASCADE; DROP TABLE IF EXISTS export_events")
    for system in SYSTEMS:
        session.execute(f"CREATE SCHEMA export_{system}; SET search_path = export_{system}, public; SET default_table_access_method = {system}")
        session.execute(LINEORDER)
        IN["COPY csv"][0](session, "lineorder", directory / "lineorder.csv")
        session.execute("VACUUM (ANALYZE) lineorder")
    session.execute("CREATE TABLE public.export_events (doc jsonb)")
    with tempfile.NamedTemporaryFile() as events:
        subprocess.run([build("amax-events"), "--events", str(options.events)], check=True, stdout=events)
        with session.cursor().copy("COPY export_events FROM STDIN (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')") as copy, open(events.name, "rb") as source:
            while part := source.read(1 << 20):
                copy.write(part)
    session.execute("VACUUM (ANALYZE) export_events")
    table = recipes.to_pyarrow(session, "SELECT * FROM export_amax.lineorder")
    with pa.OSFile(str(directory / "lineorder.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=65536)
    pq.write_table(table, directory / "lineorder.parquet")
    return table.num_rows, table.nbytes / 1e6


def warm(session):
    """What the server's caches hold of what is read."""
    session.execute("SELECT count(*), min(lo_orderpriority), sum(lo_revenue) FROM export_amax.lineorder")


def out(options, session, directory, megabytes):
    print(f"\n| lineorder out | heap, s | MB/s | client, MB | server, MB | amax, s | MB/s | client, MB | server, MB | amax / heap |\n|---|{'---:|' * 9}")
    found = {}
    for name in readers(options):
        cells = []
        for system in SYSTEMS:
            run = way(options, name, f"SELECT * FROM export_{system}.lineorder")
            found[name, system] = run
            cells.append(f"{run['seconds']:.2f} | {megabytes / run['seconds']:,.0f} | {run['client']:,.0f} | {shown(run['server'])}")
        ratio = found[name, "amax"]["seconds"] / found[name, "heap"]["seconds"]
        print(f"| {name} | {' | '.join(cells)} | {ratio:.2f} |", flush=True)
    run = way(options, FILE, str(directory / "lineorder.arrow"))
    found[FILE, "amax"] = run
    print(f"| {FILE} | | | | | {run['seconds']:.2f} | {megabytes / run['seconds']:,.0f} | {run['client']:,.0f} | – | |", flush=True)
    return found


def shown(peak):
    return "–" if peak is None else f"{peak:,.0f}"


def paths(options):
    print(f"\n| five paths of {options.events:,} events out of amax | s |\n|---|---:|")
    for name in readers(options):
        print(f"| {name} | {way(options, name, PATHS)['seconds']:.2f} |", flush=True)
    print(f"\n| {options.events:,} documents out of amax | s | client, MB | server, MB |\n|---|---:|---:|---:|")
    for name in ["COPY arrow, pyarrow", *STRUCT]:
        run = way(options, name, "SELECT doc FROM export_events")
        print(f"| {name} | {run['seconds']:.2f} | {run['client']:,.0f} | {shown(run['server'])} |", flush=True)


def hot(options, session, directory, megabytes):
    """COPY arrow of tables of which a part is in row pages."""
    print("\n| in row pages | COPY arrow, pyarrow, s | MB/s |\n|---|---:|---:|")
    names = ", ".join(row[0] for row in session.execute("SELECT attname FROM pg_attribute WHERE attrelid = 'export_heap.lineorder'::regclass AND attnum > 0 ORDER BY attnum"))
    for percent in HOT:
        session.execute("DROP TABLE IF EXISTS export_amax.part; CREATE TABLE export_amax.part (LIKE export_amax.lineorder) USING amax")
        chosen = f"SELECT {names} FROM export_heap.lineorder WHERE lo_orderkey % 100"
        session.execute(f"INSERT INTO export_amax.part {chosen} >= {percent}")
        session.execute("SET amax.bulk_threshold = 2000000000; SET amax.flush_inline = off")
        session.execute(f"INSERT INTO export_amax.part {chosen} < {percent}")
        session.execute("RESET amax.bulk_threshold; RESET amax.flush_inline; ANALYZE export_amax.part")
        seconds = way(options, "COPY arrow, pyarrow", "SELECT * FROM export_amax.part")["seconds"]
        print(f"| {percent} % | {seconds:.2f} | {megabytes / seconds:,.0f} |", flush=True)
    session.execute("DROP TABLE export_amax.part")


def rows_of(session, table):
    return session.execute(f"SELECT count(*), sum(hashtextextended(l::text, 0)) FROM {table} l").fetchone()


def back(options, session, directory):
    print("\n| lineorder in | heap, s | amax, s | amax / COPY csv into amax |\n|---|---:|---:|---:|")
    csv, expected = None, rows_of(session, "export_heap.lineorder")
    for name, (_, form) in IN.items():
        seconds = {}
        for system in SYSTEMS:
            times = []
            for _ in range(options.repeat):
                session.execute(f"DROP TABLE IF EXISTS export_{system}.back; CREATE TABLE export_{system}.back (LIKE export_{system}.lineorder) USING {system}")
                session.execute("CHECKPOINT")
                times.append(once(options, name, f"export_{system}.back={directory}/lineorder.{form}")["seconds"])
            if rows_of(session, f"export_{system}.back") != expected:
                sys.exit(f"{name} into {system}: other rows")
            seconds[system] = statistics.median(times)
        csv = csv or seconds["amax"]
        print(f"| {name} | {seconds['heap']:.2f} | {seconds['amax']:.2f} | {seconds['amax'] / csv:.2f} |", flush=True)


def chart(found, megabytes, path):
    names = list(dict.fromkeys(name for name, _ in found))
    figure, axes = plt.subplots(figsize=(9, 4))
    for offset, system in enumerate(SYSTEMS):
        speeds = [megabytes / found[name, system]["seconds"] if (name, system) in found else 0 for name in names]
        axes.barh([at + 0.4 * offset for at in range(len(names))], speeds, 0.38, label=system)
    axes.set_yticks([at + 0.2 for at in range(len(names))], names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("MB of Arrow a second")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--flight", metavar="URI", help="grpc://ROLE:PASSWORD@HOST:PORT of services/flight-sql before the same database; without it that way is left out")
    parser.add_argument("--sf", type=float, default=1, help="of lineorder (default 1: 6 million rows)")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="processes for each way; the median counts")
    parser.add_argument("--out", type=Path, required=True, help="directory for the chart and the figures as JSON")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    print(machine(), file=sys.stderr)
    if not options.flight:
        print("without Flight SQL: no --flight", file=sys.stderr)
    with connect(options.dsn) as session, tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        rows, megabytes = prepare(session, options, directory)
        print(f"{rows:,} rows of lineorder, {megabytes:,.0f} MB as Arrow")
        warm(session)
        found = out(options, session, directory, megabytes)
        paths(options)
        hot(options, session, directory, megabytes)
        back(options, session, directory)
        chart(found, megabytes, options.out / "export.png")
        figures = {f"{name}, {system}": run for (name, system), run in found.items()}
        (options.out / "export.json").write_text(json.dumps({"machine": machine(), "megabytes": megabytes, "out": figures}, indent=1))
        session.execute("DROP SCHEMA export_heap, export_amax CASCADE; DROP TABLE export_events")


if __name__ == "__main__":
    main()
