// hocket-run with small shell programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "tests/process/program.hpp"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(HocketRun, TellsEachRankItsPlace) {
  const Ran ran = run_command("$RUN -n 3 sh -c 'echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR'");
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(lines_of(ran.out),
              UnorderedElementsAre("[0] 0/3 0/3 127.0.0.1", "[1] 1/3 1/3 127.0.0.1", "[2] 2/3 2/3 127.0.0.1"));
}

TEST(HocketRun, GivesAllRanksOnePort) {
  const std::vector<std::string> lines = lines_of(run_command("$RUN -n 2 --no-label sh -c 'echo $MASTER_PORT'").out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], lines[1]);
  EXPECT_GT(std::stoi(lines[0]), 1023);
}

TEST(HocketRun, RemovesVariablesThatWouldOverruleItsOwn) {
  const Ran ran = run_command(
      "HOCKET_RANK=7 HOCKET_WORLD_SIZE=9 HOCKET_JOB=mine $RUN -n 1 sh -c "
      "'echo ${HOCKET_RANK-gone} ${HOCKET_WORLD_SIZE-gone} $HOCKET_JOB'");
  EXPECT_EQ(ran.out, "[0] gone gone mine\n");
}

TEST(HocketRun, BindsEachRankToACoreOfItsOwn) {
  const Ran ran = run_command("$RUN -n 2 --no-label --bind-to core sh -c 'grep Cpus_allowed_list /proc/self/status'");
  if (ran.status == 126) {
    EXPECT_THAT(ran.error, HasSubstr("2 ranks cannot have a core each: 1 may be used here"));
    GTEST_SKIP() << "needs two cores";
  }
  EXPECT_EQ(ran.status, 0) << ran.error;
  const std::vector<std::string> lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0], lines[1]);
}

TEST(HocketRun, BindsNobodyWhereThereAreFewerCoresThanRanks) {
  const Ran few = run_command(
      "taskset -c $(taskset -cp $$ | sed 's/.*: //; s/[-,].*//') "
      "$RUN -n 2 --bind-to core true");
  EXPECT_NE(few.status, 0);
  EXPECT_THAT(few.error, HasSubstr("2 ranks cannot have a core each: 1 may be used here. Start fewer"));
  const Ran automatic = run_command(
      "taskset -c $(taskset -cp $$ | sed 's/.*: //; s/[-,].*//') "
      "$RUN -n 2 --bind-to auto true");
  EXPECT_EQ(automatic.status, 0) << automatic.error;
}

TEST(HocketRun, LabelsBothStreams) {
  const Ran ran = run_command("$RUN -n 2 sh -c 'echo to out; echo to error >&2'");
  EXPECT_THAT(lines_of(ran.out), UnorderedElementsAre("[0] to out", "[1] to out"));
  EXPECT_THAT(lines_of(ran.error), UnorderedElementsAre("[0] to error", "[1] to error"));
}

TEST(HocketRun, EndsALastLineThatHasNoEnd) {
  EXPECT_THAT(lines_of(run_command("$RUN -n 2 printf unfinished").out),
              UnorderedElementsAre("[0] unfinished", "[1] unfinished"));
}

TEST(HocketRun, KeepsLinesWhole) {
  // Each line is written in two pieces, by four ranks at once.
  const Ran ran = run_command(
      "$RUN -n 4 sh -c 'i=0; while [ $i -lt 500 ]; do printf abcdefghij; printf \"klmnop %s\\n\" $RANK; i=$((i+1)); "
      "done'");
  const std::vector<std::string> lines = lines_of(ran.out);
  EXPECT_EQ(lines.size(), 2000u);
  for (int rank = 0; rank < 4; ++rank) {
    const std::string number = std::to_string(rank);
    EXPECT_EQ(std::ranges::count(lines, "[" + number + "] abcdefghijklmnop " + number), 500);
  }
}

TEST(HocketRun, PassesArgumentsOnUntouched) {
  const Ran ran = run_command("$RUN -n 1 --no-label printf '%s|' -n 5 --no-label 'two words' '' --help");
  EXPECT_EQ(ran.out, "-n|5|--no-label|two words||--help|\n");
}

TEST(HocketRun, OnlyRankZeroReadsInputAndOnlyOnRequest) {
  EXPECT_EQ(run_command("echo hello | $RUN -n 2 cat").out, "");
  EXPECT_EQ(run_command("echo hello | $RUN -n 2 --stdin cat").out, "[0] hello\n");
}

TEST(HocketRun, ReturnsTheStatusOfTheRankThatFailed) {
  const Ran ran = run_command("$RUN -n 4 sh -c 'test $RANK = 2 && exit 7; exec sleep 90'");
  EXPECT_EQ(ran.status, 7);
  EXPECT_EQ(ran.error, "hocket-run: rank 2 exited with status 7; ending the other 3.\n");
}

TEST(HocketRun, SaysWhichSignalKilledARank) {
  const Ran ran = run_command("$RUN -n 4 sh -c 'test $RANK = 1 && kill -9 $$; exec sleep 90'");
  EXPECT_EQ(ran.status, 137);
  EXPECT_EQ(ran.error, "hocket-run: rank 1 was killed by signal 9 (Killed); ending the other 3.\n");
}

TEST(HocketRun, ShowsWhatAFailingRankSaidBeforeItsEnd) {
  const Ran ran = run_command("$RUN -n 2 sh -c 'test $RANK = 0 && exec sleep 90; echo because >&2; exit 4'");
  EXPECT_THAT(lines_of(ran.error),
              ElementsAre("[1] because", "hocket-run: rank 1 exited with status 4; ending the other 1."));
}

TEST(HocketRun, KillsRanksThatDoNotEndInTime) {
  const Ran ran = run_command(
      "ready=$(mktemp -u); export ready; $RUN -n 2 --grace 0.2 sh -c '"
      "[ $RANK = 1 ] && { trap \"\" TERM; : > $ready; while :; do sleep 1; done; }; "
      "while [ ! -e $ready ]; do sleep 0.05; done; rm $ready; exit 3'");
  EXPECT_EQ(ran.status, 3);
  EXPECT_THAT(ran.error, HasSubstr("1 rank did not end within 0.2 s of SIGTERM; now killed."));
}

TEST(HocketRun, RefusesWrongUsage) {
  const auto expect_refusal = [](const std::string& arguments, int status, const std::string& sentence) {
    const Ran ran = run_command("$RUN " + arguments);
    EXPECT_EQ(ran.status, status) << arguments;
    EXPECT_THAT(ran.error, HasSubstr(sentence)) << arguments;
    EXPECT_EQ(lines_of(ran.error).size(), 1u) << ran.error;
    EXPECT_THAT(ran.out, IsEmpty()) << arguments;
  };
  expect_refusal("-n 0 true", 2, "Value 0 not in range 1");
  expect_refusal("-n many true", 2, "Value many not in range 1");
  expect_refusal("true", 2, "--ranks is required");
  expect_refusal("-n 2", 2, "No program given");
  for (const char* grace : {"nan", "inf", "-1", "1e9", "soon"}) {
    expect_refusal("-n 2 --grace " + std::string(grace) + " true", 2,
                   "hocket-run: --grace: '" + std::string(grace) + "' is not a number from 0 to 3600. Run hocket-run");
  }
  expect_refusal("-n 2 --colour true", 2, "Unknown option '--colour'");
  expect_refusal("--versoin", 2, "Unknown option '--versoin'");
  expect_refusal("-n 3 no-such-program-anywhere", 127, "there is no such program in PATH");
  expect_refusal("-n 3 ./no/such/program", 127, "there is no such program there");
  expect_refusal("-n 3 /etc/passwd", 126, "Cannot start '/etc/passwd': it is not an executable file.");
}

TEST(HocketRun, EndsWhenNobodyReadsItsOutput) {
  EXPECT_EQ(run_command("{ $RUN -n 2 yes; echo status $? >&2; } | head -n 1").error, "status 141\n");
}

}  // namespace
}  // namespace hocket
