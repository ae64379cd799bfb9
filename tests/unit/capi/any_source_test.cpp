// Receives from any rank on communicators of one rank, and between threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "hocket/hocket.hpp"
#include "tests/process/support/local_ranks.hpp"

namespace {

using hocket::process_testing::on_local_ranks;
using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

class AnySourceAlone : public testing::Test {
 protected:
  hocket::Communicator& comm() { return comms_[0]; }

  std::vector<hocket::Communicator> comms_ = hocket::Communicator::create_local(1);
  std::vector<int> first_{1, 2, 3}, second_{4, 5, 6}, to_first_ = std::vector<int>(3), to_second_ = std::vector<int>(3);
  std::int32_t source_ = -7, other_source_ = -7;
};

TEST_F(AnySourceAlone, TakesWhatTheRankSendsToItselfInAGroup) {
  EXPECT_THAT([&] { comm().recv_any(to_first_, source_); }, ThrowsMessage<hocket::Error>(HasSubstr("alone")));
  hocket::Group group;
  comm().recv_any(to_first_, source_);
  comm().send(first_, 0);
  comm().send(second_, 0);
  comm().recv_any(to_second_, other_source_);
  EXPECT_THAT(to_first_, Each(0)) << "nothing moves before the end";
  group.end();
  EXPECT_EQ(to_first_, first_);
  EXPECT_EQ(to_second_, second_);
  EXPECT_EQ(source_, 0);
  EXPECT_EQ(other_source_, 0);
}

TEST_F(AnySourceAlone, ReceivesFromItselfComeFirst) {
  hocket::Group group;
  comm().recv_any(to_first_, source_);
  comm().recv(to_second_, 0);
  comm().send(second_, 0);
  comm().send(first_, 0);
  group.end();
  EXPECT_EQ(to_first_, first_);
  EXPECT_EQ(to_second_, second_);
}

TEST_F(AnySourceAlone, NeedsItsOtherHalf) {
  {
    hocket::Group group;
    comm().recv_any(to_first_, source_);
    EXPECT_THAT([&] { group.end(); }, ThrowsMessage<hocket::Error>(HasSubstr("has no counterpart")));
  }
  {
    hocket::Group group;
    std::vector<int> two(2);
    comm().recv_any(two, source_);
    comm().send(first_, 0);
    EXPECT_THAT([&] { group.end(); }, ThrowsMessage<hocket::Error>(HasSubstr("send of 3 int32, but recv of 2 int32")));
  }
  {
    hocket::Group group;
    comm().recv_any(first_, source_);
    comm().send(first_, 0);
    EXPECT_THAT([&] { group.end(); }, ThrowsMessage<hocket::Error>(HasSubstr("overlap")));
  }
  comm().require_working();
}

TEST_F(AnySourceAlone, RefusesWhatMakesNoSense) {
  const auto call = [&](int* recv, hocket_dtype dtype, hocket_comm* comm) {
    return hocket_recv_any(recv, 3, dtype, nullptr, comm, nullptr, nullptr);
  };
  const auto expect_invalid = [](hocket_result result, const char* text) {
    EXPECT_EQ(result, HOCKET_INVALID_ARGUMENT);
    EXPECT_THAT(hocket_last_error(), HasSubstr(text));
  };
  expect_invalid(call(to_first_.data(), HOCKET_INT32, nullptr), "comm is null");
  expect_invalid(call(to_first_.data(), HOCKET_INT32, comm().handle()), "recv: a rank that is alone");
  const int number = 99;
  hocket_dtype none;
  std::memcpy(&none, &number, sizeof none);
  hocket::Group group;
  expect_invalid(call(nullptr, HOCKET_INT32, comm().handle()), "recv is null");
  expect_invalid(call(to_first_.data(), none, comm().handle()), "dtype is 99");
  hocket_work* work = nullptr;
  expect_invalid(hocket_recv_any(to_first_.data(), 3, HOCKET_INT32, nullptr, comm().handle(), nullptr, &work),
                 "work must be null");
}

TEST_F(AnySourceAlone, GroupsOutliveTheCommunicator) {
  hocket::Group group;
  comm().recv_any(to_first_, source_);
  comm().send(first_, 0);
  comms_.clear();
  EXPECT_THAT([&] { group.end(); }, ThrowsMessage<hocket::Error>(HasSubstr("was destroyed before")));
}

class AnySourceThreads : public testing::TestWithParam<int> {};

TEST_P(AnySourceThreads, EveryMessageComesOnceAndInTheOrderOfItsSender) {
  on_local_ranks(GetParam(), [](hocket::Communicator& comm) {
    std::mt19937 random(static_cast<unsigned>(comm.rank()));
    for (const auto& [count, each] : {std::pair<std::size_t, int>{2, 100}, {100'000, 10}}) {
      if (comm.rank() > 0) {
        for (int number = 0; number < each; ++number) {
          if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
          std::vector<int> values(count, 1000 * comm.rank() + number);
          comm.send(values, 0);
        }
      } else {
        std::vector<int> next(static_cast<std::size_t>(comm.size()));
        for (int left = each * (comm.size() - 1); left > 0; left -= 2) {
          std::vector<int> one(count), two(count);
          std::int32_t from_one = -1, from_two = -1;
          hocket::Work first = comm.recv_any_async(one, from_one);
          if (left > 1) comm.recv_any(two, from_two);
          first.wait();
          EXPECT_EQ(one, std::vector<int>(count, 1000 * from_one + next[static_cast<std::size_t>(from_one)]++));
          if (left > 1) {
            EXPECT_EQ(two, std::vector<int>(count, 1000 * from_two + next[static_cast<std::size_t>(from_two)]++));
          }
        }
      }
      comm.barrier();
    }
  });
}

// Whose receive is called first is open, but each gets one whole message.
TEST_P(AnySourceThreads, TwoThreadsReceiveOnOneCommunicator) {
  on_local_ranks(GetParam(), [](hocket::Communicator& comm) {
    constexpr int each = 200;
    const std::vector<int> mine(7, comm.rank());
    if (comm.rank() > 0) {
      for (int number = 0; number < 2 * each; ++number) comm.send(mine, 0);
      return;
    }
    const auto receive = [&] {
      std::vector<int> values(7);
      for (int number = 0; number < each * (comm.size() - 1); ++number) {
        std::int32_t source = -1;
        comm.recv_any(values, source);
        EXPECT_THAT(values, Each(source));
      }
    };
    std::thread other(receive);
    receive();
    other.join();
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, AnySourceThreads, testing::Values(2, 3, 5));

}  // namespace
