"""wal_level = minimal: what is loaded into a file that its own transaction made is not logged, but on disk when it commits."""

from server import Server
from twins import Mismatch

SETTINGS = ["fsync = on", "wal_level = minimal", "max_wal_senders = 0", "wal_skip_threshold = 0", "autovacuum = off"]
ROWS = "SELECT i, jsonb_build_object('n', i, 'text', md5(i::text)) FROM generate_series({first}, {last}) i"
# Each in a transaction: rows of row pages, of a component, of both with an index, changed, rolled back to a savepoint, rewritten.
LOADS = {
    "row pages": "CREATE TABLE {t} (id int, doc jsonb) USING {am}; INSERT INTO {t} " + ROWS.format(first=1, last=500),
    "a component": "CREATE TABLE {t} (id int, doc jsonb) USING {am}; INSERT INTO {t} " + ROWS.format(first=1, last=5000),
    "both, indexed": "CREATE TABLE {t} (id int PRIMARY KEY, doc jsonb) USING {am}; INSERT INTO {t} " + ROWS.format(first=1, last=3000)
                     + "; UPDATE {t} SET doc = '{{}}' WHERE id % 10 = 0; DELETE FROM {t} WHERE id % 10 = 1",
    "a truncated table": "TRUNCATE {old}; INSERT INTO {old} " + ROWS.format(first=1, last=4000),
    "a savepoint": "CREATE TABLE {t} (id int, doc jsonb) USING {am}; SAVEPOINT s; INSERT INTO {t} " + ROWS.format(first=1, last=3000)
                   + "; ROLLBACK TO s; INSERT INTO {t} " + ROWS.format(first=1, last=2000),
    "a rewritten table": "ALTER TABLE {old} ALTER id TYPE bigint; INSERT INTO {old} " + ROWS.format(first=6000, last=9000),
    "a changed component": "TRUNCATE {old}; INSERT INTO {old} " + ROWS.format(first=1, last=4000) + "; UPDATE {old} SET id = -id WHERE id % 7 = 0",
}


def run(directory):
    server = Server(directory, "minimal", SETTINGS)
    server.start()
    try:
        with server.connect() as control:
            control.execute("CREATE EXTENSION amax")
            for am in ("heap", "amax"):
                control.execute(f"CREATE TABLE old_{am} (id int, doc jsonb) USING {am}; INSERT INTO old_{am} VALUES (0, '{{}}')")
        for number, load in enumerate(LOADS.values()):
            tables = {am: {"t": f"t{number}_{am}", "old": f"old_{am}", "am": am} for am in ("heap", "amax")}
            writer, other = server.connect(), server.connect()
            for names in tables.values():
                writer.execute("BEGIN; " + load.format(**names) + "; COMMIT")
            # One that has not committed.
            other.execute("BEGIN; TRUNCATE old_amax; INSERT INTO old_amax " + ROWS.format(first=1, last=2000))
            server.kill()
            writer.close()
            other.close()
            server.start()
            with server.connect() as control:
                compare(control, *[names["t" if "{t}" in load else "old"] for names in tables.values()])
        crashes = server.new_crashes()
        if crashes:
            raise Mismatch("the server's log speaks of a crash:\n" + "\n".join(crashes[:5]))
        return ", ".join(LOADS)
    finally:
        server.remove()


def compare(control, heap, amax):
    rows = [control.execute(f"SELECT count(*), sum(hashtextextended(x::text, 0)) FROM {table} x").fetchone() for table in (heap, amax)]
    if rows[0] != rows[1] or not rows[0][0]:
        raise Mismatch(f"{heap}: {rows[0]}, {amax}: {rows[1]}")
    problems = control.execute(f"SELECT * FROM amax.verify('{amax}')").fetchall()
    if problems:
        raise Mismatch(f"amax.verify({amax}): {problems[:3]}")
