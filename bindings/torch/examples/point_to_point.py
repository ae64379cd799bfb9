#!/usr/bin/env python3
"""Messages between two ranks, blocking and not, and the sum of three ranks: by hand round a ring, and by one call."""

import torch
import torch.distributed as dist

import common


def pass_one_number():
    """Rank 0 sends 1 to rank 1, which waits for it."""
    number = torch.zeros(1)
    if dist.get_rank() == 0:
        number += 1
        dist.send(number, 1)
    elif dist.get_rank() == 1:
        dist.recv(number, 0)
    if dist.get_rank() < 2:
        common.check_close(number, [1.0], "the number that was passed")


def pass_it_in_the_background():
    """isend and irecv return at once; the number is there after wait."""
    number = torch.zeros(1)
    if dist.get_rank() == 0:
        number += 2
        request = dist.isend(number, 1)
        request.wait()
    elif dist.get_rank() == 1:
        request = dist.irecv(number, 0)
        request.wait()
    if dist.get_rank() < 2:
        common.check_close(number, [2.0], "the number that was passed in the background")


def sum_round_a_ring():
    """Each rank passes on what it has heard and adds it up; after size - 1 rounds all know all numbers."""
    rank, size = dist.get_rank(), dist.get_world_size()
    total = torch.tensor([rank + 1.0])
    heard = total.clone()
    for _ in range(size - 1):
        arriving = torch.zeros(1)
        request = dist.isend(heard, (rank + 1) % size)
        dist.recv(arriving, (rank - 1) % size)
        request.wait()
        heard = arriving
        total += heard
    return total


def main(_):
    pass_one_number()
    pass_it_in_the_background()
    size = dist.get_world_size()
    expected = size * (size + 1) / 2
    by_hand = sum_round_a_ring()
    by_call = torch.tensor([dist.get_rank() + 1.0])
    dist.all_reduce(by_call)
    for total in (by_hand, by_call):
        common.check_close(total, [expected], "the sum")
    common.say(f"1 + … + {size} = {float(by_call):.0f}, round a ring and by all_reduce")


if __name__ == "__main__":
    common.run(main, common.options(__doc__, ranks=3))
