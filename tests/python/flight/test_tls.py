"""TLS, and what is refused without it."""

import os
import pathlib
import socket
import subprocess

import adbc_driver_flightsql
import pyarrow.flight as flight
import pytest

from conftest import PASSWORDS, PROGRAM, admin, backends, eventually, own, value

ROOTS = adbc_driver_flightsql.DatabaseOptions.TLS_ROOT_CERTS.value
HERE = f"host={os.environ['PGHOST']} port={os.environ['PGPORT']} dbname=postgres"
CERTIFICATES = pathlib.Path(os.environ["FLIGHT_CERTIFICATES"])


@pytest.fixture(scope="module")
def encrypted(roles):
    with own("--tls-cert", str(CERTIFICATES / "server.crt"), "--tls-key", str(CERTIFICATES / "server.key")) as service:
        yield service


def secure(service, roots, name="localhost", **more):
    return service.connect(uri=f"grpc+tls://{name}:{service.port}", **{ROOTS: (CERTIFICATES / roots).read_text()}, **more)


def test_encrypted(encrypted):
    with secure(encrypted, "ca.crt") as db:
        assert value(db, "SELECT 1") == 1
        assert value(db, "SELECT sum(length(repeat('x', 100000) || g)) > 0 FROM generate_series(1, 100) g") is True
    eventually(lambda: encrypted.backends() == 0)


def test_certificate_of_somebody_else(encrypted):
    with pytest.raises(Exception, match="certificate"):
        with secure(encrypted, "other.crt") as db:
            value(db, "SELECT 1")


def test_without_tls(encrypted):
    with pytest.raises(Exception):
        with encrypted.connect() as db:
            value(db, "SELECT 1")
    before = encrypted.log().count(" login user")
    client = flight.FlightClient(encrypted.uri)
    with pytest.raises((flight.FlightUnavailableError, flight.FlightInternalError)):
        client.authenticate_basic_token("writer", PASSWORDS["writer"])
    assert encrypted.log().count(" login user") == before


def refused(*options):
    done = subprocess.run([PROGRAM, *options], capture_output=True, text=True, timeout=20)
    assert done.returncode != 0 and not done.stdout
    return done.stderr


def test_listening_where_others_can_listen():
    assert "is not loopback" in refused("--listen", "0.0.0.0:0", "--database", HERE)
    assert "is not loopback" in refused("--listen", "[::]:0", "--database", HERE)
    with own("--insecure", listen="0.0.0.0:0") as service, service.connect() as db:
        assert value(db, "SELECT 1") == 1
    with own("--tls-cert", str(CERTIFICATES / "server.crt"), "--tls-key", str(CERTIFICATES / "server.key"), listen="0.0.0.0:0"):
        pass


def test_options_that_are_wrong():
    assert "required" in refused("--database", HERE, "--tls-cert", "/absent")
    assert "/absent" in refused("--database", HERE, "--tls-cert", "/absent", "--tls-key", "/absent")
    assert "user or a password" in refused("--database", f"{HERE} user=postgres")
    assert "several hosts" in refused("--database", f"{HERE} hostaddr=10.0.0.1")
    assert "has no TLS" in refused("--database", f"{HERE} sslmode=require")
    assert "no dbname" in refused("--database", f"host={os.environ['PGHOST']}")
    assert "invalid connection string" in refused("--database", "x")
    assert "required" in refused()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "in use" in refused("--database", HERE, "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    help = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
    for option in ("--listen", "--tls-cert", "--insecure", "--idle", "--max-sessions", "AMAX_FLIGHT_DATABASE"):
        assert option in help


def tcp(**more):
    options = {"host": "localhost", "port": os.environ["PGPORT"], "dbname": "postgres", **more}
    return " ".join(f"{name}={value}" for name, value in options.items())


def test_database_by_tls(roles):
    """Verified: who signed the certificate, and for which name. Cancels go by TLS, too."""
    with own("--database-ca", str(CERTIFICATES / "ca.crt"), database=tcp()) as service, service.connect() as db:
        assert value(db, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") is True
        with db.cursor() as cursor:
            cursor.execute("SELECT sum(g) AS by_tls FROM generate_series(1, 1e12::int8) g")
            eventually(lambda: service.backends("query LIKE '%by_tls%' AND state = 'active'") == 1)
        eventually(lambda: service.backends("query LIKE '%by_tls%' AND state = 'active'") == 0)
    for roots, more in (("other.crt", {}), ("ca.crt", {"host": "127.0.0.2"})):
        with own("--database-ca", str(CERTIFICATES / roots), database=tcp(**more)) as service:
            with pytest.raises(Exception, match="(?i)certificate"):
                with service.connect() as db:
                    value(db, "SELECT 1")


def test_remote_database_without_tls(roles):
    """The server has no TLS under this name: it is not spoken to."""
    with admin() as db:
        db.execute("ALTER SYSTEM SET ssl = off")
        db.execute("SELECT pg_reload_conf()")
        try:
            with own("--database-ca", str(CERTIFICATES / "ca.crt"), database=tcp()) as service:
                with pytest.raises(Exception, match="server does not support TLS"):
                    with service.connect() as connection:
                        value(connection, "SELECT 1")
            with own(database=tcp()) as service, service.connect() as connection:
                assert value(connection, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") is False
        finally:
            db.execute("ALTER SYSTEM RESET ssl")
            db.execute("SELECT pg_reload_conf()")
