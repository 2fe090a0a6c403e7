"""Tests of the parts that decide whether a run passes.

python -m unittest runner.test_runner, with the runner's environment and PYTHONPATH
"""

import json
import math
import re
import subprocess
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path

import duckdb
from bench.answers import differences
from bench.generator import build
from bench.numbers import geometric_mean

from . import answers, config, data, engines


class Normalise(unittest.TestCase):
    def test_types_and_order_do_not_matter(self):
        self.assertEqual(answers.normalise([(Decimal("2"), "b"), (1, "a")]), answers.normalise([(1.0, "a"), (2, "b")]))

    def test_values_and_duplicates_do(self):
        self.assertNotEqual(answers.normalise([(1, "a")]), answers.normalise([(2, "a")]))
        self.assertNotEqual(answers.normalise([(1,)]), answers.normalise([(1,), (1,)]))
        self.assertNotEqual(answers.normalise([(None,)]), answers.normalise([(0,)]))

    def test_a_fraction_is_an_error(self):
        with self.assertRaises(ValueError):
            answers.normalise([(Decimal("1.5"),)])


class Differences(unittest.TestCase):
    def test_equal_answers(self):
        self.assertEqual(differences({"a": {"q1.1": [(1,)]}, "b": {"q1.1": [(1,)]}}), [])

    def test_a_different_row_is_named(self):
        found = differences({"a": {"q1.1": [(1,)]}, "b": {"q1.1": [(2,)]}})
        self.assertEqual(len(found), 1)
        self.assertIn("b differs from a", found[0])

    def test_a_missing_answer_is_a_difference(self):
        found = differences({"a": {}, "b": {"q1.1": [(2,)]}})
        self.assertEqual(found, ["a gave no answer to q1.1"])

    def test_a_lost_duplicate_is_a_difference(self):
        self.assertEqual(len(differences({"a": {"q2.1": [(1,), (1,)]}, "b": {"q2.1": [(1,)]}})), 1)


class Order(unittest.TestCase):
    def test_flight_three_orders_by_year_and_falling_revenue(self):
        rows = [("a", "b", 1992, 9), ("a", "c", 1992, 5), ("a", "b", 1993, 7)]
        self.assertFalse(answers.misordered("q3.1", rows))
        self.assertTrue(answers.misordered("q3.1", [rows[1], rows[0], rows[2]]))

    def test_flights_two_and_four_order_by_year(self):
        self.assertTrue(answers.misordered("q2.1", [(1, 1993, "x"), (1, 1992, "x")]))
        self.assertTrue(answers.misordered("q4.1", [(1993, "x", 1), (1992, "x", 1)]))


class Mean(unittest.TestCase):
    def test_geometric(self):
        self.assertAlmostEqual(geometric_mean([1.0, 100.0]), 10.0)

    def test_a_missing_time_makes_no_mean(self):
        self.assertTrue(math.isnan(geometric_mean([1.0, math.nan])))


class Statements(unittest.TestCase):
    def test_thirteen_queries_in_every_dialect_and_form(self):
        self.assertEqual(len(config.QUERIES), 13)
        for dialect in ("postgres", "duckdb"):
            for form in config.FORMS:
                for name in ["schema", *config.QUERIES]:
                    self.assertTrue(engines.sql_text(dialect, form, name).strip())
        self.assertNotEqual(engines.sql_text("duckdb", "documents", "schema"),
                            engines.sql_text("postgres", "documents", "schema"))


class Predicates(unittest.TestCase):
    """The SQL selects the rows that the generator's own filters select.

    Engines that run one wrong statement would all agree; this would not.
    """

    def test_every_query_in_all_forms(self):
        generator = build("amax-ssb")
        with tempfile.TemporaryDirectory() as directory:
            common = ["--sf", "0.1", "--seed", "1"]  # small, and no query selects nothing
            output = subprocess.run([generator, "check", "--json", *common], check=True, stdout=subprocess.PIPE)
            expected = json.loads(output.stdout)
            for form, extension in data.EXTENSIONS.items():
                subprocess.run([generator, "all", *common, "--format", data.FORMATS[form], "--out", directory],
                               check=True, stderr=subprocess.DEVNULL)
                self.assertEqual(self._selected(form, data.DataSet(Path(directory), extension, {})), expected)
        self.assertEqual([query for query, rows in expected.items() if rows == 0], [])

    @staticmethod
    def _selected(form: str, files: data.DataSet) -> dict[str, int]:
        session = duckdb.connect()
        session.execute(engines.sql_text("duckdb", form, "schema"))
        for table in config.TABLES:
            engines.DuckDB.fill(session, form, table, files.path(table))
        counts = {}
        for query in config.QUERIES:
            text = engines.sql_text("duckdb", form, query)
            filtered = re.search(r"^FROM .*?(?=^GROUP BY|;)", text, re.DOTALL | re.MULTILINE).group()
            counts[query.upper()] = session.execute(f"SELECT count(*) {filtered}").fetchone()[0]
        return counts


if __name__ == "__main__":
    unittest.main()
