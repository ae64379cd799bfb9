"""Tensors in the memory of a GPU, or of the double of one: what collectives and messages give."""

import unittest

import torch
import torch.distributed as dist

from devices import LARGE, needs_device, on_device, on_device_with_gaps, on_host
from ranks import TORCH_2, about, backend_of_all, main, on_ranks
from values import AVG, BITWISE, MAX, MIN, PRODUCT, SUM, combined, inputs, same, value

# pylint: disable=protected-access

COUNTS = (0, 1, 1000, 100_000)  # so that some go over the host and some over the device alone


def reduced(rank, size, count, dtype=torch.float32, operation=SUM):
    """(this rank's input on the device, what a reduction of all must give)"""
    all_inputs = inputs(size, (count,), dtype, operation)
    return on_device(all_inputs[rank]), combined(all_inputs, operation)


class Results(unittest.TestCase):
    def setUp(self):
        needs_device()

    @on_ranks(3)
    def test_reductions(self):
        for count in COUNTS:
            for dtype, operations in ((torch.float32, [SUM, PRODUCT, MIN, MAX, AVG]), (torch.int64, [SUM, *BITWISE]),
                                      (torch.bfloat16, [SUM]), (torch.bool, [MAX])):
                for operation in operations:
                    with about(count, dtype, operation):
                        mine, expected = reduced(self.rank, self.size, count, dtype, operation)
                        dist.all_reduce(mine, operation)
                        if operation == AVG:
                            self.assertTrue(torch.allclose(on_host(mine), expected))
                        else:
                            same(self, on_host(mine), expected)

    @on_ranks(3)
    def test_reduce_to_every_root(self):
        for count in COUNTS:
            for root in range(self.size):
                mine, expected = reduced(self.rank, self.size, count)
                dist.reduce(mine, root)
                same(self, on_host(mine), expected if self.rank == root else value(self.rank, (count,)))

    @on_ranks(3)
    def test_a_premultiplied_sum(self):
        mine = on_device(torch.ones(100))
        options = dist.AllreduceOptions()
        options.reduceOp = dist._make_nccl_premul_sum(float(self.rank + 1))
        backend_of_all().allreduce([mine], options).wait()
        same(self, on_host(mine), torch.full((100,), 6.0))

    @on_ranks(3)
    def test_broadcast_and_gathers(self):
        for count in COUNTS:
            for root in range(self.size):
                with about(count, root):
                    mine = on_device(value(self.rank, (count,)))
                    dist.broadcast(mine, root)
                    same(self, on_host(mine), value(root, (count,)))
                    places = [on_device(torch.zeros(count)) for _ in range(self.size)]
                    dist.gather(on_device(value(self.rank, (count,))), places if self.rank == root else None, root)
                    for rank, place in enumerate(places if self.rank == root else []):
                        same(self, on_host(place), value(rank, (count,)))
            dist.all_gather(places, on_device(value(self.rank, (count,))))
            for rank, place in enumerate(places):
                same(self, on_host(place), value(rank, (count,)))
            whole = on_device(torch.zeros(self.size * count))
            dist.all_gather_into_tensor(whole, on_device(value(self.rank, (count,))))
            same(self, on_host(whole), torch.cat([value(rank, (count,)) for rank in range(self.size)]))

    @on_ranks(3)
    def test_scatters(self):
        for count in COUNTS:
            for root in range(self.size):
                with about(count, root):
                    output = on_device(torch.zeros(count))
                    parts = [on_device(value(root, (count,), salt=rank)) for rank in range(self.size)]
                    dist.scatter(output, parts if self.rank == root else None, root)
                    same(self, on_host(output), value(root, (count,), salt=self.rank))
            parts = [value(self.rank, (count,), salt=rank) for rank in range(self.size)]
            expected = sum(value(rank, (count,), salt=self.rank) for rank in range(self.size))
            dist.reduce_scatter(output, [on_device(part) for part in parts])
            same(self, on_host(output), expected)
            dist.reduce_scatter_tensor(output, on_device(torch.cat(parts)))
            same(self, on_host(output), expected)

    @on_ranks(3)
    def test_all_to_all(self):
        for count in COUNTS:
            with about(count):
                parts = [value(self.rank, (count,), salt=rank) for rank in range(self.size)]
                expected = [value(rank, (count,), salt=self.rank) for rank in range(self.size)]
                places = [on_device(torch.zeros(count)) for _ in range(self.size)]
                dist.all_to_all(places, [on_device(part) for part in parts])
                for place, wanted in zip(places, expected):
                    same(self, on_host(place), wanted)
                whole = on_device(torch.zeros(self.size * count))
                dist.all_to_all_single(whole, on_device(torch.cat(parts)))
                same(self, on_host(whole), torch.cat(expected))

    @on_ranks(3)
    def test_lists(self):
        shapes = [(7,), (0,), (3, 5), (40_000,)]
        mine = [on_device(value(self.rank, shape)) for shape in shapes]
        dist.all_reduce_coalesced(mine)
        for tensor, shape in zip(mine, shapes):
            same(self, on_host(tensor), combined([value(rank, shape) for rank in range(self.size)], SUM))
        places = [[on_device(torch.zeros(shape)) for shape in shapes] for _ in range(self.size)]
        dist.all_gather_coalesced(places, [on_device(value(self.rank, shape)) for shape in shapes])
        for rank in range(self.size):
            for place, shape in zip(places[rank], shapes):
                same(self, on_host(place), value(rank, shape))

    @on_ranks(3)
    def test_several_tensors_of_a_process(self):
        mine = [on_device(value(self.rank, (50,), salt=salt)) for salt in (0, 1)]
        backend_of_all().allreduce(mine, dist.AllreduceOptions()).wait()
        expected = sum(value(rank, (50,), salt=salt) for rank in range(self.size) for salt in (0, 1))
        for tensor in mine:
            same(self, on_host(tensor), expected)

    @on_ranks(3)
    def test_tensors_with_gaps(self):
        for count in (7, LARGE):
            mine = on_device_with_gaps(value(self.rank, (count,)))
            self.assertFalse(mine.is_contiguous())
            dist.all_reduce(mine)
            same(self, on_host(mine), sum(value(rank, (count,)) for rank in range(self.size)))

    @on_ranks(3)
    def test_ranks_may_differ_in_where_their_data_is(self):
        for count in COUNTS:
            mine = value(self.rank, (count,))
            mine = on_device(mine) if self.rank == 0 else mine
            dist.all_reduce(mine)
            found = on_host(mine) if self.rank == 0 else mine
            same(self, found, sum(value(rank, (count,)) for rank in range(self.size)))

    @on_ranks(3)
    def test_messages(self):
        right, left = (self.rank + 1) % self.size, (self.rank - 1) % self.size
        for count in COUNTS:
            with about(count):
                arrived = [on_device(torch.zeros(count)) for _ in range(3)]
                works = [dist.isend(on_device(value(self.rank, (count,), salt=tag)), right, tag=tag) for tag in range(3)]
                # The other way round, so that some are put aside.
                works += [dist.irecv(arrived[tag], left, tag=tag) for tag in (2, 0, 1)]
                for work in works:
                    work.wait()
                for tag in range(3):
                    same(self, on_host(arrived[tag]), value(left, (count,), salt=tag))

    @on_ranks(3)
    def test_a_message_that_came_before_its_receive(self):
        if self.rank == 0:
            dist.send(on_device(value(0, (LARGE,))), 1, tag=5)
            dist.send(torch.ones(1), 1, tag=6)
        elif self.rank == 1:
            dist.recv(torch.zeros(1), 0, tag=6)
            mine = on_device(torch.zeros(LARGE))
            dist.recv(mine, tag=5)
            same(self, on_host(mine), value(0, (LARGE,)))

    @on_ranks(3)
    def test_a_section(self):
        group, right, left = backend_of_all(), (self.rank + 1) % self.size, (self.rank - 1) % self.size
        if TORCH_2:
            self.skipTest("through _coalescing_manager there")
        mine, arrived = on_device(value(self.rank, (1000,))), on_device(torch.zeros(1000))
        group._start_coalescing()
        works = [dist.irecv(arrived, left), dist.isend(mine, right)]
        group._end_coalescing(works)
        for work in works:
            work.wait()
        same(self, on_host(arrived), value(left, (1000,)))


if __name__ == "__main__":
    main()
