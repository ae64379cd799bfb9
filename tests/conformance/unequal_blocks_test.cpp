// Algorithms on blocks whose sizes vary: their schedules stay right when they move a chunk at a time, and what every
// rank derives from the sizes that it knows fits what its peers derive.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "src/plan/plan.hpp"
#include "src/plan/verify.hpp"

namespace hocket {
namespace {

std::vector<const Algorithm*> algorithms_for_unequal_blocks() {
  std::vector<const Algorithm*> found;
  for (const Algorithm& algorithm : catalog()) {
    if (!algorithm.collective->is_vector() && !algorithm.forwards_blocks) found.push_back(&algorithm);
  }
  return found;
}

constexpr auto test_name = [](const auto& test) {
  return std::string(name_of(test.param->collective)) + "_" + std::string(test.param->name);
};

class UnequalBlocksOf : public testing::TestWithParam<const Algorithm*> {};

TEST_P(UnequalBlocksOf, MayMoveAChunkAtATime) {
  const Algorithm& algorithm = *GetParam();
  for (const Rank size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 33}) {
    for (const VerifyCase& tried : verify_cases(algorithm, size)) {
      const auto schedule_of = [&](Rank rank) {
        return in_single_chunks(algorithm.write(rank, size, tried.root, tried.options.topology));
      };
      const Result<Verified> result = verify(algorithm.collective, size, tried.root, schedule_of, tried.options);
      ASSERT_TRUE(result.ok()) << result.status().message();
    }
  }
}

// sizes[i][j] is what goes from rank i to j; where it goes to or comes from all, the row or column of one rank.
using Sizes = std::vector<std::vector<std::size_t>>;

Sizes random_sizes(Rank size, std::mt19937& random, std::size_t largest) {
  const auto ranks = static_cast<std::size_t>(size);
  Sizes sizes(ranks, std::vector<std::size_t>(ranks));
  for (auto& row : sizes) {
    for (std::size_t& count : row) count = random() % 3 == 0 ? 0 : random() % (largest + 1);
  }
  return sizes;
}

// What a rank can know, packed.
std::shared_ptr<const UnequalBlocks> known_blocks(Collective collective, Rank rank, Rank root, const Sizes& sizes) {
  const auto own = static_cast<std::size_t>(rank);
  auto blocks = std::make_shared<UnequalBlocks>();
  std::size_t in = 0, out = 0;
  for (std::size_t chunk = 0; chunk < sizes.size(); ++chunk) {
    const bool rooted = collective == Collective::scatter || collective == Collective::gather;
    const bool known = !rooted || rank == root || chunk == own;
    const bool pairs = collective == Collective::alltoall;
    const std::size_t input = pairs ? sizes[own][chunk] : known ? sizes[chunk][chunk] : 0;
    const std::size_t output = pairs ? sizes[chunk][own] : input;
    blocks->input.push_back({in, input});
    blocks->output.push_back({out, output});
    in += input;
    out += output;
  }
  return blocks;
}

// Bytes of the messages from every rank to every other, in their order.
using Messages = std::map<std::pair<Rank, Rank>, std::vector<std::size_t>>;

void add_messages(const Plan& plan, Messages& sent, Messages& received) {
  const Rank rank = plan.key.rank;
  for (const Channel& channel : plan.program.channels) {
    auto& messages = channel.outgoing ? sent[{rank, channel.peer}] : received[{channel.peer, rank}];
    for (std::size_t group = 0; group < plan.groups; ++group) {
      for (const std::uint32_t index : channel.instructions) {
        const Instruction& instruction = plan.program.instructions[index];
        const Range& range = channel.outgoing ? instruction.step.left : instruction.step.to;
        const std::size_t bytes = plan.extent(range, instruction.piece, group).bytes;
        const bool first = group == 0 && instruction.piece == 0;
        if (bytes != 0 || (first && plan.layout.sizes_travel())) messages.push_back(bytes);
      }
    }
  }
}

TEST_P(UnequalBlocksOf, GiveBothEndsTheSameMessages) {
  const Algorithm& algorithm = *GetParam();
  std::mt19937 random(11);
  for (const Rank size : {1, 2, 3, 4, 5, 8, 13}) {
    for (int round = 0; round < 20; ++round) {
      const std::size_t largest = round % 4 == 0 ? 0 : round % 2 == 0 ? 5 : 40;
      const Sizes sizes = random_sizes(size, random, largest);
      const Rank root =
          algorithm.collective->has_root() ? static_cast<Rank>(random() % static_cast<unsigned>(size)) : 0;
      const auto topologies = verify_topologies(size);
      const Topology topology = algorithm.by_host ? topologies[random() % topologies.size()] : Topology();
      Messages sent, received;
      for (Rank rank = 0; rank < size; ++rank) {
        const auto plan = make_plan({.algorithm = &algorithm,
                                     .rank = rank,
                                     .size = size,
                                     .root = root,
                                     .element_bytes = 4,
                                     .slice_bytes = 32,  // blocks of up to five slices
                                     .topology = topology,
                                     .blocks = {known_blocks(algorithm.collective, rank, root, sizes)}});
        add_messages(*plan, sent, received);
      }
      ASSERT_EQ(sent, received) << size << " ranks, round " << round;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, UnequalBlocksOf, testing::ValuesIn(algorithms_for_unequal_blocks()), test_name);

TEST(UnequalBlocks, AreRelayedByNobody) {
  for (const Algorithm& algorithm : catalog()) {
    const Collective collective = algorithm.collective;
    if (collective != Collective::scatter && collective != Collective::gather && collective != Collective::alltoall) {
      EXPECT_FALSE(algorithm.forwards_blocks) << algorithm.name;
      continue;
    }
    // Every message's chunk concerns its two ends: one message to or from each peer.
    for (const Rank root : {0, 2}) {
      bool forwards_blocks = false;
      for (Rank rank = 0; rank < 7; ++rank) {
        std::map<Rank, std::uint32_t> chunks;
        for (const Step& step : algorithm.write(rank, 7, root).steps) {
          if (step.kind == StepKind::send)
            forwards_blocks = forwards_blocks || (chunks[step.peer] += step.left.count) > 1;
        }
      }
      EXPECT_EQ(forwards_blocks, algorithm.forwards_blocks) << name_of(collective) << " " << algorithm.name;
    }
  }
}

}  // namespace
}  // namespace hocket
