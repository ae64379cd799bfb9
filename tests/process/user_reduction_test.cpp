// Reductions that callers bring: a C function with a context, commutative or not.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// x -> value * x + index, modulo 2^32. One after the other is associative, and depends on the order.
using Map = hocket_int32_int32;

std::uint32_t bits(std::int32_t number) {
  return static_cast<std::uint32_t>(number);
}

Map user_reduction_after(const Map& left, const Map& right) {
  return {static_cast<std::int32_t>(bits(left.value) * bits(right.value)),
          static_cast<std::int32_t>(bits(left.value) * bits(right.index) + bits(left.index))};
}

// The context counts calls.
void user_reduction_compose(void* to, const void* left, const void* right, size_t count, hocket_dtype dtype,
                            void* context) {
  EXPECT_EQ(dtype, HOCKET_INT32_INT32);
  for (const void* operand : {static_cast<const void*>(to), left, right}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(operand) % alignof(Map), 0U);
  }
  ++*static_cast<int*>(context);
  for (size_t i = 0; i < count; ++i) {
    static_cast<Map*>(to)[i] =
        user_reduction_after(static_cast<const Map*>(left)[i], static_cast<const Map*>(right)[i]);
  }
}

// Of element `i`; odd, so that nothing is lost.
Map user_reduction_input_at(Rank rank, std::size_t i) {
  return {static_cast<std::int32_t>(2 * (static_cast<std::size_t>(rank) + i) + 3),
          static_cast<std::int32_t>(7 * static_cast<std::size_t>(rank) + i + 1)};
}

Map output_at(Rank size, std::size_t i) {
  Map all = user_reduction_input_at(0, i);
  for (Rank rank = 1; rank < size; ++rank) all = user_reduction_after(all, user_reduction_input_at(rank, i));
  return all;
}

// Maps at a chosen distance from where they would be aligned.
class Maps {
 public:
  Maps(std::size_t count, std::size_t misalignment) : bytes_(count * sizeof(Map) + 16), misalignment_(misalignment) {}

  void* data() { return bytes_.data() + misalignment_; }
  Map get(std::size_t i) const {
    Map map;
    std::memcpy(&map, bytes_.data() + misalignment_ + i * sizeof map, sizeof map);
    return map;
  }
  void set(std::size_t i, const Map& map) {
    std::memcpy(bytes_.data() + misalignment_ + i * sizeof map, &map, sizeof map);
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t misalignment_;
};

void user_reduction_expect_in_rank_order(Collective collective, const Comm& comm, Rank rank, Rank size,
                                         std::size_t count, Rank root) {
  const bool by_block = collective == Collective::reduce_scatter;
  const std::size_t sent = by_block ? count * static_cast<std::size_t>(size) : count;
  const std::size_t first = by_block ? count * static_cast<std::size_t>(rank) : 0;
  Maps send(sent, count % 16), recv(count, count % 7);
  for (std::size_t i = 0; i < sent; ++i) send.set(i, user_reduction_input_at(rank, i));
  int calls = 0;
  hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
  options.function = user_reduction_compose;
  options.context = &calls;
  const auto issue = [&] {
    switch (collective) {
      case Collective::allreduce:
        return hocket_allreduce(send.data(), recv.data(), count, HOCKET_INT32_INT32, HOCKET_USER, comm.get(), &options,
                                nullptr);
      case Collective::reduce:
        return hocket_reduce(send.data(), recv.data(), count, HOCKET_INT32_INT32, HOCKET_USER, root, comm.get(),
                             &options, nullptr);
      default:
        return hocket_reduce_scatter(send.data(), recv.data(), count, HOCKET_INT32_INT32, HOCKET_USER, comm.get(),
                                     &options, nullptr);
    }
  };
  expect_result(issue(), HOCKET_OK);
  if (size > 1) {  // on some rank
    int all_calls = 0;
    expect_result(hocket_allreduce(&calls, &all_calls, 1, HOCKET_INT32, HOCKET_SUM, comm.get(), nullptr, nullptr),
                  HOCKET_OK);
    EXPECT_GT(all_calls, 0);
  }
  if (collective == Collective::reduce && rank != root) return;
  for (std::size_t i = 0; i < count; ++i) {
    const Map expected = output_at(size, first + i), found = recv.get(i);
    ASSERT_EQ(found.value, expected.value) << name_of(collective) << " element " << i << " of " << count;
    ASSERT_EQ(found.index, expected.index) << name_of(collective) << " element " << i << " of " << count;
  }
}

class UserReduction : public testing::TestWithParam<Ranks> {};

TEST_P(UserReduction, OperandsKeepTheOrderOfRanks) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (const std::size_t count : {1, 100, 20011}) {
      for (const Collective collective : {Collective::allreduce, Collective::reduce, Collective::reduce_scatter}) {
        for (Rank root = 0; root < (collective == Collective::reduce ? child.size : 1); ++root) {
          user_reduction_expect_in_rank_order(collective, comm, child.index, child.size, count, root);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  });
}

void user_reduction_add_floats(void* to, const void* left, const void* right, size_t count, hocket_dtype, void*) {
  for (size_t i = 0; i < count; ++i) {
    static_cast<float*>(to)[i] = static_cast<const float*>(left)[i] + static_cast<const float*>(right)[i];
  }
}

TEST_P(UserReduction, CommutativeOnesTakeAnyAlgorithm) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.function = user_reduction_add_floats;
    options.commutative = 1;
    for (const std::size_t count : {1, 5000, 300007}) {
      const std::vector<float> send(count, static_cast<float>(child.index + 1));
      std::vector<float> recv(count);
      expect_result(
          hocket_allreduce(send.data(), recv.data(), count, HOCKET_FLOAT32, HOCKET_USER, comm.get(), &options, nullptr),
          HOCKET_OK);
      const auto sum = static_cast<float>(child.size * (child.size + 1) / 2);
      EXPECT_EQ(recv, std::vector<float>(count, sum));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, UserReduction, testing::Values(1, 2, 3, 5), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Hosts, UserReduction, testing::Values("0011", "01201"), testing::PrintToStringParamName());

void throw_always(void*, const void*, const void*, size_t, hocket_dtype, void*) {
  throw std::runtime_error("no sum today");
}

TEST(UserFunctions, OneThatThrowsBreaksTheCommunicatorOnEveryRank) {
  for (const std::size_t count : {1, 100003}) {
    run_ranks(3, [count](Child& child) {
      const Comm comm;
      ASSERT_TRUE(comm);
      ASSERT_EQ(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);  // nobody is still creating it
      hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
      options.function = child.index == 0 ? throw_always : user_reduction_add_floats;
      const std::vector<float> send(count, 1.0F);
      std::vector<float> recv(count);
      expect_result(
          hocket_allreduce(send.data(), recv.data(), count, HOCKET_FLOAT32, HOCKET_USER, comm.get(), &options, nullptr),
          HOCKET_ABORTED);
      expect_message_names("the reduction function of rank 0 threw: no sum today");
      expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_ABORTED);
    });
  }
}

// Large enough that no commutative sum is taken in rank order.
TEST(UserFunctions, RanksThatChooseOtherAlgorithmsFindOut) {
  constexpr std::size_t count = 200000;
  run_ranks(3, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    ASSERT_EQ(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);  // nobody is still creating it
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.function = user_reduction_add_floats;
    options.commutative = child.index == 0 ? 1 : 0;
    options.timeout_ms = 20000;
    const std::vector<float> send(count, 1.0F);
    std::vector<float> recv(count);
    EXPECT_NE(
        hocket_allreduce(send.data(), recv.data(), count, HOCKET_FLOAT32, HOCKET_USER, comm.get(), &options, nullptr),
        HOCKET_OK);
  });
}

}  // namespace
}  // namespace hocket::process_testing
