"""What postgres_exporter gives by monitoring/queries.yaml is what the views say, and the dashboard asks for nothing else.

    exporter.py MONITORING-FOLDER EXPORTER
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import psycopg

LINE = re.compile(r"(?P<name>amax_\w+)(?:{(?P<labels>[^}]*)})? (?P<value>\S+)$")


def main():
    folder, exporter = pathlib.Path(sys.argv[1]), sys.argv[2]
    failures = []
    with psycopg.connect("", autocommit=True) as db:
        prepare(db)
        metrics = scraped(folder / "queries.yaml", exporter, db)
        tests = [
            ("counts of tables", lambda: same(metrics, db, "amax_stat_tables", "SELECT * FROM amax.stat_tables")),
            ("what is columnar", lambda: same(metrics, db, "amax_tables", "SELECT c.relname, t.columnar_rows, t.columnar_bytes, t.rows AS row_page_rows, "
             "t.bytes AS row_page_bytes FROM amax.tables t JOIN pg_class c ON c.oid = t.\"table\"::oid")),
            ("the cache", lambda: same(metrics, db, "amax_stat_cache", "SELECT * FROM amax.stat_cache")),
            ("the dashboard", lambda: dashboard(json.loads((folder / "grafana.json").read_text()), {name for name, _ in metrics})),
        ]
        for name, test in tests:
            try:
                print(f"ok      {name}: {test()}")
            except AssertionError as error:
                failures.append(name)
                print(f"FAILED  {name}: {error}")
    print(f"{len(tests) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


def prepare(db):
    db.execute("CREATE EXTENSION amax")
    for table in ("visits", "orders"):
        db.execute(f"CREATE TABLE {table} (id int, doc jsonb) USING amax")
        db.execute(f"INSERT INTO {table} SELECT i, jsonb_build_object('i', i) FROM generate_series(1, 50000) i")
        db.execute(f"INSERT INTO {table} SELECT i, jsonb_build_object('i', i) FROM generate_series(50001, 50500) i")
        db.execute(f"SELECT amax.flush('{table}')")
        db.execute(f"SELECT count(*) FROM {table} WHERE (doc->>'i')::int < 100")


def scraped(queries, exporter, db):
    """By name and table what the exporter says."""
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{any_port.getsockname()[1]}"
    info = db.info
    source = f"host={info.host} port={info.port} user={info.user} dbname={info.dbname} sslmode=disable"
    command = [exporter, f"--extend.query-path={queries}", f"--web.listen-address={address}", "--disable-default-metrics", "--disable-settings-metrics"]
    process = subprocess.Popen(command, env={**os.environ, "DATA_SOURCE_NAME": source})
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                text = urllib.request.urlopen(f"http://{address}/metrics", timeout=10).read().decode()
                break
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
    finally:
        process.terminate()
        process.wait()
    found = {}
    for line in filter(None, map(LINE.match, text.splitlines())):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', line["labels"] or ""))
        found[line["name"], labels.get("relname")] = float(line["value"])
    return found


def same(metrics, db, prefix, query):
    cursor = db.execute(query)
    names = [column.name for column in cursor.description]
    checked = 0
    for row in map(lambda row: dict(zip(names, row)), cursor):
        for name, value in row.items():
            key = (f"{prefix}_{name}", row.get("relname"))
            if isinstance(value, int) and name not in ("relid", "segments"):
                assert metrics.get(key) == value, f"{key} is {metrics.get(key)}, not {value}"
                checked += 1
    assert checked >= 5, f"{checked} values"
    return f"{checked} values"


def dashboard(board, names):
    asked = set()
    for panel in board["panels"]:
        assert panel["title"] and panel["targets"], panel["id"]
        asked |= {name for target in panel["targets"] for name in re.findall(r"amax_\w+", target["expr"])}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    assert asked <= names, f"there is no {', '.join(sorted(asked - names))}"
    return f"{len(board['panels'])} panels of {len(asked)} numbers"


if __name__ == "__main__":
    sys.exit(main())
