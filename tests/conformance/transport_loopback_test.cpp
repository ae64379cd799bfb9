#include "tests/conformance/transport_suites.hpp"
#include "transports/loopback/loopback_hub.hpp"

namespace hocket::testing_support {

struct LoopbackMaker {
  explicit LoopbackMaker(Rank size, std::vector<LoopbackFault> faults = {})
      : hub(std::make_shared<LoopbackHub>(size, std::move(faults))) {}
  Result<std::unique_ptr<Transport>> make(const TransportConfig& config) { return hub->make_transport(config); }

  std::shared_ptr<LoopbackHub> hub;
};

HOCKET_INSTANTIATE_TRANSPORT_SUITES(Loopback, LoopbackMaker);

}  // namespace hocket::testing_support
