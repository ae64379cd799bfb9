#!/usr/bin/env python3
"""Tests of tools/test-hosts: what it makes, what goes away with whom, and what it says when something is wrong."""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "test-hosts"
NAME = f"script-{os.getpid()}"
CANNOT = 77


def run(*arguments):
    return subprocess.run([TOOL, *arguments], text=True, capture_output=True, timeout=60, check=False)


def on_host(host, *command):
    return run("exec", NAME, str(host), *command)


def namespaces_are_possible():
    """Whether a person could make by hand what the tool makes."""
    by_hand = "unshare --map-root-user --net ip link add name one type veth peer name two"
    return subprocess.run(by_hand.split(), capture_output=True, check=False).returncode == 0


class Sets(unittest.TestCase):
    def test_one_taken_down_while_others_are_looked_for_is_none(self):
        """Its file is there when the folder is listed, and gone when it is read: as a link to nothing."""
        with tempfile.TemporaryDirectory() as runtime:
            sets = Path(runtime) / f"hocket-test-hosts-{os.geteuid()}"
            sets.mkdir(mode=0o700)
            (sets / "gone.json").symlink_to(sets / "nothing")
            environment = os.environ | {"XDG_RUNTIME_DIR": runtime}
            listed = subprocess.run([TOOL, "list"], text=True, capture_output=True, env=environment, check=False)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertNotIn("gone", listed.stdout)


class TestHosts(unittest.TestCase):
    def setUp(self):
        made = run("make", NAME, "--hosts", "3", "--rate", "500mbit", "--networks", "2", "--owner", str(os.getpid()))
        if made.returncode == CANNOT:
            self.assertFalse(namespaces_are_possible(), made.stderr)
            self.skipTest(made.stderr)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.state = json.loads(made.stdout)

    def tearDown(self):
        run("remove", NAME)
        self.assertNotIn(NAME, run("list").stdout)

    def answers(self, caller, host, port):
        """Whether a program on `caller` reaches one on `host`."""
        address = f"10.77.0.{host + 1}"
        listen = f"import socket; s = socket.create_server(('', {port})); print('up', flush=True); s.accept()"
        server = subprocess.Popen([TOOL, "exec", NAME, str(host), sys.executable, "-c", listen], stdout=subprocess.PIPE)
        server.stdout.readline()
        call = f"import socket; socket.create_connection(('{address}', {port}), timeout=0.5)"
        reached = on_host(caller, sys.executable, "-c", call).returncode == 0
        server.kill()
        server.communicate()
        return reached

    def test_hosts_have_their_addresses_and_rates(self):
        seen = on_host(1, "ip", "-brief", "address").stdout
        for address in ("10.77.0.2/24", "10.77.1.2/24", "fd77::2/64", "fd77:1::2/64", "fe80::", "127.0.0.1/8"):
            self.assertIn(address, seen)
        self.assertIn("rate 500Mbit", on_host(1, "tc", "qdisc").stdout)
        self.assertEqual(run("rate", NAME, "1", "10mbit").returncode, 0)
        self.assertIn("rate 10Mbit", on_host(1, "tc", "qdisc").stdout)

    def test_a_cut_host_is_cut_off_until_it_is_healed(self):
        self.assertTrue(self.answers(0, 1, 4000))
        for direction in ("in", "out", "both"):
            self.assertEqual(run("cut", NAME, "1", "--direction", direction).returncode, 0)
            self.assertFalse(self.answers(0, 1, 4001), direction)
            self.assertTrue(self.answers(0, 2, 4002), direction)
            self.assertEqual(run("heal", NAME).returncode, 0)
        self.assertTrue(self.answers(0, 1, 4003))

    def test_ranks_are_spread_over_hosts(self):
        tell = "echo $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR $HOCKET_HOST_ID"
        for own, expected in (("1", "1/2 10.77.0.1"), ("4", "0/1 10.77.0.1")):
            os.environ.update(RANK=own, WORLD_SIZE="5")
            said = run("rank", NAME, "sh", "-c", tell).stdout.split()
            self.assertEqual(said, expected.split() + [f"{NAME}/h{int(own) // 2}"])
        for variable in ("RANK", "WORLD_SIZE"):
            del os.environ[variable]
        self.assertIn("hocket-run", run("rank", NAME, "true").stderr)

    def test_a_shell_on_a_host_has_a_name_of_its_own(self):
        shell = run("ssh", NAME, "10.77.0.3", "hostname;", "echo", "$HOCKET_HOST_ID", "'a  b'")
        self.assertEqual(shell.stdout.splitlines(), ["h2", f"{NAME}/h2 a  b"], shell.stderr)
        self.assertEqual(run("ssh", NAME, "10.77.0.1", "exit", "7").returncode, 7)

    def test_everything_goes_with_the_owner(self):
        other = NAME + "-short"
        owner = subprocess.Popen(["sleep", "1000"])
        self.assertEqual(run("make", other, "--owner", str(owner.pid)).returncode, 0)
        self.assertIn(other, run("list").stdout)
        owner.kill()
        owner.wait()
        for _ in range(1000):
            if other not in run("list").stdout:
                return
            time.sleep(0.01)
        self.fail("the set outlived its owner")

    def test_a_killed_holder_is_forgotten(self):
        os.kill(self.state["holder"], 9)
        for _ in range(1000):
            if NAME not in run("list").stdout:
                break
            time.sleep(0.01)
        self.assertIn(f"there are no test hosts '{NAME}'", run("show", NAME).stderr)

    def test_mistakes_are_named(self):
        for arguments, says in (
            (["make", NAME], "already"),
            (["make", "a/b"], "letters"),
            (["make", NAME + "x", "--rate", "fast"], "gbit"),
            (["cut", NAME, "3"], "hosts are 0 to 2"),
            (["cut", NAME, "0", "--network", "2"], "no network 2"),
            (["lose", NAME, "0", "101"], "percent"),
            (["exec", NAME, "0", "no-such-program"], "cannot start 'no-such-program'"),
            (["exec", NAME, "0"], "no program"),
            (["ssh", NAME, "10.77.0.4", "true"], "no host of"),
            (["show", "nobody"], "no test hosts 'nobody'"),
        ):
            ran = run(*arguments)
            self.assertNotIn(ran.returncode, (0, CANNOT), arguments)
            self.assertIn(says, ran.stderr)
            self.assertNotIn("Traceback", ran.stderr)


if __name__ == "__main__":
    unittest.main()
