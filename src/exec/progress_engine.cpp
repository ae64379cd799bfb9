#include "src/exec/progress_engine.hpp"

#include <utility>

#include "src/base/wake_event.hpp"

namespace hocket {
namespace {

constexpr unsigned rounds_between_deadline_checks = 256;
// While everything runs over the window, looks at the links are rare, and come late: most calls are over before.
constexpr unsigned rounds_before_looks = 1024, rounds_between_looks = 32;

}  // namespace

ProgressEngine::ProgressEngine(const Parts& parts, Rank rank, bool alone)
    : lock_(parts.lock),
      inbox_(parts.inbox),
      contexts_(parts.contexts),
      failure_(parts.failure),
      watcher_(parts.watcher),
      recorder_(parts.recorder),
      rank_(rank),
      alone_(alone),
      search_(rank),
      lateness_(rank),
      unseen_peers_(rank),
      one_cause_(rank) {
  unqueued_.reserve(LoneMessages::max);
}

// ---- running --------------------------------------------------------------------------------------------------------

bool ProgressEngine::Goal::reached(const ProgressEngine& engine) const {
  if (run != nullptr) return run->finished();
  if (!any.empty() || !any_run.empty()) return any_finished(any, any_run);
  if (!nobody) return all_finished(operations);
  const progress::State state = engine.lock_.state();
  if (progress::has_callers(state) || (state & progress::stopping) != 0) return true;
  return engine.queue_.empty() && (state & progress::submitted) == 0;
}

void ProgressEngine::run(const Goal& goal, Deadline deadline) {
  try {
    run_rounds(goal, deadline);
  } catch (...) {
    break_down_for_exception();
  }
  idle_time_.end();
}

void ProgressEngine::run_rounds(const Goal& goal, Deadline deadline) {
  waiter_.set(budget_.load());
  rounds_ = 0;
  for (unsigned rounds = 1;; ++rounds) {
    const bool happened = round(goal);
    if (goal.reached(*this)) return wait_no_more();
    if (rounds % rounds_between_deadline_checks == 0) {
      check_deadlines();
      if (deadline.passed()) return;
    }
    if (happened) {
      wait_no_more();
    } else if (!wait_on(queue_, queue_.awaits(waiter_.asks()))) {
      check_deadlines();
      if (goal.reached(*this) || deadline.passed()) return;
      sleep(deadline);
      waiter_.reset();
    }
  }
}

// Everything that can be done without waiting, once, or until the goal is reached. Returns whether anything happened.
bool ProgressEngine::round(const Goal& goal) {
  bool happened = attend(lock_.state());
  if (queue_.can_start() || !queue_.searching().empty()) start_operations();
  const bool skips_links = may_skip_links();
  happened |= advance_operations();
  if (!skips_links && !goal.reached(*this) && progress_links() != 0) {
    happened = true;
    advance_operations();
  }
  if (!peer_failure_.ok()) {
    // A peer may have failed in a later call: what everything is there for still ends well.
    while (!is_broken() && advance_operations()) {
    }
    const Status why = take_peer_failure();
    if (!why.ok() && !is_broken()) break_down(why);
  }
  if (!departed_.empty()) check_departures();
  return happened;
}

// Does what other threads ask for. Returns whether anything happened.
bool ProgressEngine::attend(progress::State state) {
  if ((state & progress::abort_requested) != 0) break_down(failure_.requested_abort());
  if ((state & progress::submitted) != 0) accept();
  lock_.wake_callers();
  if ((state & progress::links_call) == 0 && !links_due_) return false;
  links_due_ = false;
  return look_at_links();
}

bool ProgressEngine::may_skip_links() {
  if (!queue_.only_window()) return false;
  ++rounds_;
  return rounds_ < rounds_before_looks || rounds_ % rounds_between_looks != 0;
}

// Progress that leaves out nothing that is watched.
bool ProgressEngine::look_at_links() {
  lock_.look();
  watcher_.show(peers_);
  return progress_links() != 0;
}

bool ProgressEngine::rest() {
  try {
    if (alone_ && (lock_.state() & progress::submitted) != 0) run({.nobody = true}, Deadline::never());
    if (!alone_ && !watcher_.knows(*peers_)) watcher_.show(peers_);
  } catch (...) {
    break_down_for_exception();
  }
  return !queue_.empty();
}

// ---- operations -----------------------------------------------------------------------------------------------------

void ProgressEngine::add_calls(std::span<const std::shared_ptr<Operation>> operations) {
  try {
    for (const auto& operation : operations) {
      operation->number_if_collective();
      queue_.add(operation, peers_->size());
    }
  } catch (...) {
    break_down_for_exception();
    for (const auto& operation : operations) {
      if (!operation->finished()) operation->finish(failure_.get());
    }
  }
}

// Over the window, or on the only rank. `ran`: how far it has come already.
bool ProgressEngine::run_here(const std::shared_ptr<Operation>& operation, RanNow ran) {
  try {
    if (ran == RanNow::nothing && operation->can_move()) ran = operation->run_now(recorder_);
    if (ran == RanNow::over) {
      wake(*operation);
      end_well(*operation);
      return true;
    }
    const Status begun = ran == RanNow::begun ? Status() : begin(*operation);
    if (begun.ok() && runs_to_its_end(*operation)) {
      operation->record()->end();
      end_well(*operation);
      return operation->kept_links() || alone_;
    }
    queue_.add(operation, peers_->size());
    (void)queue_.start_next();  // it has begun
    if (!begun.ok()) break_down_for(*operation, begun);
  } catch (...) {
    if (queue_.empty()) unqueued_.assign(1, operation);
    break_down_for_exception();
  }
  return false;
}

// False: it has failed, or takes longer, or something else is to be done.
bool ProgressEngine::runs_to_its_end(Operation& operation) {
  if (!operation.complete()) operation.advance(operation.context().counters());
  return operation.complete() ? operation.failure().ok() : waits_to_its_end(operation);
}

// The same of one that has begun to wait; most small calls do not come here.
[[gnu::noinline]] bool ProgressEngine::waits_to_its_end(Operation& operation) {
  waiter_.set(budget_.load());
  const Awaits what = operation.is_small() ? Awaits::window_for_small_data : Awaits::window;
  bool happened = false;
  for (unsigned rounds = 0; rounds < rounds_between_deadline_checks; ++rounds) {
    if (progress::must_look(lock_.state()) || (!happened && !wait_on(operation, what))) return false;
    if (happened) wait_no_more();
    happened = operation.advance(operation.context().counters());
    if (operation.complete()) {
      wait_no_more();
      return operation.failure().ok();
    }
  }
  return false;
}

void ProgressEngine::accept() {
  lock_.accept();  // first: what is put in from here on asks again
  inbox_.take(accepted_);
  for (const auto& operation : accepted_) queue_.add(operation, peers_->size());
  accepted_.clear();
}

void ProgressEngine::start_operations() {
  if (!queue_.searching().empty() && search_.is_to_look()) {
    peers_->listen(listens_ = true);
    progress_links();
  }
  search_.match(queue_, *peers_);
  while (Entry* const entry = queue_.start_next()) {
    Operation& operation = *entry->operation;
    operation.number_if_message();
    const Status started = begin_numbered(operation);
    if (!started.ok()) return break_down_for(operation, started);
  }
  const bool searches = !queue_.searching().empty();
  if (searches != std::exchange(listens_, searches)) peers_->listen(searches);
}

// Whether anything happened. Completed operations leave; a failed one breaks everything.
bool ProgressEngine::advance_operations() {
  bool happened = false, completed = false;
  std::uint64_t left = queue_.must_advance() ? UINT64_MAX : newly_ended_messages();
  for (auto at = queue_.running().begin(); left > 0 && at != queue_.running().end();) {
    Entry& entry = *at++;
    happened |= entry.operation->advance(entry.operation->context().counters());
    if (!entry.operation->complete()) continue;
    happened = completed = true;
    --left;
    if (!retire(entry)) return true;
  }
  if (completed && (queue_.can_start() || !queue_.searching().empty())) start_operations();
  return happened;
}

// False where it has failed, and so everything has ended.
bool ProgressEngine::retire(Entry& entry) {
  Operation& operation = *entry.operation;
  if (!operation.failure().ok()) {
    break_down_for(operation, operation.failure());
    return false;
  }
  Recorder::end(operation);
  count(operation);
  lateness_.ended(queue_, *peers_);
  const bool followed = !entry.followers.empty();
  (followed ? entry.operation : queue_.remove(entry))->finish(Status());
  lock_.completed();
  return !followed || messages_.follow(entry);
}

// ---- sleep ----------------------------------------------------------------------------------------------------------

void ProgressEngine::sleep(Deadline deadline) {
  if (links_due_) return;
  for (const Entry& entry : queue_.running()) {
    entry.operation->before_sleep();
    deadline = earlier(deadline, entry.operation->next_look());
  }
  queue_.list_windows(windows_);
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

MemberSet ProgressEngine::awaited_members() const {
  MemberSet awaited = 0;
  for (const Entry& entry : queue_.running()) awaited |= entry.operation->awaited_members();
  return awaited;
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
  const MemberSet awaited = awaited_members();
  const std::uint32_t ticket = window.prepare_sleep(awaited);
  if (!lock_.fall_asleep(window)) return window.cancel_sleep();
  // What happened before this thread said that it sleeps woke nobody.
  const bool goes_on = advance_operations() || awaited_members() != awaited;
  goes_on ? window.cancel_sleep() : window.sleep(ticket, deadline);
  lock_.awake();
}

}  // namespace hocket
