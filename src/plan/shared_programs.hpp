// The programs of all ranks of one call, in little memory: ranks whose schedules differ only in the names of their
// peers and chunks share one. A ring of 4,096 ranks has 67 million steps, but one program of 16,380.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/plan/program.hpp"
#include "src/spi/status.hpp"

namespace hocket {

// Peers are numbered in the order of their first use, and so are runs of chunks: where steps move several at once,
// those that overlap stay side by side.
struct SharedProgram {
  Program program;
  std::vector<std::uint32_t> first_before, before;  // by instruction: what it waits for

  std::span<const std::uint32_t> before_of(std::uint32_t index) const {
    return {before.data() + first_before[index], first_before[index + 1] - first_before[index]};
  }
};

struct RankProgram {
  std::shared_ptr<const SharedProgram> shared;
  std::vector<Rank> peers;            // by number
  std::vector<std::uint32_t> chunks;  // by number; empty: numbers will do, or are the chunks themselves

  std::uint32_t chunk(std::uint32_t number) const { return chunks.empty() ? number : chunks[number]; }
};

struct ProgramsWanted {
  const Algorithm* algorithm = nullptr;
  Rank size = 1, root = 0;
  Topology topology{};
  Placement placement = Placement::out_of_place;
  std::uint32_t interleave = 1;
  bool chunks_differ = false;  // in size, so that it matters which one a step moves
  Rank ranks = 0;              // only these, from 0 on, which stand for the others; 0: all
};

// By rank. out_of_resources: so few ranks have steps in common that the programs would not fit into memory. internal:
// the next ranks and the last ones, which are looked at, do something else than those that stand for them.
Result<std::vector<RankProgram>> write_programs(const ProgramsWanted& wanted);

// That all these send, where their programs run once.
std::size_t messages_of(const std::vector<RankProgram>& programs);

}  // namespace hocket
