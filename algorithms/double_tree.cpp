// Two binary trees, each for one half of the data: inner ranks of one are leaves of the other, so where data is cut
// into slices that follow each other every rank sends and receives all the time, and each link carries the data once a
// way (a single binary tree: twice, and its leaves send nothing). P. Sanders, J. Speck and J. L. Träff, "Two-tree
// algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35 (2009), the trees and the
// broadcast and reduction on them; messages do not wait for each other here, so their colouring of the edges is not
// needed.
#include <bit>

#include "src/spi/schedule.hpp"

namespace hocket::algorithms {
namespace {

// A member's place in one of the trees. Positions are 1 … members, and a position stands between those of its left and
// its right subtree; its height is that of its lowest set bit. So all odd ones are leaves, and no even one is.
//
// The second tree must have even where the first has odd positions: it is the mirror image where the number of members
// is even, and moved on by one, round the end, where it is odd (where that makes one member a leaf of both).
class TreePlace {
 public:
  // Members are 0 … members - 1.
  TreePlace(Rank member, Rank members, std::uint32_t tree)
      : members_(members), tree_(tree), position_(turn(member + 1)), bit_(position_ & -position_) {}

  // no_rank where there is none.
  Rank parent() const {
    const auto top = static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(members_)));
    if (position_ == top) return no_rank;
    Rank up = position_, bit = bit_;
    do {  // to the subtree of twice the height; positions beyond the last one do not exist, so further up then
      up = (up & ~bit) | (2 * bit);
      bit *= 2;
    } while (up > members_);
    return member_at(up);
  }
  Rank left() const { return bit_ == 1 ? no_rank : member_at(position_ - bit_ / 2); }
  Rank right() const {
    for (Rank bit = bit_ / 2; bit > 0; bit /= 2) {
      if (position_ + bit <= members_) return member_at(position_ + bit);
    }
    return no_rank;
  }
  static Rank top(Rank members, std::uint32_t tree) {
    const TreePlace any(0, members, tree);
    return any.member_at(static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(members))));
  }

 private:
  // From the positions of one tree to those of the other.
  Rank turn(Rank position) const {
    if (tree_ == 0) return position;
    if (members_ % 2 == 0) return members_ + 1 - position;
    return position == 1 ? members_ : position - 1;
  }
  Rank member_at(Rank position) const {
    if (tree_ == 0) return position - 1;
    if (members_ % 2 == 0) return members_ - position;
    return position == members_ ? 0 : position;
  }

  Rank members_;
  std::uint32_t tree_;  // 0 or 1, and so is the chunk that it is for
  Rank position_, bit_;
};

// The trees of all ranks but the root, which stands above both. Members count from the root's right neighbour on.
class RootedTree {
 public:
  RootedTree(const Shape& shape, std::uint32_t tree)
      : shape_(shape), others_(shape.size - 1), tree_(tree), is_root_(shape.rank == shape.root) {}

  // Calls visit(rank) for each child.
  template <class Visit>
  void for_each_child(Visit visit) const {
    if (is_root_) return visit(rank_of(TreePlace::top(others_, tree_)));
    const TreePlace place = own();
    for (const Rank child : {place.left(), place.right()}) {
      if (child != no_rank) visit(rank_of(child));
    }
  }
  // Requires not to be the root.
  Rank parent() const {
    const Rank above = own().parent();
    return above == no_rank ? shape_.root : rank_of(above);
  }

 private:
  TreePlace own() const { return {(shape_.rank - shape_.root - 1 + shape_.size) % shape_.size, others_, tree_}; }
  Rank rank_of(Rank member) const { return (shape_.root + 1 + member) % shape_.size; }

  const Shape& shape_;
  Rank others_;
  std::uint32_t tree_;
  bool is_root_;
};

// Adds what a child brings; lower ranks stand left.
void add_child(Rank child, Range mine, Range sum, ScheduleBuilder& builder) {
  child < builder.shape().rank ? builder.recv_reduce_swapped(child, mine, sum) : builder.recv_reduce(child, mine, sum);
}

constexpr std::uint32_t trees[] = {0, 1};

}  // namespace

// ceil(log2 N) rounds for the first slice, S/2 each way for each further; the root sends S, others S or nothing, but
// for one that may send S/2.
void double_tree_broadcast(const Shape& shape, ScheduleBuilder& builder) {
  const bool is_root = shape.rank == shape.root;
  for (const std::uint32_t half : trees) {
    if (shape.size == 1) break;
    const RootedTree tree(shape, half);
    const Range data = is_root ? builder.input(half) : builder.output(half);
    if (!is_root) builder.recv(tree.parent(), data);
    tree.for_each_child([&](Rank child) { builder.send(child, data); });
  }
  if (is_root) builder.copy(builder.input(0U, shape.chunks), builder.output(0U, shape.chunks));
}

// As double_tree_broadcast() backwards: every rank but the root sends S, and receives S or nothing.
void double_tree_reduce(const Shape& shape, ScheduleBuilder& builder) {
  const bool is_root = shape.rank == shape.root;
  if (shape.size == 1) return builder.copy(builder.input(0U, shape.chunks), builder.output(0U, shape.chunks));
  for (const std::uint32_t half : trees) {
    const RootedTree tree(shape, half);
    Range sum = builder.input(half);
    tree.for_each_child([&](Rank child) {
      const Range mine = sum;
      if (mine.space == Space::input) sum = is_root ? builder.output(half) : builder.scratch(mine);
      add_child(child, mine, sum, builder);
    });
    if (!is_root) builder.send(tree.parent(), sum);
  }
}

// Up both trees, of all ranks, and down again: 2 floor(log2 N) rounds for the first slice; no rank sends or receives
// more than 2S. Partial sums live in the output.
void double_tree_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0U, shape.chunks), builder.output(0U, shape.chunks));
  for (const std::uint32_t half : trees) {
    const TreePlace place(shape.rank, shape.size, half);
    Range sum = builder.input(half);
    for (const Rank child : {place.left(), place.right()}) {
      if (child == no_rank) continue;
      add_child(child, sum, builder.output(half), builder);
      sum = builder.output(half);
    }
    if (place.parent() != no_rank) builder.send(place.parent(), sum);
  }
  for (const std::uint32_t half : trees) {
    const TreePlace place(shape.rank, shape.size, half);
    if (place.parent() != no_rank) builder.recv(place.parent(), builder.output(half));
    for (const Rank child : {place.left(), place.right()}) {
      if (child != no_rank) builder.send(child, builder.output(half));
    }
  }
}

}  // namespace hocket::algorithms
