// What reduction kernels promise in words, without the plain reference.
#include "src/exec/reduce.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>
#include <vector>

#include "src/base/elements.hpp"
#include "tests/unit/exec/reduce_values.hpp"

namespace hocket {
namespace {

using namespace reduce_testing;

template <class T>
T reduce_one(DataType dtype, ReduceOp op, T left, T right) {
  T to{};
  reduce_kernel(dtype, op)(reinterpret_cast<std::byte*>(&to), reinterpret_cast<const std::byte*>(&left),
                           reinterpret_cast<const std::byte*>(&right), 1);
  return to;
}

TEST(ReducePromises, IntegersWrap) {
  EXPECT_EQ(reduce_one<std::int32_t>(DataType::int32, ReduceOp::sum, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(reduce_one<std::int64_t>(DataType::int64, ReduceOp::sum, INT64_MIN, -1), INT64_MAX);
  EXPECT_EQ(reduce_one<std::int64_t>(DataType::int64, ReduceOp::prod, std::int64_t{1} << 33, -3), -(INT64_C(3) << 33));
  EXPECT_EQ(reduce_one<std::int32_t>(DataType::int32, ReduceOp::prod, 65537, 65537), 131073);
  EXPECT_EQ(reduce_one<std::uint8_t>(DataType::uint8, ReduceOp::prod, 200, 3), 88);
  EXPECT_EQ(reduce_one<std::uint8_t>(DataType::uint8, ReduceOp::sum, 255, 2), 1);
}

TEST(ReducePromises, SignedMinimumAndUnsignedMaximum) {
  EXPECT_EQ(reduce_one<std::int64_t>(DataType::int64, ReduceOp::min, -1, 1), -1);
  EXPECT_EQ(reduce_one<std::int64_t>(DataType::int64, ReduceOp::max, INT64_C(1) << 40, 1), INT64_C(1) << 40);
  EXPECT_EQ(reduce_one<std::uint8_t>(DataType::uint8, ReduceOp::max, 128, 127), 128);
}

TEST(ReducePromises, ZerosAreOrderedAndNansAreCanonical) {
  const float nan_with_payload = std::bit_cast<float>(0xFFC12345U);
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max}) {
    for (const auto& [a, b] : {std::pair{nan_with_payload, 1.0F}, {1.0F, nan_with_payload}}) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(reduce_one(DataType::float32, op, a, b)), 0x7FC00000U) << name_of(op);
    }
  }
  for (const auto& [a, b] : {std::pair{0.0, -0.0}, {-0.0, 0.0}}) {
    EXPECT_TRUE(std::signbit(reduce_one(DataType::float64, ReduceOp::min, a, b)));
    EXPECT_FALSE(std::signbit(reduce_one(DataType::float64, ReduceOp::max, a, b)));
  }
}

TEST(ReducePromises, ANanWinsOverEveryLocation) {
  using Pair = hocket_float32_int32;
  const auto both = [](ReduceOp op, Pair a, Pair b) {
    const Pair found = reduce_one(DataType::float32_int32, op, a, b);
    const Pair exchanged = reduce_one(DataType::float32_int32, op, b, a);
    EXPECT_EQ(std::memcmp(&found, &exchanged, sizeof found), 0);
    return found;
  };
  for (const ReduceOp op : {ReduceOp::minloc, ReduceOp::maxloc}) {
    EXPECT_EQ(both(op, {5, 9}, {5, 3}).index, 3) << "of equal values, the least index";
    const Pair found = both(op, {std::bit_cast<float>(0xFFC12345U), 7}, {1, 2});
    EXPECT_EQ(std::bit_cast<std::uint32_t>(found.value), 0x7FC00000U);
    EXPECT_EQ(found.index, 7);
    EXPECT_EQ(both(op, {NAN, 7}, {NAN, 6}).index, 6);
  }
  EXPECT_EQ(both(ReduceOp::minloc, {-3, 9}, {-2, 3}).index, 9);
  EXPECT_EQ(both(ReduceOp::maxloc, {-3, 9}, {-2, 3}).index, 3);
  EXPECT_TRUE(std::signbit(both(ReduceOp::minloc, {0.0F, 1}, {-0.0F, 2}).value));
}

TEST(ReducePromises, BoolsAreTruthValues) {
  const auto of = [](ReduceOp op, int a, int b) {
    return reduce_one(DataType::boolean, op, static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b));
  };
  EXPECT_EQ(of(ReduceOp::sum, 2, 1), 1);
  EXPECT_EQ(of(ReduceOp::band, 2, 1), 1);
  EXPECT_EQ(of(ReduceOp::bxor, 2, 1), 0);
  EXPECT_EQ(of(ReduceOp::prod, 2, 0), 0);
  EXPECT_EQ(of(ReduceOp::min, 255, 254), 1);
}

TEST(ReducePromises, ComplexNumbersAreMultipliedAsSuch) {
  using Number = std::complex<float>;
  EXPECT_EQ(reduce_one(DataType::complex64, ReduceOp::prod, Number(1, 2), Number(3, -4)), Number(11, 2));
}

template <class T>
std::uint64_t bits_of_product(DataType dtype, double a, double b) {
  return reduce_one(dtype, ReduceOp::prod, T(a), T(b)).bits();
}

TEST(ReducePromises, NarrowFloatsOverflowAsTheirFormatSays) {
  using namespace elements;
  EXPECT_EQ(bits_of_product<Float16>(DataType::float16, -60000, 2), 0xFC00U);
  EXPECT_EQ(bits_of_product<BFloat16>(DataType::bfloat16, 0x1p100, 0x1p100), 0x7F80U);
  EXPECT_EQ(bits_of_product<Float8E5M2>(DataType::float8_e5m2, 57344, 2), 0x7CU);
  EXPECT_EQ(bits_of_product<Float8E4M3>(DataType::float8_e4m3, 224, 2), 0x7EU) << "448, the largest number";
  EXPECT_EQ(bits_of_product<Float8E4M3>(DataType::float8_e4m3, -448, 2), 0x7FU) << "NaN in place of infinity";
  EXPECT_EQ(bits_of_product<Float16>(DataType::float16, 0x1p-24, 0.5), 0U) << "half of the smallest: to even";
  EXPECT_EQ(bits_of_product<Float16>(DataType::float16, 0x1p-24, 0.75), 1U);
}

// 1 + 16 times 2^-11 is 1 if each sum is rounded, and 1 + 2^-7 if the whole is.
TEST(ReducePromises, NarrowFloatsAreRoundedOnceWhereAllAreAtHand) {
  using elements::Float16;
  const Float16 one(1), small(0x1p-11);
  std::vector<const std::byte*> sources = {reinterpret_cast<const std::byte*>(&one)};
  for (int i = 0; i < 16; ++i) sources.push_back(reinterpret_cast<const std::byte*>(&small));
  const Reduction sum = reduction_for(DataType::float16, ReduceOp::sum, 17);
  Float16 at_once, in_turn = one;
  sum.all(reinterpret_cast<std::byte*>(&at_once), sources.data(), sources.size(), 0, 1, 1);
  for (int i = 0; i < 16; ++i) in_turn = reduce_one(DataType::float16, ReduceOp::sum, in_turn, small);
  EXPECT_EQ(static_cast<double>(at_once), 1 + 0x1p-7);
  EXPECT_EQ(static_cast<double>(in_turn), 1);
}

// Every narrow float there is, multiplied by one: the widening and the rounding of every instruction set.
TEST(ReducePromises, EveryNarrowFloatSurvivesTheWayThere) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::GetChosenTarget().Update(target);
    for (const DataType dtype : all_data_types) {
      elements::visit(dtype, [&]<class T>(T) {
        if constexpr (elements::Narrow<T>) {
          std::vector<T> all;
          for (std::uint32_t bits = 0; bits < 1U << (8 * sizeof(T)); ++bits) {
            all.push_back(T::from_bits(static_cast<typename T::Bits>(bits)));
          }
          const std::vector<T> ones(all.size(), T(1));
          std::vector<T> found(all.size());
          reduce_kernel(dtype, ReduceOp::prod)(reinterpret_cast<std::byte*>(found.data()),
                                               reinterpret_cast<const std::byte*>(all.data()),
                                               reinterpret_cast<const std::byte*>(ones.data()), all.size());
          for (std::size_t i = 0; i < all.size(); ++i) {
            const T expected = all[i].is_nan() ? T(NAN) : all[i];
            ASSERT_EQ(found[i].bits(), expected.bits()) << name_of(dtype) << ", " << hwy::TargetName(target);
            ASSERT_EQ(T(static_cast<double>(all[i])).bits(), expected.bits()) << name_of(dtype) << ", the reference";
          }
        }
      });
    }
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(ReducePromises, AveragesOfIntegersAreCutTowardZero) {
  const Reduction average = reduction_for(DataType::int8, ReduceOp::avg, 200);  // more than an int8 holds
  std::int8_t values[] = {-128, 127};
  average.divide(reinterpret_cast<std::byte*>(values), 2, average.divisor);
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[1], 0);
  const Reduction of_three = reduction_for(DataType::int32, ReduceOp::avg, 3);
  std::int32_t number = -8;
  of_three.divide(reinterpret_cast<std::byte*>(&number), 1, of_three.divisor);
  EXPECT_EQ(number, -2);
}

TEST(ReducePromises, UnknownAndMeaninglessPairsHaveNoKernel) {
  EXPECT_EQ(reduce_kernel(static_cast<DataType>(200), ReduceOp::sum), nullptr);
  EXPECT_EQ(reduce_kernel(DataType::uint8, static_cast<ReduceOp>(200)), nullptr);
  EXPECT_EQ(reduce_kernel(DataType::float32, ReduceOp::band), nullptr);
  EXPECT_EQ(reduce_kernel(DataType::complex64, ReduceOp::min), nullptr);
  EXPECT_EQ(reduce_kernel(DataType::int32, ReduceOp::maxloc), nullptr);
  EXPECT_EQ(reduce_kernel(DataType::int32_int32, ReduceOp::sum), nullptr);
}

TEST(ReducePromises, ReductionKnowsItsElement) {
  for (const DataType dtype : all_data_types) {
    for (const ReduceOp op : built_in_reduce_ops) {
      const Reduction reduction = reduction_for(dtype, op, 3);
      EXPECT_EQ(reduction.kernel, reduce_kernel(dtype, op));
      EXPECT_EQ(reduction.kernel != nullptr, is_defined(dtype, op)) << name_of(dtype) << " " << name_of(op);
      EXPECT_EQ(reduction.element_bytes, size_of(dtype));
      EXPECT_EQ(reduction.divide != nullptr, op == ReduceOp::avg && is_defined(dtype, op));
      EXPECT_FALSE(reduction.swapped);
    }
  }
}

}  // namespace
}  // namespace hocket
