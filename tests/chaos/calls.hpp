// The calls that a run is made of.
#pragma once

#include <cstdint>

#include "hocket/hocket.h"
#include "tests/chaos/plan.hpp"

namespace hocket::chaos {

// One step of the seed's program on all ranks of the communicator: the same calls wherever `salt` is the same. What
// passes is checked; what was the first to fail on `comm` itself is returned. Failures of children are not.
hocket_result make_calls(const Plan& plan, hocket_comm* comm, std::uint64_t salt);

}  // namespace hocket::chaos
