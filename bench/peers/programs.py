"""Builds the peers' programs, and runs a program with a time limit, leaving nothing of it behind."""

import os
import signal
import subprocess
import time
from pathlib import Path


def execute(command, environment, enter, timeout):
    """(exit status, the last line that it said); no status when it ran out of time."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors="replace", env={**os.environ, **environment}, preexec_fn=enter)
    try:
        output = child.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        end(child)
        return None, ""
    except BaseException:
        end(child)
        raise
    lines = [text.strip() for text in output.splitlines() if text.strip(" -\n")]
    return child.returncode, lines[-1] if lines else "it said nothing"


def build_peers(folder):
    """Builds the peers' programs there; what the compiler said where that fails, else nothing."""
    here = Path(__file__).resolve().parent
    for command in (["cmake", "-S", here, "-B", folder], ["cmake", "--build", folder, "--target", "peers"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return f"{done.stdout}{done.stderr}"
    return ""


def descendants(pid):
    """Launchers put ranks into sessions of their own, so that a signal to a process group misses them."""
    found = [pid]
    for each in found:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                found += [int(child) for child in children.read_text().split()]
            except OSError:
                pass  # gone meanwhile
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def end(child):
    """Ends a launcher and its ranks: politely first, since launchers clean up after themselves."""
    family = descendants(child.pid)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in family[:1] if number == signal.SIGTERM else family:
            if alive(pid):
                os.kill(pid, number)
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline and any(alive(pid) for pid in family):
            child.poll()
            time.sleep(0.05)
    child.communicate()
