// Every transport that connects processes. A new one is one folder and one line here. (Loopback connects threads of one
// process and is made by its hub.)
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "src/spi/transport.hpp"

namespace hocket {

struct TransportEntry {
  std::string_view name;
  Result<std::unique_ptr<Transport>> (*make)(const TransportConfig& config);
};

// In the order in which they are preferred where several reach a peer.
std::span<const TransportEntry> transports();
// Null where there is none of that name.
const TransportEntry* find_transport(std::string_view name);

}  // namespace hocket
