// How every transport must connect, and wait. Joined like transport_suite.hpp.
#pragma once

#include <algorithm>
#include <set>
#include <thread>

#include "tests/conformance/transport_ranks.hpp"

namespace hocket::testing_support {

template <class Maker>
class TransportConnectionSuite : public ::testing::Test {};

TYPED_TEST_SUITE_P(TransportConnectionSuite);

// ---- connecting -----------------------------------------------------------------------------------------------------

TYPED_TEST_P(TransportConnectionSuite, ConnectsOnceAndOnlyToRanksThatExist) {
  Ranks<TypeParam> ranks(2);
  EXPECT_TRUE(ranks[0].reaches(ranks[1].address()));
  EXPECT_LE(ranks[0].address().size(), 512u);
  EXPECT_FALSE(ranks[0].reaches("nonsense"));
  Link& link = ranks.connect(0, 1);
  EXPECT_EQ(&link, &ranks.connect(0, 1));
  EXPECT_FALSE(ranks[0].connected(1));
  for (const Rank wrong : {-1, 0, 2}) {
    auto refused = ranks[0].connect(wrong, ranks[1].address(), soon());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), Code::invalid_argument);
    EXPECT_FALSE(ranks[0].connected(wrong));
  }
  EXPECT_EQ(ranks[1].connect(0, "nonsense", soon()).status().code(), Code::invalid_argument);
}

// Whoever begins, and however their steps fall, both sides call and one link comes of it.
TYPED_TEST_P(TransportConnectionSuite, SimultaneousConnectsSettleOnOneLink) {
  for (unsigned round = 0; round < 100; ++round) {
    Ranks<TypeParam> ranks(3);
    const Rank first = static_cast<Rank>(round % 2);
    Link& one = ranks.connect(first, 1 - first);
    for (unsigned steps = 0; steps < (round / 2) % 5; ++steps) ranks[first].progress();
    Link& other = ranks.connect(1 - first, first);
    for (unsigned steps = 0; steps < (round / 10) % 5; ++steps) ranks[1 - first].progress();
    Bytes to_other = pattern(70'000, round), to_one = pattern(70'000, round + 1), at_one(70'000), at_other(70'000);
    Outcome outcomes[4];
    one.recv(tag(1), whole(at_one), outcomes[0]);
    other.recv(tag(1), whole(at_other), outcomes[1]);
    one.send(tag(1), whole(to_other), outcomes[2]);
    other.send(tag(1), whole(to_one), outcomes[3]);
    ASSERT_TRUE(ranks.until([&] { return std::ranges::all_of(outcomes, &Outcome::good); })) << round;
    ASSERT_EQ(at_one, to_one);
    ASSERT_EQ(at_other, to_other);
    EXPECT_EQ(&one, &ranks.connect(first, 1 - first));
    for (const Rank rank : {0, 1}) EXPECT_TRUE(ranks.seen(rank).failures.empty()) << round;
  }
}

TYPED_TEST_P(TransportConnectionSuite, WhatIsSentBeforeThePeerConnectsArrives) {
  for (const Rank first : {0, 1}) {
    Ranks<TypeParam> ranks(2);
    Bytes sent = pattern(200'000, 7), received(sent.size());
    Outcome send, receive;
    ranks.connect(first, 1 - first).send(tag(1), whole(sent), send);
    ranks.settle();
    EXPECT_FALSE(receive.done());
    ranks.connect(1 - first, first).recv(tag(1), whole(received), receive);
    EXPECT_TRUE(ranks.until([&] { return send.done() && receive.done(); }));
    EXPECT_EQ(sent, received);
  }
}

TYPED_TEST_P(TransportConnectionSuite, GivesUpOnAPeerThatNeverConnects) {
  Ranks<TypeParam> ranks(2);
  // The lower rank waits for the higher one to come; nobody progresses that one.
  Link& link = ranks.connect(0, 1, Deadline::after(std::chrono::milliseconds(20)));
  Bytes bytes(100'000);
  Outcome send, receive;
  link.send(tag(1), whole(bytes), send);
  link.recv(tag(1), whole(bytes), receive);
  ASSERT_TRUE(ranks[0].next_deadline().has_value());
  for (const Deadline deadline = soon(); ranks.seen(0).failures.empty() && !deadline.passed();) {
    ranks[0].progress();
    std::vector<pollfd> interests;
    if (!ranks[0].arm(interests)) continue;
    const auto next = ranks[0].next_deadline();
    ::poll(interests.data(), interests.size(), next.value_or(Deadline::after({})).remaining_ms());
    ranks[0].disarm();
  }
  ASSERT_EQ(ranks.seen(0).failures.size(), 1u);
  EXPECT_EQ(ranks.seen(0).failures[0].first, 1);
  EXPECT_EQ(ranks.seen(0).failures[0].second.code(), Code::timeout);
  EXPECT_THAT(ranks.seen(0).failures[0].second.message(), ::testing::HasSubstr("rank 1"));
  EXPECT_EQ(receive.times, 1);
  EXPECT_EQ(receive.status.code(), Code::timeout);
  EXPECT_EQ(send.times, 1);
  EXPECT_EQ(send.status.code(), Code::timeout);
  EXPECT_FALSE(ranks[0].next_deadline().has_value());
}

TYPED_TEST_P(TransportConnectionSuite, ConnectingToTheDeadSaysSo) {
  Ranks<TypeParam> ranks(2);
  const Address address = ranks[0].address();
  ranks.kill(0);
  auto link = ranks[1].connect(0, address, soon());
  ASSERT_TRUE(link.ok());
  Bytes bytes(8);
  Outcome receive;
  (*link)->recv(tag(1), whole(bytes), receive);
  EXPECT_TRUE(ranks.until([&] { return receive.done(); }));
  EXPECT_EQ(receive.status.code(), Code::peer_lost);
  ASSERT_EQ(ranks.seen(1).failures.size(), 1u);
  EXPECT_EQ(ranks.seen(1).failures[0].second.cause().peer, 0);
}

// ---- waiting --------------------------------------------------------------------------------------------------------

TYPED_TEST_P(TransportConnectionSuite, ArmedWaitEndsWhenDataCome) {
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  ranks.settle();
  Bytes sent = pattern(50, 8), received(50);
  Outcome send, receive;
  to->recv(tag(1), whole(received), receive);
  ranks.settle();
  std::vector<pollfd> interests;
  ASSERT_TRUE(ranks[1].arm(interests));
  EXPECT_FALSE(something_ready(interests));
  from->send(tag(1), whole(sent), send);
  ranks[0].progress();
  EXPECT_TRUE(something_ready(interests, soon().remaining_ms()));
  ranks[1].disarm();
  EXPECT_TRUE(ranks.until([&] { return receive.done(); }));
  EXPECT_EQ(sent, received);
}

TYPED_TEST_P(TransportConnectionSuite, DoesNotSleepOnWhatIsHereAlready) {
  Bytes sent = pattern(50, 8), received(50);
  Outcome send, receive;  // before the ranks, so that they outlive what is pending at the end
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  from->send(tag(1), whole(sent), send);
  ranks.settle();
  to->recv(tag(1), whole(received), receive);
  std::vector<pollfd> interests;
  const bool armed = !receive.done() && ranks[1].arm(interests);
  EXPECT_TRUE(!armed || something_ready(interests));
  if (armed) ranks[1].disarm();
}

TYPED_TEST_P(TransportConnectionSuite, EarlyDataDoNotKeepASleeperAwake) {
  Bytes sent = pattern(100'000, 8);
  Outcome send;
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  from->send(tag(1), whole(sent), send);
  ranks.settle();
  // What belongs to the connection may wake it once more, but the data do not for ever.
  EXPECT_TRUE(ranks.until([&] {
    std::vector<pollfd> interests;
    const bool armed = ranks[1].arm(interests);
    const bool sleeps = armed && !something_ready(interests);
    if (armed) ranks[1].disarm();
    return sleeps;
  }));
  to->close(Status());
}

TYPED_TEST_P(TransportConnectionSuite, AWatcherHearsOfDeathButNotOfData) {
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  ranks.settle();
  Bytes sent = pattern(100, 8);
  Outcome send;
  from->send(tag(1), whole(sent), send);
  std::vector<pollfd> interests;
  ranks[1].watch(interests);
  EXPECT_FALSE(something_ready(interests));
  ranks.kill(0);
  EXPECT_TRUE(something_ready(interests, soon().remaining_ms()));
  EXPECT_TRUE(ranks.until([&] { return !ranks.seen(1).failures.empty(); }));
  ranks.settle();
  interests.clear();
  ranks[1].watch(interests);
  EXPECT_FALSE(something_ready(interests));  // or watching would spin
  Outcome receive;
  to->recv(tag(1), whole(sent), receive);
  EXPECT_EQ(receive.status.code(), Code::peer_lost);
}

// Whoever watches an older list must learn that it is not the whole one any more: else a death goes unnoticed.
TYPED_TEST_P(TransportConnectionSuite, TheEpochGrowsWithWhatIsToBeWatched) {
  Ranks<TypeParam> ranks(3);
  struct Seen {
    std::set<int> watched;
    std::uint64_t epoch;
  };
  const auto look = [&](Rank rank) {
    std::vector<pollfd> interests;
    const std::uint64_t epoch = ranks[rank].watch_epoch();
    ranks[rank].watch(interests);
    Seen seen{{}, epoch};
    for (const pollfd& one : interests) {
      if (one.fd >= 0) seen.watched.insert(one.fd);
    }
    return seen;
  };
  std::vector<Seen> before{look(0), look(1), look(2)};
  const auto check = [&] {
    for (Rank rank = 0; rank < 3; ++rank) {
      Seen& known = before[static_cast<std::size_t>(rank)];
      Seen now = look(rank);
      const bool covered =
          std::includes(known.watched.begin(), known.watched.end(), now.watched.begin(), now.watched.end());
      EXPECT_TRUE(covered || now.epoch > known.epoch) << "rank " << rank;
      if (now.epoch > known.epoch) known = std::move(now);
    }
  };
  for (const auto& [a, b] : {std::pair(0, 1), std::pair(1, 0), std::pair(2, 0), std::pair(0, 2)}) {
    ranks.connect(a, b);
    check();
  }
  EXPECT_TRUE(ranks.until([&] {
    check();
    return ranks[0].connected(1) && ranks[1].connected(0) && ranks[0].connected(2) && ranks[2].connected(0);
  }));
  check();
}

REGISTER_TYPED_TEST_SUITE_P(TransportConnectionSuite, ConnectsOnceAndOnlyToRanksThatExist,
                            SimultaneousConnectsSettleOnOneLink, WhatIsSentBeforeThePeerConnectsArrives,
                            GivesUpOnAPeerThatNeverConnects, ConnectingToTheDeadSaysSo, ArmedWaitEndsWhenDataCome,
                            DoesNotSleepOnWhatIsHereAlready, EarlyDataDoNotKeepASleeperAwake,
                            AWatcherHearsOfDeathButNotOfData, TheEpochGrowsWithWhatIsToBeWatched);

}  // namespace hocket::testing_support
