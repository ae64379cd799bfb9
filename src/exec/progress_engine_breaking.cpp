// How everything breaks: what peers say, deadlines, exceptions.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/mismatch.hpp"
#include "src/exec/progress_engine.hpp"

namespace hocket {

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
void ProgressEngine::peer_waits(Rank peer, const Waiting& what) {
  lateness_.hear(peer, what, peers_->size());
  const Tag& tag = what.tag;
  if (is_message(tag.call)) return;
  const auto compare = [&](const Tag& mine) {
    const bool same_number = mine.communicator == tag.communicator && mine.sequence == tag.sequence;
    if (same_number && mine != tag) peer_failed(peer, mismatch(rank_, peer, {tag, 0}, {mine, 0}, *this));
  };
  for (const auto& entry : queue_.running()) {
    const Operation& operation = *entry.operation;
    if (!operation.is_message() && operation.context().has(peer)) compare(operation.tag());
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

// ---- deadlines ------------------------------------------------------------------------------------------------------

// Tells peers where this rank waits, and gives up what is late.
void ProgressEngine::check_deadlines() {
  bool told_over_window = false;
  const auto late = lateness_.find(queue_, *peers_, told_over_window);
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
  lock_.wake_callers();
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
