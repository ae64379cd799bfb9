// Opaque elements are never cut: whatever takes data apart takes it apart between elements.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "src/plan/direct/exchange.hpp"
#include "src/plan/direct/path.hpp"
#include "src/plan/direct/staging.hpp"
#include "src/plan/plan.hpp"

namespace hocket {
namespace {

constexpr std::size_t opaque_element_sizes[] = {3, 7, 24, 100, 1000, 4096};

Signature opaque_element_call_of(Collective collective, std::size_t count, std::size_t element) {
  Signature call{.collective = collective, .dtype = DataType::opaque, .count = count};
  call.opaque_bytes = static_cast<std::uint16_t>(element);
  return call;
}

class OpaqueElement : public testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(OfBytes, OpaqueElement, testing::ValuesIn(opaque_element_sizes),
                         testing::PrintToStringParamName());

// Every step of every algorithm, in slices of about four kibibytes.
TEST_P(OpaqueElement, IsWholeInEveryStep) {
  const std::size_t element = GetParam();
  std::size_t steps = 0;
  for (const Algorithm& algorithm : catalog()) {
    if (algorithm.encoded) continue;
    for (const std::size_t count : {1U, 2U, 11U, 1003U}) {
      for (const Rank rank : {0, 2}) {
        const auto plan = make_plan({.algorithm = &algorithm,
                                     .rank = rank,
                                     .size = 5,
                                     .root = algorithm.collective->is_message() ? 1 : 0,
                                     .count = count,
                                     .element_bytes = element,
                                     .slice_bytes = 4000});
        const std::size_t token = algorithm.collective->chunks == Chunks::token ? 1 : count;
        for (const Instruction& instruction : plan->program.instructions) {
          for (const Operand operand : {Operand::left, Operand::to}) {
            const Range& range = range_of(instruction.step, operand);
            for (std::size_t group = 0; group < plan->groups; ++group) {
              const Extent extent = plan->layout.extent(range, group * plan->program.interleave + instruction.piece);
              ASSERT_EQ(extent.bytes % element, 0U) << algorithm.name << " of " << token;
              ASSERT_EQ(extent.offset % element, 0U) << algorithm.name << " of " << token;
              steps += extent.bytes != 0;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(steps, 1000U);
}

TEST_P(OpaqueElement, IsWholeInBlocksOfUnequalSize) {
  const std::size_t element = GetParam();
  auto blocks = std::make_shared<UnequalBlocks>();
  blocks->input = blocks->output = {{0, 10}, {10, 0}, {10, 777}, {800, 1}};
  const Shape shape{.collective = Collective::allgather, .rank = 2, .size = 4, .chunks = 4};
  const Layout layout(shape, blocks, element, 4000);
  std::size_t covered = 0;
  for (std::size_t slice = 0; slice < layout.slices(); ++slice) {
    for (std::uint32_t chunk = 0; chunk < 4; ++chunk) {
      const Extent extent = layout.extent({Space::output, 0, chunk, 1}, slice);
      ASSERT_EQ(extent.bytes % element, 0U);
      ASSERT_EQ(extent.offset % element, 0U);
      covered += extent.bytes;
    }
  }
  EXPECT_EQ(covered, (10U + 777U + 1U) * element);
}

// Parts of the direct paths, with grains that they have and with odd ones.
TEST_P(OpaqueElement, IsWholeInEveryPart) {
  const std::size_t element = GetParam();
  std::mt19937 random(5);
  for (const CollectiveInfo& row : collective_table) {
    if (!row.direct_paths || row.chunks == Chunks::token) continue;
    for (int trial = 0; trial < 200; ++trial) {
      const auto members = static_cast<std::uint32_t>(1 + random() % 6);
      const std::size_t count = random() % 3000, grain = trial % 2 == 0 ? 65536 : 4096 + random() % 60000;
      const Signature call = opaque_element_call_of(row.collective, count, element);
      const Exchange exchange(call, 0, members, grain);
      SCOPED_TRACE(testing::Message() << row.name << " of " << count << " on " << members << ", grain " << grain);
      std::size_t moved = 0;
      ASSERT_LE(exchange.grain(), grain) << "parts must fit where the path has room for them";
      for (std::size_t round = 0; round < exchange.rounds(); ++round) {
        for (std::uint32_t index = 0; index < exchange.parts(); ++index) {
          const Part part = exchange.part(round, index);
          if (part.bytes == 0) continue;
          ASSERT_EQ(part.bytes % element, 0U);
          ASSERT_EQ(part.source_offset % element, 0U);
          ASSERT_EQ(part.target_offset % element, 0U);
          moved += part.bytes;
        }
      }
      const std::size_t blocks = row.transposes() ? members * members : row.is_vector() ? 1 : members;
      ASSERT_EQ(moved, blocks * count * element);
    }
  }
}

TEST(OpaqueElements, FitIntoEveryPathOrTakeNone) {
  constexpr std::size_t staging = direct::usual_staging_bytes;
  EXPECT_TRUE(has_room_for(element_bytes_max, 64, staging));
  for (std::uint32_t members = 2; members < 2000; members += 7) {
    const Exchange exchange(opaque_element_call_of(Collective::alltoall, 10, 4095), 0, members, first_grain_bytes);
    const std::size_t least = grain_of(DirectPath::staged, exchange, staging);
    ASSERT_EQ(has_room_for(4095, members, staging), least >= 4095) << members << " members";
  }
}

}  // namespace
}  // namespace hocket
