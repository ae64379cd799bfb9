// What the catalog says of the order in which algorithms sum, both ways: those that say so keep it for all numbers of
// ranks and roots, and no other does.
#include <gmock/gmock.h>

#include <string>

#include "tests/conformance/algorithm_suite.hpp"

namespace hocket {
namespace {

class EveryReduction : public testing::TestWithParam<Algorithm> {};

// EveryAlgorithm.DoesWhatItsCollectiveMeans proves it for more ranks, in place, in slices and with empty chunks too.
TEST_P(EveryReduction, SumsInRankOrderWhereItSaysSo) {
  const Algorithm& algorithm = GetParam();
  if (!algorithm.in_rank_order) return;
  for (Rank size = 1; size <= 33; ++size) {
    for (const Rank root : {0, size / 2, size - 1}) {
      if (root != 0 && !algorithm.collective->has_root()) continue;
      const Result<Verified> result = verify(algorithm, size, root, {.in_rank_order = true});
      ASSERT_TRUE(result.ok()) << result.status().message();
    }
  }
}

TEST_P(EveryReduction, SaysSoWhereItSumsInRankOrder) {
  const Algorithm& algorithm = GetParam();
  if (algorithm.in_rank_order) return;
  for (Rank size = 2; size <= 9; ++size) {
    for (VerifyCase tried : verify_cases(algorithm, size)) {
      if (tried.options.empty_from == 0) continue;
      tried.options.in_rank_order = true;
      const Result<Verified> result = verify(algorithm, size, tried.root, tried.options);
      if (result.ok()) continue;
      EXPECT_THAT(result.status().message(), testing::HasSubstr("from left to right in rank order"));
      return;
    }
  }
  ADD_FAILURE() << "sums in rank order on up to 9 ranks: say `in_rank_order` in the catalog";
}

std::vector<Algorithm> reductions() {
  std::vector<Algorithm> found;
  for (const Algorithm& algorithm : catalog()) {
    if (algorithm.collective->reduces()) found.push_back(algorithm);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryReduction, testing::ValuesIn(reductions()), [](const auto& test) {
  return std::string(name_of(test.param.collective)) + "_" + std::string(test.param.name);
});

}  // namespace
}  // namespace hocket
