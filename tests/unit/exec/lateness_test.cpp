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
  explicit Waits(std::vector<Rank> awaited, std::chrono::nanoseconds timeout = std::chrono::hours(1))
      : Operation(std::make_shared<Context>()), awaited_(std::move(awaited)) {
    Binding binding = testing_support::FakeOperation::ordinary();
    binding.timeout = timeout;
    bind(binding);
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
  testing_support::SharedMemory shared_{2, direct::payload_bytes};
  testing_support::MemoryWindow own_{shared_, 0}, others_{shared_, 1};
  testing_support::FakePeers peers_;
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

// Rank 2 of four, whose time is up, and which knows from rank 3 that this one waits for rank 0.
class LateWithoutConnection : public ::testing::Test {
 protected:
  LateWithoutConnection() { lateness_.hear(3, {.tag = {}, .missing = 0, .witness = 3}, peers_.size()); }
  // Of an operation that waits for this peer, with which this rank is not connected; no_rank: others are to say.
  Rank culprit(Rank awaited) {
    queue_.add(std::make_shared<Waits>(std::vector<Rank>{awaited}, std::chrono::nanoseconds(0)), peers_.size());
    EXPECT_NE(queue_.start_next(), nullptr);
    bool told_over_window = false;
    const auto late = lateness_.find(queue_, peers_, told_over_window);
    return late ? late->culprit : no_rank;
  }
  Rank culprit_of_link(Rank peer) const {
    const Status late(Cause{.code = Code::timeout, .message = "it did not connect", .rank = 2, .peer = peer});
    return lateness_.of_late_peer(late, 0, peers_).cause().peer;
  }

 private:
  struct DialledPeers final : testing_support::FakePeers {
    DialledPeers() : FakePeers(4) {}
    bool answers_dials(Rank) const override { return dialled; }
    bool dialled = true;
  };

 protected:
  DialledPeers peers_;

 private:
  OperationQueue queue_;
  Lateness lateness_{2};
};

// Whatever others believe: this rank has dialled it, and who lives answers.
TEST_F(LateWithoutConnection, ALowerRankIsItselfTheCulprit) {
  EXPECT_EQ(culprit(1), 1);
  EXPECT_EQ(culprit_of_link(1), 1);
}

// It would have dialled this rank, if it needed that, and may wait elsewhere.
TEST_F(LateWithoutConnection, AHigherRankMayWaitForTheCulprit) {
  EXPECT_EQ(culprit(3), no_rank) << "rank 3 says it";
  EXPECT_EQ(culprit_of_link(3), 0);
}

// Such as a member of its window, with which it needs no connection.
TEST_F(LateWithoutConnection, SoMayALowerRankThatWasNotDialled) {
  peers_.dialled = false;
  EXPECT_EQ(culprit(1), no_rank) << "rank 3 says it";
  EXPECT_EQ(culprit_of_link(1), 0);
}

}  // namespace
}  // namespace hocket
