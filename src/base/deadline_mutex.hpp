// A mutex that threads take by a deadline, for std::unique_lock. Like std::timed_mutex, but made of what
// ThreadSanitizer follows: GCC 12's does not know the function below std::timed_mutex that locks by a steady clock.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace hocket {

class DeadlineMutex {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [this] { return !taken_; });
    taken_ = true;
  }
  bool try_lock() {
    const std::lock_guard lock(mutex_);
    return !std::exchange(taken_, true);
  }
  bool try_lock_until(std::chrono::steady_clock::time_point when) {
    std::unique_lock lock(mutex_);
    if (!freed_.wait_until(lock, when, [this] { return !taken_; })) return false;
    return taken_ = true;
  }
  void unlock() {
    const std::lock_guard lock(mutex_);
    taken_ = false;
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  bool taken_ = false;
};

}  // namespace hocket
