// Signals belong to the program: no thread of the library takes one.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <ctime>

#include "tests/process/support/call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// Ends the process if any thread takes the signal.
void expect_sigterm_here() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &wanted, nullptr), 0);
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  const timespec long_enough{.tv_sec = 20, .tv_nsec = 0};
  EXPECT_EQ(sigtimedwait(&wanted, nullptr, &long_enough), SIGTERM);
}

TEST(Signals, GoToAProgramThatWaitsForThemAfterCreation) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    expect_sigterm_here();
    Call({.count = 1000}, child.index, child.size).run(comm.get());
  });
}

TEST(Signals, GoToAProgramWhoseCommunicatorIsBeingCreated) {
  run_ranks(2, [](Child& child) {
    hocket_creation* creation = nullptr;
    ASSERT_EQ(hocket_comm_create_start(&creation, nullptr), HOCKET_OK);
    expect_sigterm_here();
    hocket_comm* comm = nullptr;
    ASSERT_EQ(hocket_creation_wait(creation, 0, &comm), HOCKET_OK);
    Call({.count = 1000}, child.index, child.size).run(comm);
    EXPECT_EQ(hocket_creation_destroy(creation), HOCKET_OK);
    EXPECT_EQ(hocket_comm_destroy(comm), HOCKET_OK);
  });
}

}  // namespace
}  // namespace hocket::process_testing
