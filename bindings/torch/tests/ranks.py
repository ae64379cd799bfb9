"""Real processes for tests: a set of ranks that carries out one function after another, and that no deadline outlives.

The processes are forked from one that has imported torch already, so that a new set costs milliseconds. Each holds the
default process group; what a function does on every rank comes back as an Outcome each."""

import contextlib
import ctypes
import datetime
import faulthandler
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import unittest
from collections import namedtuple
from multiprocessing.connection import wait
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.distributed as dist

BACKEND = os.environ.get("TORCH_TESTS_BACKEND", "hocket")
TORCH_2 = hasattr(dist.ProcessGroup, "_get_backend")  # a group holds backends; in PyTorch 1.13 it is one
GROUP_TIMEOUT = datetime.timedelta(seconds=30)  # of the process groups
LIMIT = 60  # seconds that one function may take
PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>
GRACE = 5  # seconds that the other ranks get when one has failed

# kind: returned, raised, skipped, died (the process ended) or late (its deadline passed); value: what it returned, the
# traceback, the reason, the exit status, or where it stood.
Outcome = namedtuple("Outcome", "kind value")

torch.set_num_threads(1)
if BACKEND == "hocket":
    import hocket_torch  # noqa: F401  pylint: disable=unused-import,import-error


def new_backend(store, rank, size, timeout=GROUP_TIMEOUT):
    """A process group without torch's global state, as several threads of one process need it."""
    if BACKEND == "gloo":
        return dist.ProcessGroupGloo(store, rank, size, timeout)
    options = SimpleNamespace(store=store, group_rank=rank, group_size=size, timeout=timeout, group_id="")
    return dist.Backend._plugins[BACKEND.upper()].creator_fn(options, None)  # pylint: disable=protected-access


def backend_of_all():
    """What carries out the calls of the default group: itself in PyTorch 1.13, one of its backends in PyTorch 2."""
    group = dist.distributed_c10d._get_default_group()  # pylint: disable=protected-access
    return group._get_backend(torch.device("cpu")) if TORCH_2 else group  # pylint: disable=protected-access


def join_default_group(rank, size, path, backend=BACKEND, timeout=GROUP_TIMEOUT):
    dist.init_process_group(backend, init_method=f"file://{path}", rank=rank, world_size=size, timeout=timeout)


def arrive(folder, name):
    """On a rank: tells the parent, which waits in Ranks.wait_for, how far it is."""
    (Path(folder) / name).touch()


def outcome_of(function, arguments):
    try:
        return Outcome("returned", function(*arguments))
    except unittest.SkipTest as skip:
        return Outcome("skipped", str(skip))
    except BaseException:  # pylint: disable=broad-except
        return Outcome("raised", traceback.format_exc())


def serve(rank, size, folder, group, pipe):
    """What each process does until it is told to leave."""
    os.setsid()  # what it starts ends with it
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # as it does with the tests
    trace = open(Path(folder) / f"stack-{rank}", "w", encoding="utf-8")  # pylint: disable=consider-using-with
    faulthandler.register(signal.SIGUSR1, trace)
    faulthandler.enable(trace)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    joined = outcome_of(join_default_group, (rank, size, Path(folder) / "store")) if group else Outcome("returned", None)
    pipe.send(joined)
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while (call := pipe.recv()) is not None:
            function, arguments = call
            answer = outcome_of(function, (rank, *arguments))
            sys.stdout.flush()
            sys.stderr.flush()
            pipe.send(answer)
    os._exit(0)  # destructors of a group whose other ranks are gone are not what is tested here


class Ranks:
    """A set of processes. With group=False they make no default process group."""

    def __init__(self, size, group=True):
        self.size = size
        self.folder = tempfile.mkdtemp(prefix="hocket-torch-")
        context = multiprocessing.get_context("fork")
        self.pipes, self.processes = [], []
        for rank in range(size):
            mine, theirs = context.Pipe()
            process = context.Process(target=self._child, args=(rank, group, theirs))
            process.start()
            theirs.close()
            self.pipes.append(mine)
            self.processes.append(process)
        self.usable = True
        joined = self._collect(LIMIT)
        if any(outcome.kind != "returned" for outcome in joined):
            self.close()
            raise RuntimeError("no group came about:\n" + report(joined))

    def _child(self, rank, group, pipe):
        for other in self.pipes:
            other.close()
        serve(rank, self.size, self.folder, group, pipe)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def run(self, function, *arguments, limit=LIMIT):
        """Calls function(rank, *arguments) on every rank. Afterwards the set is usable if all of them came back well."""
        self.start(function, *arguments)
        return self.finish(limit)

    def start(self, function, *arguments):
        for pipe in self.pipes:
            with contextlib.suppress(BrokenPipeError):
                pipe.send((function, arguments))

    def finish(self, limit=LIMIT, grace=GRACE):
        outcomes = self._collect(limit, grace)
        self.usable = len({outcome.kind for outcome in outcomes} - {"returned", "skipped"}) == 0
        return outcomes

    def wait_for(self, *names, limit=30):
        """Until the ranks have made these files in the folder; see arrive()."""
        deadline = time.monotonic() + limit
        while not all((Path(self.folder) / name).exists() for name in names):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the ranks did not come to {', '.join(names)}")
            time.sleep(0.01)

    def kill(self, rank, number=signal.SIGKILL):
        os.kill(self.processes[rank].pid, number)

    def _collect(self, limit, grace=None):
        """An outcome for each rank. When one fails, the others get the grace instead of the limit."""
        deadline = time.monotonic() + limit
        found = {}
        while len(found) < self.size and time.monotonic() < deadline:
            waiting = {self.pipes[rank]: rank for rank in range(self.size) if rank not in found}
            for pipe in wait(list(waiting), max(0, deadline - time.monotonic())):
                rank = waiting[pipe]
                try:
                    found[rank] = pipe.recv()
                except (EOFError, ConnectionResetError):
                    self.processes[rank].join(5)
                    found[rank] = Outcome("died", f"{self.processes[rank].exitcode}\n{self._trace(rank)}".rstrip())
                if grace is not None and found[rank].kind not in ("returned", "skipped"):
                    deadline = min(deadline, time.monotonic() + grace)
        for rank in range(self.size):
            if rank not in found:
                found[rank] = Outcome("late", self._stack(rank))
        return [found[rank] for rank in range(self.size)]

    def _stack(self, rank):
        with contextlib.suppress(ProcessLookupError, OSError):
            self.kill(rank, signal.SIGUSR1)
            time.sleep(0.3)
        return self._trace(rank)

    def _trace(self, rank):
        """What the process wrote of where it stood when it crashed, or when it was asked."""
        path = Path(self.folder) / f"stack-{rank}"
        return "".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:12]) if path.is_file() else ""

    def close(self):
        """Ends the processes with all that they started."""
        for pipe in self.pipes:
            with contextlib.suppress(BrokenPipeError):
                pipe.send(None)
            pipe.close()
        for process in self.processes:
            if self.usable:
                process.join(5)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.join()
        shutil.rmtree(self.folder, ignore_errors=True)


def report(outcomes):
    return "\n".join(f"rank {rank} {outcome.kind}: {outcome.value}" for rank, outcome in enumerate(outcomes))


_shared = {}  # by size: the set that the tests of one size have in common


def shared(size):
    if size in _shared and not _shared[size].usable:
        _shared.pop(size).close()
    if size not in _shared:
        _shared[size] = Ranks(size)
    return _shared[size]


def close_shared():
    while _shared:
        _shared.popitem()[1].close()


def call_method(rank, case, name):
    """On a rank: the body of a test method. The default group's ranks leave it together."""
    instance = case(name)
    instance.rank, instance.size = rank, dist.get_world_size()
    torch.manual_seed(17)
    getattr(case, name).body(instance)
    dist.barrier()


def on_ranks(size, limit=LIMIT):
    """A test method whose body runs on every one of so many ranks, which many such tests share."""
    def decorate(body):
        def method(self):
            outcomes = shared(size).run(call_method, type(self), body.__name__, limit=limit)
            if any(outcome.kind not in ("returned", "skipped") for outcome in outcomes):
                self.fail("\n" + report(outcomes))
            for outcome in outcomes:
                if outcome.kind == "skipped":
                    self.skipTest(outcome.value)

        method.body, method.__name__, method.__doc__ = body, body.__name__, body.__doc__
        return method

    return decorate


@contextlib.contextmanager
def about(*facts):
    """Says in an error what was being done."""
    try:
        yield
    except unittest.SkipTest:
        raise
    except Exception as error:
        text = ", ".join(str(fact) for fact in facts)
        raise AssertionError(f"{text}: {type(error).__name__}: {error}") from error


# What torch 1.13's gloo does not do, as its own documentation says.
GLOO_LACKS = {"alltoall", "reduce_scatter", "reduce_scatter_base", "allgather_base", "average", "premultiplied",
              "causes", "monitored_subset", "sections"}


def needs(*features):
    """Skips where the tests run on gloo and it lacks one of these."""
    lacking = [feature for feature in features if BACKEND == "gloo" and feature in GLOO_LACKS]
    if lacking:
        raise unittest.SkipTest(f"gloo has no {', '.join(lacking)}")


class Result(unittest.TextTestResult):
    """Says of each test how long it took, if it took long."""

    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        seconds = time.monotonic() - self.began
        if self.showAll and seconds > 2:
            self.stream.writeln(f"    ({seconds:.1f} s)")
        super().stopTest(test)


def run_tests(tests, verbose=True):
    """Runs these and leaves. The last line is "N passed, N failed"."""
    runner = unittest.TextTestRunner(stream=sys.stdout, warnings="ignore", verbosity=2 if verbose else 1, resultclass=Result)
    try:
        result = runner.run(tests)
    finally:
        close_shared()
    failed = len({str(test) for test, _ in result.failures + result.errors}) + len(result.unexpectedSuccesses)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed", flush=True)
    sys.exit(1 if failed or not result.testsRun else 0)


def main():
    """For a file of tests that is run by itself."""
    run_tests(unittest.TestLoader().loadTestsFromModule(sys.modules["__main__"]))
