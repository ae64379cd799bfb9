"""Blocks of the pages that are written by programs: what `hocket-plan list` says, the variables, each program's --help, and
sources of the examples.

A page marks such a block with a line `<!-- generated: KIND -->`, and its end with `<!-- end -->`. tools/docs --update
writes them anew; a test compares them with what the programs say now."""

import json
import re
import subprocess
import textwrap
from pathlib import Path

from pages import MAX_COLUMNS, pages

BLOCK = re.compile(r"(<!-- generated: ([^\n]+?) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)


def run(programs, *command):
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}  # and no variable of Hocket's
    return subprocess.run([f"{programs}/{command[0]}", *command[1:]], env=environment, text=True, capture_output=True,
                          timeout=60, check=True).stdout


def fold(text, indent):
    """The text in lines that are short enough, the second and later ones indented."""
    filled = textwrap.wrap(text, MAX_COLUMNS - 10, subsequent_indent=" " * indent, break_long_words=False,
                           break_on_hyphens=False, drop_whitespace=True)
    return text if len(text) <= MAX_COLUMNS - 10 else "\n".join(filled)


def help_text(programs, program, *subcommand):
    lines = []
    for line in run(programs, program, *subcommand, "--help").rstrip().splitlines():
        indent = len(line) - len(line.lstrip())
        lines.append(fold(line.rstrip(), 30 if line.startswith("  -") else indent))
    return "```text\n" + "\n".join(lines) + "\n```\n"


def environment(programs):
    variables = json.loads(run(programs, "hocket-plan", "settings", "--json"))["variables"]
    text = ""
    for one in variables:
        text += fold(f"- **`{one['name']}`** (default: {one['default']}): {one['meaning']}.", 2) + "\n"
    return text


def algorithms(programs):
    text, section = "", None
    for line in run(programs, "hocket-plan", "list").splitlines()[1:]:
        collective, name, what = line.split(None, 2)
        if collective != section:
            section = collective
            text += f"\n## {collective}\n\n"
        text += fold(f"- `{name}`: {what}.", 2) + "\n"
    return text.lstrip("\n") + "\n"


def source(file):
    """The whole file, to be read on the page, and written by the test that runs the page's commands."""
    language = {".c": "c", ".cpp": "cpp"}[file.suffix]
    return f"<!-- file: {file.name} -->\n```{language}\n{file.read_text()}```\n"


def block(root, programs, kind):
    if kind.startswith("source "):
        return source(root / kind.removeprefix("source "))
    if kind == "environment":
        return environment(programs)
    if kind == "algorithms":
        return algorithms(programs)
    program, *rest = kind.split()
    assert rest[-1] == "--help", kind
    return help_text(programs, program, *rest[:-1])


def stale(root, programs, update=False):
    """The blocks that are not what programs say now, as "PAGE: KIND"; with update, they are written anew."""
    root, found = Path(root), []
    for page in pages(root):
        path = root / page

        def renew(match, page=page):
            now = block(root, programs, match[2])
            if now != match[3]:
                found.append(f"{page}: {match[2]}")
            return match[1] + now + match[4]

        text = path.read_text()
        renewed = BLOCK.sub(renew, text)
        if update and renewed != text:
            path.write_text(renewed)
    return found
