#!/usr/bin/env python3
"""tools/gpu-check: what it says where there is no GPU; its checks with the double of a GPU, which must fail where something
is wrong; its table."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))

from gpu_check import build, checks, figures  # noqa: E402

DOUBLED = str(Path(os.environ.get("PROGRAMS_FOLDER", ROOT / "build/release/bin"), "hocket-bench-doubled"))
GIB = 1 << 30

# Writes what a test wants in place of hocket-bench's JSON, and ends with its status.
REPORTER = """#!/usr/bin/env python3
import json, sys
if {document!r} is not None:
    json.dump({document!r}, open(sys.argv[sys.argv.index("--json") + 1], "w"))
print("the last words")
sys.exit({status})
"""


def load_program():
    loader = SourceFileLoader("gpu_check_program", str(ROOT / "tools/gpu-check"))
    module = module_from_spec(spec_from_loader("gpu_check_program", loader))
    loader.exec_module(module)
    return module


program = load_program()


def row_of(**values):
    return {"wrong": 0, "bytes": 4, "dtype": "float32", "placement": "in_place", "algorithm": "direct GPU", **values}


class WithoutGpu(unittest.TestCase):
    @unittest.skipIf(build.has_gpu(), "there is a GPU here")
    def test_it_says_so_and_counts_nothing(self):
        done = subprocess.run([ROOT / "tools/gpu-check"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 77)
        self.assertIn("no GPU", done.stdout)
        self.assertNotIn("passed", done.stdout)

    def test_what_a_build_lacks_is_named(self):
        self.assertEqual(build.missing_headers(["string", "no/such/header.hpp"]), ["no/such/header.hpp"])

    def test_wrong_usage(self):
        done = subprocess.run([ROOT / "tools/gpu-check", "--no-such-option"], capture_output=True, check=False)
        self.assertEqual(done.returncode, 2)


class Checks(unittest.TestCase):
    def fake(self, document, status=0):
        """A program in place of hocket-bench that reports this."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name, "bench")
        path.write_text(REPORTER.format(document=document, status=status))
        path.chmod(0o755)
        return str(path)

    def test_rows_that_are_right_pass(self):
        self.assertIsNone(checks.elements(self.fake({"rows": [row_of()]}), "allreduce", 2))

    def test_a_wrong_element_is_found(self):
        problem = checks.elements(self.fake({"rows": [row_of(), row_of(wrong=3)]}), "allreduce", 2)
        self.assertIn("3 elements", problem)

    def test_no_rows_are_no_success(self):
        self.assertIn("nothing was measured", checks.elements(self.fake({"rows": []}), "reduce", 2))

    def test_a_call_that_went_over_the_host_is_none_on_the_gpu(self):
        problem = checks.elements(self.fake({"rows": [row_of(algorithm="ring")]}), "allreduce", 2)
        self.assertIn("ring", problem)

    def test_a_program_that_fails_is_quoted(self):
        problem = checks.elements(self.fake(None, status=3), "allreduce", 2)
        self.assertIn("exit status 3", problem)
        self.assertIn("the last words", problem)

    def test_a_death_that_was_noticed_late_fails(self):
        def dead(milliseconds, right=True):
            times = {"median": 1, "worst": milliseconds * 1e3, "ranks": []}
            return self.fake({"rows": [], "kill": {"right": right, "ranks_left": 3, "detection_us": times,
                                                   "recovery_us": times}})
        self.assertIsNone(checks.kill(dead(50), {}))
        self.assertIn("150 ms", checks.kill(dead(150), {}))
        self.assertIn("wrong", checks.kill(dead(50, right=False), {}))

    def test_a_skipped_test_of_the_driver_is_no_success(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        tests = Path(folder.name, "tests")
        tests.write_text("#!/bin/sh\necho '[  SKIPPED ] there is no GPU'\n")
        tests.chmod(0o755)
        self.assertIn("no GPU", checks.driver_test(str(tests), "AStreamKeepsItsOrder"))

    def test_tests_of_torch_count_only_where_they_ran(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        tests = Path(folder.name, "run.py")
        for said, status, passes in (("12 passed, 0 failed", 0, True), ("0 passed, 0 failed", 0, False),
                                     ("11 passed, 1 failed", 1, False), ("", 1, False), ("", 0, False)):
            tests.write_text(f"print({said!r})\nraise SystemExit({status})\n")
            self.assertEqual(checks.torch_tests(folder.name, tests) is None, passes, said)

    def test_failures_are_counted(self):
        run = program.Run(None)
        with contextlib.redirect_stdout(io.StringIO()):
            run.check("one", None)
            run.check("other", "why")
        self.assertEqual((run.count, run.failures), (2, 1))


@unittest.skipUnless(os.path.exists(DOUBLED), "the program with the double of a GPU was not built")
class OnTheDouble(unittest.TestCase):
    def test_every_element_is_right(self):
        for collective in ("allreduce", "allgather"):
            self.assertIsNone(checks.elements(DOUBLED, collective, 2, largest="64K"))

    def test_a_killed_rank_leaves_the_others(self):
        facts = {}
        self.assertIsNone(checks.kill(DOUBLED, facts, allowed_ms=60_000))  # the machine may be busy
        self.assertGreater(facts["recovery_ms"], 0)

    def test_a_row_has_what_the_table_shows(self):
        row, problem = figures.measure_row(DOUBLED, 2, 64 << 10, seconds=0.01)
        self.assertIsNone(problem)
        self.assertGreater(row["memory_GBps"], 0)
        self.assertGreater(row["call_us"], 0)


class Runs(unittest.TestCase):
    def test_what_does_not_end_is_ended_with_all_that_it_started(self):
        with tempfile.TemporaryDirectory() as folder:
            note = Path(folder, "child")
            status, said = checks.run(["sh", "-c", f"sleep 600 & echo $! > {note}; echo the last words; wait"], 1)
            child = int(note.read_text())
        self.assertEqual(status, 124)
        self.assertIn("the last words", said)
        self.assertIn("not ended after 1 s", said)
        deadline = time.monotonic() + 10
        while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split()[2])


class Table(unittest.TestCase):
    def figures(self):
        made = figures.Figures(gpu="a GPU", limit=figures.Limit(copy_GBps=1000, handover_us=5))
        for size, time in ((4, 15), (GIB, 5000)):
            made.rows[2, size] = {"time_us": {"p50": time}, "call_us": 3, "memory_GBps": 800, "algorithm": "direct GPU"}
        made.peers["gloo", 2, GIB] = 90000
        return made

    def test_the_limit_is_hand_overs_for_small_messages_and_memory_for_large_ones(self):
        limit = self.figures().limit
        self.assertEqual(limit.of_us(8, 4), 10)
        self.assertAlmostEqual(limit.of_us(2, GIB), 4 * GIB / 1e6)

    def test_it_shows_ratios_and_peers(self):
        lines = figures.table_of(self.figures(), 2).splitlines()
        self.assertIn("Gloo µs", lines[0])
        self.assertNotIn("NCCL", lines[0])
        self.assertIn("| 1.50 |", lines[2])  # 15 µs, two hand-overs of 5
        self.assertIn("| – |", lines[2])     # Gloo was not measured there
        self.assertIn("90,000.00", lines[3])

    def test_what_was_left_out_is_told(self):
        made = self.figures()
        made.notes.append("NCCL: there is none")
        self.assertIn("- NCCL: there is none", figures.document_of(made))

    def test_without_a_limit_there_is_no_ratio(self):
        made = self.figures()
        made.limit = None
        self.assertIn("– | – |", figures.table_of(made, 2))


if __name__ == "__main__":
    unittest.main()
