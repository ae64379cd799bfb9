#include "src/plan/algorithm_id.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string_view>

namespace hocket {
namespace {

// Other builds know algorithms by these numbers, wherever they stand in the catalog.
TEST(AlgorithmId, IsTheSameInEveryBuild) {
  EXPECT_EQ(id_of("ring", 1), id_of(*find_algorithm(Collective::allreduce, "ring")));
  static_assert(id_of("ring", 1) == 0xfe6d23e7U);
  static_assert(direct_paths_id == 0x283db46fU);
}

TEST(AlgorithmId, DependsOnNameAndVersion) {
  Algorithm changed = *find_algorithm(Collective::allreduce, "ring");
  const std::uint32_t before = id_of(changed);
  changed.version = 2;
  EXPECT_NE(id_of(changed), before);
  EXPECT_NE(id_of("ring", 2), id_of("ring2", 2));
}

TEST(AlgorithmId, TellsAllAlgorithmsApart) {
  std::map<std::uint32_t, std::string_view> names{{direct_paths_id, "the direct paths"}, {0, "no algorithm"}};
  for (const Algorithm& algorithm : catalog()) {
    const auto [found, added] = names.emplace(id_of(algorithm), algorithm.name);
    EXPECT_TRUE(added || found->second == algorithm.name) << algorithm.name << " and " << found->second;
  }
}

}  // namespace
}  // namespace hocket
