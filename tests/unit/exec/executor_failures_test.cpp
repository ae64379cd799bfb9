// Exceptions where an executor progresses: everybody learns of them as of any failure, and nobody waits for ever.
#include <gtest/gtest.h>

#include <future>
#include <new>
#include <stdexcept>
#include <thread>

#include "src/exec/executor.hpp"
#include "tests/unit/exec/fake_peers.hpp"

namespace hocket {
namespace {

using testing_support::FakeOperation;
using testing_support::FakePeers;

const Deadline long_enough = Deadline::after(std::chrono::minutes(5));

class ExecutorFailures : public ::testing::Test {
 protected:
  ExecutorFailures() {
    executor_ = std::move(*Executor::make({.rank = 0}));
    peers_.on_progress = [this] { throw_if(progress_fails_); };
    peers_.on_watch = [this] { throw_if(watch_fails_); };
    peers_.on_close = [this] {
      if (closings_that_fail_ > 0) {
        --closings_that_fail_;
        throw std::bad_alloc();
      }
    };
  }
  ~ExecutorFailures() override { executor_->stop(Status(Code::aborted, "the test is over")); }

  static void throw_if(bool fails) {
    if (fails) throw std::bad_alloc();
  }
  // The watcher's own first look is over when it returns.
  void attach() {
    ASSERT_TRUE(executor_->attach(peers_).ok());
    while (peers_.looks == 0) std::this_thread::yield();
    (void)executor_->with_exclusive_progress([] { return Status(); });  // it has given progress back
  }
  std::shared_ptr<Operation> pending() {
    return std::make_shared<FakeOperation>(std::vector<Direction>{{.peer = 1, .outgoing = true}});
  }
  Status run(std::shared_ptr<Operation> operation) { return executor_->run({&operation, 1}); }
  // This one has broken, with this code; peers were told, and what comes later ends at once.
  void expect_broken(Code code) {
    EXPECT_EQ(executor_->broken().code(), code) << executor_->broken().message();
    EXPECT_EQ(run(pending()).code(), code);
    EXPECT_EQ(executor_->broken().cause().rank, 0);
    executor_->stop(Status(Code::aborted, "the test is over"));
    EXPECT_EQ(peers_.closed_with.code(), code);
  }

  std::atomic<bool> progress_fails_{false}, watch_fails_{false};
  std::atomic<int> closings_that_fail_{0};
  FakePeers peers_;
  std::unique_ptr<Executor> executor_;
};

TEST_F(ExecutorFailures, MemoryRunsOutInATransportWhileACallerProgresses) {
  attach();
  progress_fails_ = true;
  EXPECT_EQ(run(pending()).code(), Code::out_of_resources);
  expect_broken(Code::out_of_resources);
}

// Such as a transport that opens a window.
TEST_F(ExecutorFailures, WhatKeepsItFromProgressHearsOfAnAbort) {
  attach();
  (void)executor_->with_exclusive_progress([&] {
    EXPECT_TRUE(executor_->listener().given_up().ok());
    executor_->abort(Status(Code::aborted, "enough"), *executor_->first());
    EXPECT_EQ(executor_->listener().given_up().code(), Code::aborted);
    EXPECT_EQ(executor_->listener().given_up().cause().rank, 0);
    return Status();
  });
}

// Over whatever link, also where the next look would have left it out.
TEST_F(ExecutorFailures, WhatKeepsItFromProgressHearsWhatPeersSay) {
  attach();
  (void)executor_->with_exclusive_progress([&] {
    bool watched = false;
    peers_.on_watch = [&] { watched = true; };
    peers_.on_progress = [&] {
      const Status lost(Cause{.code = Code::peer_lost, .message = "rank 2 is gone", .rank = 1, .peer = 2});
      if (watched) executor_->listener().peer_failed(1, lost);
    };
    EXPECT_EQ(executor_->listener().given_up().cause().peer, 2);
    peers_.on_watch = peers_.on_progress = nullptr;
    return Status();
  });
}

// A peer that this rank is not connected with, and that has done its part just before it ended.
class LeavingPeers final : public FakePeers {
 public:
  bool has_ended(Rank) override {
    if (operation) operation->may_complete = true;
    return true;
  }
  std::shared_ptr<FakeOperation> operation;
};

TEST(ExecutorWithUnseenPeers, WhoHasDoneItsPartMayEnd) {
  LeavingPeers peers;
  const auto executor = std::move(*Executor::make({.rank = 0}));
  ASSERT_TRUE(executor->attach(peers).ok());
  peers.operation = std::make_shared<FakeOperation>(std::vector<Direction>{{.peer = 1}});
  const std::shared_ptr<Operation> operation = peers.operation;
  EXPECT_EQ(executor->run({&operation, 1}).message(), "");
  executor->stop(Status(Code::aborted, "the test is over"));
}

TEST_F(ExecutorFailures, MemoryRunsOutInAnOperation) {
  attach();
  const auto operation = std::make_shared<FakeOperation>(std::vector<Direction>{});
  operation->on_advance = [] { throw std::bad_alloc(); };
  EXPECT_EQ(run(operation).code(), Code::out_of_resources);
  expect_broken(Code::out_of_resources);
}

TEST_F(ExecutorFailures, AnOperationCannotStart) {
  attach();
  const auto operation = std::make_shared<FakeOperation>(std::vector<Direction>{});
  operation->on_start = [] { throw std::logic_error("this is a test"); };
  EXPECT_EQ(run(operation).code(), Code::internal);
  EXPECT_NE(executor_->broken().message().find("this is a test"), std::string::npos);
  expect_broken(Code::internal);
}

TEST_F(ExecutorFailures, SomethingThatIsNoExceptionIsThrown) {
  attach();
  const auto operation = std::static_pointer_cast<FakeOperation>(pending());
  operation->on_advance = [] { throw 1; };
  EXPECT_EQ(run(operation).code(), Code::internal);
  expect_broken(Code::internal);
}

TEST_F(ExecutorFailures, MemoryRunsOutInTheWatcherWhileItProgresses) {
  attach();
  const auto operation = std::static_pointer_cast<FakeOperation>(pending());
  operation->on_advance = [] { throw std::bad_alloc(); };
  operation->allow_callback();
  std::promise<Code> ended;
  ASSERT_TRUE(operation->on_complete([&](Code code) { ended.set_value(code); }));
  const std::shared_ptr<Operation> started = operation;
  ASSERT_TRUE(executor_->start({&started, 1}).ok());
  EXPECT_EQ(ended.get_future().get(), Code::out_of_resources);
  expect_broken(Code::out_of_resources);
}

TEST_F(ExecutorFailures, WhoWaitsForAnotherCallerLearnsOfItsException) {
  attach();
  const auto first = std::static_pointer_cast<FakeOperation>(pending());
  const auto second = pending();
  std::atomic<bool> fails{false};
  first->on_advance = [&] {
    if (fails) throw std::bad_alloc();
  };
  const std::shared_ptr<Operation> running = first;
  std::thread caller([&] { EXPECT_EQ(run(running).code(), Code::out_of_resources); });
  while (!first->started) std::this_thread::yield();
  ASSERT_TRUE(executor_->start({&second, 1}).ok());
  std::thread waiter([&] { EXPECT_EQ(executor_->wait({&second, 1}, long_enough).code(), Code::out_of_resources); });
  fails = true;
  peers_.ring();
  caller.join();
  waiter.join();
  expect_broken(Code::out_of_resources);
}

TEST_F(ExecutorFailures, MemoryRunsOutForWhatTheWatcherIsShown) {
  attach();
  const auto operation = std::static_pointer_cast<FakeOperation>(pending());
  operation->may_complete = true;
  operation->on_advance = [&] {
    watch_fails_ = true;
    ++peers_.epoch;
  };
  const std::shared_ptr<Operation> running = operation;
  EXPECT_TRUE(run(running).ok()) << "it was complete before";
  expect_broken(Code::out_of_resources);
}

TEST_F(ExecutorFailures, LinksCannotBeClosedAtOnce) {
  attach();
  progress_fails_ = true;
  closings_that_fail_ = 1;
  EXPECT_EQ(run(pending()).code(), Code::out_of_resources);
  EXPECT_EQ(peers_.closings, 2);
  expect_broken(Code::out_of_resources);
}

// Links may still hold completions of it then.
TEST_F(ExecutorFailures, AnOperationWhoseLinksCannotBeClosedStays) {
  attach();
  progress_fails_ = true;
  closings_that_fail_ = 2;
  auto operation = pending();
  const std::weak_ptr<Operation> observed = operation;
  EXPECT_EQ(run(std::move(operation)).code(), Code::out_of_resources);
  EXPECT_FALSE(observed.expired());
  executor_.reset();
  EXPECT_TRUE(observed.expired());
  executor_ = std::move(*Executor::make({.rank = 0}));
}

TEST_F(ExecutorFailures, ProgressIsGivenBackWhereExclusiveWorkThrows) {
  attach();
  EXPECT_THROW((void)executor_->with_exclusive_progress([]() -> Status { throw std::bad_alloc(); }), std::bad_alloc);
  const auto operation = std::make_shared<FakeOperation>(std::vector<Direction>{});
  operation->may_complete = true;
  EXPECT_TRUE(run(operation).ok());
}

TEST_F(ExecutorFailures, TheDeadlineOfAWaitHoldsAfterwards) {
  attach();
  const auto operation = pending();
  ASSERT_TRUE(executor_->start({&operation, 1}).ok());
  const Deadline soon = Deadline::after(std::chrono::milliseconds(20));
  EXPECT_EQ(executor_->wait({&operation, 1}, soon).code(), Code::in_progress);
  progress_fails_ = true;
  peers_.ring();
  EXPECT_EQ(executor_->wait({&operation, 1}, long_enough).code(), Code::out_of_resources);
}

}  // namespace
}  // namespace hocket
