// A rank forks a child that has nothing to do with the group. The child holds copies of all that its parent has open,
// but must not hide that the parent dies, nor speak for it.
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <string>

#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// Lives until the far end of the pipe is closed.
[[noreturn]] void live_on(int pipe) {
  char byte;
  [[maybe_unused]] const auto got = ::read(pipe, &byte, 1);
  ::_exit(0);
}

class Fork : public testing::TestWithParam<const char*> {};

TEST_P(Fork, AChildThatLivesDoesNotHideItsParentsDeath) {
  int hold[2];
  ASSERT_EQ(::pipe(hold), 0);
  ProcessGroup group(3, [&](Child& child) {
    ::setenv("HOCKET_TRANSPORT", GetParam(), 1);
    const Comm comm;
    ASSERT_TRUE(comm);
    use(comm);
    if (child.index == 1) {
      if (::fork() == 0) {
        ::close(hold[1]);
        live_on(hold[0]);
      }
      ::kill(::getpid(), SIGKILL);
    }
    const hocket_result result = allreduce_until_failure(comm.get(), 100, [] {});
    expect_result(result, HOCKET_PEER_LOST);
    EXPECT_EQ(last_cause().peer, 1);
  });
  ::close(hold[0]);
  group.expect_success(1);
  ::close(hold[1]);
}

TEST_P(Fork, AChildThatDestroysTheCommunicatorDoesNotLeaveForItsParent) {
  run_ranks(3, [&](Child& child) {
    ::setenv("HOCKET_TRANSPORT", GetParam(), 1);
    hocket_comm* comm = nullptr;
    ASSERT_EQ(hocket_comm_create(&comm, nullptr), HOCKET_OK) << hocket_last_error();
    for (int round = 0; round < 3; ++round) {
      Call({.count = 1000}, child.index, child.size).run(comm);
      if (child.index != 1) continue;
      const pid_t copy = ::fork();
      if (copy == 0) ::_exit(hocket_comm_destroy(comm) == HOCKET_OK ? 0 : 1);
      int status = -1;
      ASSERT_EQ(::waitpid(copy, &status, 0), copy);
      EXPECT_EQ(status, 0);
    }
    Call({.count = 100'000}, child.index, child.size).run(comm);
    EXPECT_EQ(hocket_comm_destroy(comm), HOCKET_OK);
  });
}

INSTANTIATE_TEST_SUITE_P(Over, Fork, testing::Values("tcp", "shm", "auto"));

}  // namespace
}  // namespace hocket::process_testing
