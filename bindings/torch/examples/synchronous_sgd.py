#!/usr/bin/env python3
"""Synchronous SGD of LeNet by hand: rank 0 sends its weights to one rank after the other, gradients are summed at each step."""

import copy

import torch
import torch.distributed as dist
from torch import nn

import common
import data
from models import LeNet


def send_weights(model):
    """All begin with the weights of rank 0."""
    for parameter in model.parameters():
        if dist.get_rank() == 0:
            for rank in range(1, dist.get_world_size()):
                dist.send(parameter.detach(), rank)
        else:
            dist.recv(parameter.detach(), 0)


def sum_gradients(model):
    """The mean over the whole batch is the sum of the ranks' means, divided by their number."""
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def step(model, optimizer, pictures, labels, after_backward=lambda model: None):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(pictures), labels)
    loss.backward()
    after_backward(model)
    optimizer.step()
    return loss.detach()


def main(arguments):
    torch.manual_seed(dist.get_rank())  # so that weights differ until they are sent
    model = LeNet(*data.shape(arguments.data))
    send_weights(model)
    alone = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.5)
    optimizer_alone = torch.optim.SGD(alone.parameters(), 0.05, momentum=0.5)
    for index, (pictures, labels) in enumerate(data.batches(arguments.data, arguments.steps, 16 * dist.get_world_size())):
        loss = step(model, optimizer, common.share(pictures), common.share(labels), sum_gradients)
        dist.all_reduce(loss)
        loss /= dist.get_world_size()
        loss_alone = step(alone, optimizer_alone, pictures, labels)
        common.check_close(loss, loss_alone, f"the loss of step {index}, beside one process with the whole batch", 1e-3)
        common.say(f"step {index}: loss {loss:.4f}, and {loss_alone:.4f} in one process")
    common.check_equal_on_all_ranks(model)


if __name__ == "__main__":
    common.run(main, common.options(__doc__, ranks=4, steps=(5, "steps to train")))
