// How the executor finds out from whom a receive takes its message that may come from any peer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/exec/executor.hpp"

namespace hocket {

// Whether the peer's next message was sent to be received: what belongs to a collective is not. Two ranks have no two
// communicators of one number, so a message of this number is this communicator's.
bool Executor::has_sent(Rank peer, const Context& context) const {
  const auto tag = peers_->probe(peer);
  return tag && tag->call.collective == Collective::send && tag->communicator == context.number();
}

bool Executor::somebody_has_sent() const {
  for (Rank peer = 0; peer < peers_->size(); ++peer) {
    const auto tag = peers_->probe(peer);
    if (tag && tag->call.collective == Collective::send) return true;
  }
  return false;
}

// Among the peers from whom no operation before it receives, beginning with a different one each time, so that none is
// left behind. Where there is no message yet, later receives wait behind it.
bool Executor::find_source(Operation& receive) {
  const Context& context = receive.context();
  const Rank size = context.size(peers_->size());
  for (Rank i = 0; i < size; ++i) {
    const Rank rank = (next_source_ + i) % size, peer = context.peer_of(rank);
    if (peer == config_.rank || busy_.is_taken({peer, false}) || !has_sent(peer, context)) continue;
    receive.take_from(peer);
    next_source_ = rank + 1;
    return true;
  }
  for (Rank rank = 0; rank < size; ++rank) busy_.take({context.peer_of(rank), false});
  ++searching_;
  return false;
}

// When check_deadlines() has something to do for an operation that searches.
Deadline Executor::end_of_search() const {
  Deadline end(Deadline::Clock::time_point::max());
  for (const auto& operation : queued_) {
    if (operation->needs_source()) end = earlier(end, operation->deadline());
  }
  return end;
}

Status Executor::nobody_sends(const Operation& receive, Code code, std::string_view why, Rank peer) const {
  const Signature& call = receive.signature();
  return Status(
      Cause{.code = code,
            .message = fmt::format("recv of {} {} from any rank: {} (seen by rank {}, after {:.3f} s)", call.count,
                                   name_of(call.dtype), why, config_.rank, receive.elapsed_seconds()),
            .rank = config_.rank,
            .peer = peer,
            .operation = std::string(name_of(Collective::recv)),
            .elapsed_seconds = receive.elapsed_seconds()});
}

Status Executor::nobody_sent(const Operation& receive) const {
  for (Rank peer = 0; peer < peers_->size(); ++peer) {
    const auto tag = receive.context().has(peer) ? peers_->probe(peer) : std::nullopt;
    if (!tag || tag->call.collective == Collective::send) continue;
    const std::string why = fmt::format("no rank sent anything before its deadline; rank {} waits in {} instead", peer,
                                        describe(tag->call));
    return nobody_sends(receive, Code::timeout, why, peer);
  }
  return nobody_sends(receive, Code::timeout, "no rank sent anything before its deadline", no_rank);
}

bool Executor::all_have_left(const Context& context) const {
  const auto here = std::ranges::count_if(departed_, [&](Rank peer) { return context.has(peer); });
  return here + 1 >= context.size(peers_->size());
}

Status Executor::nobody_is_left(const Operation& receive) const {
  const std::string why =
      fmt::format("nobody is left who could send: ranks {} have left the communicator", fmt::join(departed_, ", "));
  return nobody_sends(receive, Code::peer_lost, why, departed_.back());
}

}  // namespace hocket
