"""Tests of the runner that need no server."""

import math
import random
import unittest

from runner import config, report, scripts


class Runner(unittest.TestCase):
    def test_percentiles_are_of_enough_values(self):
        values = [float(n) for n in range(1, 101)]
        self.assertEqual([report.percentile(values, percent) for percent in report.PERCENTS], [50, 95, 99])
        self.assertTrue(math.isnan(report.percentile(values[:99], 99)))
        self.assertTrue(math.isnan(report.percentile([], 50)))

    def test_lengths(self):
        self.assertEqual([config.KINDS[kind].length(500_000) for kind in ("short-all", "medium-all", "long-one")], [100, 5_000, 50_000])
        self.assertEqual([config.KINDS[kind].length(100) for kind in ("short-all", "medium-all", "long-one")], [10, 1, 10])

    def test_statements_are_those_of_the_scripts(self):
        options = config.parse(["--rows", "1000"])
        self.assertEqual(scripts.statement(options, "short-all", 7), "SELECT id, doc FROM records WHERE id >= 7 AND id < 107;")
        options = config.parse(["--rows", "1000", "--ordered"])
        self.assertIn("ORDER BY id", scripts.statement(options, "short-all", 7))
        self.assertNotIn("ORDER BY id", scripts.statement(options, "short-one", 7))

    def test_ranks_are_as_often_as_zipf_says(self):
        rows = 1000
        given = dict(argument.split("=") for argument in scripts.defines(config.parse(["--rows", str(rows)]))[1::2])
        zeta, eta, theta = (float(given[name]) for name in ("zeta", "eta", "theta"))
        draws = random.Random(1)
        # scripts/zipfian.sql.
        uniform = [draws.random() for _ in range(100_000)]
        ranks = [0 if u * zeta < 1 else 1 if u * zeta < 1 + 0.5**theta else int(rows * (eta * u - eta + 1) ** (1 / (1 - theta))) for u in uniform]
        for first, last in ((0, 0), (1, 1), (2, 9), (10, 99), (100, 999)):
            expected = sum((rank + 1) ** -theta for rank in range(first, last + 1)) / zeta
            self.assertAlmostEqual(sum(first <= rank <= last for rank in ranks) / len(ranks), expected, delta=0.02)


if __name__ == "__main__":
    unittest.main()
