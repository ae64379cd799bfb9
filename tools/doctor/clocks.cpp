#include "tools/doctor/clocks.hpp"

#include <algorithm>

namespace hocket::doctor {
namespace {

bool needs_everyone(const Call& call) {
  return call.collective == "allreduce" || call.collective == "barrier" || call.collective == "allgather" ||
         call.collective == "alltoall" || call.collective == "reduce_scatter";
}

ClockOffset between(const Record& first, const Record& other) {
  if (first.kernel == other.kernel && !first.kernel.empty()) return {};
  std::optional<std::int64_t> low, high;
  for (const Call& call : other.calls) {
    if (call.is_message() || !needs_everyone(call) || !call.ended) continue;
    if (call.bytes == 0 && call.collective != "barrier") continue;
    const Call* const same = first.collective(call.communicator, call.number);
    if (same == nullptr || !same->ended || same->text != call.text) continue;
    low = std::max(low.value_or(INT64_MIN), same->began - *call.ended);
    high = std::min(high.value_or(INT64_MAX), *same->ended - call.began);
  }
  if (low && *low <= *high) return {.nanoseconds = *low + (*high - *low) / 2, .error = (*high - *low) / 2};
  return {.nanoseconds = (other.date - other.steady) - (first.date - first.steady), .error = std::nullopt};
}

}  // namespace

std::map<Rank, ClockOffset> align_clocks(const Group& group) {
  std::map<Rank, ClockOffset> offsets;
  const Record& first = group.records.begin()->second;
  for (const auto& [rank, record] : group.records) offsets[rank] = between(first, record);
  return offsets;
}

}  // namespace hocket::doctor
