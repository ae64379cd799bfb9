// Which of several failures a launch tells.
#include "tools/launch_loop.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <deque>

namespace hocket::launch {
namespace {

// Two ranks whose ends are told one after the other.
class ToldRanks : public Ranks {
 public:
  explicit ToldRanks(std::deque<End> ends) : ends_(std::move(ends)) {}

  Status start() override { return {}; }
  void watch(std::vector<pollfd>&) const override {}
  int wait_ms() const override { return 0; }
  std::vector<End> progress() override {
    if (ends_.empty()) return {};
    const End next = ends_.front();
    ends_.pop_front();
    return {next};
  }
  void signal(int) override { ends_.clear(); }
  int running() const override { return static_cast<int>(ends_.size()); }
  bool alive() const override { return !ends_.empty(); }
  int settling_ms() const override { return 60'000; }

 private:
  std::deque<End> ends_;
};

int status_of(std::deque<End> ends) {
  const Options options;
  const Signals signals;
  Relays relays;
  ToldRanks ranks(std::move(ends));
  return Launch(options, signals, relays, ranks).run();
}

const End exited{.rank = 0, .wait_status = W_EXITCODE(3, 0), .host = "a", .sentence = {}};
const End killed{.rank = 1, .wait_status = SIGKILL, .host = "b", .sentence = {}};
const End killed_beside{.rank = 1, .wait_status = SIGKILL, .host = "a", .sentence = {}};
const End well{.rank = 2, .wait_status = 0, .host = "b", .sentence = {}};
const End lost{.rank = -1, .wait_status = W_EXITCODE(255, 0), .host = "b", .sentence = "lost b: silence"};

TEST(LaunchLoop, ADeathOnAnotherHostIsTheCauseThoughToldLater) {
  EXPECT_EQ(status_of({exited, killed, well}), 137);
  EXPECT_EQ(status_of({killed, exited, well}), 137);
}

TEST(LaunchLoop, OnOneHostTheFirstFailureIsTheCause) {
  EXPECT_EQ(status_of({exited, killed_beside, well}), 3);
}

TEST(LaunchLoop, WithoutADeathTheFirstFailureIsTheCause) {
  EXPECT_EQ(status_of({well, exited}), 3);
  EXPECT_EQ(status_of({lost, killed, well}), 255);
  EXPECT_EQ(status_of({well}), 0);
}

}  // namespace
}  // namespace hocket::launch
