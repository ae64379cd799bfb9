// How the executor breaks: what peers report, and how the first failure ends everything.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/mismatch.hpp"
#include "src/exec/executor.hpp"

namespace hocket {

// A peer in another call with the same number will never answer this one. One in an earlier call is alive, and waits
// for somebody else. Who waits in a call over the window does not say so here.
void Executor::peer_waits(Rank peer, const Tag& tag) {
  told_waits_[peer] = {tag, Deadline::Clock::now()};
  if (tag.call.collective == Collective::send) return;
  const auto compare = [&](const Tag& mine) {
    const bool same_number = mine.communicator == tag.communicator && mine.sequence == tag.sequence;
    if (same_number && mine != tag) {
      peer_failed(peer, mismatch(config_.rank, peer, {tag, 0}, {mine, 0}, *this));
    }
  };
  for (const auto& operation : running_) {
    if (operation->signature().collective == Collective::send) continue;
    operation->hear_waiting(peer);
    compare(operation->tag());
  }
  // This rank may be through with the call, where its own needed nothing from the peer.
  const auto context = find_context(tag.communicator, peer);
  if (const Tag* past = context ? context->past(tag.sequence) : nullptr) compare(*past);
}

// ---- communicators that share links ---------------------------------------------------------------------------------

std::shared_ptr<Context> Executor::add(Context::Identity identity) {
  say_names();
  const std::lock_guard lock(contexts_mutex_);
  std::erase_if(others_, [](const auto& context) { return context.expired(); });
  auto context = std::make_shared<Context>(std::move(identity));
  others_.push_back(context);
  return context;
}

// The one of this number that this rank and the peer have in common; null where there is none any more.
std::shared_ptr<Context> Executor::find_context(std::uint32_t number, Rank peer) const {
  if (number == first_->number()) return first_;
  const std::lock_guard lock(contexts_mutex_);
  for (const auto& other : others_) {
    if (auto context = other.lock(); context && context->number() == number && context->has(peer)) return context;
  }
  return nullptr;
}

std::string Executor::describe_communicator(std::uint32_t number, Rank peer) const {
  const auto context = find_context(number, peer);
  return context ? fmt::format("communicator \"{}\"", context->name())
                 : fmt::format("communicator number {}, which rank {} does not have", number, config_.rank);
}

// ---- breaking -------------------------------------------------------------------------------------------------------

void Executor::check_departures() {
  for (const Rank peer : departed_) {
    const auto stranded = [&](const auto& operation) {
      return !operation->complete() && !operation->can_do_without(peer);
    };
    if (std::none_of(running_.begin(), running_.end(), stranded)) continue;
    return break_down(Status(Cause{
        .code = Code::peer_lost, .message = fmt::format("rank {} has left the communicator", peer), .peer = peer}));
  }
  if (searching_ == 0) return;
  const auto searches_in_vain = [&](const auto& operation) {
    return operation->needs_source() && all_have_left(operation->context());
  };
  const auto found = std::ranges::find_if(queued_, searches_in_vain);
  if (found != queued_.end()) break_down(nobody_is_left(**found), found->get());
}

// What peers say, or that one has ended, is the cause; an operation's own failure may be its consequence only: a peer
// whose communicator broke first closes its door.
void Executor::break_down_for(const Operation& operation, const Status& own_failure) {
  if (peer_failure_.ok()) look_at_links();
  if (peer_failure_.ok()) return break_down(own_failure, &operation);
  break_down(std::exchange(peer_failure_, Status()));
}

void Executor::peer_failed(Rank, const Status& why) {
  if (peer_failure_.ok() && !is_broken_) peer_failure_ = why;
}

void Executor::peer_left(Rank peer) {
  log::debug(fmt::format("rank {} left the communicator", peer));
  departed_.push_back(peer);
}

// The running operation that a failure is most likely to be about: one that uses the peer at fault, else one whose
// communicator has it.
const Operation* Executor::concerned_by(const Status& why) const {
  const Rank peer = why.cause().peer;
  const auto uses = [&](const auto& operation) {
    return std::ranges::any_of(operation->directions(), [&](const Direction& used) { return used.peer == peer; });
  };
  const auto has = [&](const auto& operation) { return peer == no_rank || operation->context().has(peer); };
  auto found = std::ranges::find_if(running_, uses);
  if (found == running_.end()) found = std::ranges::find_if(running_, has);
  return found == running_.end() ? nullptr : found->get();
}

// Fills in what the floors below could not know.
Status Executor::with_context(const Status& status, const Operation* operation) const {
  if (status.cause().rank != no_rank) return status;  // as the rank that saw it first told it
  Cause cause = status.cause();
  cause.rank = config_.rank;
  cause.message += fmt::format(" (seen by rank {}", config_.rank);
  if (operation != nullptr) {
    cause.operation = name_of(operation->called().collective);
    cause.sequence = operation->sequence();
    cause.elapsed_seconds = operation->elapsed_seconds();
    cause.message +=
        fmt::format(" in {} number {}, after {:.3f} s", cause.operation, cause.sequence, cause.elapsed_seconds);
  }
  cause.message += ")";
  return Status(std::move(cause));
}

// Says which communicator it was, unless the rank that saw it first has said so.
Status Executor::named(const Status& status, const Context& context) const {
  if (!says_names_ || status.message().find("communicator \"") != std::string::npos) return status;
  Cause cause = status.cause();
  cause.message += fmt::format(" (communicator \"{}\"", context.name());
  if (&context != first_.get()) cause.message += fmt::format(", ranks as in \"{}\"", first_->name());
  cause.message += ")";
  return Status(std::move(cause));
}

void Executor::break_down(const Status& first_cause) {
  break_down(first_cause, concerned_by(first_cause));
}

// `found_in`: the operation; null: none.
void Executor::break_down(const Status& first_cause, const Operation* found_in) {
  const Status cause = named(with_context(first_cause, found_in), found_in ? found_in->context() : *first_);
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
  for (auto& operation : running_) {
    operation->withdraw();
    operation->context().show_counters();
    operation->finish(broken_);
  }
  for (auto& operation : queued_) operation->finish(broken_);
  for (auto& operation : ended) operation->finish(broken_);
  running_.clear();
  queued_.clear();
  searching_ = 0;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

}  // namespace hocket
