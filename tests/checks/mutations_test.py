#!/usr/bin/env python3
"""Tests of tools/checks/mutations.py: which changes it makes, and that it leaves alone what is no code."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "checks"))
from mutations import mutations  # noqa: E402


class Mutations(unittest.TestCase):
    def changes(self, text):
        return [(mutation.kind, mutation.apply(text)) for mutation in mutations(text)]

    def test_comparisons_are_flipped(self):
        self.assertEqual(self.changes("a < b"), [("comparison", "a <= b")])
        self.assertEqual(self.changes("a == b"), [("comparison", "a != b")])

    def test_conditions_are_exchanged_and_negations_dropped(self):
        self.assertEqual(self.changes("a && b"), [("condition", "a || b")])
        self.assertEqual(self.changes("if (!a)"), [("negation", "if (a)")])

    def test_numbers_are_off_by_one(self):
        self.assertEqual(self.changes("f(n - 1)"), [("off by one", "f(n - 2)")])

    def test_fences_and_orders_of_memory_are_dropped(self):
        self.assertIn(("fence", "x;\n  ;"), self.changes("x;\n  full_fence();"))
        self.assertEqual(self.changes("load(std::memory_order_acquire)"),
                         [("memory order", "load(std::memory_order_relaxed)")])

    def test_statements_are_skipped_but_not_declarations_and_returns(self):
        self.assertEqual(self.changes("{\n  link.send(tag);\n}"), [("skipped statement", "{\n  ;\n}")])
        self.assertEqual(self.changes("{\n  return f(x);\n  const int a = f(x);\n  int b = 1;\n}"), [])

    def test_what_is_no_code_stays(self):
        self.assertEqual(self.changes('// a < b\n"a < b"; /* a && b */\n#if a < b\n'), [])
        self.assertEqual(self.changes("template < class T >"), [])

    def test_a_mutation_knows_its_line(self):
        text = "a\nb\nc < d\n"
        self.assertEqual([mutation.line(text) for mutation in mutations(text)], [3])


if __name__ == "__main__":
    unittest.main()
