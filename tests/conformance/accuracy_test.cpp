// How often each algorithm rounds, as docs/reference/accuracy.md states it, and that its sums are as accurate as
// follows from that, on data that makes it hard.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "bench/accuracy/measurement.hpp"
#include "src/plan/text.hpp"

namespace hocket::accuracy {
namespace {

// Of the ranks and the hosts that they are on.
using Count = std::uint32_t (*)(std::uint32_t ranks, std::uint32_t hosts);

constexpr std::uint32_t floor_log2(std::uint32_t value) {
  return value < 2 ? 0 : 1 + floor_log2(value / 2);
}
constexpr std::uint32_t ceil_log2(std::uint32_t value) {
  return value < 2 ? 0 : 1 + floor_log2(value - 1);
}
constexpr std::uint32_t one(std::uint32_t, std::uint32_t) {
  return 1;
}
constexpr std::uint32_t others(std::uint32_t ranks, std::uint32_t) {
  return ranks - 1;
}
constexpr std::uint32_t log2_down(std::uint32_t ranks, std::uint32_t) {
  return floor_log2(ranks);
}
constexpr std::uint32_t log2_up(std::uint32_t ranks, std::uint32_t) {
  return ceil_log2(ranks);
}
constexpr std::uint32_t sides(std::uint32_t ranks, std::uint32_t) {
  const Grid grid = grid_of(static_cast<Rank>(ranks));
  return static_cast<std::uint32_t>(grid.rows + grid.columns - 2);
}
constexpr std::uint32_t each_host(std::uint32_t ranks, std::uint32_t hosts) {
  return std::min(hosts, ranks - 1);
}
constexpr std::uint32_t on_host_and_between(std::uint32_t, std::uint32_t hosts) {
  return hosts == 1 ? 1 : 2;
}

struct Stated {
  Collective collective;
  std::string_view algorithm;
  Count most;           // roundings
  bool exactly = true;  // so many it is with any number of ranks
};

// The table of docs/reference/accuracy.md.
constexpr Stated stated[] = {
    {Collective::allreduce, "ring", others},
    {Collective::allreduce, "recursive_doubling", log2_up},
    {Collective::allreduce, "circulant", log2_up, false},
    {Collective::allreduce, "rabenseifner", log2_up},
    {Collective::allreduce, "binomial_tree", log2_down},
    {Collective::allreduce, "double_tree", log2_down},
    {Collective::allreduce, "torus", sides},
    {Collective::allreduce, "one_shot", one},
    {Collective::allreduce, "two_shot", one},
    {Collective::allreduce, "linear", one},
    {Collective::allreduce, "ordered_chain", others},
    {Collective::allreduce, "two_level", each_host, false},
    {Collective::reduce, "binomial_tree", log2_down},
    {Collective::reduce, "chain", others},
    {Collective::reduce, "double_tree", log2_up},
    {Collective::reduce, "linear", one},
    {Collective::reduce, "ordered_chain", others},
    {Collective::reduce_scatter, "ring", others},
    {Collective::reduce_scatter, "direct", one},
    {Collective::reduce_scatter, "circulant", log2_up, false},
    {Collective::reduce_scatter, "pat", log2_down},
    {Collective::reduce_scatter, "torus", sides},
    {Collective::reduce_scatter, "recursive_halving", log2_up},
    {Collective::reduce_scatter, "linear", one},
    {Collective::reduce_scatter, "ordered_chain", others},
    {Collective::reduce_scatter, "two_level", on_host_and_between, false},
    {Collective::scan, "recursive_doubling", log2_up, false},
    {Collective::scan, "prefix_chain", others},
    {Collective::exscan, "recursive_doubling",
     [](std::uint32_t ranks, std::uint32_t) { return 2 * ceil_log2(ranks) - 2; }, false},
    {Collective::exscan, "prefix_chain", [](std::uint32_t ranks, std::uint32_t) { return ranks - 2; }},
};

std::vector<Algorithm> summing() {
  std::vector<Algorithm> found;
  std::ranges::copy_if(catalog(), std::back_inserter(found), [](const Algorithm& algorithm) {
    return algorithm.collective->reduces() && !algorithm.encoded;
  });
  return found;
}

class EverySum : public testing::TestWithParam<Algorithm> {
 protected:
  // Calls visit(call) for each number of ranks, root and grouping that is tried.
  template <class Visit>
  void for_each_call(const std::vector<Rank>& sizes, Visit visit) {
    for (const Rank size : sizes) {
      for (const Topology& topology : GetParam().by_host ? verify_topologies(size) : std::vector<Topology>{{}}) {
        for (const Rank root : {0, size - 1}) {
          if (root != 0 && !GetParam().collective->takes_root()) continue;
          SCOPED_TRACE(std::to_string(size) + " ranks, root " + std::to_string(root) + ", hosts " +
                       describe(topology, size));
          visit(Call{
              .algorithm = &GetParam(), .dtype = DataType::bfloat16, .size = size, .root = root, .topology = topology});
          if (HasFailure()) return;
        }
      }
    }
  }
};

TEST_P(EverySum, IsRoundedAsOftenAsIsStated) {
  const auto* row = std::ranges::find_if(stated, [&](const Stated& each) {
    return each.collective == GetParam().collective && each.algorithm == GetParam().name;
  });
  ASSERT_NE(row, std::end(stated)) << "docs/reference/accuracy.md, and the table above, say nothing of it";
  std::vector<Rank> sizes(32);
  for (Rank size = 2; size <= 33; ++size) sizes[static_cast<std::size_t>(size) - 2] = size;
  for_each_call(sizes, [&](const Call& call) {
    const auto counted = roundings(call);
    ASSERT_TRUE(counted.ok()) << counted.status().message();
    const auto hosts = static_cast<std::uint32_t>(call.topology.hosts());
    const std::uint32_t most = row->most(static_cast<std::uint32_t>(call.size), hosts);
    EXPECT_LE(*counted, most);
    if (row->exactly) {
      EXPECT_EQ(*counted, most);
    }
  });
}

TEST_P(EverySum, IsWithinItsBound) {
  for_each_call({2, 3, 4, 5, 7, 8, 16, 33}, [&](Call call) {
    if (call.size > 8 && call.topology.hosts() > 2) return;
    for (const DataType dtype : all_data_types) {
      if (!is_measured(dtype)) continue;
      call.dtype = dtype;
      for (const bool deterministic : {false, true}) {
        call.deterministic = deterministic;
        const auto most = bound(call);
        ASSERT_TRUE(most.ok()) << most.status().message();
        for (const Data data : all_data) {
          const auto errors = measure(call, data, 150);
          ASSERT_TRUE(errors.ok()) << errors.status().message();
          EXPECT_LE(errors->largest, *most) << name_of(dtype) << ", data " << static_cast<int>(data)
                                            << (deterministic ? ", every operation rounds" : "");
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Catalog, EverySum, testing::ValuesIn(summing()), [](const auto& test) {
  return std::string(name_of(test.param.collective)) + "_" + std::string(test.param.name);
});

// The measurement would notice: the same algorithm, rounding every time, is beyond the bound of rounding once.
TEST(Accuracy, OfSumsThatAreRoundedEachTimeIsBeyondTheBoundOfOneRounding) {
  for (const DataType dtype : {DataType::float16, DataType::bfloat16, DataType::float8_e4m3}) {
    for (const char* name : {"one_shot", "two_shot", "linear"}) {
      Call call{.algorithm = find_algorithm(Collective::allreduce, name), .dtype = dtype, .size = 8};
      const auto most = bound(call);
      ASSERT_TRUE(most.ok());
      call.deterministic = true;
      const auto errors = measure(call, Data::absorbed, 64);
      ASSERT_TRUE(errors.ok()) << errors.status().message();
      EXPECT_GT(errors->largest, *most) << name << " of " << name_of(dtype);
    }
  }
}

}  // namespace
}  // namespace hocket::accuracy
