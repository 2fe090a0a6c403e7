"""Many clients, and clients and servers that disappear: no process of PostgreSQL's stays behind, no row is wrong."""

import concurrent.futures
import os
import signal
import socket
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.flight as flight
import pytest

from conftest import PASSWORDS, admin, backends, eventually, own, run, value

CLIENT = """
import sys
sys.path[:0] = {path!r}
import pyarrow.flight as flight
from messages import Raw
client = flight.FlightClient({uri!r})
raw = Raw(client, client.authenticate_basic_token("writer", {password!r}))
{work}
print("ready", flush=True)
sys.stdin.read()
"""

WORK = {
    "computing": ("import threading; info = raw.query('SELECT sum(g) AS died FROM generate_series(1, 1e12::int8) g'); "
                  "threading.Thread(target=lambda: raw.table(info), daemon=True).start(); import time; time.sleep(0.5)"),
    "reading": "reader = raw.reader(raw.query(\"SELECT generate_series(1, 100000000) AS g, repeat('died', 100) AS x\")); reader.read_chunk()",
    "in a transaction": "t = raw.begin(); raw.update('INSERT INTO dying VALUES (1)', t)",
    "reading in a transaction": ("t = raw.begin(); raw.update('INSERT INTO dying VALUES (1)', t); "
                                 "reader = raw.reader(raw.query(\"SELECT generate_series(1, 100000000) AS g, repeat('died', 100) AS x\", t)); reader.read_chunk()"),
    "ingesting": ("import pyarrow as pa; from messages import command, field; b = pa.record_batch([pa.array(range(100000), pa.int32())], names=['a']); "
                  "w, r = client.do_put(command('CommandStatementIngest', f1=field(1, 2) + field(2, 2), f2='dying'), b.schema, raw.options); "
                  "[w.write_batch(b) for _ in range(20)]"),
    "writing": "reader = raw.reader(raw.query('INSERT INTO dying SELECT generate_series(1, 10000000) RETURNING a')); reader.read_chunk()",
}


@pytest.fixture(scope="module", autouse=True)
def tables(service):
    with service.connect() as db:
        run(db, "CREATE TABLE dying (a int)")
        run(db, "CREATE TABLE facts USING amax AS SELECT g AS id, g % 97 AS k, 'v' || g % 13 AS v FROM generate_series(1, 50000) g")


def start(service, work):
    path = [os.path.dirname(__file__)]
    text = CLIENT.format(path=path, uri=service.uri, password=PASSWORDS["writer"], work=work)
    process = subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def end(process, by=signal.SIGKILL):
    process.send_signal(by)
    process.wait()
    process.stdin.close()
    process.stdout.close()


@pytest.mark.parametrize("who", ["client", "service"])
@pytest.mark.parametrize("work", WORK)
def test_one_is_killed(work, who):
    with own() as service, admin() as db:
        before = db.execute("SELECT count(*) FROM dying").fetchone()
        process = start(service, WORK[work])
        assert service.backends() >= 1
        (process if who == "client" else service.process).kill()
        eventually(lambda: service.backends() == 0)
        assert db.execute("SELECT count(*) FROM dying").fetchone() == before
        end(process)


@pytest.mark.parametrize("work", ["computing", "in a transaction", "reading"])
def test_service_is_stopped(work):
    with own("--grace", "1") as service:
        process = start(service, WORK[work])
        assert service.backends() >= 1
        started = time.monotonic()
        assert service.stop() == 0
        assert time.monotonic() - started < 10
        eventually(lambda: service.backends() == 0)
        end(process)


def test_statements_may_end_when_the_service_stops():
    with own() as service:
        raw = service.raw()
        info = raw.query("SELECT g, pg_sleep(0.3) IS NULL AS p FROM generate_series(1, 10) g")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            result = pool.submit(lambda: raw.table(info))
            eventually(lambda: service.backends("query LIKE '%pg_sleep(0.3)%' AND state = 'active'") == 1)
            service.process.terminate()
            assert result.result(20).num_rows == 10
        assert service.process.wait(10) == 0
    assert service.backends() == 0


def test_client_closes(service):
    eventually(lambda: service.backends() == 0)
    with service.connect() as db:
        assert value(db, "SELECT 1") == 1
        assert service.backends() >= 1
    eventually(lambda: service.backends() == 0)


ANSWERS = "SELECT k, count(*) AS n, sum(id)::int8 AS s, max(v) AS v FROM facts WHERE k < {} GROUP BY k ORDER BY k"


def work(service, at, expected):
    """What one of many clients does: reads what all read, and writes what is its own."""
    with service.connect(autocommit=False) as db:
        for turn in range(3):
            assert run(db, ANSWERS.format(at % 7 + 1)).equals(expected[at % 7])
            run(db, f"INSERT INTO crowd VALUES ({at}, {turn})")
            db.commit() if turn < 2 else db.rollback()
        assert value(db, f"SELECT count(*) FROM crowd WHERE client = {at}") == 2
    return 1


@pytest.mark.parametrize("clients", [50, 200])
def test_many_clients_at_once(clients):
    """200 is as many as there may be sessions. (So is the number of PostgreSQL's connections that a test server has left.)"""
    with own() as service:
        with service.connect() as db:
            run(db, "DROP TABLE IF EXISTS crowd")
            run(db, "CREATE TABLE crowd (client int, turn int)")
            expected = [run(db, ANSWERS.format(at + 1)) for at in range(7)]
        started = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            done = list(pool.map(lambda at: work(service, at, expected), range(clients)))
        print(f"{clients} clients: {time.monotonic() - started:.1f} s, memory {service.memory() / 1e6:.0f} MB")
        assert sum(done) == clients
        with admin() as db:
            assert db.execute("SELECT count(*), count(DISTINCT client) FROM crowd").fetchone() == (2 * clients, clients)
        eventually(lambda: service.backends() == 0)


def test_readers_that_stall():
    """Each has a large result under way, and does not read: bounded memory, and others get on."""
    with own("--max-sessions", "250") as service:
        clients = []
        for _ in range(60):
            raw = service.raw()
            reader = raw.reader(raw.query("SELECT generate_series(1, 10000000) AS g, repeat('stalled', 100) AS x"))
            reader.read_chunk()
            clients.append((raw, reader))
        with service.connect() as db:
            assert value(db, "SELECT count(*) FROM facts") == 50000
        print(f"memory: {service.memory() / 1e6:.0f} MB")
        assert service.memory() < 60 * 25e6
        for raw, reader in clients:
            reader.cancel()
            raw.client.close()
        del clients, reader
        eventually(lambda: service.backends() == 0, 30)


def test_clients_killed_under_load():
    """Killed at random in the midst of whatever they do: what is committed is whole."""
    with own() as service, admin() as db:
        db.execute("DROP TABLE IF EXISTS pairs")
        db.execute("CREATE TABLE pairs (a int, side text)")
        db.execute("GRANT ALL ON pairs TO PUBLIC")
        work = ("import itertools, os\nprint('ready', flush=True)\nfor at in itertools.count():\n    t = raw.begin()\n"
                "    raw.update(f\"INSERT INTO pairs VALUES ({at}, 'left')\", t)\n    raw.table(raw.query('SELECT count(*) FROM pairs', t))\n"
                "    raw.update(f\"INSERT INTO pairs VALUES ({at}, 'right')\", t)\n    raw.end(t, True)")
        for round in range(4):
            processes = [start(service, work) for _ in range(3)]
            time.sleep(0.3 + 0.13 * round)
            for process in processes:
                end(process)
        eventually(lambda: service.backends() == 0)
        left, right = db.execute("SELECT count(*) FILTER (WHERE side = 'left'), count(*) FILTER (WHERE side = 'right') FROM pairs").fetchone()
        assert left == right > 0


def test_garbage_on_the_socket(service):
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(10_000), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + os.urandom(1000), b""):
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(garbage)
    with service.connect() as db:
        assert value(db, "SELECT 1") == 1


def test_messages_that_are_none(raw, service):
    for garbage in (b"", b"x", os.urandom(100)):
        for call in (lambda: raw.client.get_flight_info(flight.FlightDescriptor.for_command(garbage), raw.options),
                     lambda: raw.client.do_get(flight.Ticket(garbage), raw.options).read_all(),
                     lambda: list(raw.client.do_action(flight.Action("BeginTransaction", garbage), raw.options)),
                     lambda: raw.put(flight.FlightDescriptor.for_command(garbage), []),
                     lambda: raw.put(flight.FlightDescriptor.for_path("a"), [])):
            with pytest.raises(pa.ArrowException):
                call()
