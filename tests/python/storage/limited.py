"""A server that may not have much memory (ulimit -v), and one large document: what others do with the table succeeds, or ends with "out of
memory"; the server stays up, and the rows are those of a heap table.

    limited.py DIRECTORY RESULTS [DOCUMENT...]
"""

import pathlib
import sys
import traceback

import psycopg

import server as servers
from memory import Failure, OUT_OF_MEMORY

# The document, and the limit in kB.
DOCUMENTS = {
    "long string": ("jsonb_build_object('s', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 6000000) i))", 1300000),
    "million keys": ("(SELECT jsonb_object_agg('key' || i, i) FROM generate_series(1, 1000000) i)", 450000),
    "two million elements": ("(SELECT jsonb_agg(i) FROM generate_series(1, 2000000) i)", 400000),
}
INSERT = ("INSERT INTO {am} SELECT i, jsonb_build_object('a', i, 'b', repeat('x', 1000)) FROM generate_series({first}, {last}) i")
BATCH = 900


def limited(server, kilobytes):
    """Starts the server under the limit."""
    plain = servers.as_server_user
    servers.as_server_user = lambda command: plain(["bash", "-c", f'ulimit -v {kilobytes}; exec "$@"', "bash", *command])
    try:
        server.start()
    finally:
        servers.as_server_user = plain


class Limited:
    def __init__(self, server, document, kilobytes):
        self.server, self.errors = server, 0
        server.start()
        with server.connect() as session:
            session.execute("CREATE EXTENSION IF NOT EXISTS amax; DROP TABLE IF EXISTS heap, amax")
            for am in ("heap", "amax"):
                session.execute(f"CREATE TABLE {am} (id int, doc jsonb) USING {am} WITH (autovacuum_enabled = off)")
            session.execute(f"INSERT INTO heap SELECT 0, {document}")
            session.execute("INSERT INTO amax SELECT * FROM heap")
        server.stop()
        limited(server, kilobytes)
        self.postmaster = (server.data / "postmaster.pid").read_text().split()[0]

    def run(self, statement):
        """Whether it succeeded."""
        with self.server.connect() as session:
            try:
                session.execute(statement)
                return True
            except psycopg.Error as error:
                if error.sqlstate != OUT_OF_MEMORY or session.closed:
                    raise Failure(f"{statement[:60]}: {error.sqlstate} {error}") from error
                self.errors += 1
                return False

    def test(self):
        for first in range(1, 12 * BATCH, BATCH):
            last = first + BATCH - 1
            if not self.run(INSERT.format(am="amax", first=first, last=last)):
                raise Failure("an insert of small rows failed")
            self.run(INSERT.format(am="heap", first=first, last=last))
        for _ in range(3):
            self.run("VACUUM amax")
        self.run("SELECT count(doc->'a'), max(length(doc->>'s')) FROM amax")
        self.run("SELECT sum(hashtextextended(doc::text, 0)) FROM amax")
        if (self.server.data / "postmaster.pid").read_text().split()[0] != self.postmaster or self.server.new_crashes():
            raise Failure(f"a crash: {self.server.log_tail(1000)}")
        self.server.stop()
        self.server.start()
        with self.server.connect() as session:
            problems = session.execute("SELECT * FROM amax.verify('amax')").fetchall()
            differ = session.execute("SELECT count(*) FROM heap FULL JOIN amax USING (id) WHERE heap.doc IS DISTINCT FROM amax.doc").fetchone()
            flushed = session.execute("SELECT coalesce(sum(rows), 0) FROM amax.components('amax')").fetchone()[0]
        if problems or differ != (0,):
            raise Failure(f"{problems[:3]}, {differ[0]} rows differ")
        return f"{self.errors} errors, {flushed} rows columnar"


def main():
    directory, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    servers.own(directory)
    passed = failed = 0
    server = servers.Server(directory, "limited", ["shared_buffers = '128MB'", "fsync = off"])
    for name in sys.argv[3:] or DOCUMENTS:
        try:
            print(f"ok      {name}: {Limited(server, *DOCUMENTS[name]).test()}", flush=True)
            passed += 1
        except (Failure, psycopg.Error, RuntimeError):
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc(limit=3)}", flush=True)
            (results / f"{name.replace(' ', '-')}.log").write_text(server.log_tail(20000))
        server.stop()
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
