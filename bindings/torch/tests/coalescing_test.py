"""Calls in a section of torch's coalescing manager, whose works wait at its end, and calls on lists of whole tensors."""

import contextlib
import datetime
import threading
import unittest

import torch
import torch.distributed as dist

from ranks import BACKEND, GROUP_TIMEOUT, TORCH_2, main, needs, on_ranks
from values import same, value

LARGE = (1 << 20,)  # a message that waits for its receiver


@contextlib.contextmanager
def section(held, asynchronous=False):
    """PyTorch 1.13 is given the works that the program holds; PyTorch 2 makes one work for all and waits for it."""
    if not TORCH_2:
        with dist.distributed_c10d._coalescing_manager(None, held):
            yield
        return
    with dist.distributed_c10d._coalescing_manager(None, torch.device("cpu"), asynchronous) as manager:
        yield
    if asynchronous:
        held[:] = [manager]


class Sections(unittest.TestCase):
    def setUp(self):
        needs("sections")

    def neighbours(self):
        return (self.rank + 1) % self.size, (self.rank - 1) % self.size

    @on_ranks(3)
    def test_all_send_before_they_receive(self):
        after, before = self.neighbours()
        received = torch.zeros(LARGE)
        with section([]):
            dist.send(value(self.rank, LARGE), after)
            dist.recv(received, before)
        same(self, received, value(before, LARGE))

    @on_ranks(3)
    def test_what_is_left_to_wait_for(self):
        after, before = self.neighbours()
        received, sum_of_all, held = torch.zeros(LARGE), value(self.rank, (7,)), []
        with section(held, asynchronous=True):
            held += [dist.isend(value(self.rank, LARGE), after), dist.irecv(received, before),
                     dist.all_reduce(sum_of_all, dist.ReduceOp.MAX, async_op=True)]
        for work in [work for work in held if work is not None]:
            work.wait()
        same(self, received, value(before, LARGE))

    @on_ranks(3)
    def test_collectives(self):
        gathered = [torch.zeros(5) for _ in range(self.size)]
        sent = value(self.rank, (3, 5))
        with section([]):
            dist.broadcast(sent, 1)
            dist.all_gather(gathered, value(self.rank, (5,)))
        same(self, sent, value(1, (3, 5)))
        for rank, block in enumerate(gathered):
            same(self, block, value(rank, (5,)))

    @on_ranks(3)
    def test_nothing(self):
        held = []
        with section(held, asynchronous=True):
            pass
        for work in held:
            work.wait()
        dist.all_reduce(torch.ones(2))

    @on_ranks(2)
    def test_another_thread_waits_for_its_own_calls(self):
        store = dist.distributed_c10d._get_default_store()
        received = torch.zeros(5)

        def receive():
            dist.recv(received, 1)
            found.append(received.clone())

        found = []
        if self.rank == 0:
            with section([]):
                thread = threading.Thread(target=receive)
                thread.start()
                thread.join(0.05)  # it has called, or will
                store.set("coalescing/received", "called")
                thread.join()
            same(self, found[0], value(1, (5,)))
        else:
            store.wait(["coalescing/received"])
            dist.send(value(1, (5,)), 0)

    @on_ranks(2)
    def test_a_thread_of_python_runs_while_a_section_ends(self):
        store = dist.distributed_c10d._get_default_store()
        received = torch.zeros(5)
        if self.rank == 0:
            with section([]):
                dist.recv(received, 1)
                timer = threading.Timer(0.02, lambda: store.set("coalescing/ending", "yes"))
                timer.start()
            timer.join()
            same(self, received, value(1, (5,)))
        else:
            store.wait(["coalescing/ending"])
            dist.send(value(1, (5,)), 0)

    @on_ranks(3)
    def test_a_batch_of_messages(self):
        after, before = self.neighbours()
        received = torch.zeros(LARGE)
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, value(self.rank, LARGE), after),
                                            dist.P2POp(dist.irecv, received, before)]):
            work.wait()
        same(self, received, value(before, LARGE))


@unittest.skipUnless(TORCH_2, "PyTorch 1.13 has no such calls")
class OfPyTorch2(unittest.TestCase):
    @on_ranks(3)
    def test_a_section_that_an_exception_left(self):
        needs("sections")
        group = dist.distributed_c10d._get_default_group()
        group._start_coalescing(torch.device("cpu"))
        dist.broadcast(torch.ones(3), 0)
        group._start_coalescing(torch.device("cpu"))
        mine = value(self.rank, (5,))
        dist.broadcast(mine, 1)
        group._end_coalescing(torch.device("cpu")).wait()
        same(self, mine, value(1, (5,)))
        with self.assertRaisesRegex(RuntimeError, "startCoalescing"):
            group._end_coalescing(torch.device("cpu"))

    @on_ranks(3)
    def test_all_gather_of_a_list(self):
        shapes = [(1,), (3, 5), (4000,)]
        outputs = [torch.zeros(self.size * shape[0], *shape[1:]) for shape in shapes]
        with dist.distributed_c10d._coalescing_manager():
            for output, shape in zip(outputs, shapes):
                dist.all_gather_into_tensor(output, value(self.rank, shape))
        for output, shape in zip(outputs, shapes):
            same(self, output, torch.cat([value(rank, shape) for rank in range(self.size)]))

    @on_ranks(3)
    def test_reduce_scatter_of_a_list(self):
        shapes = [(1,), (3, 5), (4000,)]
        outputs = [torch.zeros(shape) for shape in shapes]
        with dist.distributed_c10d._coalescing_manager():
            for output, shape in zip(outputs, shapes):
                dist.reduce_scatter_tensor(output, value(self.rank, (self.size * shape[0], *shape[1:])))
        for output, shape in zip(outputs, shapes):
            whole = sum(value(rank, (self.size * shape[0], *shape[1:])) for rank in range(self.size))
            same(self, output, whole.chunk(self.size)[self.rank])

    @on_ranks(3)
    def test_functional_collectives(self):
        from torch.distributed import _functional_collectives as functional  # pylint: disable=import-outside-toplevel
        group = dist.distributed_c10d._get_default_group()
        mine = value(self.rank, (6, 2))
        same(self, functional.all_reduce(mine, "sum", group) + 0, sum(value(rank, (6, 2)) for rank in range(self.size)))
        gathered = functional.all_gather_into_tensor_coalesced([mine, mine[:1]], group)
        same(self, gathered[0] + 0, torch.cat([value(rank, (6, 2)) for rank in range(self.size)]))
        scattered = functional.reduce_scatter_tensor_coalesced([mine], "sum", [0], group)
        same(self, scattered[0] + 0, sum(value(rank, (6, 2)) for rank in range(self.size)).chunk(self.size)[self.rank])

    @on_ranks(3)
    def test_gather_into_one_tensor(self):
        if not hasattr(dist, "gather_single"):
            self.skipTest("this PyTorch has no gather_single")
        output = torch.zeros(9, 2) if self.rank == 1 else None
        dist.gather_single(value(self.rank, (3, 2)), output, dst=1)
        if self.rank == 1:
            same(self, output, torch.cat([value(rank, (3, 2)) for rank in range(self.size)]))

    @on_ranks(4)
    def test_groups_made_from_a_group(self):
        group = dist.distributed_c10d._get_default_group()
        if not hasattr(group, "split_group"):
            self.skipTest("this PyTorch splits NCCL's groups only")
        for turn in range(2):
            ranks = [0, 2] if self.rank % 2 == 0 else [1, 3]
            part = group.split_group(ranks, timeout=GROUP_TIMEOUT, group_name=f"half {self.rank % 2} {turn}")
            self.assertEqual((part.rank(), part.size()), (self.rank // 2, 2))
            mine = value(self.rank, (5,))
            part.allreduce([mine]).wait()
            same(self, mine, value(ranks[0], (5,)) + value(ranks[1], (5,)))
        part = group.split_group([3, 1], group_name="two")
        self.assertEqual(part is None, self.rank % 2 == 0)
        if part is not None:
            self.assertEqual(part.rank(), [3, 1].index(self.rank))
            part.barrier().wait()

    @on_ranks(2)
    def test_a_time_out_that_is_set_later(self):
        if not hasattr(dist.ProcessGroup, "set_timeout"):
            self.skipTest("this PyTorch sets the time-outs of its own backends only")
        group = dist.new_group(timeout=datetime.timedelta(seconds=50))
        group.set_timeout(datetime.timedelta(milliseconds=50))
        if self.rank == 0:
            with self.assertRaisesRegex(RuntimeError, "Timed out"):
                dist.all_reduce(torch.ones(3), group=group)
        dist.barrier()


if __name__ == "__main__":
    main()
