// The benchmark's data and its check: a check that cannot fail would be worth nothing.
#include "bench/data.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace hocket::bench {
namespace {

// Whether an operand that is taken twice changes nothing.
template <class T>
bool is_idempotent(ReduceOp op) {
  if (std::same_as<T, elements::Bool>) return op != ReduceOp::bxor;
  return !detail::is_sum(op) && op != ReduceOp::prod && op != ReduceOp::bxor;
}

template <class T>
DataType dtype_of_type() {
  for (const DataType dtype : all_data_types) {
    if (elements::visit(dtype, []<class Other>(Other) { return std::same_as<T, Other>; })) return dtype;
  }
  return DataType::uint8;
}

template <class T>
class BenchData : public testing::Test {
 protected:
  const DataType dtype = dtype_of_type<T>();

  static std::vector<ReduceOp> ops() {
    std::vector<ReduceOp> defined;
    for (const ReduceOp op : built_in_reduce_ops) {
      if (is_defined(dtype_of_type<T>(), op)) defined.push_back(op);
    }
    return defined;
  }

  static std::vector<T> input(const Pattern& pattern, int source, std::size_t first, std::size_t count) {
    std::vector<T> values(count);
    pattern.fill(source, first, values.data(), count);
    return values;
  }
  // The inputs of `ranks`, reduced in the order given.
  static std::vector<T> reduced(const Pattern& pattern, const std::vector<int>& ranks, ReduceOp op, std::size_t count) {
    std::vector<T> sum = operand(pattern, ranks.front(), op, count);
    for (std::size_t i = 1; i < ranks.size(); ++i) {
      const std::vector<T> next = operand(pattern, ranks[i], op, count);
      for (std::size_t k = 0; k < count; ++k) sum[k] = elements::reduce(op, sum[k], next[k]);
    }
    return finished(std::move(sum), op, ranks.size());
  }
  // Pairs of pairs, as a tree does it.
  static std::vector<T> reduced_as_tree(const Pattern& pattern, int ranks, ReduceOp op, std::size_t count) {
    std::vector<std::vector<T>> level;
    for (int rank = 0; rank < ranks; ++rank) level.push_back(operand(pattern, rank, op, count));
    while (level.size() > 1) {
      std::vector<std::vector<T>> above;
      for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
        for (std::size_t k = 0; k < count; ++k) level[i][k] = elements::reduce(op, level[i][k], level[i + 1][k]);
        above.push_back(std::move(level[i]));
      }
      if (level.size() % 2 == 1) above.push_back(std::move(level.back()));
      level = std::move(above);
    }
    return finished(std::move(level.front()), op, static_cast<std::size_t>(ranks));
  }
  // An input as it is combined.
  static std::vector<T> operand(const Pattern& pattern, int rank, ReduceOp op, std::size_t count) {
    std::vector<T> values = input(pattern, rank, 0, count);
    for (T& value : values) value = detail::prepared(op, value);
    return values;
  }
  static std::vector<T> finished(std::vector<T> sums, ReduceOp op, std::size_t ranks) {
    for (T& sum : sums) sum = detail::finished(op, sum, static_cast<int>(ranks));
    return sums;
  }
  static std::vector<int> all_ranks(int ranks) {
    std::vector<int> order(static_cast<std::size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
};

using ElementTypes =
    testing::Types<float, double, std::int32_t, std::int64_t, std::uint8_t, std::int8_t, std::int16_t, std::uint16_t,
                   std::uint32_t, std::uint64_t, elements::Float16, elements::BFloat16, elements::Float8E4M3,
                   elements::Float8E5M2, elements::Bool, std::complex<float>, std::complex<double>,
                   hocket_float32_int32, hocket_float64_int64, hocket_int32_int32, hocket_int64_int64>;
TYPED_TEST_SUITE(BenchData, ElementTypes);

TYPED_TEST(BenchData, EveryOrderOfReductionGivesTheExpectedResult) {
  constexpr std::size_t count = Pattern::period + 100;
  for (const ReduceOp op : TestFixture::ops()) {
    for (const int ranks : {1, 2, 3, 7, 16, 257}) {
      const auto pattern = make_pattern(this->dtype, ranks, op, 1);
      std::vector<int> order = TestFixture::all_ranks(ranks);
      const auto forwards = TestFixture::reduced(*pattern, order, op, count);
      EXPECT_EQ(pattern->count_wrong(reduction, 0, forwards.data(), count), 0u) << name_of(op) << " " << ranks;
      std::ranges::reverse(order);
      const auto backwards = TestFixture::reduced(*pattern, order, op, count);
      EXPECT_EQ(pattern->count_wrong(reduction, 0, backwards.data(), count), 0u) << name_of(op) << " " << ranks;
      const auto tree = TestFixture::reduced_as_tree(*pattern, ranks, op, count);
      EXPECT_EQ(pattern->count_wrong(reduction, 0, tree.data(), count), 0u) << name_of(op) << " " << ranks;
    }
  }
}

TYPED_TEST(BenchData, AMissingOrDoubledRankShows) {
  constexpr std::size_t count = 1000;
  constexpr int ranks = 5;
  for (const ReduceOp op : TestFixture::ops()) {
    const auto pattern = make_pattern(this->dtype, ranks, op, 1);
    for (int victim = 0; victim < ranks; ++victim) {
      std::vector<int> order = TestFixture::all_ranks(ranks);
      std::erase(order, victim);
      const auto missing = TestFixture::reduced(*pattern, order, op, count);
      EXPECT_GT(pattern->count_wrong(reduction, 0, missing.data(), count), 0u) << name_of(op) << " " << victim;
      if (is_idempotent<TypeParam>(op)) continue;  // where twice is as good as once
      order = TestFixture::all_ranks(ranks);
      order.push_back(victim);
      const auto doubled = TestFixture::reduced(*pattern, order, op, count);
      EXPECT_GT(pattern->count_wrong(reduction, 0, doubled.data(), count), 0u) << name_of(op) << " " << victim;
    }
  }
}

TYPED_TEST(BenchData, OneFlippedBitIsOneWrongElement) {
  constexpr std::size_t count = 3 * Pattern::period;
  const auto pattern = make_pattern(this->dtype, 4, TestFixture::ops().front(), 1);
  for (const std::size_t at : {std::size_t{0}, Pattern::period - 1, Pattern::period, count - 1}) {
    auto values = TestFixture::input(*pattern, reduction, 0, count);
    reinterpret_cast<unsigned char*>(&values[at])[sizeof(TypeParam) - 1] ^= 1;
    EXPECT_EQ(pattern->count_wrong(reduction, 0, values.data(), count), 1u) << at;
  }
}

TYPED_TEST(BenchData, ShiftedSwappedOrStaleDataIsWrong) {
  constexpr std::size_t count = 5000;
  const auto pattern = make_pattern(this->dtype, 4, std::nullopt, 1);
  const auto values = TestFixture::input(*pattern, 2, 10, count);
  EXPECT_EQ(pattern->count_wrong(2, 10, values.data(), count), 0u);
  EXPECT_GT(pattern->count_wrong(2, 11, values.data(), count), count / 4);
  EXPECT_GT(pattern->count_wrong(2, 10 + 4096, values.data(), count), count / 4);
  EXPECT_GT(pattern->count_wrong(3, 10, values.data(), count), count / 4);
  const auto later = make_pattern(this->dtype, 4, std::nullopt, 2);
  EXPECT_GT(later->count_wrong(2, 10, values.data(), count), count / 4);
}

TEST(BenchDataFloat, NotANumberIsWrong) {
  const auto pattern = make_pattern(DataType::float32, 2, ReduceOp::max, 1);
  std::vector<float> values(10);
  pattern->fill(reduction, 0, values.data(), values.size());
  values[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(pattern->count_wrong(reduction, 0, values.data(), values.size()), 1u);
}

TEST(BenchDataFloat, ProductsOfManyRanksStayFinite) {
  const auto pattern = make_pattern(DataType::float32, 257, ReduceOp::prod, 3);
  std::vector<float> values(Pattern::period);
  pattern->fill(reduction, 0, values.data(), values.size());
  for (const float value : values) ASSERT_TRUE(std::isnormal(value));
}

}  // namespace
}  // namespace hocket::bench
