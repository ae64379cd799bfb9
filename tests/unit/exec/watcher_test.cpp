#include "src/exec/watcher.hpp"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/unit/exec/fake_peers.hpp"

namespace hocket {
namespace {

using testing_support::FakePeers;

class WatcherTest : public ::testing::Test {
 protected:
  WatcherTest() { EXPECT_TRUE(lock_.open().ok()); }
  ~WatcherTest() override {
    lock_.stop();
    watcher_.join();
  }
  // Each time that it progresses, it shows itself what to watch, as a look at the links does.
  void start() {
    const auto progress = [this] {
      lock_.accept();
      lock_.look();
      watcher_.show(&peers_);
      clear();
      lock_.release(false);
      ++progressed_;
      progressed_.notify_all();
    };
    const auto fail = [this] { failed_.set_value(); };
    ASSERT_TRUE(watcher_.start({.progress = progress, .fail = fail}).ok());
    wait_for(1);
  }
  void clear() { (void)peers_.progress(); }
  void wait_for(int times) {
    for (int now = progressed_; now < times; now = progressed_) progressed_.wait(now);
  }

  ProgressLock lock_;
  FakePeers peers_;
  std::atomic<int> progressed_{0};
  std::promise<void> failed_;
  Watcher watcher_{lock_};
};

TEST_F(WatcherTest, LooksAtTheLinksFirst) {
  start();
  EXPECT_TRUE(watcher_.knows(peers_));
  ++peers_.epoch;
  EXPECT_FALSE(watcher_.knows(peers_));
}

TEST_F(WatcherTest, ProgressesWhatIsSubmitted) {
  start();
  lock_.submit();
  wait_for(2);
}

TEST_F(WatcherTest, ProgressesWhenALinkSaysSomething) {
  start();
  peers_.ring();
  wait_for(2);
}

TEST_F(WatcherTest, PassesOnWhatItSeesWhileAnotherThreadProgresses) {
  start();
  while (!lock_.try_take()) std::this_thread::yield();
  peers_.ring();
  while ((lock_.state() & progress::links_call) == 0) std::this_thread::yield();
  lock_.look();
  watcher_.show(&peers_);
  clear();
  lock_.release(false);
  lock_.submit();  // or this would pass if it had ended
  wait_for(2);
}

TEST_F(WatcherTest, AsksNobodyWhatToWatchWhenEverythingHasBroken) {
  int asked = 0;
  peers_.on_watch = [&] { ++asked; };
  start();
  while (!lock_.try_take()) std::this_thread::yield();
  EXPECT_EQ(asked, 1);
  watcher_.show(nullptr);
  EXPECT_EQ(asked, 1);
  lock_.release(false);
  lock_.submit();
  wait_for(2);
}

}  // namespace
}  // namespace hocket
