#include "src/base/copy_bytes.hpp"

#include <emmintrin.h>

namespace hocket {

void copy_backwards(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t line = 64, word = sizeof(__m128i), words = line / word;
  std::size_t at = bytes - bytes % line;
  std::memcpy(to + at, from + at, bytes - at);
  while (at > 0) {
    at -= line;
    __m128i data[words];
    for (std::size_t i = 0; i < words; ++i) {
      data[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + i * word));
    }
    for (std::size_t i = words; i-- > 0;) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at + i * word), data[i]);
  }
}

}  // namespace hocket
