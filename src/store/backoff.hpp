// How stores that nobody wakes wait: they look again and again, ever more rarely.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "src/spi/types.hpp"

namespace hocket::store {

inline constexpr std::chrono::milliseconds longest_wait_for_key{20};

// Sleeps a little longer each time, and never past the deadline.
class Backoff {
 public:
  Backoff(Deadline deadline, std::chrono::nanoseconds longest) : deadline_(deadline), longest_(longest) {}
  void sleep() {
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause_, deadline_.remaining()));
    pause_ = std::min<std::chrono::nanoseconds>(2 * pause_, longest_);
  }

 private:
  Deadline deadline_;
  std::chrono::nanoseconds longest_, pause_ = std::chrono::microseconds(100);
};

}  // namespace hocket::store
