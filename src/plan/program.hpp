// Program: a schedule compiled. Dependencies are derived from the ranges; nothing here depends on counts or pointers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/spi/schedule.hpp"

namespace hocket {

enum class Placement : std::uint8_t { out_of_place, in_place };

// One direction to one peer: its messages keep the order of `instructions`.
struct Channel {
  Rank peer = no_rank;
  bool outgoing = false;
  std::vector<std::uint32_t> instructions;
};

inline constexpr std::uint32_t no_channel = UINT32_MAX;

struct Instruction {
  Step step;
  std::uint32_t piece = 0;  // which of the `interleave` slices of a group
  std::uint32_t channel = no_channel;
  std::uint32_t waits = 0;  // how many instructions must be complete before this one may run
  std::uint32_t first_successor = 0, successors = 0;
};

// The instructions of one group of `interleave` adjoining slices, which run side by side: every step of the schedule
// stands `interleave` times in a row. The executor runs the program once for each group. Every channel's order is
// (group, step, piece) on both sides, so messages match without tags.
struct Program {
  Shape shape;
  Placement placement = Placement::out_of_place;
  std::uint32_t interleave = 1;
  std::uint32_t scratch_cells = 0, encoded_cells = 0, wide_cells = 0;  // of one piece
  std::vector<Instruction> instructions;
  std::vector<std::uint32_t> successors;
  std::vector<Channel> channels;

  // Where the range's first chunk is among all places of one piece that hold one: input, output, and scratch,
  // encoded and wide cells; and how many there are.
  std::size_t place_of(const Range& range) const {
    const std::size_t chunks = shape.chunks;
    switch (range.space) {
      case Space::input: return range.chunk;
      case Space::output: return range.chunk + (placement == Placement::in_place ? 0 : chunks);
      case Space::scratch: return 2 * chunks + range.cell;
      case Space::encoded: return 2 * chunks + scratch_cells + range.cell;
      case Space::wide: break;
    }
    return 2 * chunks + scratch_cells + encoded_cells + range.cell;
  }
  std::size_t places() const { return 2 * std::size_t{shape.chunks} + scratch_cells + encoded_cells + wide_cells; }

  std::span<const std::uint32_t> successors_of(const Instruction& instruction) const {
    return {successors.data() + instruction.first_successor, instruction.successors};
  }
};

// In place, input chunk c and output chunk c are one, and copies of a chunk onto itself vanish. Requires interleave
// >= 1.
Program compile(const Schedule& schedule, Placement placement, std::uint32_t interleave);

// The same steps, a chunk at a time: for layouts in which chunks do not adjoin (see UnequalBlocks). Where several
// chunks were one message, both ends have as many messages now.
Schedule in_single_chunks(const Schedule& schedule);

}  // namespace hocket
