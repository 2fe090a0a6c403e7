"""Dump and restore, pg_upgrade, and what else works on files: tables in every state, heap's beside them as the oracle.

    upgrade.py DIRECTORY RESULTS [NAME...]      all tests, or those whose names contain one of the arguments

pg_upgrade runs from this major version to itself, and to each newer one installed with the extension in it, or in the directory of programs
that AMAX_UPGRADE_TO names. The last line is "N passed, N failed".
"""

import pathlib
import re
import shutil
import struct
import sys

import installation
import states
from checks import Checks, equal
from server import PG_BIN, Server, own
from twins import Mismatch

PAGE_HEADER, TAG = 24, 8
PAYLOAD = PAGE_HEADER + TAG
SETTINGS = ["fsync = off", "autovacuum = off"]


def crc32c(content):
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def seal_page(page, block):
    """The checksum of one of our pages (crates/lsm/src/page.rs): of its block and of all but LSN, PostgreSQL's checksum and this one."""
    struct.pack_into("<I", page, PAGE_HEADER + 4, crc32c(struct.pack("<I", block) + page[10:PAGE_HEADER + 4] + page[PAYLOAD:]))


def make_older(path):
    """Makes a table's file one of format version 3 (crates/lsm/src/meta.rs), whose manifest ends before the loads in progress."""
    pages = [bytearray(page) for page in re.findall(rb"(?s).{8192}", path.read_bytes())]
    meta = pages[0]
    equal(f"version of {path.name}", struct.unpack_from("<I", meta, PAYLOAD)[0], 5)
    length, extents = struct.unpack_from("<II", meta, PAYLOAD + 16)
    struct.pack_into("<I", meta, PAYLOAD, 3)
    if length:
        places = struct.unpack_from(f"<{2 * extents}I", meta, PAYLOAD + 64)
        blocks = [block for start, count in zip(places[::2], places[1::2]) for block in range(start, start + count)]
        manifest = b"".join(pages[block][PAYLOAD:] for block in blocks)[:length - 4]
        equal(f"loads in progress in {path.name}", manifest[-1], 0)
        manifest = manifest[:-1] + struct.pack("<I", crc32c(manifest[:-1]))
        struct.pack_into("<I", meta, PAYLOAD + 16, len(manifest))
        for at, block in enumerate(blocks):
            part = manifest[at * (8192 - PAYLOAD):][:8192 - PAYLOAD]
            pages[block][PAYLOAD:PAYLOAD + len(part)] = part
            seal_page(pages[block], block)
    seal_page(meta, 0)
    path.write_bytes(b"".join(pages))


def frozen(connection):
    """The oldest age of a transaction id in an amax table, and what the cluster's next one is."""
    return connection.execute("SELECT max(age(relfrozenxid)), max(mxid_age(relminmxid)), pg_current_xact_id()::text::numeric FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE amname = 'amax' AND relkind IN ('r', 'm')").fetchone()


def without_column_versions(server):
    """As if PostgreSQL had not written them: no newer major that knows them is to be had yet, and others refuse them, of any table."""
    for database in ("template1", "postgres", "states"):
        with server.connect(database) as connection:
            connection.execute("UPDATE pg_attribute SET attoptions = nullif(ARRAY(SELECT o FROM unnest(attoptions) o WHERE o NOT LIKE 'pg_attver=%'), '{}') WHERE attoptions IS NOT NULL")


def check_everything(server, contents, definitions):
    """The cluster holds what the old one held, and works on."""
    with server.connect("states", prepare_threshold=None) as connection:
        equal("contents", states.contents(connection), contents)
        equal("definitions", states.definitions(connection), definitions)
        states.statistics(connection)
        states.healthy(connection)
        reports = states.write(connection)
        age, multi_age, _ = frozen(connection)
        if not 0 <= age < 1000 or not 0 <= multi_age < 100:
            raise Mismatch(f"after VACUUM (FREEZE) relfrozenxid is {age} transactions old, relminmxid {multi_age}")
        flushed = sum(int(n) for n in re.findall(r"(\d+) row pages with", " ".join(reports)))
        freed = sum(int(n) for n in re.findall(r"(\d+) pages freed", " ".join(reports)))
        if not flushed or not freed:
            raise Mismatch(f"VACUUM flushed {flushed} pages and freed {freed}: {reports}")
        states.twins_agree(connection)
        states.healthy(connection)
    return f"{flushed} pages flushed, {freed} freed, age {age}"


class Tests:
    """Each test works on clusters of its own, which are copies of one (`source`) or restored from it."""

    def __init__(self, directory, wanted):
        self.directory, self.wanted = directory, wanted
        self.checks = Checks()
        self.servers = []
        self.source = Server(directory, "source", SETTINGS)
        # Full transaction ids far from their first 32 bits.
        self.source.run("pg_resetwal", "--epoch=7", self.source.data)
        self.source.start()
        states.build(self.source)
        with self.source.connect("states") as connection:
            self.contents, self.definitions = states.twins_agree(connection), states.definitions(connection)
            self.statistics = states.statistics(connection)

    def new(self, name, binaries=PG_BIN, make=None):
        server = Server(self.directory, name, SETTINGS, binaries, make)
        self.servers.append(server)
        return server

    def copy(self, name):
        """The source's files, after a clean shutdown."""
        self.source.stop()
        return self.new(name, make=lambda copy: copy.run("cp", "-a", self.source.data, copy.data))

    def run(self, name, test):
        if self.wanted and not any(w in name for w in self.wanted):
            return
        with self.checks.check(name) as said:
            said.append(test())
            for server in self.servers:
                server.stop()
                if "Bad checksums:  0" not in server.checksums():
                    raise Mismatch(f"checksums of {server.data.name}")
        while self.servers:
            server = self.servers.pop()
            crashes = server.new_crashes()
            if crashes:
                with self.checks.check(f"{name}: no crash in the log of {server.data.name}"):
                    raise Mismatch("\n".join(crashes[:5]))
            server.remove()

    # Dumps

    def dump(self, form, dump_options, restores):
        """A dump, then each restore of it or of a part of it in a session of its own: what one has loaded the next has not."""
        self.source.start()
        file = self.directory / f"dump-{form}"
        self.source.run("pg_dump", *dump_options, "-f", file, "-d", self.source.conninfo("states"))
        new = self.new("restored")
        new.start()
        with new.connect() as control:
            # Settings of the database are not in a dump of it.
            control.execute("CREATE DATABASE states TEMPLATE template0")
            for setting in states.SETTINGS:
                control.execute(f"ALTER DATABASE states SET {setting}")
        for program, *options in restores:
            new.run(program, *options, "-d", new.conninfo("states"), *(["-f"] if program == "psql" else []), file)
        return check_everything(new, self.contents, self.definitions)

    def leave(self):
        """To a server that has heap alone: pg_restore names no access method, and no options of ours."""
        self.source.start()
        file = self.directory / "dump-leaving"
        self.source.run("pg_dump", "-Fc", "-f", file, "-d", self.source.conninfo("states"))
        new = self.new("left")
        new.start()
        with new.connect() as control:
            control.execute("CREATE DATABASE states TEMPLATE template0")
        new.run("pg_restore", "--exit-on-error", "--no-table-access-method", "--no-security-labels", "-d", new.conninfo("states"), file)
        with new.connect("states", prepare_threshold=None) as connection:
            equal("tables of amax", connection.execute("SELECT count(*) FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE amname = 'amax' AND relkind IN ('r', 'm')").fetchone()[0], 0)
            equal("contents", states.contents(connection), self.contents)
        return f"{len(self.contents)} tables"

    # pg_upgrade

    def upgrade(self, mode, binaries=PG_BIN):
        old = self.copy("old")
        old.start()
        with old.connect("states") as connection:
            before = frozen(connection)
            equal("statistics after a restart", states.statistics(connection), self.statistics)
        if not installation.knows_column_versions(binaries):
            without_column_versions(old)
        old.stop()
        new = self.new("new", binaries)
        # Copying is what it does when not told otherwise (--copy is an option since 16).
        new.run("pg_upgrade", *(["--link"] if mode == "link" else []), "-b", old.binaries, "-B", new.binaries, "-d", old.data, "-D", new.data,
                "-s", self.directory, "-p", old.port, "-P", new.port, "-U", "postgres")
        if mode == "link":
            # The old cluster's files are the new one's.
            self.servers.remove(old)
            shutil.rmtree(old.data)
        new.start()
        with new.connect("states") as connection:
            after = frozen(connection)
            if after[0] > before[0] + 10000 or not before[2] <= after[2] < before[2] + 100000:
                raise Mismatch(f"(age of relfrozenxid, of relminmxid, next transaction id) was {before}, is {after}")
            equal("statistics", states.statistics(connection), self.statistics)
        return check_everything(new, self.contents, self.definitions)

    # Files

    def tablespace(self):
        server = self.copy("moved")
        place = self.directory / "tablespace"
        place.mkdir()
        own(place)
        server.start()
        with server.connect("states", prepare_threshold=None) as connection:
            connection.execute(f"CREATE TABLESPACE elsewhere LOCATION '{place}'")
            for table in ("docs", "loads", "parted_1", "identified", "unlogged", "empty"):
                connection.execute(f"ALTER TABLE amax_side.{table} SET TABLESPACE elsewhere")
            connection.execute("ALTER INDEX amax_side.docs_k SET TABLESPACE elsewhere")
            equal("contents", states.contents(connection), self.contents)
            states.healthy(connection)
            connection.execute("ALTER TABLE amax_side.docs SET TABLESPACE pg_default; ALTER INDEX amax_side.docs_k SET TABLESPACE pg_default")
        return check_everything(server, self.contents, self.definitions)

    def inspection(self):
        """Extensions that look at files and pages find what they find in any table."""
        server = self.copy("inspected")
        server.start()
        with server.connect("states", prepare_threshold=None) as connection:
            connection.execute("CREATE EXTENSION pageinspect; CREATE EXTENSION pg_prewarm; CHECKPOINT")
            size, name = connection.execute("SELECT pg_relation_size('amax_side.docs'), pg_relation_filepath('amax_side.docs')").fetchone()
            equal("pg_relation_size()", size, (server.data / name).stat().st_size)
            # Both believe that the file has as many blocks as there are logical ones (docs/limitations.md).
            blocks = connection.execute("SELECT max((ctid::text::point)[0]) FROM amax_side.docs").fetchone()[0]
            blocks = int(min(size / 8192, blocks))
            equal("pg_prewarm()", connection.execute(f"SELECT pg_prewarm('amax_side.docs', first_block => 0, last_block => {blocks - 1})").fetchone()[0], blocks)
            pages = connection.execute("SELECT count(*), count(*) FILTER (WHERE lower > upper OR upper > special OR pagesize <> 8192), "
                                       "count(*) FILTER (WHERE lower = 24 AND upper = 24) FROM (SELECT (page_header(get_raw_page('amax_side.docs', n))).* "
                                       f"FROM generate_series(0, {blocks - 1}) n) x").fetchone()
            if pages[:2] != (blocks, 0) or not pages[2]:
                raise Mismatch(f"{pages[0]} pages of {blocks}, {pages[1]} with bad headers, {pages[2]} of our own")
        return check_everything(server, self.contents, self.definitions)


    def far(self):
        """More logical blocks than one segment of a file has: what PostgreSQL prefetches for a bitmap scan or for ANALYZE is not in the file."""
        server = self.copy("far")
        server.start()
        with server.connect("states") as connection:
            files = {table: server.data / connection.execute(f"SELECT pg_relation_filepath('amax_side.{table}')").fetchone()[0] for table in ("docs", "loads")}
        server.stop()
        # So many blocks have been handed out, says the metapage (crates/lsm/src/meta.rs); that of `loads` is near the end of the second segment.
        server.run("pg_checksums", "--disable", "--no-sync", "-D", server.data)
        for table, blocks in (("docs", 200_000), ("loads", 2 * 131072 - 5)):
            with open(files[table], "r+b") as file:
                page = bytearray(file.read(8192))
                struct.pack_into("<I", page, PAYLOAD + 4, blocks)
                seal_page(page, 0)
                file.seek(0)
                file.write(page)
        server.run("pg_checksums", "--enable", "--no-sync", "-D", server.data)
        server.start()
        with server.connect("states", prepare_threshold=None) as connection:
            connection.execute("SET effective_io_concurrency = 100; SET maintenance_io_concurrency = 100; SET enable_seqscan = off; SET enable_indexscan = off")
            for side in states.SIDES:
                connection.execute(f"INSERT INTO {side}_side.docs (id, k, note, doc) SELECT i, i, gen.noise(i, 1, 1000), coalesce(gen.doc(i, 1), '0') FROM generate_series(10001, 11000) i")
                connection.execute(f"INSERT INTO {side}_side.loads SELECT i, i % 10, gen.doc(i, 2), gen.point(i, 2) FROM generate_series(10001, 11500) i")
            self.bitmaps(connection)
            for table in ("docs", "loads"):
                connection.execute(f"ANALYZE amax_side.{table}")
                equal("maintenance_io_concurrency", connection.execute("SHOW maintenance_io_concurrency").fetchone()[0], "100")
                connection.execute(f"VACUUM (ANALYZE) amax_side.{table}")
            self.bitmaps(connection)
            # Workers have nodes of their own.
            connection.execute("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0")
            self.bitmaps(connection)
            states.twins_agree(connection)
        return ", ".join(f"{t} to block {b}" for t, b in (("docs", 200_000), ("loads", 2 * 131072)))

    def older(self):
        """Tables of the format before this one are read, and written to."""
        server = self.copy("older")
        server.start()
        with server.connect("states") as connection:
            tables = connection.execute("SELECT pg_relation_filepath(c.oid) FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE amname = 'amax' AND relkind IN ('r', 'm') AND pg_relation_size(c.oid) > 0").fetchall()
        server.stop()
        server.run("pg_checksums", "--disable", "--no-sync", "-D", server.data)
        for name, in tables:
            make_older(server.data / name)
        server.run("pg_checksums", "--enable", "--no-sync", "-D", server.data)
        server.start()
        return f"{len(tables)} tables, {check_everything(server, self.contents, self.definitions)}"

    @staticmethod
    def bitmaps(connection):
        for query in ("docs x WHERE k > 10000", "docs x WHERE id > 10300", "loads x WHERE batch IN (3, 4)", "loads x WHERE place <@ box '(10,10),(90,90)'"):
            plan = "".join(row[0] for row in connection.execute(f"EXPLAIN SELECT * FROM amax_side.{query}").fetchall())
            if "Bitmap Heap Scan" not in plan:
                raise Mismatch(f"not a bitmap scan: {plan}")
            answers = [connection.execute(f"SELECT count(*), sum(hashtextextended(x::text, 0)) FROM {side}_side.{query}").fetchone() for side in states.SIDES]
            equal(query, answers[1], answers[0])


def main():
    directory, results, *wanted = sys.argv[1:]
    tests = Tests(pathlib.Path(directory), wanted)
    try:
        run(tests)
    finally:
        tests.source.remove()
    if tests.checks.failed:
        for log in pathlib.Path(directory).glob("*.log"):
            shutil.copy(log, results)
    return tests.checks.end()


def run(tests):
    restore = ("pg_restore", "--exit-on-error")
    for form, options, restores in (
            ("plain", [], [("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1")]),
            ("custom", ["-Fc"], [restore]),
            ("directory, parallel", ["-Fd", "-j", "3"], [(*restore, "-j", "3")]),
            ("custom, by sections", ["-Fc"], [(*restore, "--section", section) for section in ("pre-data", "data", "post-data")])):
        tests.run(f"pg_dump and restore: {form}", lambda f=form, o=options, r=restores: tests.dump(f.replace(", ", "-").replace(" ", "-"), o, r))
    tests.run("pg_restore --no-table-access-method", tests.leave)
    for mode in ("copy", "link"):
        tests.run(f"pg_upgrade --{mode} onto the same major", lambda mode=mode: tests.upgrade(mode))
    newer = installation.newer_majors(PG_BIN)
    print(f"        newer majors with the extension installed: {', '.join(str(m) for m, _ in newer) or 'none'}", flush=True)
    for major, binaries in newer:
        for mode in ("copy", "link"):
            tests.run(f"pg_upgrade --{mode} onto {major}", lambda mode=mode, binaries=binaries: tests.upgrade(mode, binaries))
    tests.run("tablespaces", tests.tablespace)
    tests.run("more logical blocks than the file has", tests.far)
    tests.run("tables of an older format", tests.older)
    tests.run("pageinspect, pg_prewarm, pg_relation_size", tests.inspection)


if __name__ == "__main__":
    sys.exit(main())
