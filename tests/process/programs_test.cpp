// What all programs have in common on the command line, and where their output goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "hocket/hocket.h"
#include "tests/process/program.hpp"

namespace hocket {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Program : public testing::TestWithParam<std::string> {
 protected:
  Ran run(const std::string& arguments) const {
    return run_command("'" + program_path("hocket-" + GetParam()) + "' " + arguments);
  }
};

TEST_P(Program, SaysItsVersion) {
  const Ran ran = run("--version");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "hocket-" + GetParam() + " " + hocket_version() + "\n");
}

TEST_P(Program, HelpsByItsShortAndItsLongOption) {
  const Ran help = run("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(run("-h").out, help.out);
  EXPECT_THAT(help.out, HasSubstr("--version"));
}

INSTANTIATE_TEST_SUITE_P(Each, Program, testing::Values("bench", "plan", "run", "sgd", "store"),
                         [](const auto& name) { return name.param; });

// ---- output

// As in `| head`: where the shell has SIGPIPE kill programs, and where it has it ignored.
TEST(Output, ThatNobodyReadsEndsAProgramWithoutAWord) {
  const TemporaryFolder folder;
  const std::string status = folder.file("status");
  for (const char* shell : {"", "trap '' PIPE; "}) {
    for (const char* command :
         {"$BENCH allreduce --ranks 2 -b 4 -e 256K -n 3", "$BENCH allreduce --ranks 2 --transport loopback -b 4 -e 64K",
          "$PLAN verify --ranks 1-5", "$RUN -n 2 sh -c 'while echo line; do :; done'"}) {
      const Ran ran = run_command(shell + std::string("{ ") + command + "; echo $? > '" + status + "'; } | true");
      EXPECT_EQ(contents(status), "141\n") << shell << command;
      EXPECT_THAT(ran.error, Not(HasSubstr("terminate"))) << shell << command;
      EXPECT_THAT(ran.error, Not(HasSubstr("annot write"))) << shell << command;
    }
  }
}

TEST(Output, ThatFindsNoRoomIsAnError) {
  for (const char* command :
       {"$BENCH allreduce --ranks 2 -b 4 -e 4 -n 1", "$BENCH allreduce --ranks 2 --transport loopback -b 4 -e 4 -n 1",
        "$PLAN list", "$PLAN --help", "$SGD --drawn 100 --epochs 1 --hidden 4", "$RUN -n 2 echo line"}) {
    const Ran ran = run_command(command + std::string(" > /dev/full"));
    EXPECT_EQ(ran.status, 2) << command << "\n" << ran.error;
    EXPECT_THAT(ran.error, HasSubstr("No space left on device")) << command;
    EXPECT_THAT(ran.error, Not(HasSubstr("terminate"))) << command;
  }
}

// ---- arguments

TEST(Arguments, ThatAreNotExpectedAreNamedInTheirOrder) {
  for (const char* command : {"$BENCH allreduce --rank 4", "$PLAN list --rank 4", "$SGD --rank 4"}) {
    const Ran ran = run_command(command);
    EXPECT_EQ(ran.status, 2) << command;
    EXPECT_THAT(ran.error, HasSubstr("not expected: --rank 4.")) << command;
  }
}

TEST(Ranks, AreNotStartedByEachRankOfALauncher) {
  for (const char* command :
       {"$BENCH allreduce --ranks 2", "$BENCH allreduce --ranks 2 --transport loopback", "$SGD --ranks 2"}) {
    const Ran ran = run_command("$RUN -n 3 " + std::string(command));
    EXPECT_EQ(ran.status, 2) << command << "\n" << ran.error;
    EXPECT_THAT(ran.error, HasSubstr("but this process is rank ")) << command;
    EXPECT_THAT(ran.out, IsEmpty()) << command;
  }
}

TEST(Sgd, StartsItsRanksItself) {
  const Ran ran = run_command("$SGD --ranks 3 --drawn 300 --epochs 1 --hidden 8 --batch 60");
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.out, StartsWith("3 ranks, "));
  EXPECT_THAT(ran.out, HasSubstr("on all 3 ranks"));
}

// The ranks of a proof run below a script, which would tell at length of an interrupt.
TEST(Sgd, InterruptedEarlyInAProofSaysOneLine) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("test-hosts")) << "#!/usr/bin/env python3\nimport pathlib, sys, time\n"
                                              "if sys.argv[1] == 'rank':\n"
                                              "  pathlib.Path('" +
                                                  folder.file("started") + "').touch()\n  time.sleep(60)\n";
  std::filesystem::permissions(folder.file("test-hosts"), std::filesystem::perms::owner_all);
  const Ran ran = run_command("env --default-signal=INT $SGD --prove --ranks 2 --links shaped --test-hosts '" +
                              folder.file("test-hosts") + "' & proof=$!\nwhile [ ! -e '" + folder.file("started") +
                              "' ]; do sleep 0.05; done\nkill -INT $proof; wait $proof");
  EXPECT_EQ(ran.status, 130);
  EXPECT_THAT(ran.error, StartsWith("hocket-sgd: stopped by signal 2 "));
  EXPECT_THAT(ran.error, EndsWith("ending 2 ranks.\n"));
}

}  // namespace
}  // namespace hocket
