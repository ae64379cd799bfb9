// Simulated runs as pictures. Both need a run that was recorded.
#pragma once

#include <ostream>
#include <string>

#include "src/plan/simulate.hpp"

namespace hocket {

// "rank 2 sends 4096 bytes to rank 3 (step 4)".
std::string name_of_activity(const Activity& activity);

// In the format of Chrome's tracing, which https://ui.perfetto.dev shows: a process for each host, a thread for each
// rank's processor and another for what it has on the way.
void write_trace(const Network& network, const Simulation& run, std::ostream& out);

// One row for each rank, work above and messages on their way below; the critical path outlined.
void write_svg(const Network& network, const Simulation& run, std::ostream& out);

}  // namespace hocket
