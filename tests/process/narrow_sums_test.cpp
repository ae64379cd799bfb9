// Sums of narrow floats over messages: where one rank has all that it adds at hand, results have the bits that direct
// paths give, those of a sum in float32 that is rounded once.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "hocket/hocket.hpp"
#include "src/base/elements.hpp"
#include "src/spi/schedule.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/last_call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// Magnitudes over many powers of two, so that nearly every sum is rounded, and hardly ever twice with equal bits.
template <class T>
std::vector<T> inputs_of(int rank, std::size_t count) {
  std::mt19937_64 random(static_cast<unsigned>(rank) * 7919 + 1);
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double fraction = static_cast<double>(random() % 4096) / 4096 - 0.5;
    values.push_back(T(std::ldexp(fraction, static_cast<int>(random() % 8))));
  }
  return values;
}

// From left to right; how often it is rounded is told.
template <class T>
std::vector<T> folded(int size, std::size_t count, bool rounds_each) {
  std::vector<float> sums(count);
  for (int rank = 0; rank < size; ++rank) {
    const std::vector<T> inputs = inputs_of<T>(rank, count);
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] += static_cast<float>(static_cast<double>(inputs[i]));
      if (rounds_each) sums[i] = static_cast<float>(static_cast<double>(T(sums[i])));
    }
  }
  std::vector<T> results;
  for (const float sum : sums) results.push_back(T(sum));
  return results;
}

template <class T>
std::vector<T> allreduced(Child& child, hocket_comm* comm, DataType dtype, std::size_t count, bool in_place) {
  std::vector<T> input = inputs_of<T>(child.index, count), output = in_place ? input : std::vector<T>(count);
  EXPECT_EQ(hocket_allreduce(in_place ? output.data() : input.data(), output.data(), count,
                             static_cast<hocket_dtype>(dtype), HOCKET_SUM, comm, nullptr, nullptr),
            HOCKET_OK)
      << hocket_last_error();
  return output;
}

template <class T>
void expect_one_rounding(Child& child, hocket_comm* comm, DataType dtype, const std::string& algorithm) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{65}, std::size_t{10'007}, std::size_t{1'300'003}}) {
    const std::vector<T> expected = folded<T>(child.size, count, false);
    for (const bool in_place : {false, true}) {
      const std::vector<T> found = allreduced<T>(child, comm, dtype, count, in_place);
      EXPECT_TRUE(found == expected) << name_of(dtype) << ", " << count << " elements by " << algorithm;
      if (algorithm != "auto") {
        EXPECT_EQ(algorithm_of_last_call(), algorithm);
      }
      if (testing::Test::HasFailure()) return;
    }
    if (count == 10'007) {
      EXPECT_TRUE(expected != folded<T>(child.size, count, true)) << "the test could not tell";
    }
  }
}

struct NarrowSumsArrangement {
  const char* transport;
  const char* algorithm;  // auto: the direct paths
};

class NarrowSums : public testing::TestWithParam<NarrowSumsArrangement> {};

TEST_P(NarrowSums, AreRoundedOnceWhereOneRankHasAllOfThem) {
  run_ranks(4, [](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = GetParam().transport;
    options.algorithm = GetParam().algorithm;
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    const std::string algorithm = GetParam().algorithm;
    expect_one_rounding<elements::Float16>(child, comm.get(), DataType::float16, algorithm);
    expect_one_rounding<elements::BFloat16>(child, comm.get(), DataType::bfloat16, algorithm);
    expect_one_rounding<elements::Float8E5M2>(child, comm.get(), DataType::float8_e5m2, algorithm);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Over, NarrowSums,
    testing::Values(NarrowSumsArrangement{"auto", "auto"}, NarrowSumsArrangement{"shm", "linear"},
                    NarrowSumsArrangement{"shm", "two_shot"}, NarrowSumsArrangement{"tcp", "linear"},
                    NarrowSumsArrangement{"tcp", "one_shot"}, NarrowSumsArrangement{"tcp", "two_shot"}),
    [](const auto& test) { return std::string(test.param.transport) + "_" + test.param.algorithm; });

// By themselves, where the bytes are those of the ring.
TEST(NarrowSumsOverTcp, TakeTheAlgorithmThatRoundsOnceWhereBytesAllowIt) {
  run_ranks(4, [](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = "tcp";
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    constexpr std::size_t count = 100'003;
    const auto found = allreduced<elements::BFloat16>(child, comm.get(), DataType::bfloat16, count, false);
    EXPECT_EQ(algorithm_of_last_call(), "two_shot");
    EXPECT_TRUE(found == folded<elements::BFloat16>(child.size, count, false));
    std::vector<elements::BFloat16> largest(count), input = inputs_of<elements::BFloat16>(child.index, count);
    ASSERT_EQ(hocket_allreduce(input.data(), largest.data(), count, HOCKET_BFLOAT16, HOCKET_MAX, comm.get(), nullptr,
                               nullptr),
              HOCKET_OK);
    EXPECT_NE(algorithm_of_last_call(), "two_shot") << "nothing is rounded";
  });
}

TEST(NarrowSumsOverTcp, AreRoundedEachTimeInDeterministicMode) {
  run_ranks(4, [](Child& child) {
    for (const char* algorithm : {"linear", "one_shot", "two_shot"}) {
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.transport = "tcp";
      options.algorithm = algorithm;
      options.deterministic = 1;
      const Comm comm(&options);
      ASSERT_TRUE(comm);
      constexpr std::size_t count = 10'007;
      const auto found = allreduced<elements::BFloat16>(child, comm.get(), DataType::bfloat16, count, false);
      EXPECT_TRUE(found == folded<elements::BFloat16>(child.size, count, true)) << algorithm;
    }
  });
}

}  // namespace
}  // namespace hocket::process_testing
