#include <cstdlib>

#include "tests/conformance/tcp_maker.hpp"
#include "tests/conformance/transport_fault_suite.hpp"
#include "tests/conformance/transport_probe_suite.hpp"
#include "tests/conformance/transport_suite.hpp"

namespace hocket::testing {

// The same over several streams for each link.
struct StripedTcpMaker : TcpMaker {
  using TcpMaker::TcpMaker;
  Result<std::unique_ptr<Transport>> make(const TransportConfig& config) {
    ::setenv("HOCKET_TCP_STREAMS", "4", 1);
    auto made = TcpMaker::make(config);
    ::unsetenv("HOCKET_TCP_STREAMS");
    return made;
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, TransportSuite, TcpMaker);
INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, TransportFaultSuite, TcpMaker);
INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, TransportProbeSuite, TcpMaker);
INSTANTIATE_TYPED_TEST_SUITE_P(StripedTcp, TransportSuite, StripedTcpMaker);
INSTANTIATE_TYPED_TEST_SUITE_P(StripedTcp, TransportFaultSuite, StripedTcpMaker);
INSTANTIATE_TYPED_TEST_SUITE_P(StripedTcp, TransportProbeSuite, StripedTcpMaker);

}  // namespace hocket::testing
