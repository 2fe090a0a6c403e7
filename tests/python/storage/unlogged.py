"""An unlogged table whose file stands in the way of a restart, heap's too: a fault of PostgreSQL's.

A transaction that made it rolls back: its init fork is gone at once, its main file is empty and stays until the next checkpoint. The server dies before the record of
that is written. The restart finds a main file without an init fork, which it leaves alone; redo makes the init fork again; and its copy is to be a new file, at the
end of recovery (ResetUnloggedRelations(), reinit.c): "File exists". The file holds nothing, and who removes it can start the server.
"""

import re

from server import Server
from twins import Mismatch

IN_THE_WAY = re.compile(r'FATAL:  could not create file "([^"]+)": File exists')


def start(server):
    """Starts a server that died; how many such files it had to be rid of."""
    removed = set()
    while True:
        try:
            server.start()
            return len(removed)
        except RuntimeError:
            found = IN_THE_WAY.findall(server.log_tail())
            file = server.data / found[-1] if found else None
            if file is None or file in removed or file.stat().st_size or not file.with_name(f"{file.name}_init").exists():
                raise
            file.unlink()
            removed.add(file)


def run(directory):
    return ", ".join(f"{am}: {leftover(directory, am)} file removed" for am in ("heap", "amax"))


def leftover(directory, am):
    server = Server(directory, "unlogged", ["wal_writer_delay = 10s", "autovacuum = off", "checkpoint_timeout = 1h"])
    server.start()
    try:
        with server.connect() as one, server.connect() as other:
            one.execute("CREATE EXTENSION amax")
            one.execute("CREATE TABLE kept (n int)")
            other.execute("BEGIN")
            other.execute(f"CREATE UNLOGGED TABLE t (n int) USING {am}")
            # Its commit writes what is in the log so far.
            one.execute("INSERT INTO kept VALUES (1)")
            other.execute("ROLLBACK")
            server.kill()
        removed = start(server)
        with server.connect() as one:
            rows = one.execute("SELECT n, to_regclass('t') FROM kept").fetchall()
            if rows != [(1, None)] or not removed:
                raise Mismatch(f"{am}: {removed} files were in the way, the rows are {rows}")
        return removed
    finally:
        server.remove()
