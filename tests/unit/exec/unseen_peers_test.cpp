// Until when a rank looks for itself whether the peers that it waits for live.
#include "src/exec/unseen_peers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <vector>

#include "tests/unit/exec/fake_peers.hpp"

namespace hocket {
namespace {

// Rank 2 of three, in which an operation waits for rank 1. It has a link to both others.
class UnseenPeersTest : public ::testing::Test, protected testing_support::FakePeers {
 protected:
  UnseenPeersTest() : FakePeers(3) {
    for (const std::size_t peer : {0, 1}) links_[peer].speaks = false;
    queue_.add(std::make_shared<testing_support::FakeOperation>(std::vector<Direction>{{.peer = 1}}), size());
    EXPECT_NE(queue_.start_next(), nullptr);
  }
  Link* made_link(Rank peer) override { return &links_[static_cast<std::size_t>(peer)]; }
  bool has_ended(Rank peer) override { return ended_.contains(peer); }
  void connect(Rank peer) { links_[static_cast<std::size_t>(peer)].speaks = true; }
  std::vector<Rank> find_ended() {
    std::vector<Rank> found;
    for (const auto& ended : unseen_.find_ended(queue_, *this, {})) found.push_back(ended.peer);
    return found;
  }

  UnseenPeers unseen_{2};
  std::set<Rank> ended_{1};

 private:
  std::array<testing_support::SpeakingLink, 3> links_;
  OperationQueue queue_;
};

// A neighbour that has yet to dial may have died.
TEST_F(UnseenPeersTest, AreThoseWithWhichALinkIsNotConnected) {
  connect(0);
  EXPECT_THAT(find_ended(), ::testing::ElementsAre(1));
  EXPECT_TRUE(unseen_.may_be({}));
}

TEST_F(UnseenPeersTest, AreNoneOnceBothNeighboursAreConnected) {
  connect(0);
  connect(1);
  EXPECT_THAT(find_ended(), ::testing::IsEmpty());
  EXPECT_FALSE(unseen_.may_be({}));
}

// Rank 1 could not meet the others any more.
TEST_F(UnseenPeersTest, AreGoneWithRank0WhichTheyNeededToMeet) {
  ended_ = {0, 1};
  EXPECT_THAT(find_ended(), ::testing::ElementsAre(0));
}

}  // namespace
}  // namespace hocket
