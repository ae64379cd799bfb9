#include "src/exec/direct/shared_parts.hpp"

namespace hocket {

std::optional<std::size_t> SharedParts::claim() {
  auto& claimed = run_.word(0, direct::claim_line);
  std::uint64_t seen = claimed.load(std::memory_order_relaxed);
  for (;;) {
    if (stage_counts_.is_of_later_operation(seen)) return std::nullopt;
    const std::size_t next = stage_counts_.count_of(seen);
    if (next >= parts_) return std::nullopt;
    if (claimed.compare_exchange_weak(seen, stage_counts_.word_of(next + 1), std::memory_order_relaxed)) return next;
  }
}

void SharedParts::finish() {
  auto& finished = run_.word(0, direct::finished_line);
  std::uint64_t seen = finished.load(std::memory_order_relaxed);
  std::size_t count;
  do {
    count = stage_counts_.count_of(seen) + 1;
  } while (!finished.compare_exchange_weak(seen, stage_counts_.word_of(count), std::memory_order_acq_rel,
                                           std::memory_order_relaxed));
  if (count == parts_) run_.window().wake_others();
}

}  // namespace hocket
