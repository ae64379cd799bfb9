"""Large tensors of lists, which are moved from and to wherever they lie."""

import unittest

import torch
import torch.distributed as dist

from ranks import BACKEND, about, main, needs, on_ranks
from values import same, value

LARGE = (150, 200)  # four of these are moved without being copied together


class LargeLists(unittest.TestCase):

    def places(self):
        """Four tensors, several times: apart, in one piece, with other strides, out of order."""
        yield "apart", [torch.zeros(LARGE) for _ in range(self.size)]
        yield "in one piece", list(torch.zeros(self.size * LARGE[0], LARGE[1]).chunk(self.size))
        yield "out of order", list(torch.zeros(self.size * LARGE[0], LARGE[1]).chunk(self.size))[::-1]
        if BACKEND == "gloo":  # which moves tensors with other strides as they lie in memory
            return
        yield "transposed", [torch.zeros(LARGE[::-1]).t() for _ in range(self.size)]
        mixed = [torch.zeros(LARGE) for _ in range(self.size)]
        mixed[self.rank] = torch.zeros(LARGE[::-1]).t()
        yield "one transposed", mixed

    def filled(self, places, salt=0):
        for to, place in enumerate(places):
            place.copy_(value(self.rank, LARGE, salt=salt + to))
        return places

    @on_ranks(4)
    def test_all_gather(self):
        for name, places in self.places():
            with about(name):
                dist.all_gather(places, value(self.rank, LARGE))
                for rank, place in enumerate(places):
                    same(self, place, value(rank, LARGE))

    @on_ranks(4)
    def test_all_gather_from_any_of_its_outputs(self):
        for block in range(self.size):
            with about(block):
                places = [torch.zeros(LARGE) for _ in range(self.size)]
                places[block].copy_(value(self.rank, LARGE))
                dist.all_gather(places, places[block])
                for rank, place in enumerate(places):
                    same(self, place, value(rank, LARGE))

    @on_ranks(4)
    def test_gather_and_scatter(self):
        for root in range(self.size):
            for name, places in self.places():
                with about(root, name):
                    dist.gather(value(self.rank, LARGE), places if self.rank == root else None, root)
                    for rank, place in enumerate(places if self.rank == root else []):
                        same(self, place, value(rank, LARGE))
                    output = torch.zeros(LARGE)
                    dist.scatter(output, self.filled(places) if self.rank == root else None, root)
                    same(self, output, value(root, LARGE, salt=self.rank))

    @on_ranks(4)
    def test_scatter_of_one_tensor_to_all(self):
        one, output = value(self.rank, LARGE), torch.zeros(LARGE)
        dist.scatter(output, [one] * self.size if self.rank == 1 else None, 1)
        same(self, output, value(1, LARGE))

    @unittest.skipIf(BACKEND == "gloo", "it writes where it still reads")
    @on_ranks(4)
    def test_scatter_into_any_of_its_inputs(self):
        for block in range(self.size):
            with about(block):
                places = self.filled([torch.zeros(LARGE) for _ in range(self.size)])
                dist.scatter(places[block], places if self.rank == 1 else None, 1)
                same(self, places[block], value(1, LARGE, salt=self.rank))

    @on_ranks(4)
    def test_all_to_all(self):
        needs("alltoall")
        for (name, outputs), (_, inputs) in zip(self.places(), reversed(list(self.places()))):
            with about(name):
                dist.all_to_all(outputs, self.filled(inputs))
                for rank, output in enumerate(outputs):
                    same(self, output, value(rank, LARGE, salt=self.rank))

    @on_ranks(4)
    def test_all_to_all_in_place(self):
        needs("alltoall")
        places = self.filled([torch.zeros(LARGE) for _ in range(self.size)])
        dist.all_to_all(places, places)
        for rank, place in enumerate(places):
            same(self, place, value(rank, LARGE, salt=self.rank))


if __name__ == "__main__":
    main()
