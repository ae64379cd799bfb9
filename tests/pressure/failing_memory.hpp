// Memory that runs out when a test wants it to: this program's operators new, which count what all its threads ask for.
#pragma once

#include <cstdint>

namespace hocket::pressure_testing {

enum class Shortage : std::uint8_t {
  of_one,   // one allocation fails
  of_rest,  // it fails, and so do all others until stop_failing()
};

// The `number`-th allocation of this process from here on, counted from 1, fails.
void fail_allocation(std::int64_t number, Shortage shortage);
// From here on none fails. Returns whether one has.
bool stop_failing();

}  // namespace hocket::pressure_testing
