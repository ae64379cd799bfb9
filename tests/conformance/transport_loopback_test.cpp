#include "tests/conformance/transport_fault_suite.hpp"
#include "tests/conformance/transport_probe_suite.hpp"
#include "tests/conformance/transport_suite.hpp"
#include "transports/loopback/loopback_hub.hpp"

namespace hocket::testing {

struct LoopbackMaker {
  explicit LoopbackMaker(Rank size, std::vector<LoopbackFault> faults = {})
      : hub(std::make_shared<LoopbackHub>(size, std::move(faults))) {}
  Result<std::unique_ptr<Transport>> make(const TransportConfig& config) { return hub->make_transport(config); }

  std::shared_ptr<LoopbackHub> hub;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Loopback, TransportSuite, LoopbackMaker);
INSTANTIATE_TYPED_TEST_SUITE_P(Loopback, TransportFaultSuite, LoopbackMaker);
INSTANTIATE_TYPED_TEST_SUITE_P(Loopback, TransportProbeSuite, LoopbackMaker);

}  // namespace hocket::testing
