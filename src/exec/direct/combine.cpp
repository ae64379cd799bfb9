#include "src/exec/direct/combine.hpp"

#include <algorithm>

#include "src/base/copy_bytes.hpp"
#include "src/base/copy_streaming.hpp"

namespace hocket {
namespace {

constexpr std::size_t block_bytes = combine_block_bytes;

// to = what all targets are to hold of one block; `scratch`, which may be `to`, holds what is between.
void reduce_block(const Reduction& reduction, std::span<const std::byte* const> sources, std::size_t at,
                  std::size_t bytes, std::byte* scratch, std::byte* to) {
  const std::size_t count = bytes / reduction.element_bytes;
  if (reduction.all != nullptr) {
    return reduction.all(to, sources.data(), sources.size(), at, count, reduction.divisor);
  }
  const std::byte* sum = sources[0] + at;
  for (std::size_t i = 1; i < sources.size(); ++i) {
    std::byte* const next = i + 1 == sources.size() ? to : scratch;  // the last goes straight to where it belongs
    reduction.kernel(next, sum, sources[i] + at, count);
    sum = next;
  }
  if (reduction.divide != nullptr) reduction.divide(to, count, reduction.divisor);
}

}  // namespace

void combine_blocks(const Reduction& reduction, std::span<const std::byte* const> sources,
                    std::span<std::byte* const> targets, std::size_t bytes, std::size_t streamed) {
  alignas(64) std::byte scratch[block_bytes];
  const auto ordinary = targets.first(targets.size() - streamed);
  for (std::size_t at = 0; at < bytes; at += block_bytes) {
    const std::size_t length = std::min(block_bytes, bytes - at);
    const std::byte* sum = sources[0] + at;
    if (sources.size() > 1) {
      std::byte* const to = ordinary.empty() ? scratch : ordinary[0] + at;
      reduce_block(reduction, sources, at, length, scratch, to);
      sum = to;
    }
    for (std::byte* target : ordinary) {
      if (target + at != sum) copy_bytes(target + at, sum, length);
    }
    for (std::byte* target : targets.last(streamed)) copy_streaming(target + at, sum, length);
  }
}

}  // namespace hocket
