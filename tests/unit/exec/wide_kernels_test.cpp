// Sums of narrow floats in float32, on every instruction set: compared with the plain definitions, bit for bit.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstring>
#include <vector>

#include "src/exec/kernels/kernels.hpp"
#include "src/exec/reduce.hpp"
#include "tests/unit/exec/reduce_values.hpp"

namespace hocket {
namespace {

using namespace reduce_testing;

struct WideKernel {
  ReduceKernel WideKernels::*which;
  const char* name;
  bool left_is_wide, to_is_wide;
};
constexpr WideKernel kernels_of[] = {{&WideKernels::begin, "begin", false, true},
                                     {&WideKernels::add, "add", true, true},
                                     {&WideKernels::end, "end", true, false}};
constexpr ReduceOp ops[] = {ReduceOp::sum, ReduceOp::prod};

std::vector<DataType> narrow_types() {
  std::vector<DataType> found;
  for (const DataType dtype : all_data_types) {
    if (info_of(dtype).kind == Kind::narrow_float) found.push_back(dtype);
  }
  return found;
}

class WideKernelsTest : public testing::TestWithParam<DataType> {
 protected:
  void TearDown() override { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }

  template <class T>
  void check(const WideKernel& kernel, ReduceOp op, std::size_t count) {
    const std::size_t left_bytes = kernel.left_is_wide ? wide_element_bytes : sizeof(T);
    const std::size_t to_bytes = kernel.to_is_wide ? wide_element_bytes : sizeof(T);
    const Bytes left = kernel.left_is_wide ? any_values<float>(random_, count) : any_values<T>(random_, count);
    const Bytes right = any_values<T>(random_, count);
    Bytes expected(count * to_bytes);
    (kernels::wide_plain(GetParam(), op)->*kernel.which)(expected.data(), left.data(), right.data(), count);

    const ReduceKernel tried = reduction_for(GetParam(), op, 3).wide->*kernel.which;
    Guarded from(left, random_() % 64), incoming(right, random_() % 64), to(nullptr, count * to_bytes, random_() % 64);
    tried(to.data(), from.data(), incoming.data(), count);
    ASSERT_EQ(to.take(), expected) << kernel.name << ", " << count << " elements";
    ASSERT_TRUE(to.fences_stand());
    // The result may lie where an operand of its width does.
    Guarded& operand = left_bytes == to_bytes ? from : incoming;
    if (left_bytes != to_bytes && to_bytes != sizeof(T)) return;
    tried(operand.data(), from.data(), incoming.data(), count);
    ASSERT_EQ(operand.take(), expected) << kernel.name << " in place, " << count << " elements";
  }

  Random random_{20261125};
};

TEST_P(WideKernelsTest, AreAsPlainlyDefined) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::GetChosenTarget().Update(target);
    elements::visit(GetParam(), [&]<class T>(T) {
      if constexpr (elements::Narrow<T>) {
        for (const ReduceOp op : ops) {
          for (const WideKernel& kernel : kernels_of) {
            for (std::size_t count = 0; count < 140; ++count) {
              check<T>(kernel, op, count);
              if (HasFatalFailure()) return;
            }
            check<T>(kernel, op, 10'007);
          }
        }
      }
    });
  }
}

// One after the other they do what Reduction::all does at once, so messages and direct paths can agree.
TEST_P(WideKernelsTest, EndWhereAllOperandsAtOnceDo) {
  constexpr std::size_t number = 5, count = 1000;
  elements::visit(GetParam(), [&]<class T>(T) {
    if constexpr (elements::Narrow<T>) {
      std::vector<Bytes> inputs;
      std::vector<const std::byte*> sources;
      for (std::size_t i = 0; i < number; ++i) inputs.push_back(any_values<T>(random_, count));
      for (const Bytes& input : inputs) sources.push_back(input.data());
      for (const ReduceOp op : ops) {
        const Reduction reduction = reduction_for(GetParam(), op, number);
        Bytes at_once(count * sizeof(T)), in_turn = at_once, wide(count * wide_element_bytes);
        reduction.all(at_once.data(), sources.data(), number, 0, count, 1);
        reduction.between(false, true).combine(wide.data(), sources[0], sources[1], count);
        reduction.between(true, true).combine(wide.data(), wide.data(), sources[2], count);
        reduction.between(true, true).combine(wide.data(), wide.data(), sources[3], count);
        reduction.between(true, false).combine(in_turn.data(), wide.data(), sources[4], count);
        EXPECT_EQ(in_turn, at_once) << name_of(op);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Types, WideKernelsTest, testing::ValuesIn(narrow_types()),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST(WideKernels, AreForReductionsThatRoundNarrowFloats) {
  for (const DataType dtype : all_data_types) {
    for (const ReduceOp op : built_in_reduce_ops) {
      const bool expected = is_rounded_in_sums(dtype, op);
      EXPECT_EQ(reduction_for(dtype, op, 3).wide != nullptr, expected) << name_of(dtype) << " " << name_of(op);
    }
  }
  EXPECT_TRUE(is_rounded_in_sums(DataType::float16, ReduceOp::avg));
  EXPECT_TRUE(is_rounded_in_sums(DataType::float8_e4m3, ReduceOp::premultiplied_sum));
  EXPECT_FALSE(is_rounded_in_sums(DataType::bfloat16, ReduceOp::max));
  EXPECT_FALSE(is_rounded_in_sums(DataType::float32, ReduceOp::sum));
}

// Wide parts lie at wide distances.
TEST(WideKernels, CombineAPartWhereItBelongs) {
  using elements::BFloat16;
  const Reduction sum = reduction_for(DataType::bfloat16, ReduceOp::sum, 2).between(true, true);
  const std::vector<float> mine = {1, 2, 3};
  const std::vector<BFloat16> incoming = {BFloat16(10)};
  std::vector<float> to = {0, 0, 0};
  sum.combine_part(reinterpret_cast<std::byte*>(to.data()), reinterpret_cast<const std::byte*>(mine.data()),
                   2 * sizeof(BFloat16), reinterpret_cast<const std::byte*>(incoming.data()), sizeof(BFloat16));
  EXPECT_EQ(to, (std::vector<float>{0, 0, 13}));
}

}  // namespace
}  // namespace hocket
