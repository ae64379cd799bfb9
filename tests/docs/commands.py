"""Runs the commands of documentation pages, all of them, as a reader would: every block marked sh.

The blocks of a page run one after the other in a folder of their own that looks like the root of the source tree, with the
built programs on PATH and the built library where pkg-config finds it. Two comments steer this, in the line before a block:
  <!-- file: NAME -->        the block, of any language, is written to this file
  <!-- not run: REASON -->   the block needs what a test does not have (several hosts, an installation, minutes)"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/site"))
import pages  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = Path(os.environ.get("PROGRAMS_FOLDER", ROOT / "build/release/bin"))
SHARED_FOLDERS = ["tools", "bench", "examples", "include", "docs"]
BLOCK_TIMEOUT = 100


def sanitized():
    """Whether the programs were built with a sanitizer, whose runtime a reader's own program would lack."""
    cache = PROGRAMS.parent / "CMakeCache.txt"
    return cache.is_file() and "\nHOCKET_SANITIZE:STRING=\n" not in cache.read_text()


def blocks(text):
    """(line, language, what the comment before it says, text) of every fenced block."""
    found, comment, fence = [], "", None
    for number, line in enumerate(text.splitlines(), 1):
        match = pages.FENCE.match(line)
        if fence is None and match:
            fence, indent, language, start, content = match[2], len(match[1]), match[3].strip(), number, []
        elif fence is not None and match and match[2].startswith(fence) and not match[3].strip():
            found.append((start, language, comment, "\n".join(content) + "\n"))
            fence, comment = None, ""
        elif fence is not None:
            content.append(line[indent:])
        elif line.strip().startswith("<!-- "):
            comment = line.strip()[5:].removesuffix("-->").strip()
        else:
            comment = ""
    return found


def folder_of_a_reader(folder):
    """Fills a folder as a reader has it, and says in which environment he works."""
    for name in SHARED_FOLDERS:
        (folder / name).symlink_to(ROOT / name)
    (folder / "pkgconfig").mkdir()
    (folder / "pkgconfig/hocket.pc").write_text(
        f"Name: hocket\nDescription: the build\nVersion: 0\nCflags: -I{ROOT}/include\nLibs: -L{PROGRAMS.parent} -lhocket\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOCKET_")}
    return {**kept, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "PKG_CONFIG_PATH": str(folder / "pkgconfig"),
            "LD_LIBRARY_PATH": str(PROGRAMS.parent), "HOCKET_TIMEOUT_MS": "60000"}


def run_block(text, folder, environment):
    """Exit status and output of one block. What it left running ends with it."""
    with subprocess.Popen(["bash", "-euxo", "pipefail", "-c", text], cwd=folder, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True) as shell:
        watchdog = threading.Timer(BLOCK_TIMEOUT, os.killpg, [shell.pid, signal.SIGKILL])
        watchdog.start()
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(shell.stdout))
        reader.start()
        status = shell.wait()
        watchdog.cancel()
        try:
            os.killpg(shell.pid, signal.SIGKILL)  # background jobs that a failure left
        except ProcessLookupError:
            pass
        reader.join()
    return status, "".join(lines)[-4000:]


def run_text(text):
    """Runs the blocks of a page; (line, exit status, output) of each that ran."""
    ran = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = folder_of_a_reader(folder)
        for number, language, comment, content in blocks(text):
            if comment.startswith("file: "):
                (folder / comment.removeprefix("file: ")).write_text(content)
            if language == "sh" and not comment.startswith("not run: "):
                ran.append((number, *run_block(content, folder, environment)))
    return ran


def test_of(*folders):
    """A test case for the pages in these folders, or with these names."""
    @unittest.skipIf(sanitized(), "the plain build runs the same commands")
    class Commands(unittest.TestCase):
        def test_all_run(self):
            total = 0
            for page in (page for page in pages.pages(ROOT) if page.startswith(folders)):
                for number, status, output in run_text((ROOT / page).read_text()):
                    total += 1
                    with self.subTest(block=f"{page}:{number}"):
                        self.assertEqual(status, 0, output)
            self.assertGreater(total, 0)

    return Commands
