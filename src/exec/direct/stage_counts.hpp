// StageCounts: how far each member has come in one operation, in words that it publishes and all read. A word holds the
// operation's number before the count, so what an earlier one has left there counts as nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "src/exec/direct/control_lines.hpp"
#include "src/exec/direct/direct_run.hpp"

namespace hocket {

// For whom each stage waits: for nobody, if the set is empty; nothing: it has no round left that could be next.
using AwaitedByStage = std::optional<MemberSet>;
inline constexpr AwaitedByStage nobody_awaited = MemberSet{0};

// The same of all stages of a member, as Operation::awaited_members() has it.
inline MemberSet awaited_by(std::initializer_list<AwaitedByStage> stages) {
  MemberSet together = 0;
  for (const AwaitedByStage& stage : stages) {
    if (stage == nobody_awaited) return all_members;  // it can go on
    together |= stage.value_or(0);
  }
  return together != 0 ? together : all_members;
}

class StageCounts {
 public:
  // Of the operation that begins to use it now; all members number these operations alike.
  explicit StageCounts(const DirectRun& run) : run_(run), operation_(++run.use.counted) {}

  void publish(Stage stage, std::size_t count) {
    word(run_.self, stage).store(word_of(count), std::memory_order_release);
  }
  bool reached(std::uint32_t member, Stage stage, std::size_t count) const {
    return word(member, stage).load(std::memory_order_acquire) >= word_of(count);
  }
  bool everyone_reached(Stage stage, std::size_t count) const { return first_behind(stage, count) == run_.members; }
  // A member that has not; empty: everyone has. Until that one has, not everyone has.
  MemberSet awaited(Stage stage, std::size_t count) const {
    const std::uint32_t member = first_behind(stage, count);
    return member < run_.members ? set_of(member) : 0;
  }
  // The same of the slot that round `round` will use, which the others must have left by their stage `last_use`.
  MemberSet awaited_for_slot(std::size_t round, Stage last_use) const {
    return round < direct::rounds_in_flight ? 0 : awaited(last_use, round - direct::rounds_in_flight + 1);
  }

  std::uint64_t word_of(std::size_t count) const { return (operation_ << count_bits) | count; }
  // The count that a word holds; 0 if it is of an earlier operation.
  std::size_t count_of(std::uint64_t word) const {
    return word >> count_bits == operation_ ? word & ((std::uint64_t{1} << count_bits) - 1) : 0;
  }
  bool is_of_later_operation(std::uint64_t word) const { return word >> count_bits > operation_; }

 private:
  static constexpr unsigned count_bits = 22;

  // run_.members: nobody.
  std::uint32_t first_behind(Stage stage, std::size_t count) const {
    std::uint32_t member = 0;
    while (member < run_.members && reached(member, stage, count)) ++member;
    return member;
  }
  std::atomic<std::uint64_t>& word(std::uint32_t member, Stage stage) const {
    return run_.word(member, direct::progress_line, static_cast<std::size_t>(stage));
  }

  const DirectRun& run_;
  std::uint64_t operation_;
};

}  // namespace hocket
