// An eventfd that ends somebody's poll(2).
#pragma once

#include <cstdint>

#include "src/base/fd.hpp"

namespace hocket {

// Nothing fails but where it rings already, or is none.
inline void ring(const UniqueFd& bell) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell.get(), &one, sizeof one);
}

inline void silence(const UniqueFd& bell) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(bell.get(), &count, sizeof count);  // fails only when it was silent
}

}  // namespace hocket
