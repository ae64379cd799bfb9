#include "src/exec/watcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "src/base/signals_blocked.hpp"
#include "src/base/wake_event.hpp"

namespace hocket {

Status Watcher::start(Duties duties) {
  duties_ = std::move(duties);
  watched_.push_back({.fd = lock_.watcher_event().get(), .events = POLLIN, .revents = 0});
  watching_ = watched_;
  try {
    const SignalsBlocked signals_blocked;
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return Status(Code::out_of_resources,
                  fmt::format("no thread could be started for a communicator: {}", error.what()));
  }
  return {};
}

void Watcher::join() {
  if (thread_.joinable()) thread_.join();
}

// Only the thread that progresses may ask the transports.
void Watcher::show(Peers* peers) {
  next_.clear();
  next_.push_back({.fd = lock_.watcher_event().get(), .events = POLLIN, .revents = 0});
  const std::uint64_t epoch = peers != nullptr ? peers->watch_epoch() : shown_epoch_;
  if (peers != nullptr) peers->watch(next_);
  {
    const std::lock_guard lock(mutex_);
    watched_.swap(next_);
    watch_until_ = peers != nullptr ? peers->next_deadline() : std::nullopt;
    ++shown_;
  }
  shown_epoch_ = epoch;
  lock_.show();
}

void Watcher::run() {
  bool called = true;  // something is to be looked at
  while ((lock_.state() & progress::stopping) == 0) {
    if (lock_.take_as_watcher(called, patient_)) {
      duties_.progress();
      called = false;
      patient_ = true;
    } else if (called) {
      const std::uint64_t before = shown_;
      const auto looked = [&] { return shown_ != before; };
      lock_.have_links_looked_at(looked);
      called = !looked();
    } else {
      try {
        called = sleep();
      } catch (...) {
        duties_.fail();
      }
    }
  }
}

int Watcher::poll(ProgressLock::Rest rest, Deadline deadline) {
  using Rest = ProgressLock::Rest;
  doze_ = rest == Rest::doze_longer ? std::min(2 * doze_, longest_doze) : shortest_doze;
  patient_ = doze_ < longest_doze;
  if (rest == Rest::sleep) return ::poll(watching_.data(), watching_.size(), deadline.remaining_ms());
  const timespec time{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(doze_).count()};
  return ::ppoll(watching_.data(), watching_.size(), &time, nullptr);
}

// Returns whether something is to be looked at.
bool Watcher::sleep() {
  Deadline deadline = Deadline::after(ProgressLock::longest_sleep);
  {
    const std::lock_guard lock(mutex_);
    watching_ = watched_;
    if (watch_until_) deadline = earlier(deadline, *watch_until_);
  }
  const int ready = poll(lock_.lie_down(), deadline);
  const bool woken = watching_[0].revents != 0;
  if (woken) clear_event(lock_.watcher_event());  // before the state is looked at: no later wake-up is cleared
  const std::lock_guard lock(mutex_);
  return ready > (woken ? 1 : 0) || (watch_until_ && watch_until_->passed());
}

}  // namespace hocket
