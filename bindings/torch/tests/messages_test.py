"""Messages between two ranks: types and shapes, tags, any source, many at once."""

import unittest

import torch
import torch.distributed as dist

from ranks import BACKEND, about, main, on_ranks
from values import types, value


class Messages(unittest.TestCase):
    def same(self, found, expected):
        self.assertTrue(torch.equal(found, expected), f"{found.flatten()[:8]} should be {expected.flatten()[:8]}")

    @on_ranks(3)
    def test_every_type_and_shape(self):
        for dtype in types(BACKEND):
            for shape in [(), (0,), (1,), (3, 5), (70_000,)]:
                with about(dtype, shape):
                    if self.rank == 0:
                        dist.send(value(0, shape, dtype), 1)
                    elif self.rank == 1:
                        mine = torch.zeros(shape, dtype=dtype)
                        self.assertEqual(dist.recv(mine, 0), 0)
                        self.same(mine, value(0, shape, dtype))

    @on_ranks(3)
    def test_ring_both_ways_at_once(self):
        right, left = (self.rank + 1) % self.size, (self.rank - 1) % self.size
        for count in (1, 1000, 300_000):
            arrived = [torch.zeros(count), torch.zeros(count)]
            works = [dist.isend(value(self.rank, (count,)), right), dist.isend(value(self.rank, (count,), salt=1), left, tag=1),
                     dist.irecv(arrived[0], left), dist.irecv(arrived[1], right, tag=1)]
            for work in works:
                work.wait()
            self.same(arrived[0], value(left, (count,)))
            self.same(arrived[1], value(right, (count,), salt=1))

    @on_ranks(3)
    def test_messages_of_one_tag_keep_their_order(self):
        if self.rank == 0:
            works = [dist.isend(torch.full((index % 7,), float(index)), 2) for index in range(100)]
        elif self.rank == 2:
            arrived = [torch.zeros(index % 7) for index in range(100)]
            works = [dist.irecv(tensor, 0) for tensor in arrived]
        else:
            works = []
        for work in works:
            work.wait()
        if self.rank == 2:
            for index, tensor in enumerate(arrived):
                self.same(tensor, torch.full((index % 7,), float(index)))

    @on_ranks(3)
    def test_tags_are_received_in_another_order(self):
        for count in (3, 500_000):  # such as may leave at once, and such as wait for their receiver
            if self.rank == 0:
                works = [dist.isend(torch.full((count,), float(tag)), 1, tag=tag) for tag in (5, 1, 9)]
                for work in works:
                    work.wait()
            elif self.rank == 1:
                for tag in (9, 5, 1):
                    mine = torch.zeros(count)
                    dist.recv(mine, 0, tag=tag)
                    self.same(mine, torch.full((count,), float(tag)))

    @on_ranks(3)
    def test_receives_posted_before_and_after_the_send(self):
        arrived = {tag: torch.zeros(4) for tag in (1, 2)}
        if self.rank == 1:
            early = dist.irecv(arrived[1], 0, tag=1)
        dist.barrier()
        if self.rank == 0:
            works = [dist.isend(torch.full((4,), float(tag)), 1, tag=tag) for tag in (2, 1)]
            for work in works:
                work.wait()
        if self.rank == 1:
            early.wait()
            dist.recv(arrived[2], 0, tag=2)
            for tag, tensor in arrived.items():
                self.same(tensor, torch.full((4,), float(tag)))

    @on_ranks(4)
    def test_from_any_source(self):
        for tag in (0, 3):
            if self.rank == 0:
                seen = set()
                for _ in range(self.size - 1):
                    mine = torch.zeros(6)
                    source = dist.recv(mine, tag=tag)
                    self.same(mine, value(source, (6,), salt=tag))
                    seen.add(source)
                self.assertEqual(seen, {1, 2, 3})
            else:
                dist.send(value(self.rank, (6,), salt=tag), 0, tag=tag)

    @on_ranks(4)
    def test_from_any_source_in_the_background(self):
        if self.rank == 3:
            arrived = [torch.zeros(2) for _ in range(3)]
            works = [dist.irecv(tensor) for tensor in arrived]
            for work in works:
                work.wait()
            self.assertEqual(sorted(work.source_rank() for work in works), [0, 1, 2])
            for work, tensor in zip(works, arrived):
                self.same(tensor, torch.full((2,), float(work.source_rank())))
        else:
            dist.send(torch.full((2,), float(self.rank)), 3)

    @on_ranks(4)
    def test_batches(self):
        arrived = {peer: torch.zeros(9) for peer in range(self.size) if peer != self.rank}
        batch = []
        for peer, tensor in arrived.items():
            batch.append(dist.P2POp(dist.isend, value(self.rank, (9,), salt=peer), peer))
            batch.append(dist.P2POp(dist.irecv, tensor, peer))
        for work in dist.batch_isend_irecv(batch):
            work.wait()
        for peer, tensor in arrived.items():
            self.same(tensor, value(peer, (9,), salt=self.rank))

    @on_ranks(4)
    def test_between_collectives(self):
        """A message and a collective of the same two ranks do not take each other's bytes."""
        totals = [torch.ones(1000) for _ in range(3)]
        mine = torch.zeros(3)
        if self.rank == 0:
            sent = dist.isend(torch.arange(3.0), 1)
        works = [dist.all_reduce(total, async_op=True) for total in totals]
        if self.rank == 1:
            dist.recv(mine, 0)
            self.same(mine, torch.arange(3.0))
        for work in works:
            work.wait()
        if self.rank == 0:
            sent.wait()
        for total in totals:
            self.same(total, torch.full((1000,), 4.0))

    @on_ranks(4)
    def test_in_a_group_ranks_are_those_of_the_job(self):
        group = dist.new_group([1, 3])
        if self.rank == 1:
            dist.send(torch.tensor([5.0]), 3, group=group)
            mine = torch.zeros(1)
            self.assertEqual(dist.recv(mine, group=group), 3)
            self.same(mine, torch.tensor([6.0]))
        elif self.rank == 3:
            mine = torch.zeros(1)
            self.assertEqual(dist.recv(mine, 1, group=group), 1)
            dist.send(mine + 1, 1, group=group)

    @on_ranks(3)
    def test_parts_of_larger_tensors(self):
        whole = torch.zeros(10, 4)
        if self.rank == 0:
            dist.send(torch.arange(8.0).reshape(2, 4), 1)
        elif self.rank == 1:
            dist.recv(whole[3:5], 0)
            self.same(whole[3:5], torch.arange(8.0).reshape(2, 4))
            self.assertEqual(float(whole.sum()), 28.0)


if __name__ == "__main__":
    main()
