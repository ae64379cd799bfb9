// As many ranks on one host as it bears: what each of them costs.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "src/base/memory_left.hpp"
#include "src/spi/types.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// With sanitizers each process takes ten times the memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int most = 48;
#else
constexpr int most = 256;
#endif

// 256, or as many as the limit of processes and the memory of this machine allow.
int as_many_as_possible() {
  int ranks = most;
  rlimit processes{};
  if (::getrlimit(RLIMIT_NPROC, &processes) == 0 && processes.rlim_cur < 4 * most) {
    ranks = std::min(ranks, static_cast<int>(processes.rlim_cur / 8));
  }
  constexpr std::uint64_t bytes_each = std::uint64_t{12} << 20;
  if (const auto shortage = memory_shortage(bytes_each * static_cast<std::uint64_t>(ranks))) {
    ranks = std::min(ranks, static_cast<int>(shortage->left / bytes_each));
  }
  return std::max(ranks, 4);
}

TEST(ManyRanks, ComeUpOnOneHost) {
  run_ranks(as_many_as_possible(), [](Child&) {
    ::setenv("HOCKET_TRANSPORT", "shm", 1);
    const Comm comm;
    ASSERT_TRUE(comm);
    EXPECT_EQ(barrier(comm), HOCKET_OK) << hocket_last_error();
  });
}

// Descriptors grow with the ranks that a rank speaks with, not with those there are.
TEST(ManyRanks, HoldFewDescriptors) {
  run_ranks(40, [](Child&) {
    const int before = open_descriptors();
    const Comm comm;
    ASSERT_TRUE(comm);
    EXPECT_EQ(barrier(comm), HOCKET_OK);
    // The store that rank 0 serves hears a moment later that the others have left it.
    const Deadline deadline = Deadline::after(std::chrono::seconds(60));
    while (open_descriptors() - before >= 24 && !deadline.passed()) std::this_thread::yield();
    EXPECT_LT(open_descriptors() - before, 24);
  });
}

// Of many ranks, those that register memory are connected with all, and use it where it lies.
TEST(ManyRanks, UseRegisteredMemory) {
  run_ranks(20, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (int round = 0; round < 5; ++round) {
      Call({.count = 20'000, .input_memory = MemoryKind::allocated, .output_memory = MemoryKind::registered},
           child.index, child.size)
          .run(comm.get());
    }
  });
}

// A rank of many dies: ranks that are not connected with it learn which one it was.
TEST(ManyRanks, LearnWhichOneDied) {
  static constexpr int victim = 17;
  ProcessGroup group(40, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    EXPECT_EQ(barrier(comm), HOCKET_OK);
    child.say("ready");
    if (child.index == victim) child.hear();
    expect_result(allreduce_until_failure(comm.get(), 1000, [] {}), HOCKET_PEER_LOST);
    EXPECT_EQ(last_cause().peer, victim);
  });
  group.hear_from_all("ready");
  group.signal(victim, SIGKILL);
  group.expect_success(victim);
}

}  // namespace
}  // namespace hocket::process_testing
