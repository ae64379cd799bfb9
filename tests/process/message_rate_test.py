#!/usr/bin/env python3
"""bench/message-rate measures Hocket where no peer is installed, and refuses what makes no sense."""

import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("PROGRAMS_FOLDER", ROOT / "build/release/bin"))


def run(*arguments):
    command = [ROOT / "bench/message-rate", "--no-build", "--build", "/nonexistent", "--seconds", "0.05", "--rounds", "2"]
    return subprocess.run([*command, "--programs", PROGRAMS, *arguments], text=True, capture_output=True, timeout=100,
                          check=False)


class MessageRate(unittest.TestCase):
    def test_is_told_of_each_number_of_ranks(self):
        ran = run("--ranks", "2,4")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("Open MPI is left out: it is not installed.", ran.stdout)
        for ranks in (2, 4):
            with self.subTest(ranks):
                found = re.search(rf"^\| {ranks} \| (\d+\.\d+) \((\d+\.\d+)–(\d+\.\d+)\) \|$", ran.stdout, re.MULTILINE)
                self.assertIsNotNone(found, ran.stdout)
                median, least, most = map(float, found.groups())
                self.assertTrue(0 < least <= median <= most, found[0])

    def test_of_odd_ranks_is_refused(self):
        for ranks in ("3", "2,x", "0"):
            with self.subTest(ranks):
                ran = run("--ranks", ranks)
                self.assertEqual(ran.returncode, 2, ran.stdout)
                self.assertIn("--ranks", ran.stderr)

    def test_of_no_time_is_refused(self):
        for seconds in ("0", "-1", "1e9"):
            with self.subTest(seconds):
                ran = run("--seconds", seconds)
                self.assertEqual(ran.returncode, 2, ran.stdout)
                self.assertIn("--seconds", ran.stderr)

    def test_without_the_program_says_so(self):
        ran = run("--programs", "/nonexistent")
        self.assertEqual(ran.returncode, 3, ran.stdout)
        self.assertIn("There is no program /nonexistent/hocket-run", ran.stderr)


if __name__ == "__main__":
    unittest.main()
