// SharedParts: where members outnumber cores, any member that is awake takes the next part of an exchange, whosever it
// is; a member that sleeps through the work finds it done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/exec/direct/stage_counts.hpp"

namespace hocket {

class SharedParts {
 public:
  // The exchange is cut as it will be worked on.
  SharedParts(const DirectRun& run, const StageCounts& progress)
      : run_(run), stage_counts_(progress), parts_(run.parts()) {}

  // A part for this member to do; nothing: all are taken.
  std::optional<std::size_t> claim();
  // A part that was claimed is done.
  void finish();
  bool all_finished() const {
    return run_.word(0, direct::finished_line).load(std::memory_order_acquire) >= stage_counts_.word_of(parts_);
  }

 private:
  const DirectRun& run_;
  const StageCounts& stage_counts_;
  std::size_t parts_;
};

}  // namespace hocket
