// Waiting costs nothing: neither between calls, nor in a call whose peers are late.
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// Far more than sleeping takes, far less than polling would: once a millisecond makes a thousand switches a second.
constexpr long switches_max = 100;
constexpr double cpu_seconds_max = 0.1;
constexpr std::chrono::seconds span{1};

struct Usage {
  double cpu_seconds = 0;
  long switches = 0;
};

Usage usage() {
  rusage now{};
  ::getrusage(RUSAGE_SELF, &now);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return {seconds(now.ru_utime) + seconds(now.ru_stime), now.ru_nvcsw};  // voluntary: to sleep
}

void expect_slept_since(const Usage& before) {
  const Usage after = usage();
  EXPECT_LT(after.switches - before.switches, switches_max);
  EXPECT_LT(after.cpu_seconds - before.cpu_seconds, cpu_seconds_max);
}

class Waiting : public testing::TestWithParam<std::string> {};

TEST_P(Waiting, BetweenCallsTakesNoProcessorTime) {
  ProcessGroup group(3, [&](Child& child) {
    ::setenv("HOCKET_TRANSPORT", GetParam().c_str(), 1);
    const Comm comm;
    ASSERT_TRUE(comm);
    Call({.count = 1000}, child.index, child.size).run(comm.get());
    child.say("idle");
    EXPECT_EQ(child.hear(), "measure");
    const Usage before = usage();
    std::this_thread::sleep_for(span);
    expect_slept_since(before);
    child.say("measured");
    (void)child.hear();
  });
  group.hear_from_all("idle");
  for (int index = 0; index < 3; ++index) group.tell(index, "measure");
  group.hear_from_all("measured");
  for (int index = 0; index < 3; ++index) group.tell(index, "leave");
  group.expect_success();
}

// The others sit in a barrier over shared memory, and wait for a message besides, from a named rank or from any.
class WaitingForBoth : public testing::TestWithParam<bool> {};

TEST_P(WaitingForBoth, APeerAndAMessage) {
  run_ranks(3, [&](Child& child) {
    const bool any = GetParam();
    std::int32_t source = 0;
    ::setenv("HOCKET_TRANSPORT", "shm", 1);
    const Comm comm;
    ASSERT_TRUE(comm);
    Call({.count = 1000}, child.index, child.size).run(comm.get());
    int number = 0;
    hocket_work* message = nullptr;
    if (child.index == 0) {
      std::this_thread::sleep_for(span);
    } else if (any) {
      ASSERT_EQ(hocket_recv_any(&number, 1, HOCKET_INT32, &source, comm.get(), nullptr, &message), HOCKET_OK);
    } else {
      ASSERT_EQ(hocket_recv(&number, 1, HOCKET_INT32, 0, comm.get(), nullptr, &message), HOCKET_OK);
    }
    const Usage before = usage();
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
    expect_slept_since(before);
    for (int peer = 1; child.index == 0 && peer < 3; ++peer) {
      expect_result(hocket_send(&peer, 1, HOCKET_INT32, peer, comm.get(), nullptr, nullptr), HOCKET_OK);
    }
    if (message != nullptr) {
      expect_result(hocket_work_wait(message, 0), HOCKET_OK);
      EXPECT_EQ(number, child.index);
      EXPECT_EQ(source, 0);
      hocket_work_release(message);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Messages, WaitingForBoth, testing::Bool(),
                         [](const auto& of) { return of.param ? "FromAny" : "FromANamedRank"; });
INSTANTIATE_TEST_SUITE_P(Over, Waiting, testing::Values("shm", "tcp"), [](const auto& of) { return of.param; });

}  // namespace
}  // namespace hocket::process_testing
