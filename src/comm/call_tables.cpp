#include "src/comm/call_tables.hpp"

#include <algorithm>

#include "src/comm/validate.hpp"

namespace hocket::comm {

CallTables CallTables::of(const CallArguments& call, Rank rank, Rank size) {
  const CollectiveInfo& collective = info_of(call.collective);
  CallTables tables;
  // What a rank gives only its own block for has no lists: these may be anything, and are not looked at.
  if (!collective.has_unequal_blocks() || !lists_blocks(collective, rank, call.root)) return tables;
  const auto length = static_cast<std::size_t>(size);
  tables.has_lists_ = true;
  if (length == 1) tables.difference_[0] = 1;
  for (std::size_t i = 0; i < all_lists; ++i) {
    const auto* const list = list_of<const std::size_t*>(call, i * list_step);
    if (list == nullptr) {
      tables.absent_[i / 2][i % 2] = ~std::uint64_t{0};
    } else if (length == 1) {
      tables.only_values_[i] = list[0];
    } else {
      for (std::size_t at = 0; at < length; at += 2) {
        const std::size_t first = std::min(at, length - 2);
        const Pair values{list[first], list[first + 1]};
        tables.kept_.push_back({.values = values, .list = i * list_step, .at = first * sizeof list[first]});
      }
    }
  }
  return tables;
}

// Whether what differs is only that lists have one value each, and these are the same. Few calls come here.
[[gnu::noinline]] bool CallTables::is_same_one(const CallArguments& call) const {
  if (difference_[0] == 0) return false;
  for (std::size_t i = 0; i < all_lists; ++i) {
    const auto* const list = list_of<const std::size_t*>(call, i * list_step);
    if ((list == nullptr) != is_absent(i)) return false;
    if (list != nullptr && list[0] != only_values_[i]) return false;
  }
  return true;
}

}  // namespace hocket::comm
