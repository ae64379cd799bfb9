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

TEST(Selection, FindsAnAlgorithmForEveryCall) {
  for (const Collective collective : all_collectives) {
    for (const Rank size : {1, 2, 3, 8, 257}) {
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 14, std::size_t{1} << 30}) {
        EXPECT_EQ(select_algorithm({collective, size, bytes}, automatic_algorithm).collective, collective);
      }
    }
  }
}

TEST(Selection, TakesTheNamedAlgorithmWhereTheCollectiveHasIt) {
  EXPECT_EQ(select_algorithm({Collective::allreduce, 4, 4}, "two_shot").name, "two_shot");
  EXPECT_EQ(select_algorithm({Collective::broadcast, 4, 4}, "two_shot").name, "binomial_tree");
}

TEST(Selection, ChangesTheAllreduceWithTheSize) {
  EXPECT_EQ(select_algorithm({Collective::allreduce, 4, 4}, "auto").name, "recursive_doubling");
  EXPECT_EQ(select_algorithm({Collective::allreduce, 4, 1 << 20}, "auto").name, "rabenseifner");
  EXPECT_EQ(select_algorithm({Collective::allreduce, 5, 1 << 20}, "auto").name, "circulant");
  EXPECT_EQ(select_algorithm({Collective::allreduce, 4, 1 << 24}, "auto").name, "ring");
}

TEST(Selection, SendsFewMessagesWhereRanksOutnumberCores) {
  const auto chosen = [](Collective collective, Rank size, std::size_t bytes, Rank cores) {
    return select_algorithm({collective, size, bytes, {}, cores}, "auto").name;
  };
  for (const Collective collective :
       {Collective::allreduce, Collective::reduce_scatter, Collective::allgather, Collective::barrier}) {
    EXPECT_EQ(chosen(collective, 8, 4, 2), "linear") << name_of(collective);
    EXPECT_NE(chosen(collective, 8, 4, 0), "linear") << name_of(collective);
    EXPECT_NE(chosen(collective, 8, 4, 4), "linear") << name_of(collective) << " leaves cores idle";
  }
  EXPECT_EQ(chosen(Collective::allreduce, 2, 4, 1), "recursive_doubling");
  EXPECT_EQ(chosen(Collective::allreduce, 8, 1 << 20, 2), "rabenseifner");
  EXPECT_EQ(chosen(Collective::allreduce, 8, 1 << 21, 2), "double_tree");
  EXPECT_EQ(chosen(Collective::allreduce, 8, 1 << 26, 2), "binomial_tree");
  EXPECT_EQ(chosen(Collective::allreduce, 4, 1 << 26, 2), "ring");
  EXPECT_EQ(chosen(Collective::alltoall, 4, 64 << 10, 2), "pairwise");
  EXPECT_EQ(chosen(Collective::alltoall, 5, 64 << 10, 2), "bruck");
  EXPECT_EQ(chosen(Collective::allreduce, 8, 1 << 26, 3), "ring") << "a tree's root would have more to do than others";
}

TEST(Selection, GoesByHostsWhereRanksShareSeveral) {
  const auto chosen = [](Collective collective, std::size_t bytes, const Topology& topology) {
    return select_algorithm({collective, 4, bytes, topology}, "auto").name;
  };
  const Topology pairs({0, 1, 0, 1}), apart({0, 1, 2, 3});
  for (const Collective collective :
       {Collective::allreduce, Collective::reduce_scatter, Collective::allgather, Collective::broadcast}) {
    EXPECT_EQ(chosen(collective, 1 << 20, pairs), "two_level") << name_of(collective);
    EXPECT_NE(chosen(collective, 1 << 20, apart), "two_level") << name_of(collective);
    EXPECT_NE(chosen(collective, 1 << 20, {}), "two_level") << name_of(collective);
  }
  EXPECT_EQ(chosen(Collective::allreduce, 4, pairs), "recursive_doubling");
  EXPECT_EQ(chosen(Collective::broadcast, 4, pairs), "leaders");
  EXPECT_EQ(chosen(Collective::alltoall, 1 << 20, pairs), "pairwise");
}

TEST(Selection, KeepsTheOrderOfRanksWhereAsked) {
  const Topology pairs({0, 1, 0, 1, 0, 1, 0, 1});
  for (const Collective collective : all_collectives) {
    for (const Rank size : {1, 2, 3, 8, 16, 17, 257}) {
      for (const std::size_t bytes : {0, 1 << 10, 100 << 10, 1 << 20, 1 << 30}) {
        for (const Rank cores : {0, 2}) {
          Call call{.collective = collective, .size = size, .bytes = bytes, .cores = cores, .in_rank_order = true};
          if (size == 8 && cores == 0) call.topology = pairs;
          for (const std::string_view wanted : {"auto", "ring", "binomial_tree", "chain", "two_level"}) {
            const Algorithm& chosen = select_algorithm(call, wanted);
            EXPECT_EQ(chosen.collective, collective);
            EXPECT_TRUE(chosen.in_rank_order || !reduces(collective))
                << name_of(collective) << " of " << bytes << " bytes on " << size << " ranks takes " << chosen.name;
          }
        }
      }
    }
  }
  EXPECT_EQ(select_algorithm({.collective = Collective::allreduce, .size = 4, .bytes = 4, .in_rank_order = true},
                             "ordered_chain")
                .name,
            "ordered_chain");
}

TEST(Selection, IsExactWhereTheOrderOfRanksIsKept) {
  for (const Collective collective : {Collective::allreduce, Collective::reduce_scatter, Collective::allgather}) {
    const Call call{
        .collective = collective, .size = 4, .bytes = 1 << 20, .wire = WireFormat::bfloat16, .in_rank_order = true};
    EXPECT_FALSE(select_algorithm(call, "auto").encoded) << name_of(collective);
    EXPECT_FALSE(select_algorithm(call, "encoded_direct").encoded) << name_of(collective);
  }
}

TEST(Selection, KnowsWhoseSumsAreOutOfRankOrder) {
  EXPECT_EQ(out_of_rank_order("ring"), Collective::allreduce);
  EXPECT_EQ(out_of_rank_order("chain"), Collective::reduce);
  for (const std::string_view name : {"auto", "linear", "ordered_chain", "two_shot", "bruck", "no such algorithm"}) {
    EXPECT_EQ(out_of_rank_order(name), std::nullopt) << name;
  }
}

TEST(Selection, KnowsTheNamesThereAre) {
  EXPECT_TRUE(known_algorithm("auto"));
  EXPECT_TRUE(known_algorithm("dissemination"));
  EXPECT_FALSE(known_algorithm("rung"));
  EXPECT_FALSE(known_algorithm(""));
}

}  // namespace
}  // namespace hocket
