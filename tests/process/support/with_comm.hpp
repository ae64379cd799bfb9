// Ranks that begin with a communicator of all.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "tests/process/support/call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {

using CommBody = std::function<void(Child&, const Comm&)>;

// As run_ranks().
inline void run_ranks_with_comm(const Ranks& ranks, const CommBody& body) {
  run_ranks(ranks, [&](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    body(child, comm);
  });
}

// The body runs when all ranks have left the creation: nobody breaks it for another one.
inline void run_when_all_have_met(const Ranks& ranks, const CommBody& body) {
  ProcessGroup group(ranks, [&](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    child.say("here");
    EXPECT_EQ(child.hear(), "go on");
    body(child, comm);
  });
  group.hear_from_all("here");
  for (int index = 0; index < group.size(); ++index) group.tell(index, "go on");
  group.expect_success();
}

}  // namespace hocket::process_testing
