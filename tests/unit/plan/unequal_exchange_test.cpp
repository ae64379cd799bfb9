// The list of parts of a collective whose blocks vary, where all members know them all.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#include "src/exec/direct/combine.hpp"
#include "src/exec/reduce.hpp"
#include "src/plan/direct/exchange.hpp"

namespace hocket {
namespace {

using Elements = std::vector<std::int32_t>;
constexpr std::int32_t no_element = -77;

Signature varying_call_of(Collective collective, std::size_t count) {
  return {.collective = collective, .dtype = DataType::int32, .op = ReduceOp::sum, .root = 0, .count = count};
}

// What all members call, each with gaps of its own between the blocks of an output that has them all.
struct VaryingCall {
  Collective collective;
  std::vector<std::size_t> counts;
  std::size_t grain;

  std::uint32_t members() const { return static_cast<std::uint32_t>(counts.size()); }
  std::size_t total() const { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }
  bool gathers() const { return collective == Collective::allgather_v; }
  std::size_t gap(std::uint32_t member) const { return gathers() ? member : 0; }
  std::size_t input_count(std::uint32_t member) const { return gathers() ? counts[member] : total(); }
  UnequalBlocks blocks_of(std::uint32_t member) const {
    UnequalBlocks blocks;
    std::size_t at = 0;
    for (const std::size_t count : counts) {
      blocks.input.push_back({.offset = gathers() ? 0 : at, .count = count});
      blocks.output.push_back({.offset = gathers() ? at : 0, .count = count});
      at += count + gap(member);
    }
    return blocks;
  }
  Exchange exchange_of(std::uint32_t member) const {
    Signature call = varying_call_of(collective, total());
    return {call, 0, members(), grain, std::make_shared<const UnequalBlocks>(blocks_of(member))};
  }
};

std::int32_t varying_value(std::uint32_t member, std::size_t i) {
  return static_cast<std::int32_t>(1000 * (member + 1) + i);
}

Elements varying_output(const VaryingCall& call, std::uint32_t member) {
  const UnequalBlocks blocks = call.blocks_of(member);
  Elements output(call.gathers() ? call.total() + call.members() * call.gap(member) : call.counts[member], no_element);
  for (std::uint32_t source = 0; source < call.members(); ++source) {
    const auto& in = blocks.input[call.gathers() ? source : member];
    const auto& out = blocks.output[call.gathers() ? source : member];
    for (std::size_t i = 0; i < in.count; ++i) {
      std::int32_t& to = output[out.offset + i];
      to = (to == no_element ? 0 : to) + varying_value(source, in.offset + i);
    }
  }
  return output;
}

// The parts that go to it, from what the members give, into its own output.
void expect_member_takes_its_output(const VaryingCall& call, std::uint32_t self) {
  const Reduction sum = reduction_for(DataType::int32, ReduceOp::sum, 4);
  std::vector<Elements> inputs;
  for (std::uint32_t member = 0; member < call.members(); ++member) {
    inputs.emplace_back(call.input_count(member));
    for (std::size_t i = 0; i < inputs.back().size(); ++i) inputs.back()[i] = varying_value(member, i);
  }
  const Exchange exchange = call.exchange_of(self);
  const Elements expected = varying_output(call, self);
  Elements output(expected.size(), no_element);
  for (std::size_t number = 0; number < exchange.rounds() * exchange.parts(); ++number) {
    const auto index = static_cast<std::uint32_t>(number % exchange.parts());
    const Part part = exchange.part(number / exchange.parts(), index);
    ASSERT_LE(part.bytes, exchange.grain());
    if (part.bytes == 0 || !part.goes_to(self)) continue;
    std::vector<const std::byte*> sources;
    for (std::uint32_t member = 0; member < call.members(); ++member) {
      if (!part.comes_from(member)) continue;
      ASSERT_LE(part.source_offset + part.bytes, exchange.input_bytes(member));
      sources.push_back(reinterpret_cast<const std::byte*>(inputs[member].data()) + part.source_offset);
    }
    ASSERT_LE(part.target_offset + part.bytes, output.size() * 4);
    std::byte* const target = reinterpret_cast<std::byte*>(output.data()) + part.target_offset;
    combine(sum, sources, {&target, 1}, part.bytes);
  }
  EXPECT_EQ(output, expected);
}

TEST(ExchangeOfBlocksThatVary, IsTheCollective) {
  std::mt19937 random(3);
  for (const Collective collective : {Collective::allgather_v, Collective::reduce_scatter_v}) {
    for (int trial = 0; trial < 100; ++trial) {
      VaryingCall call{collective, std::vector<std::size_t>(1 + random() % 6), 1 + random() % 2000};
      for (std::size_t& count : call.counts) count = random() % 3 == 0 ? 0 : random() % 3000;
      SCOPED_TRACE(testing::Message() << name_of(collective) << " of " << testing::PrintToString(call.counts)
                                      << ", grain " << call.grain);
      for (std::uint32_t self = 0; self < call.members(); ++self) {
        expect_member_takes_its_output(call, self);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ExchangeOfBlocksThatVary, KnowsTheirSizes) {
  const Exchange gather = VaryingCall{Collective::allgather_v, {3, 0, 5}, 64}.exchange_of(0);
  EXPECT_EQ(gather.collective().collective, Collective::allgather);
  EXPECT_EQ(gather.input_bytes(0), 12U);
  EXPECT_EQ(gather.input_bytes(1), 0U);
  EXPECT_EQ(gather.output_bytes(1), 32U);
  EXPECT_EQ(gather.input_bytes_max(), 20U);
  EXPECT_EQ(gather.buffer_bytes_max(), 32U);
  EXPECT_EQ(gather.bytes_given(0, 2), 12U);
  EXPECT_EQ(gather.bytes_given(2, 0), 20U);
  const Exchange sum = VaryingCall{Collective::reduce_scatter_v, {3, 0, 5}, 64}.exchange_of(2);
  EXPECT_EQ(sum.input_bytes(1), 32U);
  EXPECT_EQ(sum.output_bytes(0), 12U);
  EXPECT_EQ(sum.output_bytes_max(), 20U);
  EXPECT_EQ(sum.bytes_given(2, 0), 12U);
  EXPECT_EQ(sum.bytes_given(0, 2), 20U);
  EXPECT_EQ(VaryingCall({Collective::reduce_scatter_v, {0, 0}, 64}).exchange_of(1).rounds(), 0U);
}

// Who gives nothing is not waited for, and who takes nothing does not wait.
TEST(ExchangeOfBlocksThatVary, SaysWhoseInputsAMemberNeeds) {
  const auto needed = [](Collective collective, const std::vector<std::size_t>& counts, std::uint32_t member) {
    const Exchange exchange = VaryingCall{collective, counts, 64}.exchange_of(member);
    const Members members = exchange.needed_by(member);
    return std::tuple(exchange.runs_ahead(), members.from, members.until);
  };
  for (const Collective collective : {Collective::allgather_v, Collective::reduce_scatter_v}) {
    EXPECT_EQ(needed(collective, {1, 2, 3}, 1), std::tuple(false, 0U, 3U));
    EXPECT_EQ(needed(collective, {0, 0, 0}, 1), std::tuple(false, 0U, 3U)) << "as a barrier";
  }
  EXPECT_EQ(needed(Collective::allgather_v, {0, 2, 0, 3, 0}, 4), std::tuple(true, 1U, 4U));
  EXPECT_EQ(needed(Collective::allgather_v, {0, 2, 0, 3, 0}, 1), std::tuple(true, 1U, 4U));
  EXPECT_EQ(needed(Collective::reduce_scatter_v, {0, 2, 0, 3, 0}, 3), std::tuple(true, 0U, 5U));
  EXPECT_EQ(needed(Collective::reduce_scatter_v, {0, 2, 0, 3, 0}, 4), std::tuple(true, 0U, 0U));
}

// Only then may others write into an output by where their own blocks lie.
TEST(ExchangeOfBlocksThatVary, KnowsWhetherBlocksAdjoin) {
  const VaryingCall call{Collective::allgather_v, {3, 0, 5}, 64};
  EXPECT_TRUE(call.exchange_of(0).blocks_adjoin());
  EXPECT_FALSE(call.exchange_of(1).blocks_adjoin());
  EXPECT_TRUE(VaryingCall({Collective::allgather_v, {0, 0, 5, 0}, 64}).exchange_of(0).blocks_adjoin());
  EXPECT_TRUE(VaryingCall({Collective::reduce_scatter_v, {3, 0, 5}, 64}).exchange_of(2).blocks_adjoin());
  UnequalBlocks swapped{.input = {{0, 2}, {0, 2}}, .output = {{2, 2}, {0, 2}}};
  EXPECT_FALSE(
      Exchange(varying_call_of(Collective::allgather_v, 4), 0, 2, 64, std::make_shared<const UnequalBlocks>(swapped))
          .blocks_adjoin());
  EXPECT_TRUE(Exchange(varying_call_of(Collective::allgather, 4), 0, 2, 64).blocks_adjoin());
}

}  // namespace
}  // namespace hocket
