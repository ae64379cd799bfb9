#!/usr/bin/env python3
"""Measures what a call costs before anything is communicated: a group of one rank, 4 KiB.

Prints the best of many rounds in microseconds, which other programs on the machine hardly disturb. `--calls N` makes so many
calls of all_reduce and nothing else, for a profiler: valgrind --tool=callgrind python3 bindings/torch/overhead.py --calls 1200"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

# This folder has the package's source, which without its library is not what shall be imported.
sys.path = [folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent]

import torch  # noqa: E402  pylint: disable=wrong-import-position
import torch.distributed as dist  # noqa: E402  pylint: disable=wrong-import-position

import hocket_torch  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import

ROUNDS, CALLS = 200, 500


def best(call):
    """Microseconds."""
    found = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(CALLS):
            call()
        found = min(found, (time.perf_counter() - began) / CALLS)
    return found * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, help="make so many calls, and measure nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("hocket", init_method=f"file://{folder}/meeting", rank=0, world_size=1)
        data, group, options = torch.zeros(1024), dist.group.WORLD, dist.AllreduceOptions()
        if arguments.calls:
            for _ in range(arguments.calls):
                dist.all_reduce(data)
            return
        for name, call in {"a call from Python into PyTorch (group.size())": group.size,
                           "group.allreduce([data], options).wait()": lambda: group.allreduce([data], options).wait(),
                           "dist.all_reduce(data)": lambda: dist.all_reduce(data)}.items():
            print(f"{best(call):6.2f} µs  {name}")


if __name__ == "__main__":
    main()
