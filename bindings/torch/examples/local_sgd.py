#!/usr/bin/env python3
"""Local SGD: every rank takes some steps by itself, then the ranks average their weights. Fewer messages, nearly the same path.

With plain SGD and an average after every step, it is synchronous SGD, which the example checks first."""

import copy

import torch
import torch.distributed as dist
from torch import nn

import common
import data
from models import perceptron

RATE = 0.05


def average_weights(model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.detach())
        parameter.detach().div_(dist.get_world_size())


def step(model, pictures, labels):
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(pictures), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


def train(model, arguments, period):
    """Losses, as means over the ranks; the weights are averaged every `period` steps."""
    losses = []
    for index, (pictures, labels) in enumerate(data.batches(arguments.data, arguments.steps, 16 * dist.get_world_size())):
        loss = step(model, common.share(pictures), common.share(labels))
        dist.all_reduce(loss)
        losses.append(loss / dist.get_world_size())
        if (index + 1) % period == 0:
            average_weights(model)
    average_weights(model)
    common.check_equal_on_all_ranks(model)
    return losses


def main(arguments):
    torch.manual_seed(6)
    first = perceptron(*data.shape(arguments.data))
    alone, model = copy.deepcopy(first), copy.deepcopy(first)
    losses = train(model, arguments, 1)
    for index, batch in enumerate(data.batches(arguments.data, arguments.steps, 16 * dist.get_world_size())):
        common.check_close(losses[index], step(alone, *batch), f"the loss of step {index}, beside one process", 1e-3)
    local = train(first, arguments, arguments.period)
    common.check(local[-1] < local[0], f"the loss went from {local[0]:.4f} to {local[-1]:.4f}")
    common.say(f"loss {losses[0]:.4f} at first; after {arguments.steps} steps {losses[-1]:.4f} with an average after each, "
               f"{local[-1]:.4f} with one after every {arguments.period}")


if __name__ == "__main__":
    common.run(main, common.options(__doc__.splitlines()[0], ranks=4, steps=(20, "steps to train"),
                                    period=(5, "steps between averages")))
