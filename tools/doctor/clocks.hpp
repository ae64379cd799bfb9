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

// Ranks of one kernel have the same clock. Between others, what one rank did after another one bounds the offset: no
// message is received before it is sent, and no rank ends a call that needs data of everyone before all have begun it.
// Bounds from both sides hold it, as in Cristian's method and NTP, and the closest ones count: recorded messages if
// there are any (HOCKET_RECORD_STEPS), else calls. Ranks that have no messages with the first one are aligned through
// others, whose errors add up. Where nothing says anything, the hosts' dates count.
std::map<Rank, ClockOffset> align_clocks(const Group& group);

}  // namespace hocket::doctor
