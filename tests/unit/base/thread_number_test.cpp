#include "src/base/thread_number.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace hocket {
namespace {

TEST(ThreadNumber, IsOneThreadsAlone) {
  std::set<ThreadNumber> seen{no_thread, this_thread_number()};
  for (int i = 0; i < 10; ++i) {
    ThreadNumber number = no_thread, again = no_thread;
    std::thread([&] {
      number = this_thread_number();
      again = this_thread_number();
    }).join();
    EXPECT_EQ(number, again);
    EXPECT_TRUE(seen.insert(number).second) << "another thread has had " << number;
  }
}

}  // namespace
}  // namespace hocket
