// The kernels of hocket-bench, compiled for the host: they fill as a pattern does, and find each element that is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bench/kernels/check.hpp"

namespace hocket::bench {
namespace {

constexpr std::uint64_t threads = 5;

template <class Unit>
std::vector<Unit> some_table() {
  std::vector<Unit> table(7);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<Unit>(i * 11 + 1);
  return table;
}

template <class T>
std::uint64_t count_wrong(const std::vector<T>& found, const std::vector<T>& table, CheckArguments call) {
  std::uint64_t wrong = 0;
  call.at = found.data();
  call.table = table.data();
  call.wrong = &wrong;
  call.period = table.size() / call.units;
  for (std::uint64_t thread = 0; thread < threads; ++thread) check_share(call, thread, threads);
  return wrong;
}

template <class Unit>
class CheckKernels : public testing::Test {};
using Units = testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(CheckKernels, Units);

TYPED_TEST(CheckKernels, WhatIsFilledIsRightAndEachOtherElementIsFound) {
  const auto table = some_table<TypeParam>();
  std::vector<TypeParam> filled(100);
  constexpr std::uint64_t first = 3;
  const FillArguments fill{filled.data(), table.data(), filled.size(), first, table.size(), sizeof(TypeParam)};
  for (std::uint64_t thread = 0; thread < threads; ++thread) fill_share(fill, thread, threads);
  const CheckArguments call{
      .count = filled.size(), .first = first, .unit_bytes = sizeof(TypeParam), .units = 1, .tolerance = -1};
  EXPECT_EQ(count_wrong(filled, table, call), 0U);
  for (std::size_t i = 0; i < filled.size(); ++i) {
    auto spoiled = filled;
    spoiled[i] ^= 1;
    EXPECT_EQ(count_wrong(spoiled, table, call), 1U) << i;
  }
}

TEST(CheckKernel, AnElementOfTwoUnitsIsWrongOnce) {
  const std::vector<std::uint32_t> table = {1, 2, 3, 4};
  const CheckArguments call{.count = 3, .unit_bytes = 4, .units = 2, .tolerance = -1};
  EXPECT_EQ(count_wrong({1, 2, 3, 4, 1, 2}, table, call), 0U);
  EXPECT_EQ(count_wrong({1, 2, 0, 0, 1, 0}, table, call), 2U);
}

TEST(CheckKernel, ZerosOfFloatsMayHaveASignAndNothingElse) {
  const std::vector<float> table = {0.0F, 1.0F};
  const CheckArguments exact{.count = 2, .unit_bytes = 4, .units = 1, .sign = 1U << 31, .tolerance = -1};
  EXPECT_EQ(count_wrong({-0.0F, 1.0F}, table, exact), 0U);
  EXPECT_EQ(count_wrong({0.0F, -1.0F}, table, exact), 1U);
  CheckArguments whole = exact;
  whole.sign = 0;
  EXPECT_EQ(count_wrong({-0.0F, 1.0F}, table, whole), 1U);
}

TEST(CheckKernel, AToleranceAllowsWhatIsNearAndNoNaN) {
  const std::vector<float> table = {1.0F, 1.0F, 1.0F};
  const CheckArguments call{.count = 3, .unit_bytes = 4, .units = 1, .sign = 1U << 31, .tolerance = 0.5};
  EXPECT_EQ(count_wrong({1.5F, 0.5F, 1.0F}, table, call), 0U);
  EXPECT_EQ(count_wrong({1.6F, 0.4F, std::numeric_limits<float>::quiet_NaN()}, table, call), 3U);
}

}  // namespace
}  // namespace hocket::bench
