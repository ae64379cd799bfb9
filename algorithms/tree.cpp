// Binomial trees, any root. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication
// operations in MPICH", International Journal of High Performance Computing Applications 19 (2005), sections 4.2
// (broadcast, also by scatter and allgather) and 4.5 (reduce).
#include "algorithms/tree.hpp"

#include "algorithms/blocks.hpp"
#include "src/spi/schedule.hpp"

namespace hocket::algorithms {
namespace {

// From the root's `source` to every `data`.
void spread(const Place& place, Range source, Range data, ScheduleBuilder& builder) {
  if (!place.is_root()) builder.recv(place.parent(), data);
  place.for_each_child([&](Rank bit) { builder.send(place.child(bit), place.is_root() ? source : data); });
}

// Sums the inputs to the root's output. Partial sums grow in one cell.
void sum_up(const Place& place, ScheduleBuilder& builder) {
  const Range input = builder.input(0);
  Range have = input;
  for (Rank bit = 1; place.has_child(bit); bit *= 2) {
    const bool first = have == input;
    const Range sum = place.is_root() ? builder.output(0) : first ? builder.scratch(input) : have;
    builder.recv_reduce(place.child(bit), have, sum);
    have = sum;
  }
  if (!place.is_root()) builder.send(place.parent(), have);
}

// Where the blocks of a place's subtree lie, block p being that of place p: at the root in `all`, at a leaf, which has
// no other, in `own`, else in scratch.
class Subtree {
 public:
  Subtree(const Place& place, Range all, Range own, ScheduleBuilder& builder)
      : place_(place), blocks_{place.root, place.size}, memory_(all) {
    if (place.is_root()) return;
    memory_ = own;
    if (!place.is_leaf()) {
      memory_ = builder.scratch(ScheduleBuilder::part(all, 0, static_cast<std::uint32_t>(place.end() - place.number)));
    }
  }

  // Calls visit(range) for the blocks begin … end - 1, which are one range or two.
  template <class Visit>
  void for_each_run(Rank begin, Rank end, Visit visit) const {
    blocks_.for_each_run(begin, end, [&](Rank block, std::uint32_t chunk, std::uint32_t count) {
      visit(Range{memory_.space, cell(block), chunk, count});
    });
  }
  Range own_block() const { return {memory_.space, cell(place_.number), blocks_.chunk(place_.number), 1}; }

 private:
  std::uint16_t cell(Rank block) const {
    if (memory_.space != Space::scratch) return 0;
    return static_cast<std::uint16_t>(memory_.cell + block - place_.number);
  }

  const Place& place_;
  Blocks blocks_;
  Range memory_;
};

}  // namespace

// ceil(log2 N) rounds; the root sends S that often.
void binomial_broadcast(const Shape& shape, ScheduleBuilder& builder) {
  const Place place(shape.rank, shape.size, shape.root);
  spread(place, builder.input(0), builder.output(0), builder);
  if (place.is_root()) builder.copy(builder.input(0), builder.output(0));
}

// ceil(log2 N) rounds; every rank but the root sends S once.
void binomial_reduce(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  sum_up(Place(shape.rank, shape.size, shape.root), builder);
}

// Up the tree and down again: 2 ceil(log2 N) rounds, 2(N - 1) messages in all; rank 0 receives and sends
// ceil(log2 N) · S.
void binomial_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  const Place place(shape.rank, shape.size, shape.root);
  sum_up(place, builder);
  spread(place, builder.output(0), builder.output(0), builder);
}

// Up the tree and down again: 2 ceil(log2 N) rounds of one byte, 2(N - 1) messages in all. What is heard is summed for
// the reason that dissemination_barrier() gives.
void binomial_barrier(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return;
  const Place place(shape.rank, shape.size, shape.root);
  const Range heard = builder.scratch(builder.output(0));
  for (Rank bit = 1; place.has_child(bit); bit *= 2) builder.recv_reduce(place.child(bit), heard, heard);
  if (!place.is_root()) {
    builder.send(place.parent(), heard);
    builder.recv_reduce(place.parent(), heard, heard);
  }
  place.for_each_child([&](Rank bit) { builder.send(place.child(bit), heard); });
}

// ceil(log2 N) rounds of 1 or 2 messages; the root sends (N - 1)/N · S, a rank halfway down up to half of that, through
// scratch. Every message holds the blocks of a whole subtree.
void binomial_scatter(const Shape& shape, ScheduleBuilder& builder) {
  const Place place(shape.rank, shape.size, shape.root);
  const Range own = builder.output(shape.rank);
  const Subtree subtree(place, builder.input(0, shape.chunks), own, builder);
  if (!place.is_root()) {
    subtree.for_each_run(place.number, place.end(), [&](Range blocks) { builder.recv(place.parent(), blocks); });
  }
  place.for_each_child([&](Rank bit) {
    subtree.for_each_run(place.number + bit, place.end_of_child(bit),
                         [&](Range blocks) { builder.send(place.child(bit), blocks); });
  });
  if (place.is_root() || !place.is_leaf()) builder.copy(subtree.own_block(), own);
}

// As binomial_scatter() backwards: the root receives (N - 1)/N · S in ceil(log2 N) rounds of 1 or 2 messages.
void binomial_gather(const Shape& shape, ScheduleBuilder& builder) {
  const Place place(shape.rank, shape.size, shape.root);
  const Range own = builder.input(shape.rank);
  const Subtree subtree(place, builder.output(0, shape.chunks), own, builder);
  if (place.is_root() || !place.is_leaf()) builder.copy(own, subtree.own_block());
  for (Rank bit = 1; place.has_child(bit); bit *= 2) {
    subtree.for_each_run(place.number + bit, place.end_of_child(bit),
                         [&](Range blocks) { builder.recv(place.child(bit), blocks); });
  }
  if (place.is_root()) return;
  subtree.for_each_run(place.number, place.end(), [&](Range blocks) { builder.send(place.parent(), blocks); });
}

// A binomial scatter, then a ring that brings each place what its subtree did not have: ceil(log2 N) + N - 1 rounds;
// every rank receives S and sends less than 2S, most at the root. Chunk c belongs to place c. The
// ring without the messages that bring nothing new is that of H. Zhou et al., "A bandwidth-saving optimization for MPI
// broadcast collective operation", arXiv:1603.06809 (2016).
void scatter_allgather_broadcast(const Shape& shape, ScheduleBuilder& builder) {
  const Place place(shape.rank, shape.size, shape.root);
  const Range data = place.is_root() ? builder.input(0, shape.chunks) : builder.output(0, shape.chunks);
  const auto chunks = [&](Rank begin, Rank end) {
    return ScheduleBuilder::part(data, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin));
  };
  if (!place.is_root()) builder.recv(place.parent(), chunks(place.number, place.end()));
  place.for_each_child(
      [&](Rank bit) { builder.send(place.child(bit), chunks(place.number + bit, place.end_of_child(bit))); });

  const Rank right = (shape.rank + 1) % shape.size, left = (shape.rank + shape.size - 1) % shape.size;
  const auto has = [](const Place& at, Rank chunk) { return at.number <= chunk && chunk < at.end(); };
  const Place next(right, shape.size, shape.root);
  for (Rank step = 0; step < shape.size - 1; ++step) {
    const Rank outgoing = (place.number - step + shape.size) % shape.size;
    const Rank incoming = (outgoing - 1 + shape.size) % shape.size;
    if (!has(next, outgoing)) builder.send(right, chunks(outgoing, outgoing + 1));
    if (!has(place, incoming)) builder.recv(left, chunks(incoming, incoming + 1));
  }
  if (place.is_root()) builder.copy(data, builder.output(0, shape.chunks));
}

}  // namespace hocket::algorithms
