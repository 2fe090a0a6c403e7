"""clients/java, with the Arrow Flight JDBC driver."""

import os
import pathlib
import subprocess

from conftest import PASSWORDS, run, value

SOURCE = pathlib.Path(__file__).resolve().parents[3] / "clients" / "java" / "FlightSql.java"


def java(service, *arguments, user="writer", password=None, fails=False, source=SOURCE):
    url = f"jdbc:arrow-flight-sql://127.0.0.1:{service.port}/?useEncryption=false"
    done = subprocess.run(["java", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", f"{os.environ['FLIGHT_JDBC']}/*", str(source), url, user,
                           PASSWORDS[user] if password is None else password, *arguments], capture_output=True, text=True, timeout=120)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout


def test_query(service):
    query = ("SELECT g AS a, 'é' || g AS b, (g / 2.0)::numeric(8, 2) AS c, DATE '2024-02-29' + g AS d, NULL::int AS e, g % 2 = 0 AS f "
             "FROM generate_series(1, 2) g")
    assert java(service, query) == "1\té1\t0.50\t2024-03-01\tnull\tfalse\n2\té2\t1.00\t2024-03-02\tnull\ttrue\n"
    assert java(service, "SELECT count(*), sum(g)::int8 FROM generate_series(1, 1000000) g") == "1000000\t500000500000\n"


def test_parameters_and_updates(service, db):
    assert java(service, "SELECT $1::text || $2::text", "a'", "b") == "a'b\n"
    assert java(service, "CREATE TABLE by_java (a int)") == "0\n"
    assert java(service, "INSERT INTO by_java SELECT generate_series(1, $1::text::int)", "3") == "3\n"
    assert value(db, "SELECT count(*) FROM by_java") == 3


def test_metadata(service, db):
    run(db, "CREATE TABLE IF NOT EXISTS shown_to_java (a int)")
    assert "shown_to_java\tTABLE\n" in java(service)
    assert "shown_to_java" not in java(service, user="reader")


def test_refused(service):
    assert "password authentication failed" in java(service, "SELECT 1", password="wrong", fails=True)
    assert "division by zero" in java(service, "SELECT 1/0", fails=True)
