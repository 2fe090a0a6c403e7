#!/usr/bin/env python3
"""The documentation's tests must be able to fail: what blocks there are, and which answers match."""

import unittest

from answers import matches, messages
from blocks import blocks_of


def match(expected, came):
    return matches(expected.splitlines(), came.splitlines())


class Answers(unittest.TestCase):
    def test_the_same(self):
        self.assertTrue(match(" a \n---\n 1\n(1 row)", " a\n---\n 1\n(1 row)\n\n"))
        self.assertFalse(match(" a\n---\n 1", " a\n---\n 2"))
        self.assertFalse(match(" a\n---\n 1", " a\n----\n 1"))
        self.assertFalse(match("1", ""))

    def test_the_last_lines(self):
        self.assertTrue(match("2", "INSERT 0 1\n2"))
        self.assertFalse(match("2", "2\nINSERT 0 1"))
        self.assertFalse(match("2", "12"), "a line is a whole line")
        self.assertTrue(match("", "INSERT 0 1"))

    def test_parts_of_lines(self):
        self.assertTrue(match("took … ms, … rows", "took 1.5 ms, 3 rows"))
        self.assertTrue(match("…: b…", "a: bc"))
        self.assertFalse(match("took … ms", "took 1.5 s"))
        self.assertFalse(match("took … ms", "took 1\n ms"), "not across lines")
        self.assertFalse(match("a.c…", "abc"), "other characters mean themselves")

    def test_lines(self):
        self.assertTrue(match("a\n…\nd", "a\nb\nc\nd"))
        self.assertTrue(match("a\n …\nd", "a\nd"))
        self.assertTrue(match("a\n…", "a\nb"))
        self.assertFalse(match("a\n…\nd", "a\nb\nc"))
        self.assertFalse(match("a\n…\nb\n…\nb", "a\nb"))

    def test_widths_follow_from_what_is_left_out(self):
        self.assertTrue(match("   QUERY PLAN\n----------------\n Scan (cost=…)", "  QUERY PLAN  \n-------------\n Scan (cost=0..1)"))
        self.assertTrue(match(" bytes | b\n----+---\n … | 1", "  bytes  | b\n---------+---\n 1234567 | 1"))
        self.assertFalse(match(" a | b\n---+---\n … | 1", " a\n---\n 1"))

    def test_places_of_errors(self):
        self.assertEqual(messages(["ERROR:  no", "LINE 1: SELECT", "        ^", "HINT:  yes"]), ["ERROR:  no", "HINT:  yes"])


class Blocks(unittest.TestCase):
    def one(self, text):
        (block,) = blocks_of(text)
        return block

    def test_answers(self):
        blocks = blocks_of("```sql\nSELECT 1;\n```\n\n```text\none\n```\n```text\ntwo\n```\n```sh\ntrue\n```\nSo:\n```text\nthree\n```\n")
        self.assertEqual([block.answer for block in blocks], [["one"], None, None, None, None])
        self.assertFalse(any(block.problems for block in blocks))

    def test_what_is_run(self):
        self.assertTrue(self.one("```sql fails\nSELECT 1/0;\n```").fails)
        block = self.one("<!-- not run: it restarts the server -->\n```sh norun\nreboot\n```")
        self.assertEqual((block.runs, block.problems), (False, []))
        block = self.one("1. So:\n   ```sql\n   SELECT\n     1;\n   ```\n")
        self.assertEqual((block.line, block.text, block.problems), (2, "SELECT\n  1;\n", []))
        self.assertEqual(self.one("````text\n```sql\n````\n").lines, ["```sql"])

    def test_what_is_wrong(self):
        for text in ("```\nSELECT 1;\n```", "```bash\ntrue\n```", "```sql norun\nSELECT 1;\n```", "<!-- not run: -->\n```sql norun\n;\n```",
                     "```sql fail\nSELECT 1;\n```", "```text fails\n```", "```sql\nSELECT 1\n```", "```sql\nSELECT 1; SELECT -- ;\n```", "```sql\nSELECT 1;\n"):
            self.assertTrue(self.one(text).problems, text)
        for text in ("```sql\nSELECT 1 \\gdesc\n```", "```sql\nSELECT 1; -- one\n-- two\n```", "```json\n{}\n```"):
            self.assertEqual(self.one(text).problems, [], text)


if __name__ == "__main__":
    unittest.main()
