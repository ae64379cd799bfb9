#include "tests/conformance/algorithm_suite.hpp"

#include <set>
#include <string>

namespace hocket {
namespace {

constexpr auto test_name = [](const auto& test) {
  return std::string(name_of(test.param.collective)) + "_" + std::string(test.param.name);
};

class EveryAlgorithm : public testing::TestWithParam<Algorithm> {};

TEST_P(EveryAlgorithm, DoesWhatItsCollectiveMeans) {
  test::check_algorithm(GetParam());
}

TEST_P(EveryAlgorithm, SumsNarrowFloatsAlikeOnAllRanks) {
  if (!GetParam().collective->reduces() || GetParam().encoded) return;
  test::check_wide_sums(GetParam());
}

TEST_P(EveryAlgorithm, IsFoundByItsName) {
  const Algorithm* found = find_algorithm(GetParam().collective, GetParam().name);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->function, GetParam().function);
}

TEST_P(EveryAlgorithm, WritesEqualSchedulesForEqualShapes) {
  EXPECT_EQ(GetParam().write(2, 5, 1), GetParam().write(2, 5, 1));
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryAlgorithm, testing::ValuesIn(catalog().begin(), catalog().end()), test_name);

// What an algorithm promises to cost, for the busiest rank.
struct Cost {
  Collective collective;
  std::string_view name;
  std::uint64_t (*rounds)(std::uint64_t size);
  std::uint64_t (*chunks_sent)(std::uint64_t size);
};

constexpr std::uint64_t floor_log2(std::uint64_t value) {
  return value < 2 ? 0 : 1 + floor_log2(value / 2);
}
constexpr std::uint64_t ceil_log2(std::uint64_t value) {
  return value < 2 ? 0 : 1 + floor_log2(value - 1);
}
constexpr std::uint64_t one(std::uint64_t size) {
  return size > 1 ? 1 : 0;
}
constexpr std::uint64_t two(std::uint64_t size) {
  return size > 1 ? 2 : 0;
}
constexpr std::uint64_t others(std::uint64_t size) {
  return size - 1;
}
constexpr std::uint64_t twice_others(std::uint64_t size) {
  return 2 * (size - 1);
}
constexpr std::uint64_t sides(std::uint64_t size) {
  const Grid grid = grid_of(static_cast<Rank>(size));
  return static_cast<std::uint64_t>(grid.rows + grid.columns - 2);
}
constexpr std::uint64_t twice_sides(std::uint64_t size) {
  return 2 * sides(size);
}
constexpr std::uint64_t doubling_rounds(std::uint64_t size) {
  return floor_log2(size) + (ceil_log2(size) != floor_log2(size) ? 2 : 0);
}
constexpr std::uint64_t doubling_sends(std::uint64_t size) {
  return floor_log2(size) + (ceil_log2(size) != floor_log2(size) ? 1 : 0);
}

constexpr Cost costs[] = {
    {Collective::allreduce, "ring", twice_others, twice_others},
    {Collective::allreduce, "recursive_doubling", doubling_rounds, doubling_sends},
    {Collective::allreduce, "one_shot", one, others},
    {Collective::allreduce, "two_shot", two, twice_others},
    {Collective::allreduce, "torus", twice_sides, twice_others},
    {Collective::reduce, "binomial_tree", ceil_log2, one},
    {Collective::reduce, "chain", others, one},
    {Collective::reduce_scatter, "ring", others, others},
    {Collective::reduce_scatter, "direct", one, others},
    {Collective::reduce_scatter, "circulant", ceil_log2, others},
    {Collective::reduce_scatter, "torus", sides, others},
    {Collective::reduce_scatter, "pat", ceil_log2, others},
    {Collective::allgather, "ring", others, others},
    {Collective::allgather, "torus", sides, others},
    // The farthest rank is reached over as many hops as its distance has bits.
    {Collective::allgather, "pat", floor_log2, others},
    {Collective::allgather, "direct", one, others},
    // The messages that one rank sends do not depend on each other: the chain is one shorter than the rounds may be.
    {Collective::broadcast, "binomial_tree", floor_log2, ceil_log2},
    {Collective::broadcast, "double_tree", ceil_log2, two},  // halves
    {Collective::broadcast, "chain", others, one},
    {Collective::scatter, "binomial_tree", floor_log2, others},
    {Collective::scatter, "linear", one, others},
    {Collective::gather, "linear", one, one},
    {Collective::alltoall, "pairwise", one, others},
    {Collective::scan, "prefix_chain", others, one},
    {Collective::exscan, "prefix_chain", others, one},
    {Collective::barrier, "dissemination", ceil_log2, ceil_log2},
};

class EveryCost : public testing::TestWithParam<Cost> {};

TEST_P(EveryCost, IsWhatTheAuthorStates) {
  const Algorithm* algorithm = find_algorithm(GetParam().collective, GetParam().name);
  ASSERT_NE(algorithm, nullptr);
  for (Rank size = 1; size <= 33; ++size) {
    const Result<Verified> result = verify(*algorithm, size, 0);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->rounds, GetParam().rounds(size)) << size << " ranks";
    EXPECT_EQ(result->chunks_sent_max, GetParam().chunks_sent(size)) << size << " ranks";
  }
}

INSTANTIATE_TEST_SUITE_P(Stated, EveryCost, testing::ValuesIn(costs), test_name);

// What is only a limit: where chunks pass the last one a round takes two messages, and chains may be shorter.
struct Limit {
  Collective collective;
  std::string_view name;
  std::uint64_t (*rounds)(std::uint64_t size);
  std::uint64_t (*sends)(std::uint64_t size);
};

constexpr std::uint64_t twice_ceil_log2(std::uint64_t size) {
  return 2 * ceil_log2(size);
}
constexpr std::uint64_t four_times_ceil_log2(std::uint64_t size) {
  return 4 * ceil_log2(size);
}
constexpr std::uint64_t halving_and_doubling(std::uint64_t size) {
  return floor_log2(size) + doubling_rounds(size);
}
constexpr std::uint64_t halving_and_doubling_sends(std::uint64_t size) {
  return floor_log2(size) + doubling_sends(size);
}

// What a rank receives from two children comes one after the other.
constexpr std::uint64_t up_and_down(std::uint64_t size) {
  return 3 * floor_log2(size);
}
constexpr std::uint64_t four(std::uint64_t size) {
  return 2 * two(size);
}

constexpr Limit limits[] = {
    {Collective::allreduce, "double_tree", up_and_down, four},
    {Collective::allreduce, "torus", twice_sides, twice_sides},
    {Collective::reduce, "double_tree", twice_ceil_log2, two},
    {Collective::allreduce, "circulant", twice_ceil_log2, four_times_ceil_log2},
    {Collective::allreduce, "rabenseifner", halving_and_doubling, halving_and_doubling_sends},
    {Collective::allreduce, "binomial_tree", twice_ceil_log2, ceil_log2},
    {Collective::reduce_scatter, "circulant", ceil_log2, twice_ceil_log2},
    {Collective::reduce_scatter, "torus", sides, sides},
    {Collective::reduce_scatter, "recursive_halving", doubling_rounds, doubling_sends},
    {Collective::allgather, "circulant", ceil_log2, twice_ceil_log2},
    {Collective::allgather, "torus", sides, sides},
    {Collective::broadcast, "double_tree", ceil_log2, two},
    {Collective::allgather, "bruck", ceil_log2, twice_ceil_log2},
    {Collective::allgather, "recursive_doubling", doubling_rounds, doubling_sends},
    {Collective::scatter, "binomial_tree", ceil_log2, twice_ceil_log2},
    {Collective::gather, "binomial_tree", ceil_log2, two},
    {Collective::alltoall, "bruck", ceil_log2, ceil_log2},
    {Collective::scan, "recursive_doubling", ceil_log2, ceil_log2},
    {Collective::exscan, "recursive_doubling", ceil_log2, ceil_log2},
    {Collective::barrier, "binomial_tree", twice_ceil_log2, ceil_log2},
};

class EveryLimit : public testing::TestWithParam<Limit> {};

TEST_P(EveryLimit, IsKept) {
  const Algorithm* algorithm = find_algorithm(GetParam().collective, GetParam().name);
  ASSERT_NE(algorithm, nullptr);
  for (Rank size = 1; size <= 33; ++size) {
    for (const Rank root : {0, size / 2}) {
      const Result<Verified> result = verify(*algorithm, size, root);
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_LE(result->rounds, GetParam().rounds(size)) << size << " ranks";
      EXPECT_LE(result->sends_max, GetParam().sends(size)) << size << " ranks";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stated, EveryLimit, testing::ValuesIn(limits), test_name);

// What the two trees are for: a rank that sends to children in one of them is a leaf of the other.
TEST(DoubleTree, NoRankIsInnerInBothTrees) {
  const Algorithm& broadcast = *find_algorithm(Collective::broadcast, "double_tree");
  for (Rank size = 2; size <= 65; ++size) {
    for (const Rank root : {0, size / 2}) {
      for (Rank rank = 0; rank < size; ++rank) {
        if (rank == root) continue;
        std::set<std::uint32_t> passed_on, received;
        for (const Step& step : broadcast.write(rank, size, root).steps) {
          (step.kind == StepKind::send ? passed_on : received)
              .insert((step.kind == StepKind::send ? step.left : step.to).chunk);
        }
        EXPECT_LE(passed_on.size(), 1u) << "rank " << rank << " of " << size << ", root " << root;
        EXPECT_EQ(received.size(), 2u) << "rank " << rank << " of " << size << ", root " << root;
      }
    }
  }
}

// PAT's point: memory and partners grow with the logarithm, where circulant_reduce_scatter() holds half of the chunks.
TEST(Pat, NeedsLittleScratchAndFewPartners) {
  for (const Rank size : {2, 5, 16, 33, 64, 100, 512, 1000}) {
    const auto log = static_cast<std::size_t>(ceil_log2(static_cast<std::uint64_t>(size)));
    for (const Collective collective : {Collective::reduce_scatter, Collective::allgather}) {
      const Schedule schedule = find_algorithm(collective, "pat")->write(1, size);
      std::set<Rank> to;
      for (const Step& step : schedule.steps) {
        if (step.kind == StepKind::send) to.insert(step.peer);
      }
      EXPECT_EQ(to.size(), log) << size << " ranks";
      EXPECT_LE(schedule.scratch_cells, collective == Collective::allgather ? 0 : 8 * log) << size << " ranks";
    }
  }
}

TEST(Grid, IsAsSquareAsItCanBe) {
  const auto expect = [](Rank size, Rank rows, Rank columns) {
    EXPECT_EQ(grid_of(size).rows, rows) << size;
    EXPECT_EQ(grid_of(size).columns, columns) << size;
  };
  expect(1, 1, 1);
  expect(12, 3, 4);
  expect(13, 1, 13);
  expect(16, 4, 4);
  expect(34, 2, 17);
  expect(4096, 64, 64);
}

// The ring's cost model, for each rank and not only the busiest.
TEST(RingAllreduce, SendsTwiceNMinusOneChunksFromEveryRank) {
  const Algorithm& ring = *find_algorithm(Collective::allreduce, "ring");
  for (Rank size = 1; size <= 33; ++size) {
    for (Rank rank = 0; rank < size; ++rank) {
      std::uint64_t sends = 0, chunks = 0;
      for (const Step& step : ring.write(rank, size).steps) {
        sends += step.kind == StepKind::send;
        chunks += step.kind == StepKind::send ? step.left.count : 0;
      }
      EXPECT_EQ(sends, 2u * (size - 1)) << "rank " << rank << " of " << size;
      EXPECT_EQ(chunks, 2u * (size - 1)) << "rank " << rank << " of " << size;
    }
  }
}

}  // namespace
}  // namespace hocket
