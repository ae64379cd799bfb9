#!/usr/bin/env python3
"""Tests of bench/best-fixed and hocket-bench --best-fixed: what takes turns, and what is written about it."""

import json
import os
import statistics
import subprocess
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("PROGRAMS_FOLDER", ROOT / "build/release/bin"))
QUICK = ["-b", "1K", "-e", "4K", "-f", "4", "--rounds", "3", "--seconds", "0.006"]


def run(*command):
    return subprocess.run(command, text=True, capture_output=True, timeout=100, check=False)


class BestFixed(unittest.TestCase):
    def test_all_algorithms_take_turns_with_auto(self):
        ran = run(PROGRAMS / "hocket-bench", "reduce_scatter", "--best-fixed", "--ranks", "3", "--transport", "tcp",
                  "--placement", "out", *QUICK, "--json", "-")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        contests = json.loads(ran.stdout)["contests"]
        self.assertEqual([each["bytes"] for each in contests], [1020, 4092])
        listed = run(PROGRAMS / "hocket-plan", "list").stdout
        for each in contests:
            self.assertEqual((each["auto"]["named"], len(each["auto"]["rounds_us"]), each["wrong"]), ("auto", 3, 0))
            names = [one["named"] for one in each["fixed"]]
            self.assertEqual(len(set(names)), len(names))
            self.assertIn(each["auto"]["algorithm"], names)
            for one in each["fixed"]:
                self.assertEqual(one["named"], one["algorithm"])
                self.assertIn(len(one["rounds_us"]), (1, 3))  # those without a chance only once
                self.assertIn(one["named"], listed)
            times = [one["time_us"] for one in each["fixed"] if len(one["rounds_us"]) == 3]
            self.assertEqual(times, sorted(times))
            ratios = [ours / best for ours, best in zip(each["auto"]["rounds_us"], each["fixed"][0]["rounds_us"])]
            self.assertAlmostEqual(each["slower"], statistics.median(ratios) - 1)
        self.assertIn("# auto is at most", ran.stderr)

    def test_blocks_of_unequal_size_are_compared_as_well(self):
        ran = run(PROGRAMS / "hocket-bench", "allgather_v", "--best-fixed", "--ranks", "2", "--transport", "tcp",
                  "--placement", "out", *QUICK, "--json", "-")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for each in json.loads(ran.stdout)["contests"]:
            self.assertIn("ring", [one["algorithm"] for one in each["fixed"]])
            self.assertEqual(each["wrong"], 0)

    def test_what_has_nothing_to_compare_is_refused(self):
        for arguments, words in (
                (["sendrecv", "--best-fixed", "--ranks", "2"], "no algorithms to name"),
                (["allreduce", "--best-fixed", "--ranks", "2", "--transport", "loopback"], "--best-fixed is for"),
                (["allreduce", "--rounds", "2", "--ranks", "2"], "--best-fixed")):
            ran = run(PROGRAMS / "hocket-bench", *arguments)
            self.assertEqual(ran.returncode, 2, arguments)
            self.assertIn(words, ran.stderr)

    def compare(self, collectives, ranks):
        """Runs bench/best-fixed. Returns what it printed, its documents, and the picture or None."""
        with tempfile.TemporaryDirectory() as folder:
            json_file, svg_file = Path(folder) / "all.json", Path(folder) / "all.svg"
            ran = run(ROOT / "bench/best-fixed", "--programs", PROGRAMS, "--collectives", collectives,
                      "--ranks", ranks, *QUICK, "--json", json_file, "--svg", svg_file)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            picture = xml.dom.minidom.parse(str(svg_file)) if svg_file.exists() else None
            return ran.stdout, json.loads(json_file.read_text()), picture

    def test_results_of_several_jobs_are_drawn(self):
        printed, documents, picture = self.compare("allreduce,broadcast", "2,3")
        self.assertIn("of 8 cases", printed)
        self.assertEqual([(each["contests"][0]["collective"], each["contests"][0]["ranks"]) for each in documents],
                         [("allreduce", 2), ("allreduce", 3), ("broadcast", 2), ("broadcast", 3)])
        self.assertEqual(len(picture.getElementsByTagName("polyline")), 4)
        self.assertEqual(len(picture.getElementsByTagName("circle")), 8)

    def test_a_barrier_has_one_case_and_no_place_in_the_picture(self):
        printed, documents, picture = self.compare("barrier,allreduce", "3")
        self.assertIn("of 3 cases", printed)
        barrier, allreduce = (each["contests"] for each in documents)
        self.assertEqual([each["bytes"] for each in barrier], [0])
        self.assertEqual(len(allreduce), 2)
        self.assertGreater(barrier[0]["auto"]["time_us"], 0)
        self.assertIn(barrier[0]["auto"]["algorithm"], [each["named"] for each in barrier[0]["fixed"]])
        self.assertEqual(len(picture.getElementsByTagName("circle")), 2)
        self.assertIsNone(self.compare("barrier", "2")[2])  # time over size, and there is none


if __name__ == "__main__":
    unittest.main()
