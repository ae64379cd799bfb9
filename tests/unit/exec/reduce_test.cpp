// Every kernel of every instruction set that this machine has, against a plain loop: sizes, alignments, aliasing and
// values at the edges of each type.
#include "src/exec/reduce.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "src/base/elements.hpp"
#include "tests/unit/exec/reduce_values.hpp"

namespace hocket {
namespace {

using namespace reduce_testing;

template <class T>
Bytes reduce_plainly(ReduceOp op, const Bytes& left, const Bytes& right) {
  Bytes result(left.size());
  for (std::size_t at = 0; at < left.size(); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, &left[at], sizeof(T));
    std::memcpy(&b, &right[at], sizeof(T));
    const T c = elements::reduce(op, a, b);
    std::memcpy(&result[at], &c, sizeof(T));
  }
  return result;
}

// ---- one kernel

enum class Alias { none, left, right, both };

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
      for (const ReduceOp op : built_in_reduce_ops) {
        if (is_defined(dtype, op)) kernels.push_back({target, dtype, op});
      }
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
    elements::visit(GetParam().dtype, [&]<class T>(T) { check_as<T>(count, where); });
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

}  // namespace
}  // namespace hocket
