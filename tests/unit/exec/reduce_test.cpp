// Every kernel of every instruction set that this machine has, against a plain loop: sizes, alignments, aliasing and
// values at the edges of each type.
#include "src/exec/reduce.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace hocket {
namespace {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

// ---- the plain reference

template <class T>
T canonical(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

template <class T>
T combine_floats(ReduceOp op, T a, T b) {
  switch (op) {
    case ReduceOp::sum: return canonical(a + b);
    case ReduceOp::prod: return canonical(a * b);
    case ReduceOp::min:
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
      return a < b || (a == b && std::signbit(a)) ? a : b;
    case ReduceOp::max:
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
      return a > b || (a == b && !std::signbit(a)) ? a : b;
  }
  return a;
}

template <class T>
T combine_integers(ReduceOp op, T a, T b) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  switch (op) {
    case ReduceOp::sum: return static_cast<T>(x + y);
    case ReduceOp::prod: return static_cast<T>(x * y);
    case ReduceOp::min: return a < b ? a : b;
    case ReduceOp::max: return a > b ? a : b;
  }
  return a;
}

template <class T>
Bytes reduce_plainly(ReduceOp op, const Bytes& left, const Bytes& right) {
  Bytes result(left.size());
  for (std::size_t at = 0; at < left.size(); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, &left[at], sizeof(T));
    std::memcpy(&b, &right[at], sizeof(T));
    T c;
    if constexpr (std::is_floating_point_v<T>) {
      c = combine_floats(op, a, b);
    } else {
      c = combine_integers(op, a, b);
    }
    std::memcpy(&result[at], &c, sizeof(T));
  }
  return result;
}

// ---- values

// Mostly any bits; often what reductions get wrong.
template <class T>
T any_value(Random& random) {
  using Limits = std::numeric_limits<T>;
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint8_t>>;
  const auto bits = static_cast<Bits>(random());
  if (random() % 2 == 0) return std::bit_cast<T>(bits);
  if constexpr (std::is_floating_point_v<T>) {
    constexpr auto exponent = std::bit_cast<Bits>(Limits::infinity());
    const T pool[] = {T(0),
                      -T(0),
                      Limits::infinity(),
                      -Limits::infinity(),
                      Limits::quiet_NaN(),
                      Limits::max(),
                      Limits::min(),
                      Limits::lowest(),
                      Limits::denorm_min(),
                      T(1),
                      -T(1),
                      std::bit_cast<T>(static_cast<Bits>(exponent | bits | 1))};  // a NaN with any sign and payload
    return pool[random() % std::size(pool)];
  } else {
    const T pool[] = {T(0), T(1), Limits::min(), Limits::max(), static_cast<T>(Limits::max() - 1), static_cast<T>(-1)};
    return pool[random() % std::size(pool)];
  }
}

template <class T>
Bytes any_values(Random& random, std::size_t count) {
  Bytes bytes(count * sizeof(T));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    const T value = any_value<T>(random);
    std::memcpy(&bytes[at], &value, sizeof(T));
  }
  return bytes;
}

// ---- one kernel

enum class Alias { none, left, right, both };

// A copy of some bytes at a chosen distance from a 64-byte boundary, between bytes that nobody may write.
class Guarded {
 public:
  Guarded(const Bytes& bytes, std::size_t misalignment)
      : memory_(bytes.size() + 3 * fence, canary), size_(bytes.size()) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    start_ = (fence - address % fence) % fence + fence / 2 + misalignment % (fence / 2);
    if (size_ > 0) std::memcpy(data(), bytes.data(), size_);
  }
  std::byte* data() { return memory_.data() + start_; }
  Bytes take() const {
    const auto first = memory_.begin() + static_cast<std::ptrdiff_t>(start_);
    return Bytes(first, first + static_cast<std::ptrdiff_t>(size_));
  }
  bool fences_stand() const {
    for (std::size_t at = 0; at < memory_.size(); ++at) {
      if ((at < start_ || at >= start_ + size_) && memory_[at] != canary) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t fence = 128;
  static constexpr std::byte canary{0xA5};

  Bytes memory_;
  std::size_t start_ = 0;
  std::size_t size_;
};

struct Where {
  Alias alias = Alias::none;
  std::size_t to = 0, left = 0, right = 0;  // misalignments
};

Bytes run_kernel(ReduceKernel kernel, const Bytes& left, const Bytes& right, std::size_t count, const Where& where) {
  Guarded a(left, where.left);
  Guarded b(right, where.right);
  Guarded c(Bytes(left.size(), std::byte{0x5A}), where.to);
  Guarded& to = where.alias == Alias::none ? c : where.alias == Alias::right ? b : a;
  kernel(to.data(), a.data(), where.alias == Alias::both ? a.data() : b.data(), count);
  EXPECT_TRUE(a.fences_stand() && b.fences_stand() && c.fences_stand());
  EXPECT_TRUE(&to == &a || a.take() == left) << "the left operand changed";
  EXPECT_TRUE(&to == &b || b.take() == right) << "the right operand changed";
  return to.take();
}

// ---- the suite: instruction set × dtype × op

struct Kernel {
  std::int64_t target;
  DataType dtype;
  ReduceOp op;
};

std::vector<Kernel> all_kernels() {
  std::vector<Kernel> kernels;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    for (const DataType dtype : all_data_types) {
      for (const ReduceOp op : all_reduce_ops) kernels.push_back({target, dtype, op});
    }
  }
  return kernels;
}

std::string name_of_kernel(const testing::TestParamInfo<Kernel>& info) {
  return std::string(hwy::TargetName(info.param.target)) + "_" + std::string(name_of(info.param.dtype)) + "_" +
         std::string(name_of(info.param.op));
}

class ReduceTest : public testing::TestWithParam<Kernel> {
 protected:
  void SetUp() override {
    hwy::GetChosenTarget().Update(GetParam().target);
    kernel_ = reduce_kernel(GetParam().dtype, GetParam().op);
    ASSERT_NE(kernel_, nullptr);
  }
  void TearDown() override { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }

  void check(std::size_t count, const Where& where) {
    switch (GetParam().dtype) {
      case DataType::float32: return check_as<float>(count, where);
      case DataType::float64: return check_as<double>(count, where);
      case DataType::int32: return check_as<std::int32_t>(count, where);
      case DataType::int64: return check_as<std::int64_t>(count, where);
      case DataType::uint8: return check_as<std::uint8_t>(count, where);
    }
    FAIL() << "a dtype without a reference";
  }

  Random random_{20260101};

 private:
  template <class T>
  void check_as(std::size_t count, const Where& where) {
    ASSERT_EQ(sizeof(T), size_of(GetParam().dtype));
    const Bytes left = any_values<T>(random_, count);
    const Bytes right = where.alias == Alias::both ? left : any_values<T>(random_, count);
    const Bytes result = run_kernel(kernel_, left, right, count, where);
    const Bytes expected = reduce_plainly<T>(GetParam().op, left, right);
    const auto wrong = std::mismatch(result.begin(), result.end(), expected.begin()).first - result.begin();
    ASSERT_EQ(result, expected) << count << " elements, first wrong byte at " << wrong << ", alias "
                                << static_cast<int>(where.alias) << ", misalignments " << where.to << " " << where.left
                                << " " << where.right;
    ASSERT_EQ(run_kernel(kernel_, right, left, count, {}), expected) << "operands exchanged, " << count << " elements";
  }

  ReduceKernel kernel_ = nullptr;
};

constexpr Alias all_aliases[] = {Alias::none, Alias::left, Alias::right, Alias::both};

TEST_P(ReduceTest, EverySmallCount) {
  for (std::size_t count = 0; count <= 130; ++count) {
    for (const Alias alias : all_aliases) {
      check(count, {alias, random_() % 64, random_() % 64, random_() % 64});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ReduceTest, CountsAroundManyVectors) {
  for (const std::size_t count : {255, 256, 257, 1000, 1023, 4096, 4099, 65537}) {
    for (const Alias alias : all_aliases) {
      check(count, {alias, random_() % 64, random_() % 64, random_() % 64});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ReduceTest, EveryMisalignment) {
  for (const std::size_t count : {3, 75}) {
    for (std::size_t offsets = 0; offsets < 9 * 9 * 9; ++offsets) {
      check(count, {Alias::none, offsets % 9, offsets / 9 % 9, offsets / 81});
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllKernels, ReduceTest, testing::ValuesIn(all_kernels()), name_of_kernel);

// ---- the promises in words, without the reference

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
  for (const ReduceOp op : all_reduce_ops) {
    for (const auto& [a, b] : {std::pair{nan_with_payload, 1.0F}, {1.0F, nan_with_payload}}) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(reduce_one(DataType::float32, op, a, b)), 0x7FC00000U) << name_of(op);
    }
  }
  for (const auto& [a, b] : {std::pair{0.0, -0.0}, {-0.0, 0.0}}) {
    EXPECT_TRUE(std::signbit(reduce_one(DataType::float64, ReduceOp::min, a, b)));
    EXPECT_FALSE(std::signbit(reduce_one(DataType::float64, ReduceOp::max, a, b)));
  }
}

TEST(ReducePromises, UnknownPairsHaveNoKernel) {
  EXPECT_EQ(reduce_kernel(static_cast<DataType>(200), ReduceOp::sum), nullptr);
  EXPECT_EQ(reduce_kernel(DataType::uint8, static_cast<ReduceOp>(200)), nullptr);
}

TEST(ReducePromises, ReductionKnowsItsElement) {
  for (const DataType dtype : all_data_types) {
    for (const ReduceOp op : all_reduce_ops) {
      const Reduction reduction = reduction_for(dtype, op);
      EXPECT_EQ(reduction.kernel, reduce_kernel(dtype, op));
      EXPECT_EQ(reduction.element_bytes, size_of(dtype));
      EXPECT_FALSE(reduction.swapped);
    }
  }
}

}  // namespace
}  // namespace hocket
