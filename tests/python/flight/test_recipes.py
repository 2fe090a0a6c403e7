"""clients/python/flight_sql.py."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import flight_sql
from conftest import PASSWORDS


@pytest.fixture
def db(service):
    with flight_sql.connect(service.uri, "writer", PASSWORDS["writer"]) as connection:
        yield connection


def test_frames(db):
    query = "SELECT g AS a, NULLIF('v' || g, 'v2') AS b, g / 2.0 > $1 AS c FROM generate_series(1, 3) g"
    expected = {"a": [1, 2, 3], "b": ["v1", None, "v3"], "c": [False, False, True]}
    assert flight_sql.to_pyarrow(db, query, (1,)).to_pydict() == expected
    pandas = flight_sql.to_pandas(db, query, (1,))
    assert pandas["a"].dtype == pd.ArrowDtype(pa.int32()) and pandas["c"].to_list() == expected["c"]
    assert flight_sql.to_polars(db, query, (1,)).to_dict(as_series=False) == expected
    assert sum(batch.num_rows for batch in flight_sql.batches(db, "SELECT generate_series(1, 1000000)")) == 1_000_000


def test_by_the_libraries_themselves(db):
    assert pl.read_database("SELECT 1 AS a", db).to_dict(as_series=False) == {"a": [1]}
    assert pd.read_sql("SELECT 1 AS a", db).to_dict("list") == {"a": [1]}


@pytest.mark.parametrize("frame", [pd.DataFrame({"a": [1, 2], "b": ["x", None]}), pl.DataFrame({"a": [1, 2], "b": ["x", None]}),
                                   pa.table({"a": [1, 2], "b": ["x", None]})], ids=["pandas", "polars", "pyarrow"])
def test_load(db, frame):
    assert flight_sql.load(db, frame, "loaded", mode="replace") == 2
    assert flight_sql.load(db, frame, "loaded") == 2
    assert flight_sql.to_pyarrow(db, "SELECT a, b FROM loaded ORDER BY a").to_pydict() == {"a": [1, 1, 2, 2], "b": ["x", "x", None, None]}
