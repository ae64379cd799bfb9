#!/usr/bin/env python3
"""DistributedDataParallel of a linear classifier of digits on four processes.

    linear_mnist.py                                     it starts its processes by torch.multiprocessing.spawn
    torchrun --nproc_per_node 4 linear_mnist.py         torchrun does
    mpirun -n 4 python3 linear_mnist.py                 Open MPI or MPICH does"""

import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import common
import data
from models import linear


def train(model, arguments, part):
    """Losses of SGD on the part that a process takes of each batch."""
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for pictures, labels in data.batches(arguments.data, arguments.steps, arguments.batch):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(part(pictures)), part(labels))
        loss.backward()
        optimizer.step()
        yield loss.detach()


def main(arguments):
    common.check(arguments.batch % dist.get_world_size() == 0, "the ranks cannot share the batch evenly")
    torch.manual_seed(1)
    first = linear(*data.shape(arguments.data))
    alone = list(train(copy.deepcopy(first), arguments, lambda whole: whole))
    model = DistributedDataParallel(first)
    common.check_same_losses(train(model, arguments, common.share), alone, 1e-3)
    common.check_equal_on_all_ranks(model)
    common.say(f"loss {alone[0]:.4f} at first, {alone[-1]:.4f} after {arguments.steps} steps, as in one process")


if __name__ == "__main__":
    common.run(main, common.options(__doc__.splitlines()[0], ranks=4, steps=(20, "steps to train"),
                                    batch=(64, "pictures in a batch, of all ranks together")), method="spawn")
