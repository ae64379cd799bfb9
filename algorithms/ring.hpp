// The ring allreduce among some of the ranks, for algorithms that are made of several.
#pragma once

#include "hocket/spi/schedule.hpp"

namespace hocket::algorithms {

// This rank's place in a ring whose members share out `size` adjoining chunks: the one at place p ends up with the
// p-th.
struct Ring {
  Rank place, size;
  Rank left, right;               // the neighbours' ranks
  std::uint32_t first_chunk = 0;  // of those that the ring works on

  // Places count backwards past zero.
  std::uint32_t chunk_of(Rank at) const {
    return first_chunk + static_cast<std::uint32_t>(((at % size) + size) % size);
  }
};

// Reduce-scatter, then allgather, on the ring's chunks: 2(size - 1) steps. What this rank adds lies in `own`, which is
// the input or the output. Partial sums live in the output, whose chunks are final only when the allgather brings them.
void ring_allreduce_among(const Ring& ring, Space own, Script& script);

}  // namespace hocket::algorithms
