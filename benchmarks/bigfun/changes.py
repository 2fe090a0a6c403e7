"""U1, new users, and U2, users that go: transactions of one, of twenty, and of a thousand."""

import json

from social.documents import user

# Users of a transaction, and how many transactions.
BATCHES = {"S": (1, 100), "M": (20, 50), "L": (1000, 4)}
DELETES = {
    "nested": ("DELETE FROM users WHERE (doc->>'id')::bigint = ANY (%s)",),
    "normalized": ("DELETE FROM friends WHERE user_id = ANY (%s)", "DELETE FROM employments WHERE user_id = ANY (%s)", "DELETE FROM users WHERE id = ANY (%s)"),
}
INSERTS = {
    "nested": ("INSERT INTO users SELECT unnest(%s::jsonb[])",),
    "normalized": (
        "INSERT INTO users SELECT (doc->>'id')::bigint, doc->>'alias', doc->>'name', (doc->>'user_since')::timestamp FROM unnest(%s::jsonb[]) doc",
        "INSERT INTO friends SELECT (doc->>'id')::bigint, friend::bigint FROM unnest(%s::jsonb[]) doc, jsonb_array_elements(doc->'friend_ids') friend",
        """INSERT INTO employments SELECT (doc->>'id')::bigint, job->>'organization', (job->>'start_date')::date, (job->>'end_date')::date
        FROM unnest(%s::jsonb[]) doc, jsonb_array_elements(doc->'employment') job""",
    ),
}


def batches(options, size):
    """Keys and documents of users that are not there yet."""
    count, transactions = BATCHES[size]
    for at in range(max(1, round(transactions * min(1, options.scale)))):
        keys = list(range(options.users + 1 + at * count, options.users + 1 + (at + 1) * count))
        yield keys, [json.dumps(user(options.seed, key, options.users)) for key in keys]


def measure(engines, schema, options):
    """Milliseconds of a transaction in the mean, by title and system, in turns. What came goes again."""
    found = {}
    for size, (count, _) in BATCHES.items():
        chosen = list(batches(options, size))
        for title, statements, part in ((f"U1, inserts of {count}", INSERTS[schema], 1), (f"U2, deletes of {count}", DELETES[schema], 0)):
            times = dict.fromkeys(engines, 0.0)
            for batch in chosen:
                for name, engine in engines.items():
                    started = engine.clock()
                    with engine.session.transaction():
                        for statement in statements:
                            engine.run(statement, (batch[part],))
                    times[name] += engine.clock() - started
            found[title, size] = {name: ms / len(chosen) for name, ms in times.items()}
    return found
