#!/usr/bin/env python3
"""The page of hocket-store in a real browser, of real ranks: who is behind, and that names cannot run anything there."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("PROGRAMS_FOLDER", ROOT / "build/release/bin"))
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
JOB = "a job<script>document.title='taken'</script><img src=x onerror=document.title='taken'>"
PATIENCE = 60  # seconds


class Page(unittest.TestCase):
    def setUp(self):
        self.store = self.start([PROGRAMS / "hocket-store", "--port", "0", "--metrics", "0"])
        port = re.search(r":(\d+)$", self.store.stdout.readline().strip())[1]
        metrics = re.search(r"(http://\S+)/metrics$", self.store.stdout.readline().strip())[1]
        self.url = f"{metrics}/"
        self.environment = {"HOCKET_STORE": f"tcp://127.0.0.1:{port}", "HOCKET_JOB": JOB, "HOCKET_REPORT": "on",
                            "HOCKET_WORLD_SIZE": "3"}
        self.ranks = []

    def start(self, command, **environment):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   env={**os.environ, **environment})
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        process.stdout.close()

    def start_ranks(self):
        self.ranks = [self.start([PROGRAMS / "hocket-bench", "allreduce", "-b", "1K", "-e", "1K", "--seconds", "300", "-c", "0"],
                                 **self.environment, HOCKET_RANK=str(rank)) for rank in range(3)]

    def get(self, path=""):
        return urllib.request.urlopen(self.url + path, timeout=PATIENCE).read().decode()

    def wait_for(self, words, times=1):
        """Until the page has these words so often."""
        deadline = time.monotonic() + PATIENCE
        text = ""
        while text.count(words) < times:
            self.assertLess(time.monotonic(), deadline, f"{words!r} did not come:\n{text}")
            text = self.get()
            time.sleep(0.05)

    def browse(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            # Root may not use the browser's sandbox; it shows nothing but this page.
            command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                       f"--user-data-dir={folder}", "--window-size=1200,700", *options, self.url]
            ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            return ran.stdout

    def test_tells_prometheus_of_each_rank(self):
        self.start_ranks()
        self.wait_for("allreduce of", 3)
        metrics = self.get("metrics")
        self.assertIn("hocket_groups 1\n", metrics)
        for rank in range(3):
            self.assertRegex(metrics, rf'hocket_rank_operations_total\{{job="a job[^\n]*rank="{rank}"\}} [1-9]')

    @unittest.skipUnless(BROWSER, "no browser: install the package chromium")
    def test_shows_in_a_browser_who_is_behind(self):
        self.assertIn("No rank reports.", self.browse("--dump-dom"))
        self.start_ranks()
        self.wait_for("allreduce of", 3)
        self.ranks[1].send_signal(signal.SIGSTOP)
        self.wait_for("Behind: rank 1.")
        shown = self.browse("--dump-dom")
        self.assertIn("Behind: rank 1.", shown)
        self.assertRegex(shown, r"waits for rank 1 for [0-9.]+ s in allreduce of ")
        self.assertIn("3 of 3 ranks report", shown)
        self.assertEqual(shown.count("<tr"), 4)
        self.assertIn("<title>hocket-store</title>", shown)
        self.assertNotIn("<script", shown)
        self.assertNotIn("<img", shown)
        self.assertIn("a job&lt;script&gt;", shown)
        picture = os.environ.get("PICTURE")
        if picture:
            self.browse(f"--screenshot={picture}")


if __name__ == "__main__":
    unittest.main()
