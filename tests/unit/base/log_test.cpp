#include "src/base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace hocket {
namespace {

// The level and the rank are read once a process, so each test runs in a fresh one: it prints, then exits with 7.
class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const char* name : {"HOCKET_LOG_LEVEL", "HOCKET_RANK", "RANK"}) unsetenv(name);
  }

  [[noreturn]] static void write_one_of_each() {
    log::debug("about the cow");
    log::info("about the hen");
    log::warn("about the fox");
    log::error("about the elk");
    std::exit(7);
  }
};

TEST_F(LogTest, WritesWarningsAndErrorsByDefault) {
  EXPECT_EXIT(
      write_one_of_each(), testing::ExitedWithCode(7),
      testing::AllOf(testing::HasSubstr("warning: about the fox\n"), testing::HasSubstr("error: about the elk\n"),
                     testing::Not(testing::HasSubstr("about the hen")),
                     testing::Not(testing::HasSubstr("about the cow"))));
}

TEST_F(LogTest, WritesEverythingAtDebug) {
  setenv("HOCKET_LOG_LEVEL", "debug", 1);
  EXPECT_EXIT(write_one_of_each(), testing::ExitedWithCode(7),
              testing::AllOf(testing::HasSubstr("about the cow"), testing::HasSubstr("about the hen"),
                             testing::HasSubstr("about the fox"), testing::HasSubstr("about the elk")));
}

TEST_F(LogTest, WritesErrorsOnlyAtError) {
  setenv("HOCKET_LOG_LEVEL", "error", 1);
  EXPECT_EXIT(write_one_of_each(), testing::ExitedWithCode(7),
              testing::AllOf(testing::HasSubstr("about the elk"), testing::Not(testing::HasSubstr("about the fox"))));
}

TEST_F(LogTest, SaysThatALevelIsUnknownAndWarns) {
  setenv("HOCKET_LOG_LEVEL", "loud", 1);
  EXPECT_EXIT(write_one_of_each(), testing::ExitedWithCode(7),
              testing::AllOf(testing::HasSubstr("HOCKET_LOG_LEVEL is \"loud\"; set it to error, warn, info or debug"),
                             testing::HasSubstr("about the fox"), testing::Not(testing::HasSubstr("about the hen"))));
}

TEST_F(LogTest, BeginsLinesWithTheRankWhereThereIsOne) {
  EXPECT_EXIT(write_one_of_each(), testing::ExitedWithCode(7),
              testing::ContainsRegex("hocket ..:..:......  *error: about the elk"));
  setenv("RANK", "3", 1);
  EXPECT_EXIT(write_one_of_each(), testing::ExitedWithCode(7),
              testing::ContainsRegex("hocket ..:..:...... rank 3 error: about the elk"));
  setenv("HOCKET_RANK", "5", 1);
  EXPECT_EXIT(write_one_of_each(), testing::ExitedWithCode(7), testing::HasSubstr(" rank 5 error: about the elk"));
}

TEST_F(LogTest, LeavesOutARankThatIsNoNumber) {
  setenv("RANK", "%d %v", 1);
  EXPECT_EXIT(write_one_of_each(), testing::ExitedWithCode(7), testing::Not(testing::HasSubstr("rank")));
}

TEST_F(LogTest, BracesAndPercentSignsInAMessageMeanNothing) {
  EXPECT_EXIT(
      {
        log::error("{} %v %% {0:x}");
        std::exit(7);
      },
      testing::ExitedWithCode(7), testing::HasSubstr("error: {} %v %% {0:x}\n"));
}

TEST_F(LogTest, EnabledSaysWhatIsWritten) {
  setenv("HOCKET_LOG_LEVEL", "info", 1);
  EXPECT_EXIT(
      {
        const bool right = !log::enabled(log::Level::debug) && log::enabled(log::Level::info) &&
                           log::enabled(log::Level::warn) && log::enabled(log::Level::error);
        std::exit(right ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace hocket
