#!/usr/bin/env python3
"""Small calls take no more instructions than recorded in instructions.json; and what bench/instructions says and refuses.

After a change that makes calls cheaper, or dearer for a reason, write the record anew from a release build:
    bench/instructions --json tests/process/instructions.json"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("PROGRAMS_FOLDER", ROOT / "build/release/bin"))
PROGRAM = PROGRAMS / "bench-instructions"
RECORD = json.loads(Path(__file__).with_name("instructions.json").read_text())
MARGIN = 1.05  # other C libraries copy and compare a little differently


def run(*arguments, **options):
    return subprocess.run([ROOT / "bench/instructions", "--programs", PROGRAMS, *arguments], text=True, capture_output=True,
                          timeout=100, check=False, **options)


def by_call(document):
    return {call: row["instructions"] for call, row in document["calls"].items()}


def obstacle():
    """Why nothing can be counted here, or None."""
    if not shutil.which("valgrind") or not PROGRAM.exists():
        return "valgrind is missing, or was when this was built"
    if len(os.sched_getaffinity(0)) < 2:
        return "needs two cores"
    # Libraries choose code for the processor, which may be younger than valgrind.
    tried = subprocess.run(["valgrind", "--quiet", "--tool=none", PROGRAM, "--built"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "valgrind cannot run the program on this processor"


@unittest.skipIf(obstacle(), obstacle())
class Counts(unittest.TestCase):
    def test_stay_within_the_record(self):
        built = subprocess.run([PROGRAM, "--built"], text=True, capture_output=True, check=True).stdout.strip()
        if built != RECORD["built"]:
            self.skipTest(f"the record is of another build ({RECORD['built']}) than this ({built})")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "counts.json"
            ran = run("--repetitions", "20", "--json", file)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            counted = by_call(json.loads(file.read_text()))
        recorded = by_call(RECORD)
        self.assertEqual(counted.keys(), recorded.keys())
        for call, most in recorded.items():
            with self.subTest(call):
                self.assertIn(f"| {call} | {counted[call]:,} |", ran.stdout)
                self.assertLessEqual(counted[call], most * MARGIN, "see the docstring of this test")
                self.assertGreater(counted[call], 50, "so few can only be a call that did nothing")

    def test_of_an_unknown_call_are_refused(self):
        ran = run("--repetitions", "1", "--profile", "allreduces")
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertIn("there is no call 'allreduces'; choose from: allreduce; broadcast, root;", ran.stderr)


class WithoutValgrind(unittest.TestCase):
    def test_the_script_says_what_to_install(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "python3").symlink_to(shutil.which("python3"))
            ran = run(env={"PATH": folder})
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertIn("valgrind is missing: install the package valgrind", ran.stderr)


if __name__ == "__main__":
    unittest.main()
