#include "tools/doctor/waits.hpp"

#include <algorithm>
#include <map>

namespace hocket::doctor {
namespace {

bool awaits(const Wait& wait, Rank rank) {
  return std::ranges::find(wait.awaited, rank) != wait.awaited.end();
}

// Only calls that wait for one rank alone make a circle that can never end.
Rank only_awaited(const Record& record) {
  Rank only = no_rank;
  for (const Wait& wait : record.waits) {
    if (!wait.begun || wait.awaited.size() != 1 || (only != no_rank && only != wait.awaited[0])) return no_rank;
    only = wait.awaited[0];
  }
  return only;
}

}  // namespace

std::vector<Rank> circle_of_waits(const Group& group) {
  for (const auto& [start, record] : group.records) {
    std::vector<Rank> path{start};
    for (const Record* at = &record; at != nullptr;) {
      const Rank next = only_awaited(*at);
      if (next == no_rank) break;
      if (next == start) return path;
      if (std::ranges::find(path, next) != path.end()) break;
      path.push_back(next);
      at = group.of(next);
    }
  }
  return {};
}

const Wait* wait_for(const Record& record, Rank awaited) {
  const auto found = std::ranges::find_if(record.waits, [&](const Wait& wait) { return awaits(wait, awaited); });
  if (found != record.waits.end()) return &*found;
  return record.waits.empty() ? nullptr : &record.waits.front();
}

std::optional<Blocked> find_blocked(const Group& group, Rank culprit) {
  std::map<Rank, int> waiters;  // of ranks that do not wait themselves
  for (const auto& [rank, record] : group.records) {
    for (const Wait& wait : record.waits) {
      for (const Rank awaited : wait.awaited) {
        const Record* const theirs = group.of(awaited);
        if (theirs == nullptr || theirs->waits.empty()) ++waiters[awaited];
      }
    }
  }
  if (culprit == no_rank && !waiters.empty()) {
    culprit = std::ranges::max_element(waiters, {}, [](const auto& entry) { return entry.second; })->first;
  }
  std::optional<Blocked> found;
  for (const auto& [rank, record] : group.records) {
    if (rank == culprit || record.waits.empty()) continue;
    const Wait* const wait = wait_for(record, culprit);
    if (!found || (awaits(*wait, culprit) && !awaits(*found->wait, culprit))) found = Blocked{&record, wait, culprit};
  }
  return found;
}

}  // namespace hocket::doctor
