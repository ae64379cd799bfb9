#include "src/exec/lateness.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "src/plan/direct/staging.hpp"
#include "tests/unit/exec/fake_peers.hpp"
#include "tests/unit/exec/memory_window.hpp"

namespace hocket {
namespace {

// Runs, and has waited for these peers for a while.
class Waits final : public Operation {
 public:
  explicit Waits(std::vector<Rank> awaited) : Operation(std::make_shared<Context>()), awaited_(std::move(awaited)) {
    bind(testing::FakeOperation::ordinary());
    tell_again_at(Deadline(Deadline::Clock::now()));
  }
  Status start(const Tag&, Peers&) override { return {}; }
  bool advance(Counters&) override { return false; }
  bool complete() const override { return false; }
  std::span<const Direction> directions() const override { return {}; }
  Missing missing() const override { return {.peers = awaited_, .text = "waiting"}; }
  std::string_view algorithm() const override { return "fake"; }

 private:
  const std::vector<Rank> awaited_;
};

// Whether others take rank 0 to wait, in which this operation runs.
bool is_said_to_wait(const std::vector<Rank>& awaited) {
  testing::SharedMemory shared(2, direct::payload_bytes);
  testing::MemoryWindow own(shared, 0), others(shared, 1);
  testing::FakePeers peers;
  OperationQueue queue;
  queue.add(std::make_shared<Waits>(awaited), peers.size());
  EXPECT_NE(queue.start_next(), nullptr);
  Lateness lateness(0);
  lateness.use_window(own);
  bool told_over_window = false;
  EXPECT_FALSE(lateness.find(queue, peers, told_over_window));
  const bool waits = LifeLines(others).waits(0);
  EXPECT_EQ(lateness.tells(), waits);
  return waits;
}

// Held up by its own stream, say: who waits for it would look for somebody behind it.
TEST(Lateness, SaysThatARankWaitsOnlyWhereItWaitsForOthers) {
  EXPECT_TRUE(is_said_to_wait({1}));
  EXPECT_FALSE(is_said_to_wait({}));
}

}  // namespace
}  // namespace hocket
