"""Tensors of hocket_torch.empty, whose memory the ranks of a host can map."""

import gc
import unittest

import torch
import torch.distributed as dist

from ranks import BACKEND, about, main, on_ranks
from values import SUM, combined, same, value

if BACKEND == "hocket":
    import hocket_torch  # pylint: disable=import-error


@unittest.skipIf(BACKEND != "hocket", "Hocket's own")
class Memory(unittest.TestCase):
    def filled(self, rank, shape, dtype=torch.float32):
        tensor = hocket_torch.empty(shape, dtype=dtype)
        self.assertEqual((tensor.shape, tensor.dtype), (torch.Size(shape), dtype))
        return tensor.copy_(value(rank, shape, dtype))

    @on_ranks(4)
    def test_on_all_ranks(self):
        for dtype in (torch.float32, torch.float64, torch.int64, torch.bfloat16, torch.uint8):
            for shape in ((1,), (0,), (3, 5), (300_000,)):
                with about(dtype, shape):
                    mine = self.filled(self.rank, shape, dtype)
                    dist.all_reduce(mine)
                    same(self, mine, combined([value(rank, shape, dtype) for rank in range(self.size)], SUM))
                    mine = self.filled(self.rank, shape, dtype)
                    dist.broadcast(mine, 1)
                    same(self, mine, value(1, shape, dtype))

    @on_ranks(4)
    def test_on_some_ranks(self):
        shape = (200_000,)
        mine = self.filled(self.rank, shape) if self.rank % 2 else value(self.rank, shape)
        dist.all_reduce(mine)
        same(self, mine, combined([value(rank, shape) for rank in range(self.size)], SUM))

    @on_ranks(4)
    def test_parts_of_it(self):
        whole = hocket_torch.empty(4 * 1000)
        whole[self.rank * 1000:][:1000] = value(self.rank, (1000,))
        dist.all_gather(list(whole.chunk(4)), whole[self.rank * 1000:][:1000])
        same(self, whole, torch.cat([value(rank, (1000,)) for rank in range(4)]))

    @on_ranks(4)
    def test_made_and_dropped_again_and_again(self):
        """What is mapped of an old tensor is not taken for a new one at its address."""
        for turn in range(20):
            mine = hocket_torch.empty(50_000 + 1000 * turn)
            mine.fill_(float(self.rank + turn))
            dist.all_reduce(mine)
            self.assertTrue(bool((mine == 6.0 + 4 * turn).all()))
            del mine
            gc.collect()

    @on_ranks(4)
    def test_it_outlives_its_group(self):
        group = dist.new_group()
        mine = self.filled(self.rank, (5000,))
        dist.all_reduce(mine, group=group)
        dist.destroy_process_group(group)
        del group
        gc.collect()
        same(self, mine, combined([value(rank, (5000,)) for rank in range(self.size)], SUM))


if __name__ == "__main__":
    main()
