// Blocks that vary over shared memory. Those that all ranks know take the direct paths. Of others small ones go with
// announcements and larger ones over links, and a call may have both.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
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

// A third of blocks of up to this many floats go with announcements, wherever ranks share memory.
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
    for (const Collective collective :
         {Collective::gather_v, Collective::scatter_v, Collective::allgather_v, Collective::reduce_scatter_v}) {
      // Of the last two those run ahead whose blocks happen to be empty.
      const bool sends = info_of(collective).has_root() ? (collective == Collective::scatter_v) == (child.index == 0)
                                                        : child.index % 2 == 0;
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

TEST(UnequalWindows, OfWhichAllKnowAllTakeDirectPaths) {
  run_ranks(3, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (const Collective collective : {Collective::allgather_v, Collective::reduce_scatter_v}) {
      UnequalCall({.collective = collective, .scale = 400'000}, child.index, child.size).run(comm.get());
      const std::string algorithm(algorithm_of_last_call());
      EXPECT_TRUE(algorithm == "direct staged" || algorithm == "direct single copy") << algorithm;
    }
  });
}

// Where one rank's block is empty it runs ahead, and has left the window when the other one, which means a size that
// goes over links, waits for it there.
TEST(UnequalWindows, OtherCountsAreAMismatchAlsoForWhoRanAhead) {
  for (const auto& [odd, collective] :
       {std::pair(0, Collective::allgather_v), std::pair(1, Collective::allgather_v),
        std::pair(0, Collective::reduce_scatter_v), std::pair(1, Collective::reduce_scatter_v)}) {
    SCOPED_TRACE(std::string(name_of(collective)) + ", rank " + std::to_string(odd) + " with less");
    run_when_all_have_met(2, [&](Child& child, const Comm& comm) {
      const bool gathers = collective == Collective::allgather_v;
      const std::size_t count = child.index == odd ? 3 : 500'000;
      const bool first_is_empty = (odd == 1) == gathers;
      const std::array<std::size_t, 2> counts =
          first_is_empty ? std::array<std::size_t, 2>{0, count} : std::array<std::size_t, 2>{count, 0};
      std::vector<float> send(count), recv(count);
      hocket_result result =
          gathers ? hocket_allgather_v(send.data(), counts[static_cast<std::size_t>(child.index)], recv.data(),
                                       counts.data(), nullptr, HOCKET_FLOAT32, comm.get(), nullptr, nullptr)
                  : hocket_reduce_scatter_v(send.data(), recv.data(), counts.data(), HOCKET_FLOAT32, HOCKET_SUM,
                                            comm.get(), nullptr, nullptr);
      for (int i = 0; i < 2 && result == HOCKET_OK; ++i) result = hocket_barrier(comm.get(), nullptr, nullptr);
      expect_result(result, HOCKET_MISMATCH);
      expect_message_names(std::string(name_of(collective)) + " of 3 ");
    });
  }
}

// ---- sizes that no longer match

constexpr std::size_t expected = 1;  // floats that rank 0 takes of rank 1

// A call of rank 0, always the same one, and of rank 1, which gives rank 0 `given` floats.
struct OneWay {
  const char* name;
  hocket_result (*call)(hocket_comm* comm, int rank, std::size_t given, std::vector<float>& send,
                        std::vector<float>& recv, hocket_work** work);
};

template <std::size_t other_way>
hocket_result alltoall(hocket_comm* comm, int rank, std::size_t given, std::vector<float>& send,
                       std::vector<float>& recv, hocket_work** work) {
  using Counts = std::array<std::size_t, 2>;
  const Counts sends = rank == 0 ? Counts{0, other_way} : Counts{given, 0};
  const Counts takes = rank == 0 ? Counts{0, expected} : Counts{other_way, 0};
  return hocket_alltoall_v(send.data(), sends.data(), nullptr, recv.data(), takes.data(), nullptr, HOCKET_FLOAT32, comm,
                           nullptr, work);
}

constexpr OneWay one_ways[] = {
    {"gather_v",
     [](hocket_comm* comm, int rank, std::size_t given, std::vector<float>& send, std::vector<float>& recv,
        hocket_work** work) {
       const std::array<std::size_t, 2> counts{2, expected};
       return hocket_gather_v(send.data(), rank == 0 ? counts[0] : given, recv.data(), counts.data(), nullptr,
                              HOCKET_FLOAT32, 0, comm, nullptr, work);
     }},
    {"scatter_v",
     [](hocket_comm* comm, int rank, std::size_t given, std::vector<float>& send, std::vector<float>& recv,
        hocket_work** work) {
       const std::array<std::size_t, 2> counts{given, 2};
       return hocket_scatter_v(send.data(), counts.data(), nullptr, recv.data(), rank == 0 ? expected : counts[1],
                               HOCKET_FLOAT32, 1, comm, nullptr, work);
     }},
    {"alltoall_v", alltoall<1>},
    {"alltoall_v", alltoall<20 * mixed>},  // which goes over links
};

// Rank 0's call is like those before it, and finds what rank 1 has announced, which it must look at nevertheless.
TEST(UnequalWindows, FindSizesThatNoLongerMatchInRepeatedCalls) {
  for (const OneWay& one_way : one_ways) {
    for (const std::size_t given : {std::size_t{0}, std::size_t{2}, std::size_t{300}}) {
      SCOPED_TRACE(std::string(one_way.name) + " of " + std::to_string(given));
      ProcessGroup group(2, [&](Child& child) {
        const Comm comm;
        ASSERT_TRUE(comm);
        std::vector<float> send(20 * mixed, 1), recv(20 * mixed);
        for (int calls = 0; calls < 5; ++calls) {
          const hocket_result equal = one_way.call(comm.get(), child.index, expected, send, recv, nullptr);
          expect_result(equal, HOCKET_OK);
        }
        if (child.index == 1) {
          hocket_work* work = nullptr;
          expect_result(one_way.call(comm.get(), 1, given, send, recv, &work), HOCKET_OK);
          hocket_work_wait(work, 20);  // until it has certainly been announced
          child.say("announced");
          EXPECT_EQ(child.hear(), "found");
          hocket_work_wait(work, 0);  // its buffers are its own until then
          hocket_work_release(work);
          return;
        }
        EXPECT_EQ(child.hear(), "announced");
        expect_result(one_way.call(comm.get(), 0, expected, send, recv, nullptr), HOCKET_MISMATCH);
        EXPECT_EQ(last_cause().peer, 1);
        expect_message_names("rank 1 called " + std::string(one_way.name) + " of " + std::to_string(given) +
                             " float32");
        expect_message_names("while rank 0 called " + std::string(one_way.name) + " of 1 float32");
        child.say("found");
      });
      EXPECT_EQ(group.hear(1), "announced");
      group.tell(0, "announced");
      EXPECT_EQ(group.hear(0), "found");
      group.tell(1, "found");
      group.expect_success();
    }
  }
}

}  // namespace
}  // namespace hocket::process_testing
