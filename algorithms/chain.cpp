// Chains: from the root to its right neighbour and so on, or the other way. Slow for one message, but the executor cuts
// the data into slices, and those follow each other without a gap: for large data each link carries it once. The
// pipeline of J. Pješivac-Grbović et al., "Performance analysis of MPI collective operations", Cluster Computing 10
// (2007). The ordered chains go by rank, whatever the root, and every rank adds its own to the sum of all before it.
#include <algorithm>
#include <optional>

#include "src/spi/schedule.hpp"

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

// Receives the sum of all ranks before this one, adds what this rank has on the right and passes the sum on; chunk by
// chunk, so that all ranks are at work. `cell_of(chunk)`: where this rank's sum goes.
template <class CellOf, class PassOn>
void add_in_rank_order(const Shape& shape, ScheduleBuilder& builder, CellOf cell_of, PassOn pass_on) {
  for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
    Range sum = builder.input(chunk);
    if (shape.rank > 0) {
      sum = cell_of(chunk);
      builder.recv_reduce_swapped(shape.rank - 1, builder.input(chunk), sum);
    }
    if (shape.rank < shape.size - 1) {
      builder.send(shape.rank + 1, sum);
    } else {
      pass_on(chunk, sum);
    }
  }
}

// Two cells in turn, so that the next sum can arrive while the last one leaves.
class Cells {
 public:
  Cells(const Shape& shape, ScheduleBuilder& builder) {
    for (std::uint32_t i = 0; i < std::min(shape.chunks, 2U); ++i) cells_[i] = builder.scratch(builder.input(i));
  }
  Range of(const ScheduleBuilder& builder, std::uint32_t chunk) const {
    return ScheduleBuilder::at(cells_[chunk % 2], builder.input(chunk));
  }

 private:
  Range cells_[2];
};

}  // namespace

// N - 1 rounds for the first slice, one for each further; every rank but the last sends S once.
void chain_broadcast(const Shape& shape, ScheduleBuilder& builder) {
  const Chain chain(shape);
  const bool is_root = chain.place == 0;
  const Range data = is_root ? builder.input(0) : builder.output(0);
  if (!is_root) builder.recv(chain.before, data);
  if (!chain.is_last) builder.send(chain.after, data);
  if (is_root) builder.copy(builder.input(0), builder.output(0));
}

// N - 1 rounds for the first slice, one for each further; every rank but the root sends S once.
void chain_reduce(const Shape& shape, ScheduleBuilder& builder) {
  const Chain chain(shape);
  const bool is_root = chain.place == 0;
  Range sum = builder.input(0);
  if (!chain.is_last) {
    sum = is_root ? builder.output(0) : builder.scratch(builder.input(0));
    builder.recv_reduce(chain.after, builder.input(0), sum);
  }
  if (!is_root) return builder.send(chain.before, sum);
  if (chain.is_last) builder.copy(sum, builder.output(0));
}

// From rank 0 to rank N - 1, whose sum goes back the same way: 2(N - 1) rounds for the first chunk, one for each
// further; every rank sends S up, and S down.
void ordered_chain_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  const auto output = [&](std::uint32_t chunk) { return builder.output(chunk); };
  add_in_rank_order(shape, builder, output, [](std::uint32_t, Range) {});
  for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
    if (shape.rank < shape.size - 1) builder.recv(shape.rank + 1, output(chunk));
    if (shape.rank > 0) builder.send(shape.rank - 1, output(chunk));
  }
}

// From rank 0 to rank N - 1, and from there to the root: N rounds for the first chunk, one for each further; every rank
// sends S once.
void ordered_chain_reduce(const Shape& shape, ScheduleBuilder& builder) {
  const Rank last = shape.size - 1;
  if (last == 0) return builder.copy(builder.input(0), builder.output(0));
  const bool is_root = shape.rank == shape.root;
  std::optional<Cells> cells;
  if (!is_root && shape.rank > 0) cells.emplace(shape, builder);
  const auto cell_of = [&](std::uint32_t chunk) { return is_root ? builder.output(chunk) : cells->of(builder, chunk); };
  add_in_rank_order(shape, builder, cell_of, [&](std::uint32_t, Range sum) {
    if (!is_root) builder.send(shape.root, sum);
  });
  if (!is_root || shape.rank == last) return;
  for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) builder.recv(last, builder.output(chunk));
}

// From rank 0 to rank N - 1, which sends each rank its chunk: N rounds for the first chunk, one for each further; every
// rank sends S once.
void ordered_chain_reduce_scatter(const Shape& shape, ScheduleBuilder& builder) {
  const Rank last = shape.size - 1;
  const Range own = builder.output(shape.rank);
  if (last == 0) return builder.copy(builder.input(0), own);
  std::optional<Cells> cells;
  if (shape.rank > 0) cells.emplace(shape, builder);
  const auto is_own = [&](std::uint32_t chunk) { return shape.rank == last && static_cast<Rank>(chunk) == last; };
  const auto cell_of = [&](std::uint32_t chunk) { return is_own(chunk) ? own : cells->of(builder, chunk); };
  add_in_rank_order(shape, builder, cell_of, [&](std::uint32_t chunk, Range sum) {
    if (!is_own(chunk)) builder.send(static_cast<Rank>(chunk), sum);
  });
  if (shape.rank != last) builder.recv(last, own);
}

}  // namespace hocket::algorithms
