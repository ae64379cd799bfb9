// SharedParts: where members outnumber cores, whoever is awake takes the next part of an exchange, whosever it is; a
// member that sleeps through the work finds it done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/exec/direct/progress.hpp"

namespace hocket {

class SharedParts {
 public:
  // The exchange is cut as it will be worked on.
  SharedParts(const DirectRun& run, const Progress& progress) : run_(run), progress_(progress), parts_(run.parts()) {}

  // A part for this member to do; nothing: all are taken.
  std::optional<std::size_t> claim();
  // A part that was claimed is done.
  void finish();
  bool all_finished() const {
    return run_.word(0, direct::finished_line).load(std::memory_order_acquire) >= progress_.word_of(parts_);
  }

 private:
  const DirectRun& run_;
  const Progress& progress_;
  std::size_t parts_;
};

}  // namespace hocket
