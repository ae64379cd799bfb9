// StageCounts: how far each member has come in one operation, in words that it publishes and all read. A word holds the
// operation's number before the count, so what an earlier one has left there counts as nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/exec/direct/control_lines.hpp"
#include "src/exec/direct/direct_run.hpp"

namespace hocket {

// Those for whom the stages wait that a member has before it, all together.
class AwaitedByStages {
 public:
  // Of one stage; empty: it can go on.
  void add(MemberSet members) {
    together_ |= members;
    one_can_go_on_ |= members == 0;
  }
  // See Operation.
  MemberSet members() const { return one_can_go_on_ || together_ == 0 ? all_members : together_; }

 private:
  MemberSet together_ = 0;
  bool one_can_go_on_ = false;
};

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
