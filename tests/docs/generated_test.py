#!/usr/bin/env python3
"""What pages quote from programs (help, variables, algorithms) is what the programs say; tools/docs --update mends it."""

import os
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/site"))
import figures  # noqa: E402  pylint: disable=wrong-import-position
import generated  # noqa: E402  pylint: disable=wrong-import-position
import pages  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = Path(os.environ.get("PROGRAMS_FOLDER", ROOT / "build/release/bin"))


class Generated(unittest.TestCase):
    def test_blocks_are_what_the_programs_say(self):
        self.assertEqual(generated.stale(ROOT, PROGRAMS), [], "run tools/docs --update")

    def test_the_plot_shows_the_table_of_the_figures(self):
        self.assertEqual((ROOT / figures.PLOT).read_text(), figures.draw(ROOT), "run tools/docs --update")

    def test_the_table_of_the_readme_is_that_of_the_figures(self):
        _, rows = figures.table(ROOT)
        shown = {int(line.split("|")[1]): [tuple(float(time.replace(",", "")) for time in cell.split(":"))
                                           for cell in line.strip("|").split("|")[1:]]
                 for line in (ROOT / "README.md").read_text().splitlines() if re.match(r"\| \d+ \|.* : ", line)}
        self.assertEqual(shown.keys(), rows.keys())
        for ranks, cells in rows.items():
            for cell, seen in zip(cells, shown[ranks], strict=True):
                for time, rounded in zip(cell, seen, strict=True):
                    self.assertAlmostEqual(rounded / time, 1, delta=0.03, msg=f"{ranks} ranks: {seen} for {cell}")

    def test_every_program_variable_and_algorithm_is_there(self):
        kinds = {kind for page in pages.pages(ROOT) for _, kind, *_ in generated.BLOCK.findall((ROOT / page).read_text())}
        for program in PROGRAMS.glob("hocket-*"):
            if program.name.endswith("-doubled"):  # a program's double, for tests
                continue
            self.assertIn(f"{program.name} --help", kinds)
        self.assertLessEqual({"environment", "algorithms"}, kinds)

    def test_the_environment_page_has_every_variable_that_the_library_reads(self):
        """The programs read the same table; this holds for a build without them, too."""
        names = set(re.findall(r'{"(HOCKET_\w+)"', (ROOT / "src/base/environment.cpp").read_text()))
        self.assertGreater(len(names), 15)
        page = (ROOT / "docs/reference/environment.md").read_text()
        self.assertEqual(names, set(re.findall(r"^- \*\*`(HOCKET_\w+)`\*\*", page, re.MULTILINE)))

    def test_the_table_has_every_variable_that_any_source_reads(self):
        table = set(re.findall(r'{"(HOCKET_\w+)"', (ROOT / "src/base/environment.cpp").read_text()))
        read = set()
        for folder in ("src", "transports", "tools", "bench", "bindings"):
            for file in [*(ROOT / folder).rglob("*.cpp"), *(ROOT / folder).rglob("*.py")]:
                read |= set(re.findall(r'(?:find\({|in_force\(|getenv\(|environ\.get\()"(HOCKET_\w+)"', file.read_text()))
        self.assertGreater(len(read), 9)
        self.assertLessEqual(read, table)


if __name__ == "__main__":
    unittest.main()
