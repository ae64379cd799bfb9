#include <random>

#include "src/spi/plain_messages.hpp"
#include "tests/conformance/transport_suites.hpp"
#include "transports/shm/shm_transport.hpp"

namespace hocket::testing_support {

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

// The same where long messages stay in memory of their senders.
struct InPlaceShmMaker : ShmMaker {
  using ShmMaker::ShmMaker;
  Result<std::unique_ptr<Transport>> make(TransportConfig config) {
    auto made = ShmMaker::make(config);
    if (made.ok()) (*made)->leave_in_place(all_plain_messages());
    return made;
  }
};

// The same where messages are stored past the caches, however short they are.
struct PastCachesShmMaker : ShmMaker {
  using ShmMaker::ShmMaker;
  Result<std::unique_ptr<Transport>> make(TransportConfig config) {
    auto made = ShmMaker::make(config);
    if (made.ok()) (*made)->store_past_caches(1);
    return made;
  }
};

HOCKET_INSTANTIATE_TRANSPORT_SUITES(Shm, ShmMaker);
HOCKET_INSTANTIATE_TRANSPORT_SUITES(InPlaceShm, InPlaceShmMaker);
HOCKET_INSTANTIATE_TRANSPORT_SUITES(PastCachesShm, PastCachesShmMaker);
HOCKET_INSTANTIATE_TRANSPORT_SUITES(SecretShm, SecretShmMaker);

}  // namespace hocket::testing_support
