"""Calls that run in the background: works, futures, waiting, and what a process can do meanwhile."""

import datetime
import gc
import threading
import unittest

import torch
import torch.distributed as dist

from ranks import BACKEND, backend_of_all, main, needs, on_ranks
from values import value

# pylint: disable=protected-access


def store():
    return dist.distributed_c10d._get_default_store()


class Works(unittest.TestCase):
    @on_ranks(3)
    def test_an_asynchronous_call_is_complete_after_its_wait(self):
        mine = value(self.rank, (100,))
        work = dist.all_reduce(mine, async_op=True)
        self.assertTrue(work.wait())
        self.assertTrue(work.is_completed())
        self.assertTrue(work.is_success())
        self.assertTrue(torch.equal(mine, sum(value(rank, (100,)) for rank in range(self.size))))

    @on_ranks(3)
    def test_every_collective_has_a_work(self):
        blocks = [torch.zeros(4) for _ in range(self.size)]
        mine, whole = torch.ones(4), torch.zeros(4 * self.size)
        at_root = self.rank == 0
        works = [dist.broadcast(torch.ones(4), 0, async_op=True), dist.reduce(torch.ones(4), 0, async_op=True),
                 dist.all_gather(blocks, mine, async_op=True), dist.barrier(async_op=True),
                 dist.gather(mine, blocks if at_root else None, 0, async_op=True),
                 dist.scatter(torch.zeros(4), [mine] * self.size if at_root else None, 0, async_op=True),
                 dist.all_to_all_single(whole, torch.ones(4 * self.size), async_op=True)]
        for work in works:
            work.wait()
            self.assertTrue(work.is_completed())
        self.assertTrue(torch.equal(whole, torch.ones(4 * self.size)))

    @on_ranks(3)
    def test_a_work_is_not_complete_before_all_ranks_have_called(self):
        if self.rank == 0:
            work = dist.all_reduce(torch.ones(5), async_op=True)
            self.assertFalse(work.is_completed())
            store().set("works/looked", "yes")
            work.wait()
            self.assertTrue(work.is_completed())
        else:
            store().wait(["works/looked"])
            dist.all_reduce(torch.ones(5))

    @on_ranks(3)
    def test_a_wait_that_passes_its_time_raises_and_harms_nothing(self):
        mine = torch.ones(5)
        if self.rank == 0:
            work = dist.all_reduce(mine, async_op=True)
            with self.assertRaises(RuntimeError):
                work.wait(datetime.timedelta(milliseconds=30))
            store().set("works/waited", "yes")
            work.wait()
        else:
            store().wait(["works/waited"])
            dist.all_reduce(mine)
        self.assertTrue(torch.equal(mine, torch.full((5,), 3.0)))

    @on_ranks(3)
    def test_many_calls_in_flight(self):
        mine = [torch.full((index + 1,), float(self.rank)) for index in range(200)]
        works = [dist.all_reduce(tensor, async_op=True) for tensor in mine]
        for work in reversed(works):
            work.wait()
        for index, tensor in enumerate(mine):
            self.assertTrue(torch.equal(tensor, torch.full((index + 1,), 3.0)), index)

    @on_ranks(3)
    def test_tensors_live_until_their_call_is_complete(self):
        if self.rank == 0:
            work = dist.all_reduce(torch.ones(100_000), async_op=True)
            gc.collect()
            others = [torch.full((100_000,), 7.0) for _ in range(20)]
            store().set("works/dropped", "yes")
            work.wait()
            self.assertTrue(all(torch.equal(other, torch.full((100_000,), 7.0)) for other in others))
        else:
            store().wait(["works/dropped"])
            mine = torch.ones(100_000)
            dist.all_reduce(mine)
            self.assertTrue(torch.equal(mine, torch.full((100_000,), 3.0)))

    @on_ranks(3)
    def test_a_barrier_waits_for_works_that_nobody_waits_for(self):
        """As in Gloo: scripts rely on it."""
        tensors = [torch.full((100, 100), float(self.rank)) for _ in range(16)]
        for tensor in tensors:
            dist.all_reduce(tensor, async_op=True)
        dist.barrier()
        for tensor in tensors:
            self.assertTrue(torch.equal(tensor, torch.full((100, 100), 3.0)))

    @on_ranks(3)
    def test_a_thousand_calls_of_all_kinds_in_flight(self):
        futures, expected = [], []
        for index in range(250):
            mine, parts = torch.full((3,), float(self.rank + index)), [torch.zeros(3) for _ in range(3)]
            futures.append((dist.all_gather(parts, mine, async_op=True), parts))
            expected.append([torch.full((3,), float(rank + index)) for rank in range(3)])
            total = torch.full((5,), float(index))
            futures.append((dist.all_reduce(total, async_op=True), [total]))
            expected.append([torch.full((5,), 3.0 * index)])
            sent = torch.full((7,), float(self.rank))
            futures.append((dist.broadcast(sent, index % 3, async_op=True), [sent]))
            expected.append([torch.full((7,), float(index % 3))])
            output = torch.zeros(2)
            blocks = [torch.full((2,), float(index + rank)) for rank in range(3)] if self.rank == index % 3 else None
            futures.append((dist.scatter(output, blocks, index % 3, async_op=True), [output]))
            expected.append([torch.full((2,), float(index + self.rank))])
        for (work, found), wanted in zip(futures, expected):
            work.wait()
            self.assertTrue(all(torch.equal(*pair) for pair in zip(found, wanted)), (found, wanted))

    @on_ranks(3)
    def test_a_thread_of_python_runs_while_another_waits(self):
        """The others come when the thread says so: if the waiting held Python's lock, all would wait for ever."""
        def say():
            store().set("works/said", "yes")

        if self.rank == 0:
            timer = threading.Timer(0.02, say)
            timer.start()
            dist.all_reduce(torch.ones(5))
            timer.join()
        else:
            store().wait(["works/said"])
            dist.all_reduce(torch.ones(5))

    @on_ranks(3)
    def test_sequence_numbers(self):
        group = backend_of_all()
        before = group._get_sequence_number_for_group()
        for _ in range(3):
            dist.all_reduce(torch.ones(2))
        after = group._get_sequence_number_for_group()
        self.assertEqual(after - before, 3)
        everyone = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        dist.all_gather(everyone, torch.tensor([after]))
        self.assertEqual({int(number) for number in everyone}, {after})


class Futures(unittest.TestCase):
    @on_ranks(3)
    def test_a_future_holds_the_result(self):
        mine = torch.ones(4)
        result = dist.all_reduce(mine, async_op=True).get_future().wait()
        self.assertTrue(torch.equal(result[0], torch.full((4,), 3.0)))
        self.assertTrue(torch.equal(mine, result[0]))

    @on_ranks(3)
    def test_functions_follow_a_future(self):
        future = dist.all_reduce(torch.ones(4), async_op=True).get_future()
        after = future.then(lambda done: done.value()[0] / 3).then(lambda done: done.value() + 1)
        self.assertTrue(torch.equal(after.wait(), torch.full((4,), 2.0)))

    @on_ranks(3)
    def test_what_a_function_throws_comes_out_of_the_wait(self):
        future = dist.all_reduce(torch.ones(4), async_op=True).get_future()
        failing = future.then(lambda done: 1 // 0)
        with self.assertRaisesRegex(Exception, "ZeroDivisionError|division"):
            failing.wait()
        dist.all_reduce(torch.ones(4))

    @on_ranks(3)
    def test_many_futures_together(self):
        futures = [dist.all_reduce(torch.full((3,), float(index)), async_op=True).get_future() for index in range(50)]
        results = torch.futures.collect_all(futures).wait()
        for index, future in enumerate(results):
            self.assertTrue(torch.equal(future.value()[0], torch.full((3,), 3.0 * index)))

    @on_ranks(3)
    def test_a_future_of_gathered_tensors(self):
        outputs = [torch.zeros(2) for _ in range(self.size)]
        dist.all_gather(outputs, torch.full((2,), float(self.rank)), async_op=True).get_future().wait()
        self.assertEqual([float(output[0]) for output in outputs], [0.0, 1.0, 2.0])


class Threads(unittest.TestCase):
    @on_ranks(3)
    def test_threads_with_a_group_each(self):
        groups = [dist.new_group() for _ in range(3)]
        wrong = []

        def reduce(number, group):
            for turn in range(30):
                mine = torch.full((50,), float(turn + number))
                dist.all_reduce(mine, group=group)
                if not torch.equal(mine, torch.full((50,), 3.0 * (turn + number))):
                    wrong.append((number, turn))

        threads = [threading.Thread(target=reduce, args=pair) for pair in enumerate(groups)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class MonitoredBarrier(unittest.TestCase):
    @on_ranks(3)
    def test_passes_when_all_come(self):
        group = dist.distributed_c10d._get_default_group()
        for all_ranks in (False, True):
            group.monitored_barrier(datetime.timedelta(seconds=20), wait_all_ranks=all_ranks)
        if BACKEND == "gloo":
            dist.monitored_barrier()

    @on_ranks(4)
    def test_passes_in_a_group_of_some(self):
        needs("monitored_subset")
        group = dist.new_group([1, 3])
        if self.rank in (1, 3):
            group.monitored_barrier(datetime.timedelta(seconds=20), wait_all_ranks=True)


if __name__ == "__main__":
    main()
