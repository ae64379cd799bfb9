// The list of parts says what each collective means: applied to plain memory it gives the reference's result.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "src/exec/direct/combine.hpp"
#include "src/exec/reduce.hpp"
#include "src/plan/direct/exchange.hpp"

namespace hocket {
namespace {

using Buffer32 = std::vector<std::int32_t>;
constexpr std::int32_t untouched = -77;

struct ExchangeMemory {
  std::vector<Buffer32> inputs, outputs;
};

Signature exchange_call_of(Collective collective, std::size_t count) {
  return {.collective = collective, .dtype = DataType::int32, .op = ReduceOp::sum, .root = 0, .count = count};
}

// What a member takes of a round comes in an order of its own, in which no part is left out.
TEST(Exchange, MembersBeginWithWhatDifferentOnesGive) {
  for (const Collective collective : {Collective::allgather, Collective::alltoall}) {
    for (std::uint32_t members = 2; members <= 9; ++members) {
      const Exchange exchange(exchange_call_of(collective, 100), 0, members, 64);
      std::set<std::uint32_t> begun_with;
      for (std::uint32_t member = 0; member < members; ++member) {
        begun_with.insert(exchange.part(0, exchange.index_in_turn(member, 0)).source);
        std::set<std::uint32_t> taken;
        for (std::uint32_t step = 0; step < exchange.parts(); ++step) {
          taken.insert(exchange.index_in_turn(member, step));
        }
        EXPECT_EQ(taken.size(), exchange.parts());
        EXPECT_EQ(*taken.rbegin(), exchange.parts() - 1);
      }
      EXPECT_EQ(begun_with.size(), members) << name_of(collective);
    }
  }
}

ExchangeMemory exchange_fill(const Exchange& exchange, std::uint32_t members) {
  ExchangeMemory memory;
  for (std::uint32_t member = 0; member < members; ++member) {
    Buffer32 input(exchange.input_bytes(member) / 4);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::int32_t>(1000 * (member + 1) + i);
    memory.inputs.push_back(std::move(input));
    memory.outputs.emplace_back(exchange.output_bytes(member) / 4, untouched);
  }
  return memory;
}

void apply(const Exchange& exchange, std::uint32_t members, ExchangeMemory& memory, std::mt19937& random) {
  const Reduction sum = reduction_for(DataType::int32, ReduceOp::sum, 4);
  for (std::size_t round = 0; round < exchange.rounds(); ++round) {
    for (std::uint32_t index = 0; index < exchange.parts(); ++index) {
      const Part part = exchange.part(round, index);
      if (part.bytes == 0) continue;
      std::vector<const std::byte*> sources;
      std::vector<std::byte*> targets;
      for (std::uint32_t member = 0; member < members; ++member) {
        if (part.comes_from(member)) {
          ASSERT_LE(part.source_offset + part.bytes, exchange.input_bytes(member));
          sources.push_back(reinterpret_cast<const std::byte*>(memory.inputs[member].data()) + part.source_offset);
        }
        if (part.goes_to(member)) {
          ASSERT_LE(part.target_offset + part.bytes, exchange.output_bytes(member));
          targets.push_back(reinterpret_cast<std::byte*>(memory.outputs[member].data()) + part.target_offset);
          for (std::size_t at = part.target_offset; at < part.target_offset + part.bytes; at += 4) {
            ASSERT_EQ(memory.outputs[member][at / 4], untouched) << "written twice";
          }
        }
      }
      combine(sum, sources, targets, part.bytes, random() % (targets.size() + 1));
    }
  }
}

std::int32_t exchange_expected(Collective collective, const ExchangeMemory& memory, std::uint32_t root,
                               std::uint32_t member, std::size_t i, std::size_t count) {
  const auto& in = memory.inputs;
  const std::size_t block = count == 0 ? 0 : i / count, at = count == 0 ? 0 : i % count;
  std::int32_t sum = 0;
  switch (collective) {
    case Collective::allreduce:
    case Collective::reduce:
      for (const auto& input : in) sum += input[i];
      return sum;
    case Collective::reduce_scatter:
      for (const auto& input : in) sum += input[member * count + i];
      return sum;
    case Collective::scan:
    case Collective::exscan:
      for (std::uint32_t from = 0; from < member; ++from) sum += in[from][i];
      return collective == Collective::scan ? sum + in[member][i] : sum;
    case Collective::broadcast: return in[root][i];
    case Collective::scatter: return in[root][member * count + i];
    case Collective::allgather:
    case Collective::gather: return in[block][at];
    default: return in[block][member * count + at];  // alltoall
  }
}

TEST(Exchange, AppliedToMemoryIsTheCollective) {
  std::mt19937 random(7);
  for (const Collective collective : {Collective::allreduce, Collective::reduce, Collective::reduce_scatter,
                                      Collective::allgather, Collective::broadcast, Collective::scatter,
                                      Collective::gather, Collective::alltoall, Collective::scan, Collective::exscan}) {
    for (int trial = 0; trial < 200; ++trial) {
      const auto members = static_cast<std::uint32_t>(1 + random() % 6);
      const std::size_t count = random() % 3 == 0 ? random() % 20 : random() % 3000;
      const auto root = info_of(collective).has_root() ? static_cast<std::uint32_t>(random() % members) : 0U;
      const std::size_t grain = 1 + random() % 2000;
      SCOPED_TRACE(testing::Message() << name_of(collective) << " of " << count << " on " << members << ", root "
                                      << root << ", grain " << grain);
      const Exchange exchange(exchange_call_of(collective, count), root, members, grain);
      ExchangeMemory memory = exchange_fill(exchange, members);
      apply(exchange, members, memory, random);
      if (HasFatalFailure()) return;
      for (std::uint32_t member = 0; member < members; ++member) {
        for (std::size_t i = 0; i < memory.outputs[member].size(); ++i) {
          ASSERT_EQ(memory.outputs[member][i], exchange_expected(collective, memory, root, member, i, count))
              << "element " << i << " of member " << member;
        }
      }
    }
  }
}

TEST(Exchange, SaysWhatOneMemberGivesAnother) {
  const auto given = [](Collective collective, std::uint32_t source, std::uint32_t target) {
    return Exchange(exchange_call_of(collective, 2), 1, 4, 64).bytes_given(source, target);
  };
  EXPECT_EQ(given(Collective::alltoall, 2, 3), 8U);
  EXPECT_EQ(given(Collective::scatter, 1, 3), 8U);
  EXPECT_EQ(given(Collective::scatter, 0, 3), 0U);
  EXPECT_EQ(given(Collective::gather, 0, 1), 8U);
  EXPECT_EQ(given(Collective::gather, 1, 0), 0U);
  EXPECT_EQ(given(Collective::scan, 0, 1), 8U);
  EXPECT_EQ(given(Collective::exscan, 1, 0), 0U);
}

TEST(Exchange, SaysWhoseInputsAMemberNeeds) {
  const auto needed = [](Collective collective, std::uint32_t member) {
    const Members members = Exchange(exchange_call_of(collective, 1), 1, 4, 64).needed_by(member);
    return std::pair(members.from, members.until);
  };
  EXPECT_EQ(needed(Collective::allreduce, 2), std::pair(0U, 4U));
  EXPECT_EQ(needed(Collective::scatter, 3), std::pair(1U, 2U));
  EXPECT_EQ(needed(Collective::reduce, 1), std::pair(0U, 4U));
  for (const auto& [collective, member] : {std::pair(Collective::scatter, 1U), std::pair(Collective::gather, 0U),
                                           std::pair(Collective::scan, 0U), std::pair(Collective::exscan, 0U)}) {
    const auto [from, until] = needed(collective, member);
    EXPECT_EQ(from, until) << name_of(collective);
  }
  for (const Collective prefix : {Collective::scan, Collective::exscan}) {
    EXPECT_EQ(needed(prefix, 1), std::pair(0U, 1U));
    EXPECT_EQ(needed(prefix, 3), std::pair(0U, 3U));
  }
}

TEST(Exchange, RoundsAreNoLargerThanTheGrain) {
  const Exchange exchange(exchange_call_of(Collective::allreduce, 1'000'000), 0, 3, 10'000);
  EXPECT_LE(exchange.grain(), 10'048u) << "rounded up to cache lines";
  EXPECT_EQ(exchange.rounds(), (4'000'000 / 3 + exchange.grain()) / exchange.grain());
}

TEST(Exchange, SharesOfAVectorMakeItWhole) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{15}, std::size_t{17}, std::size_t{1000}}) {
    const Exchange exchange(exchange_call_of(Collective::broadcast, count), 1, 4, std::size_t{1} << 30);
    for (std::size_t shares = 1; shares <= 7; ++shares) {
      std::size_t end = 0;
      for (std::size_t index = 0; index < shares; ++index) {
        const Part share = exchange.share(index, shares);
        EXPECT_EQ(share.source, 1U);
        EXPECT_EQ(share.target, everyone);
        EXPECT_EQ(share.source_offset, end);
        EXPECT_EQ(share.target_offset, end);
        EXPECT_TRUE(share.bytes % 64 == 0 || end + share.bytes == count * 4) << "lines are not cut";
        EXPECT_LE(share.bytes, count * 4 / shares + 64);
        end += share.bytes;
      }
      EXPECT_EQ(end, count * 4) << shares << " shares";
    }
  }
}

TEST(Combine, InPlaceAndManySources) {
  const Reduction sum = reduction_for(DataType::int32, ReduceOp::sum, 4);
  for (std::size_t sources = 1; sources <= 5; ++sources) {
    std::vector<Buffer32> buffers(sources, Buffer32(5000));
    for (std::size_t k = 0; k < sources; ++k) {
      for (std::size_t i = 0; i < 5000; ++i) buffers[k][i] = static_cast<std::int32_t>(i + 7 * k);
    }
    std::int32_t offset = 0;
    for (std::size_t k = 0; k < sources; ++k) offset += static_cast<std::int32_t>(7 * k);
    std::vector<const std::byte*> from;
    std::vector<std::byte*> to;
    for (auto& buffer : buffers) {
      from.push_back(reinterpret_cast<const std::byte*>(buffer.data()));
      to.push_back(reinterpret_cast<std::byte*>(buffer.data()));  // everyone's input is everyone's output
    }
    combine(sum, from, to, 5000 * 4);
    for (const auto& buffer : buffers) {
      for (std::size_t i = 0; i < 5000; ++i) {
        ASSERT_EQ(buffer[i], static_cast<std::int32_t>(sources * i) + offset);
      }
    }
  }
}

}  // namespace
}  // namespace hocket
