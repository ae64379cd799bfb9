#include "transports/tcp/reading_pace.hpp"

#include <gtest/gtest.h>

namespace hocket::tcp {
namespace {

// Time that passes when the test says so.
struct FakeClock {
  using time_point = std::chrono::steady_clock::time_point;
  static time_point now() { return at; }
  static inline time_point at{};
};

using Pace = BasicReadingPace<FakeClock>;

// Reads again and again, until the pace rests. Returns how often; 0: it never does.
int reads_until_it_rests(Pace& pace) {
  for (int reads = 1; reads <= 10 * Pace::reads_in_row; ++reads) {
    pace.read(false);
    pace.end_round();
    if (pace.rests()) return reads;
  }
  return 0;
}

TEST(ReadingPace, RestsForAnIntervalOnceItHasReadInARow) {
  Pace pace;
  EXPECT_FALSE(pace.rests());
  EXPECT_EQ(reads_until_it_rests(pace), Pace::reads_in_row + 1);
  FakeClock::at += Pace::interval - std::chrono::nanoseconds(1);
  EXPECT_TRUE(pace.rests());
  FakeClock::at += std::chrono::nanoseconds(1);
  EXPECT_FALSE(pace.rests());
  EXPECT_FALSE(pace.rests());  // as long as nothing comes
}

TEST(ReadingPace, GoesOnRestingWhileEachReadBringsSeveralMessages) {
  Pace pace;
  reads_until_it_rests(pace);
  for (int i = 0; i < 5; ++i) {
    FakeClock::at += Pace::interval;
    EXPECT_FALSE(pace.rests());
    pace.read(false);
    pace.read(true);  // of any peer
    pace.end_round();
    EXPECT_TRUE(pace.rests());
  }
}

TEST(ReadingPace, BeginsAnewWhereAnIntervalWasInVain) {
  Pace pace;
  reads_until_it_rests(pace);
  FakeClock::at += Pace::interval;
  pace.read(false);
  pace.end_round();
  EXPECT_FALSE(pace.rests());
  EXPECT_EQ(reads_until_it_rests(pace), Pace::reads_in_row + 1);
}

TEST(ReadingPace, WhoSendsReadsAtOnce) {
  Pace pace;
  reads_until_it_rests(pace);
  pace.sent();
  EXPECT_FALSE(pace.rests());
  EXPECT_EQ(reads_until_it_rests(pace), Pace::reads_in_row + 1);
  for (int i = 0; i < 10 * Pace::reads_in_row; ++i) {
    pace.read(true);
    pace.sent();
    pace.end_round();
    ASSERT_FALSE(pace.rests());
  }
}

TEST(ReadingPace, WhoIsAboutToSleepReadsFirst) {
  Pace pace;
  reads_until_it_rests(pace);
  pace.hurry();
  EXPECT_FALSE(pace.rests());
  pace.read(true);
  pace.end_round();
  EXPECT_TRUE(pace.rests());  // the row stands
}

// An interval begins with the read, however long this rank then does something else.
TEST(ReadingPace, WhoComesBackLateReadsAtOnce) {
  Pace pace;
  for (int reads = 0; reads <= Pace::reads_in_row; ++reads) {
    pace.read(false);
    pace.end_round();
  }
  FakeClock::at += Pace::interval;
  EXPECT_FALSE(pace.rests());
}

}  // namespace
}  // namespace hocket::tcp
