// Plan: everything about a call that does not depend on where its buffers are. Made once, cached, shared by operations.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>

#include "src/plan/layout.hpp"
#include "src/plan/program.hpp"
#include "src/spi/schedule.hpp"

namespace hocket {

// Null where blocks are equal. Compared by what it points to.
struct SharedBlocks {
  std::shared_ptr<const UnequalBlocks> table = {};

  explicit operator bool() const { return table != nullptr; }
  friend bool operator==(const SharedBlocks& a, const SharedBlocks& b) {
    return a.table == b.table || (a.table && b.table && *a.table == *b.table);
  }
};

struct PlanKey {
  const Algorithm* algorithm = nullptr;
  Rank rank = 0, size = 1, root = 0;
  std::size_t count = 0;
  std::size_t element_bytes = 1;
  std::size_t slice_bytes = 0;  // 0: one slice
  Placement placement = Placement::out_of_place;
  Topology topology{};
  WireFormat wire = WireFormat::exact;  // of encoded cells; exact where the algorithm has none
  bool wide_sums = false;  // of narrow floats: partial sums are float32 where they do not travel (wide_sums.hpp)
  SharedBlocks blocks{};   // then `count` means nothing

  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

enum class Operand : std::uint8_t { left, right, to };  // of a step

constexpr const Range& range_of(const Step& step, Operand operand) {
  return operand == Operand::left ? step.left : operand == Operand::right ? step.right : step.to;
}

struct Plan {
  PlanKey key;
  Layout layout;
  Program program;
  std::vector<Extent> extents;     // of each instruction's operands, where the program runs once
  std::size_t groups = 0;          // times the program runs; 0 where nothing moves
  std::size_t encoded_offset = 0;  // of encoded cells in a piece's scratch
  std::size_t wide_offset = 0;     // of wide cells in it
  std::size_t piece_bytes = 0;     // scratch of one piece, a multiple of 64
  std::size_t scratch_bytes = 0;   // of one group; the operation keeps two in flight

  // Where a range of an instruction of piece `piece` lies in its space, when the program runs for the group-th time; in
  // scratch: from the start of that group's scratch. bytes 0: the last group has no such slice, or the chunk is empty.
  Extent extent(const Range& range, std::uint32_t piece, std::size_t group) const {
    Extent found = layout.extent(range, group * program.interleave + piece);
    if (range.space == Space::scratch) found.offset += piece * piece_bytes;
    if (range.space == Space::encoded) found.offset += piece * piece_bytes + encoded_offset;
    if (range.space == Space::wide) found.offset += piece * piece_bytes + wide_offset;
    return found;
  }
  // Of the index-th instruction.
  Extent extent(std::uint32_t index, Operand operand, std::size_t group) const {
    if (!extents.empty()) return extents[3 * std::size_t{index} + static_cast<std::size_t>(operand)];
    const Instruction& instruction = program.instructions[index];
    return extent(range_of(instruction.step, operand), instruction.piece, group);
  }
};

// Writes, compiles and lays out. All ranks derive the same slices from the same call.
std::shared_ptr<const Plan> make_plan(const PlanKey& key);

// The plans used last. Not thread-safe: the communicator's lock covers it.
class PlanCache {
 public:
  // Requires capacity >= 1.
  explicit PlanCache(std::size_t capacity) : capacity_(capacity) {}
  std::shared_ptr<const Plan> get(const PlanKey& key);

 private:
  struct Hash {
    std::size_t operator()(const PlanKey& key) const;
  };
  using Entries = std::list<std::shared_ptr<const Plan>>;  // latest used first

  std::size_t capacity_;
  Entries entries_;
  std::unordered_map<PlanKey, Entries::iterator, Hash> index_;
};

}  // namespace hocket
