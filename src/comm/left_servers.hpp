// Stores that rank 0 served for creations that have failed. They stay a moment longer than these, so that ranks that
// are late read there why, too; rank 0 does not wait for them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "src/store/store_server.hpp"

namespace hocket::comm {

// Serves on in the background, until `readers` clients have been there and all have gone, or `until`. A process that
// exits waits for that. `point`: the name of its meeting point. Where no thread is left, the server ends at once.
void leave_server(const std::string& point, std::unique_ptr<StoreServer> server, std::size_t readers, Deadline until);
// Ends what was left at that meeting point, where rank 0 is about to serve again.
void end_left_servers(const std::string& point);

}  // namespace hocket::comm
