// How the thread that progresses sleeps when there is nothing to do.
#include <poll.h>

#include <algorithm>

#include "src/base/wake_event.hpp"
#include "src/exec/progress_engine.hpp"

namespace hocket {

void ProgressEngine::sleep(Deadline deadline) {
  if (links_due_) return;
  windows_.clear();
  for (const Entry& entry : queue_.running()) {
    entry.operation->before_sleep();
    deadline = earlier(deadline, entry.operation->next_look());
    const bool is_new = entry.window != nullptr && std::ranges::count(windows_, entry.window) == 0;
    if (is_new) windows_.push_back(entry.window);
  }
  deadline = earlier(deadline, earlier(lateness_.next_look(queue_), queue_.next_verdict()));
  if (const auto next = peers_->next_deadline()) deadline = earlier(deadline, *next);
  deadline = earlier(deadline, Deadline::after(ProgressLock::longest_sleep));
  if (looks_for_unseen_peers()) deadline = earlier(deadline, unseen_peers_.next_look());
  if (windows_.empty()) return sleep_on_links(deadline);
  // While a thread sleeps on the window, the watcher looks at the links, at all of them; unless it is that thread.
  const bool watched = (lock_.state() & progress::by_watcher) == 0;
  const bool on_one = windows_.size() == 1 && queue_.only_window() && queue_.searching().empty();
  if (watched && on_one) return sleep_on_window(*windows_.front(), deadline);
  for (Window* const window : windows_) window->prepare_poll();
  if (!advance_operations()) sleep_on_links(deadline);
  for (Window* const window : windows_) window->cancel_sleep();
}

void ProgressEngine::sleep_on_links(Deadline deadline) {
  interests_.clear();
  interests_.push_back({.fd = lock_.holder_event().get(), .events = POLLIN, .revents = 0});
  if (!peers_->arm(interests_)) return;
  if (lock_.fall_asleep()) {
    const timespec span = span_until(deadline);
    ::ppoll(interests_.data(), interests_.size(), &span, nullptr);
    lock_.awake();
  }
  peers_->disarm();
  if ((interests_[0].revents & POLLIN) != 0) clear_event(lock_.holder_event());
}

void ProgressEngine::sleep_on_window(Window& window, Deadline deadline) {
  if (!watcher_.knows(*peers_)) watcher_.show(peers_);
  const std::uint32_t ticket = window.prepare_sleep();
  if (!lock_.fall_asleep(window)) return window.cancel_sleep();
  if (advance_operations()) {  // what happened before this thread said that it sleeps woke nobody
    window.cancel_sleep();
  } else {
    window.sleep(ticket, deadline);
  }
  lock_.awake();
}

}  // namespace hocket
