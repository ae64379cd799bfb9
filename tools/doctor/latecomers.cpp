#include "tools/doctor/latecomers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "tools/doctor/clocks.hpp"

namespace hocket::doctor {
namespace {

// When the ranks that have made it began a collective, by one clock, the first of them first.
std::multimap<std::int64_t, const Record*> beginnings(const Group& group, const std::map<Rank, ClockOffset>& clocks,
                                                      const Call& call) {
  std::multimap<std::int64_t, const Record*> began;
  for (const auto& [rank, record] : group.records) {
    const Call* const theirs = record.collective(call.communicator, call.number);
    if (theirs != nullptr) began.emplace(theirs->began + clocks.at(rank).nanoseconds, &record);
  }
  return began;
}

// Of a communicator that this rank is in.
std::vector<Rank> members(const Group& group, const Record& of, std::uint32_t communicator) {
  const auto known = of.communicators.find(communicator);
  if (known != of.communicators.end() && !known->second.ranks.empty()) return known->second.ranks;
  std::vector<Rank> all(static_cast<std::size_t>(group.size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

Rank yet_to_come(const Group& group, const Record& waiter, const Call& call) {
  Rank without_record = no_rank;
  for (const Rank rank : members(group, waiter, call.communicator)) {
    const Record* const record = group.of(rank);
    if (record == nullptr) {
      if (without_record == no_rank) without_record = rank;
    } else if (record->collective(call.communicator, call.number) == nullptr && !is_past(*record, call)) {
      return rank;
    }
  }
  return without_record;
}

const Call* last_ended(const Record& record) {
  const Call* last = nullptr;
  for (const Call& call : record.calls) {
    if (!call.is_message() && call.ended && call.kind != "split") last = &call;
  }
  return last;
}

bool is_past(const Record& record, const Call& call) {
  const Call* const last = last_ended(record);
  return last != nullptr && last->communicator == call.communicator && last->number > call.number;
}

const Record& last_to_begin(const Group& group, const Call& call) {
  return *beginnings(group, align_clocks(group), call).rbegin()->second;
}

std::string latecomer(const Group& group) {
  const auto clocks = align_clocks(group);
  std::map<Rank, std::pair<int, double>> last;
  int calls = 0;
  for (const Call& call : group.records.begin()->second.calls) {
    if (call.is_message()) continue;
    const auto began = beginnings(group, clocks, call);
    if (began.size() != group.records.size() || began.size() < 2) continue;
    ++calls;
    auto& [times, late] = last[began.rbegin()->second->rank];
    ++times;
    late += static_cast<double>(began.rbegin()->first - began.begin()->first) / 1e9;
  }
  if (last.empty()) return "";
  const auto most = std::ranges::max_element(last, {}, [](const auto& one) { return one.second.first; });
  return fmt::format("; rank {} came last to {} of the last {} calls, {:.6f} s after the first on average", most->first,
                     most->second.first, calls, most->second.second / most->second.first);
}

}  // namespace hocket::doctor
