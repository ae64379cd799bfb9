// What every algorithm must pass: proof by the verifier over numbers of ranks, roots, placements, interleavings and
// empty chunks. An entry of the catalog is tested without another line.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "src/plan/layout.hpp"
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

inline bool takes_root(Collective collective) {
  return has_root(collective) || collective == Collective::send || collective == Collective::recv;
}

// Every root up to 17 ranks, then the first two and the last.
inline std::vector<Rank> suite_roots(Collective collective, Rank size) {
  if (!takes_root(collective)) return {0};
  if (size > 17) return {0, 1, size - 1};
  std::vector<Rank> roots;
  for (Rank root = 0; root < size; ++root) roots.push_back(root);
  return roots;
}

// The C API has no alltoall in place.
inline std::vector<Placement> suite_placements(Collective collective) {
  if (collective == Collective::alltoall) return {Placement::out_of_place};
  return {Placement::out_of_place, Placement::in_place};
}

inline std::vector<VerifyOptions> suite_options(const Algorithm& algorithm, Rank size) {
  std::vector<VerifyOptions> list;
  for (const Placement placement : suite_placements(algorithm.collective)) {
    list.push_back({.placement = placement});
    if (size > 17) continue;
    list.push_back({.placement = placement, .interleave = 2});
    std::vector<std::uint32_t> firsts{0};
    if (Layout::is_vector(algorithm.collective)) firsts.insert(firsts.end(), {1, chunks_of(algorithm, size) - 1});
    for (const std::uint32_t empty_from : firsts) {
      list.push_back({.placement = placement, .interleave = 1, .empty_from = empty_from});
    }
  }
  return list;
}

inline void check_algorithm(const Algorithm& algorithm) {
  for (const Rank size : suite_sizes()) {
    for (const Rank root : suite_roots(algorithm.collective, size)) {
      for (const VerifyOptions& options : suite_options(algorithm, size)) {
        const Result<Verified> result = verify(algorithm, size, root, options);
        ASSERT_TRUE(result.ok()) << result.status().message() << " (interleave " << options.interleave
                                 << ", chunks empty from " << options.empty_from << ")";
      }
    }
  }
}

}  // namespace hocket::test
