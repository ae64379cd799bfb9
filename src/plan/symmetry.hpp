// Symmetry: how much of a group says all of it. Where all ranks can be turned by so many that schedules and network
// turn with them, ranks that far apart do the same at the same times, so one of them stands for all
// (docs/decisions/0044-ranks-that-are-alike-are-simulated-once.md).
#pragma once

#include "src/plan/network.hpp"
#include "src/spi/schedule.hpp"

namespace hocket {

// By how many ranks the schedules of all can be turned; `size` where they cannot.
Rank period_of(const Algorithm& algorithm, Rank size, const Topology& topology);

}  // namespace hocket
