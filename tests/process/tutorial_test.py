#!/usr/bin/env python3
"""Runs every command of docs/guide/tutorial.md, as the page has it, but for what would only take longer."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("PROGRAMS_FOLDER", ROOT / "build/release/bin"))
# What only takes time, and what it is here. All of it must be on the page.
SHORTER = {
    "--network lenet --drawn 2048": "--network lenet --drawn 128",
    "hocket-sgd --epochs 1\n": "hocket-sgd --epochs 1 --drawn 512\n",
    "-e 1M": "-e 64K --seconds 0.02",
    "--prove --ranks 4 --sizes 64K,1M":
        "--prove --ranks 2 --sizes 1K,64K --iterations 1 --batch 64 --hidden 32 --drawn 192",
}


def commands(page):
    """The lines of its shell blocks, without what they say about themselves."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    lines = [line.split("  # ")[0].split(" # ")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


class Tutorial(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.commands = commands((ROOT / "docs/guide/tutorial.md").read_text())

    def test_begins_with_how_it_is_built(self):
        """The two lines that make what the others run; whoever runs this has done so."""
        self.assertEqual(self.commands[:2], ["cmake --preset release && ninja -C build/release",
                                             "export PATH=$PWD/build/release/bin:$PATH"])

    def test_every_command_runs(self):
        self.assertGreaterEqual(len(self.commands), 10)
        environment = dict(os.environ, PATH=f"{PROGRAMS}:{os.environ['PATH']}")
        unused = set(SHORTER)
        with tempfile.TemporaryDirectory() as folder:
            for command in self.commands[2:]:
                here = command = command + "\n"
                for long, short in SHORTER.items():
                    if long in command:
                        unused.discard(long)
                        here = here.replace(long, short)
                with self.subTest(command=command):
                    ran = subprocess.run(["bash", "-c", here], cwd=folder, env=environment, text=True,
                                         capture_output=True, timeout=60, check=False)
                    self.assertEqual(ran.returncode, 0, f"{here}\n{ran.stdout}\n{ran.stderr}")
                    self.assertTrue(ran.stdout.strip(), f"{here} says nothing")
                    self.assertNotIn("FAILED", ran.stdout, here)
                    for file in re.findall(r"--(?:svg|html) (\S+)", command):
                        self.assertGreater((Path(folder) / file).stat().st_size, 1000, f"{command} wrote no {file}")
        self.assertFalse(unused, "no command has these any more")


if __name__ == "__main__":
    unittest.main()
