#include "src/base/deadline_mutex.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace hocket {
namespace {

using Clock = std::chrono::steady_clock;

TEST(DeadlineMutex, IsTakenByOneAtATime) {
  DeadlineMutex mutex;
  int counted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) {
        const std::lock_guard lock(mutex);
        ++counted;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counted, 4000);
}

TEST(DeadlineMutex, IsNotWaitedForLongerThanAsked) {
  DeadlineMutex mutex;
  mutex.lock();
  std::thread other([&] {
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock_until(Clock::now() - std::chrono::hours(1)));
    EXPECT_FALSE(mutex.try_lock_until(Clock::now() + std::chrono::milliseconds(5)));
  });
  other.join();
  std::thread patient([&] {
    EXPECT_TRUE(mutex.try_lock_until(Clock::time_point::max()));
    mutex.unlock();
  });
  mutex.unlock();
  patient.join();
  EXPECT_TRUE(mutex.try_lock());
}

}  // namespace
}  // namespace hocket
