"""The recipes and the script in clients/python."""

import os
import subprocess
import sys
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import recipes
from conftest import CLIENTS

QUERY = (
    "SELECT g AS id, CASE WHEN g % 3 > 0 THEN 'row ' || g END AS name, (g / 8.0)::numeric(10,3) AS price,"
    " jsonb_build_object('g', g) AS doc, timestamptz '2024-01-01 00:00+00' + g * interval '1 hour' AS at"
    " FROM generate_series(1, 100) g"
)


@pytest.fixture
def expected(db):
    return [row[:3] for row in db.execute(QUERY)]


def test_pyarrow(db, expected):
    for read in (recipes.to_pyarrow, recipes.through_select):
        table = read(db, QUERY)
        assert list(zip(*(table[name].to_pylist() for name in ("id", "name", "price")))) == expected


def test_batches(db, expected):
    db.execute("SET amax.arrow_batch_rows = 30")
    parts = list(recipes.batches(db, QUERY))
    assert [part.num_rows for part in parts] == [30, 30, 30, 10]
    assert [row["id"] for part in parts for row in part.to_pylist()] == [row[0] for row in expected]
    assert db.execute("SELECT 1").fetchone() == (1,)


def test_pandas(db, expected):
    frame = recipes.to_pandas(db, QUERY)
    assert isinstance(frame, pd.DataFrame)
    assert frame["price"].sum() == sum(row[2] for row in expected)
    assert frame["name"].isna().sum() == sum(row[1] is None for row in expected)


def test_polars(db, expected):
    frame = recipes.to_polars(db, QUERY)
    assert frame.schema["price"] == pl.Decimal(10, 3)
    assert frame.select("id", "name", "price").rows() == expected


@pytest.mark.parametrize("read", ["pyarrow", "pandas", "polars", "duckdb"])
def test_load(db, expected, read):
    """A result as somebody's frame, and back into a table."""
    query = f"SELECT id, name, price, at FROM ({QUERY}) q"
    db.execute("DROP TABLE IF EXISTS loaded; CREATE TABLE loaded (at timestamptz, price numeric(10,3), name text, id int) USING amax")
    with duckdb.connect() as duck:
        if read == "duckdb":
            recipes.to_duckdb(db, query, duck, "result")
            frame = duck.sql("SELECT * FROM result")
        else:
            frame = getattr(recipes, f"to_{read}")(db, query)
        recipes.load(db, frame, "public.loaded")
    assert db.execute("SELECT id, name, price FROM loaded ORDER BY id").fetchall() == expected
    assert db.execute(f"SELECT count(*) FROM loaded JOIN ({QUERY}) q USING (id, at)").fetchone() == (100,)
    db.execute("DROP TABLE loaded")


def test_duckdb(db, expected):
    with duckdb.connect() as duck:
        recipes.to_duckdb(db, QUERY, duck, "My result")
        assert duck.execute('SELECT id, name, price FROM "My result" ORDER BY id').fetchall() == expected
        assert duck.execute("SELECT sum((doc->>'g')::int) FROM \"My result\"").fetchone() == (5050,)
        types = dict(duck.execute("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'My result'").fetchall())
        assert types["price"] == "DECIMAL(10,3)" and types["doc"] == "JSON"


def test_numeric_recipe(db):
    table = recipes.to_pyarrow(db, "SELECT sum(g) AS t, sum(g)::numeric(18,2) AS d FROM generate_series(1, 3) g")
    assert table["t"].to_pylist() == ["6"] or table.schema.field("t").type == pa.int64()
    assert table["d"].to_pylist() == [Decimal("6.00")]


def test_chart(db, tmp_path):
    output = tmp_path / "crates.png"
    command = [sys.executable, str(CLIENTS / "chart.py"), "--output", str(output)]
    if method := os.environ.get("AMAX_ACCESS_METHOD"):
        command += ["--access-method", method]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MPLCONFIGDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert output.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and output.stat().st_size > 10_000
    rows = db.execute("SELECT count(DISTINCT left(doc->>'pubtime', 4)) FROM crates_chart WHERE doc ? 'pubtime'").fetchone()[0]
    assert f"shape: ({rows}, 3)" in done.stdout
    db.execute("DROP TABLE crates_chart")
