#include "tools/launch_store.hpp"

#include <stdlib.h>

#include "src/base/environment.hpp"
#include "tools/launch_process.hpp"

namespace hocket::launch {

Result<std::unique_ptr<StoreServer>> serve_store(const std::string& address) {
  if (const std::string secret = secret_for_ranks(); !secret.empty()) ::setenv("HOCKET_SECRET", secret.c_str(), 1);
  if (environment::find({"HOCKET_STORE"})) return std::unique_ptr<StoreServer>();
  auto trust = Trust::from_environment();
  if (!trust) return trust.status();
  auto server = StoreServer::start(address, 0, {.trust = std::move(*trust)});
  if (server) ::setenv("HOCKET_STORE", (*server)->url().c_str(), 1);
  return server;
}

}  // namespace hocket::launch
