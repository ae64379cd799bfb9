// Looks at how a call failed.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "hocket/hocket.h"

namespace hocket::process_testing {

// The details of this thread's latest failed call.
inline hocket_cause last_cause() {
  hocket_cause cause = HOCKET_CAUSE_INIT;
  EXPECT_EQ(hocket_last_cause(&cause), HOCKET_OK);
  return cause;
}

// Shows the message where a comparison of results fails.
inline void expect_result(hocket_result found, hocket_result expected, const std::string& where = "") {
  EXPECT_STREQ(hocket_result_name(found), hocket_result_name(expected))
      << where << ", the message is: " << hocket_last_error();
}

inline void expect_message_names(const std::string& text) {
  EXPECT_THAT(std::string(hocket_last_error()), ::testing::HasSubstr(text));
}

// Creation that must fail; what it returned.
inline hocket_result create_in_vain(const hocket_comm_options* options = nullptr) {
  hocket_comm* comm = nullptr;
  const hocket_result result = hocket_comm_create(&comm, options);
  EXPECT_EQ(comm, nullptr) << "a failed creation leaves no communicator";
  hocket_comm_destroy(comm);
  return result;
}

// Calls allreduces of `count` floats until one fails; what it returned. `each` is called after every success.
template <class Each>
hocket_result allreduce_until_failure(hocket_comm* comm, std::size_t count, Each each,
                                      const hocket_call_options* options = nullptr) {
  std::vector<float> values(count, 1);
  for (;;) {
    const hocket_result result =
        hocket_allreduce(values.data(), values.data(), count, HOCKET_FLOAT32, HOCKET_MAX, comm, options, nullptr);
    if (result != HOCKET_OK) return result;
    each();
  }
}

}  // namespace hocket::process_testing
