#!/usr/bin/env python3
"""Every command of these pages runs."""

import unittest

import commands

Commands = commands.test_of("docs/guide/")

if __name__ == "__main__":
    unittest.main()
