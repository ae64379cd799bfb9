// Which rank says that another one is lost, and which leaves that to others.
#include "src/exec/one_cause.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "tests/unit/exec/fake_peers.hpp"

namespace hocket {
namespace {

using testing_support::SpeakingLink;

// Rank 0 of five, which is connected with ranks 2, 3 and 4, and sees that rank 2 is lost. The witness is rank 1, of
// which it would hear by the others.
class OneCauseTest : public ::testing::Test, protected testing_support::FakePeers {
 protected:
  OneCauseTest() : FakePeers(5) {
    for (const Rank peer : {2, 3, 4}) links_[static_cast<std::size_t>(peer)] = std::make_unique<SpeakingLink>();
    links_[2]->speaks = false;
  }
  Link* made_link(Rank peer) override { return links_[static_cast<std::size_t>(peer)].get(); }
  bool has_ended(Rank peer) override { return ended.contains(peer); }
  std::size_t progress() override {
    const bool speaks_now = ++progressed == witness_speaks_at;
    if (speaks_now) heard_ = lost(2, 1);
    return speaks_now ? 1 : 0;
  }
  static Status lost(Rank peer, Rank seen_by) {
    return Status(Cause{.code = Code::peer_lost, .message = "gone", .rank = seen_by, .peer = peer, .ended = true});
  }
  // Which rank has seen first what this one says.
  Rank says() {
    OneCause one_cause(0);
    return one_cause.leave_to_witness(lost(2, no_rank), heard_, *this).cause().rank;
  }

  std::set<Rank> ended;
  int witness_speaks_at = 0, progressed = 0;

 private:
  std::vector<std::unique_ptr<SpeakingLink>> links_ = std::vector<std::unique_ptr<SpeakingLink>>(5);
  Status heard_;
};

TEST_F(OneCauseTest, ADeathIsLeftToItsWitness) {
  ended = {2};
  witness_speaks_at = 1;
  EXPECT_EQ(says(), 1);
}

// Each look takes until something comes, or until it is time to look who lives: so the fifth would come after 120 ms.
TEST_F(OneCauseTest, WhoseConnectionAloneIsLostIsNotLeftToAnybody) {
  witness_speaks_at = 5;
  EXPECT_EQ(says(), no_rank);
}

TEST_F(OneCauseTest, OfSeveralDeathsNoWordIsWaitedForThatMayFindNoWay) {
  ended = {2, 3};
  made_link(3)->close(Status());
  static_cast<SpeakingLink*>(made_link(3))->speaks = false;
  witness_speaks_at = 5;
  EXPECT_EQ(says(), no_rank);
}

TEST_F(OneCauseTest, WhereTheWitnessHasDiedTheNextOneSaysIt) {
  ended = {1, 2};
  EXPECT_EQ(says(), no_rank);
  EXPECT_EQ(progressed, 0) << "at once";
}

}  // namespace
}  // namespace hocket
