#include "src/comm/descriptor_limit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket::comm {
namespace {

TEST(DescriptorLimit, IsToldWithTheNumberThatWouldDo) {
  EXPECT_EQ(descriptor_warning(3, 48, 20, 141, 161), "");
  const std::string warning = descriptor_warning(3, 48, 20, 141, 110);
  EXPECT_THAT(warning, testing::HasSubstr("rank 3 has 20 descriptors open"));
  EXPECT_THAT(warning, testing::HasSubstr("141 more to speak with all of its 47 peers"));
  EXPECT_THAT(warning, testing::HasSubstr("may have 110: raise the limit to 161 (ulimit -n)"));
}

}  // namespace
}  // namespace hocket::comm
