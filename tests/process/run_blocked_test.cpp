// hocket-run whose output nobody reads, or somebody reads slowly.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#include <chrono>
#include <thread>

#include "src/base/fd.hpp"
#include "tests/process/program.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;

// Starts hocket-run with a pipe for its output and its errors, which holds 64 KiB and is not read.
class BlockedHocketRun : public testing::Test {
 protected:
  void start(const std::string& program) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reader_ = UniqueFd(ends[0]);
    writer_ = UniqueFd(ends[1]);
    const std::string run = program_path("hocket-run");
    launcher_ = fork();
    if (launcher_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(writer_.get(), STDOUT_FILENO);
      dup2(writer_.get(), STDERR_FILENO);
      execl(run.c_str(), "hocket-run", "-n", "2", "--grace", "60", "sh", "-c", program.c_str(), nullptr);
      _exit(99);
    }
  }

  void wait_until_full() const {
    bool full = false;
    for (int rounds = 0; rounds < 6000 && !full; ++rounds) {
      pollfd room{writer_.get(), POLLOUT, 0};
      full = poll(&room, 1, 0) == 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_TRUE(full);
  }

  // Its status as the shell says it; -1 where it goes on.
  int wait_for_launcher() {
    int status = 0;
    for (int rounds = 0; rounds < 2000; ++rounds) {
      if (waitpid(launcher_, &status, WNOHANG) == launcher_) {
        launcher_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return -1;
  }

  void TearDown() override {
    if (launcher_ <= 0) return;
    kill(launcher_, SIGKILL);
    waitpid(launcher_, nullptr, 0);
  }

  UniqueFd reader_, writer_;
  pid_t launcher_ = -1;
};

TEST_F(BlockedHocketRun, EndsOnASignal) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    start("exec yes $RANK");
    wait_until_full();
    kill(launcher_, number);
    EXPECT_EQ(wait_for_launcher(), 128 + number);
  }
}

// Its ranks, too, may say something before they end.
TEST_F(BlockedHocketRun, KeepsNoRankFromEnding) {
  start("trap 'head -c 3000000 /dev/zero; exit 0' TERM; while :; do echo $RANK; done");
  wait_until_full();
  kill(launcher_, SIGTERM);
  EXPECT_EQ(wait_for_launcher(), 143);
}

TEST_F(BlockedHocketRun, WhoseRanksHaveEndedEndsOnASignal) {
  start("head -c 100000 /dev/zero");
  wait_until_full();
  kill(launcher_, SIGTERM);
  EXPECT_EQ(wait_for_launcher(), 143);
}

TEST(HocketRun, LosesNothingForASlowReader) {
  const Ran ran = run_command("{ $RUN -n 3 sh -c 'seq 300000'; echo $? >&2; } | { sleep 1; wc -l; }");
  EXPECT_EQ(ran.error, "0\n");
  EXPECT_THAT(ran.out, HasSubstr("900000"));
}

TEST(HocketRun, LeavesItsOutputAsItWas) {
  // Another writer of the same pipe would find it changed: it must wait where it is full, and not fail.
  const Ran ran =
      run_command("{ $RUN -n 1 true; head -c 300000 /dev/zero || echo failed >&2; } | { sleep 0.5; wc -c; }");
  EXPECT_EQ(ran.error, "");
  EXPECT_THAT(ran.out, HasSubstr("300000"));
}

}  // namespace
}  // namespace hocket
