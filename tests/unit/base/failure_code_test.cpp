#include "src/base/failure_code.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "hocket/hocket.h"

namespace hocket {
namespace {

// Fails where a result is added and the last one is not moved.
TEST(FailureCode, IsEachResultThatHasAName) {
  EXPECT_FALSE(is_failure(HOCKET_OK));
  EXPECT_FALSE(is_failure(HOCKET_IN_PROGRESS));
  for (int number = HOCKET_IN_PROGRESS + 1; number < 32; ++number) {
    const bool named = std::string_view(hocket_result_name(static_cast<hocket_result>(number))) != "unknown result";
    EXPECT_EQ(is_failure(static_cast<std::uint64_t>(number)), named) << number;
  }
  EXPECT_TRUE(is_failure(HOCKET_EXCLUDED));
  EXPECT_FALSE(is_failure(static_cast<std::uint64_t>(-3)));
  EXPECT_FALSE(is_failure(UINT64_MAX));
}

}  // namespace
}  // namespace hocket
