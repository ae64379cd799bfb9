// What every transport must do for receives from any rank: tell what has come before its receive is posted, and make
// links that nobody needs yet. Joined like transport_suite.hpp.
#pragma once

#include <algorithm>
#include <iterator>

#include "tests/conformance/transport_ranks.hpp"

namespace hocket::testing_support {

template <class Maker>
class TransportProbeSuite : public ::testing::Test {};

TYPED_TEST_SUITE_P(TransportProbeSuite);

TYPED_TEST_P(TransportProbeSuite, TellsTheNextMessageUntilItsReceiveIsPosted) {
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  ranks[1].listen(true);
  ranks.settle();
  EXPECT_FALSE(to->probe().has_value());
  const std::size_t sizes[] = {0, 12, 4096, 70'000, std::size_t{3} << 20, 5};
  std::vector<Bytes> sent, received;
  std::vector<Outcome> sends(std::size(sizes)), receives(std::size(sizes));
  for (std::uint32_t i = 0; i < std::size(sizes); ++i) {
    sent.push_back(pattern(sizes[i], i));
    received.emplace_back(sizes[i]);
    from->send(tag(i, 100 + i), whole(sent[i]), sends[i]);
  }
  for (std::uint32_t i = 0; i < std::size(sizes); ++i) {
    ASSERT_TRUE(ranks.until([&] { return to->probe().has_value(); })) << i;
    ranks.settle();
    EXPECT_EQ(to->probe(), tag(i, 100 + i)) << "as often as one asks";
    to->recv(tag(i, 100 + i), whole(received[i]), receives[i]);
    ASSERT_TRUE(ranks.until([&] { return receives[i].done(); })) << i;
    EXPECT_TRUE(receives[i].good());
    EXPECT_EQ(received[i], sent[i]);
  }
  ranks.settle();
  EXPECT_FALSE(to->probe().has_value());
  EXPECT_TRUE(std::ranges::all_of(sends, &Outcome::good));
}

TYPED_TEST_P(TransportProbeSuite, WhatAReceiveWaitsForIsNotTold) {
  Bytes sent = pattern(10, 1), received(10);
  Outcome send, send_more, receive, receive_more;
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  ranks[1].listen(true);
  to->recv(tag(1), whole(received), receive);
  from->send(tag(1), whole(sent), send);
  ranks[0].progress();
  EXPECT_FALSE(to->probe().has_value());
  EXPECT_TRUE(ranks.until([&] { return receive.done(); }));
  EXPECT_EQ(received, sent);
  to->recv(tag(2), whole(received), receive_more);
  EXPECT_FALSE(to->probe().has_value());
  from->send(tag(2), whole(sent), send_more);
  EXPECT_TRUE(ranks.until([&] { return receive_more.done(); }));
  EXPECT_FALSE(to->probe().has_value());
}

TYPED_TEST_P(TransportProbeSuite, WakesASleeperOnceForEachMessage) {
  Bytes sent = pattern(50, 8), received(50);
  Outcome sends[3], receives[3];
  Ranks<TypeParam> ranks(3);
  Link* const from[] = {ranks.connect_both(0, 2).first, ranks.connect_both(1, 2).first};
  Link* const to[] = {&ranks.connect(2, 0), &ranks.connect(2, 1)};
  ranks[2].listen(true);
  const auto sleeps = [&](int timeout_ms) {
    std::vector<pollfd> interests;
    if (!ranks[2].arm(interests)) return false;
    const bool woken = something_ready(interests, timeout_ms);
    ranks[2].disarm();
    return !woken;
  };
  // Looks as the executor does: sleeps only where a look has found nothing new.
  const auto wait_for = [&](std::size_t link) {
    for (const Deadline deadline = soon(); !deadline.passed();) {
      if (to[link]->probe()) return true;
      if (ranks[2].progress() == 0) (void)sleeps(deadline.remaining_ms());
    }
    return false;
  };
  ranks.settle();
  ASSERT_TRUE(sleeps(0));
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::size_t link = i == 0 ? 0 : 1;
    from[link]->send(tag(i), whole(sent), sends[i]);
    for (const Rank sender : {0, 1}) ranks[sender].progress();
    EXPECT_FALSE(sleeps(soon().remaining_ms())) << i;
    ASSERT_TRUE(wait_for(link)) << i;
    ranks.settle();
    EXPECT_EQ(to[link]->probe(), tag(i));
    EXPECT_TRUE(sleeps(0)) << "it has been told: message " << i;
    if (i == 0) continue;  // this one stays where it is
    to[link]->recv(tag(i), whole(received), receives[i]);
    EXPECT_TRUE(ranks.until([&] { return receives[i].done(); }));
    EXPECT_EQ(received, sent);
  }
  EXPECT_EQ(to[0]->probe(), tag(0));
}

TYPED_TEST_P(TransportProbeSuite, WhoDoesNotListenAnyMoreSleepsOn) {
  Bytes sent = pattern(50, 8);
  Outcome send;
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  ranks[1].listen(true);
  from->send(tag(1), whole(sent), send);
  ranks.settle();
  ranks[1].listen(false);
  std::vector<pollfd> interests;
  ASSERT_TRUE(ranks[1].arm(interests));
  EXPECT_FALSE(something_ready(interests));
  ranks[1].disarm();
}

TYPED_TEST_P(TransportProbeSuite, LastMessagesAreToldBeforeADeparture) {
  Bytes sent = pattern(9000, 8), received(9000);
  Outcome send, receive;
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  ranks[1].listen(true);
  from->send(tag(1), whole(sent), send);
  from->close(Status());
  ranks.settle();
  EXPECT_TRUE(ranks.seen(1).departures.empty());
  ASSERT_EQ(to->probe(), tag(1));
  to->recv(tag(1), whole(received), receive);
  EXPECT_TRUE(ranks.until([&] { return receive.done() && !ranks.seen(1).departures.empty(); }));
  EXPECT_EQ(received, sent);
  EXPECT_FALSE(to->probe().has_value());
}

// ---- links that nobody needs yet
// -------------------------------------------------------------------------------------

TYPED_TEST_P(TransportProbeSuite, ALinkWithoutDeadlineWaitsForItsPeer) {
  for (const Rank first : {0, 1}) {
    Bytes sent = pattern(500, 7), received(sent.size());
    Outcome send, receive;
    Ranks<TypeParam> ranks(2);
    const Rank other = 1 - first;
    auto link = ranks[first].connect(other, ranks[other].address(), std::nullopt);
    ASSERT_TRUE(link.ok());
    ranks[first].listen(true);
    ranks.settle();
    const auto next = ranks[first].next_deadline();
    EXPECT_TRUE(!next || next->remaining() > std::chrono::hours(24));
    EXPECT_EQ(&ranks.connect(first, other), *link);
    ranks.connect(other, first).send(tag(1), whole(sent), send);
    ASSERT_TRUE(ranks.until([&] { return (*link)->probe().has_value(); }));
    (*link)->recv(tag(1), whole(received), receive);
    EXPECT_TRUE(ranks.until([&] { return receive.good(); }));
    EXPECT_EQ(received, sent);
  }
}

TYPED_TEST_P(TransportProbeSuite, WhoCannotBeReachedHasLeft) {
  Outcome receive;
  Bytes received(8);
  Ranks<TypeParam> ranks(3);
  const Address address = ranks[0].address();
  ranks[0].shut_down(Status(), soon());
  ranks.kill(0);
  auto link = ranks[2].connect(0, address, std::nullopt);
  ASSERT_TRUE(link.ok());
  EXPECT_TRUE(ranks.until([&] { return !ranks.seen(2).departures.empty(); }));
  EXPECT_THAT(ranks.seen(2).departures, ::testing::ElementsAre(0));
  EXPECT_TRUE(ranks.seen(2).failures.empty());
  EXPECT_FALSE(ranks[2].connected(0));
  EXPECT_FALSE((*link)->probe().has_value());
  (*link)->recv(tag(1), whole(received), receive);
  EXPECT_EQ(receive.status.code(), Code::peer_lost);
}

TYPED_TEST_P(TransportProbeSuite, ADeathIsAFailureAlsoWhereNobodyNeedsTheLink) {
  Ranks<TypeParam> ranks(2);
  auto link = ranks[1].connect(0, ranks[0].address(), std::nullopt);
  ASSERT_TRUE(link.ok());
  ranks[1].listen(true);
  ranks.connect(0, 1);
  ASSERT_TRUE(ranks.until([&] { return ranks[0].connected(1) && ranks[1].connected(0); }));
  ranks.kill(0);
  EXPECT_TRUE(ranks.until([&] { return !ranks.seen(1).failures.empty(); }));
  EXPECT_EQ(ranks.seen(1).failures[0].second.code(), Code::peer_lost);
  EXPECT_FALSE((*link)->probe().has_value());
}

REGISTER_TYPED_TEST_SUITE_P(TransportProbeSuite, TellsTheNextMessageUntilItsReceiveIsPosted,
                            WhatAReceiveWaitsForIsNotTold, WakesASleeperOnceForEachMessage,
                            WhoDoesNotListenAnyMoreSleepsOn, LastMessagesAreToldBeforeADeparture,
                            ALinkWithoutDeadlineWaitsForItsPeer, WhoCannotBeReachedHasLeft,
                            ADeathIsAFailureAlsoWhereNobodyNeedsTheLink);

}  // namespace hocket::testing_support
