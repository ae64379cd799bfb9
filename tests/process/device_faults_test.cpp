// Ranks that share a GPU and die between any two steps of a call, or after it: all others learn who it was, and no
// stream is left waiting. The GPU is a double in host memory.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <ostream>

#include "tests/process/support/device_rank.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// A function of the GPU at whose `call`-th call in the second collective the victim is killed.
struct Point {
  const char* function;
  int call;
  int victim;    // 0: who does everyone's work; on two GPUs, 0 and 1 do
  int gpus = 1;  // which reach each other
};
void PrintTo(const Point& point, std::ostream* out) {
  *out << point.function << "_" << point.call << "_of_rank_" << point.victim << "_on_" << point.gpus;
}

class KilledOnGpu : public ::testing::TestWithParam<Point> {};

TEST_P(KilledOnGpu, IsNamedByAllOthersAndNoStreamIsLeftWaiting) {
  const Point point = GetParam();
  constexpr int size = 3;
  ProcessGroup group(size, [&](Child& child) {
    std::atomic<int> left{-1};  // calls of the function until it dies; negative: it does not count yet
    DeviceRank rank({.number = child.index % point.gpus,
                     .reaches = {0, 1},
                     .delay = std::chrono::milliseconds(3),
                     .fault = [&](std::string_view function) {
                       if (function == point.function && left >= 0 && left-- == 0) ::kill(::getpid(), SIGKILL);
                       return Status();
                     }});
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    const DeviceBuffer values(rank, Bytes(40'000));
    const auto call = [&] {
      return hocket_allreduce(values.at(), values.at(), 10'000, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(), &options,
                              nullptr);
    };
    ASSERT_EQ(call(), HOCKET_OK) << hocket_last_error();
    if (child.index == point.victim) left = point.call;
    hocket_result result = HOCKET_OK;
    while (result == HOCKET_OK) result = call();
    expect_result(result, HOCKET_PEER_LOST);
    EXPECT_EQ(last_cause().peer, point.victim) << hocket_last_error();
    rank.finish();
  });
  group.expect_success(point.victim);
}

INSTANTIATE_TEST_SUITE_P(, KilledOnGpu,
                         ::testing::Values(Point{"record", 0, 1}, Point{"export_memory", 0, 1}, Point{"wait", 0, 1},
                                           Point{"write", 0, 1}, Point{"write", 0, 0}, Point{"wait_until", 0, 1},
                                           Point{"wait_until", 0, 0}, Point{"wait_until", 1, 0}, Point{"reached", 0, 0},
                                           Point{"reduce", 0, 0}, Point{"write", 1, 0}, Point{"record", 1, 0},
                                           Point{"record", 1, 2}, Point{"wait", 1, 0}, Point{"wait", 1, 2},
                                           Point{"wait_until", 0, 1, 2}, Point{"reduce", 0, 1, 2},
                                           Point{"reduce", 0, 0, 2}, Point{"write", 1, 1, 2},
                                           Point{"wait_until", 2, 1, 2}, Point{"wait_until", 1, 2, 2}),
                         ::testing::PrintToStringParamName());

// The executor finds its owner gone when it opens the memory.
TEST(OneGpu, AnOwnerThatEndsBeforeItsMemoryIsOpenedIsNamed) {
  ProcessGroup group(3, [&](Child& child) {
    DeviceRank rank({.fault = [&](std::string_view function) {
      if (child.index == 0 && function == "import_memory") {
        child.say("opens");
        EXPECT_EQ(child.hear(), "go on");
      }
      return Status();
    }});
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    const DeviceBuffer values(rank, Bytes(4000));
    expect_result(
        hocket_allreduce(values.at(), values.at(), 1000, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(), &options, nullptr),
        HOCKET_PEER_LOST);
    EXPECT_EQ(last_cause().peer, 1) << hocket_last_error();
  });
  EXPECT_EQ(group.hear(0), "opens");
  group.signal(1, SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(group.process(1)), &ended, WEXITED | WNOWAIT), 0);
  group.tell(0, "go on");
  group.expect_success(1);
}

// The call is over, but its work is not: survivors let their streams go.
TEST(OneGpu, ADeathAfterTheCallLeavesNoStreamWaiting) {
  for (const int victim : {0, 1}) {
    ProcessGroup group(3, [&](Child& child) {
      DeviceRank rank;
      ASSERT_TRUE(rank);
      alignas(4096) std::byte memory[4096] = {};
      ASSERT_TRUE(rank.gpu().use_words(memory, sizeof memory).ok());
      {
        const hocket_call_options options = rank.options();
        const DeviceBuffer values(rank, Bytes(4000));
        if (child.index == victim) {  // its data is never ready
          ASSERT_TRUE(rank.gpu().wait_until(rank.stream(), *reinterpret_cast<GpuWord*>(memory), 1).ok());
        }
        ASSERT_EQ(hocket_allreduce(values.at(), values.at(), 1000, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(), &options,
                                   nullptr),
                  HOCKET_OK)
            << hocket_last_error();
        child.say("called");
        EXPECT_EQ(child.hear(), "go on");
        rank.finish();
        expect_result(hocket_barrier(rank.comm(), nullptr, nullptr), HOCKET_PEER_LOST);
        EXPECT_EQ(last_cause().peer, victim) << hocket_last_error();
      }
      ASSERT_TRUE(rank.gpu().forget_words(memory).ok());
    });
    group.hear_from_all("called");
    group.signal(victim, SIGKILL);
    for (int index = 0; index < 3; ++index) {
      if (index != victim) group.tell(index, "go on");
    }
    group.expect_success(victim);
  }
}

void expect_failures_to_break_calls(int gpus, int culprit) {
  for (const char* function : {"import_memory", "wait_until", "reduce"}) {
    run_ranks(3, [&](Child& child) {
      DeviceRank rank({.number = child.index % gpus, .reaches = {0, 1}, .fault = [&](std::string_view called) {
                         const bool fails = child.index == culprit && called == function;
                         return fails ? Status(Code::out_of_resources, "the double refuses") : Status();
                       }});
      ASSERT_TRUE(rank);
      const hocket_call_options options = rank.options();
      const DeviceBuffer values(rank, Bytes(4000));
      expect_result(
          hocket_allreduce(values.at(), values.at(), 1000, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(), &options, nullptr),
          HOCKET_OUT_OF_RESOURCES, function);
      expect_message_names("the double refuses");
    });
  }
}

TEST(OneGpu, WhatFailsInsideACallBreaksItOnAllRanks) {
  expect_failures_to_break_calls(1, 0);
}

TEST(TwoGpus, WhatFailsInsideACallBreaksItOnAllRanks) {
  expect_failures_to_break_calls(2, 1);
}

}  // namespace
}  // namespace hocket::process_testing
