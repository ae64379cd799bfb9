// CallTables: the counts and displacements that a call gives where blocks vary. By value: the caller may change its
// lists between two calls.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "src/comm/call_arguments.hpp"

namespace hocket::comm {

class CallTables {
 public:
  CallTables() = default;  // of a call that gives none
  // Of a sound call, by one of `size` ranks.
  static CallTables of(const CallArguments& call, Rank rank, Rank size);

  // Whether another call of this collective, with this root, gives the same. Every call passes here.
  bool fit(const CallArguments& call) const { return values_.empty() || are_given_by(call); }

 private:
  using Lists = std::array<const std::size_t*, 4>;
  static Lists lists_of(const CallArguments& call) {
    const BlockArguments& blocks = call.blocks;
    return {blocks.send_counts, blocks.send_displacements, blocks.recv_counts, blocks.recv_displacements};
  }
  bool are_given_by(const CallArguments& call) const;

  std::size_t length_ = 0;           // of a list
  std::array<bool, 4> given_{};      // which lists are
  std::vector<std::size_t> values_;  // of these, one list behind the other
};

}  // namespace hocket::comm
