#!/usr/bin/env python3
"""A step in the manner of K-FAC: the ranks sum each layer's factors, one rank inverts them, and broadcasts the inverses.

For a dense layer with inputs a and slopes g, the curvature is about A ⊗ G with A = mean(a aᵀ) and G = mean(g gᵀ), so
that the step is G⁻¹ · gradient · A⁻¹ (Martens and Grosse 2015). The layers' inversions are shared out among the ranks."""

import copy

import torch
import torch.distributed as dist
from torch import nn

import common
import data
from models import perceptron

DAMPING = 0.1


class Factors:
    """Watches a dense layer, and keeps the two factors of the latest pass."""

    def __init__(self, layer):
        self.layer = layer
        layer.register_forward_pre_hook(lambda _, inputs: self.see_inputs(inputs[0]))
        layer.register_full_backward_hook(lambda _, inputs, slopes: self.see_slopes(slopes[0]))

    def see_inputs(self, rows):
        rows = torch.cat([rows.detach(), torch.ones(len(rows), 1)], 1)  # the last one stands for the bias
        self.inputs = rows.t() @ rows / len(rows)

    def see_slopes(self, slopes):
        slopes = slopes.detach() * len(slopes)  # of each sample's own loss, of which the batch's is the mean
        self.slopes = slopes.t() @ slopes / len(slopes)

    def gradient(self):
        return torch.cat([self.layer.weight.grad, self.layer.bias.grad[:, None]], 1)

    def move(self, step):
        self.layer.weight.detach().sub_(step[:, :-1])
        self.layer.bias.detach().sub_(step[:, -1])


def inverse(factor):
    """In rows: a broadcast sends elements as they lie in memory, and torch gives this matrix in columns."""
    return torch.linalg.inv(factor + DAMPING * torch.eye(len(factor))).contiguous()


def mean_over_ranks(tensors):
    """In the background, all at once."""
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in works:
        work.wait()
    for tensor in tensors:
        tensor /= dist.get_world_size()


def shared_inverses(factors):
    """Rank i inverts the factors of layers i, i + size, …; broadcasts hand the inverses to all."""
    works, inverses = [], []
    for index, layer in enumerate(factors):
        owner = index % dist.get_world_size()
        pair = [torch.empty_like(layer.inputs), torch.empty_like(layer.slopes)]
        if dist.get_rank() == owner:
            pair = [inverse(layer.inputs), inverse(layer.slopes)]
        works += [dist.broadcast(tensor, owner, async_op=True) for tensor in pair]
        inverses.append(pair)
    for work in works:
        work.wait()
    return inverses


def step(model, factors, pictures, labels, rate, together):
    model.zero_grad()
    loss = nn.functional.cross_entropy(model(pictures), labels)
    loss.backward()
    gradients = [layer.gradient() for layer in factors]
    loss = loss.detach()
    if together:
        mean_over_ranks([loss, *gradients, *(layer.inputs for layer in factors), *(layer.slopes for layer in factors)])
        inverses = shared_inverses(factors)
    else:
        inverses = [(inverse(layer.inputs), inverse(layer.slopes)) for layer in factors]
    for layer, gradient, (inputs, slopes) in zip(factors, gradients, inverses):
        layer.move(rate * slopes @ gradient @ inputs)
    return loss


def main(arguments):
    torch.manual_seed(8)
    channels, height, width = data.shape(arguments.data)
    model = nn.Sequential(nn.AvgPool2d(4), perceptron(channels, height // 4, width // 4, hidden=24))
    alone = copy.deepcopy(model)
    factors, factors_alone = ([Factors(layer) for layer in each.modules() if isinstance(layer, nn.Linear)]
                              for each in (model, alone))
    losses = []
    for index, (pictures, labels) in enumerate(data.batches(arguments.data, arguments.steps, 32 * dist.get_world_size())):
        losses.append(step(model, factors, common.share(pictures), common.share(labels), arguments.rate, together=True))
        expected = step(alone, factors_alone, pictures, labels, arguments.rate, together=False)
        common.check_close(losses[-1], expected, f"the loss of step {index}, beside one process", 5e-3)
    common.check(losses[-1] < losses[0], f"the loss went from {losses[0]:.4f} to {losses[-1]:.4f}")
    common.check_equal_on_all_ranks(model)
    common.say(f"loss {losses[0]:.4f} at first, {losses[-1]:.4f} after {arguments.steps} steps, as in one process")


if __name__ == "__main__":
    common.run(main, common.options(__doc__.splitlines()[0], ranks=4, steps=(6, "steps to train"), rate=(0.3, "rate")))
