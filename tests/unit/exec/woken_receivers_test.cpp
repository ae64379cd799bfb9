// Whoever is sent a message that is over at once is woken, on every way that such a message takes; and the members of a
// window by a call that is.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "src/exec/direct/direct_operation.hpp"
#include "src/exec/executor.hpp"
#include "src/exec/message_operation.hpp"
#include "tests/unit/exec/fake_peers.hpp"
#include "tests/unit/exec/memory_window.hpp"

namespace hocket {
namespace {

// Takes every message; its receiver sleeps from then on, until it is woken.
class SleepersLink final : public testing_support::FakeLink {
 public:
  void send(const Tag&, ConstBuffer, Completion& completion) override { completion.done(Status()); }
  void recv(const Tag&, Buffer, Completion& completion) override { completion.done(Status()); }
  bool send_now(const Tag&, std::span<const std::byte>) noexcept override {
    ++sent_now;
    asleep = true;
    if (meanwhile) meanwhile();
    return true;
  }
  void wake_receiver() override { asleep = false; }

  std::atomic<int> sent_now{0};
  std::atomic<bool> asleep{false};
  std::function<void()> meanwhile;
};

class SleepersPeers final : public testing_support::FakePeers {
 public:
  Result<Link*> link(Rank, Deadline) override { return &sleepers; }

  SleepersLink sleepers;
};

struct WokenEnd final : RunEnd {
  void release_itself() noexcept override {}
};

class WokenReceivers : public ::testing::Test {
 protected:
  WokenReceivers() {
    executor_ = std::move(*Executor::make({.rank = 0, .size = 2}));
    EXPECT_TRUE(executor_->attach(peers_).ok());
  }
  ~WokenReceivers() override { executor_->stop(Status(Code::aborted, "the test is over")); }

  // One that has run before.
  std::shared_ptr<Operation> message(bool sends) {
    std::shared_ptr<Operation> made = std::make_shared<MessageOperation>(executor_->first(), 1, sends, "test");
    made->bind({.input = data_.data(),
                .output = data_.data(),
                .signature = {.kind = sends ? SignatureKind::send : SignatureKind::receive,
                              .collective = sends ? Collective::send : Collective::recv,
                              .count = data_.size()},
                .reduction = {},
                .timeout = std::chrono::hours(1)});
    EXPECT_TRUE(executor_->run({&made, 1}).ok());
    return made;
  }
  // The watcher may progress at this moment.
  template <class Try>
  static void until(const Try& succeeds) {
    while (!succeeds()) std::this_thread::yield();
  }
  bool starts(const std::shared_ptr<Operation>& send) {
    return executor_->start_idle(send, data_.data(), nullptr, end_) == Started::over;
  }
  void expect_woken(int times) {
    EXPECT_EQ(link_.sent_now, times);
    EXPECT_FALSE(link_.asleep);
  }
  // While the next message is sent, what never ends is submitted: so progress does not return to rest.
  void submit_meanwhile() {
    link_.meanwhile = [this] {
      EXPECT_TRUE(executor_->start({&other_, 1}).ok());
      link_.meanwhile = nullptr;
    };
  }

  std::array<std::byte, 8> data_{};
  SleepersPeers peers_;
  SleepersLink& link_ = peers_.sleepers;
  WokenEnd end_;
  std::shared_ptr<Operation> other_ =
      std::make_shared<testing_support::FakeOperation>(std::vector<Direction>{{.peer = 1}});
  std::unique_ptr<Executor> executor_;
};

TEST_F(WokenReceivers, OfABlockingSend) {
  const auto send = message(true);
  until([&] { return executor_->run_again(send, data_.data(), nullptr); });
  expect_woken(1);
  submit_meanwhile();
  until([&] { return executor_->run_again(send, data_.data(), nullptr); });
  expect_woken(2);
}

TEST_F(WokenReceivers, OfAPair) {
  const std::array<std::shared_ptr<Operation>, 2> pair{message(true), message(false)};
  until([&] { return executor_->run_again(pair, data_.data(), data_.data()); });
  expect_woken(1);
}

TEST_F(WokenReceivers, OfASendThatIsStartedAgain) {
  const auto send = message(true);
  until([&] { return starts(send); });
  expect_woken(1);
}

TEST_F(WokenReceivers, OfASendThatIsStartedAgainWhereSomethingIsSubmitted) {
  const auto send = message(true);
  submit_meanwhile();
  until([&] { return starts(send); });
  expect_woken(1);
}

// Or the watcher begins them; then the link wakes whoever sleeps.
TEST_F(WokenReceivers, OfSeveralThatAreStarted) {
  const std::array<std::shared_ptr<Operation>, 2> sends{message(true), message(true)};
  for (const auto& send : sends) send->bind_again(data_.data(), nullptr);
  ASSERT_TRUE(executor_->start(sends).ok());
  ASSERT_TRUE(executor_->wait(sends, Deadline::after(std::chrono::minutes(5))).ok());
  EXPECT_FALSE(link_.asleep);
}

// A small broadcast is over for its root when that has announced it; the other member sleeps.
TEST_F(WokenReceivers, OfABroadcastOverAWindow) {
  testing_support::SharedMemory shared(2, 4096);
  testing_support::MemoryWindow window(shared, 0), of_sleeper(shared, 1);
  WindowUse use{.window = &window, .heard = std::vector<std::uint64_t>(2)};
  std::shared_ptr<Operation> broadcast = std::make_shared<DirectOperation>(use, executor_->first());
  broadcast->bind({.input = data_.data(),
                   .output = data_.data(),
                   .signature = {.collective = Collective::broadcast, .count = data_.size()},
                   .reduction = {},
                   .timeout = std::chrono::hours(1)});
  const auto wakes = [&](const auto& run) {
    (void)of_sleeper.prepare_sleep(set_of(0));
    run();
    return !of_sleeper.sleeps();
  };
  const auto in_turn = [&] { EXPECT_TRUE(executor_->run({&broadcast, 1}).ok()); };
  EXPECT_TRUE(wakes(in_turn));
  broadcast->bind_again(data_.data(), data_.data());
  EXPECT_TRUE(wakes(in_turn));
  const auto again = [&] { until([&] { return executor_->run_again(broadcast, data_.data(), data_.data()); }); };
  EXPECT_TRUE(wakes(again));
  // Now and then a call tidies the window; what is submitted then keeps progress from returning to rest.
  bool submitted = false;
  window.in_tidy = [&] {
    submitted = true;
    EXPECT_TRUE(executor_->start({&other_, 1}).ok());
    window.in_tidy = nullptr;
  };
  for (int i = 0; i < 64 && !submitted; ++i) EXPECT_TRUE(wakes(again));
  EXPECT_TRUE(submitted);
}

}  // namespace
}  // namespace hocket
