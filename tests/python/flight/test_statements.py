"""Updates, prepared statements with parameters, and bulk ingestion."""

import base64
import datetime
import decimal

import pyarrow as pa
import pyarrow.flight as flight
import pytest

from conftest import PASSWORDS, copied, gone, own, run, value
from messages import Raw, command, field, packed


@pytest.fixture(scope="module", autouse=True)
def tables(service):
    with service.connect() as db:
        run(db, "CREATE TABLE items (id int, name text, price numeric(10, 2), tags text[], doc jsonb)")


@pytest.fixture(autouse=True)
def empty(service):
    with service.connect() as db:
        run(db, "TRUNCATE items")


def test_updates(raw, db):
    assert raw.update("CREATE TABLE made (a int)") == 0
    assert raw.update("INSERT INTO made SELECT generate_series(1, 7)") == 7
    assert raw.update("UPDATE made SET a = a + 1 WHERE a > 3") == 4
    assert raw.update("DELETE FROM made") == 7
    assert raw.update("DROP TABLE made") == 0
    assert raw.update("VACUUM items") == 0
    with pytest.raises(pa.ArrowException, match="does not exist"):
        raw.update("DROP TABLE made")


PARAMETERS = [
    ("SELECT $1::int + 1 AS a", pa.array([41], pa.int32()), 42),
    ("SELECT $1 + 1 AS a", pa.array([41], pa.int64()), 42),
    ("SELECT $1::text AS a", pa.array(["é'\\\"$1"]), "é'\\\"$1"),
    ("SELECT $1::text || $1 AS a", pa.array(["x"]), "xx"),
    ("SELECT '$1' || \"a$1\" || $$ $1 $$ || $1 AS a FROM (SELECT 'y' AS \"a$1\") t /* $1 */ -- $2", pa.array(["x"]), "$1y $1 x"),
    ("SELECT E'\\'$1' || $1 AS a", pa.array(["x"]), "'$1x"),
    ("SELECT $1::float8 AS a", pa.array([0.1]), 0.1),
    ("SELECT $1::bool AS a", pa.array([True]), True),
    ("SELECT $1::numeric(10, 2) AS a", pa.array([decimal.Decimal("12.34")]), decimal.Decimal("12.34")),
    ("SELECT $1::bytea AS a", pa.array([b"\x00'\xff"]), b"\x00'\xff"),
    ("SELECT $1::date AS a", pa.array([datetime.date(2024, 2, 29)]), datetime.date(2024, 2, 29)),
    ("SELECT $1::time AS a", pa.array([datetime.time(1, 2, 3, 4)]), datetime.time(1, 2, 3, 4)),
    ("SELECT $1::timestamp AS a", pa.array([datetime.datetime(2024, 2, 29, 1, 2, 3, 4)]), datetime.datetime(2024, 2, 29, 1, 2, 3, 4)),
    ("SELECT extract(epoch FROM $1::timestamptz)::int AS a", pa.array([1_000_000_000], pa.timestamp("s", "Asia/Tokyo")), 1_000_000_000),
    ("SELECT $1::int[] AS a", pa.array([[1, None, 3]]), [1, None, 3]),
    ("SELECT $1::text[] AS a", pa.array([["a,b", "\"\\", None, "NULL", ""]]), ["a,b", "\"\\", None, "NULL", ""]),
    ("SELECT ($1::jsonb->>'a')::int AS a", pa.array(['{"a": 7}']), 7),
    ("SELECT $1::uuid::text AS a", pa.array(["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("SELECT $1::interval::text AS a", pa.array([datetime.timedelta(days=1, seconds=2)]), "24:00:02"),
    ("SELECT $1::int AS a", pa.array([None], pa.null()), None),
    ("SELECT $1::text AS a", pa.array(["x"]).dictionary_encode(), "x"),
    ("SELECT g AS a FROM generate_series(1, 9) g ORDER BY g LIMIT $1 OFFSET 3", pa.array([1]), 4),
    ("SELECT ($1::int = ANY ($2::int[]))::text AS a", (pa.array([1]), pa.array([[1, 2]])), "true"),
    ("SELECT count(*) AS a FROM items WHERE name = $1 AND id IN ($2, 2)", (pa.array(["x"]), pa.array([1])), 0),
]


@pytest.mark.parametrize("query, parameters, expected", PARAMETERS)
def test_parameters(db, query, parameters, expected):
    arrays = parameters if isinstance(parameters, tuple) else (parameters,)
    batch = pa.record_batch(list(arrays), names=[str(at) for at in range(len(arrays))])
    with db.cursor() as cursor:
        cursor.execute(query, batch)
        assert cursor.fetch_arrow_table()["a"].to_pylist() == [expected]


def test_parameters_by_the_driver(db):
    """As Python values, and what is known of a statement before it runs."""
    assert run(db, "SELECT $1::int AS a, $2::text AS b", (1, "x")).to_pydict() == {"a": [1], "b": ["x"]}
    with db.cursor() as cursor:
        cursor.adbc_prepare("SELECT $1::int AS a, $2::numeric AS b, $3::timestamptz AS c, $4::text[] AS d")
        schema = cursor.adbc_statement.get_parameter_schema()
        schema = pa.Schema._import_from_c(schema.address)
        assert schema.types == [pa.int32(), pa.string(), pa.timestamp("us", "UTC"), pa.list_(pa.string())]


def test_several_rows_of_parameters(db):
    rows = pa.record_batch([pa.array([1, 2, 3])], names=["0"])
    with db.cursor() as cursor:
        cursor.execute("SELECT $1::int AS a, g FROM generate_series(1, $1) g", rows)
        assert cursor.fetch_arrow_table()["a"].to_pylist() == [1, 2, 2, 3, 3, 3]
        cursor.executemany("INSERT INTO items (id, name) VALUES ($1, $2)", [(at, f"n{at}") for at in range(1000)])
    assert value(db, "SELECT count(*) FROM items WHERE name = 'n' || id") == 1000


def test_rows_are_used_in_order(db):
    run(db, "INSERT INTO items VALUES (0, '')")
    with db.cursor() as cursor:
        cursor.executemany("UPDATE items SET id = id * 2 + $1", [(at % 2,) for at in range(25)])
        cursor.executemany("UPDATE items SET name = name || $1", [(str(at % 10),) for at in range(200)])
    assert value(db, "SELECT name FROM items") == "0123456789" * 20
    assert value(db, "SELECT id FROM items") == int("01" * 12 + "0", 2)


def test_rows_are_all_or_none(db, transaction):
    rows = [(1, "1"), (2, "2"), (3, "x")]
    with db.cursor() as cursor, pytest.raises(Exception, match="invalid input syntax"):
        cursor.executemany("INSERT INTO items (id, price) VALUES ($1, $2::text::numeric)", rows)
    assert value(db, "SELECT count(*) FROM items") == 0
    with transaction.cursor() as cursor, pytest.raises(Exception, match="invalid input syntax"):
        cursor.executemany("INSERT INTO items (id, price) VALUES ($1, $2::text::numeric)", rows)
    with pytest.raises(Exception, match="aborted"):
        transaction.commit()
    gone(transaction)


def test_rows_that_do_not_fit(raw, db):
    """Nothing of them is there, in a transaction either."""
    for transaction in (None, raw.begin()):
        handle = raw.prepare("INSERT INTO items (id) VALUES ($1)", transaction)
        batches = [pa.record_batch([pa.array([datetime.datetime(2024, 1, 1)] * 2, pa.timestamp("ns"))], names=["a"]),
                   pa.record_batch([pa.array([1], pa.timestamp("ns"))], names=["a"])]
        with pytest.raises(pa.ArrowException):
            raw.put(command("CommandPreparedStatementUpdate", f1=handle), batches, batches[0].schema)
        two = pa.record_batch([pa.array([1]), pa.array([2])], names=["a", "b"])
        with pytest.raises(pa.ArrowException):
            raw.put(command("CommandPreparedStatementUpdate", f1=handle), [two], two.schema)
        if transaction:
            with pytest.raises(pa.ArrowException):
                raw.end(transaction, True)
            raw.end(transaction, False)
    assert value(db, "SELECT count(*) FROM items") == 0


def test_prepared_statements_are_counted(raw):
    handles = [raw.prepare("SELECT 1") for _ in range(1000)]
    with pytest.raises(pa.ArrowException, match="1000 prepared statements"):
        raw.prepare("SELECT 1")
    for handle in handles:
        raw.act("ClosePreparedStatement", "ActionClosePreparedStatementRequest", field(1, handle))
    with pytest.raises(pa.ArrowException, match="no such prepared statement"):
        raw.info("CommandPreparedStatementQuery", f1=handles[0])


def test_parameters_that_are_not_bound(raw):
    handle = raw.prepare("SELECT $1::int AS a")
    info = raw.info("CommandPreparedStatementQuery", f1=handle)
    with pytest.raises(pa.ArrowException, match="none is bound"):
        raw.table(info)
    with pytest.raises(pa.ArrowException, match="none is bound"):
        raw.put(command("CommandPreparedStatementUpdate", f1=handle), [])
    assert raw.bind(handle, pa.array([5]))[1] == handle
    assert raw.table(raw.info("CommandPreparedStatementQuery", f1=handle)).to_pydict() == {"a": [5]}
    # No rows are bound, which is another thing.
    none = pa.record_batch([pa.array([], pa.int64())], names=["0"])
    assert raw.put(command("CommandPreparedStatementUpdate", f1=handle), [none], none.schema).get(1, 0) == 0
    # The command itself as a ticket, as some drivers have it.
    ticket = flight.Ticket(packed("CommandPreparedStatementQuery", field(1, handle)))
    assert raw.client.do_get(ticket, raw.options).read_all().to_pydict() == {"a": [5]}


def test_a_ticket_has_the_parameters_of_its_time(raw):
    handle = raw.prepare("SELECT $1::int AS a")
    raw.bind(handle, pa.array([1]))
    first = raw.info("CommandPreparedStatementQuery", f1=handle)
    raw.bind(handle, pa.array([2]))
    second = raw.info("CommandPreparedStatementQuery", f1=handle)
    with pytest.raises(pa.ArrowException, match="other parameters have been bound"):
        raw.table(first)
    assert raw.table(second).to_pydict() == {"a": [2]}
    with pytest.raises(pa.ArrowException, match="ticket has been used"):
        raw.table(second)


def test_prepared_statements_of_others(service, raw):
    handle = raw.prepare("SELECT 1 AS a")
    for user in ("writer", "other"):
        with pytest.raises(pa.ArrowException, match="no such prepared statement"):
            service.raw(user).info("CommandPreparedStatementQuery", f1=handle)


def test_parameters_take_bounded_memory():
    with own() as service:
        raw = service.raw()
        handles = [raw.prepare("SELECT $1::text AS a") for _ in range(2)]
        large = pa.array(["x" * 1_000_000] * 40)
        raw.bind(handles[0], large)
        small = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), pa.array(["x" * 1_000_000]))
        for handle, array in ((handles[1], large), (handles[0], small)):
            with pytest.raises(pa.ArrowException, match="may take 64 MB"):
                raw.bind(handle, array)
        raw.act("ClosePreparedStatement", "ActionClosePreparedStatementRequest", field(1, handles[0]))
        raw.bind(handles[1], large)
        assert service.memory() < 500e6


def test_compressed_parameters(service):
    """The length of what is compressed is whatever the client says: nothing is allocated for it."""
    with service.raw(write_options=pa.ipc.IpcWriteOptions(compression="lz4")) as raw:
        handle = raw.prepare("SELECT $1::text AS a")
        array = pa.array(["x" * 10_000])
        with pytest.raises(pa.ArrowException, match="without compression"):
            raw.bind(handle, array)
        # Ingestion hands them on as they are.
        batch = pa.record_batch([array], names=["a"])
        assert raw.ingest("compressed", [batch], batch.schema) == 1


WIDE = pa.table({
    "i8": pa.array([1, None], pa.int8()), "i64": pa.array([2**62, -1]), "u64": pa.array([2**64 - 1, 0], pa.uint64()), "f": [0.5, None],
    "s": ["é", None], "b": [b"\x00", None], "t": [True, False], "d": pa.array([1, 2], pa.date32()), "ts": pa.array([1, 2], pa.timestamp("us")),
    "tz": pa.array([1, 2], pa.timestamp("us", "UTC")), "dec": pa.array([decimal.Decimal("1.50"), None], pa.decimal128(10, 2)),
    "l": [["a"], None], "st": [{"x": 1, "y": ["z"]}, None], "di": pa.array(["p", "q"]).dictionary_encode(), "quoted \"Name": [1, 2],
})


def test_ingestion_makes_a_table(db):
    with db.cursor() as cursor:
        assert cursor.adbc_ingest("wide", WIDE, mode="create") == 2
    back = copied('SELECT * FROM wide')
    assert back.schema.names == WIDE.schema.names
    for name in ("i64", "f", "s", "b", "t", "d", "ts", "tz", "dec", "l", "quoted \"Name"):
        assert back[name].to_pylist() == WIDE[name].to_pylist(), name
    assert value(db, "SELECT st->'y'->>0 FROM wide WHERE i8 = 1") == "z"
    assert value(db, "SELECT u64::text FROM wide WHERE i8 = 1") == str(2**64 - 1)
    assert value(db, "SELECT amname::text FROM pg_am JOIN pg_class c ON c.relam = pg_am.oid WHERE relname = 'wide'") == "amax"


def test_ingestion_modes(db):
    table = pa.table({"a": [1, 2, 3]})
    with db.cursor() as cursor:
        with pytest.raises(Exception, match="does not exist"):
            cursor.adbc_ingest("modes", table, mode="append")
        cursor.adbc_ingest("modes", table, mode="create")
        with pytest.raises(Exception, match="exists"):
            cursor.adbc_ingest("modes", table, mode="create")
        cursor.adbc_ingest("modes", table, mode="append")
        assert value(db, "SELECT count(*) FROM modes") == 6
        cursor.adbc_ingest("modes", table, mode="replace")
        assert value(db, "SELECT count(*) FROM modes") == 3
        cursor.adbc_ingest("modes", table, mode="create_append")
        assert value(db, "SELECT count(*) FROM modes") == 6
        run(db, "CREATE SCHEMA elsewhere")
        cursor.adbc_ingest("modes", table, mode="create", db_schema_name="elsewhere")
        assert value(db, "SELECT count(*) FROM elsewhere.modes") == 3
        with pytest.raises(Exception, match="catalog"):
            cursor.adbc_ingest("modes", table, mode="append", catalog_name="absent")


def test_ingestion_by_name_with_defaults(db):
    run(db, "CREATE TABLE defaults (a int, b text DEFAULT 'none', c int GENERATED ALWAYS AS (a * 2) STORED) USING amax")
    with db.cursor() as cursor:
        cursor.adbc_ingest("defaults", pa.table({"a": [1, 2]}), mode="append")
    assert run(db, "SELECT * FROM defaults ORDER BY a").to_pydict() == {"a": [1, 2], "b": ["none"] * 2, "c": [2, 4]}


def test_ingestion_that_fails_leaves_nothing(db, raw):
    run(db, "CREATE TABLE checked (a int CHECK (a < 100000))")
    bad = pa.table({"a": pa.array(range(200_000), pa.int32())})
    with db.cursor() as cursor, pytest.raises(Exception, match="violates check constraint"):
        cursor.adbc_ingest("checked", bad, mode="append")
    assert value(db, "SELECT count(*) FROM checked") == 0
    transaction = raw.begin()
    raw.ingest("checked", bad.slice(0, 10).to_batches(), bad.schema, there=2, f6=transaction)
    with pytest.raises(pa.ArrowException, match="violates check constraint"):
        raw.ingest("checked", bad.to_batches(), bad.schema, there=2, f6=transaction)
    with pytest.raises(pa.ArrowException, match="aborted"):
        raw.end(transaction, True)
    raw.end(transaction, False)
    assert value(db, "SELECT count(*) FROM checked") == 0


def test_ingestion_in_a_transaction(db, raw):
    transaction = raw.begin()
    batch = pa.record_batch([pa.array([1, 2])], names=["a"])
    count = lambda table: raw.table(raw.query(f"SELECT count(*) AS a FROM {table}", transaction))["a"][0].as_py()
    raw.ingest("within", [batch], batch.schema, f6=transaction)
    raw.ingest("for_now", [batch], batch.schema, f5=True, f6=transaction)
    assert count("within") == count("for_now") == 2
    raw.end(transaction, False)
    for table in ("within", "for_now"):
        with pytest.raises(Exception, match="does not exist"):
            value(db, f"SELECT count(*) FROM {table}")
    with db.cursor() as cursor, pytest.raises(Exception, match="temporary table"):
        cursor.adbc_ingest("for_now", pa.table({"a": [1]}), mode="create", temporary=True)


def test_ingestion_by_the_driver_is_not_in_its_transaction(db, transaction):
    """ADBC's driver does not say which that is (1.13): docs/limitations.md tells."""
    with transaction.cursor() as cursor:
        cursor.adbc_ingest("beside", pa.table({"a": [1]}), mode="create")
    transaction.rollback()
    assert value(db, "SELECT count(*) FROM beside") == 1


def test_ingestion_into_temporary_tables_leaves_others_alone(db, raw):
    run(db, "CREATE TABLE twofold AS SELECT 7::int8 AS a")
    transaction = raw.begin()
    batch = pa.record_batch([pa.array([1, 2])], names=["a"])
    for _ in range(2):
        raw.ingest("twofold", [batch], batch.schema, there=3, f5=True, f6=transaction)
    assert raw.table(raw.query("SELECT a FROM twofold", transaction)).to_pydict() == {"a": [1, 2]}
    with pytest.raises(pa.ArrowException, match="in no schema"):
        raw.ingest("twofold", [batch], batch.schema, there=3, f3="public", f5=True, f6=transaction)
    raw.end(transaction, True)
    assert run(db, "SELECT a FROM twofold").to_pydict() == {"a": [7]}


def test_ingestion_replaces_a_table_where_it_is(db, raw):
    """Not by one of a schema that is searched before."""
    run(db, "CREATE SCHEMA first")
    run(db, "CREATE TABLE public.replaced AS SELECT 7::int8 AS a")
    transaction = raw.begin()
    raw.update("SET LOCAL search_path = first, public", transaction)
    batch = pa.record_batch([pa.array([1, 2])], names=["a"])
    raw.ingest("replaced", [batch], batch.schema, there=3, f6=transaction)
    raw.end(transaction, True)
    assert run(db, "SELECT a FROM public.replaced").to_pydict() == {"a": [1, 2]}


def test_large_ingestion(db):
    rows = 2_000_000
    batches = pa.table({"a": pa.array(range(rows), pa.int64()), "b": pa.array(["0123456789"] * rows)}).to_batches(max_chunksize=100_000)
    with own() as service, service.connect() as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("large", pa.RecordBatchReader.from_batches(batches[0].schema, batches), mode="create")
        print(f"memory: {service.memory() / 1e6:.0f} MB")
        assert service.memory() < 150e6
    assert run(db, "SELECT count(*), sum(a)::int8 FROM large").to_pylist() == [{"count": rows, "sum": rows * (rows - 1) // 2}]


def test_streams_that_are_damaged(raw, db):
    """Nothing of them is there, and the server goes on."""
    schema = pa.schema([("a", pa.int32())])
    batch = pa.record_batch([pa.array([1, 2], pa.int32())], schema=schema)
    assert raw.ingest("damaged", [batch], schema, there=1) == 2
    with pytest.raises(pa.ArrowException, match="not said"):
        raw.ingest("damaged", [batch], schema, missing=0, there=0)
    other = pa.record_batch([pa.array(["x"])], names=["b"])
    with pytest.raises(pa.ArrowException):
        raw.ingest("damaged", [other], other.schema, there=2)
    assert value(db, "SELECT count(*) FROM damaged") == 2


def test_messages_that_are_too_large():
    large = pa.table({"a": ["x" * 1000] * 10_000})
    with own("--max-message", "5") as small, small.connect() as db, db.cursor() as cursor:
        with pytest.raises(Exception, match="(?i)too large|larger than|max"):
            cursor.adbc_ingest("too_large", large, mode="create")
        cursor.adbc_ingest("too_large", large.slice(0, 1000), mode="create")
        assert value(db, "SELECT count(*) FROM too_large") == 1000


def test_messages_of_strangers(service):
    """They are small, until somebody has logged in on the connection."""
    large = "SELECT length('" + "x" * (65 << 10) + "') AS a"
    login = b"Basic " + base64.b64encode(f"writer:{PASSWORDS['writer']}".encode())
    with service.client() as client:
        for header in (b"Bearer x", b"Basic " + b"eDp5", login):
            with pytest.raises(pa.ArrowException, match="(?i)too large|larger than|max"):
                Raw(client, (b"authorization", header)).query(large)
        raw = Raw(client, (b"authorization", login))
        assert raw.table(raw.query("SELECT 1 AS a")).to_pydict() == {"a": [1]}
        assert raw.table(raw.query(large)).to_pydict() == {"a": [65 << 10]}
