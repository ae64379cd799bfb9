// What a rank finds where a peer's address leads: the peer, somebody else, nobody, or silence.
#include <arpa/inet.h>
#include <sys/socket.h>

#include "src/base/fd.hpp"
#include "tests/conformance/tcp_maker.hpp"
#include "tests/conformance/transport_ranks.hpp"
#include "transports/tcp/endpoint.hpp"
#include "transports/tcp/interfaces.hpp"
#include "transports/tcp/sockets.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::testing_support {
namespace {

using ::testing::HasSubstr;

in6_addr ip(const char* text) {
  in6_addr address{};
  EXPECT_EQ(::inet_pton(AF_INET6, text, &address), 1);
  return address;
}

// A server that is no transport of the group, at the address of rank 0.
struct FalseRank {
  tcp::ListeningSocket listening = std::move(tcp::listen_anywhere()).value();
  Address address = tcp::encode(std::move(tcp::LocalHost::from_environment()).value().advertise(listening.port));
  tcp::Accepted caller;

  bool called() {
    if (!caller.fd) caller = tcp::accept_from(listening.fds.front().get());
    return static_cast<bool>(caller.fd);
  }
  template <class Bytes>
  void answer(const Bytes& bytes) {
    EXPECT_EQ(::send(caller.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
};

const Status& failure_of(Ranks<TcpMaker>& ranks) {
  EXPECT_TRUE(ranks.until([&] { return !ranks.seen(1).failures.empty(); }));
  EXPECT_EQ(ranks.seen(1).failures.size(), 1u);
  EXPECT_EQ(ranks.seen(1).failures[0].first, 0);
  return ranks.seen(1).failures[0].second;
}

TEST(TcpDial, SomebodyElseThere) {
  const std::pair<const char*, tcp::HelloFrame> answers[] = {
      {"another group", tcp::encode(tcp::Hello{tcp::HelloKind::welcome, 78, 0, 1})},
      {"another group or rank", tcp::encode(tcp::Hello{tcp::HelloKind::welcome, 77, 1, 0})},
      {"protocol", tcp::HelloFrame{}},
  };
  for (const auto& [says, answer] : answers) {
    FalseRank wrong;
    Ranks<TcpMaker> ranks(2);
    ASSERT_TRUE(ranks[1].connect(0, wrong.address, soon()).ok());
    EXPECT_TRUE(ranks.until([&] { return wrong.called(); }));
    wrong.answer(answer);
    const Status& why = failure_of(ranks);
    EXPECT_EQ(why.code(), Code::peer_lost);
    EXPECT_THAT(why.message(), HasSubstr(says));
    EXPECT_THAT(why.message(), HasSubstr("rank 0 cannot be reached (127.0.0.1:"));
  }
}

TEST(TcpDial, TheDoorIsShutInOurFace) {
  FalseRank wrong;
  Ranks<TcpMaker> ranks(2);
  ASSERT_TRUE(ranks[1].connect(0, wrong.address, soon()).ok());
  EXPECT_TRUE(ranks.until([&] { return wrong.called(); }));
  wrong.caller.fd.reset();
  EXPECT_EQ(failure_of(ranks).code(), Code::peer_lost);
}

TEST(TcpDial, SilenceEndsAtTheDeadline) {
  FalseRank silent;
  Ranks<TcpMaker> ranks(2);
  ASSERT_TRUE(ranks[1].connect(0, silent.address, Deadline::after(std::chrono::milliseconds(50))).ok());
  ASSERT_TRUE(ranks[1].next_deadline().has_value());
  const Status& why = failure_of(ranks);
  EXPECT_EQ(why.code(), Code::timeout);
  EXPECT_THAT(why.message(), HasSubstr("rank 0"));
  EXPECT_THAT(why.message(), HasSubstr("did not answer"));
  EXPECT_GT(why.cause().elapsed_seconds, 0.0);
  EXPECT_FALSE(ranks[1].next_deadline().has_value());
}

TEST(TcpDial, ASilentPeerKeepsNobodyWaiting) {
  FalseRank silent;
  Ranks<TcpMaker> ranks(3);
  ASSERT_TRUE(ranks[2].connect(0, silent.address, soon()).ok());
  ranks.connect_both(1, 2);
  EXPECT_FALSE(ranks[2].connected(0));
  EXPECT_TRUE(ranks.seen(2).failures.empty());
}

TEST(TcpDial, ASilentAddressIsLeftForAnother) {
  Ranks<TcpMaker> ranks(2);
  auto reachability = *tcp::parse_reachability(ranks[0].address());
  reachability.host++;
  reachability.ips = {ip("::ffff:192.0.2.1"),
                      ip("::ffff:127.0.0.1")};  // of a network for examples: no answer, or no way
  ASSERT_TRUE(ranks[1].connect(0, tcp::encode(reachability), soon()).ok());
  ranks.connect(0, 1);
  EXPECT_TRUE(ranks.until([&] { return ranks[0].connected(1) && ranks[1].connected(0); }));
}

TEST(TcpDial, TriesEachAddressOfAnotherHost) {
  Ranks<TcpMaker> ranks(2);
  auto reachability = *tcp::parse_reachability(ranks[0].address());
  reachability.host++;
  reachability.ips = {ip("::ffff:255.255.255.255"), ip("::ffff:127.0.0.1")};
  auto dialled = ranks[1].connect(0, tcp::encode(reachability), soon());
  ASSERT_TRUE(dialled.ok());
  ranks.connect(0, 1);
  EXPECT_TRUE(ranks.until([&] { return ranks[0].connected(1) && ranks[1].connected(0); }));
}

TEST(TcpDial, NamesEveryAddressThatFailed) {
  Ranks<TcpMaker> ranks(2);
  auto reachability = *tcp::parse_reachability(ranks[0].address());
  reachability.host++;
  reachability.ips = {ip("::ffff:255.255.255.255"), ip("::ffff:127.0.0.1")};
  ranks.kill(0);
  ASSERT_TRUE(ranks[1].connect(0, tcp::encode(reachability), soon()).ok());
  const Status& why = failure_of(ranks);
  EXPECT_EQ(why.code(), Code::peer_lost);
  EXPECT_THAT(why.message(), HasSubstr("255.255.255.255:"));
  EXPECT_THAT(why.message(), HasSubstr("127.0.0.1:"));
  EXPECT_THAT(why.message(), HasSubstr("refused"));
}

}  // namespace
}  // namespace hocket::testing_support
