// All ranks hold the same bits after an allreduce of floats whose sum depends on the order of operations.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <span>
#include <string>

#include "src/base/hash.hpp"
#include "src/spi/schedule.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// Wide exponents, so that rounding differs between orders; some values are infinite, or NaNs with payloads.
template <class T>
std::vector<T> any_floats(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    if (random() % 64 == 0) {
      const std::uint64_t bits = random();
      std::memcpy(&value, &bits, sizeof value);
    } else {
      value = static_cast<T>(
          std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random), static_cast<int>(random() % 40) - 20));
    }
  }
  return values;
}

template <class T>
void say_hashes(Child& child, hocket_comm* comm, hocket_dtype dtype) {
  for (const std::size_t count : {1, 1000, 40009}) {
    for (const hocket_op op : {HOCKET_SUM, HOCKET_PROD, HOCKET_MIN, HOCKET_MAX}) {
      const auto input = any_floats<T>(count, static_cast<unsigned>(child.index) * 7919 + static_cast<unsigned>(op));
      std::vector<T> output(count);
      ASSERT_EQ(hocket_allreduce(input.data(), output.data(), count, dtype, op, comm, nullptr, nullptr), HOCKET_OK)
          << hocket_last_error();
      child.say(std::to_string(Hash().add(std::span<const T>(output)).value()));
    }
  }
}

class EqualBits : public testing::TestWithParam<Ranks> {};

TEST_P(EqualBits, OfEveryAllreduce) {
  std::vector<std::string> names = {"auto"};
  for (const Algorithm& algorithm : catalog()) {
    if (algorithm.collective == Collective::allreduce && !algorithm.encoded) names.emplace_back(algorithm.name);
  }
  ASSERT_GT(names.size(), 2U);
  ProcessGroup group(GetParam(), [&](Child& child) {
    for (const std::string& name : names) {
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.algorithm = name.c_str();
      const Comm comm(&options);
      ASSERT_TRUE(comm);
      ASSERT_NO_FATAL_FAILURE(say_hashes<float>(child, comm.get(), HOCKET_FLOAT32));
      ASSERT_NO_FATAL_FAILURE(say_hashes<double>(child, comm.get(), HOCKET_FLOAT64));
    }
  });
  constexpr int hashes_of_one_name = 2 * 3 * 4;
  for (const std::string& name : names) {
    for (int number = 0; number < hashes_of_one_name; ++number) {
      std::set<std::string> different;
      for (int index = 0; index < group.size(); ++index) different.insert(group.hear(index));
      ASSERT_EQ(different.size(), 1U) << name << ", allreduce " << number << ": the ranks hold different bits";
    }
  }
  group.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Ranks, EqualBits, testing::Values(2, 3, 4, 5, 7, 8), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Hosts, EqualBits, testing::Values("0011", "01201", "0001122", "01011010"),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::process_testing
