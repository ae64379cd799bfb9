#include "src/exec/direct/pooled.hpp"

#include "src/base/copy_bytes.hpp"
#include "src/exec/direct/combine.hpp"

namespace hocket {

// All have left the operation that used the place of the results before.
PooledPath::PooledPath(DirectRun& run)
    : run_(run),
      stage_counts_(run),
      shared_(run, stage_counts_),
      results_(run.window().staging(0) + direct::payload_bytes) {}

bool PooledPath::advance(Counters&) {
  if (const auto number = shared_.claim()) {
    combine_part(*number);
    shared_.finish();
    return true;
  }
  if (run_.exchange.output_bytes(run_.self) != 0) {
    if (!shared_.all_finished()) return false;
    copy_out();
  } else {
    stage_counts_.publish(Stage::parts_done, 1);  // leaves before all is done: so nobody blames it
  }
  done_ = true;
  return true;
}

void PooledPath::combine_part(std::size_t number) {
  const Part part = run_.part(number);
  if (part.bytes == 0) return;
  run_.sources.clear();
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    run_.sources.push_back(run_.payload_of(member) + part.source_offset);
  }
  std::byte* const target = results_ + part.source_offset;
  combine(run_.binding.reduction, run_.sources, {&target, 1}, part.bytes,
          run_.streams(part.bytes, part.target) ? 1 : 0);
}

void PooledPath::copy_out() {
  for (std::size_t number = 0; number < run_.parts(); ++number) {
    const Part part = run_.part(number);
    if (!part.goes_to(run_.self)) continue;
    copy_bytes(run_.binding.output + part.target_offset, results_ + part.source_offset, part.bytes);
  }
}

}  // namespace hocket
