#include "src/plan/plan.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hocket {
namespace {

PlanKey key_of(Collective collective, std::string_view name, std::size_t count, std::size_t slice_bytes = 0,
               Rank size = 4) {
  return {.algorithm = find_algorithm(collective, name),
          .rank = 1,
          .size = size,
          .count = count,
          .element_bytes = 4,
          .slice_bytes = slice_bytes};
}

TEST(Plan, RunsOneSliceAlone) {
  const auto plan = make_plan(key_of(Collective::allreduce, "ring", 1000));
  EXPECT_EQ(plan->program.interleave, 1u);
  EXPECT_EQ(plan->groups, 1u);
  EXPECT_EQ(plan->scratch_bytes, 0u);
}

TEST(Plan, RunsSlicesInPairs) {
  // 5 slices of 200 elements: the last group lacks its second piece.
  const auto plan = make_plan(key_of(Collective::allreduce, "ring", 1000, 200));
  EXPECT_EQ(plan->layout.slices(), 5u);
  EXPECT_EQ(plan->program.interleave, 2u);
  EXPECT_EQ(plan->groups, 3u);
  const Range first{Space::output, 0, 0, 1};
  EXPECT_EQ(plan->extent(first, 0, 0), (Extent{0, 200}));
  EXPECT_EQ(plan->extent(first, 1, 0), (Extent{800, 200}));
  EXPECT_EQ(plan->extent(first, 0, 2), (Extent{3200, 200}));
  EXPECT_EQ(plan->extent(first, 1, 2).bytes, 0u);
}

TEST(Plan, MovesNothingWithoutElements) {
  EXPECT_EQ(make_plan(key_of(Collective::allreduce, "ring", 0))->groups, 0u);
  EXPECT_EQ(make_plan(key_of(Collective::allgather, "ring", 0, 64))->groups, 0u);
  EXPECT_EQ(make_plan(key_of(Collective::barrier, "dissemination", 0))->groups, 1u);
}

TEST(Plan, GivesEachPieceScratchOfItsOwnOnItsOwnCacheLines) {
  // Parts of 25 elements, two cells of 100 bytes: 200 bytes, rounded up to 256.
  const auto plan = make_plan(key_of(Collective::reduce_scatter, "ring", 50, 100));
  ASSERT_EQ(plan->program.scratch_cells, 2u);
  EXPECT_EQ(plan->piece_bytes, 256u);
  EXPECT_EQ(plan->scratch_bytes, 512u);
  const Range second{Space::scratch, 1, 3, 1};
  EXPECT_EQ(plan->extent(second, 0, 0), (Extent{100, 100}));
  EXPECT_EQ(plan->extent(second, 1, 0), (Extent{356, 100}));
}

// No link is made to a rank that has nothing else to move.
TEST(Plan, LeavesOutBlocksThatMoveElsewhere) {
  UnequalBlocks blocks{.input = std::vector<UnequalBlocks::Block>(4, {.elsewhere = true}),
                       .output = std::vector<UnequalBlocks::Block>(4, {.elsewhere = true})};
  blocks.input[3] = {.offset = 7, .count = 50};
  blocks.output[0] = {.offset = 9, .count = 60};
  PlanKey key = key_of(Collective::alltoall, "pairwise", 0);
  key.blocks = {std::make_shared<const UnequalBlocks>(blocks)};
  const auto plan = make_plan(key);
  ASSERT_EQ(plan->program.channels.size(), 2u);
  for (const Channel& channel : plan->program.channels) EXPECT_EQ(channel.peer, channel.outgoing ? 3 : 0);
  ASSERT_EQ(plan->program.instructions.size(), 2u);
}

TEST(Plan, KeepsRunsOfBlocksInOneSlice) {
  Algorithm whole = *find_algorithm(Collective::allgather, "ring");
  whole.multi_block = true;
  PlanKey key = key_of(Collective::allgather, "ring", 1000, 64);
  EXPECT_GT(make_plan(key)->layout.slices(), 1u);
  key.algorithm = &whole;
  EXPECT_EQ(make_plan(key)->layout.slices(), 1u);
}

TEST(PlanCache, ReturnsThePlanItHas) {
  PlanCache cache(2);
  const PlanKey key = key_of(Collective::allreduce, "ring", 8);
  const auto plan = cache.get(key);
  EXPECT_EQ(plan->key, key);
  EXPECT_EQ(cache.get(key), plan);
}

TEST(PlanCache, TellsAllPartsOfAKeyApart) {
  PlanCache cache(16);
  const PlanKey key = key_of(Collective::reduce, "binomial_tree", 8, 16);
  std::vector<PlanKey> others(9, key);
  others[0].algorithm = find_algorithm(Collective::broadcast, "binomial_tree");
  others[1].rank = 2;
  others[2].size = 5;
  others[3].root = 1;
  others[4].count = 9;
  others[5].element_bytes = 8;
  others[6].slice_bytes = 0;
  others[7].placement = Placement::in_place;
  others[8].topology = Topology({0, 0, 1, 1});
  const auto plan = cache.get(key);
  for (const PlanKey& other : others) {
    EXPECT_NE(cache.get(other), plan);
    EXPECT_EQ(cache.get(other)->key, other);
  }
}

TEST(PlanCache, DropsThePlanThatWasUsedLongestAgo) {
  PlanCache cache(2);
  const auto key = [](std::size_t count) { return key_of(Collective::allreduce, "ring", count); };
  const auto first = cache.get(key(1));
  std::weak_ptr<const Plan> second = cache.get(key(2));
  EXPECT_EQ(cache.get(key(1)), first);  // now the second is the older one
  const auto third = cache.get(key(3));
  EXPECT_TRUE(second.expired());
  EXPECT_EQ(cache.get(key(1)), first);
  EXPECT_EQ(cache.get(key(3)), third);
  EXPECT_EQ(cache.get(key(2))->key, key(2));
}

}  // namespace
}  // namespace hocket
