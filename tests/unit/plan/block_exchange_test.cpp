// Blocks that vary, from payload to output, for all members at once.
#include "src/plan/direct/block_exchange.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace hocket {
namespace {

using Counts = std::vector<std::size_t>;
using Bytes = std::vector<std::byte>;

constexpr std::size_t element_bytes = 4;

Signature call_of(Collective collective, Rank root = 0) {
  return {.collective = collective, .dtype = DataType::int32, .root = root, .count = Signature::unknown_count};
}

// Counts of an alltoall_v, by source and target; of gather_v and scatter_v: those with the root.
struct BlockExchangeCase {
  Collective collective;
  std::uint32_t root;
  std::vector<Counts> counts;

  std::uint32_t members() const { return static_cast<std::uint32_t>(counts.size()); }
  bool is_on(bool output, std::uint32_t member) const {
    const CollectiveInfo& info = info_of(collective);
    return (output ? info.output : info.input).is_on(static_cast<Rank>(member), static_cast<Rank>(root));
  }
  std::size_t count(std::uint32_t source, std::uint32_t target) const {
    return is_on(false, source) && is_on(true, target) ? counts[source][target] : 0;
  }
};

// As validation makes it: blocks lie in descending order with gaps of one element.
UnequalBlocks blocks_of(const BlockExchangeCase& what, std::uint32_t self) {
  const CollectiveInfo& info = info_of(what.collective);
  const std::uint32_t members = what.members();
  UnequalBlocks blocks{.input = std::vector<UnequalBlocks::Block>(members),
                       .output = std::vector<UnequalBlocks::Block>(members)};
  std::size_t in = 1, out = 1;
  for (std::uint32_t member = members; member-- > 0;) {
    if (info.input.held == Held::all_chunks && what.is_on(false, self)) {
      blocks.input[member] = {in, what.count(self, member)};
      in += what.count(self, member) + 1;
    }
    if (info.output.held == Held::all_chunks && what.is_on(true, self)) {
      blocks.output[member] = {out, what.count(member, self)};
      out += what.count(member, self) + 1;
    }
  }
  if (info.input.held == Held::own_chunk) blocks.input[self] = {0, what.count(self, what.root)};
  if (info.output.held == Held::own_chunk) blocks.output[self] = {0, what.count(what.root, self)};
  return blocks;
}

std::byte value(std::uint32_t source, std::uint32_t target, std::size_t i) {
  return static_cast<std::byte>(1 + source * 31 + target * 7 + i % 50);
}

struct BlockExchangeMember {
  UnequalBlocks blocks;
  BlockExchange exchange;
  Bytes input, payload, output, expected;
};

std::size_t end_of(const std::vector<UnequalBlocks::Block>& table) {
  std::size_t end = 0;
  for (const auto& block : table) end = std::max(end, block.offset + block.count + 1);
  return end * element_bytes;
}

void fill(BlockExchangeMember& member, const BlockExchangeCase& what, std::uint32_t self) {
  const CollectiveInfo& info = info_of(what.collective);
  member.input.assign(end_of(member.blocks.input), std::byte{0});
  member.output.assign(end_of(member.blocks.output), std::byte{0});
  member.expected = member.output;
  for (std::uint32_t other = 0; other < what.members(); ++other) {
    const auto& from = member.blocks.input[info.input.held == Held::all_chunks ? other : self];
    const auto& to = member.blocks.output[info.output.held == Held::all_chunks ? other : self];
    for (std::size_t i = 0; i < what.count(self, other) * element_bytes; ++i) {
      member.input[from.offset * element_bytes + i] = value(self, other, i);
    }
    const bool by_links =
        other != self && what.count(other, self) * element_bytes > BlockExchange::block_bytes_max(what.members());
    for (std::size_t i = 0; !by_links && i < what.count(other, self) * element_bytes; ++i) {
      member.expected[to.offset * element_bytes + i] = value(other, self, i);
    }
  }
  member.payload.resize(member.exchange.payload_bytes());
  member.exchange.pack(member.payload.data(), [&](std::byte* to, std::size_t from, std::size_t bytes) {
    std::copy_n(member.input.data() + from, bytes, to);
  });
}

std::vector<BlockExchangeMember> members_of(const BlockExchangeCase& what) {
  std::vector<BlockExchangeMember> members(what.members());
  for (std::uint32_t self = 0; self < what.members(); ++self) {
    members[self].blocks = blocks_of(what, self);
    members[self].exchange = BlockExchange(call_of(what.collective, static_cast<Rank>(what.root)), members[self].blocks,
                                           {.self = self, .root = what.root, .members = what.members()});
    fill(members[self], what, self);
  }
  return members;
}

void take(std::vector<BlockExchangeMember>& members, BlockExchangeMember& member) {
  for (const Part& part : member.exchange.parts()) {
    std::memcpy(member.output.data() + part.target_offset, member.input.data() + part.source_offset, part.bytes);
  }
  for (const BlockExchange::Taken& block : member.exchange.taken()) {
    const std::byte* const payload = members[block.source].payload.data();
    EXPECT_EQ(member.exchange.size_in(payload), block.size);
    if (block.bytes == 0) continue;
    std::memcpy(member.output.data() + block.offset, member.exchange.block_in(payload), block.bytes);
  }
}

void expect_all_move(const BlockExchangeCase& what) {
  SCOPED_TRACE(std::string(name_of(what.collective)) + " of " + std::to_string(what.members()) + ", root " +
               std::to_string(what.root));
  std::vector<BlockExchangeMember> members = members_of(what);
  for (std::uint32_t self = 0; self < what.members(); ++self) {
    take(members, members[self]);
    EXPECT_TRUE(members[self].output == members[self].expected) << "member " << self;
    EXPECT_LE(members[self].payload.size(), direct::payload_bytes_max);
  }
}

constexpr Collective packed[] = {Collective::gather_v, Collective::scatter_v, Collective::alltoall_v};

TEST(BlockExchange, MovesEachBlockOnceAndLeavesGapsAlone) {
  for (const Collective collective : packed) {
    for (const std::uint32_t members : {1U, 2U, 3U, 5U, 7U}) {
      for (const std::uint32_t root : {0U, members - 1}) {
        BlockExchangeCase what{collective, root, std::vector<Counts>(members, Counts(members))};
        for (std::uint32_t i = 0; i < members; ++i) {
          for (std::uint32_t j = 0; j < members; ++j) what.counts[i][j] = (i * 5 + j * 3) % 4 * (i + j);
        }
        expect_all_move(what);
      }
    }
  }
}

// The largest that goes with an announcement beside one that is larger by an element.
TEST(BlockExchange, LeavesToLinksWhatIsTooLarge) {
  for (const Collective collective : packed) {
    const std::size_t most = BlockExchange::block_bytes_max(3) / element_bytes;
    const BlockExchangeCase what{collective, 1, {{1, most, 2}, {most + 1, most + 1, most}, {3, most + 1, 0}}};
    expect_all_move(what);
    for (std::uint32_t self = 0; self < 3; ++self) {
      const UnequalBlocks blocks = blocks_of(what, self);
      const auto left = BlockExchange::over_links(call_of(collective, 1), blocks, {self, 1, 3});
      std::size_t elements = 0;
      for (std::uint32_t other = 0; other < 3; ++other) {
        if (other == self) continue;
        elements += what.count(self, other) > most || what.count(other, self) > most ? 1 : 0;
      }
      ASSERT_EQ(left.has_value(), elements != 0) << name_of(collective) << ", member " << self;
      if (!left) continue;
      for (const auto* table : {&left->input, &left->output}) {
        for (const auto& block : *table) {
          EXPECT_EQ(block.elsewhere, block.count == 0);
          EXPECT_TRUE(block.count == 0 || block.count == most + 1);
        }
      }
    }
  }
}

// However large elements are, as many members as a host may have.
TEST(BlockExchange, FitsPayloadsOfManyMembers) {
  for (const std::uint32_t members : {2U, 16U, 64U, 256U, 1024U}) {
    const std::size_t block = BlockExchange::block_bytes_max(members) / element_bytes;
    ASSERT_GT(block, 0U);
    const BlockExchangeCase what{Collective::alltoall_v, 0, std::vector<Counts>(members, Counts(members, block))};
    const BlockExchange exchange(call_of(Collective::alltoall_v), blocks_of(what, 1), {1, 0, members});
    EXPECT_LE(exchange.payload_bytes(), direct::payload_bytes_max);
    EXPECT_EQ(exchange.block_bytes(), (members - 1) * block * element_bytes);
  }
}

TEST(BlockExchange, TellsASizeThatTheOtherEndDoesNotMean) {
  std::vector<BlockExchangeMember> members = members_of({Collective::alltoall_v, 0, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}});
  EXPECT_EQ(members[1].exchange.size_in(members[0].payload.data()), 2U);
  EXPECT_EQ(members[2].exchange.size_in(members[1].payload.data()), 6U);
  const std::vector<BlockExchangeMember> other =
      members_of({Collective::alltoall_v, 0, {{1, 99'999, 3}, {4, 5, 6}, {7, 8, 9}}});
  EXPECT_EQ(members[1].exchange.size_in(other[0].payload.data()), 99'999U) << "also of one that goes over links";
}

TEST(BlockExchange, CountsWhatEachGivesAndTakes) {
  const auto members = members_of({Collective::alltoall_v, 0, {{1, 2, 3}, {4, 5, 60'000}, {7, 8, 9}}});
  EXPECT_EQ(members[1].exchange.traffic()[0].given, 4 * element_bytes);
  EXPECT_EQ(members[1].exchange.traffic()[0].taken, 2 * element_bytes);
  EXPECT_EQ(members[1].exchange.traffic()[2].given, 0U) << "links count that";
  EXPECT_EQ(members[1].exchange.block_bytes(), 4 * element_bytes);
}

}  // namespace
}  // namespace hocket
