#!/usr/bin/env python3
"""A dense layer split by columns: each rank holds some of its outputs. Rank 0 sends the rows out and puts outputs together.

Forward, every rank computes its own columns of X · W. Backward, each sends its part of the gradient of X, and rank 0 adds."""

import torch
import torch.distributed as dist

import common


class SplitByColumns(torch.autograd.Function):
    """On rank 0: a layer whose other columns are with other ranks, which run serve() meanwhile."""

    @staticmethod
    def forward(context, rows, weight):
        context.save_for_backward(rows, weight)
        others = range(1, dist.get_world_size())
        sending = [dist.isend(rows.contiguous(), rank) for rank in others]
        columns = [rows @ weight]
        for rank in others:
            columns.append(torch.empty_like(columns[0]))
            dist.recv(columns[rank], rank)
        for work in sending:
            work.wait()
        return torch.cat(columns, 1)

    @staticmethod
    def backward(context, slope):
        rows, weight = context.saved_tensors
        parts = [part.contiguous() for part in slope.chunk(dist.get_world_size(), 1)]
        sending = [dist.isend(part, rank) for rank, part in enumerate(parts) if rank > 0]
        total = parts[0] @ weight.t()
        for rank in range(1, dist.get_world_size()):
            other = torch.empty_like(rows)
            dist.recv(other, rank)
            total += other
        for work in sending:
            work.wait()
        return total, rows.t() @ parts[0]


def serve(weight, count):
    """On the other ranks: one pass forward and one back, with this rank's columns. Returns their gradient."""
    rows = torch.empty(count, weight.shape[0])
    dist.recv(rows, 0)
    dist.send(rows @ weight, 0)
    slope = torch.empty(count, weight.shape[1])
    dist.recv(slope, 0)
    dist.send(slope @ weight.t(), 0)
    return rows.t() @ slope


def main(arguments):
    rank, size = dist.get_rank(), dist.get_world_size()
    generator = torch.Generator().manual_seed(4)
    whole = torch.randn(20, 6 * size, generator=generator) / 5
    mine = whole.chunk(size, 1)[rank].clone().requires_grad_(rank == 0)
    for index in range(arguments.steps):
        rows = torch.randn(8, 20, generator=generator)
        expected_rows, expected_whole = rows.clone().requires_grad_(), whole.clone().requires_grad_()
        expected = (expected_rows @ expected_whole).tanh().pow(2).mean()
        expected.backward()
        if rank == 0:
            rows.requires_grad_()
            mine.grad = None
            loss = SplitByColumns.apply(rows, mine).tanh().pow(2).mean()
            loss.backward()
            slope = mine.grad
            common.check_close(loss, expected, "the loss", 1e-4)
            common.check_close(rows.grad, expected_rows.grad, "the gradient of the rows", 1e-4)
            common.say(f"step {index}: loss {loss:.5f}, as with the whole layer")
        else:
            slope = serve(mine, len(rows))
        common.check_close(slope, expected_whole.grad.chunk(size, 1)[rank], "the gradient of this rank's columns", 1e-4)
        with torch.no_grad():
            mine -= 0.5 * slope
            whole -= 0.5 * expected_whole.grad


if __name__ == "__main__":
    common.run(main, common.options(__doc__.splitlines()[0], ranks=3, steps=(5, "steps to train")))
