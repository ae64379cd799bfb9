// How the thread that progresses waits: deadlines, and sleep.
#include <utility>

#include "src/base/wake_event.hpp"
#include "src/exec/progress_engine.hpp"

namespace hocket {

// Tells peers where this rank waits, and gives up what is late.
void ProgressEngine::check_deadlines() {
  bool told_over_window = false;
  const auto late = Lateness::find(queue_, told_over_window);
  if (told_over_window) links_due_ = true;  // peers that wait over links say so there
  if (late) {
    look_at_links();  // what peers have said meanwhile may be the cause, or tell where the missing one waits
    return break_down_for(*late->operation, lateness_.did_not_finish(*late, contexts_));
  }
  if (!queue_.next_verdict().passed()) return;
  for (const OperationQueue::Entries* entries : {&std::as_const(queue_).searching(), &queue_.waiting()}) {
    for (const Entry& entry : *entries) {
      const Operation& operation = *entry.operation;
      if (!OperationQueue::verdict_for(operation).passed()) continue;
      return break_down(
          operation.needs_source() ? search_.nobody_sent(operation, *peers_) : Lateness::could_not_begin(operation),
          &operation);
    }
  }
  queue_.find_next_verdict();
}

void ProgressEngine::sleep(Deadline deadline) {
  Window* window = nullptr;
  for (const Entry& entry : queue_.running()) {
    entry.operation->before_sleep();
    deadline = earlier(deadline, Lateness::next_look(*entry.operation));
    if (entry.window != nullptr) window = entry.window;
  }
  deadline = earlier(deadline, queue_.next_verdict());
  if (const auto next = peers_->next_deadline()) deadline = earlier(deadline, *next);
  deadline = earlier(deadline, Deadline::after(ProgressLock::longest_sleep));
  if (window == nullptr) return sleep_on_links(deadline);
  // While a thread sleeps on the window, the watcher looks at the links, at all of them; unless it is that thread.
  const bool watched = (lock_.state() & progress::by_watcher) == 0;
  if (watched && queue_.only_window() && queue_.searching().empty()) return sleep_on_window(*window, deadline);
  window->prepare_poll();
  if (!advance_operations()) sleep_on_links(deadline);
  window->cancel_sleep();
}

void ProgressEngine::sleep_on_links(Deadline deadline) {
  interests_.clear();
  interests_.push_back({.fd = lock_.holder_event().get(), .events = POLLIN, .revents = 0});
  if (!peers_->arm(interests_)) return;
  if (lock_.fall_asleep(false)) {
    ::poll(interests_.data(), interests_.size(), deadline.remaining_ms());
    lock_.awake();
  }
  peers_->disarm();
  if ((interests_[0].revents & POLLIN) != 0) clear_event(lock_.holder_event());
}

void ProgressEngine::sleep_on_window(Window& window, Deadline deadline) {
  if (!watcher_.knows(*peers_) && !is_broken()) watcher_.show(peers_);
  const std::uint32_t ticket = window.prepare_sleep();
  if (!lock_.fall_asleep(true)) return window.cancel_sleep();
  if (advance_operations()) {  // what happened before this thread said that it sleeps woke nobody
    window.cancel_sleep();
  } else {
    window.sleep(ticket, deadline);
  }
  lock_.awake();
}

}  // namespace hocket
