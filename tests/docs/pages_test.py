#!/usr/bin/env python3
"""Pages of the documentation have no dead links, no orphans and no endless lines; and the check would find them."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/site"))
import pages  # noqa: E402  pylint: disable=wrong-import-position


class ThePages(unittest.TestCase):
    def test_have_no_problem(self):
        self.assertEqual(pages.problems(ROOT), [])

    def test_are_linked_from_the_readme(self):
        targets = {pages.resolve("README.md", target)[0] for _, target in pages.links((ROOT / "README.md").read_text())}
        self.assertLessEqual({"docs/index.md", "docs/internals/architecture.md", "CHANGELOG.md", "LICENSE"}, targets)


class TheCheck(unittest.TestCase):
    def problems_of(self, **files):
        """Of a tree with these files; __ in a name stands for /."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in {"docs__index": "# Index\n", **files}.items():
                path = root / (name.replace("__", "/") + ".md")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return pages.problems(root)

    def test_finds_nothing_on_good_pages(self):
        self.assertEqual(self.problems_of(docs__index="# Index\n[a](a.md#b-c) `[x](no.md)` [web](https://x.org)\n",
                                          docs__a="# A\n## `b` c\n[up](../docs/index.md#index) [here](#b-c)\n"), [])

    def test_finds_dead_links(self):
        found = self.problems_of(docs__index="# Index\ntext\n[a](b.md) [out](../../x.md)\n")
        self.assertEqual(found, ["docs/index.md:3: b.md is not a file", "docs/index.md:3: ../../x.md is not a file"])

    def test_finds_links_that_are_broken_over_lines(self):
        self.assertEqual(self.problems_of(docs__index="# Index\n[a\nb](c.md)\n"), ["docs/index.md:2: c.md is not a file"])

    def test_finds_anchors_without_a_heading(self):
        self.assertEqual(self.problems_of(docs__index="# Index\n[a](#b)\n```\n# b\n```\n"),
                         ["docs/index.md:2: docs/index.md has no heading for #b"])

    def test_finds_paths_that_are_not_there(self):
        self.assertEqual(self.problems_of(docs__index="# Index\n`docs/index.md` `src/no.cpp` `src/a b`\n```\n`src/x`\n```\n"),
                         ["docs/index.md:2: there is no src/no.cpp"])

    def test_finds_comments_that_name_pages_that_are_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"docs/index.md": "# Index\n", "src/a.cpp": "// docs/index.md\n// see docs/WIRE.md.\n"}.items():
                path = Path(folder) / name
                path.parent.mkdir()
                path.write_text(text)
            self.assertEqual(pages.problems(folder), ["src/a.cpp:2: there is no docs/WIRE.md"])

    def test_finds_orphans(self):
        self.assertEqual(self.problems_of(docs__guide__a="# A\n"), ["docs/guide/a.md: docs/index.md does not link it"])

    def test_finds_decisions_that_their_index_lacks(self):
        found = self.problems_of(docs__index="# Index\n[d](decisions/index.md)\n", docs__decisions__index="# D\n",
                                 **{"docs__decisions__0001-a": "# A\n"})
        self.assertEqual(found, ["docs/decisions/0001-a.md: docs/decisions/index.md does not link it"])

    def test_finds_long_lines_missing_titles_and_shouting_names(self):
        found = self.problems_of(docs__index="# Index\n[a](A.md)\n" + "x" * 141 + "\n", docs__A="text\n")
        self.assertEqual(found, ["docs/A.md:1: a page begins with its title",
                                 "docs/A.md: names of pages are lower case, with hyphens",
                                 "docs/index.md:3: 141 columns, more than 140"])


if __name__ == "__main__":
    unittest.main()
