#include "src/exec/progress_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/mismatch.hpp"

namespace hocket {
namespace {

constexpr unsigned rounds_between_deadline_checks = 256;
// While everything runs over the window, looks at the links are rare, and come late: most calls are over before.
constexpr unsigned rounds_before_looks = 1024;
constexpr unsigned rounds_between_looks = 32;

}  // namespace

ProgressEngine::ProgressEngine(const Parts& parts, Rank rank, bool alone)
    : lock_(parts.lock),
      inbox_(parts.inbox),
      contexts_(parts.contexts),
      failure_(parts.failure),
      watcher_(parts.watcher),
      rank_(rank),
      alone_(alone),
      search_(rank) {}

// ---- running --------------------------------------------------------------------------------------------------------

bool ProgressEngine::Goal::reached(const ProgressEngine& engine) const {
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
}

void ProgressEngine::run_rounds(const Goal& goal, Deadline deadline) {
  waiter_.set(budget_.load());
  rounds_ = 0;
  for (unsigned rounds = 1;; ++rounds) {
    const bool happened = round();
    if (goal.reached(*this)) return waiter_.reset();
    if (rounds % rounds_between_deadline_checks == 0) {
      check_deadlines();
      if (deadline.passed()) return;
    }
    if (happened) {
      waiter_.reset();
    } else if (!waiter_.spin(queue_.only_window())) {
      check_deadlines();
      if (goal.reached(*this) || deadline.passed()) return;
      sleep(deadline);
      waiter_.reset();
    }
  }
}

// Everything that can be done without waiting, once. Returns whether anything happened.
bool ProgressEngine::round() {
  bool happened = attend(lock_.state());
  if (queue_.can_start() || !queue_.searching().empty()) start_operations();
  happened |= advance_operations();
  if (!may_skip_links() && peers_->progress() != 0) {
    happened = true;
    advance_operations();
  }
  if (!peer_failure_.ok()) {
    const Status why = take_peer_failure();
    if (!is_broken()) break_down(why);
  }
  if (!departed_.empty()) check_departures();
  return happened;
}

// Does what other threads ask for. Returns whether anything happened.
bool ProgressEngine::attend(progress::State state) {
  if ((state & progress::abort_requested) != 0) break_down(failure_.requested_abort());
  if ((state & progress::submitted) != 0) accept();
  lock_.announce();
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
  watcher_.show(is_broken() ? nullptr : peers_);
  return peers_->progress() != 0;
}

bool ProgressEngine::rest() {
  try {
    if (alone_ && (lock_.state() & progress::submitted) != 0) run({.nobody = true}, never());
    if (!alone_ && !watcher_.knows(*peers_) && !is_broken()) watcher_.show(peers_);
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

void ProgressEngine::accept() {
  lock_.accept();  // first: what is put in from here on asks again
  inbox_.take(accepted_);
  for (const auto& operation : accepted_) queue_.add(operation, peers_->size());
  accepted_.clear();
}

void ProgressEngine::start_operations() {
  search_.match(queue_, *peers_);
  while (Entry* const entry = queue_.start_next()) {
    Operation& operation = *entry->operation;
    operation.number_if_message();
    const Status started = operation.begin(operation.tag(), *peers_);
    if (!started.ok()) return break_down_for(operation, started);
  }
  const bool searches = !queue_.searching().empty();
  if (searches != listens_) peers_->listen(searches);
  listens_ = searches;
}

// Returns whether anything happened. Completed operations leave; a failed one breaks everything.
bool ProgressEngine::advance_operations() {
  bool happened = false, completed = false;
  auto& running = queue_.running();
  for (auto at = running.begin(); at != running.end();) {
    Entry& entry = *at++;
    happened |= entry.operation->advance(entry.operation->context().counters());
    if (!entry.operation->complete()) continue;
    happened = completed = true;
    if (!complete(entry)) return true;
  }
  if (completed && (queue_.can_start() || !queue_.searching().empty())) start_operations();
  return happened;
}

// False where it has failed, and so everything has ended.
bool ProgressEngine::complete(Entry& entry) {
  Operation& operation = *entry.operation;
  if (!operation.failure().ok()) {
    break_down_for(operation, operation.failure());
    return false;
  }
  Context& context = operation.context();
  ++context.counters().operations;
  if (entry.window == nullptr && !operation.is_message()) context.remember(operation.tag());
  context.show_counters();  // who waits for it may ask at once
  queue_.remove(entry)->finish(Status());
  lock_.completed();
  return true;
}

// ---- what peers say -------------------------------------------------------------------------------------------------

void ProgressEngine::peer_failed(Rank, const Status& why) {
  if (peer_failure_.ok() && !is_broken()) peer_failure_ = why;
}

void ProgressEngine::peer_left(Rank peer) {
  log::debug(fmt::format("rank {} left the communicator", peer));
  departed_.push_back(peer);
}

// A peer in another call with the same number will never answer this one. One in an earlier call is alive, and waits
// for somebody else. A peer that waits in a call over the window does not say so here.
void ProgressEngine::peer_waits(Rank peer, const Tag& tag) {
  lateness_.hear(peer, tag);
  if (tag.call.collective == Collective::send) return;
  const auto compare = [&](const Tag& mine) {
    const bool same_number = mine.communicator == tag.communicator && mine.sequence == tag.sequence;
    if (same_number && mine != tag) peer_failed(peer, mismatch(rank_, peer, {tag, 0}, {mine, 0}, *this));
  };
  for (const auto& entry : queue_.running()) {
    if (entry.operation->is_message()) continue;
    entry.operation->hear_waiting(peer);
    compare(entry.operation->tag());
  }
  // This rank may be through with the call, where its own needed nothing from the peer.
  const auto context = contexts_.find(tag.communicator, peer);
  if (const Tag* past = context ? context->past(tag.sequence) : nullptr) compare(*past);
}

void ProgressEngine::check_departures() {
  for (const Rank peer : departed_) {
    const auto stranded = [&](const Entry& entry) {
      return !entry.operation->complete() && !entry.operation->can_do_without(peer);
    };
    if (std::ranges::none_of(queue_.running(), stranded)) continue;
    return break_down(Status(Cause{
        .code = Code::peer_lost, .message = fmt::format("rank {} has left the communicator", peer), .peer = peer}));
  }
  const auto searches_in_vain = [&](const Entry& entry) {
    const Context& context = entry.operation->context();
    const auto gone = std::ranges::count_if(departed_, [&](Rank peer) { return context.has(peer); });
    return gone + 1 >= context.size(peers_->size());
  };
  const auto found = std::ranges::find_if(queue_.searching(), searches_in_vain);
  if (found == queue_.searching().end()) return;
  const Operation& receive = *found->operation;
  break_down(search_.nobody_is_left(receive, departed_), &receive);
}

// ---- breaking -------------------------------------------------------------------------------------------------------

// What peers say, or that one has ended, is the cause; an operation's own failure may be its consequence only: a peer
// whose communicator broke first closes its links.
void ProgressEngine::break_down_for(const Operation& operation, const Status& own_failure) {
  if (peer_failure_.ok()) look_at_links();
  if (peer_failure_.ok()) return break_down(own_failure, &operation);
  break_down(take_peer_failure());
}

void ProgressEngine::break_down_for_exception() {
  break_down(failure_.of_exception(), nullptr);
}

void ProgressEngine::break_down(const Status& first_cause) {
  break_down(first_cause, concerned_by(first_cause));
}

// `found_in`: the operation; null: none. Goes through to its end, even without memory.
void ProgressEngine::break_down(const Status& first_cause, const Operation* found_in) {
  const Status cause = failure_.set(in_full(first_cause, found_in));
  inbox_.close();
  lock_.break_down();
  const bool closed = close_links(cause);
  peer_failure_ = Status();
  for (const Entry& entry : queue_.running()) {
    entry.operation->withdraw();
    entry.operation->context().show_counters();
  }
  auto ended = queue_.take_all();
  for (const Entry& entry : ended) entry.operation->finish(cause);
  finish_unqueued(cause);  // what an exception kept from the queue
  inbox_.take(accepted_);
  finish_unqueued(cause);
  if (!closed) abandoned_.splice(abandoned_.end(), ended);
  lock_.completed();
  lock_.announce();
}

void ProgressEngine::finish_unqueued(const Status& cause) {
  for (const auto& operation : std::exchange(accepted_, {})) {
    if (!operation->finished()) operation->finish(cause);
  }
}

// The running operation that a failure is most likely to be about: one that uses the peer at fault, else one whose
// communicator has it.
const Operation* ProgressEngine::concerned_by(const Status& why) const {
  const Rank peer = why.cause().peer;
  const auto uses = [&](const Entry& entry) {
    return std::ranges::any_of(entry.operation->directions(), [&](const Direction& used) { return used.peer == peer; });
  };
  const auto has = [&](const Entry& entry) { return peer == no_rank || entry.operation->context().has(peer); };
  const auto& running = queue_.running();
  auto found = std::ranges::find_if(running, uses);
  if (found == running.end()) found = std::ranges::find_if(running, has);
  return found == running.end() ? nullptr : found->operation.get();
}

// With all that is known about it; as it is, where memory runs out.
Status ProgressEngine::in_full(const Status& first_cause, const Operation* found_in) const {
  try {
    const Context& context = found_in != nullptr ? found_in->context() : *contexts_.first();
    const Status cause = contexts_.named(failure_.with_context(first_cause, found_in), context);
    log::info(fmt::format("the communicator is broken: {}", cause.message()));
    return cause;
  } catch (...) {
    return first_cause;
  }
}

// Afterwards no completion is outstanding. False where that could not be done, twice: then what completions point to
// must stay.
bool ProgressEngine::close_links(const Status& cause) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      peers_->close(cause);
      return true;
    } catch (...) {
      continue;
    }
  }
  return false;
}

}  // namespace hocket
