// Fixtures for tests over a transport that HOCKET_TRANSPORT names.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <tuple>

#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {

class OverTransport : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ::setenv("HOCKET_TRANSPORT", GetParam().c_str(), 1); }
  void TearDown() override { ::unsetenv("HOCKET_TRANSPORT"); }
};

// The same on some ranks.
class OverTransports : public testing::TestWithParam<std::tuple<Ranks, std::string>> {
 protected:
  void SetUp() override { ::setenv("HOCKET_TRANSPORT", std::get<1>(GetParam()).c_str(), 1); }
  void TearDown() override { ::unsetenv("HOCKET_TRANSPORT"); }
  static const Ranks& ranks() { return std::get<0>(GetParam()); }
};

}  // namespace hocket::process_testing
