#include <random>

#include "tests/conformance/transport_fault_suite.hpp"
#include "tests/conformance/transport_probe_suite.hpp"
#include "tests/conformance/transport_suite.hpp"
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

INSTANTIATE_TYPED_TEST_SUITE_P(Shm, TransportSuite, ShmMaker);
INSTANTIATE_TYPED_TEST_SUITE_P(Shm, TransportFaultSuite, ShmMaker);
INSTANTIATE_TYPED_TEST_SUITE_P(Shm, TransportProbeSuite, ShmMaker);

}  // namespace hocket::testing
