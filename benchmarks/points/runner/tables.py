"""The tables: the same documents in heap and in amax, all rows columnar."""

import subprocess
import time

import psycopg
from bench.generator import build
from psycopg import sql

from .config import SYSTEMS, Options

BLOCK = 1 << 20
COPY = r"COPY points (doc) FROM STDIN WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')"
TEMPLATES = 1000


def schema(system: str) -> str:
    return f"points_{system}"


def connect(options: Options, system: str):
    """A session that finds a system's tables by their bare names."""
    session = psycopg.connect(options.dsn, autocommit=True, prepare_threshold=None)
    settings = {"search_path": schema(system), "client_min_messages": "warning"} | options.settings
    for name, value in settings.items():
        session.execute("SELECT set_config(%s, %s, false)", (name, value))
    return session


def load(options: Options, system: str) -> dict:
    """Seconds to load and to make ready, and bytes of the table and of its indexes."""
    generator = options.generator or build("amax-events")
    with connect(options, system) as session:
        session.execute("CREATE EXTENSION IF NOT EXISTS amax")
        name = sql.Identifier(schema(system))
        session.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(name))
        session.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        session.execute("SELECT set_config('default_table_access_method', %s, false)", (system,))
        # The id is the row's number: a load is in order, and so bulk loading needs no key yet.
        session.execute("CREATE SEQUENCE ids CACHE 100")
        session.execute("CREATE TABLE points (id bigint DEFAULT nextval('ids'), seen timestamptz DEFAULT clock_timestamp(), doc jsonb)")
        started = time.perf_counter()
        command = [generator, "--kind", "views", "--events", str(options.rows)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as documents, session.cursor() as cursor:
            with cursor.copy(COPY) as copy:
                while block := documents.stdout.read(BLOCK):
                    copy.write(block)
            if cursor.rowcount != options.rows:
                raise RuntimeError(f"{cursor.rowcount} rows, not {options.rows}")
        copied = time.perf_counter()
        session.execute("ALTER TABLE points ADD PRIMARY KEY (id)")
        session.execute("CREATE INDEX points_seen ON points (seen)")
        session.execute("CREATE TABLE templates (n int PRIMARY KEY, doc jsonb) USING heap")
        session.execute("INSERT INTO templates SELECT id, doc FROM points WHERE id <= %s", (TEMPLATES,))
        session.execute("VACUUM ANALYZE templates")
        settle(session)
        return {"copy_seconds": copied - started, "index_seconds": time.perf_counter() - copied} | size(session, system)


def settle(session) -> None:
    """What a user's autovacuum would get to in the end; for amax, all that can be flushed is."""
    session.execute("VACUUM (ANALYZE) points")
    session.execute("CHECKPOINT")


def size(session, system: str) -> dict:
    table, indexes = session.execute("SELECT pg_table_size('points'), pg_indexes_size('points')").fetchone()
    found = {"table_bytes": table, "index_bytes": indexes}
    if system == "amax":
        found["columnar_rows"] = session.execute("SELECT coalesce(sum(rows), 0)::bigint FROM amax.components('points')").fetchone()[0]
    return found


def differences(options: Options) -> list[str]:
    """Rows that heap and amax do not share, of those no load has written: writes are random. And damage."""
    with connect(options, SYSTEMS[0]) as session:
        heap, amax = (f"SELECT id, doc FROM {schema(system)}.points" for system in SYSTEMS)
        sample = " WHERE id % 97 = 0 AND doc->>'id' = id::text"
        count = session.execute(
            f"SELECT count(*) FROM ({heap}{sample}) h JOIN ({amax}{sample}) a USING (id)"
            " WHERE h.doc #- '{metrics,likes}' IS DISTINCT FROM a.doc #- '{metrics,likes}'").fetchone()[0]
        problems = session.execute("SELECT * FROM amax.verify(%s::regclass)", (f"{schema('amax')}.points",)).fetchall()
    return ([f"{count} documents differ"] if count else []) + [f"amax.verify: {problem}" for problem in problems]


def drop(options: Options, system: str) -> None:
    with connect(options, system) as session:
        session.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema(system))))
