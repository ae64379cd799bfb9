// What every algorithm must pass: proof by the verifier over numbers of ranks, roots, placements, interleavings and
// empty chunks. An entry of the catalog is tested without another line.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "src/plan/verify.hpp"

namespace hocket::test {

// Sanitizers make the largest sizes too slow; they find nothing there that they do not find below.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr Rank largest_size = 33;
#else
inline constexpr Rank largest_size = 257;
#endif

inline std::vector<Rank> suite_sizes() {
  std::vector<Rank> sizes;
  for (Rank size = 1; size <= 33; ++size) sizes.push_back(size);
  for (Rank size : {47, 48, 63, 64, 65, 127, 128, 129, 255, 256, 257}) {
    if (size <= largest_size) sizes.push_back(size);
  }
  return sizes;
}

inline void check_algorithm(const Algorithm& algorithm) {
  for (const Rank size : suite_sizes()) {
    for (const VerifyCase& tried : verify_cases(algorithm, size)) {
      const Result<Verified> result = verify(algorithm, size, tried.root, tried.options);
      ASSERT_TRUE(result.ok()) << result.status().message() << " (interleave " << tried.options.interleave
                               << ", chunks empty from " << tried.options.empty_from << ")";
    }
  }
}

}  // namespace hocket::test
