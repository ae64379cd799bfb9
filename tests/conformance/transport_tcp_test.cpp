#include <cstdlib>

#include "tests/conformance/tcp_maker.hpp"
#include "tests/conformance/transport_suites.hpp"

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

HOCKET_INSTANTIATE_TRANSPORT_SUITES(Tcp, TcpMaker);
HOCKET_INSTANTIATE_TRANSPORT_SUITES(StripedTcp, StripedTcpMaker);

}  // namespace hocket::testing
