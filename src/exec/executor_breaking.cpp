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
  for (const auto& operation : running_) {
    const bool message = operation->signature().collective == Collective::send;
    if (message || tag.call.collective == Collective::send) continue;
    operation->hear_waiting(peer);
    if (static_cast<std::uint32_t>(operation->sequence()) != tag.sequence) continue;
    const Tag mine = tag_of(*operation);
    if (mine != tag) peer_failed(peer, mismatch(config_.rank, peer, {tag, 0}, {mine, 0}));
  }
  // This rank may be through with the call, where its own needed nothing from the peer.
  const Tag& past = past_calls_[tag.sequence % past_calls_.size()];
  const bool same_number = past.sequence == tag.sequence && past.sequence != 0;
  if (same_number && tag.call.collective != Collective::send && past != tag) {
    peer_failed(peer, mismatch(config_.rank, peer, {tag, 0}, {past, 0}));
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

// What peers say, or that one has ended, is the cause; an operation's own failure may be its consequence only: a peer
// whose communicator broke first closes its door.
Status Executor::first_told(const Status& own_failure) {
  if (peer_failure_.ok()) look_at_links();
  return peer_failure_.ok() ? own_failure : std::exchange(peer_failure_, Status());
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

// Says which communicator it was, unless the rank that saw it first has said so.
Status Executor::named(const Status& status) const {
  const std::string name = fmt::format("communicator \"{}\"", config_.name);
  if (config_.name.empty() || status.message().find(name) != std::string::npos) return status;
  Cause cause = status.cause();
  cause.message += fmt::format(" ({})", name);
  return Status(std::move(cause));
}

void Executor::break_down(const Status& first_cause) {
  const Status cause = named(with_context(first_cause, running_.empty() ? nullptr : running_.front().get()));
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
    operation->finish(broken_);
  }
  for (auto& operation : queued_) operation->finish(broken_);
  for (auto& operation : ended) operation->finish(broken_);
  running_.clear();
  queued_.clear();
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

}  // namespace hocket
