// Ranks that a launcher binds to cores of their own share the union of these.
#include <sched.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

void bind_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

// A barrier goes another way where ranks outnumber their cores.
void expect_barrier_by(const std::string& algorithm) {
  const Comm comm;
  ASSERT_TRUE(comm);
  ASSERT_EQ(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
  hocket_call_info info = HOCKET_CALL_INFO_INIT;
  ASSERT_EQ(hocket_last_call(&info), HOCKET_OK);
  EXPECT_EQ(info.algorithm, algorithm);
}

TEST(Binding, ToCoresOfTheirOwnLeavesRoomForAll) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) GTEST_SKIP() << "needs two cores";
  run_ranks(2, [&](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    bind_to(cores[static_cast<std::size_t>(child.index)]);
    expect_barrier_by("dissemination");
  });
}

TEST(Binding, ToOneCoreCrowdsIt) {
  const std::vector<int> cores = allowed_cores();
  run_ranks(2, [&](Child&) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    bind_to(cores[0]);
    expect_barrier_by("linear");
  });
}

}  // namespace
}  // namespace hocket::process_testing
