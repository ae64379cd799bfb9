#include "src/exec/lateness.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "src/plan/direct/staging.hpp"
#include "tests/unit/exec/fake_peers.hpp"
#include "tests/unit/exec/memory_window.hpp"

namespace hocket {
namespace {

// Runs, and has waited for these peers for a while.
class Waits final : public Operation {
 public:
  explicit Waits(std::vector<Rank> awaited) : Operation(std::make_shared<Context>()), awaited_(std::move(awaited)) {
    bind(testing::FakeOperation::ordinary());
    tell_again_at(Deadline(Deadline::Clock::now()));
  }
  Status start(const Tag&, Peers&) override { return {}; }
  bool advance(Counters&) override { return false; }
  bool complete() const override { return false; }
  std::span<const Direction> directions() const override { return {}; }
  Missing missing() const override { return {.peers = awaited_, .text = "waiting"}; }
  std::string_view algorithm() const override { return "fake"; }
  // From now on, of which it is time to tell.
  void wait_for(std::vector<Rank> awaited) {
    awaited_ = std::move(awaited);
    tell_again_at(Deadline(Deadline::Clock::now()));
  }

 private:
  std::vector<Rank> awaited_;
};

// Rank 0, in which one operation runs.
class LatenessTest : public ::testing::Test {
 protected:
  // Whether others take it to wait.
  bool is_said_to_wait(const std::vector<Rank>& awaited) {
    if (!operation_) {
      operation_ = std::make_shared<Waits>(awaited);
      queue_.add(operation_, peers_.size());
      EXPECT_NE(queue_.start_next(), nullptr);
      lateness_.use_window(own_);
    }
    operation_->wait_for(awaited);
    bool told_over_window = false;
    EXPECT_FALSE(lateness_.find(queue_, peers_, told_over_window));
    const bool waits = LifeLines(others_).waits(0);
    EXPECT_EQ(lateness_.tells(), waits);
    return waits;
  }

 private:
  testing::SharedMemory shared_{2, direct::payload_bytes};
  testing::MemoryWindow own_{shared_, 0}, others_{shared_, 1};
  testing::FakePeers peers_;
  OperationQueue queue_;
  std::shared_ptr<Waits> operation_;
  Lateness lateness_{0};
};

// Held up by its own stream, say: who waits for it would look for somebody behind it.
TEST_F(LatenessTest, ARankThatDoesNotWaitForOthersDoesNotSayThatItWaits) {
  EXPECT_FALSE(is_said_to_wait({}));
}

// As often as that changes, within one operation.
TEST_F(LatenessTest, ARankSaysThatItWaitsAsLongAsItWaitsForOthers) {
  EXPECT_TRUE(is_said_to_wait({1}));
  EXPECT_FALSE(is_said_to_wait({})) << "it waits for its own stream alone";
  EXPECT_TRUE(is_said_to_wait({1}));
}

}  // namespace
}  // namespace hocket
