// A stream of the double of a GPU: a thread that does one piece of work after the other.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "src/spi/types.hpp"

namespace hocket::testing_support {

class HostStream {
 public:
  // Told whether the stream is being destroyed, so that work that waits gives up.
  using Stopped = std::function<bool()>;
  using Work = std::function<void(const Stopped&)>;

  explicit HostStream(std::chrono::microseconds delay)
      : thread_([this, delay](const std::stop_token& stop) { run(stop, delay); }) {}
  ~HostStream() { finish_or_stop(); }
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  void put(Work work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  bool finish(Deadline deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline.at(), [this] { return work_.empty(); });
  }

 private:
  static constexpr auto patience = std::chrono::milliseconds(200);

  // What waits for an event of a process that has ended would never be done.
  void finish_or_stop() {
    (void)finish(Deadline::after(patience));
    thread_.request_stop();
    thread_.join();
  }
  void run(const std::stop_token& stop, std::chrono::microseconds delay) {
    const Stopped stopped = [&stop] { return stop.stop_requested(); };
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !work_.empty(); })) {
      const Work& next = work_.front();
      lock.unlock();
      if (delay.count() > 0) std::this_thread::sleep_for(delay);
      next(stopped);
      lock.lock();
      work_.pop_front();
      changed_.notify_all();
      if (stop.stop_requested()) return;
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Work> work_;  // the first is being done
  std::jthread thread_;    // last: it uses the others
};

}  // namespace hocket::testing_support
