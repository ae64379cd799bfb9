// What every algorithm must pass: proof by the verifier over numbers of ranks, roots, placements, interleavings and
// empty chunks. An entry of the catalog is tested without another line.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
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

// Those of the verifier, and up to 33 ranks, where those have full chunks alone, also with empty ones.
inline std::vector<VerifyCase> suite_cases(const Algorithm& algorithm, Rank size) {
  std::vector<VerifyCase> cases = verify_cases(algorithm, size);
  if (size <= 17 || size > 33) return cases;
  for (std::size_t i = 0, full = cases.size(); i < full; ++i) {
    const std::uint32_t chunks = chunks_of(algorithm, size, cases[i].options.topology);
    for (const std::uint32_t empty_from : std::set<std::uint32_t>{0, 1, chunks - 1}) {
      cases.push_back(cases[i]);
      cases.back().options.empty_from = empty_from;
    }
  }
  return cases;
}

inline void check_algorithm(const Algorithm& algorithm) {
  for (const Rank size : suite_sizes()) {
    for (const VerifyCase& tried : suite_cases(algorithm, size)) {
      const Result<Verified> result = verify(algorithm, size, tried.root, tried.options);
      ASSERT_TRUE(result.ok()) << result.status().message() << " (interleave " << tried.options.interleave
                               << ", chunks empty from " << tried.options.empty_from << ")";
    }
  }
}

// The same of the schedule that narrow floats take, with all roundings.
inline void check_wide_sums(const Algorithm& algorithm) {
  for (Rank size = 1; size <= 33; ++size) {
    for (VerifyCase tried : suite_cases(algorithm, size)) {
      tried.options.rounding = Rounding::wide_sums;
      const Result<Verified> result = verify(algorithm, size, tried.root, tried.options);
      ASSERT_TRUE(result.ok()) << result.status().message();
    }
  }
}

}  // namespace hocket::test
