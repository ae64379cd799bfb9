// How everything breaks: what peers say, deadlines, exceptions.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/mismatch.hpp"
#include "src/exec/progress_engine.hpp"
#include "src/exec/recorded_waits.hpp"

namespace hocket {
namespace {

// Where only its two ends know the size of a block, each rank finds out for itself which way its call goes.
bool are_one_call(const Tag& mine, Tag theirs) {
  const CollectiveInfo& collective = info_of(mine.call.collective);
  if (collective.has_unequal_blocks() && !collective.all_know_blocks()) theirs.call.algorithm = mine.call.algorithm;
  return mine == theirs;
}

}  // namespace

// ---- what peers say -------------------------------------------------------------------------------------------------

// What a peer was told itself counts more than what this rank sees of it.
void ProgressEngine::peer_failed(Rank, const Status& seen) {
  if (is_broken()) return;
  const bool is_late = seen.code() == Code::timeout && !one_cause_.is_told(seen);
  const Operation* const needs_it = is_late ? concerned_by(seen) : nullptr;
  const Context& context = needs_it != nullptr ? needs_it->context() : *contexts_.first();
  const Status why = is_late ? lateness_.of_late_peer(seen, context.number(), *peers_) : seen;
  const auto counts = [&] {
    const bool told = one_cause_.is_told(why), was_told = one_cause_.is_told(peer_failure_);
    return told != was_told ? told : precedes(why.cause(), peer_failure_.cause());
  };
  if (peer_failure_.ok() || counts()) peer_failure_ = why;
}

void ProgressEngine::peer_broke(Rank, const Status& why) {
  one_cause_.hear(why);
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
  const bool has_no_number = tag.sequence == 0 && tag.communicator != 0;  // see tag_for(), and openings of windows
  if (is_message(tag.call) || has_no_number) return;
  const auto compare = [&](const Tag& mine) {
    const bool same_number = mine.communicator == tag.communicator && mine.sequence == tag.sequence;
    if (same_number && !are_one_call(mine, tag)) peer_failed(peer, mismatch(rank_, peer, {tag, 0}, {mine, 0}, *this));
  };
  for (const auto& entry : queue_.running()) {
    const Operation& operation = *entry.operation;
    if (!operation.is_message() && operation.context().has(peer)) compare(operation.tag());
  }
  // This rank may be through with the call, where its own needed nothing from the peer.
  const auto context = contexts_.find(tag.communicator, peer);
  if (const Tag* past = context ? context->past(tag.sequence) : nullptr) compare(*past);
}

// That it broke, or is to: whoever asks keeps this thread from seeing to it, and from hearing what peers say over links
// of other transports.
Status ProgressEngine::given_up() const {
  const bool fails = (lock_.state() & (progress::broken | progress::abort_requested)) != 0;
  if (fails) return failure_.with_context(failure_.get(), nullptr);
  std::vector<pollfd> watched;
  peers_->watch(watched);  // so that the next look leaves out nothing
  (void)peers_->progress();
  return peer_failure_;
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

// Whether that run of an operation, which may be over by now, still goes on, and waits for this peer.
bool ProgressEngine::still_waits(const Operation* operation, std::uint64_t run, Rank peer) const {
  return std::ranges::any_of(queue_.running(), [&](const Entry& entry) {
    if (entry.operation.get() != operation || operation->sequence() != run || operation->complete()) return false;
    const auto missing = operation->missing().peers;
    return std::ranges::find(missing, peer) != missing.end();
  });
}

// One that may have left in good order counts as lost where an operation needs it.
void ProgressEngine::check_unseen_peers() {
  for (const auto& [peer, awaited, operation] : unseen_peers_.find_ended(queue_, *peers_, departed_)) {
    if (operation == nullptr) {
      peer_left(peer);
      continue;
    }
    const std::uint64_t run = operation->sequence();
    look_at_links();  // it may have said why
    // It may have done its part before; then this thread looks again before it sleeps.
    if (advance_operations() && !still_waits(operation, run, awaited)) {
      links_due_ = true;
      return;
    }
    const Status lost(Cause{.code = Code::peer_lost,
                            .message = fmt::format("rank {} is gone (its process has ended, or left the communicator): "
                                                   "look at what that process printed last",
                                                   peer),
                            .peer = peer,
                            .ended = true});
    return break_down_for(*operation, lost);
  }
}

// ---- deadlines ------------------------------------------------------------------------------------------------------

// Tells peers where this rank waits, and gives up what is late.
void ProgressEngine::check_deadlines() {
  queue_.begin_clocks_of_followers();
  if (looks_for_unseen_peers()) check_unseen_peers();
  bool told_over_window = false;
  const auto late = lateness_.find(queue_, *peers_, told_over_window);
  if (told_over_window) links_due_ = true;  // peers that wait over links say so there
  if (lateness_.tells() && Deadline::Clock::now() >= recorder_.waits_shown_at() + telling_interval) {
    recorder_.show_waits(waits_of(queue_), Deadline::after(3 * telling_interval));
  }
  if (late) {
    look_at_links();  // what peers have said meanwhile may be the cause, or tell where the missing one waits
    return break_down_for(*late->operation, lateness_.did_not_finish(*late, contexts_));
  }
  if (!queue_.next_verdict().passed()) return;
  for (const OperationQueue::Entries* entries : {&std::as_const(queue_).searching(), &queue_.waiting()}) {
    for (const Entry& entry : *entries) {
      const Operation& operation = *entry.operation;
      if (!OperationQueue::verdict_for(operation).passed()) continue;
      if (!operation.needs_source()) return break_down(Lateness::could_not_begin(operation), &operation);
      const Rank culprit = lateness_.blame_of_search(operation, *peers_).missing;
      return break_down(search_.nobody_sent(operation, *peers_, culprit), &operation);
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
  const bool is_first = !is_broken();
  if (is_first) keep_waits();
  for (const Entry& entry : queue_.running()) entry.operation->withdraw();
  for (const auto& operation : unqueued_) operation->withdraw();
  const bool speaks = !is_stopping();
  const Status own =
      in_full(speaks ? one_cause_.leave_to_witness(first_cause, peer_failure_, *peers_) : first_cause, found_in);
  const bool closed = close_links(own);
  const Status cause = failure_.set(speaks ? settle(own) : own);
  inbox_.close();
  lock_.break_down();
  peer_failure_ = Status();
  if (is_first) report_break();
  auto ended = queue_.take_all();
  for (const Entry& entry : ended) {
    // One that has finished is here where an exception came before its followers.
    if (!entry.operation->finished()) entry.operation->finish(cause);
    for (std::size_t at = 0; at < entry.followers.size(); ++at) entry.followers[at].finish(cause);
  }
  for (const auto& operation : unqueued_) {
    if (!operation->finished()) operation->finish(cause);
  }
  finish_accepted(cause);  // what an exception kept from the queue
  inbox_.take(accepted_);
  finish_accepted(cause);
  if (closed) {
    unqueued_.clear();
  } else {
    abandoned_.splice(abandoned_.end(), ended);
  }
  lock_.completed();
  lock_.wake_callers();
}

Status ProgressEngine::settle(const Status& own) {
  const Status first = one_cause_.settle(own, *peers_);
  try {
    watcher_.show(peers_);  // what links could not send yet
  } catch (...) {           // then the others see that the links end
  }
  return first;
}

// What waits at this moment, which is over as soon as everything ends.
void ProgressEngine::keep_waits() {
  try {
    recorder_.show_waits(waits_of(queue_), Deadline::never());
  } catch (...) {  // then what was shown last counts
  }
}

void ProgressEngine::report_break() {
  try {
    if (on_break_) on_break_();
  } catch (...) {  // the failure counts, not what is told of it
    log::warn("what happened could not be recorded: memory ran out");
  }
}

void ProgressEngine::finish_accepted(const Status& cause) {
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
