// What every transport must do when something goes wrong. Joined like transport_suite.hpp.
#pragma once

#include <thread>

#include "tests/conformance/transport_ranks.hpp"

namespace hocket::testing_support {

template <class Maker>
class TransportFaultSuite : public ::testing::Test {};

TYPED_TEST_SUITE_P(TransportFaultSuite);

TYPED_TEST_P(TransportFaultSuite, AMismatchNamesBothCallsOnBothSides) {
  for (const bool early : {false, true}) {
    Ranks<TypeParam> ranks(2);
    auto [from, to] = ranks.connect_both(0, 1);
    Bytes sent = pattern(400, 1), received(28);
    Outcome send, send_more, receive, receive_more;
    from->send(tag(5, 100), whole(sent), send);
    if (early) ranks.settle();
    to->recv(tag(5, 7), whole(received), receive);
    to->recv(tag(6, 7), whole(received), receive_more);
    EXPECT_TRUE(ranks.until([&] { return !ranks.seen(0).failures.empty() && !ranks.seen(1).failures.empty(); }));
    ranks.settle();
    for (const Rank rank : {0, 1}) {
      ASSERT_EQ(ranks.seen(rank).failures.size(), 1u);
      const auto& [peer, why] = ranks.seen(rank).failures[0];
      EXPECT_EQ(peer, 1 - rank);
      EXPECT_EQ(why.code(), Code::mismatch);
      EXPECT_THAT(why.message(), ::testing::HasSubstr("rank 0 called allreduce of 100 float32, sum"));
      EXPECT_THAT(why.message(), ::testing::HasSubstr("rank 1 called allreduce of 7 float32, sum"));
      EXPECT_EQ(why.cause().rank, 1);
      EXPECT_FALSE(ranks[rank].connected(1 - rank));
    }
    EXPECT_EQ(receive.times, 1);
    EXPECT_EQ(receive.status.code(), Code::mismatch);
    EXPECT_EQ(receive_more.times, 1);
    EXPECT_EQ(receive_more.status.code(), Code::mismatch);
    from->send(tag(6, 7), whole(received), send_more);
    EXPECT_EQ(send_more.status.code(), Code::mismatch);
  }
}

TYPED_TEST_P(TransportFaultSuite, EveryFieldOfATagCounts) {
  const Tag right = tag(5, 10);
  std::vector<Tag> wrong(11, right);
  wrong[0].communicator++;
  wrong[1].sequence++;
  wrong[2].call.collective = Collective::broadcast;
  wrong[3].call.dtype = DataType::int32;
  wrong[4].call.op = ReduceOp::max;
  wrong[5].call.algorithm++;
  wrong[6].call.root++;
  wrong[7].call.count++;
  wrong[8].call.kind = SignatureKind::list;
  wrong[9].call.wire = WireFormat::bfloat16;
  wrong[10].call.digest++;
  for (const Tag& other : wrong) {
    Ranks<TypeParam> ranks(2);
    auto [from, to] = ranks.connect_both(0, 1);
    Bytes bytes(40), received(40);
    Outcome send, receive;
    to->recv(right, whole(received), receive);
    from->send(other, whole(bytes), send);
    EXPECT_TRUE(ranks.until([&] { return receive.done(); }));
    EXPECT_EQ(receive.status.code(), Code::mismatch);
  }
  Ranks<TypeParam> ranks(2);  // and so does the size
  auto [from, to] = ranks.connect_both(0, 1);
  Bytes bytes(39), received(40);
  Outcome send, receive;
  to->recv(right, whole(received), receive);
  from->send(right, whole(bytes), send);
  EXPECT_TRUE(ranks.until([&] { return receive.done(); }));
  EXPECT_EQ(receive.status.code(), Code::mismatch);
  EXPECT_THAT(receive.status.message(), ::testing::HasSubstr("39 bytes where 40"));
}

TYPED_TEST_P(TransportFaultSuite, DeathIsALossThatNamesThePeer) {
  for (const bool pending : {false, true}) {
    Ranks<TypeParam> ranks(3);
    auto [dying, survivor] = ranks.connect_both(2, 0);
    ranks.connect_both(0, 1);
    Bytes bytes(more_than_fits), small(4);
    Outcome send, receive, receive_more;
    if (pending) {
      survivor->send(tag(1), whole(bytes), send);
      survivor->recv(tag(1), whole(small), receive);
      survivor->recv(tag(2), whole(small), receive_more);
    }
    ranks.settle();
    ranks.kill(2);
    EXPECT_TRUE(ranks.until([&] { return !ranks.seen(0).failures.empty(); }));
    ranks.settle();
    ASSERT_EQ(ranks.seen(0).failures.size(), 1u);
    const auto& [peer, why] = ranks.seen(0).failures[0];
    EXPECT_EQ(peer, 2);
    EXPECT_EQ(why.code(), Code::peer_lost);
    EXPECT_EQ(why.cause().peer, 2);
    EXPECT_THAT(why.message(), ::testing::HasSubstr("rank 2"));
    EXPECT_FALSE(ranks[0].connected(2));
    EXPECT_TRUE(ranks[0].connected(1));
    for (const Outcome* outcome : {&send, &receive, &receive_more}) {
      EXPECT_EQ(outcome->times, pending ? 1 : 0);
      EXPECT_EQ(outcome->status.code(), pending ? Code::peer_lost : Code::ok);
    }
    EXPECT_TRUE(ranks.seen(1).failures.empty());
  }
}

TYPED_TEST_P(TransportFaultSuite, TheCausePassesOn) {
  Ranks<TypeParam> ranks(2);
  auto [telling, told] = ranks.connect_both(0, 1);
  Bytes bytes(100);
  Outcome receive;
  told->recv(tag(1), whole(bytes), receive);
  const Cause first{.code = Code::timeout,
                    .message = "rank 5 was not heard of",
                    .rank = 4,
                    .peer = 5,
                    .operation = "allreduce",
                    .sequence = 12345678901,
                    .elapsed_seconds = 1.5};
  telling->close(Status(first));
  EXPECT_TRUE(ranks.until([&] { return receive.done() && !ranks.seen(1).failures.empty(); }));
  const Cause& passed = ranks.seen(1).failures[0].second.cause();
  EXPECT_EQ(passed.code, first.code);
  EXPECT_EQ(passed.message, first.message);
  EXPECT_EQ(passed.rank, first.rank);
  EXPECT_EQ(passed.peer, first.peer);
  EXPECT_EQ(passed.operation, first.operation);
  EXPECT_EQ(passed.sequence, first.sequence);
  EXPECT_EQ(passed.elapsed_seconds, first.elapsed_seconds);
  EXPECT_EQ(receive.status.code(), Code::timeout);
  EXPECT_TRUE(ranks.seen(0).failures.empty());  // a rank that closed a link need not be told
}

TYPED_TEST_P(TransportFaultSuite, ACauseWithoutARankGetsItsSenders) {
  Ranks<TypeParam> ranks(2);
  auto [telling, told] = ranks.connect_both(1, 0);
  telling->close(Status(Code::aborted, "the user pressed a key"));
  EXPECT_TRUE(ranks.until([&] { return !ranks.seen(0).failures.empty(); }));
  EXPECT_EQ(ranks.seen(0).failures[0].second.code(), Code::aborted);
  EXPECT_EQ(ranks.seen(0).failures[0].second.cause().rank, 1);
  static_cast<void>(told);
}

TYPED_TEST_P(TransportFaultSuite, ACauseOvertakesMessagesThatNobodyReceives) {
  Ranks<TypeParam> ranks(2);
  auto [telling, told] = ranks.connect_both(0, 1);
  Bytes bytes = pattern(2000, 3);
  Outcome sends[20];
  for (std::uint32_t i = 0; i < 20; ++i) telling->send(tag(i), whole(bytes), sends[i]);
  ranks.settle();
  ranks[0].shut_down(Status(Code::timeout, "too late"), Deadline::after({}));
  EXPECT_TRUE(ranks.until([&] { return !ranks.seen(1).failures.empty(); }));
  EXPECT_EQ(ranks.seen(1).failures[0].second.code(), Code::timeout);
  EXPECT_EQ(ranks.seen(1).failures[0].second.message(), "too late");
  Outcome receive;
  told->recv(tag(0), whole(bytes), receive);
  EXPECT_EQ(receive.status.code(), Code::timeout);
}

TYPED_TEST_P(TransportFaultSuite, ACauseFollowsAMessageThatIsHalfSent) {
  Ranks<TypeParam> ranks(2);
  auto [telling, told] = ranks.connect_both(0, 1);
  Bytes bytes = pattern(std::size_t{9} << 20, 3), received(bytes.size());
  Outcome send, receive;
  telling->send(tag(1), whole(bytes), send);
  telling->close(Status(Code::timeout, "too late"));
  EXPECT_EQ(send.times, 1);
  std::fill(bytes.begin(), bytes.end(), std::byte{0});  // the buffer is its owner's again
  told->recv(tag(1), whole(received), receive);
  EXPECT_TRUE(ranks.until([&] { return !ranks.seen(1).failures.empty(); }));
  EXPECT_EQ(ranks.seen(1).failures[0].second.code(), Code::timeout);
  EXPECT_EQ(receive.times, 1);
  EXPECT_TRUE(!receive.status.ok() || received == pattern(std::size_t{9} << 20, 3));
}

TYPED_TEST_P(TransportFaultSuite, TheCauseReachesPeersThatAreStillSending) {
  Ranks<TypeParam> ranks(2);
  auto [telling, told] = ranks.connect_both(0, 1);
  Bytes bytes = pattern(std::size_t{9} << 20, 3);
  Outcome send;
  told->send(tag(1), whole(bytes), send);
  ranks.settle();
  // Both ends must move for the word to pass; the peer does so in another thread.
  std::thread other([&] {
    for (const Deadline deadline = soon(); ranks.seen(1).failures.empty() && !deadline.passed();) ranks[1].progress();
  });
  const Deadline deadline = soon();
  ranks[0].shut_down(Status(Code::aborted, "enough"), deadline);
  other.join();
  EXPECT_FALSE(deadline.passed());  // it need not wait longer than the peer takes to hear
  ASSERT_EQ(ranks.seen(1).failures.size(), 1u);
  EXPECT_EQ(ranks.seen(1).failures[0].second.code(), Code::aborted);
  EXPECT_EQ(ranks.seen(1).failures[0].second.message(), "enough");
  EXPECT_EQ(send.times, 1);
  static_cast<void>(telling);
}

REGISTER_TYPED_TEST_SUITE_P(TransportFaultSuite, AMismatchNamesBothCallsOnBothSides, EveryFieldOfATagCounts,
                            DeathIsALossThatNamesThePeer, TheCausePassesOn, ACauseWithoutARankGetsItsSenders,
                            ACauseOvertakesMessagesThatNobodyReceives, ACauseFollowsAMessageThatIsHalfSent,
                            TheCauseReachesPeersThatAreStillSending);

}  // namespace hocket::testing_support
