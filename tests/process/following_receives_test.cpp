// Short receives that are under way behind others of their direction: they begin only when those are over, which nobody
// may notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/following_receives.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// All receives are there before the first message is, and after every third message the sender waits for the receiver.
TEST_P(FollowingReceives, OfSeveralSizesAndTimeoutsKeepTheirOrder) {
  run([](hocket_comm* comm, bool sends) {
    const std::array<std::size_t, 5> sizes{1, 1, 1, 40'000, 200};
    hocket_call_options patient = HOCKET_CALL_OPTIONS_INIT;
    patient.timeout_ms = 120'000;
    for (std::uint64_t round = 0; round < 20; ++round) {
      const auto size_of_message = [&](std::size_t i) { return round % 2 == 0 ? sizes[0] : sizes[i * i % 7 % 5]; };
      std::array<Numbers, each> data;
      std::array<hocket_work*, each> works{};
      for (std::size_t i = 0; i < each; ++i) data[i].assign(size_of_message(i), sends ? each * round + i : 0);
      if (!sends) {
        for (std::size_t i = 0; i < each; ++i) {
          ASSERT_NO_FATAL_FAILURE(receive(comm, data[i], &works[i], i % 11 == 10 ? &patient : nullptr));
        }
      }
      ASSERT_NO_FATAL_FAILURE(wait_for_receiver(comm, sends));
      for (std::size_t i = 0; i < each; ++i) {
        if (sends) {
          ASSERT_NO_FATAL_FAILURE(send(comm, data[i]));
        }
        if (i % 3 != 0) continue;
        if (!sends) {
          ASSERT_EQ(hocket_work_wait(works[i], 0), HOCKET_OK) << hocket_last_error();
        }
        ASSERT_NO_FATAL_FAILURE(wait_for_receiver(comm, sends));
      }
      for (std::size_t i = 0; i < each; ++i) {
        if (!sends) {
          ASSERT_NO_FATAL_FAILURE(end(works[i]));
        }
        EXPECT_THAT(data[i], testing::Each(each * round + i)) << "round " << round;
      }
    }
  });
}

// Each calls its function once, whoever finds that it is over.
TEST_P(FollowingReceives, TellThatTheyAreOver) {
  run([](hocket_comm* comm, bool sends) {
    for (std::uint64_t round = 0; round < 10; ++round) {
      std::array<Numbers, each> data;
      data.fill(Numbers(1, round));
      std::array<hocket_work*, each> works{};
      std::atomic<std::size_t> ended{0};
      const auto count_well = [](hocket_result result, void* context) {
        *static_cast<std::atomic<std::size_t>*>(context) += result == HOCKET_OK ? 1 : 1000;
      };
      for (std::size_t i = 0; i < each && !sends; ++i) {
        ASSERT_NO_FATAL_FAILURE(receive(comm, data[i], &works[i]));
        ASSERT_EQ(hocket_work_on_complete(works[i], count_well, &ended), HOCKET_OK) << hocket_last_error();
      }
      ASSERT_NO_FATAL_FAILURE(wait_for_receiver(comm, sends));
      for (std::size_t i = 0; i < each && sends; ++i) ASSERT_NO_FATAL_FAILURE(send(comm, data[i]));
      for (std::size_t i = each; i-- > 0 && !sends;) ASSERT_NO_FATAL_FAILURE(end(works[i]));
      ASSERT_NO_FATAL_FAILURE(wait_for_receiver(comm, sends));
      while (!sends && ended == 0) std::this_thread::yield();  // on the thread that progresses
      for (int i = 0; i < 100 && !sends && ended < each; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_EQ(ended, sends ? 0 : each);
    }
  });
}

// All break with the first, while the sender is alive.
TEST_P(FollowingReceives, EndAtTheirDeadline) {
  run([](hocket_comm* comm, bool sends) {
    hocket_call_options hasty = HOCKET_CALL_OPTIONS_INIT;
    hasty.timeout_ms = 300;
    std::array<Numbers, each> data;
    data.fill(Numbers(1, 0));
    for (int i = 0; i < 3; ++i) {
      hocket_work* work = nullptr;
      sends ? send(comm, data[0]) : receive(comm, data[0], &work, &hasty);
      if (!sends) {
        ASSERT_NO_FATAL_FAILURE(end(work));
      }
    }
    ASSERT_NO_FATAL_FAILURE(wait_for_receiver(comm, sends));
    if (sends) {
      std::uint64_t word = 0;
      expect_result(hocket_recv(&word, 1, HOCKET_UINT64, 1, comm, nullptr, nullptr), HOCKET_TIMEOUT);
      return;
    }
    std::array<hocket_work*, each> works{};
    for (std::size_t i = 0; i < each; ++i) {
      const hocket_result started = hocket_recv(data[i].data(), 1, HOCKET_UINT64, 0, comm, &hasty, &works[i]);
      if (started != HOCKET_OK) break;  // the others have ended already
    }
    for (hocket_work* const work : works) {
      if (work == nullptr) continue;
      expect_result(hocket_work_wait(work, 0), HOCKET_TIMEOUT);
      EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Over, FollowingReceives, testing::Values("tcp", "shm"),
                         [](const auto& tested) { return std::string(tested.param); });

// A sender that waits for nothing but its end.
TEST(FollowingReceivesOfTheDead, AllEndAndNameTheRank) {
  constexpr std::size_t each = 60;
  for (const char* const transport : {"tcp", "shm"}) {
    ProcessGroup group({2}, [&](Child& child) {
      ::setenv("HOCKET_TRANSPORT", transport, 1);
      const Comm comm;
      ASSERT_TRUE(comm);
      std::array<Numbers, each> data;
      data.fill(Numbers(1, 0));
      for (int i = 0; i < 5; ++i) {
        const hocket_result result =
            child.index == 0 ? hocket_send(data[0].data(), 1, HOCKET_UINT64, 1, comm.get(), nullptr, nullptr)
                             : hocket_recv(data[0].data(), 1, HOCKET_UINT64, 0, comm.get(), nullptr, nullptr);
        ASSERT_EQ(result, HOCKET_OK) << hocket_last_error();
      }
      if (child.index == 0) {
        child.say("sent");
        (void)child.hear();
        return;
      }
      std::array<hocket_work*, each> works{};
      for (std::size_t i = 0; i < each; ++i) {
        ASSERT_EQ(hocket_recv(data[i].data(), 1, HOCKET_UINT64, 0, comm.get(), nullptr, &works[i]), HOCKET_OK);
      }
      child.say("posted");
      for (std::size_t i = 0; i < each; ++i) {
        expect_result(hocket_work_wait(works[i], 0), HOCKET_PEER_LOST, "receive " + std::to_string(i));
        EXPECT_EQ(last_cause().peer, 0);
        EXPECT_EQ(hocket_work_release(works[i]), HOCKET_OK);
      }
    });
    EXPECT_EQ(group.hear(0), "sent");
    EXPECT_EQ(group.hear(1), "posted");
    group.signal(0, SIGKILL);
    const auto outcomes = group.wait();
    EXPECT_EQ(outcomes[1].status, 0) << transport;
  }
}

}  // namespace
}  // namespace hocket::process_testing
