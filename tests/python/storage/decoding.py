"""Logical decoding shows the same changes of both twins, whatever the rows' state and whenever their replica identity was set, and of loads what was made after the slot."""

import threading
import time

from server import Server
from twins import Mismatch, Twins, shorten

IDENTITIES = ["DEFAULT", "FULL", "NOTHING", "USING INDEX t_code"]
# What is done to rows before the identity is set: what their stubs hold is from then.
STUBS = ["SELECT FROM t WHERE id % 10 = {n} FOR KEY SHARE", "BEGIN; UPDATE t SET v = v + 1 WHERE id % 10 = {n}; ROLLBACK"]
CHANGES = ["UPDATE t SET v = v + 1 WHERE id % 10 = {n}", "UPDATE t SET code = code || '!' WHERE id % 10 = {n}",
           "UPDATE t SET id = id + 100000 WHERE id % 10 = {n}", "DELETE FROM t WHERE id % 10 = {n}"]


def run(directory):
    server = Server(directory, "decoding", ["fsync = off", "autovacuum = off", "wal_level = logical"])
    server.start()
    try:
        twins = Twins(server, "decoding", 1, ["amax.flush_threshold = 0"])
        changes = sum(history(server, twins, before, identity) for before in ("REPLICA IDENTITY NOTHING", None) for identity in IDENTITIES)
        in_use(twins)
        loads(server, twins)
        wide(twins)
        twins.close()
        if crashes := server.new_crashes():
            raise Mismatch("the server's log speaks of a crash:\n" + "\n".join(crashes[:5]))
        return f"{changes} changes"
    finally:
        server.remove()


def history(server, twins, before, identity):
    """Stubs made under one identity, or (None) when the table had no key yet; changes decoded under another."""
    both = twins.both
    both("DROP TABLE IF EXISTS t")
    both("CREATE TABLE t (id int NOT NULL, code text NOT NULL, v int, doc jsonb)")
    if before:
        both("ALTER TABLE t ADD PRIMARY KEY (id)")
        both(f"ALTER TABLE t {before}")
    both("INSERT INTO t SELECT i, 'code ' || i, i, jsonb_build_object('i', i) FROM generate_series(1, 100) i")
    both("VACUUM t")
    for n, statement in enumerate(STUBS):
        for digit in (n, n + 2, n + 4, n + 6):
            both(statement.format(n=digit))
    if not before:
        both("ALTER TABLE t ADD PRIMARY KEY (id)")
    both("CREATE UNIQUE INDEX t_code ON t (code)")
    both(f"ALTER TABLE t REPLICA IDENTITY {identity}")
    slot = "SELECT 'slot' FROM pg_create_logical_replication_slot('decoding', 'test_decoding')"
    twins.heap.query(slot)
    for n, statement in enumerate(CHANGES):
        for digit in (2 * n, 2 * n + 1):
            both(statement.format(n=digit))
    twins.heap.query("INSERT INTO t SELECT 1000000, 'end', 0, NULL")
    heap, amax = decoded(twins.heap, "decoding")
    twins.heap.query("DELETE FROM t WHERE id = 1000000")
    twins.heap.query("SELECT pg_drop_replication_slot('decoding')")
    heap = [line for line in heap if "'end'" not in line]
    if heap != amax or not heap:
        only = [shorten([line for line in a if line not in b][:3]) for a, b in ((heap, amax), (amax, heap))]
        raise Mismatch(f"identity {before} -> {identity}: {len(heap)} changes of heap, {len(amax)} of amax; only heap: {only[0]}; only amax: {only[1]}")
    return len(heap)


def decoded(session, slot):
    """What a slot has of each twin since it was last asked, in order."""
    lines = session.query(f"SELECT data FROM pg_logical_slot_get_changes('{slot}', NULL, NULL, 'include-xids', '0')")
    return [sorted(line.removeprefix(f"table {side}_side.") for (line,) in lines if line.startswith(f"table {side}_side.")) for side in ("heap", "amax")]


def loads(server, twins):
    """Loads write components if no slot of the database can ask for their rows; one that is made meanwhile waits."""
    control = twins.heap
    create, drop = ("SELECT FROM pg_create_logical_replication_slot('{}', 'test_decoding')", "SELECT pg_drop_replication_slot('{}')")
    twins.both("DROP TABLE IF EXISTS t")
    twins.both("CREATE TABLE t (id int, v text)")
    twins.both("ALTER TABLE t REPLICA IDENTITY FULL")
    if control.connection.info.server_version >= 160000:
        expect_load(twins, 0, "a standby may have logical replication slots")
        control.query(f"ALTER DATABASE {twins.database} SET amax.standbys_decode = off")
        twins.amax.query("SET amax.standbys_decode = off")

    # Publications ask for nothing by themselves, and slots of other databases for nothing here.
    control.query("CREATE PUBLICATION everything FOR ALL TABLES")
    with server.connect() as elsewhere:
        elsewhere.execute(create.format("elsewhere"))
        expect_load(twins, 1)
        elsewhere.execute(drop.format("elsewhere"))

    # A slot that is there.
    control.query(create.format("decoding"))
    expect_load(twins, 0, "a logical replication slot of the database may ask for them")
    heap, amax = decoded(control, "decoding")
    if heap != amax or len(heap) != LOAD:
        raise Mismatch(f"a load beside a slot: {len(heap)} changes of heap, {len(amax)} of amax")
    control.query(drop.format("decoding"))
    expect_load(twins, 1)

    # One that is made while a load is in progress, and between two loads of a transaction.
    twins.both("BEGIN")
    expect_load(twins, 1)
    with server.connect(twins.database) as maker, server.connect(twins.database) as watcher:
        making = threading.Thread(target=maker.execute, args=(create.format("decoding"),))
        making.start()
        waiting = "SELECT FROM pg_stat_activity WHERE pid = %s AND wait_event = 'transactionid'"
        while making.is_alive() and not watcher.execute(waiting, [maker.info.backend_pid]).fetchall():
            time.sleep(0.01)
        expect_load(twins, 0, "a logical replication slot of the database may ask for them")
        if not making.is_alive():
            raise Mismatch("a slot did not wait for a load in progress")
        twins.both("COMMIT")
        making.join()
    twins.same_rows()
    if any(lines := decoded(control, "decoding")):
        raise Mismatch(f"a slot has changes of a transaction that it waited for: {shorten(lines)}")
    expect_load(twins, 0, "a logical replication slot of the database may ask for them")
    changed = sum(twins.both(f"{change} WHERE id % 100 = {n}").count for n, change in enumerate(("UPDATE t SET v = 'changed'", "DELETE FROM t")))
    heap, amax = decoded(control, "decoding")
    if heap != amax or len(heap) != LOAD + changed:
        raise Mismatch(f"a load and changes beside a slot: {len(heap)} changes of heap, {len(amax)} of amax")
    control.query(drop.format("decoding"))
    control.query("DROP PUBLICATION everything")


LOAD = 2000


def expect_load(twins, components, hindrance=""):
    """A load that makes so many components, or leaves rows in row pages for a reason."""
    found = lambda: twins.amax.query("SELECT count(*) FROM amax.components('t')")[0][0]
    before = found()
    twins.both(f"INSERT INTO t SELECT i, 'value ' || i FROM generate_series(1, {LOAD}) i")
    if found() - before != components:
        raise Mismatch(f"a load made {found() - before} components, not {components}")
    why = twins.amax.query("SELECT why FROM amax.storage('t')")[0][0]
    if hindrance and not why.endswith(f"; loads go to row pages first: {hindrance}"):
        raise Mismatch(f"rows are in row pages because {why}")


def in_use(twins):
    """A row that was locked before its identity came, and still is: the old row cannot be logged, and the change is refused."""
    amax = twins.amax
    amax.query("DROP TABLE t; CREATE TABLE t (id int, v int)")
    amax.query("INSERT INTO t SELECT i, i FROM generate_series(1, 100) i")
    amax.query("VACUUM t")
    amax.query("BEGIN; SELECT FROM t WHERE id = 2 FOR KEY SHARE; ALTER TABLE t REPLICA IDENTITY FULL")
    outcome = amax.run("DELETE FROM t WHERE id = 2")
    if outcome.error != "55006":
        raise Mismatch(f"a row whose old version could not be logged: {outcome}")
    amax.query("ROLLBACK")
    amax.query("DELETE FROM t WHERE id = 2")


def wide(twins):
    """Rows wider than a page whose old version is logged: they stay in row pages, where they can be changed; VACUUM FULL puts there what was columnar before."""
    amax = twins.amax
    amax.query("DROP TABLE t; CREATE TABLE t (id int, s text)")
    amax.query("INSERT INTO t SELECT i, (SELECT string_agg(md5(i || ' ' || n), '') FROM generate_series(1, 500) n) FROM generate_series(1, 20) i")
    amax.query("VACUUM t")
    amax.query("ALTER TABLE t REPLICA IDENTITY FULL")
    outcome = amax.run("DELETE FROM t WHERE id = 2")
    if outcome.error != "54000":
        raise Mismatch(f"a stub that does not fit a page: {outcome}")
    for statement in ("VACUUM FULL t", "INSERT INTO t SELECT id + 20, s FROM t", "VACUUM t", "INSERT INTO t SELECT i, 'short' FROM generate_series(41, 1000) i",
                      "VACUUM t", "DELETE FROM t WHERE id IN (2, 22, 900)", "UPDATE t SET id = -id", "SET amax.bulk_threshold = 10", "VACUUM FULL t", "UPDATE t SET id = -id WHERE id > -100", "VACUUM t"):
        amax.query(statement)
    # 959 are short, and 59 of them have been updated since they became columnar. Those on pages of wide ones stay there.
    count, columnar = amax.query("SELECT count(*) FILTER (WHERE id > 0), (SELECT sum(rows) FROM amax.components('t')) FROM t")[0]
    if count != 97 or not 800 < (columnar or 0) <= 959 + 59:
        raise Mismatch(f"{count} rows instead of 97, {columnar} columnar ones")
