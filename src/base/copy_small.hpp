// Copies of mostly a few bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hocket {

// std::memcpy() without the call where there is one number, or two. `bytes` may be 0, and then the places null.
inline void copy_small(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  if (bytes - word <= word) {  // of fewer than one word, too large a number
    std::uint64_t first = 0, last = 0;
    std::memcpy(&first, from, word);
    std::memcpy(&last, from + bytes - word, word);
    std::memcpy(to, &first, word);
    std::memcpy(to + bytes - word, &last, word);
  } else if (bytes != 0) {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace hocket
