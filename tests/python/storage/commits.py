"""What a commit may flush for others, and what it must leave alone; a server that dies before a table's first commit; loads that go on for long."""

import psycopg

from checks import equal
from twins import Mismatch

QUIET = "WITH (autovacuum_enabled = off)"
ROWS = "INSERT INTO {t} SELECT i, repeat('x', 700) FROM generate_series(1, 300) i"


def tests(server):
    """Each is given the server."""
    with server.connect() as control:
        control.execute("CREATE DATABASE commits")
    with server.connect("commits") as control:
        control.execute("CREATE EXTENSION amax")
    return [altered, locked, prepared, first_rows, reused]


def one(connection, query):
    return connection.execute(query).fetchone()[0]


def filled(connection, table):
    """A table with row pages of settled rows, which the next commit that adds a page may flush."""
    connection.execute(f"SET amax.flush_threshold = 16; SET amax.flush_inline = off; CREATE TABLE {table} (a int, s text) USING amax {QUIET}")
    for _ in range(5):
        connection.execute(ROWS.format(t=table))
    connection.execute("RESET amax.flush_inline")
    return one(connection, f"SELECT count(*) FROM {table}")


def grow(connection, table, times):
    for _ in range(times):
        connection.execute(ROWS.format(t=table))


def components(connection, table):
    return one(connection, f"SELECT count(*) FROM amax.components('{table}')")


def fails(connection, statement, error):
    """The statement ends in this error."""
    try:
        connection.execute(statement)
    except error:
        return
    raise Mismatch(f"{statement} was to fail")


def altered(server):
    """A transaction that adds a column and rows, and cannot commit: serialization is checked after the inline flush."""
    with server.connect("commits") as control, server.connect("commits") as other:
        rows = filled(control, "altered")
        for table in ("x1", "x2"):
            control.execute(f"CREATE TABLE {table} (v int); INSERT INTO {table} VALUES (0)")
        control.execute("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT * FROM x1; ALTER TABLE altered ADD COLUMN c int DEFAULT 7")
        grow(control, "altered", 30)
        control.execute("UPDATE x2 SET v = 1")
        other.execute("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT * FROM x2; UPDATE x1 SET v = 1; COMMIT")
        fails(control, "COMMIT", psycopg.errors.SerializationFailure)
        control.execute("ALTER TABLE altered ADD COLUMN c int DEFAULT 8")
        equal("rows with the column's value", one(control, "SELECT count(*) FROM altered WHERE c = 8"), rows)
        control.execute("DROP TABLE altered, x1, x2")
        return f"{rows} rows"


def locked(server):
    """A savepoint that is rolled back gives the table's lock back: somebody else may have it all at commit."""
    with server.connect("commits") as control, server.connect("commits") as other:
        filled(control, "locked")
        before = components(control, "locked")
        control.execute("BEGIN; SAVEPOINT s")
        grow(control, "locked", 30)
        control.execute("ROLLBACK TO s")
        other.execute("BEGIN; LOCK TABLE locked")
        control.execute("COMMIT")
        equal("components", components(other, "locked"), before)
        other.execute("COMMIT")
        control.execute("BEGIN")
        grow(control, "locked", 30)
        control.execute("COMMIT")
        if components(control, "locked") <= before:
            raise Mismatch("a commit was to flush")
        control.execute("DROP TABLE locked")
        return f"{before} components"


def prepared(server):
    """Transactions that are prepared leave no more row pages than others."""
    with server.connect("commits", prepare_threshold=None) as control:
        control.execute(f"SET amax.flush_threshold = 16; CREATE TABLE prepared (a int, s text) USING amax {QUIET}")
        for number in range(60):
            control.execute("BEGIN")
            grow(control, "prepared", 1)
            control.execute(f"PREPARE TRANSACTION 'p{number}'")
            control.execute(f"COMMIT PREPARED 'p{number}'")
        found = components(control, "prepared")
        if not found:
            raise Mismatch("nothing was flushed")
        equal("rows", one(control, "SELECT count(*) FROM prepared"), 60 * 300)
        control.execute("DROP TABLE prepared")
        return f"{found} components"


def first_rows(server):
    """The server dies before the first rows of some tables are committed: the blocks are there, what was on them is not."""
    control = server.connect("commits")
    control.execute(f"CREATE TABLE first_rows (a int) USING amax {QUIET}; CREATE TABLE truncated (a int) USING amax {QUIET}")
    control.execute("INSERT INTO truncated VALUES (0); TRUNCATE truncated")
    control.execute("CHECKPOINT")
    control.execute("BEGIN; INSERT INTO first_rows VALUES (1); INSERT INTO truncated VALUES (1)")
    server.kill()
    control.close()
    server.start()
    with server.connect("commits") as control:
        for table in ("first_rows", "truncated"):
            equal(f"rows of {table}", one(control, f"SELECT count(*) FROM {table}"), 0)
            control.execute(f"VACUUM {table}")
            control.execute(f"INSERT INTO {table} SELECT generate_series(1, 1000)")
            control.execute(f"VACUUM (FREEZE) {table}")
            equal(f"rows of {table}", one(control, f"SELECT count(*) FROM {table}"), 1000)
            equal(f"problems of {table}", one(control, f"SELECT count(*) FROM amax.verify('{table}')"), 0)
        control.execute("DROP TABLE first_rows, truncated")
    return "2 tables"


def reused(server):
    """Pages that a load had in hand when VACUUM looked for lost ones are another load's when VACUUM judges them."""
    with server.connect("commits") as control, server.connect("commits") as loader, server.connect("commits") as witness:
        control.execute(f"CREATE TABLE reused (a int, s text) USING amax {QUIET}")
        # A COPY with such a trigger publishes its rows at commit.
        control.execute("CREATE FUNCTION same() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
        control.execute("CREATE TRIGGER same BEFORE INSERT ON reused FOR EACH ROW EXECUTE FUNCTION same()")
        control.execute("SET amax.max_components = 1")
        for connection in (control, loader):
            connection.execute("SET amax.bulk_threshold = 10; SET amax.rows_per_leaf = 300")
        load = "COPY reused FROM PROGRAM 'seq -f \"%.0f\t{}\" 3000'"
        control.execute(load.format("first"))
        loader.execute("BEGIN; " + load.format("second"))
        witness.execute("BEGIN; SELECT pg_current_xact_id()")
        control.execute("VACUUM reused")
        loader.execute("COMMIT")
        control.execute("VACUUM reused")
        equal("components", components(control, "reused"), 1)
        witness.execute("COMMIT; SELECT pg_current_xact_id()")
        # The pages are free again, but the suspects have not been looked at.
        control.execute("SET amax.fault_point = 'reclaim_taken_out'")
        fails(control, "VACUUM reused", psycopg.errors.InternalError)
        control.execute("RESET amax.fault_point")
        loader.execute("BEGIN; " + load.format("third"))
        control.execute("VACUUM reused")
        control.execute(load.format("fourth"))
        loader.execute("COMMIT")
        for word in ("first", "second", "third", "fourth"):
            equal(f"{word} rows", one(control, f"SELECT count(DISTINCT a) FROM reused WHERE s = '{word}'"), 3000)
        equal("problems", one(control, "SELECT count(*) FROM amax.verify('reused')"), 0)
        control.execute("DROP TABLE reused; DROP FUNCTION same")
        return "4 loads"
