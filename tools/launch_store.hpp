// The store that a launch serves for its ranks, so that it outlives every one of them.
#pragma once

#include <memory>
#include <string>

#include "src/spi/status.hpp"
#include "src/store/store_server.hpp"

namespace hocket::launch {

// Serves one at that address of this host, unless HOCKET_STORE names one: then there is nothing. Sets HOCKET_STORE in
// this process's environment, and HOCKET_SECRET where nothing about secrets is set. Errors: those of
// StoreServer::start() and Trust::from_environment().
Result<std::unique_ptr<StoreServer>> serve_store(const std::string& address);

}  // namespace hocket::launch
