// What comes of the one use of the launcher's key space, with a launcher that never answers.
#include "src/comm/launcher_meeting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "src/base/fd.hpp"

namespace hocket::comm {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

// In a process of its own, as the space belongs to the process. `launcher`: the end on which questions arrive.
void expect_in_process(const std::function<void(int launcher)>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ::setenv("PMI_FD", std::to_string(ends[1]).c_str(), 1);
    ::setenv("HOCKET_SOCKET_IFNAME", "lo", 1);
    body(ends[0]);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

Options of_rank_1() {
  Options options;
  options.rank = 1;
  options.size = 2;
  options.key_space = KeySpace::pmi;
  return options;
}

TEST(LauncherMeeting, ThatFailedLeavesTheSpaceUsedUp) {
  expect_in_process([](int) {
    std::stop_source given_up;
    given_up.request_stop();
    const auto first = with_meeting_point(of_rank_1(), Deadline::after(60s), given_up.get_token());
    EXPECT_EQ(first.status().code(), Code::aborted);
    const auto second = with_meeting_point(of_rank_1(), Deadline::after(60s), {});
    EXPECT_EQ(second.status().code(), Code::store_unreachable);
    EXPECT_THAT(second.status().message(), AllOf(HasSubstr("is used up"), HasSubstr("MASTER_ADDR")));
  });
}

TEST(LauncherMeeting, OfAnotherThreadDoesNotHoldUpWhoGivesUp) {
  expect_in_process([](int launcher) {
    std::atomic<bool> first_waits = true;
    std::jthread first([&](const std::stop_token& stop) {
      (void)with_meeting_point(of_rank_1(), Deadline::after(60s), stop);
      first_waits = false;
    });
    char asked = 0;
    EXPECT_EQ(::read(launcher, &asked, 1), 1);
    Status status;
    std::jthread second([&](const std::stop_token& stop) {
      status = with_meeting_point(of_rank_1(), Deadline::after(8s), stop).status();
    });
    second.request_stop();
    second.join();
    EXPECT_TRUE(first_waits);
    EXPECT_EQ(status.code(), Code::aborted) << status.message();
  });
}

}  // namespace
}  // namespace hocket::comm
