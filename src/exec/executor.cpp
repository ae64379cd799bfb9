#include "src/exec/executor.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "src/base/signals_blocked.hpp"
#include "src/base/wake_event.hpp"

namespace hocket {

namespace {

constexpr int rounds_between_deadline_checks = 256;
constexpr unsigned rounds_between_looks = 32;  // at links, while everything runs over the window
constexpr int turns_alone = 1024;              // of an operation, before links are looked at
constexpr std::chrono::seconds longest_sleep{60};

bool over_window(const std::shared_ptr<Operation>& operation) {
  return operation->window() != nullptr;
}

bool is_message(const Operation& operation) {
  return operation.signature().collective == Collective::send;  // a receive is called so too: see Signature
}

// Of collectives, when they are called; requires mutex_ or the driving. Of messages, when they begin, as only then it
// is certain who sends them; requires the driving.
void assign_sequence(Operation& operation) {
  Context& context = operation.context();
  if (!is_message(operation)) {
    operation.set_sequence(context.next_collective());
  } else if (const auto directions = operation.directions(); !directions.empty()) {
    operation.set_sequence(context.next_message(directions[0]));
  }
}

}  // namespace

// ---- making and ending ----------------------------------------------------------------------------------------------

Executor::Executor(const Config& config)
    : config_(config),
      first_(std::make_shared<Context>(Context::Identity{.name = config.name})),
      says_names_(config.says_name) {}

Result<std::unique_ptr<Executor>> Executor::make(const Config& config) {
  std::unique_ptr<Executor> executor(new Executor(config));
  if (config.alone) return executor;
  executor->driver_wake_ = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  executor->watch_wake_ = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!executor->driver_wake_ || !executor->watch_wake_) {
    return Status(
        Code::out_of_resources,
        fmt::format("no file descriptor is left for a communicator ({}); raise `ulimit -n`", std::strerror(errno)));
  }
  return executor;
}

Executor::~Executor() {
  stop(Status(Code::aborted, "the communicator was destroyed"));
}

Status Executor::attach(Peers& peers) {
  peers_ = &peers;
  if (config_.alone) return {};
  try {
    const SignalsBlocked signals_blocked;
    watcher_ = std::thread([this] { watch_loop(); });
  } catch (const std::system_error& error) {
    return Status(Code::out_of_resources,
                  fmt::format("no thread could be started for a communicator: {}", error.what()));
  }
  return {};
}

void Executor::stop(const Status& why) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  set_event(watch_wake_);
  changed_.notify_all();
  wake_driver();
  if (watcher_.joinable()) watcher_.join();
  if (peers_ == nullptr) return;
  take_submissions();
  if (!running_.empty() || !queued_.empty()) break_down(why);
  peers_ = nullptr;
}

// ---- for callers ----------------------------------------------------------------------------------------------------

// Requires mutex_. Whether they were accepted.
bool Executor::submit(Operations operations) {
  if (is_broken_ || stopping_) return false;
  for (const auto& operation : operations) {
    if (!is_message(*operation)) assign_sequence(*operation);
    submitted_.push_back(operation);
  }
  has_submissions_ = true;
  return true;
}

// Ends what was not accepted.
Status Executor::refuse(Operations operations) {
  Status why = broken();
  if (why.ok()) why = Status(Code::aborted, "the communicator is being destroyed");
  for (const auto& operation : operations) operation->finish(why);
  return why;
}

Status Executor::run(Operations operations) {
  const Deadline never(Deadline::Clock::time_point::max());
  if (!try_driving()) {
    Status started = start(operations);
    return started.ok() ? wait(operations, never) : started;
  }
  const bool alone = operations.size() == 1 && !left_over_ && !has_submissions_ && !is_broken_ && !stopping_;
  if (alone && !is_message(*operations.front())) {
    assign_sequence(*operations.front());
    if (run_alone(operations.front())) {
      give_driving();
      return operations.front()->status();
    }
  } else {
    std::unique_lock lock(mutex_);
    const bool accepted = submit(operations);
    if (accepted) accept_submissions();
    lock.unlock();
    if (!accepted) (void)refuse(operations);
  }
  drive([&] { return all_finished(operations); }, never);
  give_driving();
  return status_of(operations);
}

Status Executor::start(Operations operations) {
  std::unique_lock lock(mutex_);
  const bool accepted = submit(operations);
  if (accepted && driving_) {
    wake_driver();
  } else if (accepted) {
    set_event(watch_wake_);
  }
  lock.unlock();
  if (!accepted) return refuse(operations);
  if (config_.alone) finish_alone(operations);
  return {};
}

// Nobody else drives. In a callback this thread may drive already; then the operations are left to that.
void Executor::finish_alone(Operations operations) {
  if (!Operation::in_callback()) {
    (void)wait(operations, Deadline(Deadline::Clock::time_point::max()));
  } else if (try_driving()) {
    drive_for_nobody();
    give_driving();
  }
}

Status Executor::wait(Operations operations, Deadline deadline) {
  const auto enough = [&] { return all_finished(operations); };
  if (enough()) return status_of(operations);
  if (take_driving(operations, deadline)) {
    drive(enough, deadline);
    give_driving();
  }
  if (enough()) return status_of(operations);
  return Status(Code::in_progress, "the operation is not finished yet");
}

bool Executor::try_driving() {
  bool nobody = false;
  return driving_.compare_exchange_strong(nobody, true);
}

// Whether this thread drives now; false when the operations finished, or the deadline passed, under another driver.
bool Executor::take_driving(Operations operations, Deadline deadline) {
  if (try_driving()) return true;
  std::unique_lock lock(mutex_);
  ++waiters_;
  wanted_ = true;
  wake_driver();
  bool taken = false;
  while (!all_finished(operations) && !deadline.passed() && !(taken = try_driving())) {
    changed_.wait_until(lock, earlier(deadline, Deadline::after(longest_sleep)).at());
  }
  wanted_ = --waiters_ > 0;
  if (!taken && !driving_) {  // the driving that was offered is somebody else's now
    changed_.notify_all();
    set_event(watch_wake_);
  }
  return taken;
}

void Executor::give_driving() {
  if (config_.alone && has_submissions_) drive_for_nobody();
  if (peers_->watch_epoch() != watched_epoch_) {
    const std::lock_guard lock(mutex_);
    show_watcher();
  }
  const bool left_over = !running_.empty() || !queued_.empty();
  if (left_over_ != left_over) left_over_ = left_over;
  driving_ = false;
  if (config_.alone && has_submissions_ && try_driving()) return give_driving();
  const bool work = left_over || has_submissions_;
  if (!work && waiters_ == 0 && !watcher_waits_) return;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
  if (work) set_event(watch_wake_);
}

void Executor::wake_driver() {
  if (!sleeping_) return;
  set_event(driver_wake_);
  if (Window* window = window_) window->interrupt();
}

Status Executor::with_exclusive_progress(const std::function<Status()>& work) {
  std::unique_lock lock(mutex_);
  ++waiters_;
  wanted_ = true;
  wake_driver();
  while (!try_driving()) changed_.wait_for(lock, longest_sleep);
  wanted_ = --waiters_ > 0;
  lock.unlock();
  Status status = work();
  if (status.ok()) status = std::exchange(peer_failure_, Status());
  give_driving();
  return status;
}

void Executor::abort(const Status& why, const Context& context) {
  const std::lock_guard lock(mutex_);
  if (is_broken_ || abort_requested_) return;
  abort_cause_ = named(why, context);
  abort_requested_ = true;
  wake_driver();
  set_event(watch_wake_);
}

Status Executor::broken() const {
  if (!is_broken_ && !abort_requested_) return {};
  const std::lock_guard lock(mutex_);
  return is_broken_ ? broken_ : abort_cause_;
}

// ---- the driver -----------------------------------------------------------------------------------------------------

// Runs a collective that has nothing before it without the queue, and over the window without a look at the links, as
// long as nobody calls for the driver and it need not sleep. Returns whether it is finished; if not, it is running.
bool Executor::run_alone(const std::shared_ptr<Operation>& operation) {
  const bool links = !over_window(operation);
  Context& context = operation->context();
  const Tag tag = operation->tag();
  if (links) running_.push_back(operation);  // for what peers tell of it
  if (const Status started = operation->begin(tag, *peers_); !started.ok()) {
    if (!links) running_.push_back(operation);
    break_down_for(*operation, started);
    return true;
  }
  waiter_.set(budget_.load());
  for (int turns = 0; turns < turns_alone && !must_look_again(); ++turns) {
    bool happened = operation->advance(context.counters());
    if (operation->complete()) {
      if (!operation->failure().ok()) break;
      waiter_.reset();
      ++context.counters().operations;
      context.show_counters();
      operation->finish(Status());
      if (links) {
        context.remember(operation->tag());  // the start may have decided
        running_.pop_back();
        if (!peer_failure_.ok()) break_down(std::exchange(peer_failure_, Status()));
      }
      return true;
    }
    if (links) {
      happened |= peers_->progress() != 0;
      if (!peer_failure_.ok() || !departed_.empty()) break;
    }
    if (happened) {
      waiter_.reset();
    } else if (!waiter_.spin(!links)) {
      break;
    }
  }
  if (!links) running_.push_back(operation);
  return false;
}

template <class Enough>
void Executor::drive(Enough enough, Deadline deadline) {
  waiter_.set(budget_.load());
  int rounds = 0;
  for (;;) {
    const bool happened = round();
    if (enough()) return;
    if (++rounds % rounds_between_deadline_checks == 0) {
      check_deadlines();
      if (deadline.passed()) return;
    }
    if (happened) {
      waiter_.reset();
    } else if (!waiter_.spin(links_rest_)) {
      check_deadlines();
      if (enough() || deadline.passed()) return;
      sleep(deadline);
      waiter_.reset();
    }
  }
}

void Executor::drive_for_nobody() {
  drive([&] { return wanted_ || stopping_ || (running_.empty() && queued_.empty() && !has_submissions_); },
        Deadline(Deadline::Clock::time_point::max()));
}

// Everything that can be done without waiting, once. Returns whether anything happened.
bool Executor::round() {
  if (abort_requested_ && !is_broken_) {
    Status why;
    {
      const std::lock_guard lock(mutex_);
      why = abort_cause_;
    }
    break_down(why);
  }
  if (has_submissions_) take_submissions();
  if (searching_ > 0 && somebody_has_sent()) queue_changed_ = true;
  if (queue_changed_) start_operations();
  bool happened = advance_operations();
  links_rest_ = !running_.empty() && std::all_of(running_.begin(), running_.end(), over_window);
  const bool called = peers_call_.exchange(false);
  if (links_rest_ && ++rounds_ % rounds_between_looks != 0 && !called) {
    if (!departed_.empty()) check_departures();
    return happened;
  }
  if (called ? look_at_links() : peers_->progress() != 0) {
    happened = true;
    advance_operations();
  }
  if (!peer_failure_.ok()) {
    const Status why = std::exchange(peer_failure_, Status());
    if (!is_broken_) break_down(why);
  }
  if (!departed_.empty()) check_departures();
  return happened;
}

void Executor::take_submissions() {
  const std::lock_guard lock(mutex_);
  accept_submissions();
}

// Requires mutex_ and the driving.
void Executor::accept_submissions() {
  has_submissions_ = false;
  for (auto& operation : submitted_) queued_.push_back(std::move(operation));
  submitted_.clear();
  queue_changed_ = true;
}

// Starts each queued operation that shares no direction of a link with one before it: messages of one direction must
// leave and arrive in the order of the calls, on both sides. All of the queue is looked at: what a peer waits for may
// stand behind any number of operations that wait for others.
void Executor::start_operations() {
  queue_changed_ = false;
  busy_.clear();
  const bool searched = std::exchange(searching_, 0) > 0;
  for (const auto& operation : running_) busy_.take(*operation);
  for (auto at = queued_.begin(); at != queued_.end();) {
    if (((*at)->needs_source() && !find_source(**at)) || !busy_.take(**at)) {
      ++at;
      continue;
    }
    running_.push_back(std::move(*at));
    at = queued_.erase(at);
    Operation& operation = *running_.back();
    if (is_message(operation)) assign_sequence(operation);
    const Status started = operation.begin(operation.tag(), *peers_);
    if (!started.ok()) return break_down_for(operation, started);
  }
  if (searched != (searching_ > 0)) peers_->listen(!searched);
}

// Returns whether anything happened. Finished operations leave; a failed one breaks everything.
bool Executor::advance_operations() {
  bool happened = false;
  for (std::size_t i = 0; i < running_.size();) {
    Operation& operation = *running_[i];
    Context& context = operation.context();
    happened |= operation.advance(context.counters());
    if (!operation.complete()) {
      ++i;
      continue;
    }
    if (!operation.failure().ok()) {
      break_down_for(operation, operation.failure());
      return true;
    }
    ++context.counters().operations;
    if (!is_message(operation) && !over_window(running_[i])) context.remember(operation.tag());
    context.show_counters();  // who waits for it may ask at once
    operation.finish(Status());
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    queue_changed_ = queue_changed_ || !queued_.empty();
    happened = true;
    if (wanted_) {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    }
  }
  if (queue_changed_) start_operations();
  return happened;
}

}  // namespace hocket
