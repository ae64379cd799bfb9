// Places in a binomial tree.
#pragma once

#include <bit>

#include "hocket/spi/types.hpp"

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

  Rank size, root;
  Rank number;  // 0 at the root
  Rank reach;   // children are number + 1, + 2, + 4 … below number + reach
};

}  // namespace hocket::algorithms
