// TCP for Ranks<> of transport_ranks.hpp.
#pragma once

#include <memory>

#include "src/spi/transport.hpp"
#include "transports/registry.hpp"

namespace hocket::testing_support {

struct TcpMaker {
  explicit TcpMaker(Rank) {}
  Result<std::unique_ptr<Transport>> make(const TransportConfig& config) { return find_transport("tcp")->make(config); }
};

}  // namespace hocket::testing_support
