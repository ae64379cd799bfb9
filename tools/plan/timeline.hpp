// Simulated runs as pictures. Both need a run that was recorded.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "src/plan/simulate.hpp"

namespace hocket {

// "rank 2 sends 4096 bytes to rank 3 (step 4)".
std::string name_of_activity(const Activity& activity);

inline constexpr Rank timeline_ranks_max = 256;

// Which ranks are drawn, rising: all, or of more than timeline_ranks_max, as many of those that the critical path comes
// by, first ones first.
std::vector<Rank> ranks_to_draw(const Network& network, const Simulation& run);

// In the format of Chrome's tracing, which https://ui.perfetto.dev shows: a process for each host, a thread for each
// rank's processor, and others for what it has on the way: as many as messages are on their way at once.
void write_trace(const Network& network, const Simulation& run, std::ostream& out);

// Below a title that ends with the time: one row for each rank over an axis of time, work above, and below it a lane
// for each message that is on its way at the same time as others; the critical path is outlined.
void write_svg(const std::string& title, const Network& network, const Simulation& run, std::ostream& out);

}  // namespace hocket
