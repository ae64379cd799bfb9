#include <random>

#include "tests/conformance/transport_suites.hpp"
#include "transports/shm/shm_transport.hpp"

namespace hocket::testing {

// The names of the ranks' sockets follow from the group, so that of each test is its own.
struct ShmMaker {
  explicit ShmMaker(Rank) {
    std::random_device device;
    group = (std::uint64_t{device()} << 32) | device();
  }
  Result<std::unique_ptr<Transport>> make(TransportConfig config) {
    config.group = group;
    return shm::make_transport(config);
  }

  std::uint64_t group;
};

// The same where both sides of every connection prove that they know a secret.
struct SecretShmMaker : ShmMaker {
  using ShmMaker::ShmMaker;
  Result<std::unique_ptr<Transport>> make(TransportConfig config) {
    config.secret = "what the ranks of this job know";
    return ShmMaker::make(config);
  }
};

HOCKET_INSTANTIATE_TRANSPORT_SUITES(Shm, ShmMaker);
HOCKET_INSTANTIATE_TRANSPORT_SUITES(SecretShm, SecretShmMaker);

}  // namespace hocket::testing
