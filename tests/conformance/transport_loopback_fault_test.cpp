// The faults that loopback can inject, and what they look like from both ends.
#include "tests/conformance/transport_ranks.hpp"
#include "transports/loopback/loopback_hub.hpp"

namespace hocket::testing_support {
namespace {

struct LoopbackMaker {
  std::shared_ptr<LoopbackHub> hub;
  Result<std::unique_ptr<Transport>> make(const TransportConfig& config) { return hub->make_transport(config); }
};

Ranks<LoopbackMaker> with_fault(const LoopbackFault& fault) {
  return Ranks<LoopbackMaker>(2, LoopbackMaker{std::make_shared<LoopbackHub>(2, std::vector{fault})});
}

TEST(LoopbackFaults, DelaysMessagesByProgressCalls) {
  auto ranks = with_fault({.from = 0, .to = 1, .delay = 10});
  auto [from, to] = ranks.connect_both(0, 1);
  ranks.settle();
  Bytes sent = pattern(8, 1), received(8);
  Outcome send, receive;
  to->recv(tag(1), whole(received), receive);
  from->send(tag(1), whole(sent), send);
  for (int call = 0; call < 10; ++call) {
    ranks[1].progress();
    EXPECT_FALSE(receive.done()) << call;
  }
  ranks[1].progress();
  EXPECT_TRUE(receive.good());
  EXPECT_EQ(sent, received);
}

TEST(LoopbackFaults, ADelayedMessageIsToldWhenItIsSeen) {
  Bytes sent = pattern(8, 1);
  Outcome send;
  auto ranks = with_fault({.from = 0, .to = 1, .delay = 10});
  auto [from, to] = ranks.connect_both(0, 1);
  ranks[1].listen(true);
  ranks.settle();
  from->send(tag(1), whole(sent), send);
  for (int call = 0; call < 10; ++call) {
    EXPECT_FALSE(to->probe().has_value()) << call;
    std::vector<pollfd> interests;
    EXPECT_FALSE(ranks[1].arm(interests)) << "further calls bring it nearer";
    ranks[1].progress();
  }
  EXPECT_EQ(to->probe(), tag(1));
}

TEST(LoopbackFaults, LosesTheLinkAfterSoManyMessages) {
  for (const bool mid_message : {false, true}) {
    auto ranks = with_fault({.from = 0, .to = 1, .messages = 2, .mid_message = mid_message});
    auto [from, to] = ranks.connect_both(0, 1);
    Bytes sent = pattern(10'000, 1);
    std::vector<Bytes> received(4, Bytes(sent.size()));
    Outcome sends[4], receives[4];
    for (std::uint32_t i = 0; i < 4; ++i) {
      from->send(tag(i), whole(sent), sends[i]);
      to->recv(tag(i), whole(received[i]), receives[i]);
    }
    EXPECT_TRUE(ranks.until([&] { return sends[3].done() && receives[3].done(); }));
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(sends[i].times, 1);
      EXPECT_EQ(receives[i].times, 1);
      EXPECT_EQ(receives[i].status.code(), i < 2 ? Code::ok : Code::peer_lost);
      EXPECT_EQ(received[i] == sent, i < 2);
    }
    EXPECT_EQ(received[2] != Bytes(sent.size()), mid_message);
    for (const Rank rank : {0, 1}) {
      ASSERT_EQ(ranks.seen(rank).failures.size(), 1u);
      EXPECT_EQ(ranks.seen(rank).failures[0].first, 1 - rank);
      EXPECT_EQ(ranks.seen(rank).failures[0].second.cause().peer, 1 - rank);
      EXPECT_EQ(ranks.seen(rank).failures[0].second.code(), Code::peer_lost);
    }
  }
}

TEST(LoopbackHub, RefusesWrongAndDoubleRanks) {
  auto hub = std::make_shared<LoopbackHub>(2);
  Recorder recorder;
  EXPECT_FALSE(hub->make_transport({.rank = 2, .size = 2, .listener = &recorder}).ok());
  EXPECT_FALSE(hub->make_transport({.rank = 0, .size = 3, .listener = &recorder}).ok());
  auto first = hub->make_transport({.rank = 0, .size = 2, .listener = &recorder});
  ASSERT_TRUE(first.ok());
  auto second = hub->make_transport({.rank = 0, .size = 2, .listener = &recorder});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::invalid_argument);
  auto other = std::make_shared<LoopbackHub>(2);
  EXPECT_FALSE(
      (*first)->reaches(other->make_transport({.rank = 1, .size = 2, .listener = &recorder}).value()->address()));
}

}  // namespace
}  // namespace hocket::testing_support
