// What ranks say to each other beside messages, over every transport: that they wait, and why they break. Joined like
// transport_suite.hpp.
#pragma once

#include "tests/conformance/transport_ranks.hpp"

namespace hocket::testing_support {

template <class Maker>
class TransportWordsSuite : public ::testing::Test {
 protected:
  static Status failure(Rank seen_by, Rank of) {
    return Status(Cause{
        .code = Code::timeout, .message = "rank " + std::to_string(of) + " is late", .rank = seen_by, .peer = of});
  }
};

TYPED_TEST_SUITE_P(TransportWordsSuite);

TYPED_TEST_P(TransportWordsSuite, ThatAPeerWaitsIsHeardAlsoBehindMessagesThatNobodyReceives) {
  for (const std::size_t size : {10, 3'000'000}) {  // the second: more than a peer's kernel takes that reads nothing
    SCOPED_TRACE(size);
    Ranks<TypeParam> ranks(2);
    auto [from, to] = ranks.connect_both(0, 1);
    std::vector<Bytes> sent{pattern(size, 1), pattern(size, 2)}, received{Bytes(size), Bytes(size)};
    Outcome sends[2], receives[2];
    for (std::uint32_t i : {0u, 1u}) from->send(tag(i), whole(sent[i]), sends[i]);
    const Waiting first{.tag = tag(7), .missing = 3, .witness = 2}, then{.tag = tag(7), .missing = 4, .witness = 1};
    to->listen_behind_messages(true);
    for (const Waiting& what : {first, then}) {
      from->tell_waiting(what);
      const auto heard = [&] { return !ranks.seen(1).waits.empty() && ranks.seen(1).waits.back().second == what; };
      ASSERT_TRUE(ranks.until(heard));
    }
    to->listen_behind_messages(false);
    const std::size_t heard = ranks.seen(1).waits.size();
    for (std::uint32_t i : {0u, 1u}) {
      to->recv(tag(i), whole(received[i]), receives[i]);
      ASSERT_TRUE(ranks.until([&] { return sends[i].done() && receives[i].done(); }));
      EXPECT_TRUE(sends[i].good() && receives[i].good());
      EXPECT_EQ(sent[i], received[i]);
    }
    ranks.settle();
    EXPECT_EQ(ranks.seen(1).waits.size(), heard) << "what is old is not heard again";
  }
}

// It may have come together with what was received before.
TYPED_TEST_P(TransportWordsSuite, ThatAPeerWaitsIsHeardBehindWhatCameBeforeThisRankListened) {
  Ranks<TypeParam> ranks(2);
  auto [from, to] = ranks.connect_both(0, 1);
  std::vector<Bytes> sent{pattern(10, 1), pattern(10, 2)};
  Bytes received(10);
  Outcome sends[2], receive;
  to->recv(tag(0), whole(received), receive);
  for (std::uint32_t i : {0u, 1u}) from->send(tag(i), whole(sent[i]), sends[i]);
  const Waiting what{.tag = tag(7), .missing = 3, .witness = 2};
  from->tell_waiting(what);
  ASSERT_TRUE(ranks.until([&] { return receive.done(); }));
  EXPECT_EQ(received, sent[0]);
  ranks.settle();
  to->listen_behind_messages(true);
  EXPECT_TRUE(ranks.until([&] { return !ranks.seen(1).waits.empty() && ranks.seen(1).waits.back().second == what; }));
}

TYPED_TEST_P(TransportWordsSuite, RanksThatBreakAtOnceHearEachOther) {
  Ranks<TypeParam> ranks(2);
  auto [one, other] = ranks.connect_both(0, 1);
  EXPECT_TRUE(one->may_speak() && other->may_speak());
  one->close(this->failure(0, 5));
  other->close(this->failure(1, 7));
  EXPECT_TRUE(one->may_speak() && other->may_speak());
  EXPECT_TRUE(ranks.until([&] { return !one->may_speak() && !other->may_speak(); }));
  for (const Rank rank : {0, 1}) {
    ASSERT_EQ(ranks.seen(rank).last_words.size(), 1u);
    const auto& [from, why] = ranks.seen(rank).last_words.front();
    EXPECT_EQ(from, 1 - rank);
    EXPECT_EQ(why.code(), Code::timeout);
    EXPECT_EQ(why.cause().rank, 1 - rank);
    EXPECT_EQ(why.cause().peer, rank == 0 ? 7 : 5);
    EXPECT_TRUE(ranks.seen(rank).failures.empty());
  }
}

TYPED_TEST_P(TransportWordsSuite, WhoIsToldHasNothingToAdd) {
  Ranks<TypeParam> ranks(2);
  auto [one, other] = ranks.connect_both(0, 1);
  one->close(this->failure(0, 5));
  ASSERT_TRUE(ranks.until([&] { return !ranks.seen(1).failures.empty(); }));
  EXPECT_FALSE(other->may_speak());
  EXPECT_TRUE(ranks.until([&] { return !one->may_speak(); })) << "it would wait for nothing";
  other->close(ranks.seen(1).failures.front().second);
  ranks.settle();
  EXPECT_TRUE(ranks.seen(0).last_words.empty());
  EXPECT_TRUE(ranks.seen(0).failures.empty());
}

TYPED_TEST_P(TransportWordsSuite, TheEndOfARankIsHeardInPlaceOfItsWord) {
  Ranks<TypeParam> ranks(2);
  auto [one, other] = ranks.connect_both(0, 1);
  one->close(this->failure(0, 5));
  EXPECT_TRUE(one->may_speak());
  ranks.kill(1);
  EXPECT_TRUE(ranks.until([&] { return !one->may_speak(); }));
  EXPECT_TRUE(ranks.seen(0).last_words.empty());
}

TYPED_TEST_P(TransportWordsSuite, ALastWordIsFoundBehindWhatIsNotReceivedAnyMore) {
  for (const std::size_t expected : {0, 100, 2'000'000}) {  // of messages of that size, half of one may have come
    SCOPED_TRACE(expected);
    Ranks<TypeParam> ranks(2);
    auto [from, to] = ranks.connect_both(0, 1);
    std::vector<Bytes> sent{pattern(100, 1), pattern(2'000'000, 2), pattern(50, 3)};
    Bytes received(expected);
    std::vector<Outcome> sends(3);
    Outcome receive;
    const std::uint32_t first = expected == 100 ? 0 : 1;
    if (expected > 0) to->recv(tag(first), whole(received), receive);
    for (std::uint32_t i = first; i < 3; ++i) from->send(tag(i), whole(sent[i]), sends[i]);
    ranks.step();
    const Bytes before = received;
    to->close(this->failure(1, 7));
    from->close(this->failure(0, 5));
    EXPECT_TRUE(ranks.until([&] { return !to->may_speak() && !from->may_speak(); }));
    ASSERT_EQ(ranks.seen(1).last_words.size(), 1u);
    EXPECT_EQ(ranks.seen(1).last_words.front().second.cause().peer, 5);
    EXPECT_EQ(received, before) << "the caller has its buffer back";
  }
}

TYPED_TEST_P(TransportWordsSuite, WhatIsSaidBeforeTheConnectionStandsIsHeardWhenItDoes) {
  for (const Rank first : {0, 1}) {  // the higher rank dials
    SCOPED_TRACE(first);
    Ranks<TypeParam> ranks(2);
    const Rank second = 1 - first;
    ranks.connect(first, second).close(this->failure(first, 5));
    (void)ranks.connect(second, first);
    ASSERT_TRUE(ranks.until([&] { return !ranks.seen(second).failures.empty(); }));
    const Cause& cause = ranks.seen(second).failures.front().second.cause();
    EXPECT_EQ(cause.code, Code::timeout) << cause.message;
    EXPECT_EQ(cause.rank, first);
    EXPECT_EQ(cause.peer, 5);
  }
}

TYPED_TEST_P(TransportWordsSuite, WhoLeavesBeforeTheConnectionStandsHasLeftWhenItDoes) {
  for (const Rank first : {0, 1}) {
    SCOPED_TRACE(first);
    Ranks<TypeParam> ranks(2);
    const Rank second = 1 - first;
    ranks.connect(first, second).close(Status());
    (void)ranks.connect(second, first);
    ASSERT_TRUE(ranks.until([&] { return !ranks.seen(second).departures.empty(); }));
    EXPECT_TRUE(ranks.seen(second).failures.empty());
  }
}

REGISTER_TYPED_TEST_SUITE_P(TransportWordsSuite, ThatAPeerWaitsIsHeardAlsoBehindMessagesThatNobodyReceives,
                            ThatAPeerWaitsIsHeardBehindWhatCameBeforeThisRankListened,
                            WhatIsSaidBeforeTheConnectionStandsIsHeardWhenItDoes,
                            WhoLeavesBeforeTheConnectionStandsHasLeftWhenItDoes, RanksThatBreakAtOnceHearEachOther,
                            WhoIsToldHasNothingToAdd, TheEndOfARankIsHeardInPlaceOfItsWord,
                            ALastWordIsFoundBehindWhatIsNotReceivedAnyMore);

}  // namespace hocket::testing_support
