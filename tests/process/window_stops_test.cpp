// A rank of a host stops in the midst of opening the memory that all share, and another gives up what they were making:
// that one need not wait for the stopped one, and tells the others.
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/forbid.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// From now on this thread's process stops when it enters its part of a window into its page table, with
// MADV_POPULATE_WRITE, which nothing else asks for.
void stop_in_window() {
  struct sigaction action {};
  action.sa_handler = [](int) { ::kill(::getpid(), SIGSTOP); };
  ASSERT_EQ(::sigaction(SIGSYS, &action, nullptr), 0);
  constexpr unsigned advice = 2;  // the argument of madvise(2)
  constexpr std::uint32_t populate_write = 23;
  change_system_call(SYS_madvise, SECCOMP_RET_TRAP, advice, populate_write);
}

// Waits until it stops or ends.
void await_stop(pid_t process) {
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(process), &info, WSTOPPED | WEXITED | WNOWAIT), 0);
  EXPECT_EQ(info.si_code, CLD_STOPPED);
}

hocket_comm_options window_stops_patient() {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.timeout_ms = 30'000;
  options.transport = "shm";
  return options;
}

// Only then gives up what it makes.
void give_up_when_told(Child& child, hocket_creation* creation) {
  EXPECT_EQ(child.hear(), "give up");
  EXPECT_EQ(hocket_creation_test(creation), HOCKET_IN_PROGRESS);
  hocket_creation_destroy(creation);
  child.say("gave up");
}

TEST(StopInWindow, DoesNotKeepACreationFromBeingGivenUp) {
  constexpr int size = 3, stops = 2;
  ProcessGroup group(size, [&](Child& child) {
    const hocket_comm_options options = window_stops_patient();
    if (child.index == 0) {
      hocket_creation* creation = nullptr;
      ASSERT_EQ(hocket_comm_create_start(&creation, &options), HOCKET_OK) << hocket_last_error();
      return give_up_when_told(child, creation);
    }
    if (child.index == stops) stop_in_window();
    expect_result(create_in_vain(&options), HOCKET_ABORTED);  // at the deadline it would be a time-out
    EXPECT_EQ(last_cause().peer, 0) << hocket_last_error();
  });
  await_stop(group.process(stops));
  group.tell(0, "give up");
  EXPECT_EQ(group.hear(0), "gave up");
  group.signal(stops, SIGKILL);
  group.expect_success(stops);
}

// Rank 1 hears that rank 0 will not come, and goes on alone when the stopped one has ended.
TEST(StopInWindow, DoesNotKeepAShrinkingFromBeingGivenUp) {
  constexpr int size = 4, stops = 2, dies = 3;
  ProcessGroup group(size, [&](Child& child) {
    const hocket_comm_options options = window_stops_patient();
    hocket_comm* handle = nullptr;
    ASSERT_EQ(hocket_comm_create(&handle, &options), HOCKET_OK) << hocket_last_error();
    const Comm comm(handle);
    child.say("here");
    (void)child.hear();
    if (child.index == dies) ::_exit(0);
    expect_result(allreduce_until_failure(comm.get(), 1, [] {}), HOCKET_PEER_LOST);
    hocket_shrink_options shrinking = HOCKET_SHRINK_OPTIONS_INIT;
    shrinking.minority = 1;
    if (child.index == 0) {
      hocket_creation* creation = nullptr;
      ASSERT_EQ(hocket_comm_shrink_start(comm.get(), &creation, &shrinking), HOCKET_OK) << hocket_last_error();
      return give_up_when_told(child, creation);
    }
    if (child.index == stops) stop_in_window();
    expect_result(hocket_comm_shrink(comm.get(), &handle, &shrinking), HOCKET_OK);
    const Comm shrunk(handle);
    std::int32_t left = 0;
    EXPECT_EQ(hocket_comm_size(handle, &left), HOCKET_OK);
    EXPECT_EQ(left, 1);
  });
  group.hear_from_all("here");
  for (int index = 0; index < size; ++index) group.tell(index, "go on");
  await_stop(group.process(stops));
  group.tell(0, "give up");
  EXPECT_EQ(group.hear(0), "gave up");
  group.signal(stops, SIGKILL);
  group.expect_success(stops);
}

}  // namespace
}  // namespace hocket::process_testing
