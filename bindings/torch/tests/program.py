"""What launchers start in tests: ranks that add up their numbers.

Usage: program.py BACKEND [--fail-first | --kill | --leave | --wait | --train]"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
import common  # noqa: E402  pylint: disable=wrong-import-position


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("backend")
    parser.add_argument("--fail-first", action="store_true", help="rank 1 fails unless torchrun has started it again")
    parser.add_argument("--kill", action="store_true", help="rank 1 kills itself while the other waits")
    parser.add_argument("--leave", action="store_true", help="ends without destroying the group, with calls in flight")
    parser.add_argument("--wait", action="store_true", help="rank 0 waits for rank 1, which sleeps")
    parser.add_argument("--train", action="store_true", help="a step of DistributedDataParallel first")
    arguments = parser.parse_args()
    common.join(arguments.backend)
    if dist.get_rank() == 1:
        if arguments.kill:
            os.kill(os.getpid(), signal.SIGKILL)
        if arguments.fail_first and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            sys.exit(3)
    if arguments.wait:
        print("it waits\n", end="", flush=True)
        if dist.get_rank() == 1:
            time.sleep(100)
    if arguments.train:
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(5, 5))
        model(torch.ones(2, 5)).sum().backward()
    total = torch.tensor([dist.get_rank() + 1.0])
    dist.all_reduce(total)
    print(f"the sum is {float(total):.0f}\n", end="", flush=True)
    if arguments.leave:
        dist.all_reduce(torch.ones(1000), async_op=True)
        return
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
