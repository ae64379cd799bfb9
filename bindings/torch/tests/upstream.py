#!/usr/bin/env python3
"""Runs PyTorch's own tests of torch.distributed, as far as the installed PyTorch has them, on Hocket in Gloo's place.

Debian's package leaves out PyTorch's folder test/, but torch.testing holds the largest suite of it: the tests that every
backend must pass (distributed_test.py). They ask for the backend "gloo"; this program makes torch build a Hocket group when it
is asked for a Gloo one, so that the tests meant for Gloo alone run, too. --backend gloo runs them as they are.

Usage: upstream.py [--backend hocket|gloo] [--ranks N] [--json FILE] [-k PATTERN]"""

import argparse
import contextlib
import importlib
import json
import os
import sys
import tempfile
import time
import types
import unittest
from types import SimpleNamespace
from unittest import mock

# Tests that no backend but Gloo itself can pass, and why.
CANNOT = {"test_ddp_logging_data_cpu": "it wants the name gloo in what DistributedDataParallel logs"}


def stand_in_for_expecttest():
    """Debian has no package of it. The suite needs its base class, and none of its functions."""
    module = types.ModuleType("expecttest")
    module.TestCase, module.ACCEPT = type("TestCase", (unittest.TestCase,), {}), False
    sys.modules.setdefault("expecttest", module)


def hocket_in_gloos_place():
    """Gloo itself stays reachable as torch.distributed.ProcessGroupGloo."""
    import hocket_torch  # pylint: disable=import-outside-toplevel,import-error
    from torch.distributed import distributed_c10d  # pylint: disable=import-outside-toplevel

    gloo, wrapped = distributed_c10d.ProcessGroupGloo, distributed_c10d._create_process_group_wrapper

    class Kind(type):
        """PyTorch 2 asks whether what it got is an instance of the class that it asked."""

        def __instancecheck__(cls, thing):
            return getattr(thing, "name", lambda: "")() == "hocket"

    class Group(metaclass=Kind):
        def __new__(cls, store, rank, size, timeout):
            options = SimpleNamespace(store=store, group_rank=rank, group_size=size, timeout=timeout, group_id="")
            return hocket_torch._create(options, None)  # pylint: disable=protected-access

    def wrapper(*arguments, **options):
        """What TORCH_DISTRIBUTED_DEBUG=DETAIL puts round a group checks calls by a Gloo group of its own."""
        with mock.patch.object(distributed_c10d, "ProcessGroupGloo", gloo):
            return wrapped(*arguments, **options)

    distributed_c10d.ProcessGroupGloo = Group
    distributed_c10d._create_process_group_wrapper = wrapper


def rename_events(suite_module):
    """The profiler shows calls by the backend's own name; the suite looks for Gloo's."""
    find = suite_module.get_profiling_event

    def find_ours(end, profile):
        events = find(end.replace("gloo:", "hocket:"), profile)
        for event in events:
            event.name = event.name.replace("hocket:", "gloo:")
        return events

    suite_module.get_profiling_event = find_ours


def suite(ranks, on_hocket):
    os.environ.update(BACKEND="gloo", WORLD_SIZE=str(ranks), TEMP_DIR=tempfile.mkdtemp(prefix="hocket-torch-upstream-"),
                      DISTRIBUTED_TESTS_DEFAULT_TIMEOUT="60", OMP_NUM_THREADS="1")
    import torch  # pylint: disable=import-outside-toplevel
    from torch.testing._internal import common_utils  # pylint: disable=import-outside-toplevel

    if on_hocket:  # which does what the suite believes MPI alone to do
        name = "sandcastle_skip_if"
        name = name if hasattr(common_utils, name) else "skip_but_pass_in_sandcastle_if"  # in PyTorch 2
        skip_if = getattr(common_utils, name)
        mpi_alone = ("Only MPI supports CPU all_to", "Only MPI supports all_to")
        setattr(common_utils, name, lambda when, why: skip_if(when and not why.startswith(mpi_alone), why))
    from torch.testing._internal.distributed import distributed_test  # pylint: disable=import-outside-toplevel

    torch.set_num_threads(1)
    # The suite switches a feature on that PyTorch 2 did not keep, and that 1.13 cannot load under Python 3.11.
    with contextlib.suppress(ModuleNotFoundError):
        replicated = importlib.import_module("torch.nn.parallel._replicated_tensor_ddp_utils")
        replicated._set_ddp_with_replicated_tensor = lambda value: None

    if on_hocket:
        rename_events(distributed_test)

    class Upstream(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
        """It forks its processes from this one, which has imported torch; the original starts each anew."""

        def setUp(self):
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    Upstream.__module__, Upstream.__qualname__ = __name__, "Upstream"
    globals()["Upstream"] = Upstream
    return Upstream


class Result(unittest.TextTestResult):
    """Keeps how each test ended."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.ends = {}

    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def _note(self, test, end, text=""):
        name = test.id().rsplit(".", 1)[-1]
        self.ends[name] = {"end": end, "seconds": round(time.monotonic() - self.began, 1), "text": text[-1500:]}
        print(f"{name}: {end}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._note(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skipped", reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "failed", self._exc_info_to_string(err, test))

    def addError(self, test, err):
        super().addError(test, err)
        self._note(test, "failed", self._exc_info_to_string(err, test))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="hocket", choices=["hocket", "gloo"])
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--json", help="file for how each test ended")
    parser.add_argument("-k", action="append", metavar="PATTERN")
    arguments = parser.parse_args()
    del sys.argv[1:]  # torch's test library reads them, too
    stand_in_for_expecttest()
    case = suite(arguments.ranks, arguments.backend == "hocket")
    if arguments.backend == "hocket":
        hocket_in_gloos_place()
    loader = unittest.TestLoader()
    if arguments.k:
        loader.testNamePatterns = [f"*{word}*" for word in arguments.k]
    runner = unittest.TextTestRunner(stream=sys.stderr, resultclass=Result, verbosity=0)
    result = runner.run(loader.loadTestsFromTestCase(case))
    for name in CANNOT if arguments.backend == "hocket" else []:
        if result.ends.get(name, {}).get("end") == "failed":
            result.ends[name].update(end="skipped", text=CANNOT[name])
    ends = [entry["end"] for entry in result.ends.values()]
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(result.ends, file, indent=1)
    print(f"{ends.count('passed')} passed, {ends.count('failed')} failed, {ends.count('skipped')} skipped")
    sys.exit(1 if "failed" in ends else 0)


if __name__ == "__main__":
    main()
