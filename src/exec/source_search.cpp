#include "src/exec/source_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

namespace hocket {
namespace {

// What belongs to a collective was not sent to be received.
bool is_sent(const std::optional<Tag>& tag) {
  return tag && tag->call.kind == SignatureKind::send;
}

bool somebody_has_sent(Peers& peers) {
  for (Rank peer = 0; peer < peers.size(); ++peer) {
    if (is_sent(peers.probe(peer))) return true;
  }
  return false;
}

// Two ranks have no two communicators of one number, so a message of this number is this communicator's.
bool has_sent(Peers& peers, Rank peer, const Context& context) {
  const auto tag = peers.probe(peer);
  return is_sent(tag) && tag->communicator == context.number();
}

}  // namespace

void SourceSearch::match(OperationQueue& queue, Peers& peers) {
  if (queue.searching().empty() || !somebody_has_sent(peers)) return;
  for (bool found = true; found;) {  // one that finds its source may let others search
    found = false;
    for (auto at = queue.searching().begin(); at != queue.searching().end();) {
      found |= find_source(queue, *at++, peers);
    }
  }
}

// Among the peers from whom no operation before it receives, beginning with a different one each time, so that none is
// left behind.
bool SourceSearch::find_source(OperationQueue& queue, OperationQueue::Entry& receive, Peers& peers) {
  const Context& context = receive.operation->context();
  const Rank size = context.size(peers.size());
  for (Rank i = 0; i < size; ++i) {
    const Rank rank = (next_source_ + i) % size, peer = context.peer_of(rank);
    if (peer == rank_ || !OperationQueue::is_first_for(receive, rank) || !has_sent(peers, peer, context)) continue;
    queue.take_from(receive, rank);
    next_source_ = rank + 1;
    return true;
  }
  return false;
}

Status SourceSearch::give_up(const Operation& receive, Code code, std::string_view why, Rank peer) const {
  const Signature& call = receive.signature();
  return Status(Cause{.code = code,
                      .message = fmt::format("recv of {} {} from any rank: {} (seen by rank {}, after {:.3f} s)",
                                             call.count, name_of(call.dtype), why, rank_, receive.elapsed_seconds()),
                      .rank = rank_,
                      .peer = peer,
                      .operation = std::string(name_of(Collective::recv)),
                      .elapsed_seconds = receive.elapsed_seconds()});
}

Status SourceSearch::nobody_sent(const Operation& receive, Peers& peers, Rank culprit) const {
  for (Rank peer = 0; peer < peers.size(); ++peer) {
    const auto tag = receive.context().has(peer) ? peers.probe(peer) : std::nullopt;
    if (!tag || is_sent(tag)) continue;
    const std::string why = fmt::format("no rank sent anything before its deadline; rank {} waits in {} instead", peer,
                                        describe(tag->call));
    return give_up(receive, Code::timeout, why, peer);
  }
  const std::string why =
      culprit == no_rank ? "" : fmt::format("; all that could wait themselves, but for rank {}", culprit);
  return give_up(receive, Code::timeout, "no rank sent anything before its deadline" + why, culprit);
}

Status SourceSearch::nobody_is_left(const Operation& receive, const std::vector<Rank>& departed) const {
  const std::string why =
      fmt::format("nobody is left who could send: ranks {} have left the communicator", fmt::join(departed, ", "));
  return give_up(receive, Code::peer_lost, why, departed.back());
}

}  // namespace hocket
