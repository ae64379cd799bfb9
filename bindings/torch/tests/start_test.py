"""The ways in which ranks find each other: files, TCP, torch's stores, torchrun, mp.spawn, mpirun."""

import datetime
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from ranks import BACKEND, GROUP_TIMEOUT, Ranks, main, new_backend, report

PROGRAM = Path(__file__).with_name("program.py")
# Redirections for a rank that is not there: without any, torch 1.13 fails under Python 3.11.
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "-r", "9:1", "-t", "9:1", "--nproc_per_node", "2",
            "--master_addr", "127.0.0.1"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def total():
    mine = torch.tensor([dist.get_rank() + 1.0])
    dist.all_reduce(mine)
    dist.destroy_process_group()
    return float(mine)


def by_method(rank, size, method, variables=None):
    os.environ.update({name: str(text) for name, text in (variables or {}).items()})
    arguments = {} if method == "env://" else {"rank": rank, "world_size": size}
    if method == "env://":
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(size))
    dist.init_process_group(BACKEND, init_method=method, timeout=GROUP_TIMEOUT, **arguments)
    return total()


def by_store(rank, size, kind, place):
    if kind == "tcp":
        store = dist.TCPStore("127.0.0.1", place, size, rank == 0, timeout=GROUP_TIMEOUT)
    else:
        store = dist.FileStore(place, size)
    dist.init_process_group(BACKEND, store=dist.PrefixStore("tests", store), rank=rank, world_size=size, timeout=GROUP_TIMEOUT)
    return total()


class Methods(unittest.TestCase):
    def meet(self, function, *arguments, size=3):
        with Ranks(size, group=False) as ranks:
            arguments = [text.replace("FOLDER", ranks.folder) if isinstance(text, str) else text for text in arguments]
            outcomes = ranks.run(function, size, *arguments)
            self.assertEqual([outcome.value for outcome in outcomes], [size * (size + 1) / 2] * size, report(outcomes))

    def test_file(self):
        self.meet(by_method, "file://FOLDER/meeting")

    def test_tcp(self):
        self.meet(by_method, f"tcp://127.0.0.1:{free_port()}")

    def test_environment(self):
        self.meet(by_method, "env://", {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()})

    def test_one_rank_alone(self):
        self.meet(by_method, "file://FOLDER/meeting", size=1)

    def test_eight_ranks(self):
        self.meet(by_method, "file://FOLDER/meeting", size=8)

    def test_file_store(self):
        self.meet(by_store, "file", "FOLDER/store")

    def test_tcp_store(self):
        self.meet(by_store, "tcp", free_port())

    def test_hash_store_with_threads(self):
        store, results = dist.HashStore(), {}

        def join(rank):
            group = new_backend(dist.PrefixStore("threads", store), rank, 3)
            mine = torch.tensor([rank + 1.0])
            group.allreduce([mine]).wait()
            results[rank] = float(mine)

        threads = [threading.Thread(target=join, args=(rank,), daemon=True) for rank in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        self.assertEqual(results, {0: 6.0, 1: 6.0, 2: 6.0})

    def test_a_rank_that_never_comes(self):
        """The others learn of it when their time is up. Torch's store waits in steps of whole seconds."""
        with Ranks(2, group=False) as ranks:
            outcomes = ranks.run(miss_one, f"file://{ranks.folder}/meeting", limit=40)
            self.assertEqual([outcome.value for outcome in outcomes], ["failed", "failed"], report(outcomes))


def miss_one(rank, method):
    try:
        dist.init_process_group(BACKEND, init_method=method, rank=rank, world_size=3, timeout=datetime.timedelta(seconds=2))
    except RuntimeError:
        return "failed"
    return "came together"


def spawned(rank, size, folder):
    """In a process that mp.spawn started."""
    dist.init_process_group(BACKEND, init_method=f"file://{folder}/meeting", rank=rank, world_size=size)
    (Path(folder) / f"sum-{rank}").write_text(str(total()), encoding="utf-8")


def left_behind(mark):
    """Processes that have this mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            pass
    return found


class Launchers(unittest.TestCase):
    def launch(self, command, expected=0, limit=100):
        """Output of a command, which must end with this status and leave no process."""
        mark = uuid.uuid4().hex
        environment = {**os.environ, "TORCH_TESTS_MARK": mark, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, timeout=limit, text=True, check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if expected == 0:
            self.assertEqual(done.returncode, 0, done.stdout)
        else:
            self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertEqual(left_behind(mark), [])
        return done.stdout

    def test_spawn(self):
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(spawned, (2, folder), nprocs=2)
            self.assertEqual([path.read_text(encoding="utf-8") for path in sorted(Path(folder).glob("sum-*"))], ["3.0"] * 2)

    def test_torchrun(self):
        output = self.launch([*TORCHRUN, "--master_port", str(free_port()), str(PROGRAM), BACKEND])
        self.assertEqual(output.count("the sum is 3"), 2, output)

    def test_torchrun_starts_a_failed_job_again(self):
        output = self.launch([*TORCHRUN, "--master_port", str(free_port()), "--max_restarts", "1", str(PROGRAM), BACKEND,
                              "--fail-first"])
        self.assertEqual(output.count("the sum is 3"), 2, output)

    def test_torchrun_ends_when_a_rank_is_killed(self):
        output = self.launch([*TORCHRUN, "--master_port", str(free_port()), str(PROGRAM), BACKEND, "--kill"], expected=1)
        self.assertNotIn("the sum is", output)

    def test_a_program_that_ends_without_destroying_its_group(self):
        output = self.launch([*TORCHRUN, "--master_port", str(free_port()), str(PROGRAM), BACKEND, "--leave"])
        self.assertEqual(output.count("the sum is 3"), 2, output)

    def test_with_all_that_torch_can_check(self):
        os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
        try:
            output = self.launch([*TORCHRUN, "--master_port", str(free_port()), str(PROGRAM), BACKEND, "--train"])
        finally:
            del os.environ["TORCH_DISTRIBUTED_DEBUG"]
        self.assertEqual(output.count("the sum is 3"), 2, output)

    def test_an_interrupt_ends_a_job_that_waits(self):
        """As Ctrl-C on a terminal does, it reaches torchrun and all of its processes."""
        mark = uuid.uuid4().hex
        command = [*TORCHRUN, "--master_port", str(free_port()), str(PROGRAM), BACKEND, "--wait"]
        with subprocess.Popen(command, env={**os.environ, "TORCH_TESTS_MARK": mark}, text=True, start_new_session=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as job:
            watchdog = threading.Timer(60, os.killpg, [job.pid, signal.SIGKILL])
            watchdog.start()
            waiting = 0
            while waiting < 2:
                line = job.stdout.readline()
                self.assertTrue(line, "it ended")
                waiting += "it waits" in line
            os.killpg(job.pid, signal.SIGINT)
            job.stdout.read()
            self.assertNotEqual(job.wait(), 0)
            watchdog.cancel()
            self.assertFalse(watchdog.finished.is_set() and job.returncode == -signal.SIGKILL, "it had to be killed")
        self.assertEqual(left_behind(mark), [])

    def mpirun(self, program, *options):
        if shutil.which(program) is None:
            self.skipTest(f"there is no {program}")
        output = self.launch([program, *options, "-n", "2", "env", "MASTER_ADDR=127.0.0.1", f"MASTER_PORT={free_port()}",
                              sys.executable, str(PROGRAM), BACKEND])
        self.assertEqual(output.count("the sum is 3"), 2, output)

    def test_open_mpi(self):
        self.mpirun("mpirun.openmpi", "--oversubscribe")

    def test_mpich(self):
        self.mpirun("mpirun.mpich")


if __name__ == "__main__":
    main()
