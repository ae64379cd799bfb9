#include "src/exec/progress_lock.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>
#include <vector>

#include "src/base/wake_event.hpp"

namespace hocket {
namespace {

const Deadline never(Deadline::Clock::time_point::max());

bool is_set(const UniqueFd& event) {
  pollfd look{.fd = event.get(), .events = POLLIN, .revents = 0};
  return ::poll(&look, 1, 0) == 1;
}

class ProgressLockTest : public ::testing::Test {
 protected:
  ProgressLockTest() { EXPECT_TRUE(lock_.open().ok()); }
  ProgressLock lock_;
};

TEST_F(ProgressLockTest, OneThreadAtATime) {
  ASSERT_TRUE(lock_.try_take());
  EXPECT_FALSE(lock_.try_take());
  EXPECT_FALSE(lock_.take_as_watcher(true));
  lock_.release(false);
  EXPECT_EQ(lock_.state(), 0U);
  EXPECT_TRUE(lock_.try_take());
}

// Whoever takes it from rest looks for nothing, so there must be nothing.
TEST_F(ProgressLockTest, IsAtRestWhereNobodyWantsAnything) {
  ASSERT_TRUE(lock_.take_from_rest());
  EXPECT_FALSE(lock_.take_from_rest());
  EXPECT_TRUE(lock_.return_to_rest());
  lock_.submit();
  EXPECT_FALSE(lock_.take_from_rest()) << "something was submitted";
  ASSERT_TRUE(lock_.try_take());
  lock_.accept();
  lock_.release(true);
  EXPECT_FALSE(lock_.take_from_rest()) << "something was left";
}

TEST_F(ProgressLockTest, DoesNotReturnToRestBeforeOthers) {
  ASSERT_TRUE(lock_.take_from_rest());
  lock_.submit();
  EXPECT_FALSE(lock_.return_to_rest());
  EXPECT_FALSE(lock_.try_take()) << "it was not given back";
  lock_.release(false);
  EXPECT_TRUE(is_set(lock_.watcher_event())) << "who gives it back as usual wakes whoever is needed";
}

// Else one asynchronous call would close the short way of all later ones until the watcher wakes up, maybe for good.
TEST_F(ProgressLockTest, IsAtRestAlsoWhereTheWatcherHasNotLainDownSince) {
  ASSERT_TRUE(lock_.try_take());
  lock_.submit();
  lock_.accept();
  lock_.release(false);
  ASSERT_EQ(lock_.state(), progress::one_start) << "nobody woke the watcher";
  ASSERT_TRUE(lock_.take_from_rest());
  EXPECT_TRUE(lock_.return_to_rest());
  EXPECT_EQ(lock_.lie_down(), ProgressLock::Rest::doze);
  ASSERT_TRUE(lock_.take_from_rest()) << "the watcher dozes";
  EXPECT_EQ(lock_.lie_down(), ProgressLock::Rest::sleep);
  EXPECT_TRUE(lock_.return_to_rest()) << "the watcher looked meanwhile, and found nothing";
  EXPECT_EQ(lock_.state(), 0U);
}

TEST_F(ProgressLockTest, TheWatcherProgressesOnlyWhatIsThere) {
  EXPECT_FALSE(lock_.take_as_watcher(false));
  lock_.submit();
  EXPECT_TRUE(is_set(lock_.watcher_event()));
  ASSERT_TRUE(lock_.take_as_watcher(false));
  lock_.accept();
  lock_.release(true);
  EXPECT_TRUE(lock_.take_as_watcher(false)) << "something was left";
  lock_.release(false);
  EXPECT_FALSE(lock_.take_as_watcher(false));
}

// They progress when they start the next, or wait.
TEST_F(ProgressLockTest, TheWatcherLeavesThoseAloneWhoStartOneAfterAnother) {
  const auto start_many = [&] {
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(lock_.try_take());
      lock_.release_started(true);
    }
  };
  start_many();
  EXPECT_FALSE(lock_.take_as_watcher(false));
  EXPECT_EQ(lock_.lie_down(), ProgressLock::Rest::doze_longer);
  EXPECT_TRUE(lock_.take_as_watcher(false)) << "nobody has started any more since, and something is left";
  lock_.release(true);
  EXPECT_EQ(lock_.lie_down(), ProgressLock::Rest::doze);
  start_many();
  EXPECT_TRUE(lock_.take_as_watcher(true)) << "it has seen something itself";
  lock_.release(true);
  EXPECT_TRUE(lock_.take_as_watcher(false, false)) << "it has waited for long";
  lock_.release(true);
  lock_.submit();
  EXPECT_TRUE(lock_.take_as_watcher(false)) << "what is submitted does not begin on a caller's thread";
  lock_.accept();
  lock_.release(true);
  start_many();
  ASSERT_TRUE(lock_.request_abort());
  EXPECT_TRUE(lock_.take_as_watcher(false)) << "an abort is not put off";
}

TEST_F(ProgressLockTest, WhoSleepsIsWokenAndWhoDoesNotIsNot) {
  ASSERT_TRUE(lock_.try_take());
  lock_.submit();
  EXPECT_FALSE(is_set(lock_.holder_event())) << "it did not say that it sleeps";
  EXPECT_FALSE(lock_.fall_asleep()) << "there is something to do";
  lock_.accept();
  ASSERT_TRUE(lock_.fall_asleep());
  lock_.submit();
  EXPECT_TRUE(is_set(lock_.holder_event()));
  EXPECT_FALSE(is_set(lock_.watcher_event()));
}

TEST_F(ProgressLockTest, OneRequestToAbort) {
  EXPECT_TRUE(lock_.request_abort());
  EXPECT_FALSE(lock_.request_abort());
  ASSERT_TRUE(lock_.try_take());
  lock_.break_down();
  EXPECT_FALSE(lock_.request_abort());
  lock_.release(false);
  EXPECT_EQ(lock_.state(), progress::broken);
}

TEST_F(ProgressLockTest, ManyThreadsTakeTurns) {
  constexpr int threads = 4, turns = 2'000;
  int total = 0;  // by the thread that progresses
  std::vector<std::thread> callers;
  for (int i = 0; i < threads; ++i) {
    callers.emplace_back([&] {
      for (int turn = 0; turn < turns; ++turn) {
        ASSERT_TRUE(lock_.take_unless([] { return false; }, never));
        ++total;
        lock_.release(false);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, threads * turns);
  EXPECT_EQ(lock_.state(), 0U);
}

TEST_F(ProgressLockTest, AWaiterReturnsWhenItsOperationHasFinishedUnderAnother) {
  ASSERT_TRUE(lock_.try_take());
  std::atomic<bool> finished{false};
  std::thread waiter([&] { EXPECT_FALSE(lock_.take_unless([&] { return finished.load(); }, never)); });
  while (!progress::has_callers(lock_.state())) std::this_thread::yield();
  finished = true;
  lock_.completed();
  lock_.wake_callers();
  waiter.join();
  EXPECT_FALSE(progress::has_callers(lock_.state()));
}

TEST_F(ProgressLockTest, AWaiterGivesUpAtItsDeadline) {
  ASSERT_TRUE(lock_.try_take());
  EXPECT_FALSE(lock_.take_unless([] { return false; }, Deadline::after(std::chrono::milliseconds(1))));
  EXPECT_FALSE(progress::has_callers(lock_.state()));
}

TEST_F(ProgressLockTest, TheWatcherWaitsUntilTheHolderHasLooked) {
  ASSERT_TRUE(lock_.try_take());
  ASSERT_TRUE(lock_.fall_asleep());
  std::atomic<bool> looked{false};
  std::thread watcher([&] { lock_.have_links_looked_at([&] { return looked.load(); }); });
  while ((lock_.state() & progress::watcher_waits) == 0) std::this_thread::yield();
  EXPECT_TRUE(is_set(lock_.holder_event()));
  lock_.awake();
  EXPECT_FALSE(lock_.fall_asleep());
  lock_.look();
  looked = true;
  lock_.show();
  watcher.join();
  EXPECT_EQ(lock_.state(), progress::taken);
}

}  // namespace
}  // namespace hocket
