"""What bench.py measures: the calls of torch.distributed, and steps of training."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parent / "examples"))
from models import LeNet  # noqa: E402  pylint: disable=wrong-import-position

# Each makes, from a number of float32 elements, a function that makes one call in a group.


def all_reduce(count, _size):
    data = torch.zeros(count)  # stays zero however often it is summed
    return lambda group: dist.all_reduce(data, group=group)


def reduce(count, _size):
    data = torch.zeros(count)
    return lambda group: dist.reduce(data, 0, group=group)


def broadcast(count, _size):
    data = torch.ones(count)
    return lambda group: dist.broadcast(data, 0, group=group)


def all_gather(count, size):
    data, whole = torch.ones(count // size), list(torch.zeros(count // size * size).chunk(size))
    return lambda group: dist.all_gather(whole, data, group=group)


def all_gather_into_tensor(count, size):
    data, whole = torch.ones(count // size), torch.zeros(count // size * size)
    return lambda group: dist.all_gather_into_tensor(whole, data, group=group)


def reduce_scatter_tensor(count, size):
    data, part = torch.zeros(count // size * size), torch.zeros(count // size)
    return lambda group: dist.reduce_scatter_tensor(part, data, group=group)


def gather(count, size):
    data = torch.ones(count // size)
    whole = list(torch.zeros(count // size * size).chunk(size)) if dist.get_rank() == 0 else None
    return lambda group: dist.gather(data, whole, 0, group=group)


def scatter(count, size):
    part = torch.ones(count // size)
    whole = list(torch.zeros(count // size * size).chunk(size)) if dist.get_rank() == 0 else None
    return lambda group: dist.scatter(part, whole, 0, group=group)


def apart(count, size):
    """A tensor for each rank, each in memory of its own."""
    return [torch.ones(count // size) for _ in range(size)]


def all_gather_apart(count, size):
    data, whole = torch.ones(count // size), apart(count, size)
    return lambda group: dist.all_gather(whole, data, group=group)


def gather_apart(count, size):
    data, whole = torch.ones(count // size), apart(count, size) if dist.get_rank() == 0 else None
    return lambda group: dist.gather(data, whole, 0, group=group)


def scatter_apart(count, size):
    part, whole = torch.ones(count // size), apart(count, size) if dist.get_rank() == 0 else None
    return lambda group: dist.scatter(part, whole, 0, group=group)


def all_to_all_single(count, size):
    data, other = torch.ones(count // size * size), torch.zeros(count // size * size)
    return lambda group: dist.all_to_all_single(other, data, group=group)


def send_recv(count, _size):
    """From rank 0 to rank 1 and back; the time is that of both."""
    data = torch.ones(count)

    def call(group):
        if dist.get_rank() == 0:
            dist.send(data, 1, group=group)
            dist.recv(data, 1, group=group)
        elif dist.get_rank() == 1:
            dist.recv(data, 0, group=group)
            dist.send(data, 0, group=group)

    return call


CALLS = {"all_reduce": all_reduce, "reduce": reduce, "broadcast": broadcast, "all_gather": all_gather,
         "all_gather_apart": all_gather_apart, "gather_apart": gather_apart, "scatter_apart": scatter_apart,
         "all_gather_into_tensor": all_gather_into_tensor, "reduce_scatter_tensor": reduce_scatter_tensor, "gather": gather,
         "scatter": scatter, "all_to_all_single": all_to_all_single, "send_recv": send_recv,
         "barrier": lambda _count, _size: dist.barrier}


def perceptron(batch):
    """10 million weights."""
    return nn.Sequential(nn.Linear(784, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(),
                         nn.Linear(2048, 10)), torch.randn(batch, 784)


def lenet(batch):
    return LeNet(), torch.randn(batch, 1, 28, 28)


# The same steps without any communication show what computing takes.
STEPS = {"ddp_mlp_10m": perceptron, "ddp_lenet": lenet, "local_mlp_10m": perceptron, "local_lenet": lenet}


def ddp_step(name, group, batch):
    """A function that makes one step of training."""
    torch.manual_seed(0)
    model, rows = STEPS[name](batch)
    labels = torch.zeros(len(rows), dtype=torch.int64)
    if name.startswith("ddp_"):
        model = DistributedDataParallel(model, process_group=group)
    optimizer = torch.optim.SGD(model.parameters(), 0.001)

    def step(_group):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(rows), labels).backward()
        optimizer.step()

    return step
