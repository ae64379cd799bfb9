// Which cores the ranks of a launch run on.
#pragma once

#include <sched.h>

#include <string>
#include <string_view>
#include <vector>

#include "src/spi/status.hpp"

namespace hocket::launch {

// What ranks may be bound to: nothing, a core each, or that if there are enough.
inline const std::vector<std::string> bindings{"none", "core", "auto"};

// One set for each rank, empty where ranks are not bound: a core with all its hardware threads, neighbours next to each
// other, out of those that this process may use. `binding` is one of the above. Errors: INVALID_ARGUMENT (core, and
// fewer of them than ranks), OUT_OF_RESOURCES (the system does not tell its cores).
Result<std::vector<cpu_set_t>> cores_for(int ranks, std::string_view binding);

}  // namespace hocket::launch
