#include "src/base/copy_streaming.hpp"

#include <emmintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace hocket {

void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t word = sizeof(__m128i);
  const std::size_t head = std::min(bytes, -reinterpret_cast<std::uintptr_t>(to) % word);
  if (head != 0) std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + word <= bytes; at += word) {
    const __m128i data = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), data);
  }
  if (at != bytes) std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence();
}

}  // namespace hocket
