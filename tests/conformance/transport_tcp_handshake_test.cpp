// Who connects to a rank's port: strangers, liars, and peers that vanish.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "tests/conformance/tcp_maker.hpp"
#include "tests/conformance/tcp_stranger.hpp"
#include "tests/conformance/transport_ranks.hpp"
#include "transports/tcp/endpoint.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::testing_support {
namespace {

using ::testing::HasSubstr;

TEST(TcpHandshake, RefusesStrangersAndGoesOn) {
  Ranks<TcpMaker> ranks(3);
  const Address& door = ranks[0].address();
  std::vector<std::pair<const char*, Bytes>> greetings;
  const auto add = [&](const char* name, const auto& bytes) {
    const auto* at = reinterpret_cast<const std::byte*>(bytes.data());
    greetings.emplace_back(name, Bytes(at, at + bytes.size()));
  };
  add("HTTP", std::string("GET / HTTP/1.1\r\nHost: rank\r\n\r\n"));
  add("garbage", pattern(5000, 9));
  add("another group", hello(1, 0, ranks_group + 1));
  add("another rank's port", hello(2, 1));
  add("a rank that is too large", hello(3, 0));
  add("this rank itself", hello(0, 0));
  add("a welcome", tcp::encode(tcp::Hello{tcp::HelloKind::welcome, ranks_group, 1, 0}));
  auto version = hello(1, 0);
  version[4] = std::byte{9};
  add("another version", version);
  auto authentication = hello(1, 0);
  authentication[6] = std::byte{8};
  add("authentication", authentication);
  for (const auto& [name, greeting] : greetings) {
    Stranger stranger(door);
    stranger.say(greeting);
    EXPECT_TRUE(stranger.refused(ranks)) << name;
  }
  expect_unharmed(ranks);
}

// By every rank whose door it came to; a flood of strangers is no flood of lines.
TEST(TcpHandshake, EachAddressIsLoggedOnce) {
  Ranks<TcpMaker> ranks(2);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 20; ++i) {
    Stranger stranger(ranks[0].address());
    stranger.say(pattern(100, 5));
    EXPECT_TRUE(stranger.refused(ranks));
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, ::testing::ContainsRegex("rank 0 refused a connection from 127.0.0.1:[0-9]+: it does not speak"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST(TcpHandshake, SilentScannersAndHalfGreetingsDoNoHarm) {
  Ranks<TcpMaker> ranks(2);
  std::vector<Stranger> silent;
  for (int i = 0; i < 200; ++i) silent.emplace_back(ranks[0].address());
  Stranger half(ranks[0].address());
  const auto greeting = hello(1, 0);
  half.say(std::span(greeting).first(10));
  Stranger scanner(ranks[0].address());
  scanner.leave();
  Stranger rude(ranks[0].address());
  rude.reset();
  ranks.settle();
  ASSERT_TRUE(ranks[0].next_deadline().has_value());  // the silent ones will be shown out
  expect_unharmed(ranks);
  EXPECT_TRUE(silent.front().refused(ranks));  // the oldest made room
}

// As in the first broadcast of a large group: they come before rank 0 looks, and some say hello later than others.
TEST(TcpHandshake, ACrowdOfRanksIsLetIn) {
  constexpr Rank size = 150;
  Ranks<TcpMaker> ranks(size);
  for (Rank rank = 1; rank < size; ++rank) ranks.connect(rank, 0);
  for (Rank rank = 1; rank < size; ++rank) ranks[rank].progress();         // dials
  for (Rank rank = size / 2; rank < size; ++rank) ranks[rank].progress();  // says hello
  ranks[0].progress();
  for (Rank rank = 1; rank < size; ++rank) ranks.connect(0, rank);
  EXPECT_TRUE(ranks.until([&] {
    for (Rank rank = 1; rank < size; ++rank) {
      if (!ranks[0].connected(rank) || !ranks[rank].connected(0)) return false;
    }
    return true;
  }));
  for (Rank rank = 0; rank < size; ++rank) EXPECT_TRUE(ranks.seen(rank).failures.empty()) << rank;
}

TEST(TcpHandshake, OneConnectionForEachRank) {
  Ranks<TcpMaker> ranks(2);
  ranks.connect_both(0, 1);
  Stranger second(ranks[0].address());
  second.say(hello(1, 0));
  EXPECT_TRUE(second.refused(ranks));
  expect_unharmed(ranks);
}

TEST(TcpHandshake, AHelloInPiecesIsWelcomed) {
  Ranks<TcpMaker> ranks(2);
  Stranger peer(ranks[0].address());
  const auto greeting = hello(1, 0);
  for (const std::byte& byte : greeting) {
    peer.say(std::span(&byte, 1));
    ranks.settle();
  }
  const auto welcome = tcp::parse_hello(peer.hear(ranks));
  ASSERT_TRUE(welcome.ok());
  EXPECT_EQ(*welcome, (tcp::Hello{tcp::HelloKind::welcome, ranks_group, 0, 1}));
  EXPECT_TRUE(ranks[0].connected(1));
}

TEST(TcpHandshake, SurvivesRunningOutOfDescriptors) {
  Ranks<TcpMaker> ranks(2);
  ranks.settle();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<Stranger> strangers;
  for (int i = 0; i < 3; ++i) strangers.emplace_back(ranks[0].address());
  const int free = ::fcntl(0, F_DUPFD_CLOEXEC, 0);  // the lowest that is free, and all below it are taken
  ASSERT_GE(free, 0);
  ::close(free);
  const rlimit none{static_cast<rlim_t>(free), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  ranks.settle();
  std::vector<pollfd> interests;
  const bool armed = ranks[0].arm(interests);
  ranks[0].disarm();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(armed);
  EXPECT_FALSE(something_ready(interests));  // or waiting would spin
  EXPECT_TRUE(ranks[0].next_deadline().has_value());
  expect_unharmed(ranks);
}

}  // namespace
}  // namespace hocket::testing_support
