#!/usr/bin/env python3
"""Runs tools/setup with a dpkg-query, an apt-get and a sudo that are stand-ins, and looks at what it asks of them."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SETUP = Path(__file__).resolve().parents[2] / "tools" / "setup"

DPKG_QUERY = """#!/bin/bash
for argument in "$@"; do
  case "$argument" in
    -*) ;;
    $MISSING) ;;
    *) echo "installed $argument" ;;
  esac
done
"""
APT_GET = """#!/bin/bash
echo "$*" >> "$CALLS"
[[ "$1" != "$BROKEN" ]]
"""


class SetupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = Path(folder.name)
        self.calls = self.bin / "calls"
        self.calls.touch()
        self.stand_in("dpkg-query", DPKG_QUERY)
        self.stand_in("apt-get", APT_GET)
        self.stand_in("sudo", '#!/bin/bash\nexec "$@"\n')  # used where the tests do not run as root

    def stand_in(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run_setup(self, *arguments, missing="", broken="", path=None):
        path = path or f"{self.bin}:/usr/bin:/bin"
        done = subprocess.run(["/bin/bash", SETUP, *arguments], env={**os.environ, "PATH": path, "MISSING": missing, "BROKEN": broken,
                                                         "CALLS": str(self.calls)}, capture_output=True, text=True, timeout=30)
        return done.returncode, done.stdout + done.stderr, self.calls.read_text().splitlines()

    def test_asks_for_nothing_when_all_is_there(self):
        status, output, calls = self.run_setup()
        self.assertEqual((status, calls), (0, []), output)
        self.assertIn("packages are there", output)

    def test_installs_what_is_missing_and_says_so(self):
        status, output, calls = self.run_setup(missing="lib[af]*-dev")
        self.assertEqual(status, 0, output)
        self.assertEqual(calls[0], "update -q")
        self.assertTrue(calls[1].startswith("install ") and calls[1].endswith(" libasio-dev libfmt-dev"), calls[1])
        self.assertIn("installing 2 packages: libasio-dev libfmt-dev", output)

    def test_installs_what_the_site_needs_only_if_asked(self):
        self.assertEqual(self.run_setup(missing="doxygen")[2], [])
        _, _, calls = self.run_setup("--docs", missing="doxygen")
        self.assertTrue(calls[1].startswith("install ") and calls[1].endswith(" doxygen"), calls)

    def test_installs_pytorch_only_if_asked(self):
        self.assertEqual(self.run_setup(missing="*torch*")[2], [])
        _, _, calls = self.run_setup("--torch", missing="*torch*")
        self.assertTrue(calls[1].endswith(" python3-torch libtorch-dev"), calls)

    def test_installs_no_more_than_programs_need_where_that_is_asked(self):
        _, _, calls = self.run_setup("--programs", missing="*")
        wanted = calls[1].split()
        self.assertIn("libfmt-dev", wanted)
        for other in ("ccache", "libgtest-dev", "libbenchmark-dev", "clang-format", "clang-tidy-16"):
            self.assertNotIn(other, wanted)

    def test_says_what_it_could_not_do(self):
        status, output, _ = self.run_setup(missing="cmake", broken="update")
        self.assertEqual(status, 1)
        self.assertIn("apt-get update failed", output)
        status, output, _ = self.run_setup(missing="cmake", broken="install")
        self.assertEqual(status, 1)
        self.assertIn("could not install: cmake", output)

    def test_says_what_to_install_where_there_is_no_apt(self):
        status, output, _ = self.run_setup(path=str(self.bin / "empty"))
        self.assertEqual(status, 1)
        self.assertIn("not Debian", output)
        self.assertIn("libasio-dev", output)


if __name__ == "__main__":
    unittest.main()
