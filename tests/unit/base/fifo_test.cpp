#include "src/base/fifo.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace hocket {
namespace {

// As a deque does it, while it grows with its front anywhere.
TEST(Fifo, KeepsTheOrder) {
  for (unsigned ahead = 0; ahead < 20; ++ahead) {
    Fifo<unsigned> fifo;
    std::deque<unsigned> expected;
    unsigned number = 0;
    const auto put = [&](unsigned count) {
      for (unsigned i = 0; i < count; ++i) {
        fifo.push_back(number);
        expected.push_back(number++);
      }
    };
    const auto take = [&](unsigned count) {
      for (unsigned i = 0; i < count; ++i) {
        ASSERT_FALSE(fifo.empty());
        ASSERT_EQ(fifo.front(), expected.front());
        fifo.pop_front();
        expected.pop_front();
      }
    };
    for (unsigned round = 0; round < 50; ++round) {
      put(ahead + round % 7);
      take(ahead / 2 + round % 5);
      ASSERT_EQ(fifo.size(), expected.size());
    }
    take(static_cast<unsigned>(expected.size()));
    EXPECT_TRUE(fifo.empty());
  }
}

}  // namespace
}  // namespace hocket
