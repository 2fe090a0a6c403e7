"""What the paper's text says (§6.2 to §6.4): AMAX beside AsterixDB's rows (Open), on 8 cores with 172 to 277 GB. Its figures of bars are not here."""

# Size, time of ingestion, and times of queries: AMAX / Open.
SIZE = {"cell": "0.58", "sensors": "0.12"}
INGESTION = {"cell": "about 1", "sensors": "less than 1", "tweet_1": "about 1", "tweet_2": "1.35, with updates"}
QUERIES = {"tweet_1": {"Q2": "0.064"}, "wos": {"Q2": "at most 0.36", "Q3": "at most 0.36", "Q4": "at most 0.36"}}
# Table 3: times with the index by selectivity in percent, over that of the scan, by columns.
SELECTIVITIES = (0.001, 0.01, 0.1, 1.0)
LOOKUPS = {
    1: [seconds / 2.080 for seconds in (0.021, 0.066, 0.405, 3.487)],
    5: [seconds / 14.133 for seconds in (0.033, 0.079, 0.456, 3.917)],
    10: [seconds / 25.710 for seconds in (0.047, 0.097, 0.553, 4.636)],
}
