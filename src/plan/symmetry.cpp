#include "src/plan/symmetry.hpp"

namespace hocket {
namespace {

// Ranks of each host, where all have as many, which adjoin; else all ranks.
Rank ranks_of_host(Rank size, const Topology& topology) {
  const Rank each = size / topology.hosts();
  if (each * topology.hosts() != size) return size;
  for (Rank rank = 0; rank < size; ++rank) {
    if (topology.host_of(rank) != rank / each) return size;
  }
  return each;
}

}  // namespace

Rank period_of(const Algorithm& algorithm, Rank size, const Topology& topology) {
  switch (algorithm.symmetry) {
    case Symmetry::none: break;
    case Symmetry::ranks: return 1;
    case Symmetry::rows: {
      const Grid grid = grid_of(size);
      return grid.rows == 1 ? 1 : grid.columns;
    }
    case Symmetry::hosts: return ranks_of_host(size, topology);
  }
  return size;
}

}  // namespace hocket
