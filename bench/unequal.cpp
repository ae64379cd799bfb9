#include "bench/unequal.hpp"

#include <numeric>

namespace hocket::bench {

std::vector<std::size_t> block_counts(const Case& what, int rank, int ranks) {
  const auto all = static_cast<std::size_t>(ranks);
  const std::size_t first = what.collective->row->transposes() ? static_cast<std::size_t>(rank) : 0;
  std::vector<std::size_t> counts(all);
  for (std::size_t block = 0; block < all; ++block) {
    counts[block] = 2 * what.count * ((first + block) % all + 1) / (all + 1);
  }
  return counts;
}

std::size_t total_of(const std::vector<std::size_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

Block block_at(const std::vector<std::size_t>& counts, int index) {
  return {std::accumulate(counts.begin(), counts.begin() + index, std::size_t{0}),
          counts[static_cast<std::size_t>(index)]};
}

std::vector<Segment> expected_unequal_output(const Case& what, Place place) {
  const std::vector<std::size_t> counts = block_counts(what, place.rank, place.size);
  const Block own = block_at(counts, place.rank);
  const CollectiveInfo& collective = *what.collective->row;
  if (collective.output.held == Held::own_chunk) {
    return {{collective.reduces() ? reduction : what.root, own.offset, 0, own.count}};
  }
  std::vector<Segment> segments;
  for (int rank = 0; rank < place.size; ++rank) {
    const Block here = block_at(counts, rank);
    const std::size_t first =
        collective.transposes() ? block_at(block_counts(what, rank, place.size), place.rank).offset : 0;
    segments.push_back({rank, first, here.offset, here.count});
  }
  return segments;
}

}  // namespace hocket::bench
