"""Damaged files: blocks of zeros, a file cut short, flipped bits. An error that names relation and block, or the right answer; amax.verify finds it.

The server has no checksums of its own. Its few buffers are filled with another table before a file is touched, and every question is asked
in a session that has seen nothing yet. AMAX_FLIPS bits are flipped (default 300; 10,000 take a quarter of an hour), from AMAX_SEED on.
"""

import collections
import contextlib
import os
import pathlib
import random
import shutil
import struct
import sys
import threading
import time
import traceback

import psycopg

from server import Server
from twins import Mismatch

PAGE = 8192
HEADER = struct.Struct("<QHHHHHHII")  # bufpage.h, and our tag
KINDS = {1: "metapage", 2: "map", 3: "stubs", 4: "columnar"}
CORRUPTED = "XX001"

TABLE = """
CREATE TABLE t (id int PRIMARY KEY, n int, s text, doc jsonb) USING amax;
SELECT amax.set_options('t', '{"rows_per_leaf": 300, "flush_threshold": 0}');
INSERT INTO t SELECT i, i * 7, md5(i::text), jsonb_build_object('k', i, 'list', jsonb_build_array(i, md5(i::text), NULL), 'o', jsonb_build_object('a', i % 5))
  FROM generate_series(1, 2500) i;
VACUUM t;
INSERT INTO t SELECT i, i, repeat(md5(i::text), 20), jsonb_build_object('k', i, 'rare' || i % 9, 1.5) FROM generate_series(2501, 4000) i;
VACUUM t;
UPDATE t SET n = -n WHERE id % 11 = 3 AND id <= 3000;
DELETE FROM t WHERE id % 13 = 5 AND id <= 3000;
SELECT FROM t WHERE id % 17 = 9 FOR SHARE;
-- So many row pages (rows that may have conflicts are not loaded in bulk) that there are map pages.
INSERT INTO t SELECT i, i, (SELECT string_agg(md5(i || ' ' || j), '') FROM generate_series(1, 60) j), '{"new": true}' FROM generate_series(4001, 6400) i ON CONFLICT DO NOTHING;
"""
QUESTIONS = (
    "SELECT count(*), sum(hashtext(t::text)::bigint) FROM t",
    "SELECT sum(n), count(doc->>'k'), max(s), sum((doc->'o'->>'a')::int), count(DISTINCT doc->'list'->>1) FROM t WHERE n > -100000",
    "SELECT count(*) FROM t WHERE n BETWEEN 700 AND 1400 AND doc ? 'list'",
    "SET enable_seqscan = off; SET enable_bitmapscan = off; SET amax.custom_scan = off; "
    "SELECT count(*), sum(hashtext(t::text)::bigint) FROM generate_series(1, 6400, 111) i, LATERAL (SELECT * FROM t WHERE id = i OFFSET 0) t",
)


class Damage:
    """A table's file, to be damaged and made whole again."""

    def __init__(self, server, name, make, table="t"):
        self.server, self.database, self.table = server, name, table
        with server.connect() as control:
            control.execute(f"CREATE DATABASE {name}")
            control.execute(f"ALTER DATABASE {name} SET amax.shared_cache = 0")
            control.execute(f"ALTER DATABASE {name} SET amax.flush_inline = off")
        self.control = server.connect(name)
        self.control.execute("CREATE EXTENSION amax; CREATE EXTENSION pg_prewarm; CREATE EXTENSION pg_buffercache; "
                             "CREATE TABLE others (pad text) WITH (fillfactor = 10); INSERT INTO others SELECT repeat('x', 1000) FROM generate_series(1, 1500) i")
        for statement in make.split(";\n"):
            if statement.strip():
                self.control.execute(statement)
        # Nothing is left for readers to note on pages.
        self.control.execute(f"SELECT count(*), sum(hashtext({table}::text)::bigint) FROM {table}; CHECKPOINT")
        self.path = server.data / self.control.execute(f"SELECT pg_relation_filepath('{table}')").fetchone()[0]
        self.evict()
        self.sound = self.path.read_bytes()

    def evict(self):
        self.control.execute("SELECT pg_prewarm('others')")
        held = self.control.execute(f"SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('{self.table}') "
                                    "AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())").fetchone()[0]
        if held:
            raise Mismatch(f"{held} pages have stayed in buffers")

    def write(self, block, content):
        with open(self.path, "r+b") as file:
            file.seek(block * PAGE)
            file.write(content)

    def restore(self):
        """Whatever has been written to it, too."""
        self.evict()
        self.path.write_bytes(self.sound)

    def connect(self):
        connection = self.server.connect(self.database, prepare_threshold=None)
        connection.execute("SET statement_timeout = '30s'; SET client_min_messages = error")
        return connection

    def ask(self, question):
        """Rows, or an error's SQLSTATE and message, in a new session."""
        with self.connect() as session:
            return ask(session, question)

    def verify(self):
        return self.ask(f"SELECT * FROM amax.verify('{self.table}')")

    def kind(self, block):
        _, _, _, lower, upper, special, _, _, tag = HEADER.unpack_from(self.sound, block * PAGE)
        ours = lower == upper == 24 and special == PAGE and tag & ~0xFF == 0x584D4100
        return KINDS[tag & 0xFF] if ours else "row page"

    def blocks(self, kind):
        return [b for b in range(len(self.sound) // PAGE) if self.kind(b) == kind]

    def drop(self):
        self.control.close()
        with self.server.connect() as control:
            control.execute(f"DROP DATABASE {self.database} WITH (FORCE)")


def ask(session, question):
    try:
        cursor = session.execute(question)
        while cursor.nextset():
            pass
        return cursor.fetchall() if cursor.description else []
    except psycopg.Error as error:
        if session.closed:
            raise Mismatch(f"the connection was lost: {error}; {question}") from error
        return (error.sqlstate, str(error))


def is_error(found, *words):
    return isinstance(found, tuple) and found[0] == CORRUPTED and all(word in found[1] for word in words)


def expect(condition, what):
    if not condition:
        raise Mismatch(what)


def zeroed(server):
    """A block of zeros where something was: an error to readers and writers, and found."""
    damage = Damage(server, "zeroed", TABLE)
    used = [damage.blocks(kind)[0] for kind in ("map", "stubs")]
    manifest = int.from_bytes(damage.sound[32 + 64:][:4], "little")
    leaf = damage.control.execute("SELECT first_page FROM amax.leaves('t') LIMIT 1").fetchone()[0]
    row = damage.blocks("row page")[-3]
    damage.evict()
    for block, what in ((0, "metapage"), (used[0], "map"), (used[1], "stubs"), (manifest, "manifest"), (leaf, "leaf"), (row, "row page")):
        damage.write(block, bytes(PAGE))
        found = damage.ask(QUESTIONS[0])
        expect(is_error(found, '"t"', f"block {block} ") or what == "leaf" and is_error(found), f"a {what} of zeros: {found}")
        found = damage.verify()
        expect(isinstance(found, list) and found, f"amax.verify of a {what} of zeros: {found}")
        if what in ("metapage", "manifest"):
            # A row page of its own needs no manifest.
            for statement in ("VACUUM t", "DELETE FROM t", "CREATE INDEX ON t (n)", "INSERT INTO t VALUES (-1)")[:4 if block == 0 else 3]:
                found = damage.ask(statement)
                expect(is_error(found, '"t"'), f"{statement}, a {what} of zeros: {found}")
        damage.restore()
        expect(damage.verify() == [], "made whole again")
    damage.write(0, bytes(PAGE))
    expect(damage.ask("TRUNCATE t; INSERT INTO t VALUES (1); SELECT count(*) FROM t") == [(1,)], "TRUNCATE of a damaged table")
    damage.drop()
    return "found"


def unwritten(server):
    """Blocks of zeros alone, as a crash may leave them before anything was logged: an empty table that works."""
    damage = Damage(server, "unwritten", "CREATE TABLE t (i int) USING amax;\nINSERT INTO t VALUES (1);\n")
    for blocks in (1, 7):
        damage.path.write_bytes(bytes(PAGE * blocks))
        found = damage.ask("SELECT count(*) FROM t"), damage.verify()
        expect(found == ([(0,)], []), f"{blocks} blocks of zeros: {found}")
    found = damage.ask("INSERT INTO t SELECT i FROM generate_series(1, 3000) i; SELECT count(*) FROM t"), damage.verify()
    expect(found == ([(3000,)], []), f"a table that begins with blocks of zeros: {found}")
    damage.drop()
    return "empty"


def cut(server):
    """A file that has lost its end: an error, and found."""
    damage = Damage(server, "cut", TABLE)
    damage.path.write_bytes(damage.sound[:-20 * PAGE])
    found = damage.ask(QUESTIONS[0])
    expect(is_error(found), f"a file without its end: {found}")
    found = damage.verify()
    expect(isinstance(found, list) and len(found) >= 15, f"amax.verify of a file without its end: {found}")
    damage.restore()
    damage.drop()
    return "found"


def locks(server):
    """amax.verify, when it has met damage, leaves no lock that others wait for, and a session that can be cancelled."""
    damage = Damage(server, "locks", "CREATE TABLE t (i int, doc text) USING amax;\nINSERT INTO t SELECT i, '' FROM generate_series(1, 2000) i;\n")
    manifest = int.from_bytes(damage.sound[32 + 64:][:4], "little")
    damage.write(manifest, damage.sound[manifest * PAGE:][:40] + b"damage")
    with damage.connect() as one, damage.connect() as other:
        found = ask(one, "SELECT * FROM amax.verify('t')")
        expect(len(found) == 1 and isinstance(found, list), f"amax.verify says of a damaged manifest: {found}")

        def write():
            with contextlib.suppress(psycopg.errors.DataCorrupted):
                other.execute("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 20) i")

        # Row pages of their own need no manifest, but a lock of the metapage.
        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        writer.join(30)
        if writer.is_alive():
            server.kill()
            raise Mismatch("amax.verify has left the metapage locked")
        started = time.monotonic()
        found = ask(one, "SET statement_timeout = '200ms'; SELECT pg_sleep(10)")
        expect(found[0] == "57014" and time.monotonic() - started < 5, f"cancelling what comes after amax.verify: {found}")
    damage.restore()
    damage.drop()
    return "none"


def pointers(server, count, seed):
    """Line pointers and headers of row pages: VACUUM, an index build and a scan that prunes do not end the server, and say what is wrong.

    They run heap's functions, which look at line pointers within critical sections.
    """
    damage = Damage(server, "pointers", "CREATE TABLE t (id int, pad text) USING amax;\nSET amax.bulk_threshold = 1000000;\n"
                    "INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 120) i;\n")
    # Nobody has pruned what this leaves.
    damage.control.execute("UPDATE t SET id = -id WHERE id % 3 = 0; CHECKPOINT")
    damage.evict()
    damage.sound = damage.path.read_bytes()
    rng, block = random.Random(seed), damage.blocks("row page")[0]
    lower = HEADER.unpack_from(damage.sound, block * PAGE)[3]
    counts = collections.Counter()
    for _ in range(count):
        # Of pd_lower, pd_upper and pd_special, or of a line pointer.
        bit = rng.choice([rng.randrange(8 * 12, 8 * 18), rng.randrange(8 * 24, 8 * lower)])
        page = bytearray(damage.sound[block * PAGE:][:PAGE])
        page[bit // 8] ^= 1 << bit % 8
        for statement in ("VACUUM t", "SELECT count(*), sum(length(pad)) FROM t", "BEGIN; CREATE INDEX ON t (id); ROLLBACK"):
            damage.write(block, page)
            found = damage.ask(statement)
            # Who has lost a tuple, or its end, need not notice: that is as in heap.
            counts["named" if is_error(found, f"block {block} ") else "else"] += 1
            damage.restore()
    damage.drop()
    expect(counts["named"] > count, f"errors that name the page are too few: {counts}")
    return f"{counts['named']} of {3 * count} statements say so"


def flips(server, count, seed):
    """Flipped bits of our pages."""
    damage, rng = Damage(server, "flipped", TABLE), random.Random(seed)
    right = [damage.ask(question) for question in QUESTIONS]
    expect(all(isinstance(rows, list) for rows in right) and damage.verify() == [], f"before: {right}")
    manifest = int.from_bytes(damage.sound[32 + 64:][:4], "little")
    kinds = {kind: damage.blocks(kind) for kind in KINDS.values()}
    kinds["manifest"] = [manifest]
    kinds["leaf"] = [page for (page,) in damage.control.execute("SELECT first_page FROM amax.leaves('t')")]
    # Pages that hold nothing any more are nobody's to check.
    kinds["columnar"] = in_use(damage)
    expect(all(kinds.values()), f"kinds of pages: { {k: len(v) for k, v in kinds.items()} }")
    counts = collections.Counter()
    for _ in range(count):
        kind = rng.choice(sorted(kinds))
        block = rng.choice(kinds[kind])
        bit = rng.randrange(8 * rng.choice((24, 200, PAGE)))
        page = bytearray(damage.sound[block * PAGE:][:PAGE])
        page[bit // 8] ^= 1 << bit % 8
        damage.write(block, page)
        what = f"bit {bit} of block {block} ({kind}), seed {seed}"
        try:
            found = [damage.ask(question) for question in QUESTIONS]
            verified = damage.verify()
        except Mismatch as mismatch:
            raise Mismatch(f"{what}: {mismatch}") from mismatch
        damage.restore()
        outcome = "right"
        for rows, expected in zip(found, right):
            if isinstance(rows, tuple):
                outcome = "error"
                expect(rows[0] == CORRUPTED, f"{what}: {rows}")
            elif rows != expected:
                outcome = "wrong"
        expect(outcome != "wrong", f"{what}: {found}")
        noticed = verified != []
        # The LSN and PostgreSQL's checksum are not ours.
        expect(noticed or bit < 80, f"{what}: amax.verify finds nothing")
        counts[kind, outcome, "found" if noticed else "not found"] += 1
    damage.drop()
    return "; ".join(f"{kind}: {n} {outcome}, {noticed}" for (kind, outcome, noticed), n in sorted(counts.items()))


def in_use(damage):
    """Columnar pages that a component or the manifest has: those that a flipped bit of makes amax.verify speak."""
    damage.evict()
    found = []
    for block in damage.blocks("columnar"):
        damage.write(block, damage.sound[block * PAGE:][:PAGE - 1] + bytes([damage.sound[block * PAGE + PAGE - 1] ^ 1]))
        if damage.verify() != []:
            found.append(block)
        damage.restore()
    return found


def main():
    directory, results = sys.argv[1:3]
    count, seed = int(os.environ.get("AMAX_FLIPS", "300")), int(os.environ.get("AMAX_SEED", "1"))

    def without_checksums(server):
        server.run("initdb", "-D", server.data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")

    settings = ["fsync = off", "autovacuum = off", "shared_buffers = '1MB'", "max_connections = 10", "max_prepared_transactions = 0"]
    server = Server(directory, "damage", settings, make=without_checksums)
    server.start()
    passed = failed = 0
    tests = [(test, lambda test=test: test(server)) for test in (zeroed, unwritten, cut, locks)]
    tests += [(test, lambda test=test, n=n: test(server, n, seed)) for test, n in ((pointers, count // 5), (flips, count))]
    try:
        for test, run in tests:
            title, problem = test.__doc__.split(":")[0].rstrip("."), None
            try:
                did = run()
            except Exception as error:  # pylint: disable=broad-except
                problem = str(error.args[0]) if isinstance(error, Mismatch) else traceback.format_exc()
            crashes = server.new_crashes()
            if crashes:
                problem = (problem or "") + "\nthe server's log speaks of a crash:\n" + "\n".join(crashes[:5])
            passed, failed = passed + (problem is None), failed + (problem is not None)
            print(f"ok      {title}: {did}" if problem is None else f"FAILED  {title}\n    " + problem[:3000].replace("\n", "\n    "), flush=True)
    finally:
        if failed:
            shutil.copy(server.log, pathlib.Path(results) / "server.log")
        server.stop()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
