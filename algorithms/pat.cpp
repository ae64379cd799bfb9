// Parallel aggregated trees: the block of every rank has a binomial tree of its own, in which the far hops come first
// on the way out (allgather) and last on the way in (reduce-scatter). So half of the blocks go to a neighbour, a
// quarter two ranks further, and one alone crosses half of the ranks, which spares the upper switches of large
// networks; each rank speaks with 2 log2 N others. S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter
// operations at scale", arXiv:2506.20252 (2025), with one block in a message: there blocks are gathered into longer
// messages, for which they are copied; here they go straight from and to where they belong.
//
// A block is at offset o on the rank that is o ranks from its owner. The tree's parent of o is o without its lowest set
// bit, as in Place.
#include <map>
#include <vector>

#include "algorithms/tree.hpp"
#include "src/spi/schedule.hpp"

namespace hocket::algorithms {
namespace {

// How many partial sums of one distance may be under way: what bounds the memory. Up to 32 ranks it bounds nothing.
constexpr std::size_t window = 8;

// Cells for the partial sums that go one distance further: `window` of them, used in turn.
class CellsInTurn {
 public:
  Range next(Range like, ScheduleBuilder& builder) {
    if (cells_.size() < window) cells_.push_back(builder.scratch(like));
    return ScheduleBuilder::at(cells_[used_++ % window], like);
  }

 private:
  std::vector<Range> cells_;
  std::size_t used_ = 0;
};

}  // namespace

// N - 1 messages of one block, (N - 1)/N · S, in chains of at most log2 N. No scratch.
void pat_allgather(const Shape& shape, ScheduleBuilder& builder) {
  builder.copy(builder.input(shape.rank), builder.output(shape.rank));
  for (Rank offset = 0; offset < shape.size; ++offset) {  // parents first
    const Place place(offset, shape.size, 0);
    const Range block = builder.output(shape.rank - offset);
    if (!place.is_root()) builder.recv((shape.rank - place.reach + shape.size) % shape.size, block);
    place.for_each_child([&](Rank distance) { builder.send((shape.rank + distance) % shape.size, block); });
  }
}

// N - 1 messages of one block, (N - 1)/N · S, in chains of log2 N up to 32 ranks; beyond, where cells are used again,
// of N/32 more. Scratch for up to 8 blocks of each distance, fewer than 8 log2 N.
void pat_reduce_scatter(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  std::map<Rank, CellsInTurn> cells;                           // by the distance that their sums go
  for (Rank offset = shape.size - 1; offset >= 0; --offset) {  // children first
    const Place place(offset, shape.size, 0);
    const Range mine = builder.input(shape.rank + offset);
    Range sum = mine;
    for (Rank distance = 1; place.has_child(distance); distance *= 2) {
      const Range held = sum;
      if (held == mine) sum = place.is_root() ? builder.output(shape.rank) : cells[place.reach].next(mine, builder);
      builder.recv_reduce_swapped((shape.rank - distance + shape.size) % shape.size, held, sum);
    }
    if (!place.is_root()) builder.send((shape.rank + place.reach) % shape.size, sum);
  }
}

}  // namespace hocket::algorithms
