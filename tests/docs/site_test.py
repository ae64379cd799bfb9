#!/usr/bin/env python3
"""tools/docs builds the site where its packages are installed, and fails on what Doxygen warns of and on dead links."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What tools/docs needs of the tree.
PARTS = ["CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md", "docs", "examples", "include", "tools/docs",
         "tools/sgd", "tools/site"]


def available():
    pythons = ["python3", "/usr/bin/python3"]
    has_markdown = any(subprocess.run([python, "-c", "import markdown"], capture_output=True, check=False).returncode == 0
                       for python in pythons if shutil.which(python))
    return bool(shutil.which("doxygen")) and has_markdown


@unittest.skipUnless(available(), "no doxygen or no python3-markdown: tools/setup --docs")
class Site(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)
        for part in PARTS:
            (self.tree / part).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
            copy(ROOT / part, self.tree / part)
        for folder in ("algorithms", "bench", "cmake", "src", "tests", "transports"):  # which pages name
            (self.tree / folder).symlink_to(ROOT / folder)
        for path in (ROOT / "tools").iterdir():
            if not (self.tree / "tools" / path.name).exists():
                (self.tree / "tools" / path.name).symlink_to(path)

    def build(self):
        return subprocess.run([self.tree / "tools/docs"], capture_output=True, text=True, check=False, timeout=100)

    def test_has_all_pages_and_the_reference(self):
        result = self.build()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        site = self.tree / "build/site"
        self.assertIn("hocket_allreduce", (site / "api/group__collectives.html").read_text())
        guide = (site / "docs/guide/launching.html").read_text()
        self.assertIn('href="../../docs/reference/environment.html"', guide)

    def test_fails_where_the_reference_lacks_something(self):
        header = self.tree / "include/hocket/groups.h"
        header.write_text(header.read_text().replace("/** Opens a group on this thread. Never fails. */\n", ""))
        result = self.build()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("hocket_group_start", result.stderr)

    def test_fails_on_a_dead_link(self):
        page = self.tree / "docs/guide/why.md"
        page.write_text(page.read_text() + "\n[nothing](nowhere.md)\n")
        result = self.build()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("nowhere.md", result.stderr)


if __name__ == "__main__":
    unittest.main()
