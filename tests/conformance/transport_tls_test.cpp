// TCP with TLS is the same transport; and who speaks TLS and who does not, or is of another authority, never meet.
#include <cstdlib>

#include "src/base/tls.hpp"
#include "tests/conformance/tcp_maker.hpp"
#include "tests/conformance/tcp_stranger.hpp"
#include "tests/conformance/transport_suites.hpp"
#include "tests/process/program.hpp"
#include "tests/support/certificates.hpp"

namespace hocket::testing_support {

// A certificate for each rank, of one authority.
class Certificates {
 public:
  static const CertificateFiles& of(Rank rank) {
    static const Certificates all;
    return all.files_[static_cast<std::size_t>(rank) % all.files_.size()];
  }
  static const CertificateFiles& of_a_stranger() {
    static const TemporaryFolder folder;
    static const CertificateFiles files = Authority(folder.path(), "foreign").sign("stranger");
    return files;
  }

 private:
  Certificates() {
    const Authority authority(folder_.path(), "authority");
    for (int i = 0; i < 4; ++i) files_.push_back(authority.sign("rank" + std::to_string(i)));
  }

  TemporaryFolder folder_;
  std::vector<CertificateFiles> files_;
};

Result<std::unique_ptr<Transport>> make_with(const CertificateFiles& files, const TransportConfig& config) {
  const auto identity = TlsIdentity::load(files.certificate, files.key, files.authority);
  if (!identity) return identity.status();
  TransportConfig with_identity = config;
  with_identity.tls = &*identity;
  return find_transport("tcp")->make(with_identity);
}

struct TlsMaker : TcpMaker {
  using TcpMaker::TcpMaker;
  Result<std::unique_ptr<Transport>> make(const TransportConfig& config) {
    return make_with(Certificates::of(config.rank), config);
  }
};

struct StripedTlsMaker : TlsMaker {
  using TlsMaker::TlsMaker;
  Result<std::unique_ptr<Transport>> make(const TransportConfig& config) {
    ::setenv("HOCKET_TCP_STREAMS", "4", 1);
    auto made = TlsMaker::make(config);
    ::unsetenv("HOCKET_TCP_STREAMS");
    return made;
  }
};

HOCKET_INSTANTIATE_TRANSPORT_SUITES(Tls, TlsMaker);
HOCKET_INSTANTIATE_TRANSPORT_SUITES(StripedTls, StripedTlsMaker);

namespace {

using ::testing::HasSubstr;

// Rank 0 with TLS, and rank 1 as each test wants it.
struct Odd {
  enum class One { plain, foreign };
  One one = One::plain;
  bool zero_is_odd = false;  // instead of rank 1

  explicit Odd(Rank) {}
  Odd(One what, bool zero) : one(what), zero_is_odd(zero) {}
  Result<std::unique_ptr<Transport>> make(const TransportConfig& config) {
    if ((config.rank == 0) != zero_is_odd) return make_with(Certificates::of(config.rank), config);
    return one == One::plain ? find_transport("tcp")->make(config) : make_with(Certificates::of_a_stranger(), config);
  }
};

// What rank 1, which dials, hears.
std::string failure_of_dial(Ranks<Odd>& ranks) {
  ranks.connect(1, 0, Deadline::after(std::chrono::seconds(20)));
  ranks.connect(0, 1, Deadline::after(std::chrono::seconds(20)));
  EXPECT_TRUE(ranks.until([&] { return !ranks.seen(1).failures.empty(); }));
  EXPECT_FALSE(ranks[0].connected(1));
  return ranks.seen(1).failures.empty() ? "" : ranks.seen(1).failures[0].second.message();
}

TEST(TlsDial, PlainToTlsSaysWhatToSet) {
  Ranks<Odd> ranks(2, Odd(Odd::One::plain, false));
  EXPECT_THAT(failure_of_dial(ranks), HasSubstr("it speaks TLS, and this rank does not: set HOCKET_TLS_CERT"));
}

TEST(TlsDial, TlsToPlainSaysWhatToSet) {
  Ranks<Odd> ranks(2, Odd(Odd::One::plain, true));
  EXPECT_THAT(failure_of_dial(ranks), HasSubstr("during the TLS handshake; set HOCKET_TLS_CERT"));
}

TEST(TlsDial, AnotherAuthorityIsRefusedByBoth) {
  for (const bool zero : {false, true}) {
    Ranks<Odd> ranks(2, Odd(Odd::One::foreign, zero));
    EXPECT_THAT(failure_of_dial(ranks), HasSubstr("its certificate was not accepted"));
  }
}

// Who stops in the middle of the handshake keeps nobody out.
TEST(TlsDial, AStrangerThatFallsSilentHarmsNobody) {
  Ranks<TlsMaker> ranks(2);
  Stranger silent(ranks[0].address()), half(ranks[0].address());
  half.say(std::string("\x16\x03\x01\x02\x00\x01\x00", 7));  // the beginning of a ClientHello
  auto [low, high] = ranks.connect_both(0, 1);
  exchange(ranks, *high, *low, 1, 100'000);
}

TEST(TlsDial, NoiseIsRefused) {
  Ranks<TlsMaker> ranks(2);
  Stranger noisy(ranks[0].address());
  noisy.say(std::string(4096, 'x'));
  auto [low, high] = ranks.connect_both(0, 1);
  exchange(ranks, *low, *high, 1, 1000);
  noisy.leave();
}

}  // namespace
}  // namespace hocket::testing_support
