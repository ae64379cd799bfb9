// What a communicator is made of once everything about it is known.
#pragma once

#include <memory>

#include "src/comm/host_levels.hpp"
#include "src/comm/link_set.hpp"
#include "src/comm/membership.hpp"
#include "src/comm/standby.hpp"
#include "src/store/store_server.hpp"

namespace hocket::comm {

struct CommunicatorParts {
  Membership membership;
  std::unique_ptr<StoreServer> server;  // where this rank serves the store
  std::shared_ptr<LinkSet> link_set;    // its own, or its parent's
  std::shared_ptr<Context> context;     // of the executor of these links
  WindowUse* window_use;                // of the link set; null: its ranks share no memory, or are on several hosts
  std::shared_ptr<const HostLevels> levels = nullptr;  // null: one host, or ranks of some host share no memory
  Lineage lineage = {};
};

}  // namespace hocket::comm
