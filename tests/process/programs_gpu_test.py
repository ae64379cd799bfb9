#!/usr/bin/env python3
"""hocket-bench and hocket-sgd on the memory of a GPU: with the double of one in host memory, and without any."""

import glob
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("PROGRAMS_FOLDER", ROOT / "build/release/bin"))
DOUBLED_BENCH, DOUBLED_SGD = PROGRAMS / "hocket-bench-doubled", PROGRAMS / "hocket-sgd-doubled"
HAS_GPU = bool(glob.glob("/dev/nvidia[0-9]*"))


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=110, check=False)


class Bench(unittest.TestCase):
    def rows(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "rows.json")
            done = run(DOUBLED_BENCH, *arguments, "--memory", "cuda", "--json", file)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = json.loads(file.read_text())["rows"]
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual((row["wrong"], row["memory"]), (0, "cuda"))
        return rows

    def test_collectives_are_right_and_go_over_the_gpu(self):
        for collective in ("allreduce", "reduce_scatter", "alltoall"):
            rows = self.rows(collective, "--ranks", 3, "-b", 4, "-e", "64K", "-f", 64, "-n", 2)
            outside = [row for row in rows if row["placement"] == "out_of_place" and row["bytes"] > 12]
            self.assertEqual({row["algorithm"] for row in outside}, {"direct GPU"})

    def test_what_goes_over_the_host_is_right(self):
        for collective in ("scan", "sendrecv", "allgather_v"):
            self.rows(collective, "--ranks", 2, "-b", 4, "-e", "16K", "-f", 64, "-n", 2)

    def test_all_types_are_checked(self):
        types = {row["dtype"] for row in self.rows("allreduce", "--ranks", 2, "-b", "1K", "-e", "1K", "-d", "all", "-n", 1)}
        self.assertGreater(len(types), 12)

    def test_lower_precision_is_checked_with_its_tolerance(self):
        self.rows("allreduce", "--ranks", 2, "-b", "64K", "-e", "64K", "--wire", "bfloat16", "-n", 1)

    def test_two_clocks_and_the_rate_of_memory(self):
        row, = self.rows("allreduce", "--ranks", 2, "-b", "64K", "-e", "64K", "-n", 5, "--placement", "in")
        self.assertGreater(row["call_us"], 0)
        self.assertAlmostEqual(row["memory_GBps"], 4 * 65536 / row["time_us"]["p50"] / 1e3)

    def test_more_operations_than_events_are_kept(self):
        row, = self.rows("allreduce", "--ranks", 1, "-b", 4, "-e", 4, "-n", 2500, "--placement", "in")
        self.assertEqual(row["iterations"], 2500)

    def test_operations_one_by_one(self):
        row, = self.rows("allreduce", "--ranks", 2, "-b", "1K", "-e", "1K", "-n", 3, "--placement", "in", "--fresh")
        self.assertGreater(row["time_us"]["min"], 0)

    def test_the_table_has_the_columns(self):
        said = run(DOUBLED_BENCH, "allreduce", "--ranks", 2, "-b", 4, "-e", 4, "-n", 1, "--memory", "cuda").stdout
        self.assertIn("call", said)
        self.assertIn("memory", said)

    def test_a_gpu_that_is_not_there_is_refused_once(self):
        done = run(DOUBLED_BENCH, "allreduce", "--ranks", 3, "--memory", "cuda", "--device", 7)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count("there is no GPU 7"), 1)

    def test_devices_have_names(self):
        done = run(DOUBLED_BENCH, "allreduce", "--ranks", 2, "--memory", "cuda", "--device", "first")
        self.assertEqual(done.returncode, 2)
        self.assertIn("local-rank", done.stderr)

    @unittest.skipIf(HAS_GPU, "there is a GPU here")
    def test_without_a_gpu_it_says_what_is_missing(self):
        done = run(PROGRAMS / "hocket-bench", "allreduce", "--ranks", 2, "--memory", "cuda")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "--memory cuda needs a GPU: .*(driver|without CUDA|no GPU)")


class Sgd(unittest.TestCase):
    def trained(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "trained.json")
            done = run(DOUBLED_SGD, "--epochs", 1, "--drawn", 512, "--batch", 32, "--hidden", "24,16", "--json", file, *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(file.read_text())

    def test_the_device_comes_to_the_losses_of_the_host(self):
        for arguments in ([], ["--ranks", 2, "--weight-decay", "0.001"], ["--ranks", 2, "--bucket-mb", 0]):
            host, device = (self.trained(*arguments, "--device", name)["epochs"] for name in ("cpu", "cuda"))
            self.assertEqual(len(host), len(device))
            for one, other in zip(host, device):
                self.assertAlmostEqual(one["loss"], other["loss"], delta=1e-5 * one["loss"])
                self.assertAlmostEqual(one["accuracy"], other["accuracy"], delta=0.01)

    def test_what_the_device_cannot_train_is_refused(self):
        for other in (["--network", "lenet"], ["--lars"], ["--prove"]):
            done = run(DOUBLED_SGD, "--device", "cuda", *other)
            self.assertEqual(done.returncode, 2)
            self.assertIn(other[-1], done.stderr)

    def test_a_device_that_is_not_there_is_refused(self):
        done = run(DOUBLED_SGD, "--epochs", 1, "--drawn", 64, "--batch", 16, "--device", "cuda:3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no GPU 3", done.stderr)


if __name__ == "__main__":
    unittest.main()
