// How links of every transport end in good order. Joined like transport_suite.hpp.
#pragma once

#include <thread>

#include "tests/conformance/transport_ranks.hpp"

namespace hocket::testing_support {

template <class Maker>
class TransportClosingSuite : public ::testing::Test {};

TYPED_TEST_SUITE_P(TransportClosingSuite);

TYPED_TEST_P(TransportClosingSuite, GoodbyeComesAfterWhatWasSent) {
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  Bytes sent = pattern(400'000, 2), received(sent.size()), more(4);
  Outcome send, receive, late;
  from->send(tag(1), whole(sent), send);
  from->close(Status());
  ranks.settle();
  EXPECT_TRUE(ranks.seen(1).departures.empty());
  to->recv(tag(1), whole(received), receive);
  to->recv(tag(2), whole(more), late);
  EXPECT_TRUE(ranks.until([&] { return !ranks.seen(1).departures.empty() && send.done(); }));
  EXPECT_TRUE(receive.good());
  EXPECT_TRUE(send.good());
  EXPECT_EQ(sent, received);
  EXPECT_EQ(late.times, 1);
  EXPECT_EQ(late.status.code(), Code::peer_lost);
  EXPECT_THAT(late.status.message(), ::testing::HasSubstr("rank 0"));
  EXPECT_THAT(ranks.seen(1).departures, ::testing::ElementsAre(0));
  EXPECT_TRUE(ranks.seen(1).failures.empty());
  EXPECT_TRUE(ranks.seen(0).failures.empty());
}

TYPED_TEST_P(TransportClosingSuite, AShutDownInGoodOrderIsNoLoss) {
  Ranks<TypeParam> ranks(3);
  auto [from, to] = ranks.connect_both(0, 1);
  ranks.connect_both(1, 2);
  Bytes sent = pattern(1000, 2), received(sent.size());
  Outcome send, receive;
  to->recv(tag(1), whole(received), receive);
  from->send(tag(1), whole(sent), send);
  ranks[0].shut_down(Status(), soon());
  ranks.kill(0);
  EXPECT_TRUE(ranks.until([&] { return !ranks.seen(1).departures.empty(); }));
  ranks.settle();
  EXPECT_TRUE(send.good() && receive.good());
  EXPECT_EQ(sent, received);
  EXPECT_TRUE(ranks.seen(1).failures.empty());
  EXPECT_TRUE(ranks[1].connected(2));
}

TYPED_TEST_P(TransportClosingSuite, AShutDownInGoodOrderDeliversWhatIsQueued) {
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  Bytes sent = pattern(std::size_t{9} << 20, 2), received(sent.size());
  Outcome send, receive;
  from->send(tag(1), whole(sent), send);
  to->recv(tag(1), whole(received), receive);
  std::thread other([&] {
    for (const Deadline deadline = soon(); !receive.done() && !deadline.passed();) ranks[1].progress();
  });
  ranks[0].shut_down(Status(), soon());
  other.join();
  EXPECT_TRUE(send.good() && receive.good());
  EXPECT_EQ(sent, received);
  EXPECT_TRUE(ranks.seen(1).failures.empty());
}

// A rank that waits tells every peer so, also one that has left and whose message it has not received yet.
TYPED_TEST_P(TransportClosingSuite, WhatARankSentBeforeItLeftOutlivesWordsToIt) {
  for (const std::size_t size : {1'000, 3'000'000}) {  // the second: more than a peer's kernel takes that reads nothing
    SCOPED_TRACE(size);
    Ranks<TypeParam> ranks(2);
    auto [from, to] = ranks.connect_both(0, 1);
    Bytes sent = pattern(size, 2), received(sent.size()), more(4);
    Outcome send, receive, late;
    from->send(tag(1), whole(sent), send);
    std::thread leaver([&] {
      ranks[0].shut_down(Status(), soon());
      ranks.kill(0);
    });
    if (size == 1'000) leaver.join();
    for (int time = 0; time < 3; ++time) {
      to->tell_waiting({.tag = tag(2)});
      ::poll(nullptr, 0, 10);  // an answer may come: a reset
      ranks[1].progress();
    }
    to->recv(tag(1), whole(received), receive);
    for (const Deadline deadline = soon(); !receive.done() && !deadline.passed();) ranks[1].progress();
    if (leaver.joinable()) leaver.join();
    to->recv(tag(2), whole(more), late);
    EXPECT_TRUE(ranks.until([&] { return late.done(); }));
    EXPECT_TRUE(receive.good()) << receive.status.message();
    EXPECT_EQ(sent, received);
    EXPECT_THAT(ranks.seen(1).departures, ::testing::ElementsAre(0));
    EXPECT_TRUE(ranks.seen(1).failures.empty());
  }
}

TYPED_TEST_P(TransportClosingSuite, ClosingEndsWhatIsPendingExactlyOnce) {
  for (const bool connected : {false, true}) {
    Ranks<TypeParam> ranks(2);
    Link* link = connected ? ranks.connect_both(0, 1).first : &ranks.connect(0, 1);
    Bytes bytes(more_than_fits);
    Outcome outcomes[6];
    link->send(tag(1), whole(bytes), outcomes[0]);
    link->send(tag(2), whole(bytes), outcomes[1]);
    link->recv(tag(1), whole(bytes), outcomes[2]);
    link->recv_reduce(tag(2), whole(bytes), whole(bytes), {}, outcomes[3]);
    link->close(Status(Code::aborted, "stop"));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(outcomes[i].times, 1) << i;
    link->send(tag(3), whole(bytes), outcomes[4]);
    link->recv(tag(3), whole(bytes), outcomes[5]);
    link->close(Status());
    ranks.settle();
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.times, 1);
      EXPECT_EQ(outcome.status.code(), Code::aborted);
    }
  }
}

TYPED_TEST_P(TransportClosingSuite, ShutDownLeavesNothingPending) {
  Ranks<TypeParam> ranks(3);
  auto [link, unused] = ranks.connect_both(0, 1);
  Link& unconnected = ranks.connect(0, 2);
  Bytes bytes(more_than_fits);
  Outcome outcomes[4];
  link->send(tag(1), whole(bytes), outcomes[0]);
  link->recv(tag(1), whole(bytes), outcomes[1]);
  unconnected.send(tag(1), whole(bytes), outcomes[2]);
  unconnected.recv(tag(1), whole(bytes), outcomes[3]);
  ranks[0].shut_down(Status(), Deadline::after(std::chrono::milliseconds(10)));
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.times, 1);
  static_cast<void>(unused);
}

REGISTER_TYPED_TEST_SUITE_P(TransportClosingSuite, GoodbyeComesAfterWhatWasSent, AShutDownInGoodOrderIsNoLoss,
                            AShutDownInGoodOrderDeliversWhatIsQueued, WhatARankSentBeforeItLeftOutlivesWordsToIt,
                            ClosingEndsWhatIsPendingExactlyOnce, ShutDownLeavesNothingPending);

}  // namespace hocket::testing_support
