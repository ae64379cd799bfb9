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
  bool everyone_reached(Stage stage, std::size_t count) const {
    for (std::uint32_t member = 0; member < run_.members; ++member) {
      if (!reached(member, stage, count)) return false;
    }
    return true;
  }

  std::uint64_t word_of(std::size_t count) const { return (operation_ << count_bits) | count; }
  // The count that a word holds; 0 if it is of an earlier operation.
  std::size_t count_of(std::uint64_t word) const {
    return word >> count_bits == operation_ ? word & ((std::uint64_t{1} << count_bits) - 1) : 0;
  }
  bool is_of_later_operation(std::uint64_t word) const { return word >> count_bits > operation_; }

 private:
  static constexpr unsigned count_bits = 22;

  std::atomic<std::uint64_t>& word(std::uint32_t member, Stage stage) const {
    return run_.word(member, direct::progress_line, static_cast<std::size_t>(stage));
  }

  const DirectRun& run_;
  std::uint64_t operation_;
};

}  // namespace hocket
