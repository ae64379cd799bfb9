// One time axis for the records of ranks whose hosts have clocks of their own.
#pragma once

#include <map>
#include <optional>

#include "tools/doctor/record.hpp"

namespace hocket::doctor {

// What to add to a rank's times to have them on the axis of the group's first record.
struct ClockOffset {
  std::int64_t nanoseconds = 0;
  std::optional<std::int64_t> error = 0;  // how far it may be off; nothing: not known
};

// Ranks of one kernel have the same clock. Between others, no rank ends a call that needs data of everyone before all
// have begun it: each such call bounds the offset from both sides, and the closest bounds hold it. Where no call says
// anything, the hosts' dates count.
std::map<Rank, ClockOffset> align_clocks(const Group& group);

}  // namespace hocket::doctor
