// CallTables: the counts and displacements that a call gives where blocks vary. By value: the caller may change its
// lists between two calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "src/comm/call_arguments.hpp"

namespace hocket::comm {

class CallTables {
 public:
  CallTables() = default;  // of a call that gives none
  // Of a sound call, by one of `size` ranks.
  static CallTables of(const CallArguments& call, Rank rank, Rank size);

  // Whether another call of this collective, with this root, gives the same. Every call passes here.
  [[gnu::always_inline]] bool fit(const CallArguments& call) const { return !has_lists_ || are_given_by(call); }

 private:
  static constexpr std::size_t all_lists = 4;
  // Two values that are compared at once.
  using Pair [[gnu::vector_size(16)]] = std::uint64_t;
  static_assert(sizeof(Pair) == 2 * sizeof(std::size_t));
  // Two neighbours in a list; of an odd number, the last one's are compared twice.
  struct Kept {
    Pair values;
    std::size_t list = 0;  // which list's, in bytes from the first
    std::size_t at = 0;    // likewise into that list
  };

  // There is one decision, at the end; only a list that is no longer given must not be read.
  [[gnu::always_inline]] bool are_given_by(const CallArguments& call) const {
    Pair differences = difference_;
    for (std::size_t i = 0; i < absent_.size(); ++i) differences |= list_of<Pair>(call, i * sizeof(Pair)) & absent_[i];
    for (const Kept& kept : kept_) {
      const auto* const list = list_of<const std::byte*>(call, kept.list);
      if (list == nullptr) return false;
      Pair given;
      std::memcpy(&given, list + kept.at, sizeof given);
      differences |= given ^ kept.values;
    }
    return (differences[0] | differences[1]) == 0 || is_same_one(call);
  }
  bool is_same_one(const CallArguments& call) const;
  bool is_absent(std::size_t list) const { return absent_[list / 2][list % 2] != 0; }

  static constexpr std::size_t list_step = sizeof(const std::size_t*);
  static_assert(sizeof(BlockArguments) == all_lists * list_step);
  // The list that stands so many bytes behind the first, or the addresses of two as numbers.
  template <class List>
  static List list_of(const CallArguments& call, std::size_t offset) {
    List list;
    std::memcpy(&list, reinterpret_cast<const std::byte*>(&call.blocks) + offset, sizeof list);
    return list;
  }

  Pair difference_{};                         // not 0 where lists have one value, in which no two are neighbours
  std::array<Pair, all_lists / 2> absent_{};  // all ones where the list is not given
  std::vector<Kept> kept_;
  std::array<std::size_t, all_lists> only_values_{};  // of these
  bool has_lists_ = false;
};

}  // namespace hocket::comm
