// Calls that must be refused by name, and break nothing.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {

struct BadCall {
  const char* name;
  const char* in_message;
  std::function<hocket_result(hocket_comm*, float* a, float* b)> call;
};

// Rank 1 makes all the bad calls; after each, all ranks make a good one.
inline void expect_all_refused(hocket_comm* comm, const Child& child, std::span<const BadCall> calls,
                               std::vector<float>& a, std::vector<float>& b) {
  for (const BadCall& bad : calls) {
    SCOPED_TRACE(bad.name);
    if (child.index == 1) {
      expect_result(bad.call(comm, a.data(), b.data()), HOCKET_INVALID_ARGUMENT);
      expect_message_names(bad.in_message);
    }
    Call({.count = 500}, child.index, child.size).run(comm);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace hocket::process_testing
