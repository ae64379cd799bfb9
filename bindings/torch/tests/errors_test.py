"""What goes wrong: every rank gets an exception that says why, in time, and no process stays behind."""

import datetime
import os
import signal
import time
import unittest

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from ranks import BACKEND, TORCH_2, Ranks, about, arrive, join_default_group, main, needs, on_ranks, report

SHORT = datetime.timedelta(seconds=2)


def store():
    return dist.distributed_c10d._get_default_store()  # pylint: disable=protected-access


class Refused(unittest.TestCase):
    """Calls that are wrong on their own rank raise there, and the group goes on."""

    def refuses(self, *calls):
        for call in calls:
            with self.assertRaises((RuntimeError, ValueError, TypeError, IndexError)):
                call()
        total = torch.ones(2)
        dist.all_reduce(total)
        self.assertEqual(total.tolist(), [3.0, 3.0])

    @on_ranks(3)
    def test_devices_and_layouts(self):
        if not TORCH_2:  # the newest ones carry out calls on meta tensors themselves
            self.refuses(lambda: dist.all_reduce(torch.empty(3, device="meta")))
        self.refuses(lambda: dist.broadcast(torch.sparse_coo_tensor([[0]], [1.0], (3,)), 0),
                     lambda: dist.send(torch.sparse_coo_tensor([[0]], [1.0], (3,)), (self.rank + 1) % 3))

    @on_ranks(3)
    def test_types(self):
        quantized = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
        self.refuses(lambda: dist.all_reduce(quantized), lambda: dist.broadcast(quantized, 0))

    @on_ranks(3)
    def test_a_type_that_is_refused_is_named(self):
        needs("causes")
        quantized = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
        with self.assertRaisesRegex((RuntimeError, ValueError, TypeError), "(?i)qint8|quantized"):
            dist.all_reduce(quantized)

    @on_ranks(3)
    def test_reductions_that_a_type_lacks(self):
        self.refuses(lambda: dist.all_reduce(torch.ones(3), dist.ReduceOp.BAND),
                     lambda: dist.reduce(torch.ones(3), 0, dist.ReduceOp.BXOR))

    @on_ranks(3)
    def test_ranks_and_roots(self):
        self.refuses(lambda: dist.broadcast(torch.ones(3), 7), lambda: dist.reduce(torch.ones(3), -1),
                     lambda: dist.send(torch.ones(3), 9))

    @on_ranks(3)
    def test_lists_of_the_wrong_length_or_shape(self):
        three, wrong = [torch.zeros(2) for _ in range(3)], [torch.zeros(5) for _ in range(3)]
        self.refuses(lambda: dist.all_gather(three[:2], torch.ones(2)), lambda: dist.all_gather(wrong, torch.ones(2)),
                     lambda: dist.all_gather([tensor.double() for tensor in three], torch.ones(2)),
                     lambda: dist.all_to_all_single(torch.zeros(4), torch.ones(4)),
                     lambda: dist.all_to_all_single(torch.zeros(6), torch.ones(6), [1, 1, 1], [2, 2, 2]))

    @on_ranks(3)
    def test_lists_of_one_root(self):
        three = [torch.zeros(2) for _ in range(3)]
        self.refuses(lambda: dist.gather(torch.ones(2), three[:2] if self.rank == 0 else [torch.zeros(2)], 0),
                     lambda: dist.scatter(torch.ones(2), three[:2] if self.rank == 0 else [torch.zeros(2)], 0))


# What ranks do in a set of their own, since their group breaks. Each returns the message of the exception that it got.


def message_of(call, *arguments):
    try:
        call(*arguments)
    except (RuntimeError, ValueError) as error:
        return str(error)
    raise AssertionError("no exception")


def reduce_without_end(rank, folder):
    def reduce():
        while True:
            dist.all_reduce(torch.ones(10_000))
            arrive(folder, f"ready-{rank}")

    first = message_of(reduce)
    return first, message_of(dist.all_reduce, torch.ones(1))


def train_without_end(rank, folder):
    model = DistributedDataParallel(nn.Sequential(nn.Linear(50, 400), nn.ReLU(), nn.Linear(400, 50)), bucket_cap_mb=0.01)

    def train():
        while True:
            model(torch.randn(8, 50)).sum().backward()
            arrive(folder, f"ready-{rank}")

    return (message_of(train),)


def differ_in_size(rank):
    return (message_of(dist.all_reduce, torch.ones(4 if rank == 1 else 5)),)


def differ_in_type(rank):
    return (message_of(dist.all_reduce, torch.ones(4, dtype=torch.int32 if rank == 1 else torch.float32)),)


def differ_in_call(rank):
    if rank == 1:
        return (message_of(dist.broadcast, torch.ones(4), 0),)
    return (message_of(dist.all_reduce, torch.ones(4)),)


def come_late(rank, path):
    """Rank 2 stays away until the others have failed."""
    join_default_group(rank, 3, path, timeout=SHORT)
    if rank == 2:
        store().set_timeout(datetime.timedelta(seconds=30))
        store().wait(["errors/0", "errors/1"])
        return ("rank 2 was away",)
    began = time.monotonic()
    found = message_of(dist.all_reduce, torch.ones(4))
    store().set(f"errors/{rank}", "failed")
    return found, time.monotonic() - began


def leave_early(rank):
    if rank == 2:
        dist.all_reduce(torch.ones(4))
        dist.destroy_process_group()
        os._exit(0)
    dist.all_reduce(torch.ones(4))
    return (message_of(dist.all_reduce, torch.ones(4)),)


def miss_monitored_barrier(rank, path, all_ranks):
    join_default_group(rank, 4, path)
    group = dist.distributed_c10d._get_default_group()  # pylint: disable=protected-access
    if rank in (1, 3):
        store().wait(["errors/done"])
        return ("away",)
    found = message_of(lambda: group.monitored_barrier(SHORT, wait_all_ranks=all_ranks))
    if rank == 0:
        store().set("errors/done", "yes")
    return (found,)


def start_again(rank, folder):
    """After rank 2 has died: the others leave the broken group and make a smaller one."""
    join_default_group(rank, 3, f"{folder}/first")
    dist.all_reduce(torch.ones(4))
    if rank == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    message_of(lambda: [dist.all_reduce(torch.ones(4)) for _ in range(1000)])
    dist.destroy_process_group()
    join_default_group(rank, 2, f"{folder}/second")
    total = torch.ones(4)
    dist.all_reduce(total)
    return float(total[0])


def futures_fail_too(rank):
    """Rank 2 dies once the others have started their call: what is started later fails at once."""
    if rank == 2:
        store().wait(["started/0", "started/1"])
        os.kill(os.getpid(), signal.SIGKILL)
    work = dist.all_reduce(torch.ones(4), async_op=True)
    store().set(f"started/{rank}", "")
    future = work.get_future()
    found = message_of(future.wait)
    message_of(work.wait)
    assert work.is_completed() and not work.is_success()
    return (found,)


class Broken(unittest.TestCase):
    """Each with a set of processes of its own."""

    def all_raise(self, outcomes, *words, but=()):
        """Every rank but these returned messages with these words in them."""
        for rank, outcome in enumerate(outcomes):
            if rank not in but:
                with about(f"rank {rank}", outcome.value):
                    self.assertEqual(outcome.kind, "returned", report(outcomes))
                    if BACKEND != "gloo":
                        for word in words:
                            self.assertRegex(outcome.value[0], word)

    def test_a_process_is_killed_between_calls_and_in_them(self):
        needs("causes")  # with gloo some ranks learn of it by their time-out only
        for victim in (0, 2):
            with self.subTest(victim=victim), Ranks(3) as ranks:
                ranks.start(reduce_without_end, ranks.folder)
                ranks.wait_for("ready-0", "ready-1", "ready-2")
                ranks.kill(victim)
                self.all_raise(ranks.finish(grace=15), f"rank {victim}", but=[victim])

    def test_a_process_is_killed_while_it_trains(self):
        needs("causes")  # with gloo some ranks learn of it by their time-out only
        with Ranks(4) as ranks:
            ranks.start(train_without_end, ranks.folder)
            ranks.wait_for("ready-0", "ready-1", "ready-2", "ready-3")
            ranks.kill(1)
            self.all_raise(ranks.finish(grace=15), "rank 1", but=[1])

    def test_futures_fail_too(self):
        with Ranks(3) as ranks:
            self.all_raise(ranks.run(futures_fail_too), "rank 2", but=[2])

    def test_a_rank_leaves_early(self):
        with Ranks(3) as ranks:
            self.all_raise(ranks.run(leave_early), "rank 2", but=[2])

    def test_calls_that_differ(self):
        needs("causes")  # gloo hangs, or worse
        for function, words in ((differ_in_size, ["4", "5"]), (differ_in_type, ["int32", "float32"]),
                                (differ_in_call, ["(?i)broadcast", "(?i)allreduce"])):
            with self.subTest(function=function.__name__), Ranks(3) as ranks:
                self.all_raise(ranks.run(function), *words)

    def test_a_rank_does_not_come(self):
        with Ranks(3, group=False) as ranks:
            outcomes = ranks.run(come_late, f"{ranks.folder}/late")
            self.all_raise(outcomes, "rank 2")
            for outcome in outcomes[:2]:
                self.assertGreater(outcome.value[1], 1.0)

    def test_monitored_barrier_names_who_is_missing(self):
        for all_ranks, words in ((False, ["1|3"]), (True, ["1", "3"])):
            with self.subTest(all_ranks=all_ranks), Ranks(4, group=False) as ranks:
                outcomes = ranks.run(miss_monitored_barrier, f"{ranks.folder}/barrier", all_ranks)
                self.all_raise(outcomes, but=[1, 3])
                for word in words:
                    self.assertRegex(outcomes[0].value[0], word)

    def test_ranks_go_on_without_one_that_died(self):
        with Ranks(3, group=False) as ranks:
            outcomes = ranks.run(start_again, ranks.folder, limit=40)
            self.assertEqual([outcome.value for outcome in outcomes[:2]], [2.0, 2.0], report(outcomes))

    def test_an_interrupt_in_the_middle_of_a_call(self):
        needs("causes")  # gloo waits for its peers first
        with Ranks(3) as ranks:
            ranks.start(wait_for_nobody, ranks.folder)
            ranks.wait_for("ready-0", "ready-1")
            time.sleep(0.2)  # it is well whether they are in the call yet or just before it
            for rank in (0, 1):
                ranks.kill(rank, signal.SIGINT)
            outcomes = ranks.finish(grace=10)
            self.assertEqual([outcome.kind for outcome in outcomes], ["raised", "raised", "returned"], report(outcomes))
            for outcome in outcomes[:2]:
                self.assertIn("KeyboardInterrupt", outcome.value)


def wait_for_nobody(rank, folder):
    """Ranks 0 and 1 wait for rank 2, which never calls; an interrupt ends that."""
    if rank < 2:
        arrive(folder, f"ready-{rank}")
        dist.all_reduce(torch.ones(4))


if __name__ == "__main__":
    main()
