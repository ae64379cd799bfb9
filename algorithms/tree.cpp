// Binomial trees, any root. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication
// operations in MPICH", International Journal of High Performance Computing Applications 19 (2005), sections 4.2
// (broadcast) and 4.5 (reduce).
#include "algorithms/tree.hpp"

#include "algorithms/algorithms.hpp"

namespace hocket::algorithms {
// ceil(log2 N) rounds; the root sends S that often. Farthest child first: its subtree is the largest.
void binomial_broadcast(const Shape& shape, Script& script) {
  const Place place(shape.rank, shape.size, shape.root);
  const Range data = place.is_root() ? script.input(0) : script.output(0);
  if (!place.is_root()) script.recv(place.parent(), data);
  for (Rank bit = place.reach / 2; bit > 0; bit /= 2) {
    if (place.has_child(bit)) script.send(place.child(bit), data);
  }
  if (place.is_root()) script.copy(script.input(0), script.output(0));
}

// ceil(log2 N) rounds; every rank but the root sends S once. Partial sums grow in one cell, at the root in the output.
void binomial_reduce(const Shape& shape, Script& script) {
  const Place place(shape.rank, shape.size, shape.root);
  const Range input = script.input(0);
  if (shape.size == 1) return script.copy(input, script.output(0));
  Range have = input;
  for (Rank bit = 1; place.has_child(bit); bit *= 2) {
    const bool first = have == input;
    const Range sum = place.is_root() ? script.output(0) : first ? script.scratch(input) : have;
    script.recv_reduce(place.child(bit), have, sum);
    have = sum;
  }
  if (!place.is_root()) script.send(place.parent(), have);
}

}  // namespace hocket::algorithms
