#!/usr/bin/env python3
"""Every command of the README and the other pages outside docs/ runs, or says why it does not; and the runner's own test."""

import unittest

import commands
import pages

Commands = commands.test_of("README.md", "CONTRIBUTING.md", "examples/README.md", "SECURITY.md")

PAGE = """# Title
<!-- file: greeting.txt -->
```text
hello
```
- in a list
  ```sh
  cat greeting.txt
  ```
<!-- not run: there is no such program -->
```sh
no-such-program
```
```c
int main;
```
"""


class TheRunner(unittest.TestCase):
    def test_finds_blocks_with_what_is_said_about_them(self):
        self.assertEqual(commands.blocks(PAGE), [
            (3, "text", "file: greeting.txt", "hello\n"), (7, "sh", "", "cat greeting.txt\n"),
            (11, "sh", "not run: there is no such program", "no-such-program\n"), (14, "c", "", "int main;\n")])

    def test_runs_blocks_in_a_folder_that_looks_like_the_tree(self):
        ran = commands.run_text(PAGE + "```sh\nls tools/docs && cat greeting.txt >again\n```\n```sh\ncat again\n```\n")
        self.assertEqual([(status, "hello" in output) for _, status, output in ran], [(0, True), (0, False), (0, True)])

    def test_finds_a_command_that_fails_in_the_midst_of_a_block(self):
        for block in ("false\ntrue", "no-such-program\ntrue", "false | cat\ntrue", "echo $NO_SUCH_VARIABLE\ntrue"):
            with self.subTest(block=block):
                self.assertNotEqual(commands.run_text(f"```sh\n{block}\n```\n")[0][1], 0)

    def test_ends_what_a_block_left_running(self):
        ran = commands.run_text("```sh\nsleep 1000 &\nfalse\n```\n```sh\ntrue\n```\n")
        self.assertEqual([status for _, status, _ in ran], [1, 0])

    def test_every_block_that_is_not_run_has_a_reason(self):
        for page in pages.pages(commands.ROOT):
            for number, language, comment, _ in commands.blocks((commands.ROOT / page).read_text()):
                with self.subTest(block=f"{page}:{number}"):
                    self.assertNotEqual(language, "", "a block names its language: sh for commands, text for what they say")
                    if language == "sh" and comment.startswith("not run"):
                        self.assertRegex(comment, "not run: .{10,}")


if __name__ == "__main__":
    unittest.main()
