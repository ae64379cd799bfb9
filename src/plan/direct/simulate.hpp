// Simulation of the direct paths: each member of a window does what the loops of src/exec/direct do, with what they
// wait for (stages.hpp), part by part, on a described host. Closed forms for the same are in cost.hpp.
//
// An action is work on the member's processor, for which it needs one of the host's cores; when it is done, a line
// tells of it, which the others see after `flag`. A member that can go on does so at once. Where members share cores,
// one that had to wait is woken up first.
#pragma once

#include <cstddef>

#include "src/plan/direct/cost.hpp"
#include "src/plan/simulate.hpp"

namespace hocket {

struct SimulatedDirectCall {
  DirectCall call;
  DirectPath path = DirectPath::one_shot;  // as expect_direct() tells it
  std::size_t calls = 1;                   // in a row, as in SimulatedCall
  bool record = false;
};

// Steps are actions; there are no messages, and what the critical path waits for another's line is latency. Requires a
// network for which expect_direct() has figures, and a path of host memory.
Simulation simulate_direct(const Network& network, const SimulatedDirectCall& call);

}  // namespace hocket
