#!/usr/bin/env python3
"""Loads the sample documents, pulls an aggregate out through Arrow, draws a chart.

    python chart.py [--documents data/crates.jsonl.xz] [--output crates.png] [--access-method amax] [--dsn ...]

The server is found through --dsn or the PG* environment variables. The table `crates_chart` is made anew each time.
"""

import argparse
import lzma
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import polars as pl
import psycopg
from psycopg import sql

from recipes import to_polars

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "crates.jsonl.xz"

QUERY = """
    SELECT extract(year FROM (doc->>'pubtime')::timestamptz)::int AS year,
           count(*) AS releases,
           avg(jsonb_array_length(doc->'deps'))::float8 AS dependencies
    FROM crates_chart
    WHERE doc ? 'pubtime'
    GROUP BY 1
    ORDER BY 1
"""


def load(db, path, access_method):
    """One document per line, as it is: delimiter and quote are bytes that no document contains."""
    db.execute("DROP TABLE IF EXISTS crates_chart")
    db.execute(
        sql.SQL("CREATE TABLE crates_chart (doc jsonb) USING {}").format(sql.Identifier(access_method))
    )
    opened = lzma.open(path, "rb") if path.suffix == ".xz" else open(path, "rb")
    statement = "COPY crates_chart FROM STDIN WITH (FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\x02')"
    with opened as lines, db.cursor() as cursor, cursor.copy(statement) as copy:
        while chunk := lines.read(1 << 20):
            copy.write(chunk)
    return db.execute("SELECT count(*) FROM crates_chart").fetchone()[0]


def draw(frame, documents, output):
    """Releases per year as bars, dependencies per release as a line over them."""
    figure, releases = plt.subplots(figsize=(9, 5), layout="constrained")
    releases.bar(frame["year"].to_list(), frame["releases"].to_list(), color="tab:blue", alpha=0.6)
    releases.set_ylabel("releases")
    dependencies = releases.twinx()
    dependencies.plot(frame["year"].to_list(), frame["dependencies"].to_list(), color="tab:orange", marker="o")
    dependencies.set_ylabel("dependencies per release (mean)")
    dependencies.set_ylim(bottom=0)
    releases.set_title(f"Rust crates by year: {documents:,} sample documents")
    figure.savefig(output, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=Path, default=SAMPLE)
    parser.add_argument("--output", type=Path, default=Path("crates.png"))
    parser.add_argument("--access-method", default="amax")
    parser.add_argument("--dsn", default="")
    arguments = parser.parse_args()

    with psycopg.connect(arguments.dsn, autocommit=True) as db:
        documents = load(db, arguments.documents, arguments.access_method)
        db.execute("SELECT amax.load()")
        frame = to_polars(db, QUERY)

    draw(frame, documents, arguments.output)
    with pl.Config(tbl_rows=-1):
        print(frame)
    print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()
