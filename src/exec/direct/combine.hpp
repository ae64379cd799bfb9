// Moves one part: from one or several sources to one or several targets, in one pass over memory.
#pragma once

#include <cstddef>
#include <span>

#include "src/spi/transport.hpp"

namespace hocket {

inline constexpr std::size_t combine_block_bytes = 8192;  // two of these and the sources fit into 48 KiB

void combine_blocks(const Reduction& reduction, std::span<const std::byte* const> sources,
                    std::span<std::byte* const> targets, std::size_t bytes, std::size_t streamed);

// target = left ∘ right, all of it small, where the reduction has no kernel for all operands at once.
[[gnu::always_inline]] inline void combine_two(const Reduction& reduction, const std::byte* left,
                                               const std::byte* right, std::byte* target, std::size_t count) {
  reduction.kernel(target, left, right, count);
  if (reduction.divide != nullptr) reduction.divide(target, count, reduction.divisor);
}

// targets[k] = sources[0] ∘ sources[1] ∘ …, in this order, block by block, so that between the passes everything stays
// in the first-level cache. With one source: a copy. A target may be one of the sources, byte for byte. The last
// `streamed` targets, which are no sources, are stored past the caches: for what this core does not read soon.
inline void combine(const Reduction& reduction, std::span<const std::byte* const> sources,
                    std::span<std::byte* const> targets, std::size_t bytes, std::size_t streamed = 0) {
  if (sources.size() != 2 || targets.size() != 1 || bytes > combine_block_bytes || streamed != 0) {
    return combine_blocks(reduction, sources, targets, bytes, streamed);
  }
  // Two operands leave nothing between.
  const std::size_t count = bytes / reduction.element_bytes;
  if (reduction.all != nullptr) return reduction.all(targets[0], sources.data(), 2, 0, count, reduction.divisor);
  combine_two(reduction, sources[0], sources[1], targets[0], count);
}

}  // namespace hocket
