"""A small network, its batches, and how training on ranks is compared with training in one process."""

import unittest
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from ranks import about

ROWS = 4  # of each rank


class Network(nn.Module):
    def __init__(self, unused=False):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(6, 300), nn.Linear(300, 30), nn.Linear(30, 3)
        self.unused = nn.Linear(30, 30) if unused else None

    def forward(self, rows, through_unused=False):
        middle = torch.tanh(self.second(torch.tanh(self.first(rows))))
        return self.last(self.unused(middle) if through_unused else middle)


def network(**options):
    torch.manual_seed(3)
    return Network(**options)


def batch(size, step=0):
    generator = torch.Generator().manual_seed(100 + step)
    return torch.randn(size * ROWS, 6, generator=generator), torch.randint(3, (size * ROWS,), generator=generator)


def train(model, rank, size, steps=3, optimizer=None, **forward):
    """Steps of SGD on this rank's share of the batches. Returns the losses."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    losses = []
    for step in range(steps):
        whole = batch(size or dist.get_world_size(), step)
        rows, labels = (part[rank * ROWS:(rank + 1) * ROWS] if size else part for part in whole)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(rows, **forward), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


class OnRanks(unittest.TestCase):
    def close(self, found, expected, tolerance=1e-5):
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)

    def weights_are(self, model, expected, tolerance=1e-5):
        for (name, mine), theirs in zip(model.named_parameters(), expected.parameters()):
            with about(name):
                self.close(mine.detach(), theirs.detach(), tolerance)

    def all_equal(self, model):
        """Bit by bit, on every rank."""
        for name, mine in model.named_parameters():
            first = mine.detach().clone()
            dist.broadcast(first, 0)
            self.assertTrue(torch.equal(first, mine.detach()), name)

    def like_one_process_with_many_buckets(self, **options):
        with mock.patch.object(dist, "_DEFAULT_FIRST_BUCKET_BYTES", 1024):
            self.like_one_process(bucket_cap_mb=0.001, **options)

    def like_one_process(self, tolerance=1e-5, forward=None, make=network, hook=None, **options):
        alone = make()
        losses_alone = train(alone, 0, None, **(forward or {}))
        model = DistributedDataParallel(make(), **options)
        if hook:
            hook(model)
        losses = train(model, self.rank, self.size, **(forward or {}))
        dist.all_reduce(losses)
        self.close(losses / self.size, losses_alone, tolerance)
        self.weights_are(model.module, alone, tolerance)
        self.all_equal(model)
