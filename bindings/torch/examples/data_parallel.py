#!/usr/bin/env python3
"""Data parallelism over processes in four steps: scatter the batch, replicate the model, apply it, gather the outputs.

Rank 0 alone holds data, loss and optimizer, as torch.nn.DataParallel does over the GPUs of one process."""

import copy

import torch
import torch.distributed as dist
from torch import nn

import common
import data
from models import LeNet


def scatter(batch, like):
    """This rank's part of a batch of rank 0."""
    part = torch.empty_like(like)
    dist.scatter(part, list(batch.chunk(dist.get_world_size())) if dist.get_rank() == 0 else None, 0)
    return part


def replicate(model):
    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), 0)


def gather(part):
    """On rank 0: the parts of all ranks, one after the other."""
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())] if dist.get_rank() == 0 else None
    dist.gather(part.detach(), parts, 0)
    return torch.cat(parts) if parts else None


def step(model, optimizer, pictures, labels):
    """One step of SGD whose forward and backward pass all ranks share. Returns the loss on rank 0."""
    count = len(labels) // dist.get_world_size()
    mine = scatter(pictures, torch.zeros(count, *pictures.shape[1:]))
    replicate(model)
    optimizer.zero_grad()
    part = model(mine)
    outputs = gather(part)
    slope, loss = torch.zeros(1), None
    if dist.get_rank() == 0:
        outputs.requires_grad_()
        loss = nn.functional.cross_entropy(outputs, labels)
        loss.backward()
        slope = outputs.grad
    part.backward(scatter(slope, part.detach()))
    for parameter in model.parameters():
        dist.reduce(parameter.grad, 0)
    if dist.get_rank() == 0:
        optimizer.step()
    return loss


def step_alone(model, optimizer, pictures, labels):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(pictures), labels)
    loss.backward()
    optimizer.step()
    return loss


def main(arguments):
    torch.manual_seed(dist.get_rank())
    model = LeNet(*data.shape(arguments.data))
    alone = copy.deepcopy(model)
    optimizer, optimizer_alone = (torch.optim.SGD(each.parameters(), 0.05) for each in (model, alone))
    for index, (pictures, labels) in enumerate(data.batches(arguments.data, arguments.steps, 16 * dist.get_world_size())):
        loss = step(model, optimizer, pictures, labels)
        if dist.get_rank() == 0:
            expected = step_alone(alone, optimizer_alone, pictures, labels)
            common.check_close(loss, expected, f"the loss of step {index}, beside one process", 1e-3)
            common.say(f"step {index}: loss {loss:.4f}, and {expected:.4f} in one process")
    replicate(model)
    common.check_equal_on_all_ranks(model)


if __name__ == "__main__":
    common.run(main, common.options(__doc__.splitlines()[0], ranks=4, steps=(4, "steps to train")))
