"""A sensor's report of a day: how it is connected, its battery, and an array of its readings; numbers almost only, 16 paths, some 3.8 kB."""

SENSORS = 2_000
BEGIN = 1_556_496_000_000
DAY = 86_400_000
READINGS = 96


def document(random, number):
    day, sensor = divmod(number, SENSORS)
    begin = BEGIN + day * DAY
    level = random.randint(15, 100)
    warm = random.gauss(18, 6)
    return {
        "report_id": number,
        "sensor_id": sensor,
        "report_time": begin + random.randrange(DAY),
        "connectivity": {
            "rssi": random.randint(-110, -45),
            "channel": random.randint(1, 13),
            "uptime": random.randrange(10_000_000),
            "sent": random.randrange(100_000),
            "lost": int(random.expovariate(1 / 20)),
            "online": random.random() < 0.97,
        },
        "battery": {
            "level": level,
            "voltage": 3300 + 9 * level + random.randint(-20, 20),
            "temperature": random.randint(-5, 45),
            "cycles": random.randrange(900),
            "state": random.choice(("charging", "discharging", "full")),
        },
        "readings": [{"time": begin + at * DAY // READINGS, "temp": round(warm + random.gauss(0, 4), 2)} for at in range(READINGS)],
    }
