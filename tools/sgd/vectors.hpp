// The two loops in which training spends its time.
#pragma once

#include <cstddef>
#include <span>

namespace hocket::sgd {

// to += factor · from
inline void add_multiple(float factor, std::span<const float> from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

// In eight parts, so that the compiler may use vectors without changing the order of the sum.
inline float dot(std::span<const float> a, std::span<const float> b) {
  constexpr std::size_t lanes = 8;
  float sums[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= a.size(); i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  float sum = 0;
  for (const float part : sums) sum += part;
  for (; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace hocket::sgd
