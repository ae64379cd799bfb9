"""What must hold on a GPU. Each check returns nothing where it does, else what is wrong."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from .build import ROOT

COLLECTIVES = ["allreduce", "reduce", "reduce_scatter", "allgather", "broadcast", "scatter", "gather", "alltoall",
               "scan", "sendrecv", "allgather_v"]
KERNEL_TESTS = "Cuda/GpuSuite/0.OneReduction*"
DETECTION_MAX_MS = 100


def run(command, seconds):
    """(exit status, what it said); 124: it was ended, and all that it had started, which would disturb what follows."""
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, errors="replace", start_new_session=True)
    except OSError as error:
        return 127, str(error)
    try:
        said = child.communicate(timeout=seconds)[0]
        return child.returncode, said
    except subprocess.TimeoutExpired:
        return 124, f"{last_words_of(child)}\nit had not ended after {seconds} s"
    except BaseException:  # Ctrl-C does not reach it
        os.killpg(child.pid, signal.SIGKILL)
        raise


def last_words_of(child):
    """Ends it with all that it has started. What hangs in a driver may not end at all."""
    os.killpg(child.pid, signal.SIGKILL)
    try:
        return child.communicate(timeout=10)[0]
    except subprocess.TimeoutExpired:
        return "it could not be ended, either"


def measure(bench, arguments, seconds=600):
    """(what hocket-bench wrote as JSON, None), or (None, what went wrong)."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.json")
        status, said = run([bench, *arguments, "--memory", "cuda", "--json", str(file)], seconds)
        if status != 0:
            return None, f"exit status {status}: {last_lines(said)}"
        return json.loads(file.read_text()), None


def last_lines(text, number=5):
    return " | ".join(line.strip() for line in text.splitlines()[-number:] if line.strip()) or "it said nothing"


def names_of_tests(tests):
    status, said = run([tests, "--gtest_filter=Cuda/GpuSuite/0.*", "--gtest_list_tests"], 60)
    return [line.split()[0] for line in said.splitlines() if status == 0 and line.startswith("  ")]


def driver_test(tests, name):
    """A process for each: one that has used a GPU cannot go on with it after fork()."""
    status, said = run([tests, f"--gtest_filter=Cuda/GpuSuite/0.{name}"], 120)
    if status == 0 and "SKIPPED" not in said:
        return None
    return last_lines(said, 20)


def elements(bench, collective, ranks, largest="4M", more=()):
    """Every element of every size is right, out of place and in place."""
    arguments = [collective, "--ranks", str(ranks), "-b", "4", "-e", largest, "-f", "32", "-n", "3", "-c", "2", *more]
    document, problem = measure(bench, arguments)
    if problem:
        return problem
    rows = document["rows"]
    wrong = [row for row in rows if row["wrong"] != 0]
    if wrong:
        first = wrong[0]
        return (f"{len(wrong)} of {len(rows)} rows are wrong: {first['wrong']} elements of {first['bytes']} bytes of "
                f"{first['dtype']}, {first['placement']}, by {first['algorithm']}")
    if not rows:
        return "nothing was measured"
    if collective == "allreduce" and not any(row["algorithm"] == "direct GPU" for row in rows):
        return f"no row went over the GPU alone, but by {sorted({row['algorithm'] for row in rows})}"
    return None


def kill(bench, facts, allowed_ms=DETECTION_MAX_MS):
    """A rank that is killed in the middle: the others go on, and what they then compute is right."""
    document, problem = measure(bench, ["allreduce", "--ranks", "4", "-b", "1M", "-e", "1M", "--placement", "out", "-n",
                                        "200", "--kill", "2@100"])
    if problem:
        return problem
    found = document["kill"]
    facts["detection_ms"] = found["detection_us"]["worst"] / 1e3
    facts["recovery_ms"] = found["recovery_us"]["worst"] / 1e3
    if not found["right"] or found["ranks_left"] != 3:
        return "the first result without it was wrong"
    if facts["detection_ms"] > allowed_ms:
        return f"it took {facts['detection_ms']:.0f} ms to notice, more than {allowed_ms}"
    return None


def torch_tests(package, tests=ROOT / "bindings/torch/tests/run.py"):
    """CUDA tensors of PyTorch, by the tests of the package in that folder; none of them may have been skipped."""
    status, said = run(["env", f"PYTHONPATH={package}", sys.executable, str(tests), "-v", "-k", "device_*_test.*"], 600)
    words = (said.splitlines() or [""])[-1].split()  # "N passed, N failed"
    passed = int(words[0]) if len(words) == 4 and words[1] == "passed," else 0
    if status == 0 and passed > 0:
        return None
    return f"exit status {status}, {passed} passed: {last_lines(said, 20)}"


def sanitizer():
    return shutil.which("compute-sanitizer") or next(
        (str(path) for path in Path("/usr/local").glob("cuda*/bin/compute-sanitizer")), None)


def sanitized(program, tool, command):
    status, said = run([program, "--tool", tool, "--target-processes", "all", "--error-exitcode", "99", *command], 900)
    return None if status == 0 else f"exit status {status}: {last_lines(said, 20)}"
