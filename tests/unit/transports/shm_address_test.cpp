// What a rank tells of where it is.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "transports/shm/handshake.hpp"

namespace hocket::shm {
namespace {

TEST(ShmAddress, WithoutADescriptorIsNotThatOfAHostWithoutProc) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto address = local_address();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(address.status().code(), Code::out_of_resources) << address.status().message();
}

}  // namespace
}  // namespace hocket::shm
