// How calls are numbered: a program counts those that it made, so its first call on a communicator is number 1.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/last_call.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/with_comm.hpp"

namespace hocket::process_testing {
namespace {

class CallNumbers : public OverTransport {};

INSTANTIATE_TEST_SUITE_P(Transports, CallNumbers, testing::Values("tcp", "shm"));

std::uint64_t number_of_a_barrier(const Comm& comm) {
  expect_result(barrier(comm), HOCKET_OK);
  return last_call().sequence;
}

TEST_P(CallNumbers, BeginWithOneOnEveryCommunicator) {
  run_ranks_with_comm(3, [](Child&, const Comm& comm) {
    EXPECT_EQ(number_of_a_barrier(comm), 1U);
    EXPECT_EQ(number_of_a_barrier(comm), 2U);
    for (const Links links : {Links::own, Links::shared}) {
      const Comm child(split(comm, 0, 0, links));
      EXPECT_EQ(number_of_a_barrier(child), 1U) << testing::PrintToString(links);
    }
  });
}

TEST_P(CallNumbers, InMessagesBeginWithOne) {
  run_when_all_have_met(2, [](Child& child, const Comm& comm) {
    if (child.index == 1) {  // does not come
      while (hocket_comm_status(comm.get()) == HOCKET_OK) std::this_thread::yield();
    } else {
      hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
      options.timeout_ms = 100;
      expect_result(hocket_barrier(comm.get(), &options, nullptr), HOCKET_TIMEOUT);
    }
    expect_result(hocket_comm_status(comm.get()), HOCKET_TIMEOUT);
    expect_message_names("(seen by rank 0 in barrier number 1,");
    EXPECT_EQ(last_cause().sequence, 1U);
  });
}

}  // namespace
}  // namespace hocket::process_testing
