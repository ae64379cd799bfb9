#!/usr/bin/env python3
"""Runs the tests of hocket_torch. Usage: run.py [--backend hocket|gloo] [-v] [-k PATTERN] 

PYTHONPATH must lead to the package hocket_torch. With --backend gloo the same tests run on torch's own backend, which shows
that they ask for what torch promises. The last line is "N passed, N failed"."""

import argparse
import os
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description="The tests of hocket_torch")
    parser.add_argument("--backend", default="hocket", choices=["hocket", "gloo"])
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("-k", action="append", metavar="PATTERN", help="only tests whose name has this in it")
    arguments = parser.parse_args()
    os.environ["TORCH_TESTS_BACKEND"] = arguments.backend
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("PYTHONWARNINGS", "ignore::UserWarning")  # torch's, on calls that it will deprecate
    sys.path.insert(0, str(HERE))
    import ranks  # pylint: disable=import-outside-toplevel

    loader = unittest.TestLoader()
    if arguments.k:
        loader.testNamePatterns = [word if "*" in word else f"*{word}*" for word in arguments.k]
    tests = loader.discover(str(HERE), pattern="*_test.py", top_level_dir=str(HERE))
    ranks.run_tests(tests, arguments.verbose)


if __name__ == "__main__":
    main()
