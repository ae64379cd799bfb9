// Prefixes: each rank gets the reduction of the ranks before it, with itself (scan) or without (exscan). Operands keep
// the order of the ranks, so any associative function may combine them.
//
// Doubling: W. D. Hillis and G. L. Steele, "Data parallel algorithms", Communications of the ACM 29 (1986), section
// "Sum of an array of numbers", with ranks for elements. The chain is pipelined by the executor's slices.
//
// What is received goes where nothing is read any more. Messages go to higher ranks alone, so no circle of waits closes
// even where a receive waits for a send to be over: the highest rank sends nothing.
#include "src/spi/schedule.hpp"

namespace hocket::algorithms {
namespace {

// No later round brings anything: the sender would be before rank 0.
bool is_last_receive(const Shape& shape, Rank distance) {
  return shape.rank < 2 * distance;
}

}  // namespace

// ceil(log2(N)) rounds; every rank sends S at most as often. In the round of distance d, a rank has the reduction of
// itself and the d - 1 ranks before it.
void doubling_scan(const Shape& shape, ScheduleBuilder& builder) {
  const Range input = builder.input(0), output = builder.output(0);
  if (shape.rank == 0) builder.copy(input, output);
  Range have = input;
  Range cells[2];
  for (Range& cell : cells) {
    if (shape.rank > 1) cell = builder.scratch(input);
  }
  Rank round = 0;
  for (Rank distance = 1; distance < shape.size; distance *= 2, ++round) {
    if (shape.rank + distance < shape.size) builder.send(shape.rank + distance, have);
    if (shape.rank < distance) continue;
    const Range next = is_last_receive(shape, distance) ? output : cells[round % 2];
    builder.recv_reduce_swapped(shape.rank - distance, have, next);
    have = next;
  }
}

// ceil(log2(N)) rounds; every rank sends S at most as often, and reduces twice what it receives and passes on: what it
// has of those before it and what it sends differ by its own input.
void doubling_exscan(const Shape& shape, ScheduleBuilder& builder) {
  const Range input = builder.input(0);
  if (shape.rank == 0) {
    for (Rank to = 1; to < shape.size; to *= 2) builder.send(to, input);
    return;
  }
  const Range output = builder.output(0), before = builder.scratch(input);
  const Range cells[2] = {builder.scratch(input), builder.scratch(input)};
  Range have = input;  // of this rank and as many before it as are known
  Rank round = 0;
  for (Rank distance = 1; distance < shape.size; distance *= 2, ++round) {
    if (shape.rank + distance < shape.size) builder.send(shape.rank + distance, have);
    if (shape.rank < distance) continue;
    const bool last = is_last_receive(shape, distance), sends_on = shape.rank + 2 * distance < shape.size;
    const Range next = last && !sends_on ? output : before;
    if (distance == 1) {
      builder.recv(shape.rank - 1, next);
    } else {
      builder.recv_reduce_swapped(shape.rank - distance, before, next);
    }
    if (!sends_on) continue;
    have = cells[round % 2];
    builder.reduce(before, input, have);
    if (last) builder.copy(before, output);
  }
}

// N - 1 rounds for the first slice, one for each further; every rank but the last sends S once.
void chain_scan(const Shape& shape, ScheduleBuilder& builder) {
  const Range input = builder.input(0), output = builder.output(0);
  if (shape.rank == 0) {
    builder.copy(input, output);
  } else {
    builder.recv_reduce_swapped(shape.rank - 1, input, output);
  }
  if (shape.rank + 1 < shape.size) builder.send(shape.rank + 1, shape.rank == 0 ? input : output);
}

// N - 1 rounds for the first slice, one for each further; every rank but the last sends S once.
void chain_exscan(const Shape& shape, ScheduleBuilder& builder) {
  const Range input = builder.input(0);
  const bool is_last = shape.rank + 1 == shape.size;
  if (shape.rank == 0) {
    if (!is_last) builder.send(1, input);
    return;
  }
  if (is_last) return builder.recv(shape.rank - 1, builder.output(0));
  const Range before = builder.scratch(input), sum = builder.scratch(input);
  builder.recv(shape.rank - 1, before);
  builder.reduce(before, input, sum);
  builder.send(shape.rank + 1, sum);
  builder.copy(before, builder.output(0));
}

}  // namespace hocket::algorithms
