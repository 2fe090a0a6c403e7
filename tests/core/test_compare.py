#!/usr/bin/env python3
"""The comparison itself must be able to fail: what it is told, it must see."""

import pathlib
import tempfile
import unittest

import compare
from results import orders, order_keys, parts, same
from statements import Unaligned, cut_isolation, cut_script


def table(header, *rows):
    width = max(len(header), *map(len, rows)) + 2 if rows else len(header) + 2
    return [f" {header} ", "-" * width, *(f" {row}" for row in rows), f"({len(rows)} row{'s' * (len(rows) != 1)})", ""]


class Cutting(unittest.TestCase):
    def texts(self, script, output):
        return [s.text for s in cut_script(script, output)]

    def test_statements_end_where_psql_ends_them(self):
        script = [
            "SELECT 'a;", "b';", "CREATE RULE r AS ON INSERT TO t DO (SELECT 1;", "SELECT 2);", "SELECT $x$;$x$", ";",
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC", "SELECT 1;", "END;", "-- it's; a \"comment", "SELECT E'\\';' /* ; /* ' */ */", ", 1;"]
        self.assertEqual(self.texts(script, script), [
            "SELECT 'a;\nb';", "CREATE RULE r AS ON INSERT TO t DO (SELECT 1;\nSELECT 2);", "SELECT $x$;$x$\n;",
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC\nSELECT 1;\nEND;", "-- it's; a \"comment\nSELECT E'\\';' /* ; /* ' */ */\n, 1;"])

    def test_output_goes_to_its_statement(self):
        script = ["SELECT 1;", "", "\\d t", "SELECT 2;"]
        statements = cut_script(script, ["SELECT 1;", "one", "\\d t", "SELECT 2;", "two", "three"])
        self.assertEqual([s.output for s in statements], [["one"], [], ["two", "three"]])

    def test_data_of_copy_is_no_script(self):
        script = ["COPY t FROM stdin;", "SELECT 1;", "\\.", "SELECT 2;"]
        self.assertEqual(self.texts(script, ["COPY t FROM stdin;", "SELECT 2;"]), ["COPY t FROM stdin;", "SELECT 2;"])

    def test_output_that_ends_early_is_noticed(self):
        with self.assertRaises(Unaligned):
            cut_script(["SELECT 1;", "SELECT 2;"], ["SELECT 1;", "server closed the connection unexpectedly"])

    def test_same_texts_have_different_keys(self):
        statements = cut_script(["SELECT 1;"] * 2, ["SELECT 1;"] * 2)
        self.assertNotEqual(statements[0].key, statements[1].key)

    def test_steps(self):
        statements = cut_isolation(["Parsed test spec", "", "starting permutation: a b", "step a: SELECT x FROM t ORDER BY x; <waiting ...>",
                                    "step b: COMMIT;", "step a: <... completed>", "x", "-", "1", "(1 row)"])
        self.assertEqual([s.text.split("\n")[-1] for s in statements][1:],
                         ["step a: SELECT x FROM t ORDER BY x; <waiting ...>", "step b: COMMIT;", "step a: <... completed>"])
        self.assertTrue(orders(statements[-1].runs), "what a step ran is known when it is done")


class Comparing(unittest.TestCase):
    def test_order_of_rows(self):
        one, other = table("a", "1", "2"), table("a", "2", "1")
        self.assertTrue(same("SELECT a FROM t;", one, other))
        self.assertFalse(same("SELECT a FROM t ORDER BY a;", one, other))
        self.assertFalse(same("SELECT * FROM (SELECT a FROM t ORDER BY a) s;", one, other))
        self.assertTrue(same("SELECT a, rank() OVER (ORDER BY a) FROM t;", one, other))
        self.assertFalse(same("SELECT a FROM t;", one, other, exact=True))

    def test_rows_are_counted(self):
        self.assertFalse(same("SELECT a FROM t;", table("a", "1", "2", "2"), table("a", "1", "1", "2")))
        self.assertFalse(same("SELECT a FROM t;", table("a", "1", "2"), table("a", "1")))

    def test_order_of_cursors_and_prepared_statements(self):
        script = ["DECLARE c CURSOR FOR SELECT a FROM t ORDER BY a;", "FETCH ALL FROM c;", "PREPARE p AS SELECT a FROM t;", "EXECUTE p;"]
        named = compare.Comparison.resolve(cut_script(script, script))
        self.assertEqual([orders(s.runs) for s in named], [True, True, False, False])

    def test_values(self):
        self.assertFalse(same("SELECT a FROM t;", table("a", "1", "2"), table("a", "1", "3")))
        self.assertFalse(same("SELECT a FROM t;", table("a", "1"), table("a", "")))
        self.assertFalse(same("SELECT a FROM t;", table("a", "1"), table("b", "1")))

    def test_ties_may_be_in_any_order(self):
        rule = ["---+---"]
        one = [" a | b ", *rule, " 1 | 1", " 1 | 2", " 2 | 1", "(3 rows)", ""]
        tied = [" a | b ", *rule, " 1 | 2", " 1 | 1", " 2 | 1", "(3 rows)", ""]
        wrong = [" a | b ", *rule, " 2 | 1", " 1 | 1", " 1 | 2", "(3 rows)", ""]
        for keys in ("a", "1", "t.a DESC"):
            self.assertTrue(same(f"SELECT a, b FROM t ORDER BY {keys};", one, tied))
            self.assertFalse(same(f"SELECT a, b FROM t ORDER BY {keys};", one, wrong))
        self.assertFalse(same("SELECT a, b FROM t ORDER BY a, b;", one, tied))
        self.assertFalse(same("SELECT a, b FROM t ORDER BY a + 1;", one, tied), "keys that are not shown cannot be compared")

    def test_messages_to_the_letter(self):
        self.assertFalse(same("SELECT f();", ["ERROR:  a"], ["ERROR:  b"]))
        self.assertFalse(same("SELECT f();", ["NOTICE:  a", "NOTICE:  b"], ["NOTICE:  b", "NOTICE:  a"]))
        self.assertFalse(same("SELECT f();", ["ERROR:  a", "DETAIL:  b"], ["ERROR:  a"]))
        self.assertFalse(same("SELECT 1;", table("a", "1"), ["ERROR:  a"]))

    def test_plans_are_left_out_and_their_errors_are_not(self):
        self.assertTrue(same("EXPLAIN SELECT 1;", table("QUERY PLAN", "Seq Scan"), table("QUERY PLAN", "Custom Scan", "  Columns: a")))
        self.assertFalse(same("EXPLAIN SELECT 1;", table("QUERY PLAN", "Seq Scan"), ["ERROR:  a"]))
        self.assertFalse(same("EXPLAIN SELECT 1;", table("QUERY PLAN", "Seq Scan"), table("QUERY PLAN", "Sort"), exact=True))

    def test_tids_are_masked_and_their_rows_are_not(self):
        one = [" ctid  | a ", "-------+---", " (0,1) | 1", "(1 row)", ""]
        self.assertTrue(same("SELECT ctid, a FROM t;", one, [" ctid   | a ", "--------+---", " (10,1) | 1", "(1 row)", ""]))
        self.assertFalse(same("SELECT ctid, a FROM t;", one, [" ctid  | a ", "-------+---", " (0,1) | 2", "(1 row)", ""]))

    def test_values_of_several_lines_are_one_row(self):
        one = [" a  | b ", "----+---", " x +| 1", " y  | ", " z  | 2", "(2 rows)", ""]
        self.assertEqual(parts(one)[1].rows, [" x +| 1\n y  | ", " z  | 2"])
        self.assertFalse(same("SELECT 1;", one, [" a  | b ", "----+---", " x +| 1", " z  | 2", " y  | ", "(2 rows)", ""]))

    def test_copy_out(self):
        self.assertTrue(same("COPY t TO stdout;", ["1", "2"], ["2", "1"]))
        self.assertFalse(same("COPY t TO stdout;", ["1", "2"], ["1"]))
        self.assertFalse(same("COPY (SELECT a FROM t ORDER BY a) TO stdout;", ["1", "2"], ["2", "1"]))

    def test_keys_of_order_by(self):
        self.assertEqual(order_keys("SELECT a FROM t ORDER BY t.a DESC NULLS LAST, 2 LIMIT 3;"), ["a", 2])
        self.assertIsNone(order_keys("SELECT a FROM t ORDER BY abs(a);"))
        self.assertIsNone(order_keys("SELECT 1; SELECT a FROM t ORDER BY a;"))


class Excepting(unittest.TestCase):
    """What an exception lets through, and what not even then."""

    def check(self, free, let, kept):
        text = "SELECT a FROM t ORDER BY a;"
        for one, other in let:
            self.assertFalse(same(text, one, other))
            self.assertTrue(same(text, one, other, free=free))
        for one, other in kept:
            self.assertFalse(same(text, one, other, free=free))

    def test_kinds(self):
        rows, turned, others, fewer = table("a", "1", "2"), table("a", "2", "1"), table("a", "3", "4"), table("a", "1")
        error, notices = ["ERROR:  a"], [["NOTICE:  a"], ["NOTICE:  b"]]
        self.check("order", [(rows, turned)], [(rows, others), (rows, fewer), (rows, error), notices])
        named = table("a", "1", "x")
        self.check("numbers", [(rows, others), (rows, table("a", "10", "200"))], [(rows, fewer), (rows, named), (rows, table("b", "1", "2")), (rows, error), notices])

    def run_test(self, exceptions, printed, recorded=None):
        with tempfile.TemporaryDirectory() as name:
            here = pathlib.Path(name)
            for folder in ("sql", "expected", "results", "recorded/core-eager"):
                (here / folder).mkdir(parents=True)
            (here / "sql/t.sql").write_text("SELECT 1;\nSELECT 2;\n")
            (here / "expected/t.out").write_text("SELECT 1;\none\nSELECT 2;\ntwo\n")
            (here / "results/t.out").write_text(printed)
            (here / "exceptions.txt").write_text(exceptions)
            if recorded:
                (here / "recorded/core-eager/t.out").write_text(recorded)
            before, compare.FOLDERS = compare.FOLDERS, [here]
            try:
                known = compare.Exceptions.read([here / "exceptions.txt"])
                found = compare.compare("core-columns", here, here / "results", "t", known)
            finally:
                compare.FOLDERS = before
            return found.compared, found.excepted, [s.text for s, _ in found.differ]

    def test_an_exception_is_for_one_statement(self):
        wrong = "SELECT 1;\nuno\nSELECT 2;\ndue\n"
        self.assertEqual(self.run_test("", wrong), (2, 0, ["SELECT 1;", "SELECT 2;"]))
        key = cut_script(["SELECT 1;"], ["SELECT 1;"])[0].key
        one = f"==== {key}\nuno\n"
        for part in ("core", "core-eager", "core-columns"):
            self.assertEqual(self.run_test(f"## reason\n{part} t {key} recorded SELECT 1;\n", wrong, one), (2, 1, ["SELECT 2;"]))
        for part in ("core-eager u", "core-isolation t"):
            self.assertEqual(self.run_test(f"## reason\n{part} {key} recorded SELECT 1;\n", wrong, one)[1], 0)

    def test_recorded_outputs(self):
        key = cut_script(["SELECT 1;"], ["SELECT 1;"])[0].key
        exception = f"## reason\ncore-eager t {key} recorded SELECT 1;\n"
        self.assertEqual(self.run_test(exception, "SELECT 1;\nuno\nSELECT 2;\ntwo\n", f"==== {key}\nuno\n"), (2, 1, []))
        self.assertEqual(self.run_test(exception, "SELECT 1;\nein\nSELECT 2;\ntwo\n", f"==== {key}\nuno\n"), (2, 0, ["SELECT 1;"]))
        # One of several.
        self.assertEqual(self.run_test(exception, "SELECT 1;\nein\nSELECT 2;\ntwo\n", f"==== {key}\nuno\n==== {key}\nein\n"), (2, 1, []))

    def test_exceptions_of_one_major(self):
        with tempfile.TemporaryDirectory() as name:
            here = pathlib.Path(name)
            folders = [here, here / "pg18"]
            before, compare.FOLDERS = compare.FOLDERS, folders
            try:
                comparison = compare.Comparison("core", "t", lambda _: cut_script(["SELECT 1;"], _), ["SELECT 1;", "one"], ["SELECT 1;", "uno"], compare.Exceptions({}))
                compare.add_exceptions(comparison, compare.Exceptions({}), "recorded", "a reason")
                for read, differ in ((folders, False), (folders[:1], True)):
                    compare.FOLDERS = read
                    known = compare.Exceptions.read(folder / "exceptions.txt" for folder in read)
                    found = compare.Comparison("core", "t", lambda _: cut_script(["SELECT 1;"], _), ["SELECT 1;", "one"], ["SELECT 1;", "uno"], known)
                    self.assertEqual(bool(found.differ), differ)
            finally:
                compare.FOLDERS = before

    def test_recorded_rows_may_have_any_order_that_the_statement_allows(self):
        key = cut_script(["SELECT 1;"], ["SELECT 1;"])[0].key
        exception = f"## reason\ncore-eager t {key} recorded SELECT 1;\n"
        known, turned, other = ("\n".join(table("a", *rows)) for rows in (("3", "4"), ("4", "3"), ("3", "5")))
        for printed, differ in ((turned, []), (other, ["SELECT 1;"])):
            found = self.run_test(exception, f"SELECT 1;\n{printed}\nSELECT 2;\ntwo\n", f"==== {key}\n{known}\n")
            self.assertEqual(found[2], differ)

    def test_unused_exceptions_are_named(self):
        known = compare.Exceptions({("core", "t", "1"): "plan", ("core", "t", "2"): "plan", ("core", "u", "1"): "plan", ("core-eager", "t", "1"): "plan"})
        known.of("core", "t", "1")
        self.assertEqual(known.unused("core", ["t"]), [("core", "t", "2")])

    def test_waits(self):
        expected = "starting permutation: a b\nstep a: SELECT 1; <waiting ...>\nstep b: COMMIT;\nstep a: <... completed>\n"
        known = compare.Exceptions({("core-isolation-eager", "t", "all"): "waits"})
        for printed, differ in (("SELECT 1;\nstep b: COMMIT;\n", False), ("SELECT 1;\none\nstep b: COMMIT;\n", True), ("SELECT 1;\n", True)):
            printed = "starting permutation: a b\nstep a: " + printed
            outputs = [text.split("\n") for text in (expected, printed)]
            found = compare.Comparison("core-isolation-eager", "t", cut_isolation, *outputs, known)
            self.assertEqual((found.excepted, bool(found.differ)), (1, differ))
            self.assertTrue(compare.Comparison("core-isolation-eager", "u", cut_isolation, *outputs, known).differ)

    def test_no_reason_no_exception(self):
        with self.assertRaises(SystemExit):
            self.run_test("core-eager t 12345678 plan SELECT 1;\n", "")

    def test_missing_statements(self):
        script, out = ["SELECT 1;", "\\q", "SELECT 2;"], ["SELECT 1;", "\\q"]
        self.assertEqual(len(cut_script(script, out)), 2)
        with self.assertRaises(Unaligned):
            self.run_test("", "SELECT 1;\none\n")


if __name__ == "__main__":
    unittest.main()
