#include "src/exec/operation_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/unit/exec/fake_peers.hpp"
#include "tests/unit/exec/memory_window.hpp"
#include "tests/unit/exec/started_operations.hpp"

namespace hocket {
namespace {

using testing_support::FakeOperation;
using testing_support::OverWindow;
using testing_support::started;
using Entry = OperationQueue::Entry;

constexpr Rank peer_count = 4;
constexpr Direction to_1{.peer = 1, .outgoing = true}, from_1{.peer = 1, .outgoing = false},
    from_2{.peer = 2, .outgoing = false};

std::shared_ptr<FakeOperation> added(OperationQueue& queue, std::vector<Direction> directions) {
  auto operation = std::make_shared<FakeOperation>(std::move(directions));
  queue.add(operation, peer_count);
  return operation;
}

std::shared_ptr<FakeOperation> add_any_source(OperationQueue& queue) {
  auto operation = std::make_shared<FakeOperation>(std::vector<Direction>{});
  operation->searches = true;
  queue.add(operation, peer_count);
  return operation;
}

void finish(OperationQueue& queue, const std::shared_ptr<FakeOperation>& operation) {
  const auto entry = std::ranges::find(queue.running(), operation, &Entry::operation);
  ASSERT_NE(entry, queue.running().end());
  EXPECT_EQ(queue.remove(*entry), operation);
}

Entry& searching(OperationQueue& queue, const std::shared_ptr<FakeOperation>& operation) {
  return *std::ranges::find(queue.searching(), operation, &Entry::operation);
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OperationQueue, MessagesOfOneDirectionFollowEachOther) {
  OperationQueue queue;
  const auto first = added(queue, {to_1}), second = added(queue, {to_1}), third = added(queue, {to_1});
  EXPECT_THAT(started(queue), ElementsAre(first.get()));
  finish(queue, first);
  EXPECT_THAT(started(queue), ElementsAre(second.get()));
  finish(queue, second);
  EXPECT_THAT(started(queue), ElementsAre(third.get()));
  finish(queue, third);
  EXPECT_TRUE(queue.empty());
}

std::shared_ptr<FakeOperation> add_begun_send(OperationQueue& queue) {
  auto message = std::make_shared<FakeOperation>(
      std::vector<Direction>{to_1},
      Binding{.signature = {.kind = SignatureKind::send}, .reduction = {}, .timeout = std::chrono::hours(1)});
  message->for_links_alone = true;
  queue.add_begun(message, peer_count);
  return message;
}

TEST(OperationQueue, MessagesThatHaveBegunRunSideBySideAndOthersWaitForAll) {
  OperationQueue queue;
  EXPECT_TRUE(queue.may_begin(to_1));
  const auto first = add_begun_send(queue);
  EXPECT_TRUE(queue.may_begin(to_1));
  const auto second = add_begun_send(queue);
  const auto collective = added(queue, {to_1, from_2});
  EXPECT_FALSE(queue.may_begin(to_1)) << "it would overtake the collective";
  EXPECT_TRUE(queue.may_begin(from_1));
  EXPECT_FALSE(queue.may_begin(from_2));
  EXPECT_EQ(queue.running().size(), 2U);
  EXPECT_THAT(started(queue), IsEmpty());
  finish(queue, second);
  EXPECT_THAT(started(queue), IsEmpty());
  finish(queue, first);
  EXPECT_THAT(started(queue), ElementsAre(collective.get()));
  EXPECT_FALSE(queue.may_begin(to_1)) << "what runs there is no message";
  finish(queue, collective);
  EXPECT_TRUE(queue.may_begin(to_1));
  EXPECT_TRUE(queue.empty());
}

TEST(OperationQueue, KnowsWhetherLinksDoEverything) {
  OperationQueue queue;
  EXPECT_FALSE(queue.must_advance());
  const auto message = std::make_shared<FakeOperation>(std::vector<Direction>{to_1});
  message->for_links_alone = true;
  queue.add(message, peer_count);
  EXPECT_THAT(started(queue), ElementsAre(message.get()));
  EXPECT_FALSE(queue.must_advance());
  const auto collective = added(queue, {from_2});
  EXPECT_FALSE(queue.must_advance()) << "it has not begun";
  EXPECT_THAT(started(queue), ElementsAre(collective.get()));
  EXPECT_TRUE(queue.must_advance());
  finish(queue, message);
  EXPECT_TRUE(queue.must_advance());
  finish(queue, collective);
  EXPECT_FALSE(queue.must_advance());
}

// The second becomes the first in its line while it runs: it does not start again.
TEST(OperationQueue, AMessageThatHasBegunStartsOnce) {
  OperationQueue queue;
  const auto first = add_begun_send(queue), second = add_begun_send(queue);
  finish(queue, first);
  EXPECT_THAT(started(queue), IsEmpty());
  EXPECT_EQ(queue.running().size(), 1U);
  finish(queue, second);
  EXPECT_TRUE(queue.empty());
}

TEST(OperationQueue, DirectionsDoNotWaitForEachOther) {
  OperationQueue queue;
  const auto sends = added(queue, {to_1}), receives = added(queue, {from_1}), blocked = added(queue, {to_1, from_2}),
             behind = added(queue, {from_2}), nothing = added(queue, {});
  EXPECT_THAT(started(queue), ElementsAre(sends.get(), receives.get(), nothing.get()));
  finish(queue, sends);
  EXPECT_THAT(started(queue), ElementsAre(blocked.get()));
  finish(queue, blocked);
  EXPECT_THAT(started(queue), ElementsAre(behind.get()));
}

TEST(OperationQueue, AnOperationMayNameADirectionTwice) {
  OperationQueue queue;
  const auto twice = added(queue, {to_1, to_1}), next = added(queue, {to_1});
  EXPECT_THAT(started(queue), ElementsAre(twice.get()));
  finish(queue, twice);
  EXPECT_THAT(started(queue), ElementsAre(next.get()));
}

TEST(OperationQueue, AReceiveFromAnyTakesTheFirstThatIsFree) {
  OperationQueue queue;
  const auto before = added(queue, {from_1});
  const auto any = add_any_source(queue), other = add_any_source(queue);
  const auto after = added(queue, {from_2});
  EXPECT_THAT(started(queue), ElementsAre(before.get()));
  ASSERT_EQ(queue.searching().size(), 1U) << "the second is first for nobody";
  Entry& receive = searching(queue, any);
  EXPECT_FALSE(OperationQueue::is_first_for(receive, 1));
  EXPECT_TRUE(OperationQueue::is_first_for(receive, 2));
  queue.take_from(receive, 3);
  EXPECT_EQ(any->source, 3);
  EXPECT_THAT(started(queue), ElementsAre(any.get()));
  ASSERT_EQ(queue.searching().size(), 1U) << "now the second is first, where the first is not";
  EXPECT_FALSE(OperationQueue::is_first_for(searching(queue, other), 3));
  queue.take_from(searching(queue, other), 2);
  EXPECT_THAT(started(queue), ElementsAre(other.get()));
  finish(queue, other);
  EXPECT_THAT(started(queue), ElementsAre(after.get()));
}

std::shared_ptr<OverWindow> added(OperationQueue& queue, Window& window) {
  auto operation = std::make_shared<OverWindow>(window);
  queue.add(operation, peer_count);
  return operation;
}

TEST(OperationQueue, AWindowIsForOneAtATime) {
  testing_support::SharedMemory shared(2, 64);
  testing_support::MemoryWindow window(shared, 0);
  OperationQueue queue;
  const auto first = added(queue, window), second = added(queue, window);
  EXPECT_THAT(started(queue), ElementsAre(first.get()));
  EXPECT_TRUE(queue.only_window());
  const auto message = added(queue, {to_1});
  EXPECT_THAT(started(queue), ElementsAre(message.get()));
  EXPECT_FALSE(queue.only_window());
  finish(queue, message);
  EXPECT_TRUE(queue.only_window());
  queue.remove(queue.running().front());
  EXPECT_THAT(started(queue), ElementsAre(second.get()));
}

TEST(OperationQueue, WindowsDoNotWaitForEachOther) {
  testing_support::SharedMemory some(2, 64), others(2, 64), more(2, 64);
  testing_support::MemoryWindow one(some, 0), another(others, 0), third(more, 0);
  OperationQueue queue;
  const auto first = added(queue, one), second = added(queue, one);
  const auto beside = added(queue, another), behind = added(queue, another);
  const auto alone = added(queue, third);
  const auto message = added(queue, {{.peer = peer_count - 1, .outgoing = true}});
  EXPECT_THAT(started(queue), ElementsAre(first.get(), beside.get(), alone.get(), message.get()));
  queue.remove(*std::ranges::find(queue.running(), beside, &Entry::operation));
  EXPECT_THAT(started(queue), ElementsAre(behind.get()));
  queue.remove(*std::ranges::find(queue.running(), first, &Entry::operation));
  EXPECT_THAT(started(queue), ElementsAre(second.get()));
}

TEST(OperationQueue, TakesAllOutInTheEnd) {
  OperationQueue queue;
  added(queue, {to_1});
  started(queue);
  added(queue, {to_1});
  add_any_source(queue);
  added(queue, {from_1, to_1});
  EXPECT_EQ(queue.take_all().size(), 4U);
  EXPECT_TRUE(queue.empty());
  const auto later = added(queue, {to_1});
  EXPECT_THAT(started(queue), ElementsAre(later.get()));
}

TEST(OperationQueue, GivesUpFirstWhatHasTheEarliestDeadline) {
  OperationQueue queue;
  const auto with_timeout = [&](std::chrono::seconds timeout, bool any) {
    Binding binding = FakeOperation::ordinary();
    binding.timeout = timeout;
    auto operation = std::make_shared<FakeOperation>(any ? std::vector<Direction>{} : std::vector{to_1}, binding);
    operation->searches = any;
    queue.add(operation, peer_count);
    return operation;
  };
  const auto running = with_timeout(std::chrono::seconds(1), false);
  started(queue);
  EXPECT_EQ(queue.next_verdict().at(), Deadline::Clock::time_point::max()) << "what runs is not the queue's business";
  const auto late = with_timeout(std::chrono::seconds(100), false);
  EXPECT_EQ(queue.next_verdict().at(), late->deadline().at() + OperationQueue::grace);
  const auto any = with_timeout(std::chrono::seconds(50), true);
  EXPECT_EQ(queue.next_verdict().at(), any->deadline().at());
  queue.take_from(searching(queue, any), 2);
  started(queue);
  queue.find_next_verdict();
  EXPECT_EQ(queue.next_verdict().at(), late->deadline().at() + OperationQueue::grace);
}

// By definition: an operation may start when it shares nothing with any that came before it and has not ended.
TEST(OperationQueue, StartsWhatTheDefinitionSays) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    OperationQueue queue;
    std::vector<std::shared_ptr<FakeOperation>> present;  // in order
    std::set<Operation*> running;
    for (int step = 0; step < 200; ++step) {
      if (random() % 2 == 0) {
        std::vector<Direction> directions;
        for (Rank peer = 0; peer < peer_count; ++peer) {
          if (random() % 4 == 0) directions.push_back({.peer = peer, .outgoing = random() % 2 == 0});
        }
        present.push_back(added(queue, directions));
      } else if (!running.empty()) {
        const auto chosen = std::next(running.begin(), static_cast<std::ptrdiff_t>(random() % running.size()));
        const auto operation = std::ranges::find(present, *chosen, &std::shared_ptr<FakeOperation>::get);
        finish(queue, *operation);
        running.erase(chosen);
        present.erase(operation);
      }
      for (Operation* operation : started(queue)) running.insert(operation);
      std::set<Operation*> expected;
      std::set<std::pair<Rank, bool>> used;
      for (const auto& operation : present) {
        bool free = true;
        for (const Direction& direction : operation->directions()) {
          free &= used.insert({direction.peer, direction.outgoing}).second;
        }
        if (free) expected.insert(operation.get());
      }
      ASSERT_EQ(running, expected) << "seed " << seed << ", step " << step;
    }
  }
}

// What ends looks at nobody but the next: not at the thousands behind it.
TEST(OperationQueue, TheEndOfOneCostsTheSameHoweverManyWait) {
  constexpr std::size_t count = 10'000;
  OperationQueue queue;
  std::size_t looks = 0;
  for (std::size_t i = 0; i < count; ++i) added(queue, {to_1})->looked_at = &looks;
  for (std::size_t ended = 0; ended < count; ++ended) {
    ASSERT_EQ(started(queue).size(), 1U);
    queue.remove(queue.running().front());
  }
  EXPECT_LE(looks, 2 * count);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace hocket
