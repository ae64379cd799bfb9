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
  std::shared_ptr<const UnevenBlocks> table = {};

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
  SharedBlocks blocks{};                // then `count` means nothing

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
  std::size_t piece_bytes = 0;     // scratch of one piece, a multiple of 64
  std::size_t scratch_bytes = 0;   // of one group; the operation keeps two in flight

  // Where a range of an instruction of piece `piece` lies in its space, when the program runs for the group-th time; in
  // scratch: from the start of that group's scratch. bytes 0: the last group has no such slice, or the chunk is empty.
  Extent extent(const Range& range, std::uint32_t piece, std::size_t group) const {
    Extent found = layout.extent(range, group * program.interleave + piece);
    if (range.space == Space::scratch) found.offset += piece * piece_bytes;
    if (range.space == Space::encoded) found.offset += piece * piece_bytes + encoded_offset;
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

// ---- selection ------------------------------------------------------------------------------------------------------

struct Call {
  Collective collective;
  Rank size;
  std::size_t bytes;  // the larger of the two buffers
  Topology topology{};
  Rank cores = 0;  // of the one host that has all ranks, if it has fewer; else 0
  WireFormat wire = WireFormat::exact;
  bool in_rank_order = false;  // only what Algorithm::in_rank_order says may be chosen, where something is reduced
  bool uneven = false;         // blocks vary: `bytes` are those of all blocks, 0 where not all ranks know them
};

inline constexpr std::string_view automatic_algorithm = "auto";

// Whether `name` is "auto" or that of an algorithm of any collective.
bool known_algorithm(std::string_view name);
// A collective that reduces by an algorithm of this name, but not in rank order; nothing where there is none.
std::optional<Collective> out_of_rank_order(std::string_view name);

// The algorithm for a call: `wanted` by name where the collective has it for this wire format, order and kind of
// blocks, else by size. Equal on all ranks for equal calls. Where exact algorithms need fewer bytes than the wire
// format saves, it is one of these. In rank order, all is exact.
const Algorithm& select_algorithm(const Call& call, std::string_view wanted);

}  // namespace hocket
