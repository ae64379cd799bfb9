#!/usr/bin/env python3
"""Every collective with four ranks, and a picture of each: what the ranks hold before and after.

    rank        0       1       2       3
    broadcast   [1]     –       –       –        becomes   [1]  [1]  [1]  [1]
    scatter     [1 2 3 4]  –    –       –        becomes   [1]  [2]  [3]  [4]
    gather      [1]     [2]     [3]     [4]      becomes   [1 2 3 4]  –  –  –
    all_gather  [1]     [2]     [3]     [4]      becomes   [1 2 3 4] on every rank
    reduce      [1]     [2]     [3]     [4]      becomes   [10]  –  –  –
    all_reduce  [1]     [2]     [3]     [4]      becomes   [10] on every rank
    reduce_scatter  [1 2 3 4] on every rank      becomes   [4]  [8]  [12]  [16]
    all_to_all  [11 12 13 14]  [21 22 23 24] …   becomes   [11 21 31 41]  [12 22 32 42] …
"""

import torch
import torch.distributed as dist

import common

RANKS = 4


def row(*numbers):
    return [torch.tensor([float(number)]) for number in numbers]


def numbers_of(tensors):
    return [float(tensor) for tensor in tensors]


def from_and_to_one(rank):
    mine = torch.tensor([1.0 if rank == 0 else 0.0])
    dist.broadcast(mine, 0)
    common.check_close(mine, [1.0], "broadcast")

    mine = torch.zeros(1)
    dist.scatter(mine, row(1, 2, 3, 4) if rank == 0 else None, 0)
    common.check_close(mine, [rank + 1.0], "scatter")

    all_of_them = row(0, 0, 0, 0) if rank == 0 else None
    dist.gather(mine, all_of_them, 0)
    if rank == 0:
        common.check_close(numbers_of(all_of_them), [1.0, 2.0, 3.0, 4.0], "gather")

    total = mine.clone()
    dist.reduce(total, 0)
    if rank == 0:
        common.check_close(total, [10.0], "reduce")


def among_all(rank):
    mine = torch.tensor([rank + 1.0])
    all_of_them = row(0, 0, 0, 0)
    dist.all_gather(all_of_them, mine)
    common.check_close(numbers_of(all_of_them), [1.0, 2.0, 3.0, 4.0], "all_gather")

    for operation, expected in ((dist.ReduceOp.SUM, 10.0), (dist.ReduceOp.PRODUCT, 24.0), (dist.ReduceOp.MIN, 1.0),
                                (dist.ReduceOp.MAX, 4.0)):
        result = mine.clone()
        dist.all_reduce(result, operation)
        common.check_close(result, [expected], "all_reduce")

    sent = torch.tensor([10.0 * (rank + 1) + column + 1 for column in range(RANKS)])
    received = torch.zeros(RANKS)
    dist.all_to_all_single(received, sent)
    common.check_close(received, [10.0 * (source + 1) + rank + 1 for source in range(RANKS)], "all_to_all")
    dist.barrier()


def scatter_of_sums(rank):
    mine = torch.zeros(1)
    dist.reduce_scatter(mine, row(1, 2, 3, 4))
    common.check_close(mine, [4.0 * (rank + 1)], "reduce_scatter")


def main(arguments):
    common.check(dist.get_world_size() == RANKS, f"the pictures are of {RANKS} ranks")
    from_and_to_one(dist.get_rank())
    among_all(dist.get_rank())
    if arguments.backend == "gloo":
        common.say("gloo has no reduce_scatter")
    else:
        scatter_of_sums(dist.get_rank())
    common.say("every collective gave the numbers of its picture")


if __name__ == "__main__":
    common.run(main, common.options(__doc__.splitlines()[0], ranks=RANKS))
