#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "src/plan/plan.hpp"

namespace hocket {
namespace {

Shape unequal_shape_of(Collective collective, std::uint32_t chunks, Rank rank = 0) {
  return {.collective = collective, .rank = rank, .size = static_cast<Rank>(chunks), .root = 0, .chunks = chunks};
}

std::shared_ptr<const UnequalBlocks> blocks(std::vector<UnequalBlocks::Block> input,
                                            std::vector<UnequalBlocks::Block> output) {
  return std::make_shared<UnequalBlocks>(UnequalBlocks{std::move(input), std::move(output)});
}

constexpr Range input(std::uint32_t chunk) {
  return {Space::input, 0, chunk, 1};
}
constexpr Range output(std::uint32_t chunk) {
  return {Space::output, 0, chunk, 1};
}

// Three ranks gather 3, 0 and 20 elements of 4 bytes, displaced; slices of 8 elements.
Layout gathered() {
  return Layout(unequal_shape_of(Collective::allgather, 3, 2),
                blocks({{0, 3}, {0, 0}, {0, 20}}, {{50, 3}, {7, 0}, {10, 20}}), 4, 32);
}

TEST(UnequalLayout, PutsBlocksWhereTheyAre) {
  const Layout layout = gathered();
  EXPECT_EQ(layout.extent(output(0), 0), (Extent{200, 12}));
  EXPECT_EQ(layout.extent(output(2), 0), (Extent{40, 32}));
  EXPECT_EQ(layout.extent(input(2), 0), (Extent{0, 32}));
  EXPECT_EQ(layout.extent(output(1), 0).bytes, 0u);
}

TEST(UnequalLayout, CutsEveryBlockByItself) {
  const Layout layout = gathered();
  EXPECT_EQ(layout.slices(), 3u);
  EXPECT_EQ(layout.extent(output(0), 1).bytes, 0u);
  EXPECT_EQ(layout.extent(output(2), 1), (Extent{72, 32}));
  EXPECT_EQ(layout.extent(output(2), 2), (Extent{104, 16}));
  EXPECT_EQ(layout.extent(output(2), 3).bytes, 0u);
}

TEST(UnequalLayout, GivesScratchTheSizeOfTheLargestPiece) {
  EXPECT_EQ(gathered().cell_bytes(), 32u);
  EXPECT_EQ(gathered().extent({Space::scratch, 3, 2, 1}, 2), (Extent{96, 16}));
  const Layout whole(unequal_shape_of(Collective::allgather, 2), blocks({{0, 3}, {0, 5}}, {{0, 3}, {3, 5}}), 8, 0);
  EXPECT_EQ(whole.slices(), 1u);
  EXPECT_EQ(whole.cell_bytes(), 40u);
}

TEST(UnequalLayout, EncodesWholeBlocksOfTheWireFormat) {
  const Layout layout(unequal_shape_of(Collective::allgather, 2), blocks({{0, 200}, {0, 10}}, {{0, 200}, {200, 10}}), 4,
                      300,
                      WireFormat::bfloat16);  // slices of 64 elements
  EXPECT_EQ(layout.slices(), 4u);
  EXPECT_EQ(layout.encoded_cell_bytes(), 128u);
  EXPECT_EQ(layout.extent({Space::encoded, 2, 0, 1}, 3), (Extent{256, 16}));
  EXPECT_EQ(layout.extent({Space::encoded, 0, 1, 1}, 0), (Extent{0, 20}));
}

TEST(UnequalLayout, HasNoSlicesWhereAllKnowThatThereIsNothing) {
  const auto nothing = blocks({{0, 0}, {0, 0}}, {{0, 0}, {0, 0}});
  EXPECT_EQ(Layout(unequal_shape_of(Collective::allgather, 2), nothing, 4, 32).slices(), 0u);
  EXPECT_EQ(Layout(unequal_shape_of(Collective::reduce_scatter, 2), nothing, 4, 0).slices(), 0u);
}

TEST(UnequalLayout, HasASliceOfNothingWhereOnlyTheEndsKnow) {
  const auto nothing = blocks({{0, 0}, {0, 0}}, {{0, 0}, {0, 0}});
  for (const Collective collective : {Collective::scatter, Collective::gather, Collective::alltoall}) {
    const Layout layout(unequal_shape_of(collective, 2), nothing, 4, 0);
    EXPECT_TRUE(layout.sizes_travel());
    EXPECT_EQ(layout.slices(), 1u);
    EXPECT_EQ(layout.extent(output(1), 0).bytes, 0u);
  }
  EXPECT_FALSE(gathered().sizes_travel());
}

TEST(UnequalLayout, KnowsInputsFromOutputsOfAlltoall) {
  const Layout layout(unequal_shape_of(Collective::alltoall, 2), blocks({{0, 1}, {1, 2}}, {{9, 1}, {4, 5}}), 2, 0);
  EXPECT_EQ(layout.extent(input(1), 0), (Extent{2, 4}));
  EXPECT_EQ(layout.extent(output(1), 0), (Extent{8, 10}));
  EXPECT_EQ(layout.block_elements(input(1)), 2u);
  EXPECT_EQ(layout.block_elements(output(1)), 5u);
}

// Every element lies in one slice of its block, and gaps in none.
TEST(UnequalLayout, CoversEveryElementOnce) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    const auto chunks = static_cast<std::uint32_t>(1 + random() % 9);
    const std::size_t element_bytes = std::size_t{1} << random() % 4,
                      slice_bytes = random() % 4 == 0 ? 0 : random() % 90;
    std::vector<UnequalBlocks::Block> table;
    std::vector<int> wanted;
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      wanted.resize(wanted.size() + random() % 3 * element_bytes, 0);
      const std::size_t count = random() % 3 == 0 ? 0 : random() % 60;
      table.push_back({wanted.size() / element_bytes, count});
      wanted.resize(wanted.size() + count * element_bytes, 1);
    }
    const Layout layout(unequal_shape_of(Collective::allgather, chunks), blocks(table, table), element_bytes,
                        slice_bytes);
    std::vector<int> covered(wanted.size());
    for (std::size_t slice = 0; slice < layout.slices(); ++slice) {
      for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
        const Extent extent = layout.extent(output(chunk), slice);
        ASSERT_LE(extent.bytes, layout.cell_bytes());
        for (std::size_t at = extent.offset; at < extent.offset + extent.bytes; ++at) ++covered[at];
      }
    }
    ASSERT_EQ(covered, wanted) << "round " << round;
  }
}

TEST(UnequalPlans, AreKeptByTheirSizesAndPlaces) {
  const Algorithm* ring = find_algorithm(Collective::allgather, "ring");
  const auto key = [&](std::size_t offset, std::size_t count) {
    return PlanKey{.algorithm = ring, .size = 2, .blocks = {blocks({{0, 3}, {0, count}}, {{0, 3}, {offset, count}})}};
  };
  PlanCache cache(4);
  const auto plan = cache.get(key(3, 5));
  EXPECT_EQ(cache.get(key(3, 5)), plan);
  EXPECT_NE(cache.get(key(4, 5)), plan);
  EXPECT_NE(cache.get(key(3, 6)), plan);
  EXPECT_NE(cache.get({.algorithm = ring, .size = 2}), plan);
}

TEST(InSingleChunks, SplitsStepsInOrder) {
  ScheduleBuilder builder(unequal_shape_of(Collective::reduce_scatter, 4));
  const Range cells = builder.scratch(builder.input(1u, 2u));
  builder.recv_reduce(1, builder.input(1u, 2u), cells);
  builder.copy(builder.input(0), builder.output(0));
  const Schedule schedule = std::move(builder).take();
  const Schedule single = in_single_chunks(schedule);
  ASSERT_EQ(single.steps.size(), 3u);
  EXPECT_EQ(single.scratch_cells, schedule.scratch_cells);
  EXPECT_EQ(single.steps[1].left, input(2));
  EXPECT_EQ(single.steps[1].to, (Range{Space::scratch, 1, 2, 1}));
  EXPECT_EQ(single.steps[1].peer, 1);
  EXPECT_EQ(single.steps[2], schedule.steps[1]);
}

}  // namespace
}  // namespace hocket
