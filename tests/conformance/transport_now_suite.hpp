// What every transport must do with messages that need not wait (Link::send_now, recv_now); one that always refuses
// them does it, too. Joined like transport_suite.hpp.
#pragma once

#include <algorithm>
#include <iterator>

#include "src/base/fence.hpp"
#include "tests/conformance/transport_ranks.hpp"

namespace hocket::testing_support {

template <class Maker>
class TransportNowSuite : public ::testing::Test {
 protected:
  // As callers do: now where it can be, else as always.
  static void send(Link& link, const Tag& as, Bytes& bytes, Outcome& outcome) {
    if (link.send_now(as, bytes)) {
      full_fence();
      link.wake_receiver();
      outcome.on_done(outcome, Status());
    } else {
      link.send(as, ConstBuffer(whole(bytes)), outcome);
    }
  }
  static void receive(Link& link, const Tag& as, Bytes& bytes, Outcome& outcome) {
    if (link.recv_now(as, bytes)) {
      outcome.on_done(outcome, Status());
    } else {
      link.recv(as, whole(bytes), outcome);
    }
  }
};

TYPED_TEST_SUITE_P(TransportNowSuite);

TYPED_TEST_P(TransportNowSuite, MessagesKeepTheirOrderHoweverTheyAreSentAndReceived) {
  const std::size_t sizes[] = {0, 8, 17, 4096, 70'000, std::size_t{1} << 20, 3, 16, 0, 300'000, 64};
  constexpr std::size_t rows = 20, messages = std::size(sizes) * rows;
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  std::vector<Bytes> sent(messages), received(messages);
  std::vector<Outcome> sends(messages), receives(messages);
  std::uint32_t posted = 0;
  for (std::uint32_t i = 0; i < messages; ++i) {
    const std::size_t bytes = sizes[i % std::size(sizes)];
    sent[i] = pattern(bytes, i), received[i].resize(bytes);
    this->send(*from, tag(i), sent[i], sends[i]);
    if (i % 3 == 0) ranks.step();
    if (i % 7 < 3) continue;  // so that several are on their way now and then
    for (; posted <= i; ++posted) this->receive(*to, tag(posted), received[posted], receives[posted]);
  }
  for (; posted < messages; ++posted) this->receive(*to, tag(posted), received[posted], receives[posted]);
  ASSERT_TRUE(ranks.until([&] { return receives.back().done(); }));
  ranks.settle();
  EXPECT_TRUE(std::ranges::all_of(sends, &Outcome::good));
  EXPECT_TRUE(std::ranges::all_of(receives, &Outcome::good));
  EXPECT_EQ(received, sent);
}

TYPED_TEST_P(TransportNowSuite, NothingHappensWhereNothingHasCome) {
  Bytes sent = pattern(40, 1), received(40);
  const Bytes untouched = received;
  Outcome send, receive;
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  EXPECT_FALSE(to->recv_now(tag(0), received));
  from->send(tag(0), whole(sent), send);
  ranks.settle();
  Bytes shorter(39);
  EXPECT_FALSE(to->recv_now(tag(1), received)) << "another message";
  EXPECT_FALSE(to->recv_now(tag(0), shorter)) << "of another length";
  EXPECT_EQ(received, untouched);
  this->receive(*to, tag(0), received, receive);
  ASSERT_TRUE(ranks.until([&] { return receive.done(); }));
  EXPECT_TRUE(receive.good());
  EXPECT_EQ(received, sent);
  EXPECT_FALSE(to->recv_now(tag(0), received)) << "it has been received";
  EXPECT_TRUE(ranks.seen(0).failures.empty() && ranks.seen(1).failures.empty());
}

// Whatever lies where messages lay before: a transport looks for the next one where payloads were.
TYPED_TEST_P(TransportNowSuite, WhatLayThereBeforeIsNoMessage) {
  const std::size_t sizes[] = {0, 8, 17, 100, 4096, 700, 40'000, 16, 1500};
  constexpr std::size_t messages = 400;
  std::vector<Bytes> sent(messages), received(messages);
  std::vector<Outcome> sends(messages), receives(messages);
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  for (std::uint32_t i = 0; i < messages; ++i) {
    sent[i].resize(sizes[i % std::size(sizes)], std::byte{0xff}), received[i].resize(sent[i].size());
    // Every other one full of words as shared memory's headers end with.
    for (std::size_t at = 0; at < sent[i].size() && i % 2 == 0; ++at) {
      sent[i][at] = at % 8 == 7 ? std::byte{0x60} : at % 8 == 0 ? std::byte{8} : std::byte{0};
    }
    this->receive(*to, tag(i), received[i], receives[i]);
    for (int looks = 0; looks < 3; ++looks) ranks.step();
    ASSERT_FALSE(receives[i].done()) << i;
    this->send(*from, tag(i), sent[i], sends[i]);
    ASSERT_TRUE(ranks.until([&] { return sends[i].done() && receives[i].done(); }));
    ASSERT_TRUE(receives[i].good()) << i << ": " << receives[i].status.message();
    ASSERT_EQ(received[i], sent[i]);
  }
}

TYPED_TEST_P(TransportNowSuite, APostedReceiveComesFirst) {
  Bytes one = pattern(24, 1), other = pattern(24, 2), first(24), second(24);
  Outcome sends[2], receives[2];
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  to->recv(tag(0), whole(first), receives[0]);
  from->send(tag(0), whole(one), sends[0]);
  from->send(tag(1), whole(other), sends[1]);
  ranks[0].progress();
  EXPECT_FALSE(to->recv_now(tag(1), second));
  EXPECT_FALSE(to->recv_now(tag(0), second));
  this->receive(*to, tag(1), second, receives[1]);
  ASSERT_TRUE(ranks.until([&] { return receives[1].done(); }));
  EXPECT_EQ(first, one);
  EXPECT_EQ(second, other);
}

TYPED_TEST_P(TransportNowSuite, LastMessagesComeBeforeADeparture) {
  Bytes sent = pattern(100, 8), received(100);
  Outcome sends[2], receives[2];
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  for (std::uint32_t i = 0; i < 2; ++i) this->send(*from, tag(i), sent, sends[i]);
  from->close(Status());
  ranks.settle();
  EXPECT_FALSE(from->send_now(tag(2), sent));
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(ranks.seen(1).departures.empty());
    received.assign(sent.size(), std::byte{0});
    this->receive(*to, tag(i), received, receives[i]);
    ASSERT_TRUE(ranks.until([&] { return receives[i].done(); }));
    EXPECT_EQ(received, sent);
  }
  EXPECT_TRUE(ranks.until([&] { return !ranks.seen(1).departures.empty(); }));
  EXPECT_FALSE(to->recv_now(tag(2), received));
}

TYPED_TEST_P(TransportNowSuite, NothingIsDoneOverABrokenLink) {
  Bytes sent = pattern(40, 1), received(40);
  Outcome send;
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  from->send(tag(0), whole(sent), send);
  ranks.settle();
  to->close(Status(Code::aborted, "the test has broken it"));
  EXPECT_FALSE(to->send_now(tag(0), sent));
  EXPECT_FALSE(to->recv_now(tag(0), received));
}

// Who sleeps until there is room is woken by what is received so, and not only when all is.
TYPED_TEST_P(TransportNowSuite, WakesWhoSleepsUntilThereIsRoom) {
  constexpr std::size_t bytes = 1000, most = 1 << 17;
  std::vector<Outcome> sends(most);
  Bytes sent = pattern(bytes, 3), received(bytes);
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  std::uint32_t messages = 0;
  while (messages < most && (messages == 0 || sends[messages - 1].done())) {
    this->send(*from, tag(messages), sent, sends[messages]);
    ++messages;
    ranks[0].progress();
  }
  if (messages == most) GTEST_SKIP() << "there is room for everything";
  while (ranks[0].progress() != 0) {
  }
  std::vector<pollfd> interests;
  ASSERT_TRUE(ranks[0].arm(interests));
  bool woken = false;
  std::uint32_t taken = 0;
  for (; !woken && taken + 1 < messages; ++taken) {
    Outcome receive;
    this->receive(*to, tag(taken), received, receive);
    for (const Deadline deadline = soon(); !receive.done() && !deadline.passed();) ranks[1].progress();
    ASSERT_TRUE(receive.good()) << taken;
    ASSERT_EQ(received, sent) << taken;
    woken = something_ready(interests, 0);
  }
  EXPECT_TRUE(woken) << "all but one were received";
  ranks[0].disarm();
}

// Who sleeps until a message comes is woken by what is handed over so.
TYPED_TEST_P(TransportNowSuite, WakesWhoSleepsUntilAMessageComes) {
  constexpr std::uint32_t messages = 20;
  Bytes sent = pattern(24, 5), received(24);
  std::vector<Outcome> sends(messages), receives(messages);
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  for (std::uint32_t i = 0; i < messages; ++i) {
    to->recv(tag(i), whole(received), receives[i]);
    std::vector<pollfd> interests;
    ASSERT_TRUE(ranks.until([&] {
      interests.clear();
      if (!ranks[1].arm(interests)) return false;
      if (!something_ready(interests)) return true;
      ranks[1].disarm();
      return false;
    })) << i;
    this->send(*from, tag(i), sent, sends[i]);
    ranks[0].progress();
    ASSERT_TRUE(something_ready(interests, soon().remaining_ms())) << i;
    ranks[1].disarm();
    ASSERT_TRUE(ranks.until([&] { return sends[i].done() && receives[i].done(); })) << i;
    ASSERT_EQ(received, sent) << i;
    received.assign(received.size(), std::byte{0});
  }
}

REGISTER_TYPED_TEST_SUITE_P(TransportNowSuite, MessagesKeepTheirOrderHoweverTheyAreSentAndReceived,
                            NothingHappensWhereNothingHasCome, WhatLayThereBeforeIsNoMessage, APostedReceiveComesFirst,
                            LastMessagesComeBeforeADeparture, NothingIsDoneOverABrokenLink,
                            WakesWhoSleepsUntilThereIsRoom, WakesWhoSleepsUntilAMessageComes);

}  // namespace hocket::testing_support
