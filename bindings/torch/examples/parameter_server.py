#!/usr/bin/env python3
"""An asynchronous parameter server: rank 0 holds the weights; workers pull them and push gradients, each in its own time.

A worker's message says what it wants, in one number: pull, push or leave. The server takes messages from any rank."""

import torch
import torch.distributed as dist
from torch import nn

import common
import data
from models import perceptron

PULL, PUSH, LEAVE = 0, 1, 2
REQUEST, WEIGHTS, GRADIENT = 1, 2, 3  # tags


def set_weights(model, values):
    nn.utils.vector_to_parameters(values, model.parameters())


def serve(model, rate):
    """Answers until all workers have left. Returns how many gradients came."""
    weights = common.flat(model)
    working, pushes = dist.get_world_size() - 1, 0
    request, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(weights)
    while working > 0:
        worker = dist.recv(request, tag=REQUEST)
        if request.item() == PULL:
            dist.send(weights, worker, tag=WEIGHTS)
        elif request.item() == PUSH:
            dist.recv(gradient, worker, tag=GRADIENT)
            weights -= rate * gradient
            pushes += 1
        else:
            working -= 1
    set_weights(model, weights)
    return pushes


def ask(what):
    dist.send(torch.tensor([what]), 0, tag=REQUEST)


def pull(model):
    weights = torch.empty_like(common.flat(model))
    ask(PULL)
    dist.recv(weights, 0, tag=WEIGHTS)
    set_weights(model, weights)


def push(model):
    ask(PUSH)
    dist.send(torch.cat([parameter.grad.reshape(-1) for parameter in model.parameters()]), 0, tag=GRADIENT)


def work(model, arguments):
    for pictures, labels in data.batches(arguments.data, arguments.steps, 32, seed=dist.get_rank()):
        pull(model)
        model.zero_grad()
        nn.functional.cross_entropy(model(pictures), labels).backward()
        push(model)
    ask(LEAVE)


def loss_of(model, arguments):
    pictures, labels = next(data.batches(arguments.data, 1, 200, seed=100))
    with torch.no_grad():
        return nn.functional.cross_entropy(model(pictures), labels)


def main(arguments):
    workers = dist.get_world_size() - 1
    torch.manual_seed(5)
    model = perceptron(*data.shape(arguments.data))
    before = loss_of(model, arguments)
    if dist.get_rank() == 0:
        pushes = serve(model, rate=0.05)
        common.check(pushes == workers * arguments.steps, f"{pushes} gradients came")
        after = loss_of(model, arguments)
        common.check(after < before, f"the loss went from {before:.4f} to {after:.4f}")
        common.say(f"loss {before:.4f} before and {after:.4f} after {pushes} gradients from {workers} workers")
    else:
        work(model, arguments)
    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), 0)
    common.check_equal_on_all_ranks(model)


if __name__ == "__main__":
    common.run(main, common.options(__doc__.splitlines()[0], ranks=4, steps=(15, "gradients that each worker pushes")))
