// The last steps of all ways to a communicator.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>

#include "src/comm/communicator_parts.hpp"

namespace hocket::comm {

// The ranks before and after this one on the ring; the same one of two ranks.
constexpr std::array<Rank, 2> neighbours_of(Rank rank, Rank size) {
  return {(rank + 1) % size, (rank + size - 1) % size};
}

// While it lives, a request to stop breaks a link set of a communicator that is being created.
class AbortOnStop {
 public:
  AbortOnStop(const std::stop_token& stop, std::shared_ptr<LinkSet> link_set)
      : callback_(stop, Abort{std::move(link_set)}) {}

 private:
  struct Abort {
    std::shared_ptr<LinkSet> link_set;
    void operator()() const { link_set->abort(*link_set->executor().first(), "its creation was given up"); }
  };
  const std::stop_callback<Abort> callback_;
};

// An allgather in place over this rank's two neighbours alone, for the time before other ranks are known; `all` holds
// one block of each rank. It makes the ring of connections, over which each rank's end is noticed by two others.
Status allgather_on_ring(LinkSet& link_set, std::span<std::byte> all, Deadline deadline);

// What every rank tells, after one such allgather; `mine` is what this one does.
Result<SharedPeerInfos> tell_on_ring(LinkSet& link_set, const PeerInfo& mine, Deadline deadline);

// Arranges this rank with the others, once all have told about themselves.
Result<CommunicatorParts> finalize(const Options& options, SharedPeerInfos peers, std::shared_ptr<LinkSet> link_set,
                                   Deadline deadline);

}  // namespace hocket::comm
