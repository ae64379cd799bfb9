// How the executor waits: the driver's sleep, and the thread that watches while nobody drives.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/wake_event.hpp"
#include "src/exec/executor.hpp"

namespace hocket {

namespace {

constexpr std::chrono::seconds longest_sleep{60};
constexpr std::chrono::milliseconds grace{1000};  // see check_deadlines()

}  // namespace

// Tells peers where this rank waits, and gives up what is late. A rank whose peers all wait themselves leaves the
// verdict, for a moment, to those who wait for the silent one, so that all learn the same cause.
void Executor::check_deadlines() {
  const auto now = Deadline::Clock::now();
  for (const auto& operation : running_) {
    if (operation->complete()) continue;  // it waits for nobody, though its clock may have run while it was queued
    if (now >= operation->next_telling().at()) {
      operation->tell_waiting();
      if (operation->window() != nullptr) peers_call_ = true;  // peers that wait over links say so there
      operation->set_next_telling(Deadline(now + telling_interval));
    }
    if (now < operation->deadline().at()) continue;
    const auto missing = operation->missing();
    if (!missing.silent && now < operation->deadline().at() + grace) continue;
    return give_up(*operation, missing);
  }
  for (const auto& operation : queued_) {
    if (operation->needs_source() && now >= operation->deadline().at()) {
      return break_down(nobody_sent(*operation), operation.get());
    }
    if (now < operation->deadline().at() + grace) continue;
    return break_down(Status(Code::timeout, fmt::format("{} could not begin before its deadline: operations before it "
                                                        "are not finished",
                                                        describe(operation->called()))),
                      operation.get());
  }
}

// What peers have said meanwhile may be the cause, or tell where the missing one waits.
void Executor::give_up(const Operation& operation, const Operation::Missing& missing) {
  look_at_links();
  std::string elsewhere;
  const auto told = told_waits_.find(missing.peer);
  if (told != told_waits_.end() && Deadline::Clock::now() - told->second.at < 2 * telling_interval) {
    const Tag& tag = told->second.tag;
    const bool here = tag.communicator == operation.context().number();
    if (!here || tag.call != operation.signature()) {
      elsewhere = fmt::format("; rank {} said that it waits in {}{}", missing.peer, describe(tag.call),
                              here ? "" : " on " + describe_communicator(tag.communicator, missing.peer));
    }
  }
  break_down_for(operation, Status(Cause{.code = Code::timeout,
                                         .message = fmt::format("{} did not finish before its deadline: still {}{}",
                                                                describe(operation.called()), missing.text, elsewhere),
                                         .peer = missing.peer}));
}

// When check_deadlines() has something to do for an operation.
Deadline Executor::wake_up_for(const Operation& operation) const {
  const bool late = operation.deadline().passed();  // and still here: its peers wait too
  const Deadline verdict = late ? Deadline(operation.deadline().at() + grace) : operation.deadline();
  return earlier(verdict, operation.next_telling());
}

bool Executor::must_look_again() const {
  return has_submissions_ || (abort_requested_ && !is_broken_) || (gives_way_ && wanted_) || stopping_ || peers_call_;
}

void Executor::sleep(Deadline deadline) {
  for (const auto& operation : running_) {
    operation->before_sleep();
    deadline = earlier(deadline, wake_up_for(*operation));
  }
  if (searching_ > 0) deadline = earlier(deadline, end_of_search());
  if (const auto next = peers_->next_deadline()) deadline = earlier(deadline, *next);
  deadline = earlier(deadline, Deadline::after(longest_sleep));
  const auto over_window = [](const auto& operation) { return operation->window() != nullptr; };
  const auto first = std::find_if(running_.begin(), running_.end(), over_window);
  if (first == running_.end()) return sleep_on_links(deadline);
  Window& window = *(*first)->window();
  if (searching_ == 0 && std::all_of(running_.begin(), running_.end(), over_window))
    return sleep_on_window(window, deadline);
  window.prepare_poll();
  if (!advance_operations()) sleep_on_links(deadline);
  window.cancel_sleep();
}

void Executor::sleep_on_links(Deadline deadline) {
  interests_.clear();
  interests_.push_back({.fd = driver_wake_.get(), .events = POLLIN, .revents = 0});
  if (!peers_->arm(interests_)) return;
  sleeping_ = true;  // from here on whoever wants the driver rings
  if (!must_look_again()) ::poll(interests_.data(), interests_.size(), deadline.remaining_ms());
  sleeping_ = false;
  peers_->disarm();
  if ((interests_[0].revents & POLLIN) != 0) clear_event(driver_wake_);
}

// The watcher looks at the links meanwhile, at all of them.
void Executor::sleep_on_window(Window& window, Deadline deadline) {
  if (peers_->watch_epoch() != watched_epoch_) {
    const std::lock_guard lock(mutex_);
    show_watcher();
  }
  const std::uint32_t ticket = window.prepare_sleep();
  sleeping_ = true;
  if (advance_operations() || must_look_again()) {
    window.cancel_sleep();
  } else {
    window.sleep(ticket, deadline);
  }
  sleeping_ = false;
}

// Requires mutex_ and the driving: only the driver may ask the transports.
void Executor::show_watcher() {
  watched_.clear();
  watched_.push_back({.fd = watch_wake_.get(), .events = POLLIN, .revents = 0});
  watched_epoch_ = peers_->watch_epoch();
  if (!is_broken_) peers_->watch(watched_);
  watch_until_ = is_broken_ ? std::nullopt : peers_->next_deadline();
  ++watch_version_;
  if (watcher_waits_) changed_.notify_all();
  set_event(watch_wake_);
}

// Progress that leaves out nothing that is watched.
bool Executor::look_at_links() {
  {
    const std::lock_guard lock(mutex_);
    show_watcher();
  }
  return peers_->progress() != 0;
}

// Drives what nobody else drives, else sleeps on what tells of a peer's end. What it sees while somebody drives, it
// passes on: a driver who sleeps on a window does not see it.
void Executor::watch_loop() {
  std::vector<pollfd> watching;
  std::unique_lock lock(mutex_);
  bool called = true;  // something is to be looked at
  while (!stopping_) {
    const bool work = has_submissions_ || left_over_ || called || (abort_requested_ && !is_broken_);
    if (work && waiters_ == 0 && try_driving()) {
      gives_way_ = true;
      peers_call_ = called;
      lock.unlock();
      drive_for_nobody();
      gives_way_ = false;
      give_driving();
      lock.lock();
      called = false;
      continue;
    }
    if (called) {
      peers_call_ = true;
      wake_driver();
      const std::uint64_t version = watch_version_;
      watcher_waits_ = true;
      while (!stopping_ && (driving_ || waiters_ > 0) && version == watch_version_)
        changed_.wait_for(lock, longest_sleep);
      watcher_waits_ = false;
      if (version != watch_version_) called = false;
      continue;
    }
    watching = watched_;
    Deadline deadline = Deadline::after(longest_sleep);
    if (watch_until_) deadline = earlier(deadline, *watch_until_);
    lock.unlock();
    const int ready = ::poll(watching.data(), watching.size(), deadline.remaining_ms());
    clear_event(watch_wake_);
    lock.lock();
    const bool rung = !watching.empty() && watching[0].revents != 0;
    called = ready > (rung ? 1 : 0) || (watch_until_ && watch_until_->passed());
  }
}

}  // namespace hocket
