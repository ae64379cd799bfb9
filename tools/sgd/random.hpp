// Random numbers that are the same everywhere for the same seed: the generator is fixed by the standard, but its
// distributions are not, so they are written out here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace hocket::sgd {

class Random {
 public:
  explicit Random(std::uint64_t seed) : generator_(seed) {}

  // At least low, below high.
  float uniform(float low, float high) {
    const auto fraction = static_cast<float>(generator_() >> 40) * 0x1p-24F;
    return low + (high - low) * fraction;
  }
  // One of 0 … count-1. Even but for a part in 2^64 / count.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(generator_() % count); }
  // The numbers 0 … count-1 in a random order (Fisher and Yates).
  std::vector<std::uint32_t> permutation(std::size_t count) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t last = count; last > 1; --last) std::swap(order[last - 1], order[below(last)]);
    return order;
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace hocket::sgd
