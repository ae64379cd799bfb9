// Calls that are wrong: ranks that call different things, and arguments that make no sense.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/process/support/bad_call.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// ---- ranks that disagree

struct Disagreement {
  const char* name;
  Case most, odd;                       // what most ranks call, and what the last one calls
  std::vector<std::string> in_message;  // what a message that names both calls contains
};

void PrintTo(const Disagreement& disagreement, std::ostream* out) {
  *out << disagreement.name;
}

std::vector<Disagreement> disagreements() {
  using enum Collective;
  using enum DataType;
  return {
      {"count", {.collective = allreduce, .count = 1000}, {.collective = allreduce, .count = 1001}, {"1000", "1001"}},
      {"small_count", {.collective = allreduce, .count = 1}, {.collective = allreduce, .count = 2}, {"of 1 ", "of 2 "}},
      {"large_count",
       {.collective = allreduce, .count = 3'000'000},
       {.collective = allreduce, .count = 10},
       {"3000000", "of 10 "}},
      {"dtype_of_one_size",
       {.collective = allreduce, .count = 64, .dtype = float32},
       {.collective = allreduce, .count = 64, .dtype = int32},
       {"float32", "int32"}},
      {"op",
       {.collective = allreduce, .count = 64, .op = ReduceOp::sum},
       {.collective = allreduce, .count = 64, .op = ReduceOp::max},
       {"sum", "max"}},
      {"collective",
       {.collective = allreduce, .count = 64},
       {.collective = allgather, .count = 64},
       {"allreduce", "allgather"}},
      {"barrier", {.collective = allreduce, .count = 64}, {.collective = barrier}, {"allreduce", "barrier"}},
      {"root_of_reduce",
       {.collective = reduce, .count = 64, .root = 0},
       {.collective = reduce, .count = 64, .root = 1},
       {"reduce"}},
      {"root_of_broadcast",
       {.collective = broadcast, .count = 64, .root = 0},
       {.collective = broadcast, .count = 64, .root = 1},
       {"broadcast"}},
      {"zero_count",
       {.collective = allreduce, .count = 64},
       {.collective = allreduce, .count = 0},
       {"allreduce", "64"}},
  };
}

class Mismatch : public testing::TestWithParam<std::tuple<int, Disagreement>> {};

// A rank whose part in a call is over early finds out with its next call, at the barrier at the latest.
TEST_P(Mismatch, IsAnErrorOnAllRanksThatNamesBothCalls) {
  const auto& [size, disagreement] = GetParam();
  run_ranks(size, [&, ranks = size, &what = disagreement](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = 15'000;  // the latest moment for a library that finds out by waiting
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    Call(Case{.count = 10}, child.index, child.size).run(comm.get());
    Call call(child.index == ranks - 1 ? what.odd : what.most, child.index, child.size);
    hocket_result result = call.issue(comm.get());
    for (int barriers = 0; result == HOCKET_OK && barriers < 2; ++barriers) {
      result = hocket_barrier(comm.get(), nullptr, nullptr);
    }
    expect_result(result, HOCKET_MISMATCH);
    for (const std::string& text : what.in_message) expect_message_names(text);
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_MISMATCH, "a later call");
  });
}

std::string name_of_mismatch_case(const testing::TestParamInfo<Mismatch::ParamType>& of) {
  return std::string(std::get<1>(of.param).name) + "_of_" + std::to_string(std::get<0>(of.param));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Mismatch,
                         testing::Combine(testing::Values(2, 3, 4), testing::ValuesIn(disagreements())),
                         name_of_mismatch_case);

TEST(MessageMismatch, OfCountIsAnErrorOnBothSides) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    Call call({.collective = child.index == 0 ? Collective::send : Collective::recv,
               .count = child.index == 0 ? 100U : 101U,
               .root = 1 - child.index},
              child.index, child.size);
    hocket_result result = call.issue(comm.get());
    if (result == HOCKET_OK) result = hocket_barrier(comm.get(), nullptr, nullptr);
    expect_result(result, HOCKET_MISMATCH);
    expect_message_names("100");
    expect_message_names("101");
  });
}

// Each end is named by what it called: two ranks that both receive wait for each other, and none of them sends.
TEST(MessageMismatch, OfTwoReceivesNamesBothAsReceives) {
  for (const char* transport : {"auto", "tcp"}) {
    SCOPED_TRACE(transport);
    run_ranks(2, [&](Child& child) {
      ::setenv("HOCKET_TRANSPORT", transport, 1);
      const Comm comm;
      ASSERT_TRUE(comm);
      ASSERT_EQ(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
      hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
      options.timeout_ms = 2000;
      std::vector<float> values(7);
      expect_result(hocket_recv(values.data(), 7, HOCKET_FLOAT32, 1 - child.index, comm.get(), &options, nullptr),
                    HOCKET_TIMEOUT);
      expect_message_names("recv of 7 float32 did not finish before its deadline: still receiving from rank ");
      expect_message_names("said that it waits in recv of 7 float32");
      EXPECT_THAT(std::string(hocket_last_error()), testing::Not(testing::HasSubstr("send")));
    });
  }
}

// ---- arguments

// Any number, as a caller in C can pass it.
template <class Enum>
Enum out_of_range(int number) {
  static_assert(sizeof(Enum) == sizeof(int));
  Enum value;
  std::memcpy(&value, &number, sizeof value);
  return value;
}

std::vector<BadCall> meaningless_pairs() {
  return {
      {"op_without_meaning", "band has no meaning for dtype float32",
       [](auto* comm, float* a, float* b) {
         return hocket_allreduce(a, b, 10, HOCKET_FLOAT32, HOCKET_BAND, comm, nullptr, nullptr);
       }},
      {"user_without_function", "options.function is null",
       [](auto* comm, float* a, float* b) {
         return hocket_allreduce(a, b, 10, HOCKET_FLOAT32, HOCKET_USER, comm, nullptr, nullptr);
       }},
      {"premultiplied_without_scalar", "options.scalar is null",
       [](auto* comm, float* a, float* b) {
         return hocket_allreduce(a, b, 10, HOCKET_FLOAT32, HOCKET_PREMULTIPLIED_SUM, comm, nullptr, nullptr);
       }},
      {"average_of_bools", "avg has no meaning for dtype bool",
       [](auto* comm, float* a, float* b) {
         return hocket_allreduce(a, b, 10, HOCKET_BOOL, HOCKET_AVG, comm, nullptr, nullptr);
       }},
      {"min_of_complex", "min has no meaning for dtype complex64",
       [](auto* comm, float* a, float* b) {
         return hocket_reduce_scatter(a, b, 10, HOCKET_COMPLEX64, HOCKET_MIN, comm, nullptr, nullptr);
       }},
      {"sum_of_locations", "sum has no meaning for dtype int64_int64",
       [](auto* comm, float* a, float* b) {
         return hocket_reduce(a, b, 10, HOCKET_INT64_INT64, HOCKET_SUM, 0, comm, nullptr, nullptr);
       }},
  };
}

std::vector<BadCall> bad_buffers() {
  constexpr auto huge = std::numeric_limits<std::size_t>::max() / 2;
  return {
      {"null_send", "send",
       [](auto* comm, float*, float* b) {
         return hocket_allreduce(nullptr, b, 10, HOCKET_FLOAT32, HOCKET_SUM, comm, nullptr, nullptr);
       }},
      {"null_recv", "recv",
       [](auto* comm, float* a, float*) {
         return hocket_allreduce(a, nullptr, 10, HOCKET_FLOAT32, HOCKET_SUM, comm, nullptr, nullptr);
       }},
      {"overlap", "send and recv must be equal",
       [](auto* comm, float* a, float*) {
         return hocket_allreduce(a, a + 1, 10, HOCKET_FLOAT32, HOCKET_SUM, comm, nullptr, nullptr);
       }},
      {"overlap_of_blocks", "overlap",
       [](auto* comm, float* a, float*) {
         return hocket_allgather(a, a, 10, HOCKET_FLOAT32, comm, nullptr, nullptr);  // rank 1's block is the second
       }},
      {"overlap_of_alltoall", "send and recv must be equal",
       [](auto* comm, float* a, float*) { return hocket_alltoall(a, a + 1, 9, HOCKET_INT8, comm, nullptr, nullptr); }},
      {"huge_count", "count",
       [](auto* comm, float* a, float* b) {
         return hocket_allreduce(a, b, huge, HOCKET_FLOAT32, HOCKET_SUM, comm, nullptr, nullptr);
       }},
      {"huge_block_count", "sendcount",
       [](auto* comm, float* a, float* b) {
         return hocket_allgather(a, b, huge / 2, HOCKET_UINT8, comm, nullptr, nullptr);  // three of these are too many
       }},
  };
}

std::vector<BadCall> bad_numbers() {
  return {
      {"dtype", "dtype",
       [](auto* comm, float* a, float* b) {
         return hocket_allreduce(a, b, 10, out_of_range<hocket_dtype>(99), HOCKET_SUM, comm, nullptr, nullptr);
       }},
      {"negative_dtype", "dtype",
       [](auto* comm, float* a, float* b) {
         return hocket_broadcast(a, b, 10, out_of_range<hocket_dtype>(-1), 0, comm, nullptr, nullptr);
       }},
      {"op", "op",
       [](auto* comm, float* a, float* b) {
         return hocket_allreduce(a, b, 10, HOCKET_FLOAT32, out_of_range<hocket_op>(99), comm, nullptr, nullptr);
       }},
      {"root_too_large", "root",
       [](auto* comm, float* a, float* b) {
         return hocket_broadcast(a, b, 10, HOCKET_FLOAT32, 3, comm, nullptr, nullptr);
       }},
      {"negative_root", "root",
       [](auto* comm, float* a, float* b) {
         return hocket_reduce(a, b, 10, HOCKET_FLOAT32, HOCKET_SUM, -1, comm, nullptr, nullptr);
       }},
      {"peer_too_large", "peer",
       [](auto* comm, float* a, float*) { return hocket_send(a, 10, HOCKET_FLOAT32, 3, comm, nullptr, nullptr); }},
      {"peer_is_self", "peer",
       [](auto* comm, float* a, float*) { return hocket_recv(a, 10, HOCKET_FLOAT32, 1, comm, nullptr, nullptr); }},
      {"null_comm", "comm",
       [](auto*, float* a, float* b) {
         return hocket_allreduce(a, b, 10, HOCKET_FLOAT32, HOCKET_SUM, nullptr, nullptr, nullptr);
       }},
      {"negative_timeout", "timeout_ms",
       [](auto* comm, float*, float*) {
         hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
         options.timeout_ms = -5;
         return hocket_barrier(comm, &options, nullptr);
       }},
      {"options_without_size", "struct_size",
       [](auto* comm, float*, float*) {
         const hocket_call_options options = {};
         return hocket_barrier(comm, &options, nullptr);
       }},
  };
}

// Rank 1 of three makes all the bad calls; nothing of it reaches the others, and everything works afterwards.
TEST(BadArguments, AreRefusedByNameAndBreakNothing) {
  run_ranks(3, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    std::vector<float> a(1000), b(1000);
    std::vector<BadCall> calls = bad_buffers();
    std::ranges::copy(bad_numbers(), std::back_inserter(calls));
    std::ranges::copy(meaningless_pairs(), std::back_inserter(calls));
    expect_all_refused(comm.get(), child, calls, a, b);  // a and b: 1,000 elements each
  });
}

TEST(BadArguments, ZeroElementsMayBeNull) {
  run_ranks(3, [](Child&) {
    const Comm comm;
    ASSERT_TRUE(comm);
    expect_result(hocket_allreduce(nullptr, nullptr, 0, HOCKET_FLOAT32, HOCKET_SUM, comm.get(), nullptr, nullptr),
                  HOCKET_OK);
    expect_result(hocket_alltoall(nullptr, nullptr, 0, HOCKET_INT64, comm.get(), nullptr, nullptr), HOCKET_OK);
  });
}

TEST(BadArguments, OfTheOtherFunctions) {
  int32_t number = 0;
  hocket_comm* comm = nullptr;
  EXPECT_EQ(hocket_comm_create(nullptr, nullptr), HOCKET_INVALID_ARGUMENT);
  EXPECT_EQ(hocket_comm_rank(nullptr, &number), HOCKET_INVALID_ARGUMENT);
  EXPECT_EQ(hocket_comm_size(nullptr, &number), HOCKET_INVALID_ARGUMENT);
  EXPECT_EQ(hocket_comm_status(nullptr), HOCKET_INVALID_ARGUMENT);
  EXPECT_EQ(hocket_comm_abort(nullptr, "why"), HOCKET_INVALID_ARGUMENT);
  EXPECT_EQ(hocket_work_test(nullptr), HOCKET_INVALID_ARGUMENT);
  EXPECT_EQ(hocket_work_wait(nullptr, 1), HOCKET_INVALID_ARGUMENT);
  EXPECT_EQ(hocket_last_cause(nullptr), HOCKET_INVALID_ARGUMENT);
  EXPECT_EQ(hocket_comm_create_local(&comm, 0, nullptr), HOCKET_INVALID_ARGUMENT);
  EXPECT_EQ(hocket_comm_destroy(nullptr), HOCKET_OK);
  EXPECT_EQ(hocket_work_release(nullptr), HOCKET_OK);
  hocket_cause small = HOCKET_CAUSE_INIT;
  small.struct_size = 2;
  EXPECT_EQ(hocket_last_cause(&small), HOCKET_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace hocket::process_testing
