#include "src/exec/waiting.hpp"

#include <gtest/gtest.h>

namespace hocket {
namespace {

// Yields that last as long as the test says.
struct FakeCore {
  static bool yield() { return !contended; }
  static inline bool contended = false;
};

using Waiter = BasicWaiter<FakeCore>;

constexpr WaitBudget budget{.pauses = 30, .yields = 7};

// How many polls a wait has until it should sleep; then what was waited for happens.
int polls_until_sleep(Waiter& waiter) {
  int polls = 0;
  while (waiter.spin(true)) ++polls;
  waiter.reset();
  return polls;
}

// A wait that ends after so many polls.
void wait_for(Waiter& waiter, int polls) {
  for (int i = 0; i < polls; ++i) ASSERT_TRUE(waiter.spin(true));
  waiter.reset();
}

TEST(Waiter, PausesThenYieldsThenSleeps) {
  Waiter waiter;
  waiter.set(budget);
  EXPECT_EQ(polls_until_sleep(waiter), budget.pauses + budget.yields);
  EXPECT_EQ(polls_until_sleep(waiter), budget.pauses + budget.yields);
  while (waiter.spin(false)) {
  }
  waiter.reset();
  int polls = 0;
  while (waiter.spin(false)) ++polls;
  const int calls = (budget.pauses + Waiter::pauses_in_a_call - 1) / Waiter::pauses_in_a_call;
  EXPECT_EQ(polls, calls + budget.yields) << "a poll that is a system call is as long as many pauses";
}

TEST(Waiter, SleepsWhereOthersKeepTheCore) {
  Waiter waiter;
  waiter.set(budget);
  FakeCore::contended = true;
  EXPECT_EQ(polls_until_sleep(waiter), budget.pauses + 1);
  FakeCore::contended = false;
}

// What a program that never waits gets by a yield is a slice of the scheduler.
TEST(Waiter, PausesForLongerInPlaceOfYieldsWhereOthersKeptTheCore) {
  Waiter waiter;
  waiter.set(budget);
  FakeCore::contended = true;
  wait_for(waiter, budget.pauses + 1);
  for (int i = 0; i < 64; ++i) {
    wait_for(waiter, budget.pauses);  // waits that end before one would yield do not count
    wait_for(waiter, Waiter::longer * budget.pauses - 1);
  }
  EXPECT_EQ(polls_until_sleep(waiter), budget.pauses + 1) << "yields are never tried again";
  FakeCore::contended = false;
}

TEST(Waiter, PausesForLongerOnlyWhileThatHelps) {
  Waiter waiter;
  waiter.set(budget);
  wait_for(waiter, budget.pauses + 1);  // this helped, so the next one yields at once
  FakeCore::contended = true;
  EXPECT_EQ(polls_until_sleep(waiter), 1);
  FakeCore::contended = false;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(polls_until_sleep(waiter), Waiter::longer * budget.pauses) << "wait " << i;
  EXPECT_EQ(polls_until_sleep(waiter), budget.pauses + budget.yields) << "after a loss none yields without pauses";
}

// Ranks that outnumber cores yield to each other, and one that computes keeps its core.
TEST(Waiter, GoesOnToYieldWhereRanksOutnumberCores) {
  constexpr WaitBudget shared{.pauses = 0, .yields = 5};
  Waiter waiter;
  waiter.set(shared);
  FakeCore::contended = true;
  EXPECT_EQ(polls_until_sleep(waiter), 1);
  FakeCore::contended = false;
  EXPECT_EQ(polls_until_sleep(waiter), shared.yields);
}

TEST(Waiter, SkipsPausesForAWhileAfterTheFirstYieldsHelped) {
  Waiter waiter;
  waiter.set(budget);
  wait_for(waiter, budget.pauses + 1);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(polls_until_sleep(waiter), budget.yields) << "wait " << i;
  EXPECT_EQ(polls_until_sleep(waiter), budget.pauses + budget.yields) << "the pauses are never tried again";
}

TEST(Waiter, KeepsPausingWhilePausesHelpOrNothingDoes) {
  Waiter waiter;
  waiter.set(budget);
  wait_for(waiter, budget.pauses / 2);
  wait_for(waiter, budget.pauses);
  wait_for(waiter, budget.pauses + budget.yields);
  EXPECT_EQ(polls_until_sleep(waiter), budget.pauses + budget.yields);
}

}  // namespace
}  // namespace hocket
