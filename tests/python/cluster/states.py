"""Tables in every state that a cluster can be stopped in, each beside a heap table with the same rows."""

import psycopg

from checks import equal
from twins import Mismatch
from values import FUNCTIONS

SIDES = ("heap", "amax")
SETTINGS = ["amax.flush_threshold = 0", "amax.bulk_threshold = 100", "amax.rows_per_leaf = 500"]

SCHEMA = """
SET search_path = {s}; SET default_table_access_method = {am};
CREATE TABLE docs (id int PRIMARY KEY, k int, gone text, note text, doc jsonb NOT NULL CHECK (doc <> '"never"'), upper_note text GENERATED ALWAYS AS (upper(left(note, 20))) STORED);
CREATE INDEX docs_k ON docs (k) INCLUDE (id);
CREATE INDEX docs_doc ON docs USING gin (doc jsonb_path_ops);
CREATE INDEX docs_brin ON docs USING brin (id) WITH (pages_per_range = 4);
CREATE INDEX docs_hash ON docs USING hash (note);
CREATE INDEX docs_expression ON docs ((doc->>'name')) WHERE k > 100;
CREATE TABLE loads (id bigint, batch int, doc jsonb, place point);
CREATE INDEX loads_batch ON loads (batch, id);
CREATE INDEX loads_place ON loads USING gist (place);
CREATE INDEX loads_joined ON loads USING amax_join (amax.join_row('docs', NULL, id));
CREATE TABLE parted (id int NOT NULL, k int, doc jsonb, FOREIGN KEY (id) REFERENCES docs DEFERRABLE INITIALLY DEFERRED) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (100) TO (1000);
CREATE UNIQUE INDEX parted_id ON parted (id);
CREATE TABLE reserved (during int4range, EXCLUDE USING gist (during WITH &&));
CREATE TABLE empty (doc jsonb);
CREATE TABLE identified (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, doc jsonb);
CREATE UNLOGGED TABLE unlogged (id int, doc jsonb);
"""

# Statements; those in a list are VACUUMs and the like, which have no transaction around them.
STEPS = [
    "INSERT INTO docs SELECT i, gen.int(i, 1), 'gone ' || i, gen.toast(i, 1), coalesce(gen.doc(i, 1), '0') FROM generate_series(1, 600) i",
    "INSERT INTO loads SELECT i, 1, gen.doc(i, 2), gen.point(i, 2) FROM generate_series(1, 1500) i",
    "INSERT INTO parted SELECT i, gen.int(i, 3), gen.doc(i, 3) FROM generate_series(1, 300) i",
    "INSERT INTO reserved SELECT int4range(i * 10, i * 10 + 5) FROM generate_series(1, 400) i",
    "INSERT INTO identified (doc) SELECT gen.doc(i, 4) FROM generate_series(1, 200) i",
    "INSERT INTO unlogged SELECT i, gen.doc(i, 5) FROM generate_series(1, 300) i",
    ["VACUUM docs", "VACUUM loads", "VACUUM parted", "VACUUM identified", "VACUUM unlogged"],
    "ALTER TABLE docs DROP COLUMN gone",
    "ALTER TABLE docs ADD COLUMN added text DEFAULT 'was not there'",
    # Rows of components that are dead to everyone,
    "DELETE FROM docs WHERE id % 13 = 5 AND id NOT IN (SELECT id FROM parted)",
    "DELETE FROM loads WHERE id % 19 = 3",
    ["VACUUM docs", "VACUUM (FREEZE) loads"],
    # deleted, changed (also by a transaction that was rolled back), locked,
    "DELETE FROM docs WHERE id % 11 = 4 AND id NOT IN (SELECT id FROM parted)",
    "UPDATE docs SET doc = coalesce(gen.doc(id, 7), '{}') || '[7]' WHERE id % 7 = 1",
    "UPDATE docs SET k = k + 1 WHERE id % 7 = 2",
    "UPDATE loads SET doc = '{\"changed\": [1.50, null]}' WHERE id % 17 = 1",
    "BEGIN; UPDATE docs SET k = 0; DELETE FROM loads; ROLLBACK",
    "SELECT count(*) FROM (SELECT FROM docs WHERE id % 5 = 3 FOR UPDATE) x",
    "BEGIN; SELECT count(*) FROM (SELECT FROM docs WHERE id % 5 = 1 FOR KEY SHARE) x; SAVEPOINT s; "
    "UPDATE docs SET note = 'after a lock of the same transaction' WHERE id % 10 = 1; COMMIT",
    # row pages whose flush failed half-way (amax),
    "INSERT INTO docs (id, k, note, doc) SELECT i, gen.int(i, 8), gen.toast(i, 8), coalesce(gen.doc(i, 8), '0') FROM generate_series(601, 800) i",
    "FAIL VACUUM docs",
    # row pages not flushed, with versions that are dead and that were rolled back,
    "INSERT INTO docs (id, k, note, doc) SELECT i, gen.int(i, 9), gen.toast(i, 9), coalesce(gen.doc(i, 9), '0') FROM generate_series(801, 900) i",
    "UPDATE docs SET k = -k WHERE id BETWEEN 840 AND 860",
    "BEGIN; INSERT INTO docs (id, doc) SELECT i, '\"rolled back\"' FROM generate_series(901, 999) i; ROLLBACK",
    # components with a transaction, one of them a subtransaction, one rolled back; pages given up and not yet free.
    "INSERT INTO loads SELECT i, 2, gen.doc(i, 10), gen.point(i, 10) FROM generate_series(2001, 2400) i",
    "BEGIN; SAVEPOINT s; INSERT INTO loads SELECT i, 3, gen.doc(i, 11), gen.point(i, 11) FROM generate_series(3001, 3400) i; RELEASE s; COMMIT",
    "BEGIN; INSERT INTO loads SELECT i, 4, gen.doc(i, 12), gen.point(i, 12) FROM generate_series(4001, 4400) i; ROLLBACK",
    ["VACUUM identified"],
    "CREATE MATERIALIZED VIEW summed AS SELECT k, count(*) AS n FROM docs GROUP BY 1",
]

TABLES = ("docs", "loads", "parted", "reserved", "empty", "identified", "unlogged", "summed")
OPTIONS = {"docs": '{"compression": "zstd", "flush_threshold": 3}', "loads": '{"rows_per_leaf": 77, "leaf_size": 200, "path_cap": 50}', "parted_2": '{"compression": "none"}'}
BTREES = ("docs_pkey", "docs_k", "docs_expression", "loads_batch", "parted_1_id_idx", "parted_2_id_idx", "identified_pkey")


def build(server):
    """Makes the database `states`."""
    with server.connect() as control:
        control.execute("CREATE DATABASE states")
        for setting in SETTINGS:
            control.execute(f"ALTER DATABASE states SET {setting}")
    for side in SIDES:
        with server.connect("states", prepare_threshold=None) as connection:
            if side == SIDES[0]:
                connection.execute("CREATE EXTENSION amax; CREATE EXTENSION amcheck; CREATE EXTENSION IF NOT EXISTS plpgsql;" + FUNCTIONS)
            connection.execute(f"CREATE SCHEMA {side}_side;" + SCHEMA.format(s=f"{side}_side, public", am=side))
            for table, options in OPTIONS.items() if side == "amax" else ():
                connection.execute(f"SELECT amax.set_options('{table}', '{options}')")
            for step in STEPS:
                perform(connection, side, step)
    with server.connect("states") as connection:
        # A heap table by now, of which a dump must not say that it has options.
        connection.execute("CREATE TABLE was_amax (i int) USING amax; SELECT amax.set_options('was_amax', '{\"rows_per_leaf\": 77}')")
        connection.execute("ALTER TABLE was_amax SET ACCESS METHOD heap")
        states_reached(connection)


def perform(connection, side, step):
    if isinstance(step, list):
        for statement in step:
            connection.execute(statement)
    elif step.startswith("FAIL "):
        if side == "amax":
            connection.execute("SET amax.fault_point = 'flush_sealed'")
            try:
                connection.execute(step.removeprefix("FAIL "))
                raise Mismatch("the flush was supposed to fail")
            except psycopg.Error as error:
                if "fault injected" not in str(error):
                    raise
            connection.execute("RESET amax.fault_point")
    else:
        connection.execute(step)


def states_reached(connection):
    """Without columnar rows, unfrozen components and so on, nothing would be tested."""
    for table, unfrozen in (("docs", 0), ("loads", 2), ("parted_1", 0), ("identified", 0)):
        components, xids = connection.execute(f"SELECT count(*), count(xid) FROM amax.components('amax_side.{table}')").fetchone()
        if not components or xids < unfrozen:
            raise Mismatch(f"{table} has {components} components, {xids} of them not frozen")


def contents(connection, tables=TABLES):
    """Per table: heap's and amax's digest."""
    found = {}
    for table in tables:
        for side in SIDES:
            found[table, side] = connection.execute(f"SELECT count(*), sum(hashtextextended(x::text, 0)) FROM {side}_side.{table} x").fetchone()
    return found


def twins_agree(connection, tables=TABLES):
    found = contents(connection, tables)
    for table in tables:
        equal(f"{table}: amax", found[table, "amax"], found[table, "heap"])
    return found


def healthy(connection):
    """Every structure, and the same answers by every index."""
    for (table,) in connection.execute("SELECT c.oid::regclass::text FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE amname = 'amax'").fetchall():
        problems = connection.execute(f"SELECT * FROM amax.verify('{table}')").fetchall()
        if problems:
            raise Mismatch(f"amax.verify({table}): {problems[:5]}")
    for index in BTREES:
        connection.execute(f"SELECT bt_index_parent_check('amax_side.{index}', true)")
    with connection.transaction():
        connection.execute("SET LOCAL enable_seqscan = off")
        for condition in ("docs x WHERE k BETWEEN 10 AND 200", "docs x WHERE doc @> '{\"k\": 3}'", "docs x WHERE id BETWEEN 17 AND 70", "docs x WHERE doc->>'name' > 'T' AND k > 100",
                          "docs x WHERE note = 'short 7'", "loads x WHERE batch = 2", "loads x WHERE batch IN (1, 3) AND id > 700", "loads x WHERE place <@ box '(10,10),(60,60)'",
                          "parted x WHERE id BETWEEN 90 AND 120", "reserved x WHERE during && '[300,700)'"):
            answers = [connection.execute(f"SELECT count(*), sum(hashtextextended(x::text, 0)) FROM {side}_side.{condition}").fetchone() for side in SIDES]
            equal(condition, answers[1], answers[0])


def statistics(connection, tables=("docs", "loads")):
    """What the planner knows of paths, but for how many values there may be beyond the sample."""
    found = connection.execute("SELECT tablename, attname, path, null_frac, avg_width, most_common_vals, most_common_freqs, histogram_bounds, correlation FROM amax.stats "
                               "WHERE schemaname = 'amax_side' ORDER BY tablename, attname, path").fetchall()
    unknown = set(tables) - {row[0] for row in found}
    if unknown:
        raise Mismatch(f"nothing is known of paths in {unknown}")
    return found


def definitions(connection):
    """What a dump must keep beside the rows. The names of the two sides apart, it is also the same on both."""
    found = connection.execute("""
        SELECT 'index', indexdef FROM pg_indexes WHERE schemaname ~ '_side$'
        UNION ALL SELECT 'constraint', conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid::regclass::text ~ '_side' AND contype <> 'n' -- NOT NULL, since 18
        UNION ALL SELECT 'access method', c.oid::regclass || ' ' || amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE relkind IN ('r', 'm') AND relnamespace::regnamespace::text ~ '_side$'
        UNION ALL SELECT 'persistence', oid::regclass || ' ' || relpersistence::text FROM pg_class WHERE relkind IN ('r', 'm') AND relnamespace::regnamespace::text ~ '_side$'
        UNION ALL SELECT 'partition', oid::regclass || ' ' || pg_get_expr(relpartbound, oid) FROM pg_class WHERE relpartbound IS NOT NULL AND relkind = 'r'
        UNION ALL SELECT 'options', t || ' ' || o::text FROM unnest(ARRAY['docs', 'loads', 'parted_1', 'parted_2']) t, amax.options(('amax_side.' || t)::regclass) o
        UNION ALL SELECT 'label', objoid::regclass || ' ' || label FROM pg_seclabel
        ORDER BY 1, 2""").fetchall()
    labelled = [text.split()[0] for kind, text in found if kind == "label"]
    equal("tables with options", labelled, [f"amax_side.{table}" for table in sorted(OPTIONS)])
    if not sum(1 for kind, text in found if kind == "options" and text.endswith(",table)")) == 6:
        raise Mismatch(f"options of tables: {[text for kind, text in found if kind == 'options']}")
    return found


def write(connection):
    """The tables take changes of every kind, VACUUM and a freeze; returns VACUUM's reports."""
    reports = []
    connection.add_notice_handler(lambda d: reports.append(d.message_primary))
    for side in SIDES:
        connection.execute(f"SET search_path = {side}_side, public")
        for statement in (
            "UPDATE docs SET doc = doc || '[\"again\"]' WHERE id % 3 = 0", "DELETE FROM docs WHERE id % 9 = 2 AND id NOT IN (SELECT id FROM parted)",
            "INSERT INTO docs (id, k, note, doc) SELECT i, gen.int(i, 20), gen.toast(i, 20), coalesce(gen.doc(i, 20), '0') FROM generate_series(2001, 2300) i",
            "INSERT INTO docs (id, doc) VALUES (1, '1'), (2001, '2') ON CONFLICT (id) DO UPDATE SET doc = '\"conflict\"'",
            "INSERT INTO loads SELECT i, 9, gen.doc(i, 21), gen.point(i, 21) FROM generate_series(9001, 9500) i", "DELETE FROM loads WHERE batch = 2", "UPDATE loads SET batch = 5 WHERE batch = 3",
            "UPDATE parted SET id = id + 100 WHERE id = 95 AND NOT EXISTS (SELECT FROM parted WHERE id = 195)", "DELETE FROM parted WHERE id % 6 = 1", "INSERT INTO empty SELECT gen.doc(i, 22) FROM generate_series(1, 50) i",
            "INSERT INTO identified (doc) SELECT gen.doc(i, 23) FROM generate_series(1, 30) i", "REFRESH MATERIALIZED VIEW summed", "INSERT INTO reserved VALUES ('[5000,5001)')"):
            connection.execute(statement)
        try:
            connection.execute("INSERT INTO reserved VALUES ('[300,301)')")
            raise Mismatch("the exclusion constraint lets overlapping ranges in")
        except psycopg.errors.ExclusionViolation:
            pass
    for _ in range(3):
        for table in ("docs", "loads", "parted", "empty", "identified", "unlogged", "summed", "reserved"):
            connection.execute(f"VACUUM (FREEZE, VERBOSE) amax_side.{table}")
        connection.execute("SELECT pg_current_xact_id()")
    return [r for r in reports if r and r.startswith("vacuumed")]
