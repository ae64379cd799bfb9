// Where a thread that progresses will see what it waits for.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <utility>

#include "src/exec/operation_queue.hpp"
#include "tests/unit/exec/fake_peers.hpp"
#include "tests/unit/exec/memory_window.hpp"

namespace hocket::testing_support {
namespace {

class OperationQueueAwaits : public ::testing::Test {
 protected:
  void run(std::shared_ptr<Operation> operation) {
    queue_.add(std::move(operation), 2);
    ASSERT_NE(queue_.start_next(), nullptr);
  }
  // In a window of its own.
  void run_over_window(bool small) {
    MemoryWindow& window = windows_.emplace_back(shared_, 0);
    run(std::make_shared<OverWindow>(window, small));
  }

  SharedMemory shared_{2, 1};
  std::deque<MemoryWindow> windows_;
  OperationQueue queue_;
};

TEST_F(OperationQueueAwaits, SmallDataOnlyWhereAllOfItIs) {
  run_over_window(true);
  EXPECT_EQ(queue_.awaits(true), Awaits::window_for_small_data);
  EXPECT_EQ(queue_.awaits(false), Awaits::window);
  run_over_window(true);
  EXPECT_EQ(queue_.awaits(true), Awaits::window_for_small_data);
  run_over_window(false);
  EXPECT_EQ(queue_.awaits(true), Awaits::window);
}

TEST_F(OperationQueueAwaits, LinksWhereAnythingUsesThem) {
  EXPECT_EQ(queue_.awaits(true), Awaits::links) << "nothing runs";
  run_over_window(true);
  run(std::make_shared<FakeOperation>(std::vector<Direction>{{.peer = 1, .outgoing = true}}));
  EXPECT_EQ(queue_.awaits(true), Awaits::links);
}

}  // namespace
}  // namespace hocket::testing_support
