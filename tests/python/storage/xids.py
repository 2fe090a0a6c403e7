"""Rows of every kind outlive more transaction ids than there are on one side of the circle: VACUUM freezes them in time."""

import re

import psycopg

from server import Server
from twins import Mismatch, Twins

JUMP, JUMPS = 900_000_000, 3
# Nothing is flushed but by the first statements: row pages and stubs have to be frozen where they are.
TABLES = ("t", "loaded", "fresh")
SETTINGS = ["amax.bulk_threshold = 100", "amax.rows_per_leaf = 100"]


def run(directory):
    """On a server of its own: GIN's deleted pages do not take such jumps, on heap as little."""
    server = Server(directory, "xids", ["fsync = off", "autovacuum = off"])
    server.start()
    try:
        did = jumps(server)
        crashes = server.new_crashes()
        if crashes:
            raise Mismatch("the server's log speaks of a crash:\n" + "\n".join(crashes[:5]))
        return did
    finally:
        server.remove()


def jumps(server):
    twins = Twins(server, "xids", 1, SETTINGS)
    try:
        fill(server, twins)
        for jump in range(1, JUMPS + 1):
            twins.close()
            burn(server)
            if jump == 1:
                # As pg_upgrade starts it: else autovacuum, which nothing turns off for such tables, would be the one.
                server.start("-b")
                failsafe(server, twins.database)
                server.stop()
            server.start()
            vacuum_everything(server)
            twins.connect(server)
            check(twins, f"after {jump * JUMP} transaction ids")
            # More of the same, with ids of now.
            twins.both(f"UPDATE t SET v = v + 1 WHERE id % 10 = {jump}")
            twins.both(f"DELETE FROM t WHERE id % 50 = {jump}")
            twins.both(f"INSERT INTO fresh VALUES ({jump})")
            twins.both(f"INSERT INTO loaded SELECT i + {10000 * jump}, '[]' FROM generate_series(1, 500) i")
        return f"{JUMP * JUMPS} ids"
    finally:
        twins.close()


def fill(server, twins):
    both, amax = twins.both, twins.amax.query
    both("CREATE TABLE t (id int PRIMARY KEY, v int, doc jsonb)")
    both("CREATE TABLE loaded (i int, doc jsonb)")
    both("CREATE TABLE fresh (i int)")
    for table in TABLES:
        both(f"ALTER TABLE {table} SET (autovacuum_enabled = off, toast.autovacuum_enabled = off)")
    both("INSERT INTO t SELECT i, i, gen.doc(i, 1) FROM generate_series(1, 1000) i")
    amax("SET amax.flush_threshold = 0")
    amax("VACUUM t")
    both("INSERT INTO t SELECT i, i, gen.doc(i, 1) FROM generate_series(1001, 2000) i")
    # A sealed page that is in no component.
    fail(twins, "flush_sealed", "VACUUM t")
    amax("RESET amax.flush_threshold")
    # Columnar rows and those of row pages, with every kind of xmax.
    both("UPDATE t SET v = -v WHERE id % 100 = 3")
    both("DELETE FROM t WHERE id % 100 = 4")
    for how in ("FOR KEY SHARE", "FOR UPDATE"):
        both(f"SELECT id FROM t WHERE id % 100 IN (5, 6) {how}")
    both("BEGIN; UPDATE t SET v = 0 WHERE id % 100 IN (7, 8); DELETE FROM t WHERE id % 100 = 9; ROLLBACK")
    for side in twins.sides:
        with server.connect(twins.database) as other:
            other.execute(f"BEGIN; SELECT id FROM {side.am}_side.t WHERE id % 100 BETWEEN 10 AND 13 FOR SHARE")
            side.query("SELECT id FROM t WHERE id % 100 BETWEEN 10 AND 12 FOR SHARE")
            side.query("BEGIN; SAVEPOINT s; SELECT id FROM t WHERE id % 100 BETWEEN 12 AND 14 FOR KEY SHARE; UPDATE t SET v = 1 WHERE false; COMMIT")
            other.execute("COMMIT")
    both("INSERT INTO loaded SELECT i, '{}' FROM generate_series(1, 500) i")
    both("BEGIN; INSERT INTO loaded SELECT i, '{}' FROM generate_series(501, 1000) i; ROLLBACK")
    both("DELETE FROM loaded WHERE i % 100 = 0")
    # A page that a row was put on, rolled back, and that is in no map.
    fail(twins, "insert_placed", "INSERT INTO fresh VALUES (0)")


def fail(twins, point, statement):
    amax = twins.amax.connection
    amax.execute(f"SET amax.fault_point = '{point}'")
    try:
        amax.execute(statement)
    except psycopg.Error as error:
        if "fault injected" not in str(error):
            raise
    amax.execute("RESET amax.fault_point")


def burn(server):
    """Moves the next transaction id, to the start of a segment of pg_xact, which is made; the server is stopped then."""
    server.stop()
    control = server.run("pg_controldata", server.data)
    following = int(re.search(r"NextXID:\s+\d+:(\d+)", control)[1])
    segment = (following + JUMP) >> 20
    server.run("pg_resetwal", "-x", str(segment << 20), "-D", server.data)
    file = server.data / "pg_xact" / f"{segment:04X}"
    server.run("dd", "if=/dev/zero", f"of={file}", "bs=8192", "count=32")


def vacuum_everything(server):
    with server.connect() as control:
        control.execute("UPDATE pg_database SET datallowconn = true")
        databases = [name for (name,) in control.execute("SELECT datname FROM pg_database").fetchall()]
    for name in databases:
        with server.connect(name) as connection:
            connection.execute("VACUUM")
            late = connection.execute("SELECT oid::regclass, age(relfrozenxid) FROM pg_class WHERE relfrozenxid <> 0 AND age(relfrozenxid) > 200000000").fetchall()
            if late:
                raise Mismatch(f"VACUUM left in {name}: {late[:5]}")


def failsafe(server, database):
    """With such old ids VACUUM does what relfrozenxid waits for and nothing else, and says so as heap's does."""
    said = {}
    for am in ("heap", "amax"):
        with server.connect(database, prepare_threshold=None) as connection:
            warnings = []
            connection.execute(f"SET search_path = {am}_side, public; SET vacuum_failsafe_age = 0; SET amax.max_components = 1;"
                               "SET amax.flush_threshold = 0")
            components = "SELECT count(*), sum(rows) FROM amax.components('amax_side.t')"
            before = connection.execute(components).fetchone()
            size = connection.execute("SELECT pg_relation_size('t')").fetchone()[0]
            connection.add_notice_handler(lambda d, warnings=warnings: warnings.append((d.message_primary, d.message_detail, d.message_hint)))
            connection.execute("VACUUM t")
            said[am] = [[str(part).replace(f"{am}_side", "side") for part in warning] for warning in warnings if f"{am}_side.t\"" in warning[0]]
            age = connection.execute("SELECT age(relfrozenxid) FROM pg_class WHERE oid = 't'::regclass").fetchone()[0]
            if age > JUMP // 2:
                raise Mismatch(f"relfrozenxid of {am}_side.t did not move: {age}")
            after = connection.execute(components).fetchone()
            if after != before:
                raise Mismatch(f"VACUUM flushed or merged in failsafe mode: {before} components and rows, then {after}")
            # It may grow: components are frozen by writing transaction ids anew.
            if connection.execute("SELECT pg_relation_size('t')").fetchone()[0] < size:
                raise Mismatch("VACUUM truncated in failsafe mode")
    if said["amax"] != said["heap"] or len(said["heap"]) != 1:
        raise Mismatch(f"VACUUM said {said['amax']}, heap's {said['heap']}")


def check(twins, when):
    try:
        for table in TABLES:
            twins.same_rows(table)
        twins.amax.query("SET enable_seqscan = off")
        twins.same_rows(condition="id > 0")
        twins.amax.query("RESET enable_seqscan")
        twins.healthy(TABLES)
    except Mismatch as error:
        raise Mismatch(f"{when}: {error.args[0]}") from error
