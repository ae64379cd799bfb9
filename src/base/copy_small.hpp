// Copies of mostly a few bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/base/copy_bytes.hpp"

namespace hocket {

// The first number and the last, which may overlap.
template <class Number>
void copy_ends(std::byte* to, const std::byte* from, std::size_t bytes) {
  Number first = 0, last = 0;
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&last, from + bytes - sizeof last, sizeof last);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + bytes - sizeof last, &last, sizeof last);
}

// What few copies are, so that the others are short enough to need no call.
[[gnu::noinline]] inline void copy_other(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_bytes(to, from, bytes);
}

// Copies one number, or two. False: the bytes are fewer than one has, or more than two, and nothing has happened.
[[gnu::always_inline]] inline bool copy_numbers(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t word = sizeof(std::uint64_t), half = sizeof(std::uint32_t);
  if (bytes - word <= word) [[likely]] {  // of fewer than one word, too large a number
    copy_ends<std::uint64_t>(to, from, bytes);
    return true;
  }
  if (bytes - half >= half) return false;
  copy_ends<std::uint32_t>(to, from, bytes);
  return true;
}

// copy_bytes() without a call where there is one number, or two. `bytes` may be 0, and then the places null.
[[gnu::always_inline]] inline void copy_small(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (!copy_numbers(to, from, bytes)) copy_other(to, from, bytes);
}

}  // namespace hocket
