// Communicators whose ranks this process has all to itself.
#pragma once

#include <vector>

#include "src/comm/communicator_parts.hpp"

namespace hocket::comm {

// The only rank of its communicator, which would tell `self` if there were others. `regions`, `says_name`: see
// LinkSet::Config.
Result<CommunicatorParts> make_alone(const Options& options, PeerInfo self, const RegionTable* regions, bool says_name);
// All ranks of one, which threads of this process use; by rank.
Result<std::vector<CommunicatorParts>> make_local(const Options& options);

}  // namespace hocket::comm
