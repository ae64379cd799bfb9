"""PyTorch's own tests of its backends; see upstream.py."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from ranks import BACKEND, main

PROGRAM = Path(__file__).with_name("upstream.py")


class Upstream(unittest.TestCase):
    def test_pytorchs_own_tests(self):
        with tempfile.NamedTemporaryFile(mode="r", suffix=".json") as file:
            command = [sys.executable, str(PROGRAM), "--backend", BACKEND, "--json", file.name]
            done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, timeout=280, text=True, check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            ends = json.loads(file.read() or "{}")
        self.assertGreater(sum(end["end"] == "passed" for end in ends.values()), 100, done.stdout[-3000:])
        for name, end in ends.items():
            with self.subTest(name):
                self.assertNotEqual(end["end"], "failed", end["text"])


if __name__ == "__main__":
    main()
