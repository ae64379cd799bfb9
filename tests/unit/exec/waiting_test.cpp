#include "src/exec/waiting.hpp"

#include <gtest/gtest.h>

namespace hocket {
namespace {

// Yields that meet whom the test says.
struct FakeCore {
  static Yielded yield() {
    return contended ? Yielded::for_long : deserted ? Yielded::to_nobody : Yielded::for_a_moment;
  }
  static inline bool contended = false, deserted = false;
};

using Waiter = BasicWaiter<FakeCore>;

constexpr WaitBudget budget{.pauses = 30, .yields = 7};
constexpr WaitBudget shared{.pauses = 40, .yields = 5, .shares_cores = true};

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

// Until its patience on a shared core is the longest.
void learn_that_pauses_help(Waiter& waiter) {
  waiter.set(shared);
  for (int waits = 0; waits < 100; ++waits) {
    waiter.tell(Awaits::links, true);
    wait_for(waiter, 1);
  }
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

// Ranks that are each bound to a core come to know only later that they have more of them together.
TEST(Waiter, TellsNoCoreUntilRanksArePlaced) {
  Waiter waiter;
  waiter.set(WaitBudget::until_placed(2, 1));
  EXPECT_FALSE(waiter.asks());
  EXPECT_EQ(polls_until_sleep(waiter), WaitBudget::for_ranks(2, 1).yields)
      << "nor does it pause on a core that they share";
  waiter.set(WaitBudget::for_ranks(2, 1));
  EXPECT_TRUE(waiter.asks());
  waiter.set(WaitBudget::until_placed(2, 2));
  EXPECT_EQ(polls_until_sleep(waiter), 300) << "as with a core each";
}

TEST(Waiter, MayBeAloneOnOneOfSeveralCoresWithTwoRanksForEachAtMost) {
  EXPECT_EQ(WaitBudget::for_ranks(2, 2).lone_yields, 0);
  EXPECT_GT(WaitBudget::for_ranks(3, 2).lone_yields, 0);
  EXPECT_GT(WaitBudget::for_ranks(4, 2).lone_yields, 0);
  EXPECT_EQ(WaitBudget::for_ranks(5, 2).lone_yields, 0);
  EXPECT_EQ(WaitBudget::for_ranks(2, 1).lone_yields, 0) << "nobody is anywhere else";
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
  Waiter waiter;
  waiter.set(shared);
  FakeCore::contended = true;
  EXPECT_EQ(polls_until_sleep(waiter), 1);
  FakeCore::contended = false;
  EXPECT_EQ(polls_until_sleep(waiter), shared.yields);
}

TEST(Waiter, PausesOnASharedCoreOnlyForARankThatMayRun) {
  Waiter waiter;
  waiter.set(shared);
  for (const bool may_run : {true, false, true}) {
    EXPECT_TRUE(waiter.asks());
    waiter.tell(Awaits::links, may_run);
    if (may_run) {
      wait_for(waiter, shared.pauses);
    } else {
      EXPECT_EQ(polls_until_sleep(waiter), shared.yields);
    }
  }
  waiter.tell(Awaits::links, true);
  ASSERT_TRUE(waiter.spin(true));
  EXPECT_FALSE(waiter.asks()) << "in the middle of a wait";
}

TEST(Waiter, PausesOnASharedCoreOnlyWhileThatHelps) {
  Waiter waiter;
  waiter.set(shared);
  for (const int between : {8, 16, 32, 64, 128, 256, 512, 512}) {
    waiter.tell(Awaits::links, true);
    EXPECT_EQ(polls_until_sleep(waiter), shared.pauses + shared.yields) << "before " << between;
    for (int i = 0; i < between; ++i) {
      waiter.tell(Awaits::links, true);
      EXPECT_EQ(polls_until_sleep(waiter), shared.yields) << "wait " << i << " of " << between;
    }
  }
  waiter.tell(Awaits::links, true);
  wait_for(waiter, shared.pauses);
  waiter.tell(Awaits::links, true);
  polls_until_sleep(waiter);
  for (int i = 0; i < Waiter::least_between_trials; ++i) {
    waiter.tell(Awaits::links, true);
    EXPECT_EQ(polls_until_sleep(waiter), shared.yields) << "wait " << i;
  }
  waiter.tell(Awaits::links, true);
  EXPECT_EQ(polls_until_sleep(waiter), shared.pauses + shared.yields) << "a trial that helped changes nothing";
}

constexpr WaitBudget alone{.pauses = 40, .yields = 5, .shares_cores = true, .lone_yields = 9};

// As one of four ranks where the others are three on the second of two cores.
TEST(Waiter, YieldsForLongerWhereItIsAloneOnItsCoreAndTheWaitIsShort) {
  for (const bool deserted : {true, false}) {
    FakeCore::deserted = deserted;
    const int longer = deserted ? alone.yields + alone.lone_yields : alone.yields;
    Waiter waiter;
    waiter.set(alone);
    for (int i = 0; i < 2; ++i) {
      waiter.tell(Awaits::window_for_small_data, false);
      EXPECT_EQ(polls_until_sleep(waiter), longer) << deserted;
      waiter.tell(Awaits::window, false);
      EXPECT_EQ(polls_until_sleep(waiter), alone.yields) << deserted;
      waiter.tell(Awaits::links, false);
      EXPECT_EQ(polls_until_sleep(waiter), alone.yields) << deserted;
    }
    waiter.tell(Awaits::links, true);
    EXPECT_EQ(polls_until_sleep(waiter), alone.pauses + longer) << deserted;
  }
  FakeCore::deserted = false;
}

TEST(Waiter, LeavesItsCoreAtOnceToWhoComesWhileItWasAlone) {
  Waiter waiter;
  waiter.set(alone);
  waiter.tell(Awaits::window_for_small_data, false);
  FakeCore::deserted = true;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(waiter.spin(true));
  FakeCore::deserted = false;
  int polls = 0;
  while (waiter.spin(true)) ++polls;
  EXPECT_EQ(polls, alone.yields - 1) << "the first one tells nothing, and counts";
  waiter.reset();
}

TEST(Waiter, PausesOnASharedCoreForLongerTheMoreThatHasSpared) {
  Waiter waiter;
  learn_that_pauses_help(waiter);
  waiter.tell(Awaits::links, true);
  FakeCore::contended = true;
  EXPECT_EQ(polls_until_sleep(waiter), shared.pauses + Waiter::longest_patience + 1);
  FakeCore::contended = false;
  for (int i = 0; i < Waiter::least_between_trials; ++i) {
    waiter.tell(Awaits::links, true);
    wait_for(waiter, 1);
  }
  waiter.tell(Awaits::links, true);
  wait_for(waiter, shared.pauses);
  waiter.tell(Awaits::links, true);
  EXPECT_EQ(polls_until_sleep(waiter), shared.pauses + Waiter::spared_pauses + shared.yields) << "it has begun anew";
}

TEST(Waiter, ForgetsWhatItLearntWhenRanksShareCoresOrDoNotAnyMore) {
  Waiter waiter;
  learn_that_pauses_help(waiter);
  waiter.tell(Awaits::links, true);
  ASSERT_TRUE(waiter.spin(true));
  waiter.set(budget);  // in the middle of a wait
  EXPECT_FALSE(waiter.asks());
  EXPECT_EQ(polls_until_sleep(waiter), budget.pauses + budget.yields);
  FakeCore::contended = true;
  wait_for(waiter, budget.pauses + 1);
  FakeCore::contended = false;
  waiter.set(shared);
  EXPECT_TRUE(waiter.asks());
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
