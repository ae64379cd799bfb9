// Signals that a program reads in its own time, whichever of its threads the kernel gives them to.
#include "tools/signals.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>

#include <stop_token>
#include <thread>

namespace hocket::launch {
namespace {

// What has come once there is something; 0 after a while.
int next_of(const Signals& signals) {
  pollfd watched{signals.fd(), POLLIN, 0};
  return ::poll(&watched, 1, 10'000) == 1 ? signals.next() : 0;
}

// As a driver starts one before the program waits for others: it blocks no signals.
class SignalsOfAProgramWithThreads : public testing::Test {
 protected:
  void SetUp() override {
    for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) (void)::signal(number, SIG_DFL);  // whatever nohup said
  }
  std::jthread thread_{[](const std::stop_token& over) {
    while (!over.stop_requested()) ::poll(nullptr, 0, 10);
  }};
};

TEST_F(SignalsOfAProgramWithThreads, ComeFromAThreadThatDoesNotBlockThem) {
  const Signals signals;
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) {
    ASSERT_EQ(::pthread_kill(thread_.native_handle(), number), 0);
    EXPECT_EQ(next_of(signals), number);
  }
  EXPECT_EQ(signals.next(), 0);
}

TEST_F(SignalsOfAProgramWithThreads, EndAChildThatHasNotBegunItsProgram) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "in a child of a program with threads this sanitizer keeps signals back for ever";
#endif
  const Signals signals;
  const pid_t child = ::fork();
  if (child == 0) {
    ::sigprocmask(SIG_SETMASK, &signals.before(), nullptr);
    for (;;) ::poll(nullptr, 0, -1);
  }
  ASSERT_GT(child, 0);
  ASSERT_EQ(::kill(child, SIGTERM), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST_F(SignalsOfAProgramWithThreads, StayIgnoredAndAreRestored) {
  struct sigaction now {};
  ASSERT_NE(::signal(SIGHUP, SIG_IGN), SIG_ERR);
  {
    const Signals signals;
    ASSERT_EQ(::sigaction(SIGHUP, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, SIG_IGN);
    ASSERT_EQ(::sigaction(SIGTERM, nullptr, &now), 0);
    EXPECT_NE(now.sa_handler, SIG_DFL);
  }
  ASSERT_NE(::signal(SIGHUP, SIG_DFL), SIG_ERR);
  ASSERT_EQ(::sigaction(SIGTERM, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace hocket::launch
