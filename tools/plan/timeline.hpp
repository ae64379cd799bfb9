// Simulated runs as pictures. Both need a run that was recorded.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "src/plan/simulate.hpp"

namespace hocket {

// "rank 2 sends 4096 bytes to rank 3 (step 4)".
std::string name_of_activity(const Activity& activity);

inline constexpr Rank timeline_ranks_max = 256;
inline constexpr std::size_t timeline_parts_max = 100'000;  // about 25 MB of a drawing

// What of a run is drawn, so that drawings are of bounded size.
struct DrawnPart {
  std::vector<Rank> ranks;  // rising: all, or so many of those that the critical path comes by, evenly chosen
  bool whole = true;        // all that these ranks do, else only the critical path
  std::size_t every = 1;    // and of that, one of so many parts
};
DrawnPart select(const Simulation& run);

// In the format of Chrome's tracing, which https://ui.perfetto.dev shows: a process for each host, a thread for each
// rank's processor, and others for what it has on the way: as many as messages are on their way at once.
void write_trace(const Network& network, const Simulation& run, std::ostream& out);

// Below a title that ends with the time: one row for each rank over an axis of time, work above, and below it a lane
// for each message that is on its way at the same time as others; the critical path is outlined.
void write_svg(const std::string& title, const Simulation& run, std::ostream& out);

}  // namespace hocket
