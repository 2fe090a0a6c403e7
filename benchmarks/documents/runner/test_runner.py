"""Tests that need no server."""

import unittest

from . import compare, config, report

HEAP = {"rows": 2, "seconds": 1.0, "size": 100}
AMAX = HEAP | {"size": 20, "component_rows": 2, "problems": []}
SAME = {"query": "SELECT 1", "rows": 1, "heap": 1.0, "amax": 2.0, "same": True}


def sample(amax=AMAX, query=SAME, missing=0):
    return {"crates": {"load": {"heap": HEAP, "amax": amax}, "queries": {"one": query},
                       "except_all": {"amax": {"missing": missing, "extra": 0}}}}


class Answers(unittest.TestCase):
    def test_order_counts_where_the_query_asks_for_it(self):
        self.assertFalse(compare.same("SELECT a FROM t\nORDER BY 1", [b"1", b"2"], [b"2", b"1"]))

    def test_order_within_a_window_is_not_the_answers(self):
        self.assertTrue(compare.same("SELECT rank() OVER (ORDER BY a) FROM t", [b"1", b"2"], [b"2", b"1"]))

    def test_duplicates_count(self):
        self.assertFalse(compare.same("SELECT a FROM t", [b"1", b"1", b"2"], [b"1", b"2", b"2"]))

    def test_null_is_not_empty(self):
        self.assertFalse(compare.same("SELECT a FROM t", [rb"\N"], [b""]))


class Failures(unittest.TestCase):
    def test_none(self):
        self.assertEqual(report.failures(sample()), [])

    def test_each_kind(self):
        for broken in (sample(query=SAME | {"same": False}), sample(missing=1), sample(AMAX | {"rows": 1}),
                       sample(AMAX | {"problems": ["leaf 0: checksum"]}), sample(AMAX | {"component_rows": 0}),
                       sample(AMAX | {"size": 31}), sample(AMAX | {"seconds": 2.1})):
            self.assertEqual(len(report.failures(broken)), 1, broken)


class Queries(unittest.TestCase):
    def test_at_least_fifteen_of_each_kind(self):
        for kind in config.KINDS:
            self.assertGreaterEqual(len(config.queries(kind)), 15)


if __name__ == "__main__":
    unittest.main()
