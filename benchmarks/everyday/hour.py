"""One hour of thirty days: what is read, and how long it takes, by times in text and by an integer. One process, hot."""

EVENTS = """CREATE TABLE month AS
SELECT jsonb_build_object('id', i, 'at', to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'epoch', extract(epoch FROM at)::int, 'kind', 'kind ' || i % 7, 'user', md5((i % 5000)::text)) AS doc
FROM generate_series(0, {events} - 1) i, LATERAL (SELECT timestamp '2026-11-01' + i * interval '30 days' / {events} AS at) x"""
# By the integer first: what the others are compared with.
CONDITIONS = [
    "(doc->>'epoch')::int >= 1795291200 AND (doc->>'epoch')::int < 1795294800",
    "doc->>'at' >= '2026-11-21T20' AND doc->>'at' < '2026-11-21T21'",
    "(doc->>'at')::timestamptz >= '2026-11-21 20:00+00' AND (doc->>'at')::timestamptz < '2026-11-21 21:00+00'",
    "left(doc->>'at', 13) = '2026-11-21T20'",
]
LATEST = ["(doc->>'epoch')::int DESC", "doc->>'at' DESC", "(doc->>'at')::timestamptz DESC"]


def load(options, sessions):
    for am, session in sessions.items():
        session.execute(f"CREATE SCHEMA IF NOT EXISTS everyday_{am}; DROP TABLE IF EXISTS month")
    sessions["heap"].execute(EVENTS.format(events=options.events))
    sessions["amax"].execute("CREATE TABLE month (LIKE everyday_heap.month) USING amax; INSERT INTO month SELECT * FROM everyday_heap.month")
    for session in sessions.values():
        session.execute("VACUUM (FREEZE, ANALYZE) month")


def find(plan, key):
    """The node that has it."""
    return plan if key in plan else next((found for below in plan.get("Plans", []) if (found := find(below, key))), None)


def leaves(session, statement):
    """Leaves read, and all."""
    node = find(session.execute(f"EXPLAIN (ANALYZE, FORMAT json) {statement}").fetchone()[0][0]["Plan"], "Leaves Read")
    return node["Leaves Read"], node["Leaves Read"] + node.get("Leaves Skipped", 0)


def compare(options, sessions, measure, shown):
    agree = True
    for title, statements in ((f"one hour of {options.events:,} events", [f"SELECT count(*), sum((doc->>'id')::int) FROM month WHERE {condition}" for condition in CONDITIONS]),
                              ("the latest ten", [f"SELECT doc->>'id' FROM month ORDER BY {key} LIMIT 10" for key in LATEST])):
        print(f"\n| {title} | leaves read | heap, ms | amax, ms | / by the integer |\n|---|---:|---:|---:|---:|")
        first = None
        for statement in statements:
            ms, same = measure(statement, {am: lambda session=session: session.execute(statement).fetchall() for am, session in sessions.items()}, options.repeat)
            agree &= same
            first = first or ms["amax"]
            read, all_leaves = leaves(sessions["amax"], statement)
            print(f"| `{statement}` | {read} of {all_leaves} | {shown(ms['heap'])} | {shown(ms['amax'])} | {ms['amax'] / first:.2f} |", flush=True)
    return agree
