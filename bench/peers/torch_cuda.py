#!/usr/bin/env python3
"""Times allreduce of CUDA tensors by another library of torch.distributed, with all ranks on one GPU, for tools/gpu-check.

Prints the median time of the slowest rank for each size as one line of JSON, {"4": 12.3, …} in microseconds. Results are
checked element by element; exit status 1 where one is wrong.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

SECONDS = 0.5  # for each size
WARM_UP = 5
TIMES_MAX = 1000
BATCHES = 20  # whose ends are waited for, as hocket-bench does


def times_of(size):
    """This rank's times of an operation of that size, in microseconds; an exception where an element is wrong."""
    count = max(size // 4, 1)
    ranks = dist.get_world_size()
    data = torch.full((count,), float(dist.get_rank() + 1), device="cuda")
    dist.all_reduce(data)
    if not bool((data == ranks * (ranks + 1) / 2).all()):
        raise ValueError(f"wrong elements in {size} bytes")
    data.zero_()
    for _ in range(WARM_UP):
        dist.all_reduce(data)
    torch.cuda.synchronize()
    began = time.monotonic()
    dist.all_reduce(data)
    torch.cuda.synchronize()
    number = torch.tensor([min(max(int(SECONDS / (time.monotonic() - began)), 5), TIMES_MAX)], device="cuda")
    dist.broadcast(number, 0)
    times = []
    batch = max(int(number) // BATCHES, 1)
    for _ in range(0, int(number), batch):
        began = time.monotonic()
        for _ in range(batch):
            dist.all_reduce(data)
        torch.cuda.synchronize()
        times.append((time.monotonic() - began) / batch * 1e6)
    return times


def slowest_median(times):
    slowest = torch.tensor(times, device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return statistics.median(slowest.tolist())


def run_rank(rank, options, folder):
    torch.cuda.set_device(0)
    dist.init_process_group(options.backend, init_method=f"file://{folder}/meet", rank=rank, world_size=options.ranks)
    found = {size: slowest_median(times_of(size)) for size in options.sizes}
    dist.destroy_process_group()
    if rank == 0:
        print(json.dumps(found), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=["gloo", "nccl"], required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], required=True)
    options = parser.parse_args()
    os.environ["NCCL_MULTI_RANK_GPU_ENABLE"] = "1"  # without it NCCL refuses several ranks on one GPU
    with tempfile.TemporaryDirectory() as folder:
        try:
            mp.spawn(run_rank, (options, folder), nprocs=options.ranks)
        except mp.ProcessRaisedException as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
