#include "transports/tcp/endpoint.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>

#include <random>

#include "src/base/mismatch.hpp"
#include "src/spi/transport.hpp"

namespace hocket::tcp {
namespace {

in6_addr ip(const char* text) {
  in6_addr address{};
  EXPECT_EQ(::inet_pton(AF_INET6, text, &address), 1);
  return address;
}

TEST(Endpoint, Text) {
  EXPECT_EQ((Endpoint{ip("::ffff:10.1.2.3"), 4000}).text(), "10.1.2.3:4000");
  EXPECT_EQ((Endpoint{ip("fd00::1"), 4000}).text(), "[fd00::1]:4000");
}

TEST(Endpoint, SocketAddressesComeBack) {
  for (const char* text : {"::ffff:192.168.0.9", "fd00::5"}) {
    const Endpoint endpoint{ip(text), 4242};
    const auto back = endpoint_of(socket_address_of(endpoint).get());
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->text(), endpoint.text());
  }
  EXPECT_FALSE(endpoint_of(nullptr).has_value());
}

TEST(Endpoint, ALinkLocalAddressHasTheInterface) {
  const Endpoint endpoint{ip("fe80::5"), 4242, ::if_nametoindex("lo")};
  EXPECT_EQ(endpoint.text(), "[fe80::5%lo]:4242");
  EXPECT_EQ(endpoint_of(socket_address_of(endpoint).get())->text(), endpoint.text());
}

TEST(Endpoint, ReachabilityComesBackAndFits) {
  Reachability mine{.host = 0x1234567890abcdef, .port = 65535, .ips = {}};
  for (std::size_t i = 0; i < ips_max; ++i) mine.ips.push_back(ip("fd00::1"));
  const std::string bytes = encode(mine);
  EXPECT_LE(bytes.size(), 512u);
  const auto parsed = parse_reachability(bytes);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->host, mine.host);
  EXPECT_EQ(parsed->port, mine.port);
  EXPECT_EQ(parsed->ips.size(), ips_max);
  EXPECT_EQ(encode(*parsed), bytes);
}

TEST(Endpoint, NonsenseIsNoReachability) {
  const std::string right = encode(Reachability{.host = 1, .port = 80, .ips = {ip("fd00::1"), ip("fd00::2")}});
  for (std::size_t length = 0; length < right.size(); ++length) {
    EXPECT_FALSE(parse_reachability(right.substr(0, length)).has_value()) << length;
  }
  EXPECT_FALSE(parse_reachability(right + "x").has_value());
  EXPECT_FALSE(parse_reachability(encode(Reachability{.host = 1, .port = 0, .ips = {}})).has_value());
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 600, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const auto parsed = parse_reachability(bytes);
    EXPECT_TRUE(!parsed || encode(*parsed) == bytes);
  }
}

TEST(Describe, SaysWhatWasCalled) {
  Signature call{.collective = Collective::allreduce, .dtype = DataType::float32, .op = ReduceOp::max, .count = 9};
  EXPECT_EQ(describe(call), "allreduce of 9 float32, max");
  call.collective = Collective::broadcast;
  call.root = 3;
  EXPECT_EQ(describe(call), "broadcast of 9 float32, from root 3");
  call.collective = Collective::reduce;
  EXPECT_EQ(describe(call), "reduce of 9 float32, max, to root 3");
  call.collective = Collective::allgather;
  EXPECT_EQ(describe(call), "allgather of 9 float32");
  call.collective = Collective::barrier;
  EXPECT_EQ(describe(call), "barrier");
}

class Names final : public TransportListener {
  void peer_failed(Rank, const Status&) override {}
  void peer_left(Rank) override {}
};

TEST(Describe, AMismatchAlwaysSaysWhatDiffers) {
  const MessageIdentity mine{
      .tag = {.communicator = 1, .sequence = 2, .call = {.collective = Collective::allgather, .count = 4}}, .bytes = 4};
  const auto says = [&](auto change) {
    MessageIdentity other = mine;
    change(other);
    return mismatch(0, 1, other, mine, Names()).message();
  };
  EXPECT_THAT(says([](auto& other) { other.tag.communicator = 9; }),
              ::testing::HasSubstr("rank 1 called allgather of 4 uint8 on communicator number 9 while rank 0 called "
                                   "allgather of 4 uint8 on communicator number 1:"));
  EXPECT_THAT(says([](auto& other) { other.tag.sequence = 9; }), ::testing::HasSubstr("number 9 and 2"));
  EXPECT_THAT(says([](auto& other) { other.tag.call.algorithm = 9; }), ::testing::HasSubstr("different algorithms"));
  EXPECT_THAT(says([](auto& other) { other.tag.call.root = 9; }), ::testing::HasSubstr("roots 9 and 0"));
  EXPECT_THAT(says([](auto& other) { other.bytes = 9; }), ::testing::HasSubstr("9 bytes where 4"));
  EXPECT_THAT(says([](auto& other) { other.tag.call.count = 9; }),
              ::testing::HasSubstr("rank 1 called allgather of 9 uint8 while rank 0 called allgather of 4 uint8:"));
}

}  // namespace
}  // namespace hocket::tcp
