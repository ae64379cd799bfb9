// Chains of ranks that wait for each other, as told over links and as shown in a window.
#include "src/exec/wait_chains.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "src/exec/direct/control_lines.hpp"
#include "src/plan/direct/staging.hpp"
#include "tests/unit/exec/memory_window.hpp"

namespace hocket {
namespace {

using testing_support::MemoryWindow;
using testing_support::SharedMemory;

constexpr Rank wait_chains_ranks = 6;

// Ranks that tell each other over links what they know, as long as that changes anything.
class Talk {
 public:
  // awaited[r]: for whom rank r waits; nobody: it does not wait in Hocket.
  explicit Talk(std::vector<std::vector<Rank>> awaited) : awaited_(std::move(awaited)) {
    for (Rank rank = 0; rank < size(); ++rank) heard_.emplace_back(rank);
    for (int round = 0; round < 3 * size(); ++round) {
      for (Rank rank = 0; rank < size(); ++rank) tell(rank);
    }
  }
  Blame blame(Rank rank) const { return blame_for(awaited_[index(rank)], rank, heard_[index(rank)]); }

 private:
  static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }
  Rank size() const { return static_cast<Rank>(awaited_.size()); }
  // Those whom it waits for, those who wait for it, and its neighbours on the ring.
  void tell(Rank rank) {
    if (awaited_[index(rank)].empty()) return;
    const Blame found = blame(rank);
    for (Rank peer = 0; peer < size(); ++peer) {
      const auto waits_for = [&](Rank a, Rank b) { return std::ranges::count(awaited_[index(a)], b) != 0; };
      const bool neighbours = peer == (rank + 1) % size() || rank == (peer + 1) % size();
      if (peer == rank || !(neighbours || waits_for(rank, peer) || waits_for(peer, rank))) continue;
      heard_[index(peer)].hear(rank, {.tag = {}, .missing = found.missing, .witness = found.witness}, size());
    }
  }

  const std::vector<std::vector<Rank>> awaited_;
  std::vector<ToldChains> heard_;
};

TEST(ToldChains, LeadAllToTheRankThatDoesNotWait) {
  const Talk chain({{}, {0}, {1}, {2}, {3}});
  for (Rank rank = 1; rank < 5; ++rank) {
    EXPECT_EQ(chain.blame(rank).missing, 0) << rank;
    EXPECT_EQ(chain.blame(rank).witness, 1) << rank;
  }
}

TEST(ToldChains, NameOneWitnessWhereSeveralWaitForTheSame) {
  const Talk star({{3}, {3}, {3}, {}, {3}});
  for (const Rank rank : {0, 1, 2, 4}) {
    EXPECT_EQ(star.blame(rank).missing, 3) << rank;
    EXPECT_EQ(star.blame(rank).witness, 0) << rank;
  }
}

// Rank 2 waits for rank 4, with which it has no connection.
TEST(ToldChains, BlameNobodyWhoCouldNotSayThatHeWaits) {
  const std::vector<Rank> unheard{4};
  ToldChains heard(2);
  EXPECT_EQ(blame_for({}, 2, heard, unheard).missing, no_rank);
  EXPECT_EQ(blame_for({}, 2, heard, unheard).through, 4);
  heard.hear(3, {.tag = {}, .missing = no_rank, .witness = no_rank}, wait_chains_ranks);
  EXPECT_EQ(blame_for({}, 2, heard, unheard).missing, no_rank) << "nor does rank 3 know more";
  heard.hear(1, {.tag = {}, .missing = 5, .witness = 1}, wait_chains_ranks);
  EXPECT_EQ(blame_for({}, 2, heard, unheard).missing, 5);
  EXPECT_EQ(blame_for({}, 2, heard, unheard).witness, 1);
  EXPECT_EQ(blame_for(std::vector<Rank>{0}, 2, heard, unheard).missing, 0) << "with rank 0 it is connected";
}

// A rank that others wait for on another communicator need not be at fault here.
TEST(ToldChains, GoByWhatIsKnownOnTheSameCommunicator) {
  const std::vector<Rank> unheard{4};
  ToldChains heard(2);
  heard.hear(1, {.tag = {.communicator = 7}, .missing = 3, .witness = 1}, wait_chains_ranks);
  EXPECT_EQ(heard.some_end(0), no_rank);
  EXPECT_EQ(heard.some_end(7), 3);
  EXPECT_EQ(blame_for({}, 2, heard, unheard, 0).missing, no_rank);
  EXPECT_EQ(blame_for({}, 2, heard, unheard, 7).missing, 3);
}

// Rank 2 waits for rank 3, too, far from here; rank 0, which passes that on, does not wait.
TEST(ToldChains, KnowByHearsayWhoElseWaits) {
  ToldChains heard(4);
  heard.hear(0, hearsay_of({.tag = {}, .missing = 3, .witness = 2}), wait_chains_ranks);
  const Rank missing = 3;
  EXPECT_EQ(blame_for({&missing, 1}, 4, heard).witness, 2);
  EXPECT_FALSE(heard.waits(0));
  heard.hear(0, hearsay_of({.tag = {}, .missing = 3, .witness = 4}), wait_chains_ranks);
  EXPECT_EQ(blame_for({&missing, 1}, 4, heard).witness, 4) << "itself";
  heard.hear(0, hearsay_of({.tag = {}, .missing = 300, .witness = -7}), wait_chains_ranks);  // makes no sense
  EXPECT_EQ(blame_for({&missing, 1}, 4, heard).missing, 3);
}

TEST(ToldChains, PreferTheEndToTheMiddle) {
  const Talk tree({{1, 2}, {3, 4}, {0}, {1}, {}, {2}});
  for (const Rank rank : {0, 1, 2, 3, 5}) {
    EXPECT_EQ(tree.blame(rank).missing, 4) << rank;
    EXPECT_EQ(tree.blame(rank).witness, 1) << rank;
  }
}

TEST(ToldChains, OfACircleHaveNoEnd) {
  const Talk circle({{1}, {2}, {0}, {0}});
  for (Rank rank = 0; rank < 4; ++rank) EXPECT_EQ(circle.blame(rank).missing, no_rank) << rank;
}

TEST(ToldChains, BelieveNobodyWhoWaitsNoMore) {
  ToldChains heard(1);
  heard.hear(0, {.tag = {}, .missing = 3, .witness = 0}, wait_chains_ranks);
  EXPECT_EQ(blame_for(std::vector<Rank>{0}, 1, heard).missing, 3);
  heard.hear(0, {.tag = {}, .missing = 0}, wait_chains_ranks);
  EXPECT_EQ(blame_for(std::vector<Rank>{0}, 1, heard).missing, 0);
  EXPECT_EQ(heard.told_by(0), nullptr);
}

TEST(ToldChains, TakeNoRankThatDoesNotExist) {
  ToldChains heard(1);
  for (const Rank rank : {wait_chains_ranks, wait_chains_ranks + 5, -2, std::numeric_limits<Rank>::min()}) {
    heard.hear(0, {.tag = {}, .missing = rank, .witness = rank}, wait_chains_ranks);
    ASSERT_NE(heard.told_by(0), nullptr);
    EXPECT_EQ(heard.told_by(0)->missing, no_rank) << rank;
    EXPECT_EQ(heard.told_by(0)->witness, no_rank) << rank;
  }
}

class LinesOf {
 public:
  explicit LinesOf(Rank size) : shared_(static_cast<std::uint32_t>(size), direct::payload_bytes) {
    for (Rank rank = 0; rank < size; ++rank) {
      windows_.emplace_back(shared_, static_cast<std::uint32_t>(rank));
      lines_.emplace_back(windows_.back());
    }
  }
  LifeLines& operator[](Rank rank) { return lines_[static_cast<std::size_t>(rank)]; }
  SharedMemory& shared() { return shared_; }

 private:
  SharedMemory shared_;
  std::deque<MemoryWindow> windows_;
  std::deque<LifeLines> lines_;
};

TEST(LifeLines, LeadAllToTheRankThatDoesNotWait) {
  LinesOf lines(wait_chains_ranks);
  for (Rank rank = 1; rank < wait_chains_ranks; ++rank) lines[rank].show(rank - 1);
  for (Rank rank = 1; rank < wait_chains_ranks; ++rank) {
    const std::vector<Rank> awaited{rank - 1};
    const Blame blame = blame_for(awaited, rank, lines[rank]);
    EXPECT_EQ(blame.missing, 0) << rank;
    EXPECT_EQ(blame.witness, 1) << rank;
    EXPECT_EQ(blame.through, rank - 1) << rank;
  }
  lines[3].clear();
  EXPECT_EQ(blame_for(std::vector<Rank>{4}, 5, lines[5]).missing, 3);
}

TEST(LifeLines, OfACircleHaveNoEnd) {
  LinesOf lines(wait_chains_ranks);
  for (Rank rank = 0; rank < wait_chains_ranks; ++rank) lines[rank].show((rank + 1) % 3);
  for (Rank rank = 3; rank < wait_chains_ranks; ++rank) {
    EXPECT_EQ(blame_for(std::vector<Rank>{(rank + 1) % 3}, rank, lines[rank]).missing, no_rank) << rank;
  }
}

TEST(LifeLines, LeadNowhereThroughNonsense) {
  LinesOf lines(wait_chains_ranks);
  lines[0].show(1);
  lines.shared().members[0].lines[direct::life_line].words[1] = 1'000'000;
  EXPECT_EQ(blame_for(std::vector<Rank>{0}, 2, lines[2]).missing, no_rank);
  // A time that no clock shows: sanitizers see whether anything overflows.
  lines.shared().members[0].lines[direct::life_line].words[0] = std::uint64_t{1} << 63;
  (void)lines[2].waits(0);
}

}  // namespace
}  // namespace hocket
