"""Tensors in the memory of a GPU, or of the double of one: calls that are refused, and ranks that die."""

import gc
import time
import unittest

import torch
import torch.distributed as dist

import devices
from devices import LARGE, await_done, held, needs_device, needs_double, on_device, on_host
from ranks import Ranks, arrive, main, on_ranks, report
from values import same


class Refused(unittest.TestCase):
    def setUp(self):
        needs_device()

    @on_ranks(3)
    def test_tensors_on_several_devices_are_refused(self):
        mine, host = on_device(torch.ones(5)), torch.ones(5)
        for call in (lambda: dist.all_gather([mine, host, mine], mine), lambda: dist.all_gather([host] * 3, mine),
                     lambda: dist.all_reduce_coalesced([mine, host]), lambda: dist.reduce_scatter(mine, [host] * 3),
                     lambda: dist.all_to_all([mine] * 3, [host] * 3), lambda: dist.all_to_all_single(mine, host),
                     lambda: dist.all_gather_into_tensor(on_device(torch.ones(15)), host)):
            with self.assertRaisesRegex(ValueError, "cuda:0 and cpu|cpu and cuda:0"):
                call()
        dist.all_reduce(mine)
        same(self, on_host(mine), torch.full((5,), 3.0))


def messages_of(*calls):
    found = []
    for call in calls:
        try:
            call()
        except RuntimeError as error:
            found.append(str(error))
    return found


def all_streams_end():
    on_host(on_device(torch.ones(LARGE)))
    if devices.double:
        for number in range(9):
            devices.double.finish(number)


def later_calls():
    return messages_of(lambda: dist.all_reduce(on_device(torch.ones(LARGE))), lambda: dist.recv(on_device(torch.ones(3)), 2))


def lose_a_rank_before_it_came(rank, folder):
    """What the others found: at two waits, and at later calls."""
    dist.all_reduce(on_device(torch.ones(LARGE)))
    if rank == 2:
        time.sleep(100)  # it is killed
    work = dist.all_reduce(on_device(torch.ones(LARGE)), async_op=True)
    arrive(folder, f"ready-{rank}")
    found = messages_of(work.wait, work.wait)
    assert work.is_completed() and not work.is_success()
    all_streams_end()
    return found + later_calls()


def lose_a_rank_whose_device_is_at_work(rank, folder):
    """The ranks have met, and the streams of the others wait for that of rank 2, which never comes as far."""
    dist.all_reduce(on_device(torch.ones(LARGE)))
    mine = on_device(torch.ones(LARGE))
    if rank == 2:
        with held():
            dist.all_reduce(mine)
            arrive(folder, "ready-2")
            time.sleep(100)
    work = dist.all_reduce(mine, async_op=True)
    work.wait()
    arrive(folder, f"ready-{rank}")
    await_done(work)
    all_streams_end()
    return later_calls()


def lose_a_rank_and_the_tensors(rank, folder):
    """How many tensors there are before the call that fails, after it, and when its group is gone."""
    if rank == 2:
        time.sleep(100)
    counts = [devices.double.tensors_alive()]
    work = dist.all_reduce(on_device(torch.ones(LARGE)), async_op=True)
    arrive(folder, f"ready-{rank}")
    messages_of(work.wait)
    del work
    counts.append(devices.double.tensors_alive())
    dist.destroy_process_group()
    gc.collect()
    return counts + [devices.double.tensors_alive()]


class Broken(unittest.TestCase):
    def setUp(self):
        needs_device()

    def lose(self, function, waits_for):
        with Ranks(3) as ranks:
            ranks.start(function, ranks.folder)
            ranks.wait_for(*waits_for)
            ranks.kill(2)
            outcomes = ranks.finish(grace=30)
        for outcome in outcomes[:2]:
            self.assertEqual(outcome.kind, "returned", report(outcomes))
        return [outcome.value for outcome in outcomes[:2]]

    def name_it(self, found, number):
        for messages in found:
            self.assertEqual(len(messages), number, messages)
            for message in messages:
                self.assertIn("rank 2", message)

    def test_a_rank_dies_before_the_ranks_have_met(self):
        self.name_it(self.lose(lose_a_rank_before_it_came, ["ready-0", "ready-1"]), 4)

    def test_a_rank_dies_while_the_devices_are_at_work(self):
        needs_double()
        self.name_it(self.lose(lose_a_rank_whose_device_is_at_work, ["ready-0", "ready-1", "ready-2"]), 2)

    def test_tensors_of_a_call_that_failed_last_as_long_as_the_group(self):
        needs_double()
        for before, failed, after in self.lose(lose_a_rank_and_the_tensors, ["ready-0", "ready-1"]):
            self.assertEqual((failed, after), (before + 1, before))


if __name__ == "__main__":
    main()
