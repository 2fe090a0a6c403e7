"""Look-ups by a secondary index on times, of 1, 5 and 10 paths, beside scans of all documents (Table 3): the queries count values that are not NULL."""

from random import Random

from figures import SELECTIVITIES
from ingest import AT

COLUMNS = (1, 5, 10)
# Of those of tweets of 2016, of all types and sizes, in all documents or in few.
PATHS = (
    "id_str",
    "text",
    "source",
    "lang",
    "retweet_count",
    "favorite_count",
    "favorited",
    "created_at",
    "in_reply_to_screen_name",
    "possibly_sensitive",
    "user.name",
    "user.screen_name",
    "user.description",
    "user.location",
    "user.followers_count",
    "user.statuses_count",
    "user.verified",
    "user.created_at",
    "user.profile_image_url",
    "user.profile_banner_url",
    "place.full_name",
    "place.country_code",
    "retweeted_status.text",
    "retweeted_status.retweet_count",
    "retweeted_status.user.name",
    "retweeted_status.user.followers_count",
)


def counts(seed, number):
    """So many counts of paths picked at random; fewer are the beginning of more."""
    chosen = Random(f"{seed} paths").sample(PATHS, max(COLUMNS))[:number]
    return ", ".join(f"count({expression(path)})" for path in chosen)


def expression(path):
    *above, last = path.split(".")
    return "doc" + "".join(f"->'{key}'" for key in above) + f"->>'{last}'"


def ranges(session, table):
    """The condition for each selectivity, around the middle of times, and how many rows it has: one at least."""
    (total,) = session.execute(f"SELECT count(*) FROM {table}").fetchone()
    found = {}
    for percent in SELECTIVITIES:
        wanted = max(1, round(total * percent / 100))
        first, last = session.execute(
            f"SELECT min(at), max(at) FROM (SELECT {AT} AS at FROM {table} ORDER BY 1 OFFSET {total // 2} LIMIT {wanted}) x"
        ).fetchone()
        found[percent] = f"WHERE {AT} >= {first} AND {AT} <= {last}", wanted
    return found


def statements(seed, table, conditions):
    """By number of columns: the scan of all, then one for each selectivity."""
    for number in COLUMNS:
        select = f"SELECT {counts(seed, number)} FROM {table}"
        yield number, select, {percent: f"{select} {condition}" for percent, (condition, _) in conditions.items()}
