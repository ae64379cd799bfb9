#include "src/comm/call_tables.hpp"

#include "src/comm/validate.hpp"

namespace hocket::comm {

CallTables CallTables::of(const CallArguments& call, Rank rank, Rank size) {
  const CollectiveInfo& collective = info_of(call.collective);
  CallTables tables;
  // What a rank gives only its own block for has no lists: these may be anything, and are not looked at.
  if (!collective.has_unequal_blocks() || !lists_blocks(collective, rank, call.root)) return tables;
  tables.length_ = static_cast<std::size_t>(size);
  const Lists lists = lists_of(call);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    tables.given_[i] = lists[i] != nullptr;
    if (lists[i] != nullptr) tables.values_.insert(tables.values_.end(), lists[i], lists[i] + tables.length_);
  }
  return tables;
}

bool CallTables::are_given_by(const CallArguments& call) const {
  const Lists lists = lists_of(call);
  const std::size_t* kept = values_.data();
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const std::size_t* given = lists[i];
    if ((given != nullptr) != given_[i]) return false;
    if (given == nullptr) continue;
    for (const std::size_t* const end = kept + length_; kept != end; ++kept, ++given) {  // mostly a few
      if (*kept != *given) return false;
    }
  }
  return true;
}

}  // namespace hocket::comm
