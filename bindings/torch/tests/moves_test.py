"""Every collective that moves tensors, with every type and shape; tensors with gaps; outputs that are also inputs."""

import unittest

import torch
import torch.distributed as dist

from ranks import BACKEND, about, main, needs, on_ranks
from values import SHAPES, SUM, combined, same, strided, transposed, types, value


class Moves(unittest.TestCase):
    def each(self, shapes=SHAPES):
        return ((dtype, shape) for dtype in types(BACKEND) for shape in shapes)

    @on_ranks(4)
    def test_broadcast_from_every_root(self):
        for dtype, shape in self.each():
            for root in (0, self.size - 1):
                with about(dtype, shape, root):
                    mine = value(self.rank, shape, dtype)
                    dist.broadcast(mine, root)
                    same(self, mine, value(root, shape, dtype))

    @on_ranks(4)
    def test_all_gather(self):
        shapes = [shape for shape in SHAPES if BACKEND != "gloo" or 0 not in shape]  # where gloo divides by zero
        for dtype, shape in self.each(shapes):
            with about(dtype, shape):
                outputs = [torch.zeros(shape, dtype=dtype) for _ in range(self.size)]
                dist.all_gather(outputs, value(self.rank, shape, dtype))
                for rank, output in enumerate(outputs):
                    same(self, output, value(rank, shape, dtype))

    @on_ranks(4)
    def test_all_gather_into_tensor(self):
        needs("allgather_base")
        for dtype, shape in self.each([(1,), (0,), (3, 5), (40_000,)]):
            with about(dtype, shape):
                for whole in ((self.size * shape[0], *shape[1:]), (self.size, *shape)):
                    output = torch.zeros(whole, dtype=dtype)
                    dist.all_gather_into_tensor(output, value(self.rank, shape, dtype))
                    pieces = [value(rank, shape, dtype) for rank in range(self.size)]
                    same(self, output, torch.cat(pieces) if len(whole) == len(shape) else torch.stack(pieces))

    @on_ranks(4)
    def test_all_gather_coalesced(self):
        shapes = [(), (7,), (0,), (3, 5)]
        for dtype in types(BACKEND):
            with about(dtype):
                outputs = [[torch.zeros(shape, dtype=dtype) for shape in shapes] for _ in range(self.size)]
                dist.all_gather_coalesced(outputs, [value(self.rank, shape, dtype) for shape in shapes])
                for rank in range(self.size):
                    for output, shape in zip(outputs[rank], shapes):
                        same(self, output, value(rank, shape, dtype))

    @on_ranks(4)
    def test_gather_at_every_root(self):
        for dtype, shape in self.each([(), (0,), (3, 5)]):
            for root in range(self.size):
                with about(dtype, shape, root):
                    outputs = [torch.zeros(shape, dtype=dtype) for _ in range(self.size)] if self.rank == root else None
                    dist.gather(value(self.rank, shape, dtype), outputs, root)
                    for rank, output in enumerate(outputs or []):
                        same(self, output, value(rank, shape, dtype))

    @on_ranks(4)
    def test_scatter_from_every_root(self):
        for dtype, shape in self.each([(), (0,), (3, 5)]):
            for root in range(self.size):
                with about(dtype, shape, root):
                    output = torch.zeros(shape, dtype=dtype)
                    blocks = [value(root, shape, dtype, rank) for rank in range(self.size)] if self.rank == root else None
                    dist.scatter(output, blocks, root)
                    same(self, output, value(root, shape, dtype, self.rank))

    @on_ranks(4)
    def test_all_to_all(self):
        needs("alltoall")
        for dtype, shape in self.each([(), (0,), (3, 5), (4000,)]):
            with about(dtype, shape):
                outputs = [torch.zeros(shape, dtype=dtype) for _ in range(self.size)]
                dist.all_to_all(outputs, [value(self.rank, shape, dtype, to) for to in range(self.size)])
                for rank, output in enumerate(outputs):
                    same(self, output, value(rank, shape, dtype, self.rank))

    @on_ranks(4)
    def test_all_to_all_of_unequal_tensors(self):
        needs("alltoall")
        outputs = [torch.zeros(rank + self.rank) for rank in range(self.size)]
        dist.all_to_all(outputs, [value(self.rank, (self.rank + to,), salt=to) for to in range(self.size)])
        for rank, output in enumerate(outputs):
            same(self, output, value(rank, (rank + self.rank,), salt=self.rank))

    @on_ranks(4)
    def test_all_to_all_single(self):
        for dtype, shape in self.each([(1,), (0,), (3, 5), (4000,)]):
            with about(dtype, shape):
                blocks = [value(self.rank, shape, dtype, to) for to in range(self.size)]
                output = torch.zeros(self.size * shape[0], *shape[1:], dtype=dtype)
                dist.all_to_all_single(output, torch.cat(blocks))
                same(self, output, torch.cat([value(rank, shape, dtype, self.rank) for rank in range(self.size)]))

    @on_ranks(4)
    def test_all_to_all_single_with_splits(self):
        def rows(source, to):
            return (source * 2 + to) % 4  # none for some

        for dtype in types(BACKEND):
            with about(dtype):
                sent = [rows(self.rank, to) for to in range(self.size)]
                received = [rows(source, self.rank) for source in range(self.size)]
                output = torch.zeros(sum(received), 3, dtype=dtype)
                blocks = [value(self.rank, (count, 3), dtype, to) for to, count in enumerate(sent)]
                dist.all_to_all_single(output, torch.cat(blocks), received, sent)
                same(self, output, torch.cat([value(source, (count, 3), dtype, self.rank)
                                              for source, count in enumerate(received)]))

    @on_ranks(4)
    def test_all_to_all_single_where_some_ranks_name_their_splits(self):
        """Rank 0 has equal blocks and names none; rank 1 names them, and keeps more for itself than others send it."""
        sent = {0: None, 1: [2, 5, 2, 2]}.get(self.rank, [2] * self.size)
        rows = sum(sent or [2] * self.size)
        data = value(self.rank, (rows, 3))
        output = torch.zeros(rows, 3)
        dist.all_to_all_single(output, data, sent, sent)

        def block(source):
            blocks = value(source, (11 if source == 1 else 8, 3)).split([2, 5, 2, 2] if source == 1 else [2] * self.size)
            return blocks[self.rank]

        same(self, output, torch.cat([block(source) for source in range(self.size)]))


class Memory(unittest.TestCase):
    """Tensors whose elements do not lie one after the other."""

    @on_ranks(4)
    def test_dense_tensors_that_are_not_contiguous(self):
        """Torch's own backends take these: allreduce and broadcast do not care for the order of the elements."""
        parts = [value(rank, (3, 5)) for rank in range(self.size)]
        mine = transposed(parts[self.rank].clone())
        dist.all_reduce(mine)
        same(self, mine, combined(parts, SUM))
        mine = transposed(parts[self.rank].clone())
        dist.broadcast(mine, 1)
        same(self, mine, parts[1])

    @on_ranks(4)
    def test_views_into_larger_tensors(self):
        parts = [value(rank, (6,)) for rank in range(self.size)]
        whole = torch.full((10,), -1.0)
        whole[2:8] = parts[self.rank]
        dist.all_reduce(whole[2:8])
        same(self, whole, torch.cat([torch.full((2,), -1.0), combined(parts, SUM), torch.full((2,), -1.0)]))

    @on_ranks(4)
    def test_tensors_with_gaps_are_right_or_refused(self):
        """Never wrong values: the result is right, or there is an error on all ranks before anything moves."""
        parts = [value(rank, (3, 5)) for rank in range(self.size)]

        def attempt(name, call, mine, expected):
            with about(name):
                try:
                    call(mine)
                except (RuntimeError, ValueError):
                    dist.barrier()
                    return
                same(self, mine.contiguous(), expected)

        if BACKEND != "gloo":  # it reads memory that is not the tensor's
            attempt("allreduce", dist.all_reduce, strided(parts[self.rank]), combined(parts, SUM))
            attempt("broadcast", lambda tensor: dist.broadcast(tensor, 1), strided(parts[self.rank]), parts[1])
        outputs = [strided(torch.zeros(3, 5)) for _ in range(self.size)]
        dist.all_gather(outputs, parts[self.rank])
        for output, part in zip(outputs, parts):
            same(self, output.contiguous(), part)


class Aliases(unittest.TestCase):
    """Inputs that are also outputs, as scripts write it."""

    @on_ranks(4)
    def test_all_gather_from_its_own_place(self):
        outputs = [torch.zeros(5) for _ in range(self.size)]
        outputs[self.rank].copy_(value(self.rank, (5,)))
        dist.all_gather(outputs, outputs[self.rank])
        for rank, output in enumerate(outputs):
            same(self, output, value(rank, (5,)))

    @on_ranks(4)
    def test_all_gather_into_the_tensor_that_holds_the_input(self):
        needs("allgather_base")
        whole = torch.zeros(20)
        whole[self.rank * 5:self.rank * 5 + 5] = value(self.rank, (5,))
        dist.all_gather_into_tensor(whole, whole[self.rank * 5:self.rank * 5 + 5])
        same(self, whole, torch.cat([value(rank, (5,)) for rank in range(self.size)]))

    @on_ranks(4)
    def test_reduce_scatter_into_its_own_place(self):
        needs("reduce_scatter")
        blocks = [value(self.rank, (5,), salt=to) for to in range(self.size)]
        dist.reduce_scatter(blocks[self.rank], blocks)
        same(self, blocks[self.rank], combined([value(rank, (5,), salt=self.rank) for rank in range(self.size)], SUM))

    @on_ranks(4)
    def test_reduce_scatter_tensor_into_its_own_place(self):
        needs("reduce_scatter_base")
        whole = torch.cat([value(self.rank, (5,), salt=to) for to in range(self.size)])
        dist.reduce_scatter_tensor(whole[self.rank * 5:self.rank * 5 + 5], whole)
        same(self, whole[self.rank * 5:self.rank * 5 + 5],
             combined([value(rank, (5,), salt=self.rank) for rank in range(self.size)], SUM))

    @on_ranks(4)
    def test_gather_and_scatter_in_place(self):
        pieces = [torch.zeros(5) for _ in range(self.size)]
        pieces[self.rank].copy_(value(self.rank, (5,)))
        dist.gather(pieces[self.rank], pieces if self.rank == 2 else None, 2)
        if self.rank == 2:
            for rank, piece in enumerate(pieces):
                same(self, piece, value(rank, (5,)))
        dist.scatter(pieces[self.rank], pieces if self.rank == 2 else None, 2)
        same(self, pieces[self.rank], value(self.rank, (5,)))

    @on_ranks(4)
    def test_the_same_tensor_for_several_blocks(self):
        mine, output = value(self.rank, (4,)), torch.zeros(4)
        dist.scatter(output, [mine] * self.size if self.rank == 0 else None, 0)
        same(self, output, value(0, (4,)))

    @on_ranks(4)
    def test_tensors_that_autograd_watches(self):
        parameter = torch.nn.Parameter(value(self.rank, (4,)))
        dist.all_reduce(parameter.data)
        same(self, parameter.detach(), combined([value(rank, (4,)) for rank in range(self.size)], SUM))
        with torch.no_grad():
            dist.broadcast(parameter, 0)
        self.assertTrue(parameter.requires_grad)


if __name__ == "__main__":
    main()
