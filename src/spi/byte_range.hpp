#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket {

// Sizes from one to another, both included.
struct ByteRange {
  std::size_t from = SIZE_MAX, to = 0;  // none

  bool holds(std::size_t bytes) const { return bytes >= from && bytes <= to; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};
inline constexpr ByteRange all_sizes{.from = 0, .to = SIZE_MAX};

}  // namespace hocket
