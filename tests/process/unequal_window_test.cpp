// Blocks that vary over shared memory: small ones go with announcements, larger ones over links, and a call may have
// both.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "src/spi/elements.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/last_call.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/unequal_call.hpp"

namespace hocket::process_testing {
namespace {

// A third of blocks of up to this many floats are small, wherever ranks share memory.
constexpr std::size_t mixed = 6000;

class UnequalWindow : public testing::TestWithParam<int> {
 protected:
  const int size_ = GetParam();
};

// One call after the other, none like the one before.
TEST_P(UnequalWindow, SmallBlocksBesideLargeOnes) {
  run_ranks(size_, [this](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    std::uint64_t number = 0;
    for (const std::size_t scale : {std::size_t{1}, mixed, std::size_t{40}, 20 * mixed, std::size_t{3}}) {
      for (const Collective collective : unequal_collectives) {
        for (const bool in_place : {false, true}) {
          ++number;
          UnequalCall({.collective = collective,
                       .scale = scale,
                       .root = static_cast<Rank>(number) % size_,
                       .in_place = in_place,
                       .displaced = number % 3 == 0,
                       .misalignment = number % 64,
                       .salt = number},
                      child.index, size_)
              .run(comm.get());
          if (HasFailure()) return;
        }
      }
    }
  });
}

// Calls repeat themselves, then differ in sizes that their lists have at the same place.
TEST_P(UnequalWindow, RepeatedCallsMayChangeTheirSizes) {
  run_ranks(size_, [this](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (std::uint64_t round = 0; round < 60; ++round) {
      UnequalCall call({.collective = unequal_collectives[round / 12],
                        .scale = round % 4 < 2 ? 30 : mixed,
                        .root = size_ - 1,
                        .displaced = round % 3 == 0,
                        .salt = round},
                       child.index, size_);
      for (int again = 0; again < 3; ++again) call.run(comm.get());
      if (HasFailure()) return;
    }
  });
}

// Those who only send go on while the others sleep: nothing that a late rank still needs may be overwritten.
TEST_P(UnequalWindow, SendersRunAheadOfSleepingRanks) {
  run_ranks(size_, [this](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (const Collective collective : {Collective::gather_v, Collective::scatter_v}) {
      const bool sends = (collective == Collective::scatter_v) == (child.index == 0);
      for (std::uint64_t number = 0; number < 1500; ++number) {
        if (!sends && number % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        UnequalCall({.collective = collective, .scale = number % 5 == 0 ? 3000U : 9U, .salt = number}, child.index,
                    size_)
            .run(comm.get());
        if (HasFailure()) return;
      }
    }
  });
}

TEST_P(UnequalWindow, EveryTypeAndReduction) {
  run_ranks(size_, [this](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    std::uint64_t number = 0;
    for (const DataType dtype : all_data_types) {
      for (const ReduceOp op : built_in_reduce_ops) {
        if (!is_defined(dtype, op)) continue;
        if (size_ > 3 && is_rounded_in_sums(dtype, ReduceOp::sum)) continue;  // more than a few make no exact sum
        ++number;
        UnequalCall({.collective = Collective::reduce_scatter_v,
                     .scale = number % 3 == 0 ? 500U : 12U,
                     .dtype = dtype,
                     .op = op,
                     .in_place = number % 2 == 0,
                     .misalignment = number % 64,
                     .salt = number},
                    child.index, size_)
            .run(comm.get());
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(number, 50U);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, UnequalWindow, testing::Values(2, 3, 5, 7), testing::PrintToStringParamName());

// One of the same ranks, and one of fewer.
TEST(UnequalWindows, OfSeveralCommunicators) {
  run_ranks(5, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    hocket_comm* twin = nullptr;
    ASSERT_EQ(hocket_comm_duplicate(comm.get(), &twin, nullptr), HOCKET_OK) << hocket_last_error();
    hocket_comm* half = nullptr;
    const int color = child.index % 2, rank = child.index / 2, size = color == 0 ? 3 : 2;
    ASSERT_EQ(hocket_comm_split(comm.get(), color, child.index, &half, nullptr), HOCKET_OK) << hocket_last_error();
    for (std::uint64_t number = 0; number < 120; ++number) {
      const UnequalCase what{.collective = unequal_collectives[number % 5],
                             .scale = number % 7 == 0 ? mixed : 20,
                             .root = static_cast<Rank>(number) % 2,
                             .displaced = number % 3 == 0,
                             .salt = number};
      UnequalCall(what, child.index, 5).run(comm.get());
      UnequalCall(what, rank, size).run(half);
      UnequalCall(what, child.index, 5).run(twin);
      if (testing::Test::HasFailure()) break;
    }
    EXPECT_EQ(hocket_comm_destroy(half), HOCKET_OK);
    EXPECT_EQ(hocket_comm_destroy(twin), HOCKET_OK);
  });
}

TEST(UnequalWindows, TellWhichWayBlocksTook) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (const Collective collective : unequal_collectives) {
      for (int again = 0; again < 2; ++again) {
        UnequalCall({.collective = collective}, child.index, child.size).run(comm.get());
        EXPECT_EQ(algorithm_of_last_call(), "direct one-shot") << name_of(collective);
        EXPECT_STREQ(last_call().transport, "shm");
        UnequalCall({.collective = collective, .scale = 400'000}, child.index, child.size).run(comm.get());
        EXPECT_NE(algorithm_of_last_call(), "direct one-shot") << name_of(collective);
        EXPECT_STREQ(last_call().transport, "shm");
      }
    }
  });
}

}  // namespace
}  // namespace hocket::process_testing
