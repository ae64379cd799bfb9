// Shrinking: the survivors of a broken communicator make one of their own. They agree by notes over the standby links
// who goes on (regroup.hpp), then meet as the members of a new communicator do.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "src/comm/communicator_parts.hpp"

namespace hocket::comm {

struct ShrinkRequest {
  std::chrono::milliseconds timeout{0};   // 0: the communicator's
  std::chrono::milliseconds patience{0};  // with ranks that are alive, or may be; 0: a third of the time-out
  bool majority = true;                   // such ranks are left out by a majority only
  std::string name = {};                  // of the new communicator; empty: from the old one's
};
Result<ShrinkRequest> shrink_request(const hocket_shrink_options& options);

// `broken`: why `from` is broken. Errors: excluded (others go on without this rank, or it is the one that was not heard
// of), timeout (names for whom this rank waited), unsupported, aborted (soon after `stop` was requested),
// out_of_resources.
Result<CommunicatorParts> shrink(const CommunicatorParts& from, const Status& broken, const RegionTable* regions,
                                 const ShrinkRequest& request, const std::stop_token& stop);

}  // namespace hocket::comm
