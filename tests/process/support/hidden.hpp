// Ranks that see no process of each other, as on several hosts.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {

constexpr int died = 99;  // the exit status of a process that ends without a word; its kernel's init cannot be killed

// Whether this user may.
inline bool may_hide() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWPID) == 0 ? 0 : 1);
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

// Runs the body in a process whose number means nothing to the other ranks, which only TCP reaches, and ends this one.
[[noreturn]] inline void hide(Child& child, const std::function<void()>& body) {
  ::setenv("HOCKET_TRANSPORT", "tcp", 1);
  ::setenv("HOCKET_HOST_ID", std::to_string(child.index).c_str(), 1);
  EXPECT_EQ(::unshare(CLONE_NEWPID), 0);
  const pid_t hidden = ::fork();
  if (hidden == 0) {
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(hidden, &status, 0), hidden);
  if (WEXITSTATUS(status) == died) ::raise(SIGKILL);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::fflush(nullptr);
  ::_exit(testing::Test::HasFailure() ? 1 : 0);  // a sanitizer cannot look for leaks in a process that has left its own
}

}  // namespace hocket::process_testing
