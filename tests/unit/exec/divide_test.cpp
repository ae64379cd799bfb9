// What averages end with and premultiplied sums begin with, and narrow floats that are rounded once: every instruction
// set against plain loops.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <string>
#include <tuple>

#include "src/exec/reduce.hpp"
#include "tests/unit/exec/reduce_values.hpp"

namespace hocket {
namespace {

using namespace reduce_testing;

class DivideTest : public testing::TestWithParam<std::tuple<std::int64_t, DataType>> {
 protected:
  void SetUp() override { hwy::GetChosenTarget().Update(std::get<0>(GetParam())); }
  void TearDown() override { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }

  // Calls function(T{}) where averages of T are defined.
  template <class Function>
  void with_type(const Function& function) {
    const DataType dtype = std::get<1>(GetParam());
    elements::visit(dtype, [&]<class T>(T) {
      if constexpr (!elements::Located<T> && !std::is_same_v<T, elements::Bool>) function(T{});
    });
  }
};

TEST_P(DivideTest, EverySmallCountAndMisalignment) {
  with_type([]<class T>(T) {
    Random random(7);
    const DataType dtype = std::get<1>(GetParam());
    for (std::size_t count = 0; count <= 140; ++count) {
      const Rank ranks = static_cast<Rank>(2 + random() % 300);
      const Bytes values = any_values<T>(random, count);
      Guarded data(values, random() % 64);
      const Reduction average = reduction_for(dtype, ReduceOp::avg, ranks);
      average.divide(data.data(), count, average.divisor);
      ASSERT_TRUE(data.fences_stand());
      const Bytes found = data.take();
      for (std::size_t at = 0; at < found.size(); at += sizeof(T)) {
        T value, quotient;
        std::memcpy(&value, &values[at], sizeof(T));
        std::memcpy(&quotient, &found[at], sizeof(T));
        const T expected = elements::divide(value, static_cast<std::uint32_t>(ranks));
        ASSERT_EQ(std::memcmp(&quotient, &expected, sizeof(T)), 0) << count << " elements, at byte " << at;
      }
    }
  });
}

TEST_P(DivideTest, ScalingMultipliesEveryElement) {
  with_type([]<class T>(T) {
    Random random(8);
    const DataType dtype = std::get<1>(GetParam());
    for (const std::size_t count : {0, 1, 100, 511, 5000}) {
      const T scalar = any_value<T>(random);
      const Bytes values = any_values<T>(random, count);
      Bytes found(values.size());
      scale(dtype, found.data(), values.data(), count, &scalar);
      for (std::size_t at = 0; at < found.size(); at += sizeof(T)) {
        T value;
        std::memcpy(&value, &values[at], sizeof(T));
        const T expected = elements::reduce(ReduceOp::prod, value, scalar);
        ASSERT_EQ(std::memcmp(&found[at], &expected, sizeof(T)), 0) << count << " elements, at byte " << at;
      }
    }
  });
}

// All operands at once and divided before the one rounding.
TEST_P(DivideTest, NarrowFloatsAreRoundedOnceInAllOps) {
  const DataType dtype = std::get<1>(GetParam());
  with_type([dtype]<class T>(T) {
    if constexpr (elements::Narrow<T>) {
      Random random(9);
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg}) {
        for (const std::size_t count : {1, 7, 33, 200}) {
          std::vector<Bytes> inputs;
          std::vector<const std::byte*> sources;
          for (int i = 0; i < 5; ++i) inputs.push_back(any_values<T>(random, count + 1));
          for (const Bytes& input : inputs) sources.push_back(input.data());
          std::vector<T> found(count);
          const Reduction reduction = reduction_for(dtype, op, 5);
          reduction.all(reinterpret_cast<std::byte*>(found.data()), sources.data(), 5, sizeof(T), count,
                        reduction.divisor);
          for (std::size_t i = 0; i < count; ++i) {
            const auto wide = [&](std::size_t source) {
              T value;
              std::memcpy(&value, &inputs[source][(i + 1) * sizeof(T)], sizeof(T));
              return static_cast<float>(static_cast<double>(value));
            };
            float sum = wide(0);
            for (std::size_t source = 1; source < 5; ++source) sum = elements::reduce(op, sum, wide(source));
            if (op == ReduceOp::avg) sum = elements::divide(sum, 5);
            ASSERT_EQ(found[i].bits(), T(sum).bits()) << name_of(op) << ", element " << i << " of " << count;
          }
        }
      }
    }
  });
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<std::int64_t, DataType>>& info) {
  return std::string(hwy::TargetName(std::get<0>(info.param))) + "_" + std::string(name_of(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(AllKernels, DivideTest,
                         testing::Combine(testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                                          testing::ValuesIn(all_data_types)),
                         name_of_case);

}  // namespace
}  // namespace hocket
