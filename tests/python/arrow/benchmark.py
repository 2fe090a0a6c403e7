#!/usr/bin/env python3
"""Rows and megabytes per second of each way from a table into a DataFrame. Server: the PG* variables.

    python benchmark.py [--rows 1000000] [--repeat 3]
"""

import argparse
import io
import statistics
import sys
import time
from pathlib import Path

import pandas as pd
import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "clients" / "python"))
import recipes

TABLE = """
    CREATE TEMP TABLE benchmark AS
    SELECT g AS id, (g % 1000)::int4 AS key, (g * 0.37)::numeric(12,2) AS price, g / 7.0::float8 AS ratio,
           'customer ' || md5(g::text) AS name, (ARRAY['AIR', 'RAIL', 'SHIP', 'TRUCK'])[g % 4 + 1] AS mode,
           date '1992-01-01' + (g % 2500)::int AS day, timestamptz '2024-01-01' + g * interval '1 s' AS at
    FROM generate_series(1::int8, {rows}) g
"""
QUERY = "SELECT * FROM benchmark"


def csv_to_pandas(db):
    with db.cursor() as cursor, cursor.copy(f"COPY ({QUERY}) TO STDOUT (FORMAT csv, HEADER)") as copy:
        return pd.read_csv(io.BytesIO(b"".join(copy)), parse_dates=["day", "at"])


def rows_to_pandas(db):
    cursor = db.execute(QUERY)
    return pd.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description])


WAYS = {
    "psycopg rows -> pandas": rows_to_pandas,
    "COPY csv -> pandas": csv_to_pandas,
    "COPY arrow -> pandas": lambda db: recipes.to_pandas(db, QUERY),
    "COPY arrow -> polars": lambda db: recipes.to_polars(db, QUERY),
    "COPY arrow -> pyarrow": lambda db: recipes.to_pyarrow(db, QUERY),
    "amax.arrow -> pyarrow": lambda db: recipes.through_select(db, QUERY),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with psycopg.connect(autocommit=True) as db:
        db.execute("CREATE EXTENSION IF NOT EXISTS amax")
        db.execute("SELECT amax.load()")
        db.execute(TABLE.format(rows=arguments.rows))
        db.execute("VACUUM benchmark")
        megabytes = recipes.to_pyarrow(db, QUERY).nbytes / 1e6
        print(f"{arguments.rows} rows, {megabytes:.0f} MB as Arrow; median of {arguments.repeat}")
        started = time.perf_counter()
        db.execute("SELECT count(b) FROM benchmark b")
        print(f"{'(reading the table alone)':26} {time.perf_counter() - started:7.2f} s")
        for name, way in WAYS.items():
            times = []
            for _ in range(arguments.repeat):
                started = time.perf_counter()
                assert len(way(db)) == arguments.rows
                times.append(time.perf_counter() - started)
            seconds = statistics.median(times)
            print(f"{name:26} {seconds:7.2f} s  {arguments.rows / seconds:12,.0f} rows/s  {megabytes / seconds:7.0f} MB/s")


if __name__ == "__main__":
    main()
