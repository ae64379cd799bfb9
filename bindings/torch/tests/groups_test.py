"""Groups of some ranks, objects, and groups that are made again in one process."""

import datetime
import os
import unittest

import torch
import torch.distributed as dist

from ranks import BACKEND, GROUP_TIMEOUT, TORCH_2, Ranks, about, backend_of_all, main, on_ranks, report

MEMBERS = [[0, 1], [2, 3], [1, 2], [0, 3], [0, 1, 2], [1, 2, 3], [3], [0, 1, 2, 3]]


def sum_of_ranks(group):
    mine = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(mine, group=group)
    return float(mine)


class Groups(unittest.TestCase):
    @on_ranks(4)
    def test_overlapping_and_disjoint_groups(self):
        groups = [dist.new_group(members) for members in MEMBERS]
        for members, group in [*zip(MEMBERS, groups)] * 3:
            if self.rank in members:
                with about(members):
                    self.assertEqual(dist.get_rank(group), members.index(self.rank))
                    self.assertEqual(dist.get_world_size(group), len(members))
                    self.assertEqual(sum_of_ranks(group), sum(members))
            else:
                self.assertEqual(group, dist.GroupMember.NON_GROUP_MEMBER)

    @on_ranks(4)
    def test_what_torch_asks_where_processes_name_their_devices(self):
        """At the start, and when others make a group."""
        if BACKEND != "hocket":
            self.skipTest("Gloo is never asked")
        if TORCH_2:
            backend_of_all().eager_connect_single_device(torch.device("cuda:0"))
        backend_of_all().perform_nocolor_split(torch.device("cuda:0"))

    @on_ranks(4)
    def test_disjoint_groups_are_used_in_any_order(self):
        pairs = [dist.new_group(members) for members in ([0, 1], [2, 3], [0, 1], [2, 3])]
        mine = [pairs[0], pairs[2]] if self.rank < 2 else [pairs[3], pairs[1]]
        for group in mine * 5:
            self.assertEqual(sum_of_ranks(group), 1.0 if self.rank < 2 else 5.0)

    @on_ranks(4)
    def test_calls_of_several_groups_in_flight(self):
        groups = [dist.new_group() for _ in range(4)]
        tensors = [torch.full((1000,), float(index)) for index in range(4)]
        order = [(index + self.rank) % 4 for index in range(4)]  # each rank begins with another group
        works = [dist.all_reduce(tensors[index], group=groups[index], async_op=True) for index in order]
        for work in works:
            work.wait()
        for index, tensor in enumerate(tensors):
            self.assertTrue(torch.equal(tensor, torch.full((1000,), 4.0 * index)))

    @on_ranks(4)
    def test_every_collective_in_a_group(self):
        members = [3, 1]
        group = dist.new_group(members)
        if self.rank not in members:
            return
        pieces = [torch.zeros(2), torch.zeros(2)]
        dist.all_gather(pieces, torch.full((2,), float(self.rank)), group=group)
        order = sorted(members) if float(pieces[0][0]) == 1.0 else members  # torch sorts the ranks
        self.assertEqual([float(piece[0]) for piece in pieces], order)
        mine = torch.full((2,), float(self.rank))
        dist.broadcast(mine, 3, group=group)
        self.assertEqual(float(mine[0]), 3.0)
        dist.reduce(mine, 1, group=group)
        if self.rank == 1:
            self.assertEqual(float(mine[0]), 6.0)
        gathered = [torch.zeros(1), torch.zeros(1)] if self.rank == 3 else None
        dist.gather(torch.tensor([float(self.rank)]), gathered, 3, group=group)
        output = torch.zeros(1)
        dist.scatter(output, gathered, 3, group=group)
        self.assertEqual(float(output), float(self.rank))
        dist.barrier(group)

    @on_ranks(4)
    def test_a_group_of_another_backend_beside_it(self):
        group = dist.new_group(backend="gloo", timeout=datetime.timedelta(seconds=20))
        self.assertEqual((sum_of_ranks(group), sum_of_ranks(None)), (6.0, 6.0))
        self.assertEqual(dist.get_backend(group), "gloo")
        self.assertEqual(dist.get_backend(), BACKEND)

    @on_ranks(4)
    def test_a_group_that_is_destroyed_leaves_the_others(self):
        groups = [dist.new_group() for _ in range(3)]
        dist.destroy_process_group(groups[1])
        self.assertEqual([sum_of_ranks(groups[0]), sum_of_ranks(groups[2]), sum_of_ranks(None)], [6.0] * 3)

    @on_ranks(4)
    def test_many_groups_one_after_the_other(self):
        for _ in range(20):
            group = dist.new_group()
            self.assertEqual(sum_of_ranks(group), 6.0)
            dist.destroy_process_group(group)
            del group


    @on_ranks(4)
    def test_round_robin(self):
        """Calls go to several groups in turn."""
        make = getattr(torch._C._distributed_c10d, "_round_robin_process_groups", None)  # pylint: disable=protected-access
        if make is None:
            self.skipTest("this torch has none")
        group = make([dist.new_group() for _ in range(2)])
        works = []
        tensors = [torch.full((100, 100), float(self.rank + turn)) for turn in range(8)]
        for tensor in tensors:
            works.append(group.allreduce(tensor))
        for work in works:
            work.wait()
        for turn, tensor in enumerate(tensors):
            self.assertEqual(float(tensor[0, 0]), 6.0 + 4 * turn)


class Objects(unittest.TestCase):
    @on_ranks(4)
    def test_all_gather_object(self):
        mine = {"rank": self.rank, "text": "x" * (100 * self.rank), "tensor": torch.ones(self.rank)}
        everyone = [None] * self.size
        dist.all_gather_object(everyone, mine)
        self.assertEqual([entry["rank"] for entry in everyone], [0, 1, 2, 3])
        self.assertEqual([len(entry["text"]) for entry in everyone], [0, 100, 200, 300])

    @on_ranks(4)
    def test_gather_object(self):
        everyone = [None] * self.size if self.rank == 2 else None
        dist.gather_object(("rank", self.rank), everyone, 2)
        if self.rank == 2:
            self.assertEqual(everyone, [("rank", rank) for rank in range(4)])

    @on_ranks(4)
    def test_broadcast_object_list(self):
        objects = ["a", {"b": [1, 2]}, None] if self.rank == 1 else [None] * 3
        dist.broadcast_object_list(objects, 1)
        self.assertEqual(objects, ["a", {"b": [1, 2]}, None])

    @on_ranks(4)
    def test_scatter_object_list(self):
        mine = [None]
        dist.scatter_object_list(mine, [f"for {rank}" for rank in range(4)] if self.rank == 0 else None, 0)
        self.assertEqual(mine, [f"for {self.rank}"])

    @on_ranks(4)
    def test_objects_in_a_group(self):
        group = dist.new_group([1, 2])
        if self.rank in (1, 2):
            everyone = [None, None]
            dist.all_gather_object(everyone, self.rank * 10, group=group)
            self.assertEqual(everyone, [10, 20])


def initialise_again(rank, folder):
    """Three times all of them, then without the last one, then all of them again."""
    sums = []
    for turn, size in enumerate([3, 3, 3, 2, 3]):
        if rank < size:
            dist.init_process_group(BACKEND, init_method=f"file://{folder}/{turn}", rank=rank, world_size=size,
                                    timeout=GROUP_TIMEOUT)
            sums.append(sum_of_ranks(None))
            if turn == 1:
                sums.append(sum_of_ranks(dist.new_group([0, 1, 2])))
            dist.destroy_process_group()
    return sums


class Again(unittest.TestCase):
    def test_a_process_initialises_again(self):
        with Ranks(3, group=False) as ranks:
            outcomes = ranks.run(initialise_again, ranks.folder)
            self.assertEqual([outcome.kind for outcome in outcomes], ["returned"] * 3, report(outcomes))
            self.assertEqual(outcomes[0].value, [3.0, 3.0, 3.0, 3.0, 1.0, 3.0])

    def test_a_process_has_few_threads_and_descriptors_afterwards(self):
        with Ranks(2, group=False) as ranks:
            outcomes = ranks.run(open_again_and_again, ranks.folder)
            self.assertEqual([outcome.kind for outcome in outcomes], ["returned"] * 2, report(outcomes))


def open_again_and_again(rank, folder):
    def held():
        return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

    counts = []
    for turn in range(8):
        dist.init_process_group(BACKEND, init_method=f"file://{folder}/{turn}", rank=rank, world_size=2)
        dist.all_reduce(torch.ones(10))
        dist.destroy_process_group()
        counts.append(held())
    assert counts[-1][0] <= counts[1][0] and counts[-1][1] <= counts[1][1], f"threads and descriptors grow: {counts}"


if __name__ == "__main__":
    main()
