// On which thread a call begins that is started and not waited for.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <thread>

#include "src/exec/executor.hpp"
#include "tests/unit/exec/fake_peers.hpp"

namespace hocket::testing_support {
namespace {

class ExecutorStart : public ::testing::Test {
 protected:
  ExecutorStart() {
    executor_ = std::move(*Executor::make({.rank = 0}));
    EXPECT_TRUE(executor_->attach(peers_).ok());
    while (peers_.looks == 0) std::this_thread::yield();
    (void)executor_->with_exclusive_progress([] { return Status(); });  // the watcher's first look is over
  }
  ~ExecutorStart() override { executor_->stop(Status(Code::aborted, "the test is over")); }

  std::shared_ptr<FakeOperation> call(bool small) {
    auto operation = std::make_shared<FakeOperation>(std::vector<Direction>{{.peer = 1, .outgoing = true}},
                                                     FakeOperation::ordinary(), executor_->first());
    operation->small = small;
    operation->on_start = [this] { began_on_ = std::this_thread::get_id(); };
    return operation;
  }
  Status start(const std::shared_ptr<FakeOperation>& operation) {
    const std::shared_ptr<Operation> one = operation;
    return executor_->start({&one, 1});
  }
  Status wait(const std::shared_ptr<FakeOperation>& operation) {
    const std::shared_ptr<Operation> one = operation;
    return executor_->wait({&one, 1}, Deadline::after(std::chrono::minutes(5)));
  }

  FakePeers peers_;
  std::unique_ptr<Executor> executor_;
  std::atomic<std::thread::id> began_on_{};
};

TEST_F(ExecutorStart, SmallCallsBeginWhereTheyAreStarted) {
  const auto first = call(true), second = call(true);
  ASSERT_TRUE(start(first).ok());
  EXPECT_TRUE(first->started);
  EXPECT_EQ(began_on_.load(), std::this_thread::get_id());
  ASSERT_TRUE(start(second).ok());
  EXPECT_FALSE(second->started) << "the first one is in its way";
  EXPECT_EQ(second->sequence(), first->sequence() + 1);
  first->may_complete = second->may_complete = true;
  EXPECT_TRUE(wait(second).ok());
  EXPECT_TRUE(first->finished());
}

TEST_F(ExecutorStart, SmallCallsThatNeedNotWaitAreOverThen) {
  const auto operation = call(true);
  operation->may_complete = true;
  ASSERT_TRUE(start(operation).ok());
  EXPECT_TRUE(operation->finished());
}

TEST_F(ExecutorStart, WhatTakesTimeIsLeftToTheWatcher) {
  const auto operation = call(false);
  ASSERT_TRUE(start(operation).ok());
  while (!operation->started) std::this_thread::yield();
  EXPECT_NE(began_on_.load(), std::this_thread::get_id());
  operation->may_complete = true;
  EXPECT_TRUE(wait(operation).ok());
}

TEST_F(ExecutorStart, MemoryThatRunsOutThereBreaksEverything) {
  const auto operation = call(true);
  operation->on_start = [] { throw std::bad_alloc(); };
  (void)start(operation);
  EXPECT_TRUE(operation->finished());
  EXPECT_EQ(wait(operation).code(), Code::out_of_resources);
  EXPECT_EQ(executor_->broken().code(), Code::out_of_resources);
}

}  // namespace
}  // namespace hocket::testing_support
