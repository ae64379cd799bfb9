// CompletionSignal: what a thread sleeps on that waits for operations of several executors, none of which it may make
// progress alone: their own threads do.
#pragma once

#include <condition_variable>
#include <mutex>

#include "src/spi/types.hpp"

namespace hocket {

// Thread rule: any thread.
class CompletionSignal {
 public:
  void raise() {
    {
      const std::lock_guard lock(mutex_);
      raised_ = true;
    }
    changed_.notify_one();
  }
  // Until it is raised, or the deadline passes; then it is down again. A thread that looks after this what has ended
  // misses nothing.
  void wait(Deadline deadline) {
    std::unique_lock lock(mutex_);
    while (!raised_ && !deadline.passed()) {
      changed_.wait_until(lock, earlier(deadline, Deadline::after(longest_sleep)).at());
    }
    raised_ = false;
  }

 private:
  static constexpr std::chrono::seconds longest_sleep{60};

  std::mutex mutex_;
  std::condition_variable changed_;
  bool raised_ = false;  // guarded by mutex_
};

}  // namespace hocket
