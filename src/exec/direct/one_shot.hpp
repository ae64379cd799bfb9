// The one-shot path: everyone's data is small and lies in its announcement or staging area, so each member combines
// what it needs itself, and nobody waits for anybody again.
#pragma once

#include <algorithm>

#include "src/base/copy_small.hpp"
#include "src/exec/direct/combine.hpp"
#include "src/exec/direct/direct_run.hpp"
#include "src/exec/direct/packed_blocks.hpp"

namespace hocket {

// What combines other than two operands, or more of them than one call of the kernel takes.
[[gnu::noinline]] inline void combine_at_once(DirectRun& run, const Part& part) {
  const std::uint32_t operands = std::min(part.operands, run.members);
  std::byte* const target = run.binding.output + part.target_offset;
  run.sources.resize(operands);
  for (std::uint32_t member = 0; member < operands; ++member) {
    run.sources[member] = run.payload_of(member) + part.source_offset;
  }
  combine(run.binding.reduction, run.sources, {&target, 1}, part.bytes);
}

// All that this member takes. Requires that it has heard everyone whose data that is. False: it has failed.
[[gnu::always_inline]] inline bool move_at_once(DirectRun& run) {
  for (const auto& [part, pairs] : run.at_once) {
    std::byte* const target = run.binding.output + part.target_offset;
    if (pairs != 0) {
      combine_two(run.binding.reduction, run.payload_of(0) + part.source_offset, run.payload_of(1) + part.source_offset,
                  target, pairs);
    } else if (part.source == everyone) {
      combine_at_once(run, part);
    } else {
      const std::byte* const source = run.payload_of(part.source) + part.source_offset;
      if (source != target) copy_small(target, source, part.bytes);
    }
  }
  return run.blocks.taken().empty() || take_packed_blocks(run);
}

}  // namespace hocket
