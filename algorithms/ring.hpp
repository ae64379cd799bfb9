// Rings of some of the ranks, for algorithms that are made of several.
#pragma once

#include "src/spi/schedule.hpp"

namespace hocket::algorithms {

// This rank's place in a ring whose members share out size · width adjoining chunks: the one at place p ends up with
// the p-th `width` of them.
struct Ring {
  Rank place, size;
  Rank left, right;               // the neighbours' ranks
  std::uint32_t first_chunk = 0;  // of those that the ring works on
  std::uint32_t width = 1;        // chunks of each place

  // The first chunk of a place. Places count backwards past zero.
  std::uint32_t chunk_of(Rank at) const {
    return first_chunk + width * static_cast<std::uint32_t>(((at % size) + size) % size);
  }
  // All chunks of a place.
  Range range(Space space, Rank at) const { return {space, 0, chunk_of(at), width}; }
};

// size - 1 steps, after which each member holds the sum of its own chunks. What this rank adds to chunks of place p is
// mine(p), and their sum goes to sum(step, mine(p)).
template <class Mine, class Sum>
void ring_sum(const Ring& ring, Mine mine, Sum sum, ScheduleBuilder& builder) {
  Range partial = mine(ring.place - 1);
  for (Rank step = 0; step < ring.size - 1; ++step) {
    const Range own = mine(ring.place - step - 2);
    builder.send(ring.right, partial);
    partial = sum(step, own);
    builder.recv_reduce(ring.left, own, partial);
  }
}

// size - 1 steps: sends the own chunks from where they are, then passes on what comes from the left, to the output.
void ring_circulate(const Ring& ring, Range own, ScheduleBuilder& builder);

// Reduce-scatter, then allgather, on the ring's chunks: 2(size - 1) steps. What this rank adds lies in `own`, which is
// the input or the output. Partial sums live in the output, whose chunks are final only when the allgather brings them.
void ring_sum_in_output(const Ring& ring, Space own, ScheduleBuilder& builder);
void ring_allreduce_among(const Ring& ring, Space own, ScheduleBuilder& builder);

// The algorithms on the ring of all ranks.
void ring_reduce_scatter(const Shape& shape, ScheduleBuilder& builder);
void ring_allgather(const Shape& shape, ScheduleBuilder& builder);
void ring_allreduce(const Shape& shape, ScheduleBuilder& builder);

}  // namespace hocket::algorithms
