#include "src/exec/unseen_peers.hpp"

#include <algorithm>
#include <map>

namespace hocket {
namespace {

constexpr std::chrono::milliseconds look_interval{20};
constexpr int looking_share = 20;  // one part in so many of this rank's time

// The operation with which the ring is made has number 0; what comes later runs once that stands.
bool is_past_meeting(const OperationQueue& queue) {
  const auto is_later = [](const OperationQueue::Entry& entry) {
    const Operation& operation = *entry.operation;
    return operation.is_message() || operation.sequence() != 0 || operation.context().number() != 0;
  };
  return std::ranges::any_of(queue.running(), is_later) || !queue.searching().empty();
}

}  // namespace

// A link alone is no connection: while the peer has yet to dial, nothing tells this rank that the peer died.
bool UnseenPeers::has_both_neighbours(Peers& peers) const {
  const Rank size = peers.size();
  const auto has = [&](Rank peer) { return peer == rank_ || peers.is_connected(peer); };
  return size < 2 || (has((rank_ + 1) % size) && has((rank_ + size - 1) % size));
}

// While ranks meet, those end that rank 0's end keeps from meeting, and have told nobody.
Rank UnseenPeers::lowest_ended(Peers& peers, Rank known) const {
  for (Rank peer = 0; peer < known; ++peer) {
    if (peer != rank_ && !peers.is_connected(peer) && peers.has_ended(peer)) return peer;
  }
  return known;
}

std::vector<UnseenPeers::Ended> UnseenPeers::find_ended(const OperationQueue& queue, Peers& peers,
                                                        std::span<const Rank> departed) {
  stands_in_ring_ = stands_in_ring_ || is_past_meeting(queue) || has_both_neighbours(peers);
  if (!next_look_.passed()) return {};
  const auto began = Deadline::Clock::now();
  std::map<Rank, const Operation*> unseen;
  const auto add = [&](Rank peer, const Operation* operation) {
    if (peers.is_connected(peer) || std::ranges::find(departed, peer) != departed.end()) return;
    unseen.try_emplace(peer, operation);
  };
  for (const auto& entry : queue.running()) {
    if (entry.operation->complete()) continue;
    for (const Rank peer : entry.operation->missing().peers) add(peer, entry.operation.get());
  }
  for (const auto& entry : queue.searching()) {
    for (Rank peer = 0; peer < peers.size(); ++peer) {
      if (entry.operation->context().has(peer)) add(peer, nullptr);
    }
  }
  std::vector<Ended> ended;
  for (const auto& [peer, operation] : unseen) {
    if (!peers.has_ended(peer)) continue;
    const bool began_it = operation == nullptr || stands_in_ring_;
    ended.push_back({began_it ? peer : lowest_ended(peers, peer), peer, operation});
  }
  const Deadline::Clock::duration pause = (Deadline::Clock::now() - began) * looking_share;
  next_look_ = Deadline::after(std::max<Deadline::Clock::duration>(pause, look_interval));
  return ended;
}

}  // namespace hocket
