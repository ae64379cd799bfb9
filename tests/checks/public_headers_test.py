#!/usr/bin/env python3
"""The public headers are a set: hocket.h and hocket.hpp include all of them, each C header compiles alone, and each of its
functions has a group in the reference. tests/install compiles what is installed, the C++ headers among it."""

import os
import re
import subprocess
import unittest
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[2] / "include"
HEADERS = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.glob("hocket/*.h*"))
C_HEADERS = [name for name in HEADERS if name.endswith(".h")]
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{INCLUDE}", "-fsyntax-only"]


def compile_as_c99(text):
    return subprocess.run([os.environ.get("CC", "cc"), "-xc", "-std=c99", *STRICT, "-"], input=text, text=True,
                          capture_output=True, check=False)


def included(name):
    return re.findall(r'^#include "(hocket/\S+)"', (INCLUDE / name).read_text(), re.MULTILINE)


class PublicHeaders(unittest.TestCase):
    def test_hocket_h_and_hocket_hpp_include_all_others(self):
        self.assertEqual(sorted([*included("hocket/hocket.h"), "hocket/hocket.h"]), C_HEADERS)
        others = [name for name in HEADERS if name.endswith(".hpp") and name != "hocket/hocket.hpp"]
        self.assertEqual(sorted(included("hocket/hocket.hpp")), sorted([*others, "hocket/hocket.h"]))

    def test_each_c_header_compiles_alone_and_twice(self):
        for name in C_HEADERS:
            with self.subTest(header=name):
                result = compile_as_c99(f"#include <{name}>\n" * 2)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_every_c_function_belongs_to_a_group_and_is_documented(self):
        for name in C_HEADERS:
            grouped = documented = False
            for line in (INCLUDE / name).read_text().splitlines():
                if "@{" in line:
                    grouped = True
                if line.startswith("HOCKET_API"):
                    with self.subTest(header=name, declaration=line):
                        self.assertTrue(grouped and documented)
                documented = line.endswith("*/")
                if "@}" in line:
                    grouped = False

    def test_a_header_reads_in_one_pass(self):
        for name in HEADERS:
            with self.subTest(header=name):
                self.assertLess(len((INCLUDE / name).read_text().splitlines()), 300)


if __name__ == "__main__":
    unittest.main()
