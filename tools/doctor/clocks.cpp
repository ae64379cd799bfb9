#include "tools/doctor/clocks.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "tools/doctor/messages.hpp"

namespace hocket::doctor {
namespace {

// What is known of what to add to one clock to have the time of another.
struct Bounds {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();

  void at_least(std::int64_t offset) { low = std::max(low, offset); }
  void at_most(std::int64_t offset) { high = std::min(high, offset); }
  std::optional<ClockOffset> offset() const {
    constexpr Bounds none;
    if (low == none.low || high == none.high || low > high) return std::nullopt;
    return ClockOffset{.nanoseconds = low + (high - low) / 2, .error = (high - low) / 2 + (high - low) % 2};
  }
};

bool same_clock(const Record& one, const Record& other) {
  return one.kernel == other.kernel && !one.kernel.empty();
}

bool needs_everyone(const Call& call) {
  return call.collective == "allreduce" || call.collective == "barrier" || call.collective == "allgather" ||
         call.collective == "alltoall" || call.collective == "reduce_scatter";
}

void add_calls(const Record& first, const Record& other, Bounds& bounds) {
  for (const Call& call : other.calls) {
    if (call.is_message() || !needs_everyone(call) || !call.ended) continue;
    if (call.bytes == 0 && call.collective != "barrier") continue;
    const Call* const same = first.collective(call.communicator, call.number);
    if (same == nullptr || !same->ended || same->text != call.text) continue;
    bounds.at_least(same->began - *call.ended);
    bounds.at_most(*same->ended - call.began);
  }
}

// By two ranks: what to add to the second one's clock to have the first one's time.
using Offsets = std::map<std::pair<Rank, Rank>, ClockOffset>;

void add_pair(Offsets& offsets, Rank one, Rank other, const ClockOffset& offset) {
  offsets[{one, other}] = offset;
  offsets[{other, one}] = {.nanoseconds = -offset.nanoseconds, .error = offset.error};
}

Offsets offsets_of_pairs(const Group& group) {
  std::map<std::pair<Rank, Rank>, Bounds> bounds;
  for (const Message& message : messages_of(group)) {
    if (same_clock(*message.sender, *message.receiver) || !message.received->ended) continue;
    const std::int64_t difference = message.sent->began - *message.received->ended;
    bounds[{message.sender->rank, message.receiver->rank}].at_least(difference);
    bounds[{message.receiver->rank, message.sender->rank}].at_most(-difference);
  }
  const Record& first = group.records.begin()->second;
  for (const auto& [rank, record] : group.records) {
    if (!same_clock(first, record)) add_calls(first, record, bounds[{first.rank, rank}]);
  }
  Offsets offsets;
  for (const auto& [ranks, bound] : bounds) {
    const auto offset = bound.offset();
    const auto known = offsets.find(ranks);
    if (offset && (known == offsets.end() || *offset->error < *known->second.error)) {
      add_pair(offsets, ranks.first, ranks.second, *offset);
    }
  }
  std::map<std::string, Rank> of_kernel;  // the first rank that runs there
  for (const auto& [rank, record] : group.records) {
    if (record.kernel.empty()) continue;
    const auto [place, is_first] = of_kernel.emplace(record.kernel, rank);
    if (!is_first) add_pair(offsets, place->second, rank, {});
  }
  return offsets;
}

}  // namespace

// The ways with the smallest errors (Dijkstra).
std::map<Rank, ClockOffset> align_clocks(const Group& group) {
  const Record& first = group.records.begin()->second;
  const Offsets pairs = offsets_of_pairs(group);
  std::map<Rank, ClockOffset> reached{{first.rank, {}}}, found;
  while (!reached.empty()) {
    const auto nearest = std::ranges::min_element(reached, {}, [](const auto& one) { return *one.second.error; });
    const auto [rank, offset] = *nearest;
    reached.erase(nearest);
    found.emplace(rank, offset);
    for (auto pair = pairs.lower_bound({rank, 0}); pair != pairs.end() && pair->first.first == rank; ++pair) {
      const Rank next = pair->first.second;
      if (found.contains(next)) continue;
      const ClockOffset through{.nanoseconds = offset.nanoseconds + pair->second.nanoseconds,
                                .error = *offset.error + *pair->second.error};
      const auto [place, is_new] = reached.emplace(next, through);
      if (!is_new && *through.error < *place->second.error) place->second = through;
    }
  }
  for (const auto& [rank, record] : group.records) {
    const std::int64_t by_date = (record.date - record.steady) - (first.date - first.steady);
    found.emplace(rank, ClockOffset{.nanoseconds = by_date, .error = std::nullopt});
  }
  return found;
}

}  // namespace hocket::doctor
