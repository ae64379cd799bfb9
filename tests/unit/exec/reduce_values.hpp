// Elements with what reductions get wrong.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "src/base/elements.hpp"
#include "tests/unit/exec/guarded.hpp"

namespace hocket::reduce_testing {

using exec_testing::Bytes;
using exec_testing::Guarded;
using Random = std::mt19937_64;

template <class T>
T from_any_bits(Random& random) {
  const std::uint64_t words[] = {random(), random()};
  T value;
  std::memcpy(&value, words, sizeof value);
  return value;
}

// Mostly any bits; often what reductions get wrong.
template <class T>
T any_value(Random& random) {
  if (random() % 2 == 0) return from_any_bits<T>(random);
  if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    const T pool[] = {T(0),
                      -T(0),
                      Limits::infinity(),
                      -Limits::infinity(),
                      Limits::quiet_NaN(),
                      Limits::max(),
                      Limits::min(),
                      Limits::lowest(),
                      Limits::denorm_min(),
                      T(1),
                      -T(1),
                      T(3),
                      std::copysign(Limits::signaling_NaN(), -T(1))};
    return pool[random() % std::size(pool)];
  } else if constexpr (elements::Narrow<T>) {
    return T(std::ldexp(static_cast<double>(random() % 64) - 32, static_cast<int>(random() % 40) - 28));
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    const T pool[] = {T(0), T(1), Limits::min(), Limits::max(), static_cast<T>(Limits::max() - 1), static_cast<T>(-1)};
    return pool[random() % std::size(pool)];
  } else if constexpr (elements::Complex<T>) {
    return {any_value<typename T::value_type>(random), any_value<typename T::value_type>(random)};
  } else if constexpr (elements::Located<T>) {  // few values and indices, so that many are equal
    using Value = decltype(T::value);
    T made{};
    made.value = random() % 2 == 0 ? static_cast<Value>(random() % 3) : any_value<Value>(random);
    made.index = static_cast<decltype(T::index)>(random() % 3) - 1;
    return made;
  } else {
    return {static_cast<std::uint8_t>(random() % 3)};
  }
}

template <class T>
Bytes any_values(Random& random, std::size_t count) {
  Bytes bytes(count * sizeof(T));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    const T value = any_value<T>(random);
    std::memcpy(&bytes[at], &value, sizeof(T));
  }
  return bytes;
}

}  // namespace hocket::reduce_testing
