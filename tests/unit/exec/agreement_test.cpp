// Ranks that break at the same time, over different things or over one that several of them see, agree on one cause.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <random>
#include <thread>

#include "src/exec/executor.hpp"
#include "src/exec/first_failure.hpp"
#include "tests/unit/exec/fake_peers.hpp"

namespace hocket {
namespace {

using testing_support::FakeLink;
using testing_support::FakeOperation;
using testing_support::FakePeers;

constexpr Rank ranks = 4;

Status cause(Code code, Rank peer, Rank seen_by) {
  return Status(Cause{.code = code, .message = "this is a test", .rank = seen_by, .peer = peer});
}

class SpeakingLink final : public FakeLink {
 public:
  bool may_speak() const override { return speaks; }

  bool speaks = true;
};

class LinkedPeers final : public FakePeers {
 public:
  LinkedPeers() : FakePeers(ranks), links(ranks) {}
  Link* made_link(Rank peer) override { return peer == unlinked_ ? nullptr : &links[static_cast<std::size_t>(peer)]; }
  void unlink(Rank peer) { unlinked_ = peer; }

  std::deque<SpeakingLink> links;

 private:
  Rank unlinked_ = no_rank;
};

// A rank, and what its transports tell it, one thing with each look at them.
class Agreement : public ::testing::Test {
 protected:
  ~Agreement() override {
    if (executor_) executor_->stop(Status(Code::aborted, "the test is over"));
  }
  void begin(Rank self) {
    executor_ = std::move(*Executor::make({.rank = self}));
    peers_.links[static_cast<std::size_t>(self)].speaks = false;
    peers_.on_progress = [this] {
      if (over_) return;
      peers_.ring();
      if (!begun_ || told_ == script_.size()) return;
      script_[told_++]();
    };
    ASSERT_TRUE(executor_->attach(peers_).ok());
  }
  void then(std::function<void()> what) { script_.push_back(std::move(what)); }
  void then_lost(Rank peer, Rank seen_by) {
    then([=, this] {
      peers_.links[static_cast<std::size_t>(peer)].speaks = false;
      executor_->listener().peer_failed(peer, cause(Code::peer_lost, peer, seen_by));
    });
  }
  void then_told(Rank by, const Status& why) {
    then([=, this] {
      peers_.links[static_cast<std::size_t>(by)].speaks = false;
      executor_->listener().peer_failed(by, why);
    });
  }
  // After this rank has said why it breaks; nothing: that the peer was told by it.
  void then_says_last(Rank by, const Status& why) {
    then([=, this] {
      if (peers_.closings == 0) {  // a round may look twice before it breaks
        --told_;
        return;
      }
      EXPECT_EQ(peers_.closings, 1);
      peers_.links[static_cast<std::size_t>(by)].speaks = false;
      if (!why.ok()) executor_->listener().peer_broke(by, why);
    });
  }
  Status run() {
    const auto operation = std::make_shared<FakeOperation>(std::vector<Direction>{{.peer = 0, .outgoing = true}});
    operation->on_start = [this] { begun_ = true; };
    const std::shared_ptr<Operation> running = operation;
    Status status = executor_->run({&running, 1});
    EXPECT_EQ(executor_->broken().message(), status.message());
    return status;
  }
  void expect(const Status& found, Code code, Rank peer, Rank seen_by) {
    EXPECT_EQ(found.code(), code) << found.message();
    EXPECT_EQ(found.cause().peer, peer);
    EXPECT_EQ(found.cause().rank, seen_by);
  }

  LinkedPeers peers_;
  std::unique_ptr<Executor> executor_;
  std::vector<std::function<void()>> script_;
  std::size_t told_ = 0;
  bool begun_ = false;
  std::atomic<bool> over_{false};  // nothing happens any more by itself
};

TEST_F(Agreement, ADeathIsToldByTheRankBefore) {
  begin(1);
  then_lost(0, 1);
  then([] {});
  then_told(3, cause(Code::peer_lost, 0, 3));
  then_says_last(2, Status());
  expect(run(), Code::peer_lost, 0, 3);
  expect(peers_.closed_with, Code::peer_lost, 0, 3);
}

TEST_F(Agreement, ThatOneWaitsForNobody) {
  begin(3);
  then_lost(0, 3);
  then_says_last(1, Status());
  then_says_last(2, Status());
  expect(run(), Code::peer_lost, 0, 3);
}

TEST_F(Agreement, WhereTheRankBeforeSaysNothingAnotherDoes) {
  begin(1);
  then_lost(0, 1);
  expect(run(), Code::peer_lost, 0, 1);
}

// The rank before is not connected with this one, and those that were are dead: no word can come.
TEST_F(Agreement, WhereNobodyCanSpeakThisRankDoesAtOnce) {
  begin(1);
  then([this] {
    peers_.unlink(3);
    peers_.links[2].speaks = false;
  });
  then_lost(0, 1);
  then([] {});
  then_told(2, cause(Code::peer_lost, 0, 3));  // which it does not wait for
  expect(run(), Code::peer_lost, 0, 1);
}

TEST_F(Agreement, WhereTheRankBeforeIsDeadTooTheOneBeforeThatTells) {
  begin(2);
  then_lost(0, 2);
  then_lost(3, 2);
  then_says_last(1, Status());
  expect(run(), Code::peer_lost, 0, 2);
}

TEST_F(Agreement, OthersLeaveTwoDeathsToThatOne) {
  begin(1);
  then_lost(0, 1);
  then_lost(3, 1);
  then([] {});
  then_told(2, cause(Code::peer_lost, 0, 2));
  expect(run(), Code::peer_lost, 0, 2);
}

TEST_F(Agreement, ADeathWinsOverTimeOuts) {
  begin(1);
  then_told(3, cause(Code::timeout, 0, 3));
  then_says_last(2, cause(Code::peer_lost, 0, 2));
  then_says_last(0, Status());
  expect(run(), Code::peer_lost, 0, 2);
}

TEST_F(Agreement, LaterWordsThatCountLessChangeNothing) {
  begin(1);
  then_told(3, cause(Code::mismatch, 0, 3));
  then_says_last(2, cause(Code::peer_lost, 0, 2));
  then_says_last(0, cause(Code::mismatch, 2, 0));
  expect(run(), Code::mismatch, 0, 3);
}

TEST_F(Agreement, WhoNeverSpeaksIsNotWaitedForLong) {
  begin(1);
  then_told(3, cause(Code::timeout, 0, 3));
  expect(run(), Code::timeout, 0, 3);  // ranks 0 and 2 stay silent
}

// A cause that did not fit into a link is still on its way.
TEST_F(Agreement, LinksAreLookedAfterWhenAllIsOver) {
  begin(1);
  then_told(3, cause(Code::timeout, 0, 3));
  (void)run();
  over_ = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // what was rung before has been looked at by now, mostly
  const int looks = peers_.looks;
  const Deadline deadline = Deadline::after(std::chrono::minutes(1));
  peers_.ring();
  while (peers_.looks == looks && !deadline.passed()) std::this_thread::yield();
  EXPECT_GT(peers_.looks, looks);
}

TEST(Precedence, IsATotalOrder) {
  std::mt19937 random(1);
  const auto any = [&] {
    constexpr Code codes[] = {Code::peer_lost, Code::timeout, Code::mismatch};
    return Cause{.code = codes[random() % 3],
                 .message = {},
                 .rank = static_cast<Rank>(random() % 3),
                 .peer = static_cast<Rank>(random() % 3)};
  };
  for (int i = 0; i < 2000; ++i) {
    const Cause a = any(), b = any(), c = any();
    const bool same = a.code == b.code && a.peer == b.peer && a.rank == b.rank;
    EXPECT_EQ(precedes(a, b) + precedes(b, a), same ? 0 : 1);
    if (precedes(a, b) && precedes(b, c)) {
      EXPECT_TRUE(precedes(a, c));
    }
  }
}

}  // namespace
}  // namespace hocket
