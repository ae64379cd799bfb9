#include "src/exec/recorder.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/exec/fake_peers.hpp"

namespace hocket {
namespace {

using testing_support::FakeOperation;

Binding numbered(std::uint64_t count) {
  Binding binding = FakeOperation::ordinary();
  binding.signature.dtype = DataType::float64;
  binding.signature.root = 3;
  binding.signature.digest = 0x0123456789abcdef;
  binding.signature.count = count;
  return binding;
}

TEST(Recorder, KeepsTheLatestInTheirOrder) {
  Recorder recorder;
  const auto context = std::make_shared<Context>(Context::Identity{.number = 5});
  constexpr std::uint64_t made = 2 * Recorder::capacity + 100;
  for (std::uint64_t number = 1; number <= made; ++number) {
    FakeOperation operation({}, numbered(number), context);
    operation.number_if_collective();
    recorder.begin(operation, operation.tag());
    if (number % 2 == 0) Recorder::end(operation);
  }
  const auto operations = recorder.operations();
  ASSERT_EQ(operations.size(), Recorder::capacity);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const std::uint64_t number = made - Recorder::capacity + 1 + i;
    EXPECT_EQ(operations[i].tag.communicator, 5u);
    EXPECT_EQ(operations[i].tag.sequence, number);
    EXPECT_EQ(operations[i].tag.call, numbered(number).signature);
    EXPECT_EQ(operations[i].peer, no_rank);
    EXPECT_FALSE(operations[i].path);
    EXPECT_EQ(operations[i].ended.has_value(), number % 2 == 0);
  }
}

TEST(Recorder, StampsNoOtherThanTheOneThatEnds) {
  Recorder recorder;
  FakeOperation slow({}, numbered(1));
  slow.number_if_collective();
  recorder.begin(slow, slow.tag());
  slow.record()->choose(3);
  EXPECT_EQ(recorder.operations().front().path, static_cast<DirectPath>(2));
  const auto context = std::make_shared<Context>();
  for (std::size_t i = 0; i < Recorder::capacity + 10; ++i) {
    FakeOperation other({}, numbered(2), context);
    other.number_if_collective();
    other.number_if_collective();
    recorder.begin(other, other.tag());
  }
  Recorder::end(slow);
  for (const RecordedOperation& operation : recorder.operations()) EXPECT_FALSE(operation.ended);
}

// Ticks of the processor are turned into time by a line through two moments.
constexpr std::chrono::milliseconds tolerance{2};

// Of those that come quickly one in a few is timed, and what is known of the others is between which times they were.
TEST(Recorder, MessagesInQuickSuccessionLieBetweenTheTimedOnes) {
  using Clock = Deadline::Clock;
  Recorder recorder;
  const auto context = std::make_shared<Context>();
  std::vector<Clock::time_point> before, after;
  const auto add = [&](int count) {
    for (int i = 0; i < count; ++i) {
      FakeOperation message({{.peer = 1, .outgoing = true}}, numbered(1), context);
      before.push_back(Clock::now());
      recorder.run_in_row([&] {
        recorder.add_message(message, message.tag());
        return true;
      });
      after.push_back(Clock::now());
    }
  };
  const auto pause = [] { std::this_thread::sleep_for(10 * tolerance); };
  add(100);
  pause();
  add(1);
  pause();
  add(3);
  pause();
  const auto operations = recorder.operations();
  ASSERT_EQ(operations.size(), before.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    ASSERT_TRUE(operations[i].ended);
    EXPECT_LE(operations[i].began, after[i] + tolerance) << i;
    EXPECT_GE(*operations[i].ended, before[i] - tolerance) << i;
    EXPECT_LE(operations[i].began, *operations[i].ended) << i;
  }
}

TEST(Recorder, MessagesThatComeSlowlyAreTimedEach) {
  Recorder recorder;
  const auto context = std::make_shared<Context>();
  for (int i = 0; i < 20; ++i) {
    FakeOperation message({{.peer = 1, .outgoing = true}}, numbered(1), context);
    recorder.run_in_row([&] {
      recorder.add_message(message, message.tag());
      return true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (const RecordedOperation& operation : recorder.operations()) {
    ASSERT_TRUE(operation.ended);
    EXPECT_TRUE(operation.exact);
    EXPECT_EQ(operation.began, *operation.ended);
  }
}

}  // namespace
}  // namespace hocket
