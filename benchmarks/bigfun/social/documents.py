"""Users, their messages, and messages of Chirp, as documents."""

import datetime
from random import Random

from . import AREA, FIRST, LAST
from .names import ORGANIZATIONS, person
from .texts import text

BEGIN, END = (datetime.datetime.fromisoformat(time) for time in (FIRST, LAST))
SECONDS = int((END - BEGIN).total_seconds())
EMPLOYED = 0.6
# So many messages of a user in the mean, from none to twice as many.
MESSAGES = 5
CHIRPS = 10


def user(seed, number, users):
    random = Random(f"{seed} user {number}")
    given, family = person(random)
    return {
        "id": number,
        "alias": f"{given}{number:08d}",
        "name": f"{given} {family}",
        "user_since": moment(random),
        "friend_ids": sorted({random.randint(1, users) for _ in range(random.randrange(11))}),
        "employment": [job(random) for _ in range(random.randint(1, 3))],
    }


def job(random):
    start = BEGIN.date() + datetime.timedelta(days=random.randrange(SECONDS // 86_400))
    found = {"organization": random.choice(ORGANIZATIONS), "start_date": start.isoformat()}
    if random.random() >= EMPLOYED:
        found["end_date"] = (start + datetime.timedelta(days=random.randrange((END.date() - start).days + 1))).isoformat()
    return found


def messages(seed, number, users):
    """Those of a user; keys grow with the user's."""
    random = Random(f"{seed} messages {number}")
    for at in range(random.randrange(2 * MESSAGES + 1)):
        found = {
            "message_id": number * (2 * MESSAGES + 1) + at,
            "author_id": number,
            "in_response_to": random.randrange(users * MESSAGES),
            "sender_location": location(random),
            "send_time": moment(random),
        }
        if random.random() < 0.3:
            del found["in_response_to"]
        yield found | {"message": text(random)[0]}


def chirps(seed, number):
    random = Random(f"{seed} chirps {number}")
    given, family = person(random)
    friends = random.randrange(400)
    sender = {
        "screen_name": f"{given}{family}@{number}",
        "lang": "en",
        "friends_count": friends,
        "statuses_count": random.randrange(500),
        "name": f"{given} {family}",
        "followers_count": max(0, friends + random.randint(-5, 195)),
    }
    for at in range(random.randrange(2 * CHIRPS + 1)):
        written, topics = text(random)
        yield {
            "chirpid": number * (2 * CHIRPS + 1) + at,
            "user": sender,
            "sender_location": location(random),
            "send_time": moment(random),
            "referred_topics": topics,
            "message_text": written,
        }


def moment(random):
    return (BEGIN + datetime.timedelta(seconds=random.randrange(SECONDS))).isoformat()


def location(random):
    return [round(random.uniform(*side), 4) for side in AREA]
