// Handles of receives that wait behind others of their kind: they may be let go, waited for by several threads, and
// outlive their communicator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/following_receives.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

class FollowingHandles : public FollowingReceives {};

// Every third is let go at once, and every other one of these has a function to call. The others keep their own
// numbers.
TEST_P(FollowingHandles, MayBeLetGo) {
  run([](hocket_comm* comm, bool sends) {
    std::uint64_t latest = 0;  // number of a receive
    for (std::uint64_t round = 0; round < 10; ++round) {
      std::array<Numbers, each> data;
      data.fill(Numbers(1, sends ? round + 1 : 0));
      std::array<hocket_work*, each> works{};
      std::atomic<std::size_t> called{0};
      const auto count_call = [](hocket_result result, void* context) {
        *static_cast<std::atomic<std::size_t>*>(context) += result == HOCKET_OK ? 1 : 1000;
      };
      for (std::size_t i = 0; i < each && !sends; ++i) {
        ASSERT_NO_FATAL_FAILURE(receive(comm, data[i], &works[i]));
        if (i % 6 == 0) {
          ASSERT_EQ(hocket_work_on_complete(works[i], count_call, &called), HOCKET_OK) << hocket_last_error();
        }
        if (i % 3 == 0) {
          ASSERT_EQ(hocket_work_release(works[i]), HOCKET_OK);
        }
      }
      ASSERT_NO_FATAL_FAILURE(wait_for_receiver(comm, sends));
      for (std::size_t i = 0; i < each && sends; ++i) ASSERT_NO_FATAL_FAILURE(send(comm, data[i]));
      for (std::size_t i = 0; i < each && !sends; ++i) {
        if (i % 3 == 0) continue;
        ASSERT_EQ(hocket_work_wait(works[i], 0), HOCKET_OK) << hocket_last_error();
        hocket_call_info info = HOCKET_CALL_INFO_INIT;
        ASSERT_EQ(hocket_last_call(&info), HOCKET_OK) << hocket_last_error();
        if (latest != 0) {
          EXPECT_EQ(info.sequence, latest + (i % 3 == 1 ? 2 : 1));
        }
        latest = info.sequence;
        ASSERT_EQ(hocket_work_release(works[i]), HOCKET_OK);
      }
      ASSERT_NO_FATAL_FAILURE(wait_for_receiver(comm, sends));
      for (int i = 0; i < 1000 && !sends && called < each / 6; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      EXPECT_EQ(called, sends ? 0 : each / 6);
      for (const Numbers& numbers : data) EXPECT_EQ(numbers[0], round + 1);
    }
  });
}

// Whoever waits learns the same.
TEST_P(FollowingHandles, MayBeWaitedForByTwoThreads) {
  run([](hocket_comm* comm, bool sends) {
    for (std::uint64_t round = 0; round < 5; ++round) {
      std::array<Numbers, each> data;
      data.fill(Numbers(1, sends ? round + 1 : 0));
      std::array<hocket_work*, each> works{};
      for (std::size_t i = 0; i < each && !sends; ++i) ASSERT_NO_FATAL_FAILURE(receive(comm, data[i], &works[i]));
      ASSERT_NO_FATAL_FAILURE(wait_for_receiver(comm, sends));
      for (std::size_t i = 0; i < each && sends; ++i) ASSERT_NO_FATAL_FAILURE(send(comm, data[i]));
      if (!sends) {
        std::array<std::vector<std::uint64_t>, 2> sequences;
        std::vector<std::thread> threads;
        for (auto& mine : sequences) {
          threads.emplace_back([&] {
            for (std::size_t i = 0; i < each; ++i) {
              EXPECT_EQ(hocket_work_wait(works[i], 0), HOCKET_OK) << hocket_last_error();
              EXPECT_EQ(data[i][0], round + 1);
              hocket_call_info info = HOCKET_CALL_INFO_INIT;
              EXPECT_EQ(hocket_last_call(&info), HOCKET_OK) << hocket_last_error();
              mine.push_back(info.sequence);
            }
          });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(sequences[0], sequences[1]);
        EXPECT_TRUE(std::ranges::is_sorted(sequences[0]));
        for (hocket_work* const work : works) EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
      }
      ASSERT_NO_FATAL_FAILURE(wait_for_receiver(comm, sends));
    }
  });
}

// Some of which were let go, while others have their handles.
TEST_P(FollowingHandles, EndWithTheirCommunicator) {
  run_ranks(2, [&](Child& child) {
    ::setenv("HOCKET_TRANSPORT", GetParam(), 1);
    std::array<Numbers, each> data;
    data.fill(Numbers(1, 0));
    std::array<hocket_work*, each> works{};
    {
      const Comm comm;
      ASSERT_TRUE(comm);
      const bool sends = child.index == 0;
      for (int i = 0; i < 3; ++i) {
        hocket_work* work = nullptr;
        sends ? send(comm.get(), data[0]) : receive(comm.get(), data[0], &work);
        if (!sends) {
          ASSERT_NO_FATAL_FAILURE(end(work));
        }
      }
      for (std::size_t i = 0; i < each && !sends; ++i) {
        ASSERT_NO_FATAL_FAILURE(receive(comm.get(), data[i], &works[i]));
        if (i % 2 == 0) {
          ASSERT_EQ(hocket_work_release(std::exchange(works[i], nullptr)), HOCKET_OK);
        }
      }
      ASSERT_NO_FATAL_FAILURE(wait_for_receiver(comm.get(), sends));
    }
    for (hocket_work* const work : works) {
      if (work == nullptr) continue;
      const hocket_result result = hocket_work_wait(work, 0);
      EXPECT_TRUE(result == HOCKET_ABORTED || result == HOCKET_PEER_LOST) << hocket_result_name(result);
      EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Over, FollowingHandles, testing::Values("tcp", "shm"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace hocket::process_testing
