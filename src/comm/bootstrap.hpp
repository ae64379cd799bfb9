// Bootstrap: how the ranks of a job, which know no more than a store's address, become a communicator.
#pragma once

#include <stop_token>

#include "src/comm/communicator_parts.hpp"

namespace hocket::comm {

// Blocks until all ranks are there, or options.timeout has passed. Code::aborted soon after `stop` is requested, here
// and on the ranks that have been met. `regions`: this process's registered memory; outlives what is made.
Result<CommunicatorParts> bootstrap(const Options& given, const RegionTable& regions, const std::stop_token& stop);

}  // namespace hocket::comm
