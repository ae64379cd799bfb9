"""Arguments that a process group refuses, with Gloo's exceptions and words, which scripts and torch's tests look for."""

import re
import unittest
import warnings

import torch
import torch.distributed as dist

from ranks import TORCH_2, backend_of_all, main, on_ranks

# pylint: disable=protected-access

ONE, DOUBLE, LONGER = torch.zeros(1), torch.zeros(1, dtype=torch.float64), torch.zeros(2)


def options(kind, **fields):
    made = kind()
    for name, content in fields.items():
        setattr(made, name, content)
    return made


class Checks(unittest.TestCase):
    def refuses(self, *cases):
        """Each: what the message must have in it, then a call of the default group with its arguments."""
        group = backend_of_all()
        wrong = []
        for words, name, *arguments in cases:
            try:
                getattr(group, name)(*arguments)
                wrong.append(f"nothing for {words}")
            except (ValueError, RuntimeError) as error:
                if not re.search(words, str(error)):
                    wrong.append(f"{words}: {error}")
        dist.barrier()
        self.assertEqual(wrong, [])

    @on_ranks(3)
    def test_broadcast(self):
        def root(rank, tensor=0):
            return options(dist.BroadcastOptions, rootRank=rank, rootTensor=tensor)

        self.refuses(("invalid root rank", "broadcast", [ONE], root(-1)), ("invalid root rank", "broadcast", [ONE], root(3)),
                     ("invalid root tensor", "broadcast", [ONE], root(0, -1)),
                     ("invalid root tensor", "broadcast", [ONE], root(0, 1)),
                     ("invalid root tensor", "broadcast", [], root(0)),
                     ("invalid tensor type", "broadcast", [ONE, DOUBLE], root(0)),
                     ("invalid tensor size", "broadcast", [ONE, LONGER], root(0)))

    @on_ranks(3)
    def test_allreduce(self):
        some = dist.AllreduceOptions()
        self.refuses(("requires non-empty tensor list", "allreduce", [], some),
                     ("invalid tensor type", "allreduce", [ONE, DOUBLE], some),
                     ("invalid tensor size", "allreduce", [ONE, LONGER], some))

    @on_ranks(3)
    def test_allreduce_coalesced(self):
        some = dist.AllreduceCoalescedOptions()
        self.refuses(("requires non-empty tensor list", "allreduce_coalesced", [], some),
                     ("tensors must all have the same type", "allreduce_coalesced", [ONE, DOUBLE], some))

    @on_ranks(3)
    def test_reduce(self):
        def root(rank, tensor=0):
            return options(dist.ReduceOptions, rootRank=rank, rootTensor=tensor)

        self.refuses(("invalid root rank", "reduce", [ONE], root(-1)), ("invalid root rank", "reduce", [ONE], root(3)),
                     ("invalid root tensor", "reduce", [ONE], root(0, 1)),
                     ("requires a single-element tensor list", "reduce", [ONE, ONE], root(0)))

    @on_ranks(3)
    def test_scatter(self):
        mine = dist.get_rank()
        here, there = options(dist.ScatterOptions, rootRank=mine), options(dist.ScatterOptions, rootRank=(mine + 1) % 3)
        self.refuses(("invalid root rank", "scatter", [ONE], [], options(dist.ScatterOptions, rootRank=-1)),
                     ("invalid root rank", "scatter", [ONE], [], options(dist.ScatterOptions, rootRank=3)),
                     ("requires a single-element output tensor list", "scatter", [], [], here),
                     ("requires a single-element output tensor list", "scatter", [ONE, ONE], [], here),
                     ("requires a single-element input list", "scatter", [ONE], [], here),
                     ("requires a single-element input list", "scatter", [ONE], [[ONE] * 3] * 2, here),
                     ("Incorrect input list size", "scatter", [ONE], [[ONE] * 2], here),
                     ("Incorrect input list size", "scatter", [ONE], [[ONE] * 4], here),
                     ("invalid tensor type", "scatter", [ONE], [[DOUBLE] * 3], here),
                     ("invalid tensor size", "scatter", [ONE], [[LONGER] * 3], here),
                     ("requires empty input on non-root", "scatter", [ONE], [[ONE] * 3], there))

    @on_ranks(3)
    def test_gather(self):
        mine = dist.get_rank()
        here, there = options(dist.GatherOptions, rootRank=mine), options(dist.GatherOptions, rootRank=(mine + 1) % 3)
        self.refuses(("invalid root rank", "gather", [], [ONE], options(dist.GatherOptions, rootRank=-1)),
                     ("invalid root rank", "gather", [], [ONE], options(dist.GatherOptions, rootRank=3)),
                     ("requires a single-element input tensor list", "gather", [], [], options(dist.GatherOptions, rootRank=0)),
                     ("requires a single-element input tensor list", "gather", [], [ONE, ONE], here),
                     ("requires a single-element output list", "gather", [], [ONE], here),
                     ("requires a single-element output list", "gather", [[ONE] * 3] * 2, [ONE], here),
                     ("Incorrect output list size", "gather", [[ONE] * 2], [ONE], here),
                     ("Incorrect output list size", "gather", [[ONE] * 4], [ONE], here),
                     ("invalid tensor type", "gather", [[DOUBLE] * 3], [ONE], here),
                     ("invalid tensor size", "gather", [[LONGER] * 3], [ONE], here),
                     ("requires empty output on non-root", "gather", [[ONE] * 3], [ONE], there))

    @on_ranks(3)
    def test_allgather(self):
        self.refuses(("requires non-empty input tensor list", "allgather", [], []),
                     ("requires input/output tensor lists to have the same length", "allgather", [], [ONE]),
                     ("requires input/output tensor lists to have the same length", "allgather", [[ONE] * 3] * 2, [ONE]),
                     ("invalid output tensor list", "allgather", [[ONE] * 2], [ONE]),
                     ("invalid output tensor list", "allgather", [[ONE] * 4], [ONE]),
                     ("invalid tensor type", "allgather", [[ONE, ONE, DOUBLE]], [ONE]),
                     ("invalid tensor size", "allgather", [[ONE, ONE, LONGER]], [ONE]))

    @on_ranks(3)
    def test_allgather_coalesced(self):
        self.refuses(("requires non-empty input tensor list", "allgather_coalesced", [], []),
                     ("output lists should be equal to world size", "allgather_coalesced", [[ONE]], [ONE]),
                     ("invalid output size: \\(expected length 1, got 2\\)|mismatch|length", "allgather_coalesced",
                      [[ONE, ONE]] * 3, [ONE]))

    @on_ranks(3)
    def test_messages(self):
        other = (self.rank + 1) % 3
        self.refuses(("(?i)single.*tensor", "send", [ONE, ONE], other, 0), ("", "recv", [ONE, ONE], other, 0),
                     ("", "recv_anysource", [ONE, ONE], 0), ("(?i)tag must be", "send", [ONE], other, -1),
                     ("(?i)tag must be", "recv", [ONE], other, -1))


class Around(unittest.TestCase):
    """What torch itself makes of groups."""

    @unittest.skipIf(TORCH_2, "PyTorch 2 ignores them")
    @on_ranks(3)
    def test_device_ids_are_for_gpus(self):
        with self.assertRaisesRegex(RuntimeError, "device_ids not supported"):
            dist.barrier(device_ids=[self.rank])

    @on_ranks(3)
    def test_a_rank_outside_a_group_is_warned(self):
        group = dist.new_group([0])
        if self.rank > 0:
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                dist.all_reduce(torch.ones(1), group=group)
            self.assertTrue(any("does not belong to" in str(warning.message) for warning in found), found)

    @on_ranks(3)
    def test_broadcast_coalesced(self):
        """What DistributedDataParallel makes the weights equal with."""
        tensors = [torch.full((size,), float(size + self.rank)).to(dtype)
                   for size in (1, 5, 300, 0) for dtype in (torch.float32, torch.float64, torch.float16)]
        expected = [(tensor - (self.rank - 1) * (tensor.numel() > 0)).clone() for tensor in tensors]
        dist._broadcast_coalesced(dist.distributed_c10d._get_default_group(), tensors, 256, 1)
        for tensor, wanted in zip(tensors, expected):
            self.assertTrue(torch.equal(tensor, wanted), (tensor, wanted))

    @on_ranks(3)
    def test_several_tensors_of_one_process(self):
        """Gloo takes lists: of all of them it makes one sum, and it gathers them rank by rank."""
        group = dist.distributed_c10d._get_default_group()
        two = [torch.full((4,), float(self.rank)), torch.full((4,), 10.0)]
        group.allreduce(two).wait()
        self.assertEqual([float(tensor[0]) for tensor in two], [33.0, 33.0])
        two = [torch.full((4,), float(self.rank)), torch.full((4,), 10.0 + self.rank)]
        group.broadcast(two, options(dist.BroadcastOptions, rootRank=2, rootTensor=1)).wait()
        self.assertEqual([float(tensor[0]) for tensor in two], [12.0, 12.0])
        outputs = [[torch.zeros(1) for _ in range(6)] for _ in range(2)]
        group.allgather(outputs, [torch.full((1,), float(self.rank)), torch.full((1,), 10.0 + self.rank)]).wait()
        for output in outputs:
            self.assertEqual([float(tensor) for tensor in output], [0.0, 10.0, 1.0, 11.0, 2.0, 12.0])


if __name__ == "__main__":
    main()
