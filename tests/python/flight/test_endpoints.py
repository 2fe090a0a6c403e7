"""Results of several endpoints: all of one snapshot, read at the same time, and nothing of them stays behind."""

import concurrent.futures
import itertools
import threading
import time

import psycopg
import pyarrow as pa
import pyarrow.flight as flight
import pytest

from conftest import admin, copied, eventually, own, run, value
from test_clients import end, start
from test_java import java

QUERY = "SELECT id, k, v FROM lines"
WIDE = "SELECT id, repeat(v, 100) AS wide FROM lines"
WAITING = "state = 'idle in transaction'"
CANCELLING, NOT_CANCELLABLE = 2, 3


@pytest.fixture(scope="module", autouse=True)
def tables(service):
    with service.connect() as db:
        rows = "SELECT g AS id, g % 97 AS k, 'v' || g % 13 AS v FROM generate_series(1, 400000) g"
        run(db, f"CREATE TABLE lines USING amax AS {rows}")
        run(db, f"CREATE TABLE changing USING amax AS {rows}")
        run(db, f"CREATE TABLE lines_in_heap USING heap AS {rows}")
        run(db, "CREATE TABLE little USING amax AS SELECT * FROM lines LIMIT 1000")
        run(db, "GRANT SELECT ON lines TO PUBLIC")


def parts(raw, info):
    """Of all endpoints, read at the same time, in their order."""
    with concurrent.futures.ThreadPoolExecutor(len(info.endpoints)) as pool:
        return list(pool.map(lambda at: raw.table(info, at), range(len(info.endpoints))))


def by_id(tables):
    return pa.concat_tables(tables).sort_by("id").combine_chunks()


@pytest.fixture(scope="module")
def expected():
    return by_id([copied(QUERY)])


def test_parts_are_the_rows(raw, expected):
    info = raw.query(QUERY)
    assert len(info.endpoints) == 4 and not info.ordered
    found = parts(raw, info)
    assert all(part.num_rows > 0 and part.schema.equals(info.schema, check_metadata=True) for part in found)
    assert by_id(found).equals(expected)
    with pytest.raises(pa.ArrowException, match="has been fetched"):
        raw.table(info, 2)


def test_parts_are_open_together(raw, expected):
    """Whoever reads them one after the other, in whatever order, need not close one to get at another."""
    info = raw.query(QUERY)
    readers = [raw.reader(info, at) for at in range(4)]
    firsts = [reader.read_chunk().data for reader in readers]
    rest = [readers[at].read_all() for at in (3, 1, 0, 2)]
    assert by_id([pa.Table.from_batches(firsts), *rest]).equals(expected)


def test_one_snapshot(service, raw, db):
    """Others write, and VACUUM, between the parts."""
    before = by_id([copied("SELECT id, k, v FROM changing")])
    info = raw.query("SELECT id, k, v FROM changing")
    found = [raw.table(info, 3)]
    for statement in ("DELETE FROM changing WHERE id % 2 = 0", "UPDATE changing SET v = 'new'", "VACUUM changing", "INSERT INTO changing SELECT id, k, 'new' FROM lines"):
        run(db, statement)
        if len(found) < 4:
            found.append(raw.table(info, len(found) - 1))
    assert by_id(found).equals(before)
    assert value(db, "SELECT count(*) FROM changing WHERE v = 'new'") == 600_000


def test_one_snapshot_of_a_table_that_others_write_to(raw, expected):
    """What is updated moves from one part to another: with several snapshots it would be there twice, or not at all."""
    stop = threading.Event()

    def write():
        with admin() as postgres:
            for at in itertools.count(1):
                if stop.is_set():
                    return at
                postgres.execute(f"UPDATE lines SET v = v WHERE id = {at}")

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        try:
            found = [by_id(parts(raw, raw.query(QUERY))) for _ in range(5)]
        finally:
            stop.set()
        assert written.result() > 100
    assert all(table.equals(expected) for table in found)


def test_the_table_stays_as_it_is_until_all_are_read(raw):
    info = raw.query(QUERY)
    raw.table(info)
    with admin(options="-clock_timeout=300ms") as postgres:
        for statement in ("TRUNCATE lines", "ALTER TABLE lines ADD COLUMN b int"):
            with pytest.raises(psycopg.errors.LockNotAvailable):
                postgres.execute(statement)
        for at in range(1, 4):
            raw.table(info, at)
        postgres.execute("ALTER TABLE lines ADD COLUMN b int; ALTER TABLE lines DROP COLUMN b")


@pytest.mark.parametrize("query", [
    "SELECT count(*) FROM lines", "SELECT id FROM lines ORDER BY id", "SELECT id FROM lines LIMIT 300000", "SELECT id, random() AS r FROM lines", "SELECT id, now() AS at FROM lines",
    "SELECT a.id FROM lines a JOIN little b USING (id)", "SELECT id FROM changing FOR UPDATE", "SELECT id FROM lines_in_heap", "SELECT id FROM little",
    "VALUES (1)", "WITH w AS (SELECT id FROM lines) SELECT * FROM w", "EXPLAIN SELECT * FROM lines", "UPDATE little SET k = 1 RETURNING id",
])
def test_others_have_one_endpoint(raw, service, query):
    info = raw.query(query)
    assert len(info.endpoints) == 1 and info.ordered
    assert service.backends(WAITING) == 0
    raw.table(info)


def test_in_a_transaction(raw):
    transaction = raw.begin()
    assert len(raw.query(QUERY, transaction).endpoints) == 1
    raw.end(transaction, False)


def test_parameters(service, raw):
    handle = raw.prepare("SELECT id, $2::text AS x FROM lines WHERE k < $1")
    info = lambda: raw.info("CommandPreparedStatementQuery", f1=handle)
    assert len(info().endpoints) == 1
    raw.bind(handle, pa.array([7], pa.int32()), pa.array(["it's"]))
    bound = info()
    assert len(bound.endpoints) == 4
    # Others than these parts are of.
    raw.bind(handle, pa.array([1, 2], pa.int32()), pa.array(["a", "b"]))
    assert len(info().endpoints) == 1
    assert by_id(parts(raw, bound)).equals(by_id([copied("SELECT id, 'it''s'::text AS x FROM lines WHERE k < 7")]))
    with service.connect() as db:
        assert by_id([run(db, "SELECT id FROM lines WHERE k < $1", (7,))]).equals(by_id([copied("SELECT id FROM lines WHERE k < 7")]))


def test_adbc_reads_all(expected):
    with own() as service, service.connect() as db:
        assert by_id([run(db, QUERY)]).equals(expected)
        assert service.backends() == 4
        with db.cursor() as cursor:
            cursor.execute(WIDE)
            assert cursor.fetchone() is not None
        # It has left the rest.
        eventually(lambda: service.backends("state <> 'idle'") == 0)


def test_jdbc_reads_all(expected):
    with own() as service:
        printed = java(service, "SELECT id FROM lines").split()
        assert sorted(map(int, printed)) == expected["id"].to_pylist()


def test_cancel(raw, service):
    info = raw.query(WIDE)
    reader = raw.reader(info, 1)
    reader.read_chunk()
    assert service.backends(WAITING) == 3
    assert raw.cancel(info) == {1: CANCELLING}
    with pytest.raises(pa.ArrowException, match="(?i)cancel"):
        reader.read_all()
    for at in (0, 2, 3):
        with pytest.raises(pa.ArrowException, match="as it was cancelled"):
            raw.table(info, at)
    assert raw.cancel(info) == {1: NOT_CANCELLABLE}
    eventually(lambda: service.backends("state <> 'idle'") == 0)


def test_a_client_that_goes():
    with own() as service:
        raw = service.raw()
        info = raw.query(QUERY)
        raw.table(info)
        assert service.backends(WAITING) == 3
        raw.client.close()
        eventually(lambda: service.backends() == 0)


def test_the_session_is_closed():
    with own() as service:
        raw = service.raw()
        info = raw.query(QUERY)
        assert service.backends(WAITING) == 4
        list(raw.client.do_action(flight.Action("CloseSession", b""), raw.options))
        eventually(lambda: service.backends() == 0)
        with pytest.raises(pa.ArrowException, match="log in"):
            raw.table(info)


@pytest.mark.parametrize("who", ["client", "service"])
def test_one_is_killed(who):
    with own() as service:
        process = start(service, f"info = raw.query({WIDE!r}); reader = raw.reader(info, 2); reader.read_chunk()")
        assert service.backends(WAITING) == 3 and service.backends() == 4
        (process if who == "client" else service.process).kill()
        eventually(lambda: service.backends() == 0)
        end(process)


def test_parts_that_nobody_fetches():
    with own("--idle", "3") as service:
        raw = service.raw()
        slow = raw.query(WIDE)
        reader = raw.reader(slow)
        for _ in range(6):
            reader.read_chunk()
            time.sleep(1)
        # One of them was read all the time.
        raw.table(slow, 1)
        reader.read_all()
        # Its session is used meanwhile.
        eventually(lambda: raw.table(raw.query("SELECT 1 AS a")).num_rows == 1 and service.backends(WAITING) == 0)
        with pytest.raises(pa.ArrowException, match="waited for long"):
            raw.table(slow, 2)


def test_a_connection_that_is_terminated(raw, service, expected):
    info = raw.query(WIDE)
    reader = raw.reader(info, 0)
    reader.read_chunk()
    with admin() as postgres:
        postgres.execute(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = '{service.name}' AND {WAITING}")
    for at in range(1, 4):
        with pytest.raises(pa.ArrowException, match="lost"):
            raw.table(info, at)
    # It has the snapshot for itself.
    assert reader.read_all().num_rows > 0
    assert by_id(parts(raw, raw.query(QUERY))).equals(expected)


@pytest.mark.parametrize("options, endpoints", [
    (["--endpoints", "1"], 1), (["--endpoints", "3"], 3), (["--endpoints", "100"], 4), (["--session-connections", "1"], 1),
    (["--session-connections", "2"], 1), (["--session-connections", "3"], 2), (["--session-connections", "20", "--endpoints", "8"], 8),
])
def test_how_many(options, endpoints, expected):
    with own(*options) as service:
        raw = service.raw()
        info = raw.query(QUERY)
        assert len(info.endpoints) == endpoints
        assert by_id(parts(raw, info)).equals(expected)


def test_half_of_the_connections_stay(raw, expected):
    """Parts that nobody fetches are in nobody's way: there are eight."""
    waiting = raw.query(QUERY)
    assert len(waiting.endpoints) == 4
    assert len(raw.query(QUERY).endpoints) == 1
    transactions = [raw.begin() for _ in range(3)]
    for transaction in transactions:
        assert raw.update("UPDATE little SET k = 1 WHERE false", transaction) == 0
    assert by_id([raw.table(raw.query(QUERY))]).equals(expected)
    for transaction in transactions:
        raw.end(transaction, True)
    assert by_id(parts(raw, waiting)).equals(expected)
    eventually(lambda: len(raw.query(QUERY).endpoints) == 4)


@pytest.mark.parametrize("limit, endpoints", [(1, 1), (3, 1), (4, 4)])
def test_a_role_that_may_have_few_connections(limit, endpoints, expected):
    with admin() as postgres:
        postgres.execute(f"ALTER ROLE other CONNECTION LIMIT {limit}")
        try:
            with own() as service:
                raw = service.raw("other")
                info = raw.query(QUERY)
                assert len(info.endpoints) == endpoints
                assert by_id(parts(raw, info)).equals(expected)
                # They come back one by one.
                with concurrent.futures.ThreadPoolExecutor(6) as pool:
                    counts = pool.map(lambda _: raw.table(raw.query("SELECT count(*) AS n FROM lines"))["n"].to_pylist(), range(6))
                    assert list(counts) == [[400_000]] * 6
        finally:
            postgres.execute("ALTER ROLE other CONNECTION LIMIT -1")


def test_settings(expected):
    """Those of the role hold for all parts, but for how long a transaction may be idle."""
    with admin() as postgres:
        for setting in ("idle_in_transaction_session_timeout = '500ms'", "search_path = elsewhere", "timezone = 'Asia/Tokyo'"):
            postgres.execute(f"ALTER ROLE other SET {setting}")
        postgres.execute("CREATE SCHEMA elsewhere; GRANT USAGE ON SCHEMA elsewhere TO PUBLIC")
        # It says of itself that settings do not matter: else there would be no parts.
        postgres.execute("""CREATE FUNCTION elsewhere.hour_there() RETURNS int LANGUAGE plpgsql IMMUTABLE
            AS $$ BEGIN RETURN extract(hour FROM '2024-01-01 00:00+00'::timestamptz); END $$""")
        try:
            with own() as service:
                raw = service.raw("other")
                info = raw.query("SELECT id, hour_there() AS hour FROM public.lines")
                assert len(info.endpoints) == 4
                time.sleep(1.5)
                found = parts(raw, info)
                assert by_id(found)["id"].equals(expected["id"])
                assert by_id(found)["hour"].unique().to_pylist() == [9]
        finally:
            postgres.execute("ALTER ROLE other RESET ALL; DROP SCHEMA elsewhere CASCADE")
