"""Ingestion (§6.3): one COPY of all documents; many transactions with some documents each; and these with updates of half of what has come before, with a
primary key and an index on times."""

import itertools
from random import Random

from measure import timed

# A document is one CSV field whose delimiter and quote cannot occur in it.
COPY = r"COPY {table} FROM STDIN WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')"
AT = "((doc->>'timestamp_ms')::bigint)"
UPSERT = "INSERT INTO {table} SELECT * FROM unnest(%s::bigint[], %s::jsonb[]) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc"


def settle(session, clock, table):
    return timed(clock, lambda: session.execute(f"VACUUM (ANALYZE) {table}"))


def size(session, table):
    return session.execute(f"SELECT pg_table_size('{table}'), pg_indexes_size('{table}')").fetchone()


def load(session, clock, table, path):
    """One COPY: seconds, those of VACUUM, bytes."""
    session.execute(f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (doc jsonb)")
    session.execute("CHECKPOINT")

    def run():
        with session.cursor().copy(COPY.format(table=table)) as copy, path.open("rb") as file:
            while block := file.read(1 << 20):
                copy.write(block)

    seconds = timed(clock, run)
    return {"load": seconds, "vacuum": settle(session, clock, table), "bytes": size(session, table)[0]}


def feed(session, clock, table, path, batch):
    """A transaction for each batch; the table does not stay."""
    session.execute(f"DROP TABLE IF EXISTS {table}_fed; CREATE TABLE {table}_fed (doc jsonb)")
    session.execute("CHECKPOINT")

    def run():
        with path.open("rb") as file:
            while lines := list(itertools.islice(file, batch)):
                with session.cursor().copy(COPY.format(table=f"{table}_fed")) as copy:
                    copy.write(b"".join(lines))

    seconds = timed(clock, run)
    found = {"load": seconds, "vacuum": settle(session, clock, f"{table}_fed"), "bytes": size(session, f"{table}_fed")[0]}
    session.execute(f"DROP TABLE {table}_fed")
    return found


def feed_with_updates(session, clock, table, path, options):
    """After each batch half as many rows that are there already are changed, uniformly: of these half are replaced by the file's next documents (or come
    again), half deleted."""
    session.execute(f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (id bigint PRIMARY KEY, doc jsonb); CREATE INDEX {table}_at ON {table} ({AT})")
    session.execute("CHECKPOINT")

    def run():
        random, count = Random(f"{options.seed} updates"), 0
        with path.open("rb") as file:
            while lines := list(itertools.islice(file, options.batch)):
                with session.transaction():
                    with session.cursor().copy(COPY.format(table=table)) as copy:
                        copy.write(b"".join(b"%d\x02%s" % (key, line) for key, line in enumerate(lines, count)))
                    count += len(lines)
                    keys = random.sample(range(count), len(lines) // 2)
                    documents = [line.decode() for line in itertools.islice(file, len(keys) // 2)]
                    session.execute(UPSERT.format(table=table), (keys[: len(documents)], documents))
                    session.execute(f"DELETE FROM {table} WHERE id = ANY (%s)", (keys[len(keys) // 2 :],))

    seconds = timed(clock, run)
    found = {"load": seconds, "vacuum": settle(session, clock, table)}
    # What the first has given up is free for the second.
    session.execute(f"VACUUM {table}")
    return found | dict(zip(("bytes", "index bytes"), size(session, table)))
