#!/usr/bin/env python3
"""A pipeline of two stages: rank 0 holds the first layers, rank 1 the others. Activations go forward and gradients back.

A batch is cut into small ones, so that both ranks compute at the same time: rank 0 is one or more of them ahead."""

import copy

import torch
import torch.distributed as dist
from torch import nn

import common
import data
from models import LeNet


def stages(model):
    return model.convolutions, model.dense


def first_stage(stage, pictures, pieces):
    """Sends each piece's activations on, then takes their gradients."""
    activations = []
    sending = []
    for piece in pictures.chunk(pieces):
        activations.append(stage(piece))
        sending.append(dist.isend(activations[-1].detach(), 1))
    for activation in activations:
        slope = torch.empty_like(activation)
        dist.recv(slope, 1)
        activation.backward(slope)
    for work in sending:
        work.wait()


def second_stage(stage, labels, pieces, features):
    """Returns the loss of the whole batch."""
    total = torch.zeros(())
    sending = []
    for piece in labels.chunk(pieces):
        activation = torch.empty(len(piece), features)
        dist.recv(activation, 0)
        activation.requires_grad_()
        loss = nn.functional.cross_entropy(stage(activation), piece) / pieces
        loss.backward()
        sending.append(dist.isend(activation.grad, 0))
        total += loss.detach()
    for work in sending:
        work.wait()
    return total


def main(arguments):
    common.check(dist.get_world_size() == 2, "a pipeline of two stages has two ranks")
    rank = dist.get_rank()
    torch.manual_seed(2)
    whole = LeNet(*data.shape(arguments.data))
    stage = stages(copy.deepcopy(whole))[rank]
    optimizer = torch.optim.SGD(stage.parameters(), 0.05)
    optimizer_alone = torch.optim.SGD(whole.parameters(), 0.05)
    features = whole.dense[0].in_features
    for index, (pictures, labels) in enumerate(data.batches(arguments.data, arguments.steps, 32)):
        optimizer_alone.zero_grad()
        expected = nn.functional.cross_entropy(whole(pictures), labels)
        expected.backward()
        optimizer_alone.step()
        optimizer.zero_grad()
        if rank == 0:
            first_stage(stage, pictures, arguments.pieces)
        else:
            loss = second_stage(stage, labels, arguments.pieces, features)
            common.check_close(loss, expected, f"the loss of step {index}, beside one process", 1e-3)
        optimizer.step()
        common.say(f"step {index}: loss {expected:.4f}")
    common.check_close(common.flat(stage), common.flat(stages(whole)[rank]), "the weights of this stage", 1e-3)


if __name__ == "__main__":
    common.run(main, common.options(__doc__.splitlines()[0], ranks=2, steps=(4, "steps to train"),
                                    pieces=(4, "pieces that a batch is cut into")))
