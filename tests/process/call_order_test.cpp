// A rank that leaves a call out, or makes two in another order, is found out by the next call that needs it: on every
// rank, whatever the calls travel over. Over shared memory some calls take the window and others links.
#include <string>

#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/unequal_call.hpp"
#include "tests/process/support/with_comm.hpp"

namespace hocket::process_testing {
namespace {

constexpr int odd_rank = 2;

class CallOrder : public OverTransport {};

INSTANTIATE_TEST_SUITE_P(Over, CallOrder, testing::Values("auto", "shm", "tcp"),
                         [](const auto& of) { return of.param; });

// Of small blocks, which the window takes as it takes others.
hocket_result scatter_v(Child& child, const Comm& comm) {
  return UnequalCall({.collective = Collective::scatter_v, .scale = 3}, child.index, child.size).issue(comm.get());
}

// A call that the window does not take.
hocket_result large_scan(Child& child, const Comm& comm) {
  return Call({.collective = Collective::scan, .count = 100'000}, child.index, child.size).issue(comm.get());
}

hocket_result scan(Child& child, const Comm& comm) {
  return Call({.collective = Collective::scan}, child.index, child.size).issue(comm.get());
}

// Calls that it takes; what the first that fails returns.
hocket_result go_on(Child& child, const Comm& comm) {
  for (int i = 0; i < 3; ++i) {
    const hocket_result result = Call({}, child.index, child.size).issue(comm.get());
    if (result != HOCKET_OK) return result;
  }
  return barrier(comm);
}

void expect_mismatch(hocket_result result, const Comm& comm) {
  expect_result(result, HOCKET_MISMATCH);
  expect_message_names("all ranks must make the same calls in the same order");
  expect_result(hocket_comm_status(comm.get()), HOCKET_MISMATCH);
}

TEST_P(CallOrder, ACallThatOneRankLeavesOutIsAMismatchOnAll) {
  run_when_all_have_met(3, [](Child& child, const Comm& comm) {
    expect_result(go_on(child, comm), HOCKET_OK);
    hocket_result result = child.index == odd_rank ? HOCKET_OK : large_scan(child, comm);
    if (result == HOCKET_OK) result = go_on(child, comm);
    expect_mismatch(result, comm);
  });
}

TEST_P(CallOrder, CallsThatOneRankSwapsAreAMismatchOnAll) {
  for (const auto other : {scatter_v, large_scan, scan}) {
    run_when_all_have_met(3, [&](Child& child, const Comm& comm) {
      hocket_result result = HOCKET_OK;
      for (const bool window : {child.index == odd_rank, child.index != odd_rank}) {
        if (result == HOCKET_OK) result = window ? barrier(comm) : other(child, comm);
      }
      if (result == HOCKET_OK) result = go_on(child, comm);
      expect_result(result, HOCKET_MISMATCH);
      expect_result(hocket_comm_status(comm.get()), HOCKET_MISMATCH);
    });
  }
}

// Both calls are alike, so the message says which is which.
TEST_P(CallOrder, CallsThatDifferInTheirNumbersAloneNameThese) {
  run_when_all_have_met(3, [](Child& child, const Comm& comm) {
    hocket_result result = child.index == odd_rank ? HOCKET_OK : large_scan(child, comm);
    if (result == HOCKET_OK) result = barrier(comm);
    if (result == HOCKET_OK) result = barrier(comm);
    expect_result(result, HOCKET_MISMATCH);
    if (GetParam() != "tcp") expect_message_names("these are calls number ");
  });
}

}  // namespace
}  // namespace hocket::process_testing
