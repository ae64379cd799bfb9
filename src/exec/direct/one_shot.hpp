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

// All that this member takes. Requires that it has heard everyone whose data that is. False: it has failed, as one of
// them means another size.
[[gnu::always_inline]] inline bool move_at_once(DirectRun& run) {
  std::byte* const output = run.binding.output;
  const std::byte* const* const payloads = run.payloads.data();
  for (const auto& [part, pairs] : run.at_once) {
    std::byte* const target = output + part.target_offset;
    if (part.source != everyone) {
      const std::byte* const source = payloads[part.source] + part.source_offset;
      if (source != target) copy_small(target, source, part.bytes);
    } else if (pairs != 0) {
      combine_two(run.binding.reduction, payloads[0] + part.source_offset, payloads[1] + part.source_offset, target,
                  pairs);
    } else {
      combine_at_once(run, part);
    }
  }
  for (const BlockExchange::Taken& block : run.blocks.taken()) {
    const std::byte* const payload = payloads[block.source];
    const BlockExchange::Size given = run.blocks.size_in(payload);
    if (given != block.size) [[unlikely]] {
      fail_for_sizes(run, block, given);
      return false;
    }
    copy_small(output + block.offset, run.blocks.block_in(payload), block.bytes);
  }
  return true;
}

}  // namespace hocket
