// What comes behind messages that run, in the queue: short receives, and others that may begin or must wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "src/exec/operation_queue.hpp"
#include "tests/unit/exec/fake_peers.hpp"
#include "tests/unit/exec/started_operations.hpp"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::FakeOperation;
using testing_support::started;
using Entry = OperationQueue::Entry;

constexpr Rank peers = 4;
constexpr Direction from_1{.peer = 1, .outgoing = false};

std::shared_ptr<FakeOperation> following_receive(bool follows = true,
                                                 std::chrono::hours timeout = std::chrono::hours(1)) {
  auto message = std::make_shared<FakeOperation>(
      std::vector<Direction>{from_1},
      Binding{.signature = {.kind = SignatureKind::send}, .reduction = {}, .timeout = timeout});
  message->for_links_alone = true;
  message->follows = follows;
  return message;
}

TEST(FollowingMessages, ShortReceivesFollowOneThatRuns) {
  OperationQueue queue;
  const auto first = following_receive(), second = following_receive(), third = following_receive(),
             large = following_receive(false);
  queue.add_begun(first, peers);
  EXPECT_TRUE(queue.add_follower(*second));
  EXPECT_FALSE(queue.may_begin(from_1)) << "it would overtake the follower";
  EXPECT_FALSE(queue.add_follower(*large));
  EXPECT_FALSE(queue.add_follower(*following_receive(true, std::chrono::hours(2)))) << "another timeout";
  EXPECT_TRUE(queue.add_follower(*third));
  queue.add(large, peers);
  EXPECT_FALSE(queue.add_follower(*following_receive())) << "it would overtake the one that waits";
  EXPECT_EQ(queue.running().size(), 1U);
  Entry& entry = queue.running().front();
  queue.replace(entry);
  EXPECT_EQ(entry.operation, second);
  queue.replace(entry);
  EXPECT_EQ(entry.operation, third);
  EXPECT_TRUE(entry.followers.empty());
  EXPECT_THAT(started(queue), IsEmpty());
  EXPECT_EQ(queue.remove(entry), third);
  EXPECT_THAT(started(queue), ElementsAre(large.get()));
  EXPECT_FALSE(queue.add_follower(*following_receive())) << "what runs is no short receive";
}

// A handle's.
struct End final : RunEnd {
  End() { begin_for_others(); }
  void release_itself() noexcept override {}
};

TEST(FollowingMessages, OneOperationRunsForSeveralEnds) {
  OperationQueue queue;
  const auto message = following_receive(), other = following_receive();
  End first, second, third;
  message->tell(first);
  queue.add_begun(message, peers);
  EXPECT_EQ(queue.row_of(*other), nullptr);
  Entry* const row = queue.row_of(*message);
  ASSERT_EQ(row, &queue.running().front());
  std::array<std::byte, 2> outputs{};
  row->followers.push_back({.output = &outputs[0], .end = &second});
  ASSERT_EQ(queue.row_of(*message), row);
  row->followers.push_back({.output = &outputs[1], .end = &third});
  queue.begin_clocks_of_followers();
  message->finish_well();
  EXPECT_TRUE(first.finished());
  EXPECT_FALSE(second.finished());
  queue.replace(*row);
  EXPECT_EQ(row->operation, message);
  EXPECT_FALSE(message->finished());
  EXPECT_TRUE(message->has_clock()) << "it counts from the first look";
  EXPECT_EQ(queue.row_of(*message), row);
  message->finish(Status(Code::timeout, "nothing came"));
  EXPECT_EQ(second.status().code(), Code::timeout);
  EXPECT_TRUE(first.status().ok());
  row->followers.front().finish(second.status());
  EXPECT_EQ(third.status().code(), Code::timeout);
}

TEST(FollowingMessages, ARowEndsWhereSomethingElseHasItsPlaceBehindIt) {
  OperationQueue queue;
  const auto message = following_receive(), large = following_receive(false);
  End end;
  message->tell(end);
  queue.add_begun(message, peers);
  ASSERT_NE(queue.row_of(*message), nullptr);
  queue.add(large, peers);
  EXPECT_EQ(queue.row_of(*message), nullptr) << "it would overtake the one that waits";
  EXPECT_EQ(queue.remove(queue.running().front()), message);
  message->finish_well();
}

TEST(FollowingMessages, FollowOperationsAsOperations) {
  OperationQueue queue;
  const auto message = following_receive(), other = following_receive();
  EXPECT_EQ(queue.row_of(*message), nullptr) << "it does not run";
  queue.add_begun(message, peers);
  EXPECT_EQ(queue.row_of(*message), nullptr) << "its caller looks at it";
  End end;
  message->tell(end);
  EXPECT_NE(queue.row_of(*message), nullptr);
  EXPECT_TRUE(queue.add_follower(*other));
  EXPECT_EQ(queue.row_of(*message), nullptr) << "it would run in the place of the other one";
  message->finish_well();
}

TEST(FollowingMessages, WaitForOneThatHasBegunAndWaitsForItsData) {
  OperationQueue queue;
  const auto plain = following_receive(false), waits_for_data = following_receive(false);
  waits_for_data->for_links_alone = false;
  queue.add_begun(plain, peers);
  EXPECT_TRUE(queue.may_begin(from_1));
  queue.add_begun(waits_for_data, peers);
  EXPECT_FALSE(queue.may_begin(from_1));
  EXPECT_EQ(queue.remove(queue.running().front()), plain);
  EXPECT_FALSE(queue.may_begin(from_1));
  EXPECT_EQ(queue.remove(queue.running().front()), waits_for_data);
  EXPECT_TRUE(queue.may_begin(from_1));
}

TEST(FollowingMessages, TimeOfFollowersCountsFromTheFirstLook) {
  OperationQueue queue;
  const auto first = following_receive(), second = following_receive(), third = following_receive();
  queue.add_begun(first, peers);
  EXPECT_TRUE(queue.add_follower(*second));
  queue.begin_clocks_of_followers();
  EXPECT_TRUE(queue.add_follower(*third));
  EXPECT_TRUE(second->has_clock());
  EXPECT_FALSE(third->has_clock());
  queue.begin_clocks_of_followers();
  EXPECT_TRUE(third->has_clock());
  EXPECT_GE(third->deadline().at(), second->deadline().at());
}

}  // namespace
}  // namespace hocket
