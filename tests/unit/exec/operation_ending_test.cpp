// How an operation ends that its caller holds, or has let go.
#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/exec/fake_peers.hpp"

namespace hocket {
namespace {

using testing_support::FakeOperation;

std::shared_ptr<FakeOperation> started() {
  auto operation = std::make_shared<FakeOperation>(std::vector<Direction>{});
  operation->allow_callback();
  return operation;
}

TEST(OperationEnding, AReleasedRunLivesUntilItsEnd) {
  auto held = started();
  FakeOperation& running = *held;
  const std::weak_ptr<Operation> life = held;
  Operation::leave_to_itself(std::move(held));
  ASSERT_FALSE(life.expired());
  EXPECT_FALSE(running.finished());
  running.finish_well();
  EXPECT_TRUE(life.expired());
}

TEST(OperationEnding, AReleasedRunThatFailsIsGone) {
  auto held = started();
  FakeOperation& running = *held;
  const std::weak_ptr<Operation> life = held;
  Operation::leave_to_itself(std::move(held));
  running.finish(Status(Code::timeout, "nothing came"));
  EXPECT_TRUE(life.expired());
}

TEST(OperationEnding, AReleasedRunThatIsOverIsGone) {
  auto held = started();
  const std::weak_ptr<Operation> life = held;
  held->finish_well();
  Operation::leave_to_itself(std::move(held));
  EXPECT_TRUE(life.expired());
}

TEST(OperationEnding, WhoeverElseHoldsItMayRunItAgain) {
  auto held = started();
  const std::shared_ptr<FakeOperation> kept = held;
  Operation::leave_to_itself(std::move(held));
  EXPECT_EQ(kept.use_count(), 2);
  kept->finish_well();
  EXPECT_EQ(kept.use_count(), 1);
  EXPECT_TRUE(kept->finished());
  kept->bind_again(nullptr, nullptr);
  EXPECT_FALSE(kept->finished());
  kept->finish_well();
  EXPECT_TRUE(kept->finished());
}

TEST(OperationEnding, AReleasedRunCallsBackAndIsGone) {
  auto held = started();
  FakeOperation& running = *held;
  const std::weak_ptr<Operation> life = held;
  int calls = 0;
  ASSERT_TRUE(held->on_complete([&calls](Code result) {
    EXPECT_EQ(result, Code::ok);
    ++calls;
  }));
  Operation::leave_to_itself(std::move(held));
  ASSERT_FALSE(life.expired());
  running.finish_well();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(life.expired());
}

}  // namespace
}  // namespace hocket
