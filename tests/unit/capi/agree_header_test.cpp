// agree.hpp compiles by itself, and its wrapper does what it says.
#include "hocket/agree.hpp"

// Nothing else before the line above.
#include <gtest/gtest.h>

#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

static_assert(!std::is_copy_constructible_v<hocket::Agreement> &&
              std::is_nothrow_move_constructible_v<hocket::Agreement>);

TEST(AgreeHeader, OneRankAloneAgrees) {
  hocket::Communicator comm = hocket::Communicator::create({.world_size = 1, .rank = 0});
  EXPECT_EQ(comm.agree(5).flag, 5U);
  EXPECT_TRUE(comm.agree(5).dead.empty());
  hocket::Agreement agreement = hocket::Agreement::start(comm, 6);
  while (!agreement.test()) std::this_thread::yield();
  hocket::Agreement moved = std::move(agreement);
  EXPECT_EQ(agreement.handle(), nullptr);
  EXPECT_EQ(moved.wait().flag, 6U);
  EXPECT_EQ(moved.wait().flag, 6U);
  moved = hocket::Agreement::start(comm, 7);
  EXPECT_EQ(moved.wait().flag, 7U);
}

TEST(AgreeHeader, ThrowsWhatItIsRefused) {
  std::vector<hocket::Communicator> threads = hocket::Communicator::create_local(2);
  EXPECT_THROW(threads[0].agree(1), hocket::Error);
}

}  // namespace
