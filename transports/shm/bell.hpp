// Bell: a word in shared memory on which one thread sleeps and any other, of any process, wakes it.
//
// Even: awake; odd: asleep, or about to be. Who wakes makes it even again, so a sleep costs at most one system call of
// all who would wake it.
#pragma once

#include <atomic>
#include <cstdint>

#include "hocket/spi/types.hpp"
#include "transports/shm/fence.hpp"

namespace hocket::shm {

class Bell {
 public:
  // The sleeper's: prepare, look once more at what is waited for, then either sleep or cancel.
  std::uint32_t prepare();
  void sleep(std::uint32_t ticket, Deadline deadline);
  void cancel();

  // Anybody's, after having written what the sleeper waits for, and a full_fence(): so the sleeper sees it, or is
  // woken.
  void wake() {
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    if ((now & 1) != 0 && word_.compare_exchange_strong(now, now + 1)) ring();
  }
  // As wake(), but also where a waker died between changing the word and ringing.
  void interrupt();

 private:
  void ring();

  std::atomic<std::uint32_t> word_{0};
};

}  // namespace hocket::shm
