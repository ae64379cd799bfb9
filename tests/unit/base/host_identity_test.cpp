#include "src/base/host_identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace hocket {
namespace {

using testing::HasSubstr;

class GivenHost {
 public:
  explicit GivenHost(const std::string& id) { ::setenv("HOCKET_HOST_ID", id.c_str(), 1); }
  ~GivenHost() { ::unsetenv("HOCKET_HOST_ID"); }
  GivenHost(const GivenHost&) = delete;
  GivenHost& operator=(const GivenHost&) = delete;
};

HostIdentity own_as(const std::string& id) {
  const GivenHost given(id);
  return HostIdentity::own();
}

TEST(HostIdentity, IsThatOfTheSystemWhereNothingIsGiven) {
  const HostIdentity own = HostIdentity::own();
  EXPECT_EQ(own, HostIdentity::own());
  EXPECT_EQ(own.given, "");
  EXPECT_NE(own.system, "");
  EXPECT_NE(own.boot, "");
  EXPECT_NE(own.network, 0U);
  EXPECT_NE(own.users, 0U);
  EXPECT_THAT(own.name(), HasSubstr(own.boot));
  EXPECT_TRUE(own.check().ok());
}

// Placement, shared memory and addresses ask for these three.
TEST(HostIdentity, WhatIsGivenTellsHostsApartForEveryUse) {
  const HostIdentity own = HostIdentity::own(), left = own_as("left"), right = own_as("right");
  EXPECT_EQ(left.name(), "left");
  EXPECT_EQ(left, own_as("left"));
  for (const auto& [one, other] : {std::pair{left, right}, {own, left}, {own, right}}) {
    EXPECT_NE(one.name(), other.name());
    EXPECT_NE(one.kernel(), other.kernel());
    EXPECT_NE(one.loopback(), other.loopback());
  }
}

// One HOCKET_HOST_ID makes one host of what counts as one, but it joins no networks and no kernels.
TEST(HostIdentity, WhatIsGivenDoesNotJoinWhatIsApart) {
  const HostIdentity here = own_as("one");
  HostIdentity other_network = here, other_kernel = here;
  ++other_network.network;
  other_kernel.boot += "0";
  EXPECT_EQ(here.name(), other_network.name());
  EXPECT_EQ(here.kernel(), other_network.kernel());
  EXPECT_NE(here.loopback(), other_network.loopback());
  EXPECT_EQ(here.name(), other_kernel.name());
  EXPECT_NE(here.kernel(), other_kernel.kernel());
  EXPECT_NE(here.loopback(), other_kernel.loopback());
}

TEST(HostIdentity, RefusesALongName) {
  EXPECT_TRUE(own_as(std::string(256, 'h')).check().ok());
  const Status status = own_as(std::string(257, 'h')).check();
  EXPECT_EQ(status.code(), Code::invalid_environment);
  EXPECT_THAT(status.message(), HasSubstr("HOCKET_HOST_ID"));
  EXPECT_THAT(status.message(), HasSubstr("256"));
}

}  // namespace
}  // namespace hocket
