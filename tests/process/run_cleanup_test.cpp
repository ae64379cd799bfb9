// Nothing that hocket-run started outlives it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "tests/process/program.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;

// Waits for something that happens soon; the deadline is only for when it never does.
bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// A process that only waits to be reaped does not run.
bool runs(pid_t pid) {
  const std::string stat = contents("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.substr(name_end + 2, 1) != "Z";
}

// Each rank starts a grandchild that would live long, and leaves both process numbers in a file of the folder.
class HocketRunCleanup : public testing::Test {
 protected:
  std::string rank_script(const std::string& then) const {
    const std::string file = folder_.path().string() + "/$RANK";
    return "sleep 300 & echo $$ $! > " + file + ".part; mv " + file + ".part " + file + "; " + then;
  }

  // Starts hocket-run directly, so that its process number is known.
  void start(const std::string& ranks, const std::string& builder) {
    const std::string program = program_path("hocket-run");
    const std::string log = folder_.file("log");
    launcher_ = fork();
    if (launcher_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (freopen(log.c_str(), "w", stderr) == nullptr) _exit(99);
      execl(program.c_str(), "hocket-run", "-n", ranks.c_str(), "sh", "-c", builder.c_str(), nullptr);
      _exit(99);
    }
  }

  // Process numbers of ranks and grandchildren, once all have started.
  std::vector<pid_t> wait_for_processes(int ranks) {
    std::vector<pid_t> processes;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::string file = folder_.file(std::to_string(rank));
      EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file); })) << "rank " << rank << " did not start";
      std::ifstream stream(file);
      for (pid_t pid; stream >> pid;) processes.push_back(pid);
    }
    EXPECT_EQ(processes.size(), static_cast<std::size_t>(2 * ranks));
    return processes;
  }

  int wait_for_launcher() {
    int status = 0;
    EXPECT_TRUE(eventually([&] { return waitpid(launcher_, &status, WNOHANG) == launcher_; }));
    launcher_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void TearDown() override {
    if (launcher_ <= 0) return;
    kill(launcher_, SIGKILL);
    waitpid(launcher_, nullptr, 0);
  }

  TemporaryFolder folder_;
  pid_t launcher_ = -1;
};

TEST_F(HocketRunCleanup, AfterAFailureGrandchildrenAreGone) {
  start("3", rank_script("while [ $RANK = 1 ] && [ ! -e " + folder_.file("go") +
                         " ]; do sleep 0.05; done; [ $RANK = 1 ] && exit 5; wait"));
  const std::vector<pid_t> processes = wait_for_processes(3);
  for (const pid_t pid : processes) EXPECT_TRUE(runs(pid));
  std::ofstream(folder_.file("go")) << "go\n";
  EXPECT_EQ(wait_for_launcher(), 5);
  for (const pid_t pid : processes) EXPECT_FALSE(runs(pid)) << pid;
}

TEST_F(HocketRunCleanup, AfterSuccessGrandchildrenAreGone) {
  start("2", rank_script("exit 0"));
  const std::vector<pid_t> processes = wait_for_processes(2);
  EXPECT_EQ(wait_for_launcher(), 0);
  for (const pid_t pid : processes) EXPECT_FALSE(runs(pid)) << pid;
}

TEST_F(HocketRunCleanup, AKilledLauncherTakesEverythingWithIt) {
  start("3", rank_script("wait"));
  const std::vector<pid_t> processes = wait_for_processes(3);
  kill(launcher_, SIGKILL);
  EXPECT_EQ(wait_for_launcher(), 137);
  for (const pid_t pid : processes) EXPECT_TRUE(eventually([&] { return !runs(pid); })) << pid;
}

TEST_F(HocketRunCleanup, ForwardsSignals) {
  for (const int number : {SIGINT, SIGTERM}) {
    std::filesystem::remove(folder_.file("0"));
    std::filesystem::remove(folder_.file("1"));
    start("2", rank_script("trap 'echo INT >> " + folder_.file("got") + "; exit 0' INT; trap 'echo TERM >> " +
                           folder_.file("got") + "; exit 0' TERM; mv " + folder_.path().string() + "/$RANK " +
                           folder_.path().string() + "/ready$RANK; cp " + folder_.path().string() + "/ready$RANK " +
                           folder_.path().string() + "/$RANK; while :; do sleep 0.05; done"));
    for (const char* rank : {"ready0", "ready1"}) {
      ASSERT_TRUE(eventually([&] { return std::filesystem::exists(folder_.file(rank)); }));
    }
    kill(launcher_, number);
    EXPECT_EQ(wait_for_launcher(), 128 + number);
    EXPECT_THAT(contents(folder_.file("log")), HasSubstr("stopped by signal " + std::to_string(number)));
    EXPECT_EQ(contents(folder_.file("got")), number == SIGINT ? "INT\nINT\n" : "TERM\nTERM\n");
    std::filesystem::remove(folder_.file("got"));
    for (const char* rank : {"ready0", "ready1"}) std::filesystem::remove(folder_.file(rank));
  }
}

}  // namespace
}  // namespace hocket
