// What tests of receives that wait behind others share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {

using Numbers = std::vector<std::uint64_t>;

class FollowingReceives : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::size_t each = 60;

  void run(const std::function<void(hocket_comm*, bool sends)>& body) const {
    run_ranks(2, [&](Child& child) {
      ::setenv("HOCKET_TRANSPORT", GetParam(), 1);
      const Comm comm;
      ASSERT_TRUE(comm);
      body(comm.get(), child.index == 0);
    });
  }
  static void receive(hocket_comm* comm, Numbers& data, hocket_work** work,
                      const hocket_call_options* options = nullptr) {
    ASSERT_EQ(hocket_recv(data.data(), data.size(), HOCKET_UINT64, 0, comm, options, work), HOCKET_OK)
        << hocket_last_error();
  }
  static void send(hocket_comm* comm, const Numbers& data) {
    ASSERT_EQ(hocket_send(data.data(), data.size(), HOCKET_UINT64, 1, comm, nullptr, nullptr), HOCKET_OK)
        << hocket_last_error();
  }
  static void end(hocket_work* work) {
    ASSERT_EQ(hocket_work_wait(work, 0), HOCKET_OK) << hocket_last_error();
    ASSERT_EQ(hocket_work_release(work), HOCKET_OK);
  }
  // The sender waits for the receiver.
  static void wait_for_receiver(hocket_comm* comm, bool sends) {
    std::uint64_t word = 0;
    const hocket_result result = sends ? hocket_recv(&word, 1, HOCKET_UINT64, 1, comm, nullptr, nullptr)
                                       : hocket_send(&word, 1, HOCKET_UINT64, 0, comm, nullptr, nullptr);
    ASSERT_EQ(result, HOCKET_OK) << hocket_last_error();
  }
};

}  // namespace hocket::process_testing
