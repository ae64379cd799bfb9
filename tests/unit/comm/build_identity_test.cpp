#include "src/comm/build_identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/plan/class_tables.hpp"

namespace hocket::comm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(BuildIdentity, IsOneForTheWholeBuild) {
  const BuildIdentity& own = BuildIdentity::own();
  EXPECT_EQ(own, BuildIdentity::own());
  EXPECT_EQ(own.selection, selection_digest());
  EXPECT_NE(own.protocol, 0U);
  EXPECT_NE(own.tables, 0U);
  EXPECT_NE(own.catalog, 0U);
  EXPECT_EQ(difference(own, own), "");
}

TEST(BuildIdentity, SaysTheMostBasicDifferenceWithBothDigests) {
  const BuildIdentity here{.protocol = 1, .tables = 2, .catalog = 3, .selection = 4};
  BuildIdentity there = here;
  there.selection = 0xab;
  EXPECT_THAT(difference(here, there), AllOf(HasSubstr("selection tables"), HasSubstr("digest 00000000000000ab"),
                                             HasSubstr("here 0000000000000004")));
  there.catalog = 9;
  EXPECT_THAT(difference(here, there), HasSubstr("catalog of algorithms"));
  there.tables = 9;
  EXPECT_THAT(difference(here, there), HasSubstr("tables of collectives, types and reductions"));
  there.protocol = 9;
  EXPECT_THAT(difference(here, there), HasSubstr("protocol"));
}

}  // namespace
}  // namespace hocket::comm
