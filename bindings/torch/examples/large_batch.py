#!/usr/bin/env python3
"""A large batch: the rate grows with it (linear scaling), slowly at first (warm-up), and LARS trims each layer's.

Linear scaling and warm-up: Goyal et al. 2017. LARS: You, Gitman and Ginsburg 2017."""

import copy

import torch
from torch import nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import common
import data
from models import LeNet

BASE_BATCH = 16  # for which the base rate is meant


def rate_of(step, target, warmup):
    """The rate rises in equal steps over the warm-up."""
    return target * min(1.0, (step + 1) / warmup)


class Lars(torch.optim.Optimizer):
    """SGD with momentum whose rate for each tensor is a share of its size: trust · ‖w‖ / (‖g‖ + decay · ‖w‖)."""

    def __init__(self, parameters, rate, momentum=0.9, decay=1e-4, trust=0.02):
        super().__init__(parameters, {"lr": rate, "momentum": momentum, "decay": decay, "trust": trust})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                self._move(parameter, group)

    def _move(self, parameter, group):
        gradient = parameter.grad
        local = 1.0
        if parameter.dim() > 1:  # biases keep the plain rate
            size, slope = parameter.norm(), gradient.norm()
            if size > 0 and slope > 0:
                local = group["trust"] * size / (slope + group["decay"] * size)
            gradient = gradient + group["decay"] * parameter
        velocity = self.state[parameter].setdefault("velocity", torch.zeros_like(parameter))
        velocity.mul_(group["momentum"]).add_(gradient * (local * group["lr"]))
        parameter -= velocity


def train(model, arguments, batch, part):
    target = arguments.rate * batch / BASE_BATCH
    optimizer = Lars(model.parameters(), target)
    for step, (pictures, labels) in enumerate(data.batches(arguments.data, arguments.steps, batch)):
        optimizer.param_groups[0]["lr"] = rate_of(step, target, arguments.warmup)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(part(pictures)), part(labels))
        loss.backward()
        optimizer.step()
        yield loss.detach()


def main(arguments):
    batch = arguments.batch * dist.get_world_size()
    torch.manual_seed(7)
    first = LeNet(*data.shape(arguments.data))
    alone = list(train(copy.deepcopy(first), arguments, batch, lambda whole: whole))
    model = DistributedDataParallel(first)
    common.check_same_losses(train(model, arguments, batch, common.share), alone, 5e-3)
    common.check_equal_on_all_ranks(model)
    common.say(f"a batch of {batch}, rate up to {arguments.rate * batch / BASE_BATCH:.2f}: "
               f"loss {alone[0]:.4f} at first, {alone[-1]:.4f} after {arguments.steps} steps, as in one process")


if __name__ == "__main__":
    common.run(main, common.options(__doc__.splitlines()[0], ranks=4, steps=(12, "steps to train"), rate=(0.1, "base rate"),
                                    batch=(32, "pictures in the batch of each rank"), warmup=(4, "steps of warm-up")))
