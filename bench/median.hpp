#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hocket::bench {

// Requires a value. Of an even number of them, the higher one in the middle.
inline double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace hocket::bench
