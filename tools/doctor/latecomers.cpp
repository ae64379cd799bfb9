#include "tools/doctor/latecomers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

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

}  // namespace

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
