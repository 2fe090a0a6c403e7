"""Tests of the parts that decide whether a run passes; they need no server."""

import unittest
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from bench.queries import read

from . import answers, config
from .config import HERE, SHAPES


class Normalise(unittest.TestCase):
    def test_types_and_order_do_not_matter(self):
        self.assertEqual(answers.normalise([(Decimal("2"), "b"), (1, "a")]), answers.normalise([(1.0, "a"), (2, "b")]))

    def test_values_and_duplicates_do(self):
        self.assertNotEqual(answers.normalise([(1, "a")]), answers.normalise([(2, "a")]))
        self.assertNotEqual(answers.normalise([(1,)]), answers.normalise([(1,), (1,)]))
        self.assertNotEqual(answers.normalise([(None,)]), answers.normalise([(0,)]))

    def test_times_and_spans_are_exact(self):
        time = datetime(2026, 3, 2, 0, 0, 0, 1)
        self.assertEqual(answers.normalise([(time,)]), answers.normalise([(time.replace(tzinfo=UTC),)]))
        self.assertNotEqual(answers.normalise([(time,)]), answers.normalise([(time.replace(microsecond=2),)]))
        self.assertEqual(answers.normalise([(timedelta(seconds=2),)]), [(2_000_000,)])


class Documents(unittest.TestCase):
    @staticmethod
    def digest(*lines):
        return answers.documents(map(answers.parse, lines))

    def test_order_of_keys_and_rows_does_not_matter(self):
        self.assertEqual(self.digest('{"a": 1, "b": 2}', "3"), self.digest("3", '{"b":2,"a":1}'))

    def test_everything_else_does(self):
        for other in ("[1.0]", "[1]", '["1.00"]', "[[1.00]]", "[]"):
            self.assertNotEqual(self.digest("[1.00]"), self.digest(other), other)
        self.assertNotEqual(self.digest("1", "1"), self.digest("1"))


class Queries(unittest.TestCase):
    def test_every_dialect_has_the_same_queries(self):
        for data in config.DATA:
            titles = [list(read(HERE / "queries" / data / f"{dialect}.sql")) for dialect in ("postgres", "duckdb", "clickhouse")]
            self.assertEqual(titles[0], titles[1])
            self.assertEqual(titles[0], titles[2])
            self.assertGreater(len(titles[0]), SHAPES)


class Options(unittest.TestCase):
    def test_numbers_of_queries(self):
        self.assertEqual(config.parse(["--queries", "1-3,7"]).queries, [1, 2, 3, 7])


if __name__ == "__main__":
    unittest.main()
