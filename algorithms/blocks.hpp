// Chunks and ranks counted from some rank on, as algorithms count that look alike from every rank.
#pragma once

#include <algorithm>

#include "src/spi/schedule.hpp"

namespace hocket::algorithms {

// Block i is chunk (base + i) mod size. Adjoining blocks are one range of chunks, or two where they pass the last one:
// two messages then, which costs a header more than one but no copy.
struct Blocks {
  Rank base, size;

  std::uint32_t chunk(Rank block) const { return static_cast<std::uint32_t>((base + block) % size); }

  // Calls visit(first block, its chunk, number of chunks) for each run of adjoining chunks among the blocks
  // begin … end - 1. Requires 0 <= begin <= end <= size.
  template <class Visit>
  void for_each_run(Rank begin, Rank end, Visit visit) const {
    const Rank wrap = size - base;  // the block that is chunk 0
    const auto run = [&](Rank from, Rank to) {
      if (from < to) visit(from, chunk(from), static_cast<std::uint32_t>(to - from));
    };
    run(begin, std::min(end, wrap));
    run(std::max(begin, wrap), end);
  }
};

// The other ranks, the right neighbour first, so that not all ranks begin with the same one.
template <class Visit>
void for_each_peer(const Shape& shape, Visit visit) {
  for (Rank distance = 1; distance < shape.size; ++distance) visit((shape.rank + distance) % shape.size);
}

}  // namespace hocket::algorithms
