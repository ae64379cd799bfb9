// Time-outs of any length: what is longer than a year has no practical end, and nothing overflows.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/works.hpp"

namespace hocket::process_testing {
namespace {

class LongTimeouts : public OverTransport {};

INSTANTIATE_TEST_SUITE_P(Over, LongTimeouts, testing::Values("shm", "tcp"), [](const auto& of) { return of.param; });

void expect_it_works(Child& child, const Comm& comm, std::int64_t timeout_ms) {
  hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
  options.timeout_ms = timeout_ms;
  Call blocking({.count = 3000}, child.index, child.size);
  expect_result(blocking.issue(comm.get(), nullptr, &options), HOCKET_OK);
  blocking.expect_correct();
  hocket_work* work = nullptr;
  Call started({.collective = Collective::broadcast, .count = 5, .salt = 2}, child.index, child.size);
  expect_result(started.issue(comm.get(), &work, &options), HOCKET_OK);
  expect_result(hocket_work_wait(work, timeout_ms), HOCKET_OK);
  started.expect_correct();
  expect_result(hocket_work_release(work), HOCKET_OK);
}

TEST_P(LongTimeouts, OfCallsAndWaitsHaveNoPracticalEnd) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    // The first two are the largest that are not longer than what 64 bits of nanoseconds and microseconds hold.
    for (const std::int64_t timeout_ms :
         {INT64_MAX / 1'000'000, INT64_MAX / 1'000, INT64_MAX / 1'000'000 + 1, INT64_MAX}) {
      expect_it_works(child, comm, timeout_ms);
    }
  });
}

TEST_P(LongTimeouts, OfCommunicatorsHaveNoPracticalEnd) {
  run_ranks(2, [](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = INT64_MAX;
    const Comm comm(&options);
    ASSERT_TRUE(comm) << hocket_last_error();
    expect_it_works(child, comm, 0);
    hocket_split_options split_options = HOCKET_SPLIT_OPTIONS_INIT;
    split_options.timeout_ms = INT64_MAX;
    hocket_comm* made = nullptr;
    expect_result(hocket_comm_split(comm.get(), 0, 0, &made, &split_options), HOCKET_OK);
    const Comm part(made);
    ASSERT_TRUE(part);
    expect_it_works(child, part, 0);
  });
}

TEST_P(LongTimeouts, OfTheEnvironmentHaveNoPracticalEnd) {
  run_ranks(2, [](Child& child) {
    ::setenv("HOCKET_TIMEOUT_MS", std::to_string(INT64_MAX).c_str(), 1);
    const Comm comm;
    ASSERT_TRUE(comm) << hocket_last_error();
    expect_it_works(child, comm, 0);
  });
}

}  // namespace
}  // namespace hocket::process_testing
