// Places in a binomial tree.
#pragma once

#include <algorithm>
#include <bit>

#include "src/spi/types.hpp"

namespace hocket::algorithms {

// Members are numbered 0 … size - 1, places count from the root: the parent of place p is p without its lowest set bit.
struct Place {
  Place(Rank member, Rank members, Rank root_member)
      : size(members),
        root(root_member),
        number((member - root_member + members) % members),
        reach(number == 0 ? static_cast<Rank>(std::bit_ceil(static_cast<std::uint32_t>(members))) : number & -number) {}

  bool is_root() const { return number == 0; }
  bool has_child(Rank bit) const { return bit < reach && number + bit < size; }
  Rank child(Rank bit) const { return (root + number + bit) % size; }
  Rank parent() const { return (root + number - reach) % size; }
  bool is_leaf() const { return end() == number + 1; }
  // Places of this subtree are number … end - 1; those of the child at `bit` begin at number + bit.
  Rank end() const { return std::min(number + reach, size); }
  Rank end_of_child(Rank bit) const { return std::min(number + 2 * bit, size); }

  // Calls visit(bit) for each child, the farthest first: its subtree is the largest.
  template <class Visit>
  void for_each_child(Visit visit) const {
    for (Rank bit = reach / 2; bit > 0; bit /= 2) {
      if (has_child(bit)) visit(bit);
    }
  }

  Rank size, root;
  Rank number;  // 0 at the root
  Rank reach;   // children are number + 1, + 2, + 4 … below number + reach
};

}  // namespace hocket::algorithms
