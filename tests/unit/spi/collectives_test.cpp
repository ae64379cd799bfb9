// The table of collectives against hocket.h, read by hand: which blocks of `count` elements each buffer has, and where
// what is in them comes from. A collective that is not in this list is held to its own row by the verifier.
#include "src/spi/collectives.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "src/plan/semantics.hpp"
#include "src/spi/types.hpp"

namespace hocket {
namespace {

constexpr Rank collectives_ranks = 4, root = 2;

// Of the four ranks, where rank 2 is the root or the peer; a message's other end is rank 0.
struct Stated {
  Collective collective;
  std::vector<std::size_t> input_blocks, output_blocks;  // by rank
  std::string result;  // of rank 0, and where that has no output, of rank 2: a word for each chunk
};

const std::vector<Stated> stated = {
    {Collective::allreduce, {1, 1, 1, 1}, {1, 1, 1, 1}, "sum:0-3"},
    {Collective::reduce, {1, 1, 1, 1}, {0, 0, 1, 0}, "sum:0-3"},
    {Collective::reduce_scatter, {4, 4, 4, 4}, {1, 1, 1, 1}, "sum:0-3"},
    {Collective::allgather, {1, 1, 1, 1}, {4, 4, 4, 4}, "0:0 1:1 2:2 3:3"},
    {Collective::broadcast, {0, 0, 1, 0}, {1, 1, 1, 1}, "2:0"},
    {Collective::scatter, {0, 0, 4, 0}, {1, 1, 1, 1}, "2:0"},
    {Collective::gather, {1, 1, 1, 1}, {0, 0, 4, 0}, "0:0 1:1 2:2 3:3"},
    {Collective::alltoall, {4, 4, 4, 4}, {4, 4, 4, 4}, "0:0 1:0 2:0 3:0"},
    {Collective::barrier, {0, 0, 0, 0}, {0, 0, 0, 0}, ""},
    {Collective::send, {1, 1, 1, 1}, {0, 0, 0, 0}, ""},
    {Collective::recv, {0, 0, 0, 0}, {1, 1, 1, 1}, "2:0"},
    {Collective::reduce_scatter_v, {4, 4, 4, 4}, {1, 1, 1, 1}, "sum:0-3"},
    {Collective::allgather_v, {1, 1, 1, 1}, {4, 4, 4, 4}, "0:0 1:1 2:2 3:3"},
    {Collective::scatter_v, {0, 0, 4, 0}, {1, 1, 1, 1}, "2:0"},
    {Collective::gather_v, {1, 1, 1, 1}, {0, 0, 4, 0}, "0:0 1:1 2:2 3:3"},
    {Collective::alltoall_v, {4, 4, 4, 4}, {4, 4, 4, 4}, "0:0 1:0 2:0 3:0"},
    {Collective::scan, {1, 1, 1, 1}, {1, 1, 1, 1}, "sum:0-0"},
    {Collective::exscan, {1, 1, 1, 1}, {0, 1, 1, 1}, "sum:0-1"},
};

// Chunks of a vector as one, in the words of Stated::result.
std::string result_of(const CollectiveInfo& row, Rank rank) {
  const Shape shape{.collective = row.collective,
                    .rank = rank,
                    .size = collectives_ranks,
                    .root = root,
                    .chunks = row.is_vector() ? 1 : static_cast<std::uint32_t>(collectives_ranks)};
  std::string words;
  for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
    const std::optional<Wanted> wanted = wanted_output(shape, chunk);
    if (!wanted) continue;
    if (!words.empty()) words += " ";
    words += wanted->rank == no_rank ? "sum:0-" + std::to_string(wanted->last)
                                     : std::to_string(wanted->rank) + ":" + std::to_string(wanted->chunk);
  }
  return words;
}

TEST(CollectiveTable, SaysWhatTheHeaderSays) {
  for (const Stated& expected : stated) {
    const CollectiveInfo& row = info_of(expected.collective);
    SCOPED_TRACE(row.name);
    for (Rank rank = 0; rank < collectives_ranks; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      EXPECT_EQ(row.blocks_in(row.input, rank, root, collectives_ranks), expected.input_blocks[index])
          << "rank " << rank;
      EXPECT_EQ(row.blocks_in(row.output, rank, root, collectives_ranks), expected.output_blocks[index])
          << "rank " << rank;
    }
    EXPECT_EQ(result_of(row, expected.output_blocks[0] != 0 ? 0 : root), expected.result);
  }
}

TEST(CollectiveTable, KnowsRootsReductionsAndPlaces) {
  std::string rooted, reducing, prefixes, shifted, counts;
  for (const Stated& expected : stated) {
    const CollectiveInfo& row = info_of(expected.collective);
    if (row.has_unequal_blocks()) continue;
    const std::string name = std::string(row.name) + " ";
    if (row.has_root()) rooted += name;
    if (row.reduces()) reducing += name;
    if (row.is_prefix()) prefixes += name;
    if (row.block_in_place(3) == 3) shifted += name;
    counts += std::string(row.count_name) + " ";
  }
  EXPECT_EQ(rooted, "reduce broadcast scatter gather ");
  EXPECT_EQ(reducing, "allreduce reduce reduce_scatter scan exscan ");
  EXPECT_EQ(prefixes, "scan exscan ");
  EXPECT_EQ(shifted, "reduce_scatter allgather scatter gather ");
  EXPECT_EQ(counts, "count count recvcount sendcount count recvcount sendcount count count count count count count ");
}

TEST(CollectiveTable, UnequalBlocksHaveTheShapeOfEqualOnes) {
  for (const Collective collective : unequal_collectives) {
    const CollectiveInfo &row = info_of(collective), &equal = info_of(row.equal_blocks);
    EXPECT_EQ(row.name, std::string(equal.name) + "_v");
    EXPECT_EQ(row.chunks, equal.chunks) << row.name;
    EXPECT_EQ(row.input, equal.input) << row.name;
    EXPECT_EQ(row.output, equal.output) << row.name;
    EXPECT_EQ(row.combines, equal.combines) << row.name;
    EXPECT_FALSE(equal.has_unequal_blocks()) << row.name;
    EXPECT_FALSE(row.direct_paths) << row.name << ": the direct paths know blocks of one size";
    EXPECT_NE(row.counts, GivenCounts::none) << row.name;
  }
}

TEST(CollectiveTable, KnowsNumbersThatAreNone) {
  constexpr auto collective = static_cast<Collective>(std::size(collective_table));
  EXPECT_TRUE(is_known(Collective::exscan));
  EXPECT_FALSE(is_known(collective));
  EXPECT_EQ(name_of(collective), "unknown collective");
  EXPECT_EQ(name_of(DataType{255}), "unknown dtype");
  EXPECT_EQ(name_of(ReduceOp{255}), "unknown op");
  EXPECT_FALSE(is_defined(DataType{255}, ReduceOp::user));
  EXPECT_FALSE(is_defined(DataType::float32, ReduceOp{255}));
}

}  // namespace
}  // namespace hocket
