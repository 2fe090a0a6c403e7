"""Single-row transactions without any VACUUM: row pages, components and the file stay bounded, and the rows are those of heap.

Rows are inserted and locked, not changed: pages with dead rows wait for VACUUM, which has to remove index entries first.
"""

import time

from twins import Mismatch, Twins

AT_ONCE = 1000
# Row pages that a flush waits for, at least (src/maintenance/inline.rs); as many may still be read by others, and as many come meanwhile.
PAGES = 3 * 64
ROWS_PER_PAGE = 12
ROWS_PER_LEAF = 5000
TABLE = "CREATE TABLE t (id int PRIMARY KEY, v int, doc jsonb)"
WORK = """
CREATE PROCEDURE {side}_side.trickle(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN first .. last LOOP
    INSERT INTO t VALUES (i, i % 100, jsonb_build_object('i', i, 'text', repeat(md5(i::text), 20)));
    IF i % 50 = 0 THEN
      PERFORM FROM t WHERE id IN (i - 1, i / 2) FOR UPDATE;
    END IF;
    COMMIT;
  END LOOP;
END $$"""


def run(server, database, seed, mode, settings, seconds):
    settings = settings + ["amax.flush_threshold = 0", f"amax.rows_per_leaf = {ROWS_PER_LEAF}", "amax.max_components = 5", "amax.merge_ratio = 1.2"]
    twins = Twins(server, database, seed, settings)
    try:
        twins.both(TABLE)
        twins.both("CREATE INDEX t_v ON t (v)")
        # A table with such an index is never loaded in bulk, not even where every statement would be.
        twins.both("CREATE INDEX t_ids ON t USING brin (id)")
        twins.both(WORK)
        deadline, last = time.monotonic() + seconds, 0
        # Enough for several leaves, however slow the machine is.
        while time.monotonic() < deadline or last < 4 * ROWS_PER_LEAF:
            twins.both(f"CALL trickle({last + 1}, {last + AT_ONCE})")
            last += AT_ONCE
            bounded(twins, last)
        twins.same_rows()
        twins.healthy(["t"])
        shape = bounded(twins, last)
        twins.amax.query("VACUUM t")
        twins.same_rows()
        twins.healthy(["t"])
        return f"{last} transactions, {shape}"
    except Mismatch as error:
        raise Mismatch(str(error.args[0]), twins.log) from error
    finally:
        twins.close()


def bounded(twins, last):
    components, rows, pages = twins.amax.query("SELECT count(*), coalesce(sum(rows), 0)::int, coalesce(sum(pages), 0)::int FROM amax.components('t')")[0]
    file, = twins.amax.query("SELECT pg_relation_size('t') / current_setting('block_size')::int")[0]
    shape = f"{components} components of {rows} rows in {pages} pages, {file} pages in the file"
    if last - rows > PAGES * ROWS_PER_PAGE:
        raise Mismatch(f"of {last} rows all but {rows} are in row pages")
    # Two neighbours that fit a leaf together are merged sooner or later.
    if components > 2 * rows / ROWS_PER_LEAF + 6:
        raise Mismatch(f"too many components: {shape}")
    # Beside the components, what flushes and small merges have at hand or wait to give up: as large as it ever gets. Only the maps grow, a
    # page for 2040 row pages. Stubs go with the row pages they are on, and their directory's pages with them.
    if file > pages + 2 * PAGES + last // (1000 * ROWS_PER_PAGE):
        raise Mismatch(f"too large a file: {shape}")
    return shape
