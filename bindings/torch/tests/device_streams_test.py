"""Tensors in the memory of a GPU, or of the double of one: what streams, futures and torch's allocator see of a call."""

import gc
import unittest

import torch
import torch.distributed as dist

import devices
from devices import LARGE, await_done, held, needs_device, needs_double, on_device, on_host, opened_later
from ranks import main, on_ranks
from values import AVG, same, strided, value


class Streams(unittest.TestCase):
    def setUp(self):
        needs_device()

    @on_ranks(2)
    def test_what_is_in_the_stream_before_the_call_comes_before_it(self):
        for count in (10, LARGE):
            mine, late = on_device(torch.zeros(count)), on_device(value(self.rank, (count,)))
            with held() as let_go, opened_later(let_go):
                mine.copy_(late)
                dist.all_reduce(mine)
                same(self, on_host(mine), value(0, (count,)) + value(1, (count,)))

    @on_ranks(2)
    def test_copies_around_the_call_are_in_their_order_too(self):
        for count in (10, LARGE):
            mine, late = on_device(strided(torch.zeros(count))), on_device(value(self.rank, (count,)))
            places = [on_device(strided(torch.zeros(count))) for _ in range(2)]
            with held() as let_go, opened_later(let_go):
                mine.copy_(late)
                works = [dist.all_gather(places, mine, async_op=True), dist.all_reduce(mine, async_op=True)]
                for work in works:
                    work.wait()
                same(self, on_host(mine), value(0, (count,)) + value(1, (count,)))
            for rank, place in enumerate(places):
                same(self, on_host(place), value(rank, (count,)))

    @on_ranks(2)
    def test_messages_are_in_the_order_of_the_stream(self):
        for count in (10, LARGE):
            mine, late = on_device(torch.zeros(count)), on_device(value(self.rank, (count,)))
            with held() as let_go, opened_later(let_go):
                mine.copy_(late)
                if self.rank == 0:
                    dist.send(mine, 1)
                else:
                    dist.recv(mine, 0)  # replaces what the copy brings
                same(self, on_host(mine), value(0, (count,)))

    @on_ranks(2)
    def test_wait_holds_the_stream_and_not_the_host(self):
        needs_double()
        mine, late, seen = on_device(torch.zeros(LARGE)), on_device(value(self.rank, (LARGE,))), on_device(torch.zeros(LARGE))
        with held() as let_go:
            mine.copy_(late)
            work = dist.all_reduce(mine, async_op=True)
            self.assertTrue(work.wait())  # though nothing of it can have been done
            self.assertFalse(work.is_completed())
            self.assertTrue(work.is_success())
            with devices.stream(7):
                work.wait()
                seen.copy_(mine)  # in another stream, after the call
                self.assertFalse(devices.double.is_idle(7))
            let_go()
            await_done(work)
            with devices.stream(7):
                same(self, on_host(seen), value(0, (LARGE,)) + value(1, (LARGE,)))

    @on_ranks(2)
    def test_the_stream_of_the_call_goes_on_until_somebody_waits(self):
        needs_double()
        mine, other = on_device(torch.zeros(LARGE)), on_device(torch.zeros(LARGE))
        with held() as let_go:
            work = dist.all_reduce(mine, async_op=True)
            with devices.stream(7):
                other.copy_(mine)
                devices.double.finish(7)  # it does not wait for the call
            work.synchronize()
            let_go()
        on_host(other)

    @on_ranks(2)
    def test_the_allocator_is_told_of_the_side_stream(self):
        needs_double()
        mine, blocks = on_device(torch.ones(LARGE)), [on_device(torch.zeros(10)) for _ in range(2)]
        dist.all_reduce(mine)
        dist.all_gather(blocks, on_device(torch.ones(10)))
        for tensor in (mine, *blocks):
            self.assertNotEqual(devices.double.streams_told_of(tensor), [])

    @on_ranks(2)
    def test_memory_that_is_let_go_lasts_until_the_device_is_done(self):
        for _ in range(20):
            mine = on_device(torch.ones(LARGE))
            with held() as let_go:
                work = dist.all_reduce(mine, async_op=True)
                del mine
                work.wait()
                del work
                gc.collect()
                let_go()
        dist.all_reduce(on_device(torch.ones(LARGE)), async_op=True)  # nobody waits for it
        mine = on_device(torch.ones(LARGE))
        dist.all_reduce(mine)
        same(self, on_host(mine), torch.full((LARGE,), 2.0))

    @on_ranks(2)
    def test_many_calls_in_flight(self):
        tensors = [on_device(torch.full((100 * index,), float(self.rank))) for index in range(60)]
        works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
        for work in reversed(works):
            work.wait()
        for index, tensor in enumerate(tensors):
            same(self, on_host(tensor), torch.ones(100 * index))

    @on_ranks(2)
    def test_a_future_hands_over_its_stream(self):
        for count in (10, LARGE):
            mine = on_device(value(self.rank, (count,)))
            expected = value(0, (count,)) + value(1, (count,))
            future = dist.all_reduce(mine, async_op=True).get_future()
            seen = future.then(lambda done: on_host(done.value()[0])).wait()
            same(self, seen, expected)
            same(self, on_host(future.wait()[0]), expected)


class Training(unittest.TestCase):
    def setUp(self):
        if not devices.HAS_GPU:
            self.skipTest("the double has too few operators")

    @on_ranks(2)
    def test_distributed_data_parallel(self):
        def losses(place, rows, wrap):
            torch.manual_seed(3)
            model = wrap(torch.nn.Sequential(torch.nn.Linear(64, 300), torch.nn.Tanh(), torch.nn.Linear(300, 1)).to(place))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.003)  # more, and rounding grows
            found = []
            for _ in range(10):
                optimizer.zero_grad()
                loss = model(rows.to(place)).pow(2).mean()
                loss.backward()
                optimizer.step()
                found.append(loss.detach().cpu())
            return torch.stack(found)

        rows = torch.arange(8 * 64).reshape(8, 64).sin()
        mine = losses("cuda", rows[self.rank * 4:][:4], torch.nn.parallel.DistributedDataParallel)
        dist.all_reduce(mine, AVG)
        self.assertTrue(torch.allclose(mine, losses("cpu", rows, lambda model: model), rtol=1e-3), mine)


if __name__ == "__main__":
    main()
