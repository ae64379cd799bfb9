// What a rank uses while it measures: processor time, and the steps and bytes that the library counts.
#pragma once

#include <time.h>

#include <cstdint>

#include "bench/measure.hpp"
#include "hocket/hocket.hpp"

namespace hocket::bench {

inline double cpu_now_us(bool of_thread) {
  timespec now{};
  clock_gettime(of_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// What one rank used, or all of them together.
struct Use {
  double cpu_us = 0;
  std::uint64_t steps = 0;
  std::uint64_t bytes_sent = 0;
};

// What was used between start() and stop(), over many such spans.
class UseMeter {
 public:
  explicit UseMeter(const Member& member) : member_(member) {}

  void start() {
    before_ = counters();
    cpu_before_ = cpu_now_us(member_.ranks_are_threads);
  }
  void stop() {
    used_.cpu_us += cpu_now_us(member_.ranks_are_threads) - cpu_before_;
    const hocket_counters after = counters();
    used_.steps += after.steps - before_.steps;
    used_.bytes_sent += after.bytes_sent - before_.bytes_sent;
  }
  const Use& used() const { return used_; }

 private:
  hocket_counters counters() const {
    hocket_counters now = HOCKET_COUNTERS_INIT;
    check(hocket_comm_counters(member_.comm, &now));
    return now;
  }

  const Member& member_;
  hocket_counters before_ = HOCKET_COUNTERS_INIT;
  double cpu_before_ = 0;
  Use used_;
};

}  // namespace hocket::bench
