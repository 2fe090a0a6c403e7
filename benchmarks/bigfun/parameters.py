"""What the queries ask for, by selectivity: a function of the seed."""

import datetime
from random import Random

from social import AREA
from social.documents import BEGIN, SECONDS
from social.texts import DEVICES, FREQUENT, MEDIUM, RARE

# The part of the rows that a range of keys or times has. F is all.
FRACTIONS = {"S": 0.0001, "M": 0.001, "L": 0.01, "F": 1.0}
RADII = {"S": 0.1, "M": 0.5, "L": 2.0}
WORDS = {"S": RARE, "M": MEDIUM, "L": FREQUENT}
# What joins take of messages, beside a part of the users.
JOINED = 365 * 86_400
SIZES = ("S", "M", "L")
# Which selectivities a query has; those with F are asked for all rows, too. Q16 is a join of each with all.
SELECTIVITIES = {
    "Q1": ("S",),
    "Q4": (*SIZES, "F"),
    "Q5": (*SIZES, "F"),
    "Q6": (*SIZES, "F"),
    "Q7": (*SIZES, "F"),
    "Q8": (*SIZES, "F"),
    "Q14": (*SIZES, "F"),
    "Q15": (*SIZES, "F"),
    "Q16": ("S", "M"),
}
NEAR = {"S": 0.00002, "M": 0.0001}


def selectivities(title):
    return SELECTIVITIES.get(code(title), SIZES)


def code(title):
    return title.split(",")[0]


def draw(seed, title, size, users):
    """Values for what is in braces in a query."""
    random = Random(f"{seed} {code(title)} {size}")
    fraction = NEAR[size] if code(title) == "Q16" else FRACTIONS[size]
    count = max(1, round(users * fraction))
    low = random.randint(1, users + 1 - count)
    since, until = window(random, fraction * SECONDS)
    sent, sent_until = window(random, JOINED)
    latitude, longitude = (round(random.uniform(begin + 3, end - 3), 4) for begin, end in AREA)
    return {
        "key": random.randint(1, users),
        "low": low,
        "high": low + count,
        "since": since,
        "until": until,
        "sent": sent,
        "sent_until": sent_until,
        "latitude": latitude,
        "longitude": longitude,
        "radius": RADII.get(size),
        "word": random.choice(DEVICES[WORDS.get(size, FREQUENT)]),
    }


def window(random, seconds):
    """So many seconds, anywhere; both ends as text."""
    first = BEGIN + datetime.timedelta(seconds=round(random.uniform(0, SECONDS - seconds)))
    return first.isoformat(), (first + datetime.timedelta(seconds=round(seconds))).isoformat()
