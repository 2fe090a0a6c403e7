"""Tweets as Twitter's API hands them out. Those of 2020 hold the tweet they repeat and the one they quote, whole: some 900 paths, most of them in few
documents, 5.3 kB. Those of 2016 are of 140 characters, repeat but do not quote: some 275 paths, 2.7 kB. Times are in milliseconds and grow with the number
of the document."""

import functools
import time
from random import Random

from .words import WORDS, name, text, words

BEGIN = 1_600_000_000_000
STEP = 1000
USERS = 30_000
# The popular one first.
TAGS = ["jobs", "news", "music", "love", "sale"] + WORDS[100:700]
CLIENTS = WORDS[:40]
LANGUAGES = ("en", "en", "en", "ja", "es", "pt", "ar")
COUNTRIES = (("US", "United States"), ("BR", "Brazil"), ("JP", "Japan"), ("GB", "United Kingdom"))
SIZES = ("thumb", "small", "medium", "large")


def of_2020(random, number):
    found = tweet(random, number, True)
    kind = random.random()
    if kind < 0.45:
        found["retweeted_status"] = tweet(random, number // 2, True)
        if random.random() < 0.2:
            found["retweeted_status"] |= {"is_quote_status": True, "quoted_status": tweet(random, number // 3, True)}
    elif kind < 0.6:
        found |= {"is_quote_status": True, "quoted_status": tweet(random, number // 2, True)}
    return found


def of_2016(random, number):
    found = tweet(random, number, False)
    if random.random() < 0.1:
        found["retweeted_status"] = tweet(random, number // 2, False)
    return found


def tweet(random, number, is_long):
    user = int(USERS * random.random() ** 2)
    at = BEGIN + number * STEP
    key = at * 4096 + random.randrange(4096)
    length = min(280 if is_long else 140, int(random.gammavariate(3, 35)) + 8)
    found = {
        "created_at": written(at),
        "id": key,
        "id_str": str(key),
        "text": text(random, min(length, 140)),
        "source": f'<a href="http://{random.choice(CLIENTS)}.example/download" rel="nofollow">{random.choice(CLIENTS)}</a>',
        "truncated": length > 140,
        **answered(random),
        "user": profile(user),
        "geo": None,
        "coordinates": None,
        "place": None,
        "contributors": None,
        "is_quote_status": False,
        "retweet_count": int(random.expovariate(0.1)),
        "favorite_count": int(random.expovariate(0.05)),
        "entities": entities(random, is_long, 0.25 if is_long else 0.15),
        "favorited": False,
        "retweeted": False,
        "filter_level": "low",
        "lang": random.choice(LANGUAGES),
        "timestamp_ms": at,
    }
    if random.random() < 0.03:
        found["place"] = place(random)
    if random.random() < 0.015:
        point = [round(random.uniform(-90, 90), 6), round(random.uniform(-180, 180), 6)]
        found |= {"geo": {"type": "Point", "coordinates": point}, "coordinates": {"type": "Point", "coordinates": point[::-1]}}
    if "media" in found["entities"]:
        found["extended_entities"] = {"media": [medium(random, is_long) for _ in range(random.choice((1, 1, 1, 2, 4)))]}
        found["possibly_sensitive"] = random.random() < 0.05
    if is_long:
        found |= {"quote_count": int(random.expovariate(0.5)), "reply_count": int(random.expovariate(0.3)), "display_text_range": [0, length]}
        if length > 140:
            found["extended_tweet"] = extended(random, length)
        if random.random() < 0.1:
            found["quoted_status_id"] = key - 4096
            found["quoted_status_id_str"] = str(key - 4096)
            found["quoted_status_permalink"] = {"url": short(random), "expanded": f"https://chirp.example/{key}", "display": f"chirp.example/{key}"}
    return found


def answered(random):
    if random.random() < 0.7:
        return dict.fromkeys(
            ("in_reply_to_status_id", "in_reply_to_status_id_str", "in_reply_to_user_id", "in_reply_to_user_id_str", "in_reply_to_screen_name")
        )
    status, user = random.randrange(1 << 52), random.randrange(USERS)
    return {
        "in_reply_to_status_id": status,
        "in_reply_to_status_id_str": str(status),
        "in_reply_to_user_id": user,
        "in_reply_to_user_id_str": str(user),
        "in_reply_to_screen_name": handle(user),
    }


@functools.lru_cache(USERS)
def profile(user):
    """What is always the same of a user, whoever shows the tweet."""
    random = Random(user)
    color = "{:06X}".format
    picture = f"profile_images/{random.randrange(1 << 40)}/{random.choice(WORDS)}_normal.jpg"
    found = {
        "id": user,
        "id_str": str(user),
        "name": name(random),
        "screen_name": handle(user),
        "location": name(random) if random.random() < 0.6 else None,
        "url": short(random) if random.random() < 0.3 else None,
        "description": text(random, random.randint(20, 150)) if random.random() < 0.85 else None,
        "translator_type": "none",
        "protected": False,
        "verified": random.random() < 0.02,
        "followers_count": int(random.paretovariate(0.8)),
        "friends_count": int(random.paretovariate(0.9)),
        "listed_count": int(random.expovariate(0.2)),
        "favourites_count": random.randrange(40_000),
        "statuses_count": random.randrange(90_000),
        "created_at": written(1_230_000_000_000 + user * 10_000_000),
        "utc_offset": None,
        "time_zone": None,
        "geo_enabled": random.random() < 0.4,
        "lang": None,
        "contributors_enabled": False,
        "is_translator": False,
        "profile_background_color": color(random.randrange(1 << 24)),
        "profile_background_image_url": "http://images.example/themes/theme1/bg.png",
        "profile_background_image_url_https": "https://images.example/themes/theme1/bg.png",
        "profile_background_tile": random.random() < 0.2,
        "profile_link_color": color(random.randrange(1 << 24)),
        "profile_sidebar_border_color": "C0DEED",
        "profile_sidebar_fill_color": "DDEEF6",
        "profile_text_color": "333333",
        "profile_use_background_image": random.random() < 0.8,
        "profile_image_url": f"http://images.example/{picture}",
        "profile_image_url_https": f"https://images.example/{picture}",
        "default_profile": random.random() < 0.5,
        "default_profile_image": random.random() < 0.05,
        "following": None,
        "follow_request_sent": None,
        "notifications": None,
    }
    if random.random() < 0.7:
        found["profile_banner_url"] = f"https://images.example/profile_banners/{user}/{random.randrange(1 << 31)}"
    return found


def entities(random, is_long, has_media):
    found = {
        "hashtags": [{"text": tag, "indices": span(random)} for tag in tags(random)],
        "urls": [
            {
                "url": short(random),
                "expanded_url": f"https://{random.choice(WORDS)}.example/{'-'.join(words(random, 3))}",
                "display_url": f"{random.choice(WORDS)}.example",
                "indices": span(random),
            }
            for _ in range(random.random() < 0.3)
        ],
        "user_mentions": [mention(random) for _ in range(random.choice((0, 0, 1, 1, 2)))],
        "symbols": [{"text": random.choice(WORDS).upper()[:4], "indices": span(random)} for _ in range(random.random() < 0.02)],
    }
    if random.random() < has_media:
        found["media"] = [medium(random, False) for _ in range(1)]
    if is_long and random.random() < 0.005:
        found["polls"] = [
            {"options": [{"position": at, "text": text(random, 20)} for at in range(1, 4)], "end_datetime": written(BEGIN), "duration_minutes": 1440}
        ]
    return found


def extended(random, length):
    found = {"full_text": text(random, length), "display_text_range": [0, length], "entities": entities(random, True, 0.3)}
    if "media" in found["entities"]:
        found["extended_entities"] = {"media": [medium(random, True)]}
    return found


def medium(random, is_long):
    key = random.randrange(1 << 52)
    found = {
        "id": key,
        "id_str": str(key),
        "indices": span(random),
        "media_url": f"http://media.example/{key:x}.jpg",
        "media_url_https": f"https://media.example/{key:x}.jpg",
        "url": short(random),
        "display_url": f"pic.example/{key:x}",
        "expanded_url": f"https://chirp.example/status/{key}/photo/1",
        "type": "photo",
        "sizes": {size: {"w": 150 << at, "h": random.randint(100, 150) << at, "resize": "fit" if at else "crop"} for at, size in enumerate(SIZES)},
    }
    if random.random() < 0.2:
        status, user = random.randrange(1 << 52), random.randrange(USERS)
        found |= {"source_status_id": status, "source_status_id_str": str(status), "source_user_id": user, "source_user_id_str": str(user)}
    if is_long and random.random() < 0.3:
        found["type"] = "video"
        found["video_info"] = {
            "aspect_ratio": [16, 9],
            "duration_millis": random.randrange(140_000),
            "variants": [{"bitrate": rate, "content_type": "video/mp4", "url": f"https://media.example/{key:x}/{rate}.mp4"} for rate in (256_000, 832_000)],
        }
        found["additional_media_info"] = {"monetizable": random.random() < 0.1, "title": text(random, 20), "description": text(random, 60), "embeddable": True}
    return found


def tags(random):
    """The first is in one tweet in fifty."""
    count = random.choice((0, 0, 0, 1, 2))
    return [TAGS[0] if random.random() < 0.025 else TAGS[int(len(TAGS) * random.random() ** 2)].title() for _ in range(count)]


def mention(random):
    user = random.randrange(USERS)
    return {"screen_name": handle(user), "name": handle(user).title(), "id": user, "id_str": str(user), "indices": span(random)}


def place(random):
    code, country = random.choice(COUNTRIES)
    west, south = round(random.uniform(-170, 170), 4), round(random.uniform(-80, 80), 4)
    town = random.choice(WORDS).title()
    corners = [[west, south], [west, south + 1], [west + 1, south + 1], [west + 1, south]]
    return {
        "id": f"{random.randrange(1 << 52):x}",
        "url": f"https://api.example/geo/{town}.json",
        "place_type": "city",
        "name": town,
        "full_name": f"{town}, {code}",
        "country_code": code,
        "country": country,
        "bounding_box": {"type": "Polygon", "coordinates": [corners]},
        "attributes": {},
    }


def handle(user):
    return f"{WORDS[user % len(WORDS)]}_{user}"


def span(random):
    begin = random.randrange(100)
    return [begin, begin + random.randint(4, 24)]


def short(random):
    return f"https://t.example/{random.randrange(36 ** 8):x}"


def written(at):
    return time.strftime("%a %b %d %H:%M:%S +0000 %Y", time.gmtime(at // 1000))
