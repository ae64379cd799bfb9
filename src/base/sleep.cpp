#include "src/base/sleep.hpp"

#include <condition_variable>
#include <mutex>

namespace hocket {

// A std::condition_variable_any would take memory.
void sleep_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable changed;
  bool stopped = false;
  const std::stop_callback on_stop(stop, [&] {
    {
      const std::lock_guard lock(mutex);
      stopped = true;
    }
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  changed.wait_for(lock, time, [&] { return stopped; });
}

}  // namespace hocket
