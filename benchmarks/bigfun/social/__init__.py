"""Two social networks: users of Gleambook with their messages, and messages of Chirp. Each is a function of the seed and its user's number."""

FIRST = "2000-01-01T00:00:00"
LAST = "2014-08-30T00:00:00"
# Where messages are sent from: latitudes and longitudes.
AREA = ((24, 49), (66, 98))
