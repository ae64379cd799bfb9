// The word of a ring that says whether its other end sleeps in poll(2).
#pragma once

#include <atomic>
#include <cstdint>

#include "src/base/wake_event.hpp"

namespace hocket::shm {

// Wakes a sleeper, unless another one has by now. Few messages come here, and those that do not are not to pay for it.
[[gnu::noinline]] inline void wake(std::atomic<std::uint32_t>& asleep, int wake_event) {
  if (asleep.exchange(0) != 0) set_event(wake_event);
}

}  // namespace hocket::shm
