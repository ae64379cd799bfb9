// Groups of 100,000 ranks, as far as symmetry brings them within reach.
#include <gtest/gtest.h>

#include "src/plan/simulate.hpp"
#include "tests/unit/plan/units.hpp"

namespace hocket {
namespace {

TEST(LargeGroups, ARingOfAHundredThousandRanksIsOneRank) {
  constexpr Rank ranks = 100'000;
  const auto network = Network::make({.ranks = ranks, .link = {.latency = microsecond, .wire_per_byte = nanosecond}});
  const auto got = simulate(
      *network,
      {.algorithm = find_algorithm(Collective::allreduce, "ring"), .count = std::size_t{ranks} * 16, .record = true});
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(got->period, 1);
  EXPECT_EQ(got->time, 2 * (ranks - 1) * (picoseconds(microsecond) + picoseconds(64 * nanosecond)));
  EXPECT_EQ(got->messages, std::uint64_t{2} * ranks * (ranks - 1));
  EXPECT_EQ(got->critical.size(), 3U * 2 * (ranks - 1)) << "sent, on the way, received";
  Rank before = got->activity(got->critical.front()).rank;
  for (const ActivityRef& ref : got->critical) {  // once to the right with each message
    const Rank rank = got->activity(ref).rank;
    ASSERT_TRUE(rank == before || rank == (before + 1) % ranks);
    before = rank;
  }
}

TEST(LargeGroups, OneHostStandsForTwelveThousand) {
  constexpr Rank ranks = 100'000;
  const auto network = Network::make({.kind = NetworkKind::hosts,
                                      .ranks = ranks,
                                      .ranks_per_host = 8,
                                      .link = {.latency = 10 * microsecond, .wire_per_byte = nanosecond},
                                      .local = {.latency = microsecond}});
  const auto got = simulate(
      *network, {.algorithm = find_algorithm(Collective::allreduce, "two_level"), .count = std::size_t{ranks}});
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(got->period, 8);
  const std::uint64_t hosts = 12'500, rail = 2 * 7 * hosts + 2 * (hosts - 1);
  EXPECT_EQ(got->messages, ranks * rail);
  EXPECT_GE(got->time, 2 * static_cast<Picoseconds>(hosts - 1) * picoseconds(10 * microsecond));
}

TEST(LargeGroups, AHundredThousandRanksMakeATree) {
  const auto network = Network::make({.ranks = 100'000, .link = {.latency = microsecond}});
  const auto got =
      simulate(*network, {.algorithm = find_algorithm(Collective::allreduce, "binomial_tree"), .count = 1000});
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(got->messages, 2U * 99'999);
  EXPECT_EQ(got->time, 2 * 16 * picoseconds(microsecond)) << "no rank below 100,000 has more than 16 bits";
}

TEST(LargeGroups, SaysWhichBytesWouldMakeRanksAlike) {
  const auto network = Network::make({.ranks = 100'000});
  const auto result =
      simulate(*network, {.algorithm = find_algorithm(Collective::allreduce, "ring"), .count = 1 << 18});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::out_of_resources);
  EXPECT_EQ(result.status().message(),
            "ring allreduce on 100000 ranks sends more than 600 million messages in 1 slices; chunks of one size would "
            "make ranks alike, so that one stood for many: take a multiple of 400000 bytes, as 1200000");
}

}  // namespace
}  // namespace hocket
