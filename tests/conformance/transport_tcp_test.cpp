#include "tests/conformance/transport_fault_suite.hpp"
#include "tests/conformance/transport_suite.hpp"
#include "transports/registry.hpp"

namespace hocket::testing {

struct TcpMaker {
  explicit TcpMaker(Rank) {}
  Result<std::unique_ptr<Transport>> make(const TransportConfig& config) { return find_transport("tcp")->make(config); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, TransportSuite, TcpMaker);
INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, TransportFaultSuite, TcpMaker);

}  // namespace hocket::testing
