#!/usr/bin/env python3
"""The manifest for Kubernetes on the page about launching is one, and its parts fit each other and Hocket."""

import re
import unittest
from pathlib import Path

try:
    import yaml
except ImportError:
    yaml = None

import commands

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}


def manifest():
    page = (ROOT / "docs/guide/launching.md").read_text()
    [text] = [text for _, language, _, text in commands.blocks(page) if language == "yaml"]
    return text


@unittest.skipUnless(yaml, "needs python3-yaml")
class TheManifest(unittest.TestCase):
    def setUp(self):
        self.service, self.job = yaml.safe_load_all(manifest())
        self.pod = self.job["spec"]["template"]["spec"]
        [self.container] = self.pod["containers"]
        self.variables = {one["name"]: one for one in self.container["env"]}

    def test_is_an_indexed_job_below_a_headless_service(self):
        self.assertEqual((self.service["kind"], self.job["kind"]), ("Service", "Job"))
        self.assertEqual(self.job["spec"]["completionMode"], "Indexed")
        self.assertEqual(self.service["spec"]["clusterIP"], "None")
        self.assertEqual(self.pod["subdomain"], self.service["metadata"]["name"])
        self.assertEqual(self.service["spec"]["selector"]["job-name"], self.job["metadata"]["name"])

    def test_starts_as_many_ranks_as_it_says(self):
        number = self.job["spec"]["completions"]
        self.assertEqual(self.job["spec"]["parallelism"], number)
        self.assertEqual(self.variables["WORLD_SIZE"]["value"], str(number))

    def test_sets_variables_that_exist(self):
        page = (ROOT / "docs/reference/environment.md").read_text()
        known = set(re.findall(r"^- \*\*`(HOCKET_\w+)`", page, re.MULTILINE)) | FOREIGN
        self.assertGreater(len(known), 20)
        self.assertLessEqual(set(self.variables), known)
        self.assertIn("JOB_COMPLETION_INDEX", page)

    def test_mounts_the_secret_for_its_owner_alone(self):
        [mount], [volume] = self.container["volumeMounts"], self.pod["volumes"]
        self.assertEqual(mount["name"], volume["name"])
        self.assertTrue(self.variables["HOCKET_SECRET_FILE"]["value"].startswith(mount["mountPath"] + "/"))
        self.assertEqual(volume["secret"]["defaultMode"], 0o400)


if __name__ == "__main__":
    unittest.main()
