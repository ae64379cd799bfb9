// Who is let in at a rank's port where there is a secret, and whom a rank trusts that it dials.
#include <string>

#include "tests/conformance/tcp_maker.hpp"
#include "tests/conformance/tcp_stranger.hpp"
#include "tests/conformance/transport_ranks.hpp"
#include "transports/tcp/handshake.hpp"
#include "transports/tcp/hello_reader.hpp"

namespace hocket::testing_support {
namespace {

using tcp::Hello;
using tcp::HelloKind;
using Side = Challenge::Side;
using ::testing::HasSubstr;

const std::string secret = "what the ranks of this job know";

struct SecretMaker : TcpMaker {
  using TcpMaker::TcpMaker;
  Result<std::unique_ptr<Transport>> make(TransportConfig config) {
    config.secret = secret;
    return TcpMaker::make(config);
  }
};

// Rank 1 as rank 0 sees it.
const Hello greeting{HelloKind::hello, ranks_group, 1, 0};
const Hello answer{HelloKind::challenge, ranks_group, 0, 1};

std::string bytes_of(Hello hello, HelloKind kind, std::string_view authentication) {
  hello.kind = kind;
  hello.authentication = static_cast<std::uint16_t>(authentication.size());
  const auto frame = tcp::encode(hello);
  return std::string(reinterpret_cast<const char*>(frame.data()), frame.size()).append(authentication);
}

// Somebody who speaks the protocol, but knows the secret only if a test says so.
struct Newcomer {
  template <class Maker>
  explicit Newcomer(Ranks<Maker>& ranks) : stranger(ranks[0].address()) {}

  void say(HelloKind kind, std::string_view authentication) { stranger.say(bytes_of(greeting, kind, authentication)); }
  // The kind of the next frame, whose authentication is then in `heard`.
  template <class Maker>
  HelloKind hear(Ranks<Maker>& ranks) {
    const auto hello = tcp::parse_hello(stranger.hear(ranks));
    EXPECT_TRUE(hello.ok());
    heard = stranger.hear_bytes(ranks, hello->authentication);
    return hello->kind;
  }
  template <class Maker>
  void expect_refusal(Ranks<Maker>& ranks, Distrust why) {
    EXPECT_EQ(hear(ranks), HelloKind::refusal);
    EXPECT_EQ(heard, std::string(1, static_cast<char>(why)));
    EXPECT_TRUE(stranger.refused(ranks));
  }
  std::string their_nonce() const { return heard.substr(0, Challenge::nonce_bytes); }

  Stranger stranger;
  std::string heard;
};

class TcpTrust : public ::testing::Test {
 protected:
  Ranks<SecretMaker> ranks_{2};
};

TEST_F(TcpTrust, ARankWithTheSecretIsLetIn) {
  const Challenge own(secret, Side::dials, tcp::context_of(greeting));
  Newcomer rank(ranks_);
  rank.say(HelloKind::hello, own.nonce());
  ASSERT_EQ(rank.hear(ranks_), HelloKind::challenge);
  EXPECT_TRUE(own.accepts(rank.heard.substr(Challenge::nonce_bytes), rank.their_nonce()));
  rank.say(HelloKind::proof, text_of(own.proof(rank.their_nonce())));
  EXPECT_EQ(rank.hear(ranks_), HelloKind::welcome);
  EXPECT_TRUE(ranks_[0].connected(1));
}

TEST_F(TcpTrust, AStrangerWithTheRightGroupAndRankIsRefused) {
  ::testing::internal::CaptureStderr();
  Newcomer stranger(ranks_);
  stranger.say(HelloKind::hello, "");
  stranger.expect_refusal(ranks_, Distrust::needs_secret);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("it has no secret, but this process has one: give all processes of the job the same "
                        "HOCKET_SECRET"));
  expect_unharmed(ranks_);
}

TEST_F(TcpTrust, AGuessedProofIsRefused) {
  Newcomer stranger(ranks_);
  stranger.say(HelloKind::hello, std::string(Challenge::nonce_bytes, 'n'));
  ASSERT_EQ(stranger.hear(ranks_), HelloKind::challenge);
  EXPECT_FALSE(ranks_[0].connected(1));
  stranger.say(HelloKind::proof, std::string(Challenge::proof_bytes, 'p'));
  stranger.expect_refusal(ranks_, Distrust::other_secret);
  expect_unharmed(ranks_);
}

TEST_F(TcpTrust, AReplayedTranscriptIsRefused) {
  const Challenge own(secret, Side::dials, tcp::context_of(greeting));
  std::string proof;
  {
    Ranks<SecretMaker> others(2);  // of the same group, secret and all
    Newcomer first(others);
    first.say(HelloKind::hello, own.nonce());
    ASSERT_EQ(first.hear(others), HelloKind::challenge);
    proof = text_of(own.proof(first.their_nonce()));
    first.say(HelloKind::proof, proof);
    ASSERT_EQ(first.hear(others), HelloKind::welcome);
  }
  Newcomer replayer(ranks_);
  replayer.say(HelloKind::hello, own.nonce());
  ASSERT_EQ(replayer.hear(ranks_), HelloKind::challenge);
  replayer.say(HelloKind::proof, proof);
  replayer.expect_refusal(ranks_, Distrust::other_secret);
  expect_unharmed(ranks_);
}

TEST_F(TcpTrust, AReflectedChallengeIsRefused) {
  Newcomer stranger(ranks_), oracle(ranks_);
  stranger.say(HelloKind::hello, std::string(Challenge::nonce_bytes, 'n'));
  ASSERT_EQ(stranger.hear(ranks_), HelloKind::challenge);
  oracle.say(HelloKind::hello, stranger.their_nonce());  // asks the rank to prove what it has asked for
  ASSERT_EQ(oracle.hear(ranks_), HelloKind::challenge);
  oracle.say(HelloKind::proof, stranger.heard.substr(Challenge::nonce_bytes));
  stranger.say(HelloKind::proof, oracle.heard.substr(Challenge::nonce_bytes));
  oracle.expect_refusal(ranks_, Distrust::other_secret);
  stranger.expect_refusal(ranks_, Distrust::other_secret);
  expect_unharmed(ranks_);
}

// It would prove for others who it is.
TEST_F(TcpTrust, ARankProvesNothingToThoseWhoLookForAnother) {
  for (const Hello& other :
       {Hello{HelloKind::hello, ranks_group + 1, 1, 0}, Hello{HelloKind::hello, ranks_group, 2, 1}}) {
    Newcomer stranger(ranks_);
    stranger.stranger.say(bytes_of(other, HelloKind::hello, std::string(Challenge::nonce_bytes, 'n')));
    EXPECT_TRUE(stranger.stranger.refused(ranks_));
  }
}

TEST_F(TcpTrust, AProofForAnotherRankIsRefused) {
  Hello other = greeting;
  other.stream = {0, 2};
  const Challenge own(secret, Side::dials, tcp::context_of(other));
  Newcomer stranger(ranks_);
  stranger.say(HelloKind::hello, own.nonce());
  ASSERT_EQ(stranger.hear(ranks_), HelloKind::challenge);
  stranger.say(HelloKind::proof, text_of(own.proof(stranger.their_nonce())));
  stranger.expect_refusal(ranks_, Distrust::other_secret);
}

TEST_F(TcpTrust, AnOlderGreetingIsRefused) {
  ::testing::internal::CaptureStderr();
  auto old = hello(1, 0);
  old[4] = std::byte{tcp::wire_version - 1};
  Stranger stranger(ranks_[0].address());
  stranger.say(old);
  EXPECT_TRUE(stranger.refused(ranks_));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("use one version of Hocket on all ranks"));
  expect_unharmed(ranks_);
}

// ---- the side that dials --------------------------------------------------------------------------------------------

// Listens where rank 0 should be, and answers one hello with `frame`.
class Impostor {
 public:
  Impostor() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    socklen_t bytes = sizeof to;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&to), &bytes);
    door_ = *tcp::endpoint_of(reinterpret_cast<const sockaddr*>(&to));
  }
  // What the side that dials says of it, which has a secret or none.
  std::string problem_of(const std::string& with, const std::string& frame) {
    const auto settings = tcp::Settings::from_environment();
    tcp::Dial dial(greeting, {door_}, soon(), *settings, with);
    Handshake now = dial.step();
    const UniqueFd peer(::accept(listener_.get(), nullptr, nullptr));
    while (now == Handshake::waiting && !dial.has_greeted()) now = dial.step();
    EXPECT_EQ(::send(peer.get(), frame.data(), frame.size(), MSG_NOSIGNAL), static_cast<ssize_t>(frame.size()));
    while (now == Handshake::waiting) now = dial.step();
    EXPECT_EQ(now, Handshake::failed);
    const std::size_t begin = sizeof(tcp::HelloFrame) + (with.empty() ? 0 : Challenge::nonce_bytes);
    char said[256];
    const ssize_t got = ::recv(peer.get(), said, sizeof said, 0);
    said_ = got > static_cast<ssize_t>(begin) ? std::string(said + begin, static_cast<std::size_t>(got) - begin) : "";
    return dial.problem();
  }
  // What it said after its hello.
  const std::string& said() const { return said_; }

 private:
  UniqueFd listener_;
  tcp::Endpoint door_;
  std::string said_;
};

TEST(TcpTrustOfADialler, WhoWelcomesWithoutAProofIsNotTrusted) {
  EXPECT_THAT(Impostor().problem_of(secret, bytes_of(answer, HelloKind::welcome, "")),
              HasSubstr("it has no secret, but this process has one"));
}

TEST(TcpTrustOfADialler, WhoProvesAnotherSecretIsNotTrustedAndIsTold) {
  Impostor impostor;
  const std::string wrong(tcp::authentication_bytes_max, 'x');
  EXPECT_THAT(impostor.problem_of(secret, bytes_of(answer, HelloKind::challenge, wrong)),
              HasSubstr("it does not know this process's secret"));
  EXPECT_EQ(impostor.said(),
            bytes_of(greeting, HelloKind::refusal, std::string(1, static_cast<char>(Distrust::other_secret))));
}

TEST(TcpTrustOfADialler, HearsWhyItIsRefused) {
  const auto refusal = [](Distrust why) {
    return bytes_of(answer, HelloKind::refusal, std::string(1, static_cast<char>(why)));
  };
  EXPECT_THAT(Impostor().problem_of("", refusal(Distrust::needs_secret)),
              HasSubstr("it refused us: it has a secret, but this process has none: give all processes"));
  EXPECT_THAT(Impostor().problem_of(secret, refusal(Distrust::has_no_secret)),
              HasSubstr("it refused us: it has no secret, but this process has one: give all processes"));
  EXPECT_THAT(Impostor().problem_of(secret, refusal(static_cast<Distrust>(99))), HasSubstr("it does not say why"));
}

}  // namespace
}  // namespace hocket::testing_support
