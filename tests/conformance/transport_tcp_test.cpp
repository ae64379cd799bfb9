#include <cstdlib>

#include "tests/conformance/tcp_maker.hpp"
#include "tests/conformance/transport_suites.hpp"

namespace hocket::testing_support {

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

// The same where both sides of every connection prove that they know a secret.
struct SecretTcpMaker : StripedTcpMaker {
  using StripedTcpMaker::StripedTcpMaker;
  Result<std::unique_ptr<Transport>> make(TransportConfig config) {
    config.secret = "what the ranks of this job know";
    return StripedTcpMaker::make(config);
  }
};

HOCKET_INSTANTIATE_TRANSPORT_SUITES(Tcp, TcpMaker);
HOCKET_INSTANTIATE_TRANSPORT_SUITES(StripedTcp, StripedTcpMaker);
HOCKET_INSTANTIATE_TRANSPORT_SUITES(SecretTcp, SecretTcpMaker);

}  // namespace hocket::testing_support
