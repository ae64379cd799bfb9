// UnseenPeers: looks after peers that an operation waits for, although this rank has no connection with them. Of a
// death those tell who are connected with the dead rank: its neighbours on the ring, once that stands. When some have
// left, nobody may be there to do so.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <vector>

#include "src/exec/operation_queue.hpp"
#include "src/exec/peers.hpp"

namespace hocket {

// Thread rule: the thread that progresses.
class UnseenPeers {
 public:
  explicit UnseenPeers(Rank rank) : rank_(rank) {}

  // A peer that has ended, one that is waited for in vain, which is the same or ended for that, and what waits; null:
  // only receives that may come from other ranks, too.
  struct Ended {
    Rank peer;
    Rank awaited;
    const Operation* operation;
  };
  // Whether a death might be told by nobody: some have left, or this rank is not connected with both neighbours yet.
  bool may_be(std::span<const Rank> departed) const { return !departed.empty() || !stands_in_ring_; }
  // Looks once it is time. `departed`: those that are known to have left.
  std::vector<Ended> find_ended(const OperationQueue& queue, Peers& peers, std::span<const Rank> departed);
  // When it is time.
  Deadline next_look() const { return next_look_; }

 private:
  bool has_both_neighbours(Peers& peers) const;
  // `known`: one that has ended.
  Rank lowest_ended(Peers& peers, Rank known) const;

  const Rank rank_;
  bool stands_in_ring_ = false;
  Deadline next_look_ = Deadline::after(std::chrono::milliseconds(0));
};

}  // namespace hocket
