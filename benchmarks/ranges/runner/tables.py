"""The tables: the same records in heap and in amax."""

import random
import time

import psycopg
from psycopg import sql

from .config import FIELDS, KINDS, SYSTEMS, Options
from .scripts import statement

# 100 characters: how often the field has been updated, and what follows from that and the place of the field. So a record tells
# whether it is whole, and a table how many updates it has seen.
FIELD = r"""
CREATE FUNCTION field(id bigint, n int, version bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN lpad(version::text, 14, '0') || left(translate(encode(sha512((id || ' ' || n || ' ' || version)::bytea), 'base64'), E'\n', ''), 86)"""
COMPARED = 3


def schema(system: str) -> str:
    return f"ranges_{system}"


def connect(options: Options, system: str):
    """A session that finds a system's table by its bare name."""
    session = psycopg.connect(options.dsn, autocommit=True, prepare_threshold=None)
    settings = {"search_path": schema(system), "client_min_messages": "warning"} | options.settings
    for name, value in settings.items():
        session.execute("SELECT set_config(%s, %s, false)", (name, value))
    return session


def load(options: Options, system: str) -> dict:
    """Seconds to load and to VACUUM, and bytes of the table and its index. Heap first: amax gets heap's records."""
    with connect(options, system) as session:
        name = sql.Identifier(schema(system))
        session.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(name))
        session.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        session.execute(FIELD)
        session.execute(f"CREATE TABLE records (id bigint PRIMARY KEY, doc jsonb NOT NULL) USING {system}")
        fields = ", ".join(f"'field{n}', field(id, {n}, 0)" for n in range(FIELDS))
        order = "ORDER BY hashint8(id)" if options.shuffled else ""
        source = f"{schema('heap')}.records" if system != "heap" else \
            f"(SELECT id, jsonb_build_object({fields}) FROM generate_series(0, {options.rows - 1}::bigint) id {order}) made"
        started = time.perf_counter()
        session.execute(f"INSERT INTO records SELECT * FROM {source}")
        loaded = time.perf_counter()
        session.execute("VACUUM (ANALYZE) records")
        vacuumed = time.perf_counter()
        session.execute("CHECKPOINT")
        return {"load_seconds": loaded - started, "vacuum_seconds": vacuumed - loaded} | size(session)


def size(session) -> dict:
    table, index = session.execute("SELECT pg_table_size('records'), pg_indexes_size('records')").fetchone()
    return {"table_bytes": table, "index_bytes": index}


def differing_answers(options: Options) -> list[str]:
    """Range queries of each kind that heap and amax answer differently."""
    found = []
    keys = random.Random(1)
    heap, amax = sessions = [connect(options, system) for system in SYSTEMS]
    for kind in KINDS:
        for _ in range(COMPARED):
            start = keys.randint(0, options.rows - KINDS[kind].length(options.rows))
            query = statement(options, kind, start)
            answers = [session.execute(query).fetchall() for session in (heap, amax)]
            if not options.ordered:
                answers = [sorted(answer, key=lambda row: row[0]) for answer in answers]
            if answers[0] != answers[1]:
                found.append(f"differs: {query}")
    for session in sessions:
        session.close()
    return found


def differences(options: Options, updates: dict[str, int]) -> list[str]:
    """What is wrong after the runs, with so many updates of each system: lost ones, records that no update can have left, answers, damage."""
    found = []
    versions = [f"left(doc->>'field{n}', 14)::bigint" for n in range(FIELDS)]
    made = ", ".join(f"'field{n}', field(id, {n}, {version})" for n, version in enumerate(versions))
    for system in SYSTEMS:
        with connect(options, system) as session:
            rows, seen = session.execute(f"SELECT count(*), sum({' + '.join(versions)})::bigint FROM records").fetchone()
            if (rows, seen) != (options.rows, updates[system]):
                found.append(f"{system}: {rows} records with {seen} updates, not {options.rows} with {updates[system]}")
            broken = session.execute(f"SELECT count(*) FROM records WHERE {' + '.join(versions)} > 0 AND doc <> jsonb_build_object({made})").fetchone()[0]
            if broken:
                found.append(f"{system}: {broken} records are not as an update leaves them")
    with connect(options, "heap") as session:
        amax = f"{schema('amax')}.records"
        untouched = " AND ".join(f"{' + '.join(versions).replace('doc', f'{alias}.doc')} = 0" for alias in ("h", "a"))
        differ = session.execute(f"SELECT count(*) FROM records h FULL JOIN {amax} a USING (id) WHERE h.doc IS NULL OR a.doc IS NULL OR h.doc <> a.doc AND {untouched}").fetchone()[0]
        if differ:
            found.append(f"{differ} records differ that no update has changed")
        # Each system got updates of its own: now heap gets amax's.
        session.execute(f"UPDATE records h SET doc = a.doc FROM {amax} a WHERE h.id = a.id AND h.doc <> a.doc")
        found += differing_answers(options)
        found += [f"amax.verify: {problem}" for problem in session.execute("SELECT * FROM amax.verify(%s::regclass)", (amax,)).fetchall()]
    return found


def drop(options: Options) -> None:
    for system in SYSTEMS:
        with connect(options, system) as session:
            session.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema(system))))
