#include "src/exec/executor.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "src/base/log.hpp"
#include "src/base/mismatch.hpp"
#include "src/exec/bell.hpp"

namespace hocket {

namespace {

constexpr int rounds_between_deadline_checks = 256;
constexpr unsigned rounds_between_looks = 32;  // at links, while everything runs over the window
constexpr std::size_t lookahead = 64;          // queued operations that are considered for starting early
constexpr std::chrono::seconds longest_sleep{60};

bool over_window(const std::shared_ptr<Operation>& operation) {
  return operation->window() != nullptr;
}

}  // namespace

// ---- making and ending ----------------------------------------------------------------------------------------------

Result<std::unique_ptr<Executor>> Executor::make(const Config& config) {
  std::unique_ptr<Executor> executor(new Executor(config));
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
  try {
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
  ring(watch_wake_);
  changed_.notify_all();
  wake_driver();
  if (watcher_.joinable()) watcher_.join();
  if (peers_ == nullptr) return;
  take_submissions();
  if (!running_.empty() || !queued_.empty()) break_down(why);
  peers_ = nullptr;
}

// ---- for callers ----------------------------------------------------------------------------------------------------

// Requires mutex_.
void Executor::assign_sequence(Operation& operation) {
  const auto& channels = operation.channels();
  if (operation.signature().collective == Collective::send) {
    if (!channels.empty()) operation.set_sequence(++messages_[{channels[0].peer, channels[0].outgoing}]);
  } else {
    operation.set_sequence(++collectives_);
  }
}

// Requires mutex_.
Status Executor::submit(const std::shared_ptr<Operation>& operation) {
  if (is_broken_ || stopping_) {
    operation->finish(broken_);
    return broken_;
  }
  assign_sequence(*operation);
  submitted_.push_back(operation);
  has_submissions_ = true;
  return {};
}

Status Executor::run(const std::shared_ptr<Operation>& operation) {
  const Deadline never(Deadline::Clock::time_point::max());
  std::unique_lock lock(mutex_);
  if (Status status = submit(operation); !status.ok()) return status;
  if (driving_) {
    lock.unlock();
    return wait(operation, never);
  }
  driving_ = true;
  accept_submissions();
  lock.unlock();
  drive([&] { return operation->finished(); }, never);
  lock.lock();
  give_driving(lock);
  return operation->status();
}

Status Executor::start(const std::shared_ptr<Operation>& operation) {
  const std::lock_guard lock(mutex_);
  if (Status status = submit(operation); !status.ok()) return status;
  if (driving_) {
    wake_driver();
  } else {
    ring(watch_wake_);
  }
  return {};
}

Status Executor::wait(const std::shared_ptr<Operation>& operation, Deadline deadline) {
  if (operation->finished()) return operation->status();
  std::unique_lock lock(mutex_);
  if (take_driving(lock, *operation, deadline)) {
    lock.unlock();
    drive([&] { return operation->finished(); }, deadline);
    lock.lock();
    give_driving(lock);
  }
  if (operation->finished()) return operation->status();
  return Status(Code::in_progress, "the operation is not finished yet");
}

// Whether this thread drives now; false when the operation finished, or the deadline passed, under another driver.
bool Executor::take_driving(std::unique_lock<std::mutex>& lock, const Operation& operation, Deadline deadline) {
  if (!driving_) return driving_ = true;
  ++waiters_;
  wanted_ = true;
  wake_driver();
  while (driving_ && !operation.finished() && !deadline.passed()) {
    changed_.wait_until(lock, earlier(deadline, Deadline::after(longest_sleep)).at());
  }
  wanted_ = --waiters_ > 0;
  if (driving_ || operation.finished() || deadline.passed()) {
    if (!driving_) {  // the driving that was offered is somebody else's now
      changed_.notify_all();
      ring(watch_wake_);
    }
    return false;
  }
  return driving_ = true;
}

// Requires mutex_.
void Executor::give_driving(std::unique_lock<std::mutex>&) {
  if (peers_->watch_epoch() != watched_epoch_) show_watcher();
  shown_counters_ = counters_;
  driving_ = false;
  const bool left_over = !running_.empty() || !queued_.empty() || !submitted_.empty();
  if (waiters_ > 0 || watcher_waits_ || left_over) changed_.notify_all();
  if (left_over) ring(watch_wake_);
}

void Executor::wake_driver() {
  if (!sleeping_) return;
  ring(driver_wake_);
  if (Window* window = window_) window->interrupt();
}

Status Executor::undisturbed(const std::function<Status()>& work) {
  std::unique_lock lock(mutex_);
  ++waiters_;
  wanted_ = true;
  wake_driver();
  while (driving_) changed_.wait_for(lock, longest_sleep);
  wanted_ = --waiters_ > 0;
  driving_ = true;
  lock.unlock();
  Status status = work();
  if (status.ok()) status = std::exchange(peer_failure_, Status());
  lock.lock();
  give_driving(lock);
  return status;
}

void Executor::abort(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (is_broken_ || abort_requested_) return;
  abort_cause_ = why;
  abort_requested_ = true;
  wake_driver();
  ring(watch_wake_);
}

Status Executor::broken() const {
  if (!is_broken_ && !abort_requested_) return {};
  const std::lock_guard lock(mutex_);
  return is_broken_ ? broken_ : abort_cause_;
}

Counters Executor::counters() const {
  const std::lock_guard lock(mutex_);
  return shown_counters_;
}

// ---- the driver -----------------------------------------------------------------------------------------------------

template <class Enough>
void Executor::drive(Enough enough, Deadline deadline) {
  Waiter waiter(budget_.load());
  int rounds = 0;
  for (;;) {
    const bool happened = round();
    if (enough()) return;
    if (++rounds % rounds_between_deadline_checks == 0) {
      check_deadlines();
      if (deadline.passed()) return;
    }
    if (happened) {
      waiter.reset();
    } else if (!waiter.spin(links_rest_)) {
      check_deadlines();
      if (enough() || deadline.passed()) return;
      sleep(deadline);
      waiter.reset();
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
  if (queue_changed_) start_operations();
  bool happened = advance_operations();
  links_rest_ = !running_.empty() && std::all_of(running_.begin(), running_.end(), over_window);
  const bool called = peers_call_.exchange(false);
  if (links_rest_ && ++rounds_ % rounds_between_looks != 0 && !called) return happened;
  if (peers_->progress() != 0) {
    happened = true;
    advance_operations();
  }
  if (!peer_failure_.ok()) {
    const Status why = std::exchange(peer_failure_, Status());
    if (!is_broken_) break_down(why);
  }
  if (!departed_.empty()) check_departures();
  if (called) {
    const std::lock_guard lock(mutex_);
    show_watcher();
  }
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
// leave and arrive in the order of the calls, on both sides.
void Executor::start_operations() {
  queue_changed_ = false;
  const std::size_t considered = std::min(queued_.size(), lookahead);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < considered; ++i) {
    auto operation = std::move(queued_[i]);
    const auto conflicts = [&](const auto& other) { return operation->must_wait_for(*other); };
    if (std::any_of(running_.begin(), running_.end(), conflicts) ||
        std::any_of(queued_.begin(), queued_.begin() + static_cast<std::ptrdiff_t>(kept), conflicts)) {
      queued_[kept++] = std::move(operation);
      continue;
    }
    const Tag tag{.communicator = config_.communicator,
                  .sequence = static_cast<std::uint32_t>(operation->sequence()),
                  .call = operation->signature()};
    running_.push_back(operation);
    const Status started = operation->start(tag, *peers_);
    if (!started.ok()) {
      queued_.erase(queued_.begin() + static_cast<std::ptrdiff_t>(kept),
                    queued_.begin() + static_cast<std::ptrdiff_t>(i + 1));
      return break_down(started);
    }
  }
  queued_.erase(queued_.begin() + static_cast<std::ptrdiff_t>(kept),
                queued_.begin() + static_cast<std::ptrdiff_t>(considered));
}

// Returns whether anything happened. Finished operations leave; a failed one breaks everything.
bool Executor::advance_operations() {
  bool happened = false;
  for (std::size_t i = 0; i < running_.size();) {
    happened |= running_[i]->advance(counters_);
    if (!running_[i]->complete()) {
      ++i;
      continue;
    }
    if (!running_[i]->failure().ok()) {
      // What a transport said of the peer is the cause; the operation's own failure only its consequence.
      const Status why = peer_failure_.ok() ? running_[i]->failure() : std::exchange(peer_failure_, Status());
      break_down(why);
      return true;
    }
    ++counters_.operations;
    if (gives_way_) {  // who waits for it may ask for the counters before this thread rests
      const std::lock_guard lock(mutex_);
      shown_counters_ = counters_;
    }
    running_[i]->finish(Status());
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

// A peer in another call with the same number will never answer this one.
void Executor::peer_waits(Rank peer, const Tag& tag) {
  for (const auto& operation : running_) {
    const bool message = operation->signature().collective == Collective::send;
    if (operation->window() != nullptr || message || tag.call.collective == Collective::send) continue;
    if (static_cast<std::uint32_t>(operation->sequence()) != tag.sequence) continue;
    operation->hear_waiting(peer);
    const Tag mine{.communicator = config_.communicator, .sequence = tag.sequence, .call = operation->signature()};
    if (mine != tag) peer_failed(peer, mismatch(config_.rank, peer, {tag, 0}, {mine, 0}));
  }
}

void Executor::check_departures() {
  for (const Rank peer : departed_) {
    const auto stranded = [&](const auto& operation) {
      return !operation->complete() && !operation->can_do_without(peer);
    };
    if (std::none_of(running_.begin(), running_.end(), stranded)) continue;
    return break_down(Status(Cause{
        .code = Code::peer_lost, .message = fmt::format("rank {} has left the communicator", peer), .peer = peer}));
  }
}

void Executor::peer_failed(Rank, const Status& why) {
  if (peer_failure_.ok() && !is_broken_) peer_failure_ = why;
}

void Executor::peer_left(Rank peer) {
  log::debug(fmt::format("rank {} left the communicator", peer));
  departed_.push_back(peer);
}

// Fills in what the floors below could not know.
Status Executor::with_context(const Status& status, const Operation* operation) const {
  if (status.cause().rank != no_rank) return status;  // as the rank that saw it first told it
  Cause cause = status.cause();
  cause.rank = config_.rank;
  cause.message += fmt::format(" (seen by rank {}", config_.rank);
  if (operation != nullptr) {
    cause.operation = name_of(operation->signature().collective);
    cause.sequence = operation->sequence();
    cause.elapsed_seconds = operation->elapsed_seconds();
    cause.message +=
        fmt::format(" in {} number {}, after {:.3f} s", cause.operation, cause.sequence, cause.elapsed_seconds);
  }
  cause.message += ")";
  return Status(std::move(cause));
}

void Executor::break_down(const Status& first_cause) {
  const Status cause = with_context(first_cause, running_.empty() ? nullptr : running_.front().get());
  Queue ended;
  {
    const std::lock_guard lock(mutex_);
    if (!is_broken_) broken_ = cause;
    is_broken_ = true;
    ended.swap(submitted_);
    has_submissions_ = false;
  }
  log::info(fmt::format("the communicator is broken: {}", cause.message()));
  peers_->close(broken_);  // after this no completion is outstanding
  peer_failure_ = Status();
  for (auto& operation : running_) operation->finish(broken_);
  for (auto& operation : queued_) operation->finish(broken_);
  for (auto& operation : ended) operation->finish(broken_);
  running_.clear();
  queued_.clear();
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

}  // namespace hocket
