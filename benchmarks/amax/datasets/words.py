"""Words, and text of them: a vocabulary of invented words, few of them frequent."""

from random import Random

ONSETS = ("b", "br", "c", "d", "dr", "f", "g", "gl", "h", "k", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "tr", "v", "w")
VOWELS = ("a", "e", "i", "o", "u", "ai", "ea")
CODAS = ("", "", "l", "m", "n", "r", "s", "t", "nd", "st")


def _vocabulary(size):
    random, found = Random("vocabulary"), {}
    while len(found) < size:
        syllables = range(random.choice((1, 1, 2, 2, 3)))
        found["".join(random.choice(ONSETS) + random.choice(VOWELS) + random.choice(CODAS) for _ in syllables)] = None
    return list(found)


WORDS = _vocabulary(4000)
# Each as often as it is frequent (Zipf): drawn from without weights, which is quicker.
DRAWN = [word for rank, word in enumerate(WORDS) for _ in range(1 + 8000 // (rank + 3))]
GIVEN = [word.capitalize() for word in WORDS[:900]]
FAMILY = [word.capitalize() for word in WORDS[900:]]


def words(random, count):
    """So many words, frequent ones more often."""
    return random.choices(DRAWN, k=count)


def text(random, length):
    """Text of at most `length` characters, and not many fewer."""
    return " ".join(words(random, length // 4 + 1))[:length].rstrip()


def paragraph(random, sentences):
    return " ".join(" ".join(words(random, random.randint(8, 24))).capitalize() + "." for _ in range(sentences))


def name(random):
    """A given name and a family name."""
    return f"{random.choice(GIVEN)} {random.choice(FAMILY)}"
