#include "src/exec/progress_lock.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>

#include "src/base/wake_event.hpp"

namespace hocket {

Status ProgressLock::open() {
  holder_event_ = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  watcher_event_ = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (holder_event_ && watcher_event_) return {};
  return Status(
      Code::out_of_resources,
      fmt::format("no file descriptor is left for a communicator ({}); raise `ulimit -n`", std::strerror(errno)));
}

void ProgressLock::wake_now(const progress::Wakes& wakes) {
  Window* const window = window_;
  if (wakes.holder && wakes.holder_on_window) {
    if (window != nullptr) window->interrupt();
  } else if (wakes.holder) {
    set_event(holder_event_);
  }
  if (wakes.watcher && watcher_event_) set_event(watcher_event_);
  if (!wakes.waiters) return;
  { const std::lock_guard lock(mutex_); }  // a thread between its last look and its sleep goes to sleep first
  changed_.notify_all();
}

void ProgressLock::listen(CompletionSignal& signal) {
  const std::lock_guard lock(listening_);
  signals_.push_back(&signal);
  listeners_ = signals_.size();
}

void ProgressLock::forget(CompletionSignal& signal) {
  const std::lock_guard lock(listening_);
  std::erase(signals_, &signal);
  listeners_ = signals_.size();
}

void ProgressLock::tell_listeners() {
  const std::lock_guard lock(listening_);
  for (CompletionSignal* const signal : signals_) signal->raise();
}

void ProgressLock::announce_now() {
  unannounced_ = false;
  wake_now({.waiters = true});
}

}  // namespace hocket
