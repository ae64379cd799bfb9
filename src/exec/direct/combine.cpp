#include "src/exec/direct/combine.hpp"

#include <emmintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "src/base/copy_bytes.hpp"

namespace hocket {
namespace {

constexpr std::size_t block_bytes = combine_block_bytes;

void stream(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t head = std::min(bytes, (16 - reinterpret_cast<std::uintptr_t>(to) % 16) % 16);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + 16 <= bytes; at += 16) {
    const __m128i data = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), data);
  }
  std::memcpy(to + at, from + at, bytes - at);
}

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
                    std::span<std::byte* const> targets, std::size_t bytes, Stores stores) {
  alignas(64) std::byte scratch[block_bytes];
  for (std::size_t at = 0; at < bytes; at += block_bytes) {
    const std::size_t length = std::min(block_bytes, bytes - at);
    const std::byte* sum = sources[0] + at;
    if (sources.size() > 1) {
      std::byte* const to = stores == Stores::streaming ? scratch : targets[0] + at;
      reduce_block(reduction, sources, at, length, scratch, to);
      sum = to;
    }
    if (stores == Stores::streaming) {
      for (std::byte* target : targets) stream(target + at, sum, length);
      continue;
    }
    for (std::byte* target : targets) {
      if (target + at != sum) copy_bytes(target + at, sum, length);
    }
  }
  if (stores == Stores::streaming) _mm_sfence();
}

}  // namespace hocket
