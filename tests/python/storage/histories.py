"""Rows with every short history of changes, locks, commits and rollbacks, and then what rewrites or indexes all of them.

Each row gets its own sequence of (statement, how its transaction ended); what one left behind is what the next one finds.
"""

import itertools
import random

from twins import Mismatch, Twins

STATEMENTS = {
    "update": "UPDATE t SET v = v + 1 WHERE id = {id}",
    "update twice": "UPDATE t SET v = v + 1 WHERE id = {id}; UPDATE t SET v = v + 1, n = v WHERE id = {id}",
    "update indexed": "UPDATE t SET n = n + 1 WHERE id = {id}",
    "update key": "UPDATE t SET id = id + 100000 WHERE id = {id}",
    "delete": "DELETE FROM t WHERE id = {id}",
    "for update": "SELECT FROM t WHERE id = {id} FOR UPDATE",
    "for key share": "SELECT FROM t WHERE id = {id} FOR KEY SHARE",
    "upsert": "INSERT INTO t VALUES ({id}, -1, -1, '{{}}') ON CONFLICT (id) DO UPDATE SET v = t.v + 10",
}
ENDS = {
    "commit": ("BEGIN", "COMMIT"),
    "rollback": ("BEGIN", "ROLLBACK"),
    "rollback to": ("BEGIN; SAVEPOINT s", "ROLLBACK TO s; COMMIT"),
    "in a savepoint": ("BEGIN; SAVEPOINT s", "RELEASE s; COMMIT"),
}
FINALS = ["VACUUM FULL t", "CLUSTER t USING t_n", "CLUSTER t USING t_pkey", "VACUUM t", "VACUUM (FREEZE) t", "REINDEX TABLE t", "REINDEX TABLE CONCURRENTLY t",
          "ALTER TABLE t ALTER v TYPE bigint", "ALTER TABLE t ADD u int DEFAULT 3", "CREATE INDEX t_v ON t (v)"]


def run(server, database, seed, mode, settings, rounds):
    """Some histories of one step and of two, then one of the statements that touch everything; `rounds` times, or all if 0."""
    rng = random.Random(f"histories {seed}")
    twins = Twins(server, database, seed, settings)
    try:
        steps = list(itertools.product(STATEMENTS, ENDS))
        histories = [(s,) for s in steps] + rng.sample(list(itertools.product(steps, steps)), 250)
        for final in rng.sample(FINALS, rounds) if rounds else FINALS:
            one(twins, histories, final, rng)
        return f"{len(histories)} histories, {twins.reached(mode)}"
    except Mismatch as error:
        raise Mismatch(str(error.args[0]), twins.log) from error
    finally:
        twins.close()


def one(twins, histories, final, rng):
    both = twins.both
    both("DROP TABLE IF EXISTS t")
    both("CREATE TABLE t (id int PRIMARY KEY, v int, n int, doc jsonb)")
    both("CREATE INDEX t_n ON t (n)")
    both(f"INSERT INTO t SELECT i, 0, i % 50, jsonb_build_object('i', i) FROM generate_series(1, {len(histories) + 200}) i")
    both("VACUUM t")
    order = list(range(len(histories)))
    rng.shuffle(order)
    for depth in range(2):
        for row in order:
            if depth < len(histories[row]):
                statement, end = histories[row][depth]
                before, after = ENDS[end]
                both(f"{before}; {STATEMENTS[statement].format(id=row + 1)}; {after}", compare=False)
        if rng.random() < 0.5:
            both("VACUUM t")
            twins.same_rows()
    # Whoever reads a row leaves hint bits; what comes next must do without them as well.
    if rng.random() < 0.3:
        twins.same_rows()
    both(final)
    try:
        twins.same_rows()
        for setting in ("enable_seqscan", "enable_indexscan"):
            for side in twins.sides:
                side.connection.execute(f"SET {setting} = off")
            twins.same_rows(condition="id > 0")
            twins.same_rows(condition="n >= 0 OR n < 0")
        for side in twins.sides:
            side.connection.execute("RESET enable_seqscan; RESET enable_indexscan")
        twins.except_all()
        twins.healthy(["t"])
    except Mismatch as error:
        raise Mismatch(f"after {final}: {error.args[0]}") from error
