// Ring algorithms: every rank sends to its right neighbour and receives from its left one, and every link carries the
// same load. P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", Journal
// of Parallel and Distributed Computing 69 (2009).
#include "algorithms/ring.hpp"

#include "src/spi/schedule.hpp"

namespace hocket::algorithms {
namespace {

Ring ring_of_all(const Shape& shape) {
  return {.place = shape.rank,
          .size = shape.size,
          .left = (shape.rank + shape.size - 1) % shape.size,
          .right = (shape.rank + 1) % shape.size};
}

}  // namespace

void ring_circulate(const Ring& ring, Range own, ScheduleBuilder& builder) {
  for (Rank step = 0; step < ring.size - 1; ++step) {
    builder.send(ring.right, step == 0 ? own : ring.range(Space::output, ring.place - step));
    builder.recv(ring.left, ring.range(Space::output, ring.place - step - 1));
  }
}

void ring_sum_in_output(const Ring& ring, Space own, ScheduleBuilder& builder) {
  ring_sum(
      ring, [&](Rank at) { return ring.range(own, at); },
      [](Rank, Range mine) {
        return Range{Space::output, 0, mine.chunk, mine.count};
      },
      builder);
}

void ring_allreduce_among(const Ring& ring, Space own, ScheduleBuilder& builder) {
  ring_sum_in_output(ring, own, builder);
  ring_circulate(ring, ring.range(Space::output, ring.place), builder);
}

// N - 1 steps; sends and receives (N - 1)/N · S. Chunk c starts at rank c + 1 and ends, complete, at rank c. Partial
// sums alternate between two cells, so that the next one can arrive while the last one leaves.
void ring_reduce_scatter(const Shape& shape, ScheduleBuilder& builder) {
  const Ring ring = ring_of_all(shape);
  if (ring.size == 1) return builder.copy(builder.input(0), builder.output(0));
  Range cells[2];
  if (ring.size > 2) cells[0] = builder.scratch(builder.input(0));
  if (ring.size > 3) cells[1] = builder.scratch(builder.input(0));
  ring_sum(
      ring, [&](Rank at) { return builder.input(at); },
      [&](Rank step, Range mine) {
        return step == ring.size - 2 ? builder.output(ring.place) : ScheduleBuilder::at(cells[step % 2], mine);
      },
      builder);
}

// N - 1 steps; sends and receives (N - 1)/N · S.
void ring_allgather(const Shape& shape, ScheduleBuilder& builder) {
  ring_circulate(ring_of_all(shape), builder.input(shape.rank), builder);
  builder.copy(builder.input(shape.rank), builder.output(shape.rank));
}

// 2(N - 1) steps; sends and receives 2(N - 1)/N · S, the least possible.
void ring_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  ring_allreduce_among(ring_of_all(shape), Space::input, builder);
}

}  // namespace hocket::algorithms
