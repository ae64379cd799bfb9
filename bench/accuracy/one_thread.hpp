// All ranks of one collective in one thread, without a transport: the executor's operations, with links between them
// that hand messages over in memory. So what they compute can be looked at without processes, and quickly.
#pragma once

#include <cstddef>
#include <vector>

#include "src/plan/plan.hpp"
#include "src/spi/reduction.hpp"
#include "src/spi/status.hpp"

namespace hocket::accuracy {

using Bytes = std::vector<std::byte>;

// Runs the plan of every rank: `key` with the ranks' numbers in it. inputs: by rank; outputs: the same, as large as
// they must be. Fails where an operation does, or where ranks wait for each other for ever.
Status run_all_ranks(PlanKey key, const Reduction& reduction, const std::vector<Bytes>& inputs,
                     std::vector<Bytes>& outputs);

}  // namespace hocket::accuracy
