// The collectives whose blocks vary in size: how large their blocks are when they are measured.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/collectives.hpp"

namespace hocket::bench {

// Of all blocks, in the order of ranks. Block r of N has 2n(r + 1)/(N + 1) elements, rounded down, where `what.count`
// is n, so that blocks have n on average. Alltoall_v: of the blocks that `rank` sends, with (rank + r) mod N in place
// of r: it receives as many from each.
std::vector<std::size_t> block_counts(const Case& what, int rank, int ranks);

struct Block {
  std::size_t offset = 0, count = 0;
};
// The block of rank `index`, and how many elements all have together.
Block block_at(const std::vector<std::size_t>& counts, int index);
std::size_t total_of(const std::vector<std::size_t>& counts);

// What recv must hold afterwards, on ranks that receive.
std::vector<Segment> expected_unequal_output(const Case& what, Place place);

}  // namespace hocket::bench
