// Chains: from the root to its right neighbour and so on, or the other way. Slow for one message, but the executor cuts
// the data into slices, and those follow each other without a gap: for large data each link carries it once. The
// pipeline of J. Pješivac-Grbović et al., "Performance analysis of MPI collective operations", Cluster Computing 10
// (2007).
#include "algorithms/algorithms.hpp"

namespace hocket::algorithms {
namespace {

struct Chain {
  explicit Chain(const Shape& shape)
      : place((shape.rank - shape.root + shape.size) % shape.size),
        before((shape.rank + shape.size - 1) % shape.size),
        after((shape.rank + 1) % shape.size),
        is_last(place == shape.size - 1) {}

  Rank place;          // 0 at the root
  Rank before, after;  // ranks
  bool is_last;
};

}  // namespace

// N - 1 rounds for the first slice, one for each further; every rank but the last sends S once.
void chain_broadcast(const Shape& shape, Script& script) {
  const Chain chain(shape);
  const bool is_root = chain.place == 0;
  const Range data = is_root ? script.input(0) : script.output(0);
  if (!is_root) script.recv(chain.before, data);
  if (!chain.is_last) script.send(chain.after, data);
  if (is_root) script.copy(script.input(0), script.output(0));
}

// N - 1 rounds for the first slice, one for each further; every rank but the root sends S once.
void chain_reduce(const Shape& shape, Script& script) {
  const Chain chain(shape);
  const bool is_root = chain.place == 0;
  Range sum = script.input(0);
  if (!chain.is_last) {
    sum = is_root ? script.output(0) : script.scratch(script.input(0));
    script.recv_reduce(chain.after, script.input(0), sum);
  }
  if (!is_root) return script.send(chain.before, sum);
  if (chain.is_last) script.copy(sum, script.output(0));
}

}  // namespace hocket::algorithms
