// The whole life of one rank of a benchmark.
#pragma once

#include <optional>

#include "bench/options.hpp"
#include "hocket/hocket.hpp"
#include "tools/plan/probe.hpp"

namespace hocket::bench {

// Says why on standard error, and returns the status.
int complain(const std::string& sentence, int exit_status);

// Measures everything; rank 0 tells. Returns the exit status. `comm` becomes another where a rank kills itself. Throws
// hocket::Error.
int run_member(const Options& options, Communicator& comm, bool ranks_are_threads,
               const std::optional<ProbeFigures>& probed);

}  // namespace hocket::bench
