// The calls that a run is made of.
#pragma once

#include <chrono>
#include <cstdint>

#include "hocket/hocket.h"
#include "tests/chaos/plan.hpp"

namespace hocket::chaos {

// When this rank last asked the library for something: a rank that computes meanwhile cannot learn of a death before.
class Asked {
 public:
  // Before every call that may fail.
  void now() { at_ = std::chrono::steady_clock::now(); }
  std::int64_t nanoseconds() const { return at_.time_since_epoch().count(); }

 private:
  std::chrono::steady_clock::time_point at_;
};

// One step of the seed's program on all ranks of the communicator: the same calls wherever `salt` is the same. What
// passes is checked; what was the first to fail on `comm` itself is returned. Failures of children are not.
hocket_result make_calls(const Plan& plan, hocket_comm* comm, std::uint64_t salt, Asked& asked);

}  // namespace hocket::chaos
