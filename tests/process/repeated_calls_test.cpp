// A call like the one before takes over what was checked and chosen for that; what differs must be noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr std::size_t count = 300;
constexpr Rank size = 3;
using Floats = std::vector<float>;

class RepeatedCalls : public testing::TestWithParam<const char*> {
 protected:
  // `body` on each of three ranks.
  void run(const std::function<void(hocket_comm*, float)>& body) const {
    run_ranks(size, [&](Child& child) {
      ::setenv("HOCKET_TRANSPORT", GetParam(), 1);
      const Comm comm;
      ASSERT_TRUE(comm);
      body(comm.get(), static_cast<float>(child.index + 1));
    });
  }
  static hocket_result sum(hocket_comm* comm, const float* send, float* recv, std::size_t n = count,
                           hocket_op op = HOCKET_SUM) {
    return hocket_allreduce(send, recv, n, HOCKET_FLOAT32, op, comm, nullptr, nullptr);
  }
};

TEST_P(RepeatedCalls, TakeTheirOwnBuffers) {
  run([](hocket_comm* comm, float mine) {
    for (int round = 0; round < 20; ++round) {
      Floats in_place(count, mine + static_cast<float>(round)), elsewhere(count, -1);
      ASSERT_EQ(sum(comm, in_place.data(), in_place.data()), HOCKET_OK) << hocket_last_error();
      EXPECT_THAT(in_place, Each(6.0F + 3 * static_cast<float>(round)));
      const Floats send(count, mine);
      ASSERT_EQ(sum(comm, send.data(), elsewhere.data()), HOCKET_OK) << hocket_last_error();
      EXPECT_THAT(elsewhere, Each(6.0F));
      EXPECT_THAT(send, Each(mine));
    }
  });
}

TEST_P(RepeatedCalls, AreCheckedWhereTheyDiffer) {
  run([](hocket_comm* comm, float mine) {
    Floats data(2 * count, mine);
    ASSERT_EQ(sum(comm, data.data(), data.data()), HOCKET_OK) << hocket_last_error();
    EXPECT_EQ(sum(comm, nullptr, nullptr), HOCKET_INVALID_ARGUMENT);
    EXPECT_THAT(hocket_last_error(), HasSubstr("send is null"));
    ASSERT_EQ(sum(comm, data.data(), data.data() + count), HOCKET_OK) << hocket_last_error();
    EXPECT_EQ(sum(comm, data.data(), data.data() + 1), HOCKET_INVALID_ARGUMENT);
    EXPECT_THAT(hocket_last_error(), HasSubstr("overlap"));
    ASSERT_EQ(sum(comm, data.data(), data.data() + count), HOCKET_OK) << hocket_last_error();
    EXPECT_THAT(Floats(data.begin() + count, data.end()), Each(18.0F));
  });
}

TEST_P(RepeatedCalls, AreAnotherPlanWhereCountOpOrRootDiffer) {
  run([](hocket_comm* comm, float mine) {
    for (int round = 0; round < 5; ++round) {
      Floats all(count, mine), first(count, mine), most(count, mine);
      ASSERT_EQ(sum(comm, all.data(), all.data()), HOCKET_OK) << hocket_last_error();
      ASSERT_EQ(sum(comm, first.data(), first.data(), 1), HOCKET_OK) << hocket_last_error();
      ASSERT_EQ(sum(comm, most.data(), most.data(), count, HOCKET_MAX), HOCKET_OK) << hocket_last_error();
      EXPECT_THAT(all, Each(6.0F));
      EXPECT_EQ(first[0], 6.0F);
      EXPECT_EQ(first[1], mine);
      EXPECT_THAT(most, Each(3.0F));
      for (int root = 0; root < size; ++root) {
        Floats told(count, mine);
        ASSERT_EQ(hocket_broadcast(told.data(), told.data(), count, HOCKET_FLOAT32, root, comm, nullptr, nullptr),
                  HOCKET_OK)
            << hocket_last_error();
        EXPECT_THAT(told, Each(static_cast<float>(root + 1)));
      }
    }
  });
}

TEST_P(RepeatedCalls, LeaveThoseInFlightAlone) {
  run([](hocket_comm* comm, float mine) {
    std::array<Floats, 8> data;
    std::array<hocket_work*, 8> works{};
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i].assign(count, mine + static_cast<float>(i));
      ASSERT_EQ(
          hocket_allreduce(data[i].data(), data[i].data(), count, HOCKET_FLOAT32, HOCKET_SUM, comm, nullptr, &works[i]),
          HOCKET_OK)
          << hocket_last_error();
    }
    for (std::size_t i = 0; i < data.size(); ++i) {
      ASSERT_EQ(hocket_work_wait(works[i], 0), HOCKET_OK) << hocket_last_error();
      EXPECT_THAT(data[i], Each(6.0F + 3 * static_cast<float>(i)));
      Floats meanwhile(count, mine);  // while the handle of a finished call is still held
      ASSERT_EQ(sum(comm, meanwhile.data(), meanwhile.data()), HOCKET_OK) << hocket_last_error();
      EXPECT_THAT(meanwhile, Each(6.0F));
      EXPECT_EQ(hocket_work_test(works[i]), HOCKET_OK);
      EXPECT_EQ(hocket_work_release(works[i]), HOCKET_OK);
    }
  });
}

// Mostly one that is like the one before it is over before its handle is there.
TEST_P(RepeatedCalls, HandlesOfMessagesTellHowTheyWent) {
  run([](hocket_comm* comm, float mine) {
    const int rank = static_cast<int>(mine) - 1;
    if (rank > 1) return;
    for (std::uint64_t round = 1; round <= 200; ++round) {
      std::uint64_t number = rank == 0 ? round : 0;
      hocket_work* work = nullptr;
      const hocket_result started = rank == 0 ? hocket_send(&number, 1, HOCKET_UINT64, 1, comm, nullptr, &work)
                                              : hocket_recv(&number, 1, HOCKET_UINT64, 0, comm, nullptr, &work);
      ASSERT_EQ(started, HOCKET_OK) << hocket_last_error();
      ASSERT_NE(work, nullptr);
      std::atomic<int> ended{0};
      const auto count_well = [](hocket_result result, void* context) {
        *static_cast<std::atomic<int>*>(context) += result == HOCKET_OK ? 1 : 1000;
      };
      ASSERT_EQ(hocket_work_on_complete(work, count_well, &ended), HOCKET_OK) << hocket_last_error();
      std::size_t index = 7;
      ASSERT_EQ(hocket_work_wait_any(1, &work, 0, &index), HOCKET_OK) << hocket_last_error();
      EXPECT_EQ(index, 0U);
      EXPECT_EQ(hocket_work_test(work), HOCKET_OK);
      ASSERT_EQ(hocket_barrier(nullptr, nullptr, nullptr), HOCKET_INVALID_ARGUMENT) << "an error between";
      ASSERT_EQ(hocket_work_wait(work, 0), HOCKET_OK) << hocket_last_error();
      EXPECT_EQ(number, round);
      hocket_call_info info = HOCKET_CALL_INFO_INIT;
      ASSERT_EQ(hocket_last_call(&info), HOCKET_OK);
      EXPECT_EQ(info.sequence, round);
      EXPECT_STREQ(info.transport, GetParam());
      while (ended == 0) std::this_thread::yield();  // it is called by the thread that progresses
      EXPECT_EQ(ended, 1);
      EXPECT_EQ(hocket_work_start(work), HOCKET_INVALID_ARGUMENT) << "it is not persistent";
      EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
    }
  });
}

// Some receives find their message there, others wait behind one that waits.
TEST_P(RepeatedCalls, MessagesInFlightKeepTheirOrder) {
  run([](hocket_comm* comm, float mine) {
    const int rank = static_cast<int>(mine) - 1, to = (rank + 1) % size, from = (rank + size - 1) % size;
    constexpr std::uint64_t rounds = 300, each = 16;
    std::array<std::uint64_t, each> sent{}, received{};
    std::array<hocket_work*, 2 * each> works{};
    const auto start_send = [&](std::uint64_t i, std::uint64_t round) {
      sent[i] = each * round + i;
      ASSERT_EQ(hocket_send(&sent[i], 1, HOCKET_UINT64, to, comm, nullptr, &works[i]), HOCKET_OK);
    };
    const auto start_receive = [&](std::uint64_t i) {
      ASSERT_EQ(hocket_recv(&received[i], 1, HOCKET_UINT64, from, comm, nullptr, &works[each + i]), HOCKET_OK);
    };
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint64_t ahead = round * 7 % (each + 1);  // so many receives are posted before anything is sent
      for (std::uint64_t i = 0; i < ahead; ++i) start_receive(i);
      for (std::uint64_t i = 0; i < each; ++i) start_send(i, round);
      if (round % 3 == 0) std::this_thread::yield();
      for (std::uint64_t i = ahead; i < each; ++i) start_receive(i);
      for (hocket_work* const work : works) {
        ASSERT_EQ(hocket_work_wait(work, 0), HOCKET_OK) << hocket_last_error();
        ASSERT_EQ(hocket_work_release(work), HOCKET_OK);
      }
      for (std::uint64_t i = 0; i < each; ++i) ASSERT_EQ(received[i], each * round + i) << "round " << round;
    }
  });
}

// It is a receive like the one from rank 0 before it in all but whom it receives from, and so is the one behind it.
TEST_P(RepeatedCalls, AReceiveFromAnyRankIsNoneFromRank0) {
  run([](hocket_comm* comm, float mine) {
    const int rank = static_cast<int>(mine) - 1;
    const auto send = [&](float value, int to) {
      EXPECT_EQ(hocket_send(&value, 1, HOCKET_FLOAT32, to, comm, nullptr, nullptr), HOCKET_OK) << hocket_last_error();
    };
    const auto expect_from = [&](int peer, float expected) {
      float value = -1;
      EXPECT_EQ(hocket_recv(&value, 1, HOCKET_FLOAT32, peer, comm, nullptr, nullptr), HOCKET_OK) << hocket_last_error();
      EXPECT_EQ(value, expected);
    };
    const auto expect_from_any = [&](int peer, float expected) {
      float value = -1;
      int32_t source = -1;
      EXPECT_EQ(hocket_recv_any(&value, 1, HOCKET_FLOAT32, &source, comm, nullptr, nullptr), HOCKET_OK)
          << hocket_last_error();
      EXPECT_EQ(value, expected);
      EXPECT_EQ(source, peer);
    };
    for (float round = 0; round < 50; round += 10) {
      if (rank == 0) {
        send(round, 2);
        expect_from(2, round + 2);
        for (const float value : {round + 3, round + 4, round + 5}) send(value, 2);
      } else if (rank == 1) {
        expect_from(2, round);
        send(round + 1, 2);
      } else {
        send(round, 1);
        expect_from(0, round);
        expect_from_any(1, round + 1);  // rank 0 is silent
        send(round + 2, 0);
        expect_from(0, round + 3);
        expect_from_any(0, round + 4);
        expect_from(0, round + 5);
      }
    }
  });
}

// Gathers `counts` from all, to where `at` says.
void expect_gathered(hocket_comm* comm, int rank, float value, const std::array<std::size_t, size>& counts,
                     const std::size_t* at) {
  const auto own = static_cast<std::size_t>(rank);
  const Floats mine(counts[own], value + static_cast<float>(rank));
  Floats all(9 * count, -1), expected = all;
  std::size_t next = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(at == nullptr ? next : at[r]), counts[r],
                value + static_cast<float>(r));
    next += counts[r];
  }
  ASSERT_EQ(hocket_allgather_v(mine.data(), mine.size(), all.data(), counts.data(), at, HOCKET_FLOAT32, comm, nullptr,
                               nullptr),
            HOCKET_OK)
      << hocket_last_error();
  EXPECT_EQ(all, expected);
}

// The caller changes what its lists say and not where they are.
TEST_P(RepeatedCalls, AreOthersWhereCountsOrDisplacementsChange) {
  run([](hocket_comm* comm, float mine) {
    const int rank = static_cast<int>(mine) - 1;
    std::array<std::size_t, size> counts{}, at{};
    for (std::size_t round = 0; round < 40; ++round) {
      counts = {3, 1 + round / 2 % 3, round / 8 % 2 == 0 ? 5 : 4 * count};
      at = {0, 7 + round / 4 % 2, count};
      expect_gathered(comm, rank, static_cast<float>(10 * round), counts, round % 16 < 8 ? at.data() : nullptr);
    }
  });
}

TEST_P(RepeatedCalls, AreCheckedWhereCountsChange) {
  run([](hocket_comm* comm, float mine) {
    std::array<std::size_t, size> counts{2, 2, 2};
    std::array<std::size_t, size> at{0, 10, 20};
    const auto own = static_cast<std::size_t>(mine) - 1;
    Floats send(2, mine), recv(40, -1);
    const auto gather = [&] {
      return hocket_allgather_v(send.data(), counts[own], recv.data(), counts.data(), at.data(), HOCKET_FLOAT32, comm,
                                nullptr, nullptr);
    };
    for (int round = 0; round < 3; ++round) {
      ASSERT_EQ(gather(), HOCKET_OK) << hocket_last_error();
      at[1] = 1;
      EXPECT_EQ(gather(), HOCKET_INVALID_ARGUMENT);
      EXPECT_THAT(hocket_last_error(), HasSubstr("overlap"));
      at[1] = 10;
    }
    EXPECT_EQ(recv[20], 3.0F);
  });
}

INSTANTIATE_TEST_SUITE_P(Over, RepeatedCalls, testing::Values("tcp", "shm"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace hocket::process_testing
