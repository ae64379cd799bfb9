// Prefixes: each rank gets the reduction of the ranks before it, with itself (scan) or without (exscan). Operands keep
// the order of the ranks, so any associative function may combine them.
//
// Doubling: W. D. Hillis and G. L. Steele, "Data parallel algorithms", Communications of the ACM 29 (1986), section
// "Sum of an array of numbers", with ranks for elements. The chain is pipelined by the executor's slices.
//
// What is received goes where nothing is read any more. Messages go to higher ranks alone, so no circle of waits closes
// even where a receive waits for a send to be over: the highest rank sends nothing.
#include "algorithms/algorithms.hpp"

namespace hocket::algorithms {
namespace {

// No later round brings anything: the sender would be before rank 0.
bool is_last_receive(const Shape& shape, Rank distance) {
  return shape.rank < 2 * distance;
}

}  // namespace

// ceil(log2(N)) rounds; every rank sends S at most as often. In the round of distance d, a rank has the reduction of
// itself and the d - 1 ranks before it.
void doubling_scan(const Shape& shape, Script& script) {
  const Range input = script.input(0), output = script.output(0);
  if (shape.rank == 0) script.copy(input, output);
  Range have = input;
  Range cells[2];
  for (Range& cell : cells) {
    if (shape.rank > 1) cell = script.scratch(input);
  }
  Rank round = 0;
  for (Rank distance = 1; distance < shape.size; distance *= 2, ++round) {
    if (shape.rank + distance < shape.size) script.send(shape.rank + distance, have);
    if (shape.rank < distance) continue;
    const Range next = is_last_receive(shape, distance) ? output : cells[round % 2];
    script.recv_reduce_swapped(shape.rank - distance, have, next);
    have = next;
  }
}

// ceil(log2(N)) rounds; every rank sends S at most as often, and reduces twice what it receives and passes on: what it
// has of those before it and what it sends differ by its own input.
void doubling_exscan(const Shape& shape, Script& script) {
  const Range input = script.input(0);
  if (shape.rank == 0) {
    for (Rank to = 1; to < shape.size; to *= 2) script.send(to, input);
    return;
  }
  const Range output = script.output(0), before = script.scratch(input);
  const Range cells[2] = {script.scratch(input), script.scratch(input)};
  Range have = input;  // of this rank and as many before it as are known
  Rank round = 0;
  for (Rank distance = 1; distance < shape.size; distance *= 2, ++round) {
    if (shape.rank + distance < shape.size) script.send(shape.rank + distance, have);
    if (shape.rank < distance) continue;
    const bool last = is_last_receive(shape, distance), sends_on = shape.rank + 2 * distance < shape.size;
    const Range next = last && !sends_on ? output : before;
    if (distance == 1) {
      script.recv(shape.rank - 1, next);
    } else {
      script.recv_reduce_swapped(shape.rank - distance, before, next);
    }
    if (!sends_on) continue;
    have = cells[round % 2];
    script.reduce(before, input, have);
    if (last) script.copy(before, output);
  }
}

// N - 1 rounds for the first slice, one for each further; every rank but the last sends S once.
void chain_scan(const Shape& shape, Script& script) {
  const Range input = script.input(0), output = script.output(0);
  if (shape.rank == 0) {
    script.copy(input, output);
  } else {
    script.recv_reduce_swapped(shape.rank - 1, input, output);
  }
  if (shape.rank + 1 < shape.size) script.send(shape.rank + 1, shape.rank == 0 ? input : output);
}

// N - 1 rounds for the first slice, one for each further; every rank but the last sends S once.
void chain_exscan(const Shape& shape, Script& script) {
  const Range input = script.input(0);
  const bool is_last = shape.rank + 1 == shape.size;
  if (shape.rank == 0) {
    if (!is_last) script.send(1, input);
    return;
  }
  if (is_last) return script.recv(shape.rank - 1, script.output(0));
  const Range before = script.scratch(input), sum = script.scratch(input);
  script.recv(shape.rank - 1, before);
  script.reduce(before, input, sum);
  script.send(shape.rank + 1, sum);
  script.copy(before, script.output(0));
}

}  // namespace hocket::algorithms
