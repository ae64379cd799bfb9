// Floats that have no number's value, and the bits of any.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace hocket::exec_testing {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr std::uint32_t quiet_nan = 0x7FC00000;

inline std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

}  // namespace hocket::exec_testing
