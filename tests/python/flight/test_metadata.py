"""What drivers ask about a database: as the role sees it, in Flight SQL's schemas."""

import pyarrow as pa
import pytest

from conftest import copied, run
from messages import field
from test_queries import TYPES


@pytest.fixture(scope="module", autouse=True)
def tables(service):
    with service.connect() as db:
        for statement in ("CREATE SCHEMA shop", "CREATE TABLE shop.customers (id int PRIMARY KEY, name text NOT NULL)",
                          "CREATE TABLE shop.orders (customer int CONSTRAINT who REFERENCES shop.customers ON DELETE CASCADE ON UPDATE SET NULL, "
                          "line int, at int, PRIMARY KEY (at, line))",
                          "CREATE TABLE shop.parts (o int, l int, CONSTRAINT pair FOREIGN KEY (o, l) REFERENCES shop.orders (at, line))",
                          "CREATE VIEW shop.names AS SELECT name FROM shop.customers", "CREATE MATERIALIZED VIEW shop.kept AS SELECT 1 AS a",
                          "CREATE TABLE shop.parted (a int GENERATED ALWAYS AS IDENTITY) PARTITION BY LIST (a)",
                          "CREATE TABLE shop.\"Odd_%'name\" (a int)", "COMMENT ON COLUMN shop.customers.name IS 'what they are called'",
                          "CREATE DOMAIN shop.cents AS numeric(8, 2)", "CREATE DOMAIN shop.prices AS shop.cents", "CREATE TYPE shop.mood AS ENUM ('good')",
                          f"CREATE TABLE shop.typed AS SELECT *, 1.5::shop.prices AS price, 'good'::shop.mood AS mood, '{{1.1.1.1}}'::inet[] AS other FROM ({TYPES}) t",
                          "GRANT USAGE ON SCHEMA shop TO reader", "GRANT SELECT ON shop.names TO reader", "GRANT SELECT (name) ON shop.customers TO reader"):
            run(db, statement)


def test_catalogs_and_schemas(raw):
    assert raw.ask("CommandGetCatalogs").to_pydict() == {"catalog_name": ["postgres"]}
    schemas = raw.ask("CommandGetDbSchemas").to_pylist()
    assert {"catalog_name": "postgres", "db_schema_name": "shop"} in schemas
    assert not any(schema["db_schema_name"].startswith(("pg_toast", "pg_temp")) for schema in schemas)
    assert raw.ask("CommandGetDbSchemas", f2="sh_p")["db_schema_name"].to_pylist() == ["shop"]
    assert raw.ask("CommandGetDbSchemas", f1="absent").num_rows == 0
    assert raw.ask("CommandGetDbSchemas", f1="").num_rows == 0


def test_tables(raw):
    shop = raw.ask("CommandGetTables", f2="shop")
    assert dict(zip(shop["table_name"].to_pylist(), shop["table_type"].to_pylist())) == {
        "Odd_%'name": "TABLE", "customers": "TABLE", "kept": "MATERIALIZED VIEW", "names": "VIEW", "orders": "TABLE",
        "parted": "PARTITIONED TABLE", "parts": "TABLE", "typed": "TABLE"}
    assert raw.ask("CommandGetTables", f2="shop", f3="part%")["table_name"].to_pylist() == ["parted", "parts"]
    assert raw.ask("CommandGetTables", f3="Odd\\_\\%%")["table_name"].to_pylist() == ["Odd_%'name"]
    assert raw.ask("CommandGetTables", f2="shop", f4="VIEW")["table_name"].to_pylist() == ["names"]
    assert raw.ask("CommandGetTables", f2="pg_catalog", f3="pg_class")["table_type"].to_pylist() == ["SYSTEM TABLE"]
    assert raw.ask("CommandGetTables", f1="absent").num_rows == 0
    assert set(raw.ask("CommandGetTables")["table_type"].to_pylist()) <= set(raw.ask("CommandGetTableTypes")["table_type"].to_pylist())


def test_schemas_of_tables_are_those_of_copy(raw):
    table = raw.ask("CommandGetTables", f2="shop", f3="typed", f5=True)
    schema = pa.ipc.read_schema(pa.BufferReader(table["table_schema"][0].as_py()))
    expected = copied("SELECT *, NULL::text FROM (SELECT *, 1.5::shop.prices AS price, 'good'::shop.mood AS mood FROM (" + TYPES + ") t) t").schema
    assert schema.types == expected.types
    for ours, theirs in zip(list(schema)[:-1], expected):
        assert ours.metadata[b"postgresql.type"] == theirs.metadata[b"postgresql.type"] == ours.metadata[b"ARROW:FLIGHT:SQL:TYPE_NAME"], ours
    customers = raw.ask("CommandGetTables", f2="shop", f3="customers", f5=True)
    schema = pa.ipc.read_schema(pa.BufferReader(customers["table_schema"][0].as_py()))
    assert [(column.name, column.nullable) for column in schema] == [("id", False), ("name", False)]
    assert schema.field("name").metadata[b"ARROW:FLIGHT:SQL:REMARKS"] == b"what they are called"


def test_only_what_the_role_may_see(service):
    raw = service.raw("reader")
    assert raw.ask("CommandGetTables", f2="shop")["table_name"].to_pylist() == ["customers", "names"]
    assert raw.ask("CommandGetTables", f3="secret").num_rows == 0
    assert raw.ask("CommandGetPrimaryKeys", f2="shop", f3="orders").num_rows == 0
    raw = service.raw("other")
    assert raw.ask("CommandGetTables", f2="shop").num_rows == 0
    assert raw.ask("CommandGetDbSchemas", f2="shop").num_rows == 0


def test_keys(raw):
    primary = raw.ask("CommandGetPrimaryKeys", f2="shop", f3="orders")
    assert list(zip(primary["column_name"].to_pylist(), primary["key_sequence"].to_pylist(), primary["key_name"].to_pylist())) == [
        ("at", 1, "orders_pkey"), ("line", 2, "orders_pkey")]
    imported = raw.ask("CommandGetImportedKeys", f2="shop", f3="orders").to_pylist()
    assert imported == [{"pk_catalog_name": "postgres", "pk_db_schema_name": "shop", "pk_table_name": "customers", "pk_column_name": "id",
                         "fk_catalog_name": "postgres", "fk_db_schema_name": "shop", "fk_table_name": "orders", "fk_column_name": "customer",
                         "key_sequence": 1, "fk_key_name": "who", "pk_key_name": "customers_pkey", "update_rule": 2, "delete_rule": 0}]
    assert raw.ask("CommandGetExportedKeys", f2="shop", f3="customers").to_pylist() == imported
    exported = raw.ask("CommandGetExportedKeys", f3="orders")
    assert list(zip(exported["fk_column_name"].to_pylist(), exported["pk_column_name"].to_pylist(), exported["key_sequence"].to_pylist())) == [
        ("o", "at", 1), ("l", "line", 2)]
    assert raw.ask("CommandGetCrossReference", f2="shop", f3="orders", f5="shop", f6="parts").equals(exported)
    assert raw.ask("CommandGetCrossReference", f2="shop", f3="orders", f5="shop", f6="customers").num_rows == 0
    assert raw.ask("CommandGetPrimaryKeys", f1="absent", f3="orders").num_rows == 0


def test_types_and_information(raw, db):
    types = raw.ask("CommandGetXdbcTypeInfo")
    assert types.num_rows > 10 and raw.ask("CommandGetXdbcTypeInfo", f1=4)["type_name"].to_pylist() == ["int4"]
    for name in types["type_name"].to_pylist():
        run(db, f"SELECT NULL::{name}")
    infos = {row["info_name"]: row["value"] for row in raw.ask("CommandGetSqlInfo").to_pylist()}
    assert infos[0] == "PostgreSQL with amax" and infos[3] is False and infos[504] == '"' and "SELECT" in [word.upper() for word in infos[508]]
    some = raw.ask("CommandGetSqlInfo", f1=8)
    assert some.to_pylist() == [{"info_name": 8, "value": 1}]


def test_by_a_driver(db):
    info = db.adbc_get_info()
    assert info["vendor_name"] == "PostgreSQL with amax"
    objects = db.adbc_get_objects(db_schema_filter="shop", table_name_filter="customers").read_all().to_pylist()
    (table,) = objects[0]["catalog_db_schemas"][0]["db_schema_tables"]
    assert [column["column_name"] for column in table["table_columns"]] == ["id", "name"]
    assert db.adbc_get_table_schema("orders", db_schema_filter="shop").names == ["customer", "line", "at"]
    assert "VIEW" in db.adbc_get_table_types()


def test_actions(raw):
    assert {"BeginTransaction", "CancelFlightInfo"} <= {action.type for action in raw.client.list_actions(raw.options)}
    with pytest.raises(pa.ArrowNotImplementedError, match="SAVEPOINT"):
        raw.act("BeginSavepoint", "ActionBeginSavepointRequest", field(1, raw.begin()) + field(2, "a"))
    with pytest.raises(pa.ArrowNotImplementedError):
        raw.act("Absent", "Absent")
    with pytest.raises(pa.ArrowNotImplementedError):
        raw.info("CommandStatementSubstraitPlan")
    with pytest.raises(pa.ArrowNotImplementedError):
        list(raw.client.list_flights(options=raw.options))
