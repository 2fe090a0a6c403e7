"""What a telephone company keeps of calls: flat records of strings, integers and doubles, 7 paths, some 140 bytes."""

BEGIN = 1_400_000_000
CALLERS = 50_000
TOWERS = 4_000


def document(random, number):
    return {
        "caller": f"subscriber-{int(CALLERS * random.random() ** 2):07d}",
        "callee": f"subscriber-{random.randrange(4 * CALLERS):07d}",
        "tower": random.randrange(TOWERS),
        "time": BEGIN + number // 10,
        "duration": int(random.expovariate(1 / 150)) + 1,
        "signal": round(random.gauss(-85, 12), 2),
        "kind": random.choice(("voice", "voice", "voice", "roaming", "data")),
    }
