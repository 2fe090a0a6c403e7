"""Invented names of people and organizations."""

from random import Random

ONSETS = ("B", "Br", "C", "D", "F", "G", "H", "J", "K", "L", "M", "N", "P", "R", "S", "St", "T", "V", "W", "Z")
VOWELS = ("a", "e", "i", "o", "u")
CODAS = ("n", "l", "r", "s", "nd", "th", "ck", "m")


def _invented(seed, count, syllables):
    random, found = Random(seed), {}
    while len(found) < count:
        middle = "".join(random.choice(VOWELS) + random.choice(CODAS) for _ in range(random.choice(syllables)))
        found[random.choice(ONSETS) + middle] = None
    return list(found)


GIVEN = _invented("given", 600, (1, 2))
FAMILY = _invented("family", 2000, (2, 3))
ORGANIZATIONS = [f"{name} {kind}" for name, kind in zip(_invented("organization", 100, (2,)), ("Labs", "Works", "Group", "Systems") * 25)]


def person(random):
    return random.choice(GIVEN), random.choice(FAMILY)
