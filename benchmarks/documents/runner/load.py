"""Loading documents into tables, one per access method, and what that takes."""

import time
from statistics import median

import psycopg
from psycopg import sql

from .memory import Peak

BLOCK = 1 << 20

# Variant: access method and options set before the load. Variants without options run with all defaults.
VARIANTS = {"heap": ("heap", None), "amax": ("amax", None), "amax_zstd": ("amax", '{"compression": "zstd"}')}

# The delimiter and the quote are bytes no document contains, so lines arrive as they are.
COPY = r"COPY {} FROM STDIN WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02')"


def schema(variant: str) -> str:
    """The schema a variant's tables are in, named as in the samples."""
    return f"documents_{variant}"


def prepare(dsn: str) -> None:
    """Empty schemas, and the extension."""
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("SET client_min_messages = warning")
        session.execute("CREATE EXTENSION IF NOT EXISTS amax")
        for variant in VARIANTS:
            name = sql.Identifier(schema(variant))
            session.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(name))
            session.execute(sql.SQL("CREATE SCHEMA {}").format(name))


def load_all(dsn: str, kind: str, lines: bytes, repeat: int) -> dict[str, dict]:
    """Loads each variant `repeat` times, taking turns, and leaves the last load there; results by variant.

    seconds (all loads, and their median), rows, size in bytes right after COPY and after VACUUM (ANALYZE), the first
    load's memory (see Peak), and for amax the rows in components.
    """
    loads = {variant: [] for variant in VARIANTS}
    for round_ in range(repeat):
        turns = list(VARIANTS)
        for variant in turns if round_ % 2 == 0 else reversed(turns):
            loads[variant].append(_load(dsn, kind, variant, lines))
    results = {}
    for variant, runs in loads.items():
        last = runs[-1]
        results[variant] = {
            "seconds": median(run["seconds"] for run in runs), "all_seconds": [run["seconds"] for run in runs],
            "rows": last["rows"], "size": last["size"],
            "high_water": median(run["high_water"] for run in runs) if last["high_water"] is not None else None,
            "private": median(run["private"] for run in runs) if last["private"] is not None else None,
        }
        results[variant] |= _settle(dsn, kind, variant)
    return results


def _load(dsn: str, kind: str, variant: str, lines: bytes) -> dict:
    method, options = VARIANTS[variant]
    table = sql.Identifier(schema(variant), kind)
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
        session.execute(sql.SQL("CREATE TABLE {} (doc jsonb) USING {}").format(table, sql.Identifier(method)))
        if options:
            session.execute("SELECT amax.set_options(%s::regclass, %s::jsonb)", (f"{schema(variant)}.{kind}", options))
        session.execute("CHECKPOINT")
    # A new connection, so that memory is the load's alone.
    with psycopg.connect(dsn, autocommit=True) as session, session.cursor() as cursor:
        with Peak(session.info.backend_pid) as peak:
            started = time.perf_counter()
            with cursor.copy(sql.SQL(COPY).format(table)) as copy:
                for start in range(0, len(lines), BLOCK):
                    copy.write(lines[start:start + BLOCK])
            seconds = time.perf_counter() - started
        return {"seconds": seconds, "rows": cursor.rowcount, "high_water": peak.high_water, "private": peak.private,
                "size": _size(session, kind, variant)}


def _size(session, kind: str, variant: str) -> int:
    return session.execute("SELECT pg_total_relation_size(%s::regclass)", (f"{schema(variant)}.{kind}",)).fetchone()[0]


def _settle(dsn: str, kind: str, variant: str) -> dict:
    table = f"{schema(variant)}.{kind}"
    with psycopg.connect(dsn, autocommit=True) as session:
        found = {}
        if VARIANTS[variant][0] == "amax":
            found["component_rows"] = session.execute(
                "SELECT coalesce(sum(rows), 0)::bigint FROM amax.components(%s::regclass)", (table,)).fetchone()[0]
            problems = session.execute("SELECT * FROM amax.verify(%s::regclass)", (table,)).fetchall()
            found["problems"] = [problem for problem, in problems]
        started = time.perf_counter()
        session.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(schema(variant), kind)))
        found["vacuum_seconds"] = time.perf_counter() - started
        found["size_after_vacuum"] = _size(session, kind, variant)
        return found
