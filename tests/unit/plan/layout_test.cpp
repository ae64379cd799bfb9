#include "src/plan/layout.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hocket {
namespace {

Shape shape_of(Collective collective, std::uint32_t chunks, Rank rank = 0) {
  return {.collective = collective, .rank = rank, .size = static_cast<Rank>(chunks), .root = 0, .chunks = chunks};
}

Range chunk(Space space, std::uint32_t number, std::uint32_t count = 1) {
  return {space, 0, number, count};
}

TEST(Layout, CutsAVectorIntoCeilParts) {
  const Layout layout(shape_of(Collective::allreduce, 4), 10, 4, 0);  // 3, 3, 3, 1
  EXPECT_EQ(layout.slices(), 1u);
  EXPECT_EQ(layout.cell_bytes(), 12u);
  EXPECT_EQ(layout.extent(chunk(Space::input, 0), 0), (Extent{0, 12}));
  EXPECT_EQ(layout.extent(chunk(Space::output, 2), 0), (Extent{24, 12}));
  EXPECT_EQ(layout.extent(chunk(Space::output, 3), 0), (Extent{36, 4}));
  EXPECT_EQ(layout.extent(chunk(Space::output, 1, 3), 0), (Extent{12, 28}));
}

TEST(Layout, LeavesChunksEmptyWhereThereAreFewerElements) {
  const Layout layout(shape_of(Collective::allreduce, 4), 2, 8, 0);
  EXPECT_EQ(layout.extent(chunk(Space::input, 1), 0), (Extent{8, 8}));
  EXPECT_EQ(layout.extent(chunk(Space::input, 2), 0).bytes, 0u);
  EXPECT_EQ(layout.extent(chunk(Space::input, 3), 0).bytes, 0u);
  EXPECT_EQ(layout.extent(chunk(Space::input, 1, 3), 0), (Extent{8, 8}));
}

TEST(Layout, HasNoSlicesWithoutElements) {
  for (const Collective collective : {Collective::allreduce, Collective::allgather}) {
    const Layout layout(shape_of(collective, 3), 0, 4, 1024);
    EXPECT_EQ(layout.slices(), 0u);
    EXPECT_EQ(layout.cell_bytes(), 0u);
    EXPECT_EQ(layout.extent(chunk(Space::output, 0), 0).bytes, 0u);
  }
}

TEST(Layout, GivesTheBarrierOneByteWhateverTheCount) {
  const Layout layout(shape_of(Collective::barrier, 1), 0, 1, 4096);
  EXPECT_EQ(layout.slices(), 1u);
  EXPECT_EQ(layout.extent({Space::scratch, 1, 0, 1}, 0), (Extent{1, 1}));
}

TEST(Layout, CutsSlicesOfAboutEqualLength) {
  // 100 elements in parts of at most 8 on 3 ranks: 5 slices of 21 (a multiple of 3), the last one 16.
  const Layout layout(shape_of(Collective::allreduce, 3), 100, 4, 32);
  EXPECT_EQ(layout.slices(), 5u);
  EXPECT_EQ(layout.cell_bytes(), 28u);
  EXPECT_EQ(layout.extent(chunk(Space::input, 0), 1), (Extent{84, 28}));
  EXPECT_EQ(layout.extent(chunk(Space::input, 2), 4), (Extent{(84 + 12) * 4, 16}));
  EXPECT_EQ(layout.extent(chunk(Space::input, 0), 5).bytes, 0u);
}

TEST(Layout, TakesASliceSmallerThanAnElementAsOneElement) {
  const Layout layout(shape_of(Collective::broadcast, 1), 5, 8, 3);
  EXPECT_EQ(layout.slices(), 5u);
  EXPECT_EQ(layout.extent(chunk(Space::output, 0), 4), (Extent{32, 8}));
}

TEST(Layout, PutsBlocksSideBySideAndSlicesInsideThem) {
  const Layout layout(shape_of(Collective::allgather, 3, 1), 10, 4, 20);  // 2 slices of 5
  EXPECT_EQ(layout.slices(), 2u);
  EXPECT_EQ(layout.extent(chunk(Space::output, 2), 0), (Extent{80, 20}));
  EXPECT_EQ(layout.extent(chunk(Space::output, 2), 1), (Extent{100, 20}));
  EXPECT_EQ(layout.extent(chunk(Space::input, 1), 1), (Extent{20, 20}));  // the only one that rank 1 holds
}

TEST(Layout, TakesARangeOfBlocksAsOneRunInOneSlice) {
  const Layout layout(shape_of(Collective::allgather, 4), 10, 4, 0);
  EXPECT_EQ(layout.extent(chunk(Space::output, 1, 3), 0), (Extent{40, 120}));
  EXPECT_EQ(layout.extent({Space::scratch, 2, 1, 2}, 0), (Extent{80, 80}));
}

// Every element lies in exactly one chunk of one slice, no chunk is larger than a cell, only chunks at the end of a
// slice are empty, and slices are not longer than wanted.
TEST(Layout, CoversEveryElementOnce) {
  std::mt19937 random(7);
  const auto draw = [&](std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(random);
  };
  const Collective collectives[] = {Collective::allreduce, Collective::broadcast, Collective::allgather,
                                    Collective::alltoall};
  for (int round = 0; round < 4000; ++round) {
    const Collective collective = collectives[draw(0, 3)];
    const auto chunks = static_cast<std::uint32_t>(draw(1, 12));
    const std::size_t count = draw(0, 200), element_bytes = std::size_t{1} << draw(0, 3);
    const std::size_t slice_bytes = draw(0, 3) == 0 ? 0 : draw(1, 300);
    SCOPED_TRACE(testing::Message() << name_of(collective) << ", " << chunks << " chunks, count " << count << " of "
                                    << element_bytes << " bytes, slices of " << slice_bytes);
    const Layout layout(shape_of(collective, chunks), count, element_bytes, slice_bytes);
    const std::size_t elements = info_of(collective).is_vector() ? count : count * chunks;
    std::vector<int> covered(elements * element_bytes);
    for (std::size_t slice = 0; slice < layout.slices(); ++slice) {
      bool ended = false;
      for (std::uint32_t number = 0; number < chunks; ++number) {
        const Extent extent = layout.extent(chunk(Space::output, number), slice);
        ASSERT_EQ(extent.bytes, layout.extent({Space::scratch, 5, number, 1}, slice).bytes);
        ASSERT_EQ(extent.bytes % element_bytes, 0u);
        ASSERT_LE(extent.bytes, layout.cell_bytes());
        ASSERT_FALSE(ended && extent.bytes > 0);
        ended = extent.bytes < layout.cell_bytes() && info_of(collective).is_vector() && extent.bytes == 0;
        ASSERT_LE(extent.offset + extent.bytes, covered.size());
        for (std::size_t at = extent.offset; at < extent.offset + extent.bytes; ++at) ++covered[at];
      }
    }
    ASSERT_EQ(covered, std::vector<int>(covered.size(), 1));
    if (slice_bytes != 0) {
      ASSERT_LE(layout.cell_bytes(), std::max(slice_bytes, element_bytes));
    }
  }
}

}  // namespace
}  // namespace hocket
