// What hocket_last_call() says of this thread's last call.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "hocket/hocket.h"

namespace hocket::process_testing {

inline hocket_call_info last_call() {
  hocket_call_info info = HOCKET_CALL_INFO_INIT;
  EXPECT_EQ(hocket_last_call(&info), HOCKET_OK) << hocket_last_error();
  return info;
}

inline std::string algorithm_of_last_call() {
  return last_call().algorithm;
}

inline std::string wire_of_last_call() {
  return last_call().wire;
}

}  // namespace hocket::process_testing
