// Watcher: the thread of an executor. It progresses what was started asynchronously while no caller does. While nothing
// is to be done it sleeps on what tells of a peer's end, so that a death is noticed and passed on also by a rank that
// is busy elsewhere. What it sees there while somebody else progresses, it passes on: a holder that sleeps on a window
// does not see it.
#pragma once

#include <poll.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "src/exec/peers.hpp"
#include "src/exec/progress_lock.hpp"

namespace hocket {

class Watcher {
 public:
  struct Duties {
    std::function<void()> progress;  // called when this thread has taken progress; gives it back, throws nothing
    std::function<void()> fail;      // called while an exception of this thread is handled; throws nothing
  };

  // What is submitted while it dozes, and for which nobody waits, is progressed so much later at most. The longer only
  // where callers have started one operation after another for nearly as long, and progressed; twice that where they go
  // on. Each doze ends with an interrupt and two changes of threads, for which a rank that shares its core pays.
  static constexpr std::chrono::microseconds shortest_doze{200}, longest_doze{3200};

  // `lock` outlives it.
  explicit Watcher(ProgressLock& lock) : lock_(lock), doze_(shortest_doze) {}
  // Code::out_of_resources where no thread could be started.
  Status start(Duties duties);
  // Once the lock was told to stop.
  void join();

  // ---- the thread that progresses ----
  // What is to be watched from now on: null: nothing any more.
  void show(Peers* peers);
  // Whether it was shown all that `peers` would have it watch.
  bool knows(const Peers& peers) const { return shown_epoch_ == peers.watch_epoch(); }

 private:
  void run();
  bool sleep();
  int poll(ProgressLock::Rest rest, Deadline deadline);

  ProgressLock& lock_;
  Duties duties_;
  std::uint64_t shown_epoch_ = 0;  // of the thread that progresses
  std::vector<pollfd> next_;       // likewise
  std::mutex mutex_;
  std::vector<pollfd> watched_;          // guarded by mutex_
  std::optional<Deadline> watch_until_;  // likewise: when something is to be looked at in any case
  std::atomic<std::uint64_t> shown_{0};  // how often
  std::vector<pollfd> watching_;         // the thread's own, as what follows
  std::chrono::microseconds doze_;       // how long it dozed last
  bool patient_ = true;                  // and that it did not do so for longest, or has progressed since
  std::thread thread_;
};

}  // namespace hocket
