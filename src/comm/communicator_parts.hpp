// What a communicator is made of once everything about it is known, and the last steps of all ways to get there.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "src/comm/link_set.hpp"
#include "src/comm/membership.hpp"
#include "src/store/store_server.hpp"

namespace hocket::comm {

struct CommunicatorParts {
  Membership membership;
  std::unique_ptr<StoreServer> server;  // where this rank serves the store
  std::shared_ptr<LinkSet> link_set;    // its own, or its parent's
  std::shared_ptr<Context> context;     // of the executor of these links
  WindowUse* window_use;                // the link set's, where it is of this communicator's ranks; else null
};

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

// Arranges this rank with the others, once all have told about themselves.
Result<CommunicatorParts> finalize(const Options& options, SharedPeerInfos peers, std::shared_ptr<LinkSet> link_set,
                                   Deadline deadline);

}  // namespace hocket::comm
