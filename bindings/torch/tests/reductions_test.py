"""Every reduction with every type and shape, against what it must give, and against gloo."""

import unittest

import torch
import torch.distributed as dist

from ranks import BACKEND, about, main, needs, on_ranks
from values import AVG, FLOATS, SHAPES, SUM, combined, inputs, operations, same, types, value

gloo_group = {}  # the differential tests' second group of the same ranks


def gloo():
    if "group" not in gloo_group:
        gloo_group["group"] = dist.new_group(backend="gloo")
    return gloo_group["group"]


def each_reduction(shapes):
    for dtype in types(BACKEND):
        for operation in operations(dtype):
            for shape in shapes:
                yield dtype, operation, shape


class Reductions(unittest.TestCase):
    def check_allreduce(self, shapes):
        for dtype, operation, shape in each_reduction(shapes):
            with about(dtype, operation, shape):
                parts = inputs(self.size, shape, dtype, operation)
                mine = parts[self.rank].clone()
                dist.all_reduce(mine, operation)
                same(self, mine, combined(parts, operation))

    @on_ranks(4)
    def test_allreduce(self):
        self.check_allreduce(SHAPES)

    @on_ranks(3)
    def test_allreduce_of_three(self):
        self.check_allreduce([(), (7,), (3, 5), (0,)])

    @on_ranks(1)
    def test_allreduce_of_one(self):
        self.check_allreduce([(), (7,), (3, 5), (0,)])

    @on_ranks(4)
    def test_reduce_at_every_root(self):
        for dtype, operation, shape in each_reduction([(), (0,), (3, 5)]):
            for root in range(self.size):
                with about(dtype, operation, shape, root):
                    parts = inputs(self.size, shape, dtype, operation)
                    mine = parts[self.rank].clone()
                    dist.reduce(mine, root, operation)
                    if self.rank == root:
                        same(self, mine, combined(parts, operation))

    @on_ranks(4)
    def test_reduce_scatter(self):
        needs("reduce_scatter")
        for dtype, operation, shape in each_reduction([(), (0,), (3, 5), (5000,)]):
            with about(dtype, operation, shape):
                blocks = [inputs(self.size, shape, dtype, operation)[(self.rank + block) % self.size]
                          for block in range(self.size)]
                kept = [block.clone() for block in blocks]
                output = torch.zeros(shape, dtype=dtype)
                dist.reduce_scatter(output, blocks, operation)
                sources = [inputs(self.size, shape, dtype, operation)[(rank + self.rank) % self.size]
                           for rank in range(self.size)]
                same(self, output, combined(sources, operation))
                for block, before in zip(blocks, kept):
                    same(self, block, before)

    @on_ranks(4)
    def test_reduce_scatter_of_unequal_blocks(self):
        needs("reduce_scatter")
        shapes = [(rank + 1,) for rank in range(self.size)]
        output = torch.zeros(shapes[self.rank])
        dist.reduce_scatter(output, [value(self.rank, shape) for shape in shapes])
        same(self, output, combined([value(rank, shapes[self.rank]) for rank in range(self.size)], SUM))

    @on_ranks(4)
    def test_reduce_scatter_tensor(self):
        needs("reduce_scatter_base")
        for dtype, operation, shape in each_reduction([(1,), (0,), (3, 5)]):
            with about(dtype, operation, shape):
                whole = (self.size * shape[0], *shape[1:])
                parts = inputs(self.size, whole, dtype, operation)
                output = torch.zeros(shape, dtype=dtype)
                dist.reduce_scatter_tensor(output, parts[self.rank].clone(), operation)
                same(self, output, combined([part.chunk(self.size)[self.rank] for part in parts], operation)
                     if output.numel() else output)

    @on_ranks(4)
    def test_averages(self):
        needs("average")
        for dtype in FLOATS:
            with about(dtype):
                parts = inputs(self.size, (3, 5), dtype)
                mine = parts[self.rank].clone()
                dist.all_reduce(mine, AVG)
                same(self, mine, combined(parts, AVG))

    @on_ranks(4)
    def test_premultiplied_sum(self):
        needs("premultiplied")
        for dtype in FLOATS:
            with about(dtype):
                parts = inputs(self.size, (3, 5), dtype)
                mine = parts[self.rank].clone()
                dist.all_reduce(mine, dist._make_nccl_premul_sum(2.0))  # pylint: disable=protected-access
                same(self, mine, combined([part * 2 for part in parts], SUM))

    @on_ranks(4)
    def test_sparse_allreduce(self):
        mine = torch.sparse_coo_tensor([[self.rank, 0]], [1.0, 2.0], (self.size + 1,))
        dist.all_reduce(mine)
        expected = torch.ones(self.size + 1)
        expected[0], expected[self.size] = 1 + 2 * self.size, 0
        same(self, mine.to_dense(), expected)

    @on_ranks(4)
    def test_allreduce_coalesced(self):
        for dtype in types(BACKEND):
            for operation in operations(dtype)[:4]:
                with about(dtype, operation):
                    shapes = [(), (7,), (0,), (3, 5)]
                    mine = [inputs(self.size, shape, dtype, operation)[self.rank] for shape in shapes]
                    dist.all_reduce_coalesced(mine, operation)
                    for tensor, shape in zip(mine, shapes):
                        same(self, tensor, combined(inputs(self.size, shape, dtype, operation), operation))


class BesideGloo(unittest.TestCase):
    """The same call in a gloo group of the same processes gives the same."""

    @on_ranks(4)
    def test_sums_of_floats_of_any_size(self):
        other = gloo()
        for exponent in range(-8, 9, 4):
            mine = torch.randn(5000, generator=torch.Generator().manual_seed(self.rank)) * 10.0 ** exponent
            theirs = mine.clone()
            dist.all_reduce(mine)
            dist.all_reduce(theirs, group=other)
            torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=10.0 ** exponent * 1e-5)

    @on_ranks(4)
    def test_least_and_greatest(self):
        other = gloo()
        for dtype in (torch.float32, torch.float64, torch.int32):
            for operation in (dist.ReduceOp.MIN, dist.ReduceOp.MAX):
                mine = (torch.randn(1000, generator=torch.Generator().manual_seed(self.rank)) * 1e6).to(dtype)
                theirs = mine.clone()
                dist.all_reduce(mine, operation)
                dist.all_reduce(theirs, operation, group=other)
                same(self, mine, theirs)

    @on_ranks(4)
    def test_moves(self):
        other = gloo()
        mine = torch.randn(7, 11, generator=torch.Generator().manual_seed(self.rank))
        results = []
        for group in (None, other):
            gathered = [torch.zeros(7, 11) for _ in range(self.size)]
            dist.all_gather(gathered, mine, group=group)
            sent = mine.clone()
            dist.broadcast(sent, 2, group=group)
            block = torch.zeros(7, 11)
            dist.scatter(block, gathered if self.rank == 1 else None, 1, group=group)
            results.append([*gathered, sent, block])
        for found, expected in zip(*results):
            same(self, found, expected)

    @on_ranks(4)
    def test_every_rank_holds_the_same_bits(self):
        mine = torch.randn(3001, generator=torch.Generator().manual_seed(self.rank))
        dist.all_reduce(mine)
        first = mine.clone()
        dist.broadcast(first, 0)
        same(self, mine.view(torch.int32), first.view(torch.int32))


if __name__ == "__main__":
    main()
