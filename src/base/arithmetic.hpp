// Whole numbers to multiples of a unit.
#pragma once

#include <concepts>
#include <type_traits>

namespace hocket {

template <std::unsigned_integral Number>
constexpr Number divide_up(Number value, std::type_identity_t<Number> by) {
  return value / by + (value % by != 0);  // without an overflow
}

template <std::unsigned_integral Number>
constexpr Number round_up(Number value, std::type_identity_t<Number> unit) {
  return divide_up(value, unit) * unit;
}

template <std::unsigned_integral Number>
constexpr Number round_down(Number value, std::type_identity_t<Number> unit) {
  return value / unit * unit;
}

}  // namespace hocket
