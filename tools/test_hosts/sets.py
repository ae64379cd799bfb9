"""Sets of test hosts, as they are remembered: a file for each, which names its holder and its namespaces."""

import json
import os
from pathlib import Path

CANNOT = 77  # the exit status where this machine or user cannot have test hosts


class Problem(Exception):
    """One sentence for the user."""

    def __init__(self, sentence, status=1):
        super().__init__(sentence)
        self.status = status


def folder():
    path = Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp") / f"hocket-test-hosts-{os.geteuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    if path.stat().st_uid != os.geteuid():
        raise Problem(f"{path} belongs to somebody else; set XDG_RUNTIME_DIR to a folder of yours")
    return path


def start_time(pid):
    """When a process began, in ticks: tells it from a later one with the same number. None: there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if fields[0] in "ZX" else int(fields[19])
    except OSError:
        return None


def known_sets():
    """All sets whose holders live; forgets the others."""
    found = {}
    for path in sorted(folder().glob("*.json")):
        try:
            state = json.loads(path.read_text())
        except FileNotFoundError:
            continue  # its hosts were just taken down
        if start_time(state["holder"]) == state["holder_started"]:
            found[path.stem] = state
        else:
            path.unlink(missing_ok=True)
    return found


def find_set(name):
    found = known_sets()
    if name not in found:
        raise Problem(f"there are no test hosts '{name}'; there are: {', '.join(found) or 'none'}")
    return found[name]
