// creation.hpp compiles by itself, and its wrapper does what it says.
#include "hocket/creation.hpp"

// Nothing else before the line above.
#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

namespace {

static_assert(!std::is_copy_constructible_v<hocket::Creation> &&
              std::is_nothrow_move_constructible_v<hocket::Creation>);

const hocket::Options alone{.world_size = 1, .rank = 0};

TEST(CreationHeader, HandsOverACommunicator) {
  hocket::Creation creation = hocket::Creation::start(alone);
  while (!creation.test()) std::this_thread::yield();
  hocket::Creation moved = std::move(creation);
  EXPECT_EQ(creation.handle(), nullptr);
  hocket::Communicator comm = moved.wait().value();
  EXPECT_EQ(comm.size(), 1);
  EXPECT_THROW(moved.wait(), hocket::Error);
  moved = hocket::Creation::split(comm, HOCKET_NO_COLOR, 0);
  EXPECT_FALSE(moved.wait().has_value());
  moved = hocket::Creation::split(comm, 3, 0);
  EXPECT_EQ(moved.wait().value().size(), 1);
  const hocket::Creation nobody_waits = hocket::Creation::start(alone);
}

TEST(CreationHeader, SplitsWhileOtherCommunicatorsWork) {
  std::vector<hocket::Communicator> parents = hocket::Communicator::create_local(3);
  std::vector<std::thread> threads;
  for (hocket::Communicator& parent : parents) {
    threads.emplace_back([&parent] {
      hocket::Communicator child = hocket::Creation::split(parent, 0, -parent.rank()).wait().value();
      EXPECT_EQ(child.rank(), 2 - parent.rank());
      std::vector<int> one{1};
      child.allreduce(one, hocket::Op::sum);
      EXPECT_EQ(one[0], 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
