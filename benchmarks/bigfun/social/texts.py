"""Texts of messages: of a device or of a provider, good or bad. How often a keyword occurs is known, by its class; in one text in twenty it has a slip."""

RARE, MEDIUM, FREQUENT = range(3)
# Shares of the classes.
SHARES = (0.05, 0.20, 0.75)
NOISE = 0.05
DEVICES = (("Zentra", "Orbolux", "Kavipad"), ("Mirafon", "Tulo", "Pexline"), ("Solaro", "Veyra", "Quillon"))
PARTS = (("hinge", "speaker"), ("camera", "battery"), ("screen", "keyboard"))
PROVIDERS = (("Farcell", "Umbratel", "Nodefon"), ("Brightcom", "Telvana", "Lumiphone"), ("Airway", "Signalis", "Metrolink"))
PLACES = (("Oakmere", "Tarn Valley", "Pelham Cross"), ("Redhaven", "Silverford", "Kingsbay"), ("Port Aldous", "New Carrow", "Santa Lirio"))
FEELINGS = (("hate", "cannot stand"), ("love", "enjoy"))
ADJECTIVES = (("awful", "poor", "useless"), ("great", "lovely", "perfect"))
TIMES = ("this morning", "today", "tonight", "all week")
SERVICES = ("coverage", "speed", "support")
ALWAYS = ("mobile", "review", "help", "daily")


def text(random):
    """A text, and its topics."""
    frequency = random.choices((RARE, MEDIUM, FREQUENT), SHARES)[0]
    is_good = random.random() < 0.5
    feeling, adjective = random.choice(FEELINGS[is_good]), random.choice(ADJECTIVES[is_good])
    if random.random() < 0.5:
        keyword, other = random.choice(DEVICES[frequency]), random.choice(PARTS[frequency])
        written = f"been using {noisy(random, keyword)} {random.choice(TIMES)} and I {feeling} its {other}, {adjective}"
    else:
        keyword, other = random.choice(PROVIDERS[frequency]), random.choice(PLACES[frequency])
        written = f"calling from {other} over {noisy(random, keyword)}, I {feeling} the {random.choice(SERVICES)}: {adjective} {random.choice(TIMES)}"
    topics = [keyword, other] + random.sample(ALWAYS, random.randrange(3))
    return written, topics


def noisy(random, word):
    """Mostly the word itself, else with a letter replaced, or two swapped."""
    if random.random() >= NOISE:
        return word
    letters = list(word)
    at = random.randrange(len(letters) - 1)
    if random.random() < 0.5:
        letters[at] = "x"
    else:
        letters[at], letters[at + 1] = letters[at + 1], letters[at]
    return "".join(letters)
