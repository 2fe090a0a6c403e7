"""The Star Schema Benchmark's queries, and what is said of its tables, by the ADBC and the JDBC driver: as PostgreSQL itself says it."""

import os
import pathlib
import subprocess
import sys

import psycopg
import pyarrow as pa
import pytest

from conftest import PASSWORDS, admin, own, run
from test_java import java

ROOT = pathlib.Path(__file__).resolve().parents[3]
SQL = ROOT / "benchmarks" / "ssb" / "sql" / "relational"
QUERIES = sorted(SQL.glob("q*.sql"), key=lambda path: path.name)
# Dimensions: their keys, and the columns of lineorder that refer to them.
DIMENSIONS = {"customer": ("c_custkey", "lo_custkey"), "date": ("d_datekey", "lo_orderdate"),
              "part": ("p_partkey", "lo_partkey"), "supplier": ("s_suppkey", "lo_suppkey")}
# As JDBC and ODBC number them.
TYPES = {"bigint": -5, "integer": 4, "text": 12}
SETTINGS = "-csearch_path=ssb"

sys.path.insert(0, str(ROOT / "benchmarks" / "common"))
from bench.generator import build  # noqa: E402


def load(directory):
    with admin(options=SETTINGS) as db:
        db.execute("CREATE SCHEMA ssb AUTHORIZATION writer")
        db.execute("SET default_table_access_method = amax")
        db.execute((SQL / "schema.sql").read_text())
        for table in (*DIMENSIONS, "lineorder"):
            with db.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)") as copy:
                copy.write((directory / f"{table}.csv").read_bytes())
            db.execute(f"ALTER TABLE {table} OWNER TO writer")
        db.execute("ALTER TABLE lineorder ADD PRIMARY KEY (lo_orderkey, lo_linenumber)")
        for table, (key, reference) in DIMENSIONS.items():
            db.execute(f"ALTER TABLE {table} ADD PRIMARY KEY ({key})")
            db.execute(f"ALTER TABLE lineorder ADD FOREIGN KEY ({reference}) REFERENCES {table}")
            db.execute(f"VACUUM (ANALYZE) {table}")
        db.execute("VACUUM (ANALYZE) lineorder")


@pytest.fixture(scope="module")
def star(roles, tmp_path_factory):
    """A service whose statements find the benchmark's tables: 60,000 rows of lineorder."""
    directory = tmp_path_factory.mktemp("ssb")
    subprocess.run([build("amax-ssb"), "all", "--sf", "0.01", "--out", directory], check=True)
    load(directory)
    with own(database=f"host={os.environ['PGHOST']} port={os.environ['PGPORT']} dbname=postgres options={SETTINGS}") as service:
        yield service


@pytest.fixture(scope="module")
def adbc(star):
    with star.connect() as db:
        yield db


@pytest.fixture(scope="module")
def jdbc(star):
    """All that is asked of the driver, by name: names of columns, and rows of text."""
    said = java(star, "ssb", *map(str, QUERIES), source=pathlib.Path(__file__).with_name("Ssb.java"))
    parts = [part.splitlines() for part in said.removeprefix("== ").split("\n== ")]
    return {name: [tuple(line.split("\t")) for line in lines] for name, *lines in parts}


@pytest.fixture(scope="module")
def postgres(star):
    with psycopg.connect(user="writer", password=PASSWORDS["writer"], options=SETTINGS) as db:
        yield db


def expected(postgres, query):
    """Names of columns, and rows."""
    cursor = postgres.execute(query)
    rows = cursor.fetchall()
    assert rows and None not in rows[0]
    return [tuple(column.name for column in cursor.description), *rows]


COLUMNS = """SELECT table_name, ordinal_position, column_name, data_type, is_nullable FROM information_schema.columns
    WHERE table_schema = 'ssb' ORDER BY table_name, ordinal_position"""


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_adbc_queries(adbc, postgres, path):
    query = path.read_text()
    table = run(adbc, query)
    assert [tuple(table.column_names), *(tuple(row.values()) for row in table.to_pylist())] == expected(postgres, query)


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_jdbc_queries(jdbc, postgres, path):
    assert jdbc[path.name] == [tuple(map(str, row)) for row in expected(postgres, path.read_text())]


def test_adbc_metadata(adbc, postgres):
    """Keys are not among what the driver (1.13) asks for."""
    assert adbc.adbc_get_info()["vendor_name"] == "PostgreSQL with amax"
    assert [found["catalog_name"] for found in adbc.adbc_get_objects(depth="catalogs").read_all().to_pylist()] == ["postgres"]
    (found,) = adbc.adbc_get_objects(depth="db_schemas", db_schema_filter="ss_").read_all().to_pylist()
    assert [schema["db_schema_name"] for schema in found["catalog_db_schemas"]] == ["ssb"]
    (found,) = adbc.adbc_get_objects(db_schema_filter="ssb", table_types_filter=["TABLE"]).read_all().to_pylist()
    (schema,) = found["catalog_db_schemas"]
    columns = [(table["table_name"], column["ordinal_position"], column["column_name"], column["xdbc_type_name"], column["xdbc_data_type"])
               for table in schema["db_schema_tables"] for column in table["table_columns"]]
    assert columns == [(*row[:4], TYPES[row[3]]) for row in expected(postgres, COLUMNS)[1:]]
    assert "TABLE" in adbc.adbc_get_table_types()
    schema = adbc.adbc_get_table_schema("lineorder", db_schema_filter="ssb")
    assert schema == pa.schema([column.with_nullable(False) for column in run(adbc, "SELECT * FROM lineorder LIMIT 0").schema])


def test_jdbc_metadata(jdbc, postgres):
    """(getTypeInfo() has no rows, as the driver (18.3.0) does not ask.)"""
    assert jdbc["catalogs"][1:] == [("postgres",)]
    assert jdbc["schemas"][1:] == [("ssb",)]
    assert ("TABLE",) in jdbc["table types"]
    assert jdbc["tables"][1:] == [(table, "TABLE") for table in sorted([*DIMENSIONS, "lineorder"])]
    assert jdbc["columns"][1:] == [tuple(map(str, (*row[:4], TYPES[row[3]], row[4]))) for row in expected(postgres, COLUMNS)[1:]]
    assert jdbc["primary"][1:] == [("lo_orderkey", "1", "lineorder_pkey"), ("lo_linenumber", "2", "lineorder_pkey")]
    references = {table: (table, key, reference, f"lineorder_{reference}_fkey", f"{table}_pkey") for table, (key, reference) in DIMENSIONS.items()}
    assert jdbc["imported"][1:] == list(references.values())
    assert jdbc["exported"][1:] == [references["supplier"]]
    assert jdbc["cross"][1:] == [references["part"]]
